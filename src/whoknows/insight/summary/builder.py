"""summarize: from a fitted model to the numbers and sentences that apps may show."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

import whoknows
from whoknows.data.errors import InputError
from whoknows.insight.summary.annotators import (
    agreement_facts,
    annotator_table,
    profiled_annotators,
    profiles,
)
from whoknows.insight.summary.categorical import CategoricalFit, OrdinalFit
from whoknows.insight.summary.fitted import FittedModel
from whoknows.insight.summary.gaussian import GaussianFit
from whoknows.insight.summary.items import ItemDescriptions, question_facts, review_lists
from whoknows.insight.summary.labels_overview import overview
from whoknows.insight.summary.regions import ItemMap, Regions
from whoknows.insight.summary.summary import Summary
from whoknows.insight.summary.text import Facts, Table, json_ids, json_value

STEPS = 8
MAX_FEATURE_NAMES = 200

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
    descriptions = ItemDescriptions.create(fit.annotations.items.tolist(), ids, text, images)
    names = _feature_names(fit, features)
    gold = None if gold is None else fit.check_gold(gold)
    step = _steps(progress)
    data = overview(fit, gold, notes, names)
    consensus = {"item": descriptions.ids, **fit.consensus_columns()}
    next(step)
    annotators, order = annotator_table(fit, gold)
    next(step)
    item_map = ItemMap.create(fit, profiled_annotators(fit, order), names)
    next(step)
    regions = Regions(fit, item_map, descriptions, names)
    closer = profiles(fit, item_map, regions, annotators, order)
    next(step)
    overruled, review = review_lists(fit, descriptions, consensus)
    next(step)
    agreement = agreement_facts(fit)
    next(step)
    questions = question_facts(fit, descriptions, costs)
    next(step)
    summary = Summary(
        given=json_value(data),
        answer=json_value(_vote_facts(fit) | fit.consensus_facts() | {"overruled": overruled}),
        consensus=consensus,
        annotators=json_value(annotators),
        profiles=json_value(closer),
        map=json_value(item_map.facts(fit, descriptions, consensus)),
        agreement=json_value(agreement),
        adjudicate=json_value(review),
        ask=json_value(questions),
        method={"version": whoknows.__version__, "feature_names": names[:MAX_FEATURE_NAMES]},
    )
    next(step)
    return summary


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


def fitted_model(model: Any, X: Any, y: Any) -> FittedModel:
    """Return the interface to a fitted model and its data, for its kind of truth."""
    check_is_fitted(model)
    kind: type[FittedModel] = CategoricalFit
    if hasattr(model, "posterior_mean_"):
        kind = GaussianFit
    elif hasattr(model, "annotator_severity_"):
        kind = OrdinalFit
    return kind(model, X, y)


def _steps(progress: Progress | None) -> Iterator[None]:
    """Report every step."""
    for done in range(1, STEPS + 1):
        if progress is not None:
            progress(done, STEPS)
        yield


def _feature_names(fit: FittedModel, features: Sequence[str] | None) -> list[str]:
    """Names of the columns of X."""
    width = int(fit.model.n_features_in_)
    if features is not None:
        if len(features) != width:
            raise InputError(
                f"features= must name each of the {width} columns of X; got {len(features)} names."
            )
        return [str(name) for name in features]
    columns = getattr(fit.X, "columns", None)
    return [f"feature {j}" for j in range(width)] if columns is None else [str(name) for name in columns]


def _vote_facts(fit: FittedModel) -> Facts:
    """How often labels have a majority or mean, and how often the consensus contradicts it."""
    single, has_vote = fit.annotations.labels_per_item == 1, np.isfinite(fit.vote)
    return {
        "n_voted": int(has_vote.sum()),
        "n_overruled": int(fit.overruled.sum()),
        "n_overruled_single": int((fit.overruled & single).sum()),
        "n_tied": int((fit.annotations.labelled & ~has_vote).sum()),
    }
