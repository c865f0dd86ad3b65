"""summarize: from a fitted model to the numbers and sentences that apps may show."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import fields
from datetime import date
from typing import Any

import numpy as np

import whoknows
from whoknows._array import Array
from whoknows.data.errors import InputError
from whoknows.insight.summary.annotators import (
    ItemMap,
    Regions,
    agreement_facts,
    annotator_table,
    profiled_annotators,
    profiles,
)
from whoknows.insight.summary.calibration import calibration
from whoknows.insight.summary.fitted import FittedModel, fitted_model
from whoknows.insight.summary.item_list import item_list
from whoknows.insight.summary.items import ItemDescriptions, question_facts, review_lists
from whoknows.insight.summary.reliability import reliability
from whoknows.insight.summary.summary import Summary
from whoknows.insight.summary.text import Facts, Table, count, json_ids, json_value, thousands
from whoknows.insight.summary.variation import variation

MAX_FEATURE_NAMES = 200
FEW_LABELS = 5  # of an annotator
MANY_LABELS = 6  # labels per item, counted together from here
SHOWN = 3  # ids named in a warning

Progress = Callable[[float, float], Any]  # how much is done, of how much


def summarize(
    model: Any,
    X: Any,
    y: Any,
    *,
    ids: Any = None,
    features: Sequence[str] | None = None,
    text: Any = None,
    images: Any = None,
    gold: Any = None,
    costs: Any = None,
    notes: Sequence[str] = (),
    by: Mapping[str, Sequence[Any]] | None = None,
    progress: Progress | None = None,
) -> Summary:
    """Summarize a fit: the data, the consensus, the expertise of annotators, what to do next.

    The consensus is of all items. Everything else that needs the model at single items is computed on a
    sample, so time and memory stay small for any number of items.

    Parameters
    ----------
    model : CrowdClassifier, AutoCrowdClassifier or CrowdRegressor
        A fitted model.
    X, y
        The data it was fitted to.
    ids : sequence of n_items, optional
        Names of the items to show; default their ids in ``y``.
    features : sequence of n_features str, optional
        Names of the features; default the columns of a dataframe.
    text, images : sequence of n_items or mapping from item id, optional
        Texts and images of the items. An image is a `pathlib.Path`, a file to read, or a string, a data URI
        or a name to show, which is never opened.
    gold : as in `fit`, optional
        Annotators are compared with it.
    costs : as in `suggest`, optional
        Cost of a label by annotator.
    notes : sequence of str, optional
        What a reader should know about how the data were read.
    by : mapping from a name to n_items values, optional
        Kinds of items, such as their topic: how often each annotator is right on each kind.
    progress : callable(done, total), optional
        Called after every step.

    Returns
    -------
    Summary

    Examples
    --------
    >>> import numpy as np
    >>> from whoknows import CrowdClassifier
    >>> from whoknows.insight.summary import summarize
    >>> X = np.array([[0.0], [1.0], [2.0], [3.0], [4.0], [5.0]])
    >>> nan = np.nan
    >>> y = np.array([[0, 0, 1], [0, nan, 0], [nan, nan, nan], [nan, nan, nan], [1, 1, 0], [1, 1, nan]])
    >>> summary = summarize(CrowdClassifier().fit(X, y), X, y)
    >>> summary.consensus["consensus"]
    [0, 0, 0, 1, 1, 1]
    >>> summary.annotators["annotator"][-1]
    2
    """
    fit = fitted_model(model, X, y)
    descriptions = ItemDescriptions(fit.annotations.items.tolist(), ids, text, images)
    if gold is not None:
        gold = fit.check_gold(gold)
        fit.gold = gold
    kinds, sections = fit.kinds(by or {}), {}
    for name, facts in _sections(fit, descriptions, _feature_names(fit, features), gold, costs, notes, kinds):
        sections[name] = facts
        if progress is not None:
            progress(len(sections), len(fields(Summary)))
    return Summary(**sections)


def _sections(
    fit: FittedModel,
    descriptions: ItemDescriptions,
    features: list[str],
    gold: Array | None,
    costs: Any,
    notes: Sequence[str],
    kinds: Facts,
) -> Iterator[tuple[str, Any]]:
    """Compute the fields of a `Summary` one by one."""
    whether_it_varies = variation(fit)
    yield "given", json_value(overview(fit, notes, features) | {"variation": whether_it_varies})
    consensus = {"item": descriptions.ids, **fit.consensus_columns()}
    if fit.is_gold.any():
        consensus["gold"] = fit.is_gold.tolist()
    yield "consensus", consensus
    annotators, order = annotator_table(fit, gold)
    yield "annotators", json_value(annotators)
    item_map = ItemMap(fit, profiled_annotators(fit, order), features)
    yield "map", json_value(item_map.facts(fit, descriptions, consensus))
    regions = Regions(fit, item_map, descriptions, features, shown=whether_it_varies["regions"])
    yield "profiles", json_value(profiles(fit, item_map, regions, annotators, order))
    overruled, review = review_lists(fit, descriptions, consensus)
    answer = _vote_facts(fit) | fit.consensus_facts()
    trust = {"calibration": calibration(fit), "reliability": reliability(fit)}
    yield "answer", json_value(answer | {"overruled": overruled} | trust)
    yield "adjudicate", json_value(review)
    yield "agreement", json_value(agreement_facts(fit))
    yield "ask", json_value(question_facts(fit, descriptions, costs))
    yield "kinds", json_value(kinds)
    yield "items", json_value(item_list(fit, descriptions, consensus, item_map.rows))
    yield (
        "method",
        {
            "version": whoknows.__version__,
            "date": date.today().isoformat(),
            "feature_names": features[:MAX_FEATURE_NAMES],
        },
    )


def consensus_table(model: Any, y: Any, ids: Sequence[Any]) -> Table:
    """Return the columns of ``Summary.consensus`` alone, which need no features.

    Parameters
    ----------
    model
        Fitted to these items, as in `summarize`.
    y : Annotations
    ids : sequence of n_items
    """
    fit = fitted_model(model, range(y.n_items), y)
    return {"item": json_ids(ids), **fit.consensus_columns()}


def _feature_names(fit: FittedModel, features: Sequence[str] | None) -> list[str]:
    """Names of the columns of X; of its numbers where some are encoded."""
    width = int(fit.model.n_features_in_)
    if features is None:
        features = getattr(fit.X, "columns", [f"feature {j}" for j in range(width)])
    if len(features) != width:
        raise InputError(f"features= must name each of the {width} columns of X; got {len(features)} names.")
    return fit.preprocessing.encoded_names([str(name) for name in features])


def _vote_facts(fit: FittedModel) -> Facts:
    """How often labels have a majority or mean, and how often the consensus contradicts it."""
    single, has_vote = fit.annotations.labels_per_item == 1, np.isfinite(fit.vote)
    return {
        "n_voted": int(has_vote.sum()),
        "n_overruled": int(fit.overruled.sum()),
        "n_overruled_single": int((fit.overruled & single).sum()),
        "n_tied": int((fit.annotations.labelled & ~has_vote).sum()),
    }


# --- overview ---------------------------------------------------------------------------------------


def overview(fit: FittedModel, notes: Sequence[str], features: Sequence[str]) -> Facts:
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
        # A single column of zeros stands for items without features.
        "n_features": len(features) if len(features) > 1 else int(fit.feature_array().any()),
        "n_gold": int(fit.is_gold.sum()),
        "classes": fit.classes,
        "coverage": _coverage(annotations.labels_per_item),
        "labels_per_annotator": spread,
        "warnings": list(_warnings(fit)),
        "notes": [str(note) for note in notes],
        **_settings(fit.model),
    }


def _has_constant_feature(fit: FittedModel) -> bool:
    is_only = fit.model.n_features_in_ == 1
    return bool(is_only and fit.feature_array().any() and np.ptp(fit.feature_array()) == 0)


def _coverage(per_item: Any) -> Table:
    """Number of items with no label, one, two, and so on."""
    items = np.bincount(np.minimum(per_item, MANY_LABELS), minlength=MANY_LABELS + 1)
    last = int(np.flatnonzero(items)[-1])
    labels = [str(n) if n < MANY_LABELS else f"{MANY_LABELS} or more" for n in range(last + 1)]
    return {"labels": labels, "items": items[: last + 1].tolist()}


# --- warnings --------------------------------------------------------------------------------------


def _warnings(fit: FittedModel) -> Iterator[str]:
    annotations, n_labels = fit.annotations, fit.annotations.labels_per_annotator
    yield from fit.gold_warnings()
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
    graphs = [getattr(one, "graph_", "") for one in getattr(model, "members_", [model])]
    return {
        "model": type(model).__name__,
        "settings": {name: str(value) for name, value in model.get_params(deep=False).items()},
        "solver": getattr(model, "solver_", None),
        "iterations": int(model.n_iter_),
        "graph": list(dict.fromkeys(graph for graph in graphs if graph)),
        "chosen": _about_classifier(model) if selection is None else list(selection.sentences()),
        "members": None if selection is None else _members(selection),
    }


def _about_classifier(model: Any) -> list[str]:
    """What to know about a classifier as truth; nothing for other truths."""
    if not hasattr(model, "truth_classifier_"):
        return []
    name = type(model.truth).__name__
    return [f"The truth is predicted by {name}: each item by a copy that was fitted without its labels."]


def _members(selection: Any) -> Table:
    """Models that were averaged, by decreasing weight."""
    order = np.argsort(-selection.weights, kind="stable")
    members, scores = [selection.members[i] for i in order], ("on_truth", "on_labelled", "held_out")
    return {
        "map": [member.map for member in members],
        "variance": [float(member.variance) for member in members],
        "expertise": [member.expertise for member in members],
        "coins": ["one for each class" if member.two_coin else "one" for member in members],
        "weight": selection.weights[order].tolist(),
        **{name: getattr(selection, name)[order].tolist() for name in scores},
    }
