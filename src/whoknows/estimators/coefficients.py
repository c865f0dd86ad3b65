"""What can be read off the parameters of a fitted pair: coefficients in the units of X, severities."""

from __future__ import annotations

from typing import Any

from whoknows._array import Array
from whoknows.estimators.fitted_pair import FittedPair
from whoknows.model.maps import LinearFeatures
from whoknows.model.protocols import BiasAnnotators, CoefficientAnnotators, CoefficientTruth, supports


def severity(pair: FittedPair) -> dict[str, Array]:
    """Return the severity of annotators of ordered labels."""
    annotators: Any = pair.prepared.model.annotators
    if not supports(annotators, BiasAnnotators):
        return {}
    return {"annotator_severity_": annotators.bias(pair.solution.annotators.mean)[:-1]}


def coefficients(pair: FittedPair) -> dict[str, Array]:
    """Return coefficients in the units of the user's X; only a linear map has them."""
    preprocessing = pair.prepared.preprocessing
    annotators: Any = pair.prepared.model.annotators
    truth: Any = pair.prepared.model.truth
    features = preprocessing.features
    if not isinstance(features, LinearFeatures) or preprocessing.scale.roots.any():
        return {}
    found: dict[str, Array] = {}
    if preprocessing.of_annotators is None and supports(annotators, CoefficientAnnotators):
        leading = features.matrix[:, : preprocessing.directions]
        w, gamma = annotators.coefficients(pair.solution.annotators.mean[:-1], leading.shape[1] + 1)
        slopes, intercepts = preprocessing.to_input_units(w @ leading.T, gamma)
        found |= {"annotator_coef_": slopes, "annotator_intercept_": intercepts}
    if supports(truth, CoefficientTruth):
        xi = truth.weights(truth.parameters(pair.solution.truth))
        slopes, intercepts = preprocessing.to_input_units((features.matrix @ xi[:-1]).T, xi[-1])
        found |= {"coef_": slopes, "intercept_": intercepts}
    return found
