"""From the words an estimator takes to the pieces a model is made of."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from whoknows.model.annotators import (
    BernoulliAnnotators,
    ConfusionAnnotators,
    GaussianAnnotators,
    OrderedAnnotators,
)
from whoknows.model.graph import AnchorGraph, Graph, KnnGraph
from whoknows.model.maps import LinearMap, RbfMap, SpectralMap
from whoknows.model.settings import Settings
from whoknows.model.truth import GraphTruth, LogisticTruth, OrderedTruth

MOST_ITEMS_FOR_KNN = 10_000  # beyond, exact neighbours take longer than the fit: anchors instead


def graph_of(n_items: int) -> Graph:
    """Return the graph of so many items: each and its nearest, or joined through anchors."""
    return KnnGraph() if n_items <= MOST_ITEMS_FOR_KNN else AnchorGraph()


def resolve_truth(choice: Any, n_items: int) -> Any:
    """Return the truth model that ``choice`` names, or ``choice`` itself."""
    words = {"id": LogisticTruth, "lgp": lambda: LogisticTruth(graph=graph_of(n_items)), "gp": GraphTruth}
    words["ordered"] = OrderedTruth
    return resolve("truth", choice, words, "expected_log_truth")


def resolve_annotators(choice: Any, truth: Any, n_classes: int) -> Any:
    """Return the annotator model that ``choice`` names; "auto" is the best one the truth can use."""
    words: dict[str, Any] = {
        "bernoulli": BernoulliAnnotators,
        "confusion": ConfusionAnnotators,
        "gaussian": GaussianAnnotators,
        "ordered": OrderedAnnotators,
    }
    natural = "gaussian" if truth.accepts == "quadratic" else "bernoulli" if n_classes == 2 else "confusion"
    words["auto"] = words["ordered" if isinstance(truth, OrderedTruth) else natural]
    return resolve("annotators", choice, words, "expected_log_lik")


def resolve_map(choice: Any) -> Any:
    """Return the map that ``choice`` names, or ``choice`` itself."""
    return resolve("map", choice, {"rbf": RbfMap, "linear": LinearMap, "spectral": SpectralMap}, "is_map")


def resolve(name: str, choice: Any, words: dict[str, Callable[[], Any]], method: str) -> Any:
    """Return the piece a word stands for, or the piece itself, its settings checked."""
    if isinstance(choice, str) and choice in words:
        return words[choice]()
    if not isinstance(choice, Settings) or not hasattr(choice, method):
        example = type(next(iter(words.values()))()).__name__
        raise ValueError(
            f"{name} must be {', '.join(map(repr, words))} or a piece such as {example}(); got {choice!r}."
        )
    return choice.check()
