"""What can be read off the parameters of a fitted pair: coefficients in the units of X, severities."""

from __future__ import annotations

from whoknows._array import Array
from whoknows.estimators.fitted_pair import FittedPair
from whoknows.model.annotators import OrderedAnnotators
from whoknows.model.maps import LinearFeatures


def severity(pair: FittedPair) -> dict[str, Array]:
    """Return the severity of annotators of ordered labels."""
    model = pair.prepared.model.annotators
    if not isinstance(model, OrderedAnnotators):
        return {}
    return {"annotator_severity_": model.severity(pair.solution.annotators.mean)[:-1]}


def coefficients(pair: FittedPair) -> dict[str, Array]:
    """Return coefficients in the units of the user's X; only a linear map has them."""
    preprocessing, model = pair.prepared.preprocessing, pair.prepared.model
    features = preprocessing.features
    if not isinstance(features, LinearFeatures) or preprocessing.scale.roots.any():
        return {}
    found: dict[str, Array] = {}
    if preprocessing.of_annotators is None:
        leading = features.matrix[:, : preprocessing.directions]
        theta = pair.solution.annotators.mean[:-1]
        w, gamma = model.annotators.coefficients(theta, leading.shape[1] + 1)
        slopes, intercepts = preprocessing.to_input_units(w @ leading.T, gamma)
        found |= {"annotator_coef_": slopes, "annotator_intercept_": intercepts}
    if model.truth.uses_map:
        xi = model.truth.weights(pair.solution.truth.mean).reshape(features.matrix.shape[1] + 1, -1)
        slopes, intercepts = preprocessing.to_input_units((features.matrix @ xi[:-1]).T, xi[-1])
        found |= {"coef_": slopes, "intercept_": intercepts}
    return found
