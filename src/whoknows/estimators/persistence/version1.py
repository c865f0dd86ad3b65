"""Model files of version 0.1: other names of classes and fields, and estimators without a fitted pair."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from whoknows.estimators.fitted_pair import FittedPair
from whoknows.estimators.prepared_model import LabelUnits
from whoknows.fit.objective import Model
from whoknows.model.truth import LogisticTruth

_CLASSES = {
    "CrossFitted": "CrossFitBelief",
    "Fitted": "Solution",
    "Foretold": "HeldOutScores",
    "Given": "TrainingData",
    "Learnt": "PreparedModel",
    "RegressorFitted": "Solution",
    "RegressorLearnt": "PreparedModel",
    "Seen": "Preprocessing",
    "Smoothed": "GraphBelief",
    "Spread": "Covariances",
}
_TRUTHS = ("GraphTruth", "LinearTruth", "LogisticTruth", "OrderedTruth")
_DERIVED = {
    *("n_features_in_", "n_iter_", "classes_", "graph_", "solver_", "bound_history_", "weights_"),
    *("coef_", "intercept_", "annotator_coef_", "annotator_intercept_", "annotator_severity_"),
    *("annotator_bias_", "noise_"),
}
_FIELDS = {
    **{truth: {"chosen": "description"} for truth in _TRUTHS},
    "Given": {"said": "annotations", "items": "fingerprint"},
    "Items": {"Phi": "X_truth", "Psi": "X_annotators"},
    "Learnt": {"seen": "preprocessing"},
    "RegressorLearnt": {"seen": "preprocessing"},
}


def upgraded(name: str, kept: dict[str, Any]) -> tuple[str, dict[str, Any]]:
    """Return class name and fields as files of today have them."""
    kept = {_FIELDS.get(name, {}).get(key, key): value for key, value in kept.items()}
    if name == "RegressorLearnt":
        kept["model"] = Model(kept.pop("annotators"), kept.pop("truth"))
        kept["units"] = LabelUnits(kept.pop("mean"), kept.pop("scale"))
    elif name == "RegressorFitted":
        kept["solver"] = "em"
    elif "_learnt" in kept:
        kept = _without_derived(_with_pair(kept))
    elif "members_" in kept:
        members = kept.pop("members_")
        kept["pairs_"] = [member._pair for member in members]
        kept["_training_data"], kept["_seed"] = members[0]._training_data, members[0].random_state
        kept = _without_derived(kept)
    return _CLASSES.get(name, name), kept


def _with_pair(kept: dict[str, Any]) -> dict[str, Any]:
    """Put what `CrowdClassifier` and `CrowdRegressor` held in five attributes into a fitted pair."""
    keys = ("_learnt", "_fitted", "_spread", "_typical")
    prepared, solution, covariances, typical = (kept.pop(key, None) for key in keys)
    state = solution.truth
    if isinstance(prepared.model.truth, LogisticTruth) and state.mean.ndim == 1:  # ξ has a column per output
        solution = replace(solution, truth=replace(state, mean=state.mean[:, None]))
    kept["_pair"] = FittedPair(prepared, solution, covariances, typical, kept["bound_history_"])
    if "_given" in kept:
        kept["_training_data"] = kept.pop("_given")
    return kept


def _without_derived(kept: dict[str, Any]) -> dict[str, Any]:
    """Drop attributes that follow from the fitted pair; the annotators of a regressor do not."""
    derived = _DERIVED | ({"annotators_"} if "_training_data" in kept else set())
    return {key: value for key, value in kept.items() if key not in derived}
