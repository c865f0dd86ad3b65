"""The estimator of a fit by its name, for the command line and the web app."""

from __future__ import annotations

from typing import Any


def estimator(name: str, levels: list[Any] | None = None, alone: bool = False, **common: Any) -> Any:
    """Return an estimator, not fitted yet.

    Parameters
    ----------
    name : {"auto", "lgp", "id", "gp", "ordered", "regression"}
    levels : list, optional
        Order of ordinal labels, lowest first.
    alone : bool
        Whether there are no features: "auto" is then a single model in which nothing depends on them.
    common
        Parameters that all estimators have: ``max_iter`` and ``random_state``.
    """
    from whoknows import AutoCrowdClassifier, ConfusionAnnotators, CrowdClassifier, CrowdRegressor

    if levels is not None or name == "ordered":
        return CrowdClassifier("ordered", levels=levels, **common)
    if name == "regression":
        return CrowdRegressor(**common, **({"map": "linear"} if alone else {}))
    if alone:  # the model of Dawid and Skene, with a prior shared by the annotators
        return CrowdClassifier("id", ConfusionAnnotators(varies_with_x=False), "linear", **common)
    return AutoCrowdClassifier(**common) if name == "auto" else CrowdClassifier(name, **common)
