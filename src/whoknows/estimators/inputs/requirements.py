"""What a classifier must offer to be fitted to a posterior: probabilities, and weights of its examples."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import has_fit_parameter

from whoknows._array import Array
from whoknows.model.settings import NotCompatible


def is_classifier(choice: Any) -> bool:
    """Whether a setting of ``truth`` is an estimator, rather than a name or a truth model."""
    return hasattr(choice, "fit") and not isinstance(choice, type)


def check_classifier(classifier: Any) -> None:
    """Refuse a classifier without probabilities or weights, and say which wrapper adds them."""
    name = type(_last_step(classifier)[1]).__name__
    if not hasattr(classifier, "predict_proba"):
        raise NotCompatible(
            f"truth={name}() has no predict_proba, and the model needs probabilities of the classes. Wrap "
            f"it: sklearn.calibration.CalibratedClassifierCV({name}(…)), or set the option that enables them."
        )
    weight_keyword(classifier, np.ones(1))


def weight_keyword(classifier: Any, weight: Array) -> dict[str, Array]:
    """Return the weights as a keyword of ``classifier.fit``; for a pipeline, that of its last step."""
    prefix, last = _last_step(classifier)
    if not has_fit_parameter(last, "sample_weight"):
        name = type(last).__name__
        raise NotCompatible(
            f"The classifier is fitted to weighted classes, but {name}.fit takes no sample_weight. Use one "
            "that does, such as LogisticRegression(), or wrap it: sklearn.ensemble.BaggingClassifier("
            f"{name}(…)) draws items by weight."
        )
    return {f"{prefix}sample_weight": weight}


def _last_step(classifier: Any) -> tuple[str, Any]:
    """Return the prefix of its keywords and the last step of a pipeline, or the classifier itself."""
    prefix = ""
    while isinstance(classifier, Pipeline):
        step, classifier = classifier.steps[-1]
        prefix += f"{step}__"
    return prefix, classifier
