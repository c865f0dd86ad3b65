"""From the words an estimator takes to the pieces a model is made of."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
from scipy.stats import binom

from whoknows._array import Mask
from whoknows.data.annotations import Annotations
from whoknows.data.errors import InputError
from whoknows.model.annotators import (
    BernoulliAnnotators,
    ConfusionAnnotators,
    GaussianAnnotators,
    OrderedAnnotators,
)
from whoknows.model.graph import AutoGraph
from whoknows.model.maps import ClusterMap, LinearMap, RbfMap, SpectralMap
from whoknows.model.settings import Settings
from whoknows.model.truth import GraphTruth, LogisticTruth, OrderedTruth

NEARLY_ALWAYS = 0.95  # share of one label from which an annotator may be saying one thing
CHANCE = 1e-4  # of saying it so often by chance


def resolve_truth(choice: Any) -> Any:
    """Return the truth model that ``choice`` names, or ``choice`` itself."""
    words: dict[str, Callable[[], Any]] = {
        "id": LogisticTruth,
        "lgp": lambda: LogisticTruth(graph=AutoGraph()),
        "gp": GraphTruth,
        "ordered": OrderedTruth,
    }
    return resolve("truth", choice, words, "expected_log_truth")


def resolve_annotators(choice: Any, truth: Any, said: Annotations) -> Any:
    """Return the annotator model that ``choice`` names; "auto" is the best one the truth can use."""
    words: dict[str, Any] = {
        "bernoulli": BernoulliAnnotators,
        "confusion": ConfusionAnnotators,
        "gaussian": GaussianAnnotators,
        "ordered": OrderedAnnotators,
    }
    if isinstance(truth, OrderedTruth):
        natural = "ordered"
    elif truth.accepts == "quadratic":
        natural = "gaussian"
    else:
        natural = "bernoulli" if said.n_classes == 2 and not says_one_thing(said).any() else "confusion"
    return resolve("annotators", choice, {"auto": words[natural]} | words, "expected_log_lik")


def says_one_thing(said: Annotations) -> Mask:
    """Which annotators give one label nearly always, far more often than all do together: (n_annotators,).

    One accuracy for both classes cannot describe them: they are right on one class, wrong on the other.
    """
    cell = said.annotator.astype(np.intp) * said.n_classes + said.label
    labels = np.bincount(cell, minlength=said.n_annotators * said.n_classes).reshape(-1, said.n_classes)
    total, most = labels.sum(axis=1), labels.max(axis=1)
    everybody = labels.sum(axis=0) / max(labels.sum(), 1)
    by_chance = binom.sf(most - 1, total, everybody[labels.argmax(axis=1)])
    return np.asarray((total > 0) & (most >= NEARLY_ALWAYS * total) & (by_chance < CHANCE))


def resolve_map(name: str, choice: Any) -> Any:
    """Return the map that ``choice``, a parameter of this name, stands for, or ``choice`` itself."""
    words = {"rbf": RbfMap, "linear": LinearMap, "spectral": SpectralMap, "clusters": ClusterMap}
    return resolve(name, choice, words, "is_map")


def resolve(name: str, choice: Any, words: dict[str, Callable[[], Any]], method: str) -> Any:
    """Return the piece a word stands for, or the piece itself, its settings checked.

    A piece with a graph may have "auto" in its place, which stands for `AutoGraph`.
    """
    if isinstance(choice, str) and choice in words:
        return words[choice]()
    if not isinstance(choice, Settings) or not hasattr(choice, method):
        example = type(next(iter(words.values()))()).__name__
        raise InputError(
            f"{name} must be {', '.join(map(repr, words))} or a piece such as {example}(); got {choice!r}."
        )
    if isinstance(getattr(choice, "graph", None), str):
        choice = replace(choice, graph=resolve("graph", choice.graph, {"auto": AutoGraph}, "build"))
    return choice.check()
