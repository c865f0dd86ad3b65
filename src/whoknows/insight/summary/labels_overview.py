"""Overview of the data and the model: counts, coverage, warnings, settings chosen and why."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from whoknows._array import Array
from whoknows.insight.summary.fitted import FittedModel
from whoknows.insight.summary.text import Facts, Table, count, json_ids, thousands

FEW_LABELS = 5  # of an annotator
MANY_LABELS = 6  # labels per item, counted together from here
SHOWN = 3  # ids named in a warning


def overview(fit: FittedModel, gold: Array | None, notes: Sequence[str], features: Sequence[str]) -> Facts:
    """Counts, coverage, warnings and settings."""
    annotations = fit.annotations
    per_annotator = annotations.labels_per_annotator[annotations.labels_per_annotator > 0]
    spread = [int(per_annotator.min()), float(np.median(per_annotator)), int(per_annotator.max())]
    return {
        "kind": fit.kind,
        "n_items": annotations.n_items,
        "n_labelled": int(annotations.labelled.sum()),
        "n_annotators": annotations.n_annotators,
        "n_labels": annotations.n_annotations,
        "n_features": _n_features(fit, features),
        "n_gold": 0 if gold is None else int(np.isfinite(gold).sum()),
        "classes": fit.classes,
        "coverage": _coverage(annotations.labels_per_item),
        "labels_per_annotator": spread,
        "warnings": list(_warnings(fit)),
        "notes": [str(note) for note in notes],
        **_settings(fit.model),
    }


def _n_features(fit: FittedModel, features: Sequence[str]) -> int:
    """Number of features; a single column of zeros stands for items without features."""
    return len(features) if len(features) > 1 else int(fit.feature_array().any())


def _has_constant_feature(fit: FittedModel) -> bool:
    if fit.model.n_features_in_ > 1:
        return False
    x = fit.feature_array()
    return bool(x.any() and np.ptp(x) == 0)


def _coverage(per_item: Any) -> Table:
    """Number of items with no label, one, two, and so on."""
    items = np.bincount(np.minimum(per_item, MANY_LABELS), minlength=MANY_LABELS + 1)
    last = int(np.flatnonzero(items)[-1])
    labels = [str(n) if n < MANY_LABELS else f"{MANY_LABELS} or more" for n in range(last + 1)]
    return {"labels": labels, "items": items[: last + 1].tolist()}


# --- warnings --------------------------------------------------------------------------------------


def _warnings(fit: FittedModel) -> Iterator[str]:
    annotations, n_labels = fit.annotations, fit.annotations.labels_per_annotator
    if annotations.n_annotators == 1:
        yield (
            "There is only one annotator: their expertise can only be estimated from how well the features "
            "predict their labels."
        )
    elif not (annotations.labels_per_item > 1).any():
        yield "No item has two labels: annotators can only be compared through the features."
    if _has_constant_feature(fit):
        yield "The only feature is the same for all items, so it carries no information."
    few = np.flatnonzero((n_labels < FEW_LABELS) & (n_labels > 0))
    if len(few):
        yield (
            f"{count(len(few), 'annotator')} gave fewer than {FEW_LABELS} labels ({_listed(fit, few)}): "
            "their estimates are close to the average of all annotators."
        )
    silent = np.flatnonzero(n_labels == 0)
    if len(silent):
        yield f"{count(len(silent), 'annotator')} gave no label ({_listed(fit, silent)})."
    yield from fit.label_warnings()
    if has_not_converged(fit.model):
        yield (
            f"The fit did not converge within {thousands(fit.model.max_iter)} iterations; a larger max_iter "
            "may change the results."
        )


def has_not_converged(model: Any) -> bool:
    """Whether a fit, or one of those averaged, used all iterations while its bound was still rising."""
    if hasattr(model, "members_"):
        return any(has_not_converged(member) for member in model.members_)
    history = model.bound_history_
    if model.n_iter_ < model.max_iter:
        return False
    if len(history) < 2 or getattr(model, "stop", "bound") != "bound":  # other criteria are not stored
        return True
    return bool(abs(history[-1] - history[-2]) > model.tol * max(abs(history[-1]), 1.0))


def _listed(fit: FittedModel, annotators: Any) -> str:
    shown = ", ".join(str(name) for name in json_ids(fit.annotations.annotators[annotators[:SHOWN]]))
    return f"{shown}, …" if len(annotators) > SHOWN else shown


# --- settings --------------------------------------------------------------------------------------


def _settings(model: Any) -> Facts:
    """Class and settings of the model, and what it selected by itself."""
    selection = getattr(model, "selection_", None)
    settings = {name: str(value) for name, value in model.get_params(deep=False).items()}
    return {
        "model": type(model).__name__,
        "settings": settings,
        "solver": getattr(model, "solver_", None),
        "iterations": int(model.n_iter_),
        "graph": _graphs(model),
        "chosen": [] if selection is None else list(_selection(selection)),
        "members": None if selection is None else _members(selection),
        "varies": None if selection is None else selection.varies,
    }


def _selection(selection: Any) -> Iterator[str]:
    """What an ensemble learnt from held-out labels, for readers who do not know its members."""
    n_held_out = len(selection.log_lik)
    if not n_held_out:
        yield "No labels were held out, so all models have the same weight."
        return
    yield (
        f"The models are weighted by how well they predict the labels of {count(n_held_out, 'item')} held "
        "out from the fit; no true labels were used."
    )
    if selection.left_out:
        yield f"Models that were tried and dropped: {thousands(selection.left_out)}."
    if np.isfinite(selection.graph):
        weights = zip(selection.on_truth, selection.members, strict=True)
        share = sum(weight for weight, member in weights if member.map == "spectral")
        finding = "help" if share > selection.graph else "add little"
        yield f"Models with a similarity graph have {share:.0%} of the weight: unlabelled items {finding}."
    if selection.varies is None:
        yield "There are too few labels to test whether expertise depends on the item."
    else:
        better = "better" if selection.varies else "no better"
        gain, error = selection.varying
        yield (
            f"Held-out labels are predicted {better} if expertise depends on the item (change in "
            f"log-probability per item: {gain:+.3f}, standard error {error:.3f})."
        )


def _graphs(model: Any) -> list[str]:
    """Descriptions of the graphs of a model, or of those averaged, each once."""
    graphs = [getattr(one, "graph_", "") for one in getattr(model, "members_", [model])]
    return [words for words in dict.fromkeys(graphs) if words]


def _members(selection: Any) -> Table:
    """Models that were averaged, by decreasing weight."""
    order = np.argsort(-selection.weights, kind="stable")
    members = [selection.members[i] for i in order]
    return {
        "map": [member.map for member in members],
        "variance": [float(member.variance) for member in members],
        "expertise": [member.expertise for member in members],
        "coins": ["one for each class" if member.two_coin else "one" for member in members],
        "weight": selection.weights[order].tolist(),
        "on_truth": selection.on_truth[order].tolist(),
        "on_labelled": selection.on_labelled[order].tolist(),
        "held_out": selection.held_out[order].tolist(),
    }
