"""What was given and what was done with it: counts, coverage, warnings, settings chosen and why."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from whoknows._array import Array
from whoknows.insight.summary.fitted import Fit
from whoknows.insight.summary.plain import Facts, Table, count, names

FEW = 5  # labels of an annotator or a class of which little can be learnt
ONE_NOTE = 0.95  # share of one label from which an annotator is suspected of not looking
MANY = 6  # labels an item, counted together from here
SHOWN = 3  # ids named in a warning


def what_was_given(fit: Fit, gold: Array | None, notes: Sequence[str], features: Sequence[str]) -> Facts:
    """Counts, coverage, warnings and settings."""
    said = fit.said
    active = said.labels_per_annotator[said.labels_per_annotator > 0]
    return {
        "kind": fit.kind,
        "n_items": said.n_items,
        "n_labelled": int(said.labelled.sum()),
        "n_annotators": said.n_annotators,
        "n_labels": said.n_annotations,
        "n_features": _n_features(fit, features),
        "n_gold": 0 if gold is None else int(np.isfinite(gold).sum()),
        "classes": [] if fit.kind == "numbers" else names(said.labels),
        "coverage": _coverage(said.labels_per_item),
        "labels_per_annotator": [int(active.min()), float(np.median(active)), int(active.max())],
        "warnings": list(_warnings(fit)),
        "notes": [str(note) for note in notes],
        **_settings(fit.model),
    }


def _n_features(fit: Fit, features: Sequence[str]) -> int:
    """How many features; a single one that is the same for all items says nothing, so there is none."""
    return len(features) if len(features) > 1 else int(np.ptp(fit.numbers(np.arange(fit.n_items))) > 0)


def _coverage(per_item: Any) -> Table:
    """How many items have no label, one, two, and so on."""
    items = np.bincount(np.minimum(per_item, MANY), minlength=MANY + 1)
    last = int(np.flatnonzero(items)[-1])
    labels = [str(n) if n < MANY else f"{MANY} or more" for n in range(last + 1)]
    return {"labels": labels, "items": items[: last + 1].tolist()}


# --- warnings --------------------------------------------------------------------------------------


def _warnings(fit: Fit) -> Iterator[str]:
    said = fit.said
    if said.n_annotators == 1:
        yield (
            "There is one annotator, whom nobody contradicts: expertise rests on how well the features "
            "foretell the labels."
        )
    elif not (said.labels_per_item > 1).any():
        yield "No item has two labels: annotators are compared through the features alone."
    few = np.flatnonzero((said.labels_per_annotator < FEW) & (said.labels_per_annotator > 0))
    if len(few):
        yield (
            f"{count(len(few), 'annotator')} gave fewer than {FEW} labels ({_listed(fit, few)}): "
            "what is said of them is mostly what is known of the crowd."
        )
    silent = np.flatnonzero(said.labels_per_annotator == 0)
    if len(silent):
        yield f"{count(len(silent), 'annotator')} gave no label ({_listed(fit, silent)})."
    if fit.kind != "numbers":
        yield from _warnings_of_classes(fit)
    if fit.model.n_iter_ >= fit.model.max_iter:
        yield (
            f"The fit stopped after {fit.model.max_iter} iterations without having converged; a larger "
            "max_iter may change the answer."
        )


def _warnings_of_classes(fit: Fit) -> Iterator[str]:
    said = fit.said
    given = np.bincount(said.label, minlength=said.n_classes)
    for k in np.flatnonzero(given < FEW)[:SHOWN]:
        how_often = "never" if given[k] == 0 else f"only {count(int(given[k]), 'time')}"
        yield f"The label {names(said.labels)[k]!r} was {how_often} given: little is known of it."
    for t, k, share in one_note(fit)[:SHOWN]:
        who, what = names(said.annotators)[t], names(said.labels)[k]
        yield f"{who} says {what!r} on {share:.0%} of the items, whatever they are."


def one_note(fit: Fit) -> list[tuple[int, int, float]]:
    """Annotators who nearly always say one thing that others do not: (annotator, label, share)."""
    said = fit.said
    table = np.zeros((said.n_annotators, said.n_classes))
    np.add.at(table, (said.annotator, said.label), 1)
    share = table / np.maximum(table.sum(axis=1, keepdims=True), 1)
    usual = table.sum(axis=0) / max(said.n_annotations, 1)
    top = share.argmax(axis=1)
    rows = np.flatnonzero(
        (share.max(axis=1) >= ONE_NOTE) & (table.sum(axis=1) >= 2 * FEW) & (usual[top] < 0.8)
    )
    return [(int(t), int(top[t]), float(share[t, top[t]])) for t in rows]


def _listed(fit: Fit, people: Any) -> str:
    shown = ", ".join(str(name) for name in names(fit.said.annotators[people[:SHOWN]]))
    return f"{shown}, …" if len(people) > SHOWN else shown


# --- settings --------------------------------------------------------------------------------------


def _settings(model: Any) -> Facts:
    """Which model, how it was set, and why if it chose for itself."""
    selection = getattr(model, "selection_", None)
    settings = {name: str(value) for name, value in model.get_params(deep=False).items()}
    return {
        "model": type(model).__name__,
        "settings": settings,
        "solver": getattr(model, "solver_", None),
        "iterations": int(model.n_iter_),
        "chosen": [] if selection is None else str(selection).split("\n\n")[0].splitlines(),
        "members": None if selection is None else _members(selection),
        "varies": None if selection is None else _varies(selection),
    }


def _varies(selection: Any) -> bool | None:
    """Whether held-out labels show that expertise depends on the item; None if they cannot tell."""
    gain, error = selection.varying
    return bool(gain > 2 * error) if np.isfinite(gain) else None


def _members(selection: Any) -> Table:
    """Models that were averaged, the heaviest first."""
    order = np.argsort(-selection.weights, kind="stable")
    members = [selection.members[i] for i in order]
    return {
        "map": [member.map for member in members],
        "variance": [float(member.variance) for member in members],
        "expertise": ["varies with x" if member.varies_with_x else "constant" for member in members],
        "weight": selection.weights[order].tolist(),
        "held_out": selection.held_out[order].tolist(),
    }
