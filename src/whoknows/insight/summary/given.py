"""What was given and what was done with it: counts, coverage, warnings, settings chosen and why."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from scipy.stats import hypergeom

from whoknows._array import Array
from whoknows.insight.summary.fitted import Fit
from whoknows.insight.summary.plain import Facts, Table, called, count, names, thousands

FEW = 5  # labels of an annotator or a class of which little can be learnt
ONE_NOTE = 0.95  # share of one label from which an annotator is suspected of not looking
USUAL = 0.8  # share of a label among the others' labels from which it is no wonder
BY_CHANCE = 0.01  # probability that anybody is suspected who only met the items by chance
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
    """How many features; a single column of zeros stands for items of which nothing is known."""
    return len(features) if len(features) > 1 else int(fit.numbers(np.arange(fit.n_items)).any())


def _is_constant(x: Array) -> bool:
    return bool(x.any() and np.ptp(x) == 0)


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
    if fit.model.n_features_in_ == 1 and _is_constant(fit.numbers(np.arange(fit.n_items))):
        yield "The one feature is the same for all items: it says nothing about them."
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
    if ran_out(fit.model):
        yield (
            f"The fit stopped after {thousands(fit.model.max_iter)} iterations without having converged; a "
            "larger max_iter may change the answer."
        )


def ran_out(model: Any) -> bool:
    """Whether a fit, or one of those averaged, used up its iterations while its bound still rose."""
    if hasattr(model, "members_"):
        return any(ran_out(member) for member in model.members_)
    history = model.bound_history_
    if model.n_iter_ < model.max_iter:
        return False
    if len(history) < 2 or getattr(model, "stop", "bound") != "bound":  # how far parameters went is not kept
        return True
    return bool(abs(history[-1] - history[-2]) > model.tol * max(abs(history[-1]), 1.0))


def _warnings_of_classes(fit: Fit) -> Iterator[str]:
    said = fit.said
    given = np.bincount(said.label, minlength=said.n_classes)
    for k in np.flatnonzero(given < FEW)[:SHOWN]:
        how_often = "never given" if given[k] == 0 else f"given only {count(int(given[k]), 'time')}"
        yield f"The label {names(said.labels)[k]!r} was {how_often}: little is known of it."
    for t, k, often in one_note(fit)[:SHOWN]:
        who, what, n = called(names(said.annotators)[t]), names(said.labels)[k], said.labels_per_annotator[t]
        on = f"all {thousands(n)} of their" if often == n else f"{thousands(often)} of their {thousands(n)}"
        yield f"{who} said {what!r} on {on} labels, whatever the item."


def one_note(fit: Fit) -> list[tuple[int, int, int]]:
    """Annotators who nearly always say one thing that others do not: (annotator, label, how often).

    Of a large crowd somebody meets ten items of one class by chance: nobody is named whose labels could come
    about by drawing from all labels, without putting back; corrected for the number of tests (Bonferroni).
    """
    said = fit.said
    table = np.zeros((said.n_annotators, said.n_classes))
    np.add.at(table, (said.annotator, said.label), 1)
    n, top, often = table.sum(axis=1), table.argmax(axis=1), table.max(axis=1)
    total, alike = said.n_annotations, table.sum(axis=0)[top]
    p = hypergeom.sf(often - 1, total, alike, n) * table.size
    odd = (alike - often < USUAL * (total - n)) & (p < BY_CHANCE)
    suspected = odd & (often >= ONE_NOTE * n) & (n >= 2 * FEW)
    return [(int(t), int(top[t]), int(often[t])) for t in np.flatnonzero(suspected)]


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
        "graph": _graphs(model),
        "chosen": [] if selection is None else str(selection).split("\n\n")[0].splitlines(),
        "members": None if selection is None else _members(selection),
        "varies": None if selection is None else selection.varies,
    }


def _graphs(model: Any) -> list[str]:
    """Graphs of a model, or of those averaged, in words, each once."""
    graphs = [getattr(one, "graph_", "") for one in getattr(model, "members_", [model])]
    return [words for words in dict.fromkeys(graphs) if words]


def _members(selection: Any) -> Table:
    """Models that were averaged, the heaviest first."""
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
