"""From the names that an estimator's parameters take to the pieces of a model."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from whoknows.data.annotations import Annotations
from whoknows.data.errors import InputError
from whoknows.estimators.inputs.requirements import check_classifier, is_classifier
from whoknows.fit.starts import bound_of_labels, labels_by_annotator, one_label
from whoknows.model import annotators
from whoknows.model.annotators import BiasedAnnotators
from whoknows.model.graph import AutoGraph
from whoknows.model.maps import ClusterMap, LinearMap, RbfMap, SpectralMap
from whoknows.model.settings import NotCompatible, Settings
from whoknows.model.truth import GraphTruth, LinearTruth, LogisticTruth, OrderedTruth, TemperedTruth

FEWEST_FOR_CONFUSION = 3  # annotators
ENOUGH_ITEMS = 5_000  # to choose between models of the annotators

Pieces = dict[str, Callable[[], Any]]


def resolve_truth(choice: Any) -> Any:
    """Return the truth model that ``choice`` names, that tempers it if it is a classifier, or itself."""
    if is_classifier(choice):
        check_classifier(choice)
        return TemperedTruth()
    names: Pieces = {
        "id": LogisticTruth,
        "lgp": lambda: LogisticTruth(graph=AutoGraph()),
        "gp": GraphTruth,
        "ordered": OrderedTruth,
    }
    return resolve("truth", choice, names, "expected_log_truth")


def resolve_annotators(choice: Any, truth: Any, annotations: Annotations) -> Any:
    """Return the annotator model that ``choice`` names; "auto" is the best one for the truth."""
    names: Pieces = {
        "bernoulli": annotators.BernoulliAnnotators,
        "confusion": annotators.ConfusionAnnotators,
        "gaussian": annotators.GaussianAnnotators,
        "ordered": annotators.OrderedAnnotators,
    }

    def best() -> Any:
        if isinstance(truth, OrderedTruth):  # which other annotators fit as well, but not as the default
            return names["ordered"]()
        if truth.accepts == "quadratic":
            return names["gaussian"]()
        return names["bernoulli" if one_accuracy_is_enough(annotations) else "confusion"]()

    return resolve("annotators", choice, {"auto": best} | names, "expected_log_lik")


def resolve_regression(truth: Any, annotators: Any) -> tuple[LinearTruth, BiasedAnnotators]:
    """Return the pieces of a model of real-valued labels."""
    truths: Pieces = {"id": LinearTruth, "lgp": lambda: LinearTruth(graph=AutoGraph())}
    kinds: Pieces = {"auto": BiasedAnnotators, "biased": BiasedAnnotators}
    truth = resolve("truth", truth, truths, "expected_log_truth")
    annotators = resolve("annotators", annotators, kinds, "expected_log_lik")
    for piece, kind in ((truth, LinearTruth), (annotators, BiasedAnnotators)):
        if not isinstance(piece, kind):  # no other pieces for real numbers exist
            raise NotCompatible(f"CrowdRegressor needs {kind.__name__}; got {type(piece).__name__}.")
    return truth, annotators


def one_accuracy_is_enough(annotations: Annotations) -> bool:
    """Whether one accuracy per annotator describes the labels as well as one per class.

    Two classes: by the bound. More: only if fewer than three annotators leave confusion matrices undetermined.
    """
    if annotations.n_classes > 2:
        return int((annotations.labels_per_annotator > 0).sum()) < FEWEST_FOR_CONFUSION
    if one_label(labels_by_annotator(annotations)).any():
        return False
    step = max(annotations.n_items // ENOUGH_ITEMS, 1)
    some = replace(annotations[::step] if step > 1 else annotations, confidence=None)  # as items count, once
    one, two = annotators.BernoulliAnnotators(), annotators.BernoulliAnnotators(two_coin=True)
    return bound_of_labels(one, some) >= bound_of_labels(two, some)


def resolve_map(name: str, choice: Any) -> Any:
    """Return the map that ``choice``, a parameter of this name, stands for, or ``choice`` itself."""
    names: Pieces = {"rbf": RbfMap, "linear": LinearMap, "spectral": SpectralMap, "clusters": ClusterMap}
    return resolve(name, choice, names, "is_map")


def resolve(name: str, choice: Any, names: Pieces, method: str) -> Any:
    """Return the piece that a name stands for, or the piece itself, with its settings checked.

    ``graph="auto"`` inside a piece stands for `AutoGraph`.
    """
    if isinstance(choice, str) and choice in names:
        return names[choice]()
    if isinstance(choice, type) or not hasattr(choice, method):
        example = type(next(iter(names.values()))()).__name__
        raise InputError(
            f"{name} must be {', '.join(map(repr, names))} or a piece such as {example}(); got {choice!r}."
        )
    if isinstance(getattr(choice, "graph", None), str):
        choice = replace(choice, graph=resolve("graph", choice.graph, {"auto": AutoGraph}, "build"))
    return choice.check() if isinstance(choice, Settings) else choice  # third-party pieces check themselves
