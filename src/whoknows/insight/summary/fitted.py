"""Fitted models, as a summary sees them: one class for each kind of truth, all with the same methods."""

from __future__ import annotations

from typing import Any

from sklearn.utils.validation import check_is_fitted

from whoknows.insight.summary.categorical import CategoricalFit, OrdinalFit
from whoknows.insight.summary.gaussian import GaussianFit

# Everything a summary asks of a model is asked here: no other module distinguishes classes from numbers.
FittedModel = CategoricalFit | GaussianFit


def fitted_model(model: Any, X: Any, y: Any) -> FittedModel:
    """Return the interface to a fitted model and its data, for its kind of truth."""
    check_is_fitted(model)
    if hasattr(model, "posterior_mean_"):
        return GaussianFit(model, X, y)
    return (OrdinalFit if hasattr(model, "annotator_severity_") else CategoricalFit)(model, X, y)
