"""summarize: from a fitted model to the numbers and words that apps may show."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

import whoknows
from whoknows._array import Array
from whoknows.data.errors import InputError
from whoknows.data.vocabulary import show
from whoknows.estimators.inputs.gold import check_gold_numbers, gold_codes, with_classes_of
from whoknows.insight.summary.agree import agreement
from whoknows.insight.summary.answer import Vote, answer, consensus_table
from whoknows.insight.summary.ask import questions, to_adjudicate
from whoknows.insight.summary.cases import Cases
from whoknows.insight.summary.fitted import Fit
from whoknows.insight.summary.given import what_was_given
from whoknows.insight.summary.people import annotator_table, profiles, shown
from whoknows.insight.summary.places import Places
from whoknows.insight.summary.plain import plain
from whoknows.insight.summary.record import Summary
from whoknows.insight.summary.regions import Regions
from whoknows.insight.summary.words import Words

OVERRULED = 20  # items of which it is told why
STEPS = 8

Progress = Callable[[float, float], Any]  # how much is done, of how much


def summarize(
    model: Any,
    X: Any,
    said: Any,
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
    """Sum up a fit: what was given, the answer, who knows what, what to do next.

    Whatever is needed at single items is taken at a sample of them, so that time and memory stay small for
    any number of items; the consensus is of all.

    Parameters
    ----------
    model : CrowdClassifier, AutoCrowdClassifier or CrowdRegressor
        Solution.
    X, said
        What it was fitted to.
    ids : sequence of n_items, optional
        What to call the items; default their ids in ``said``.
    features : sequence of n_features str, optional
        Names of the features; default the columns of a dataframe.
    text, images : sequence of n_items or mapping from item id, optional
        Text of the items; their pictures: a `pathlib.Path` is a file to read, a string a data URI or a name
        to show, which is never opened.
    gold : as in `fit`, optional
        Annotators are measured on it too.
    costs : as in `suggest`, optional
        Cost of a label by annotator.
    notes : sequence of str, optional
        What a reader should know of how the data were read.
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
    fit = Fit.of(model, X, said)
    words = Words.of(fit.said.items.tolist(), ids, text, images)
    called = _feature_names(model, fit, features)
    known = _gold(gold, fit)
    report = _report(progress)
    given = what_was_given(fit, known, notes, called)
    vote = Vote.of(fit)
    table = consensus_table(fit, vote, words)
    next(report)
    annotators, order = annotator_table(fit, known)
    next(report)
    places = Places.of(fit, shown(fit, order), called)
    next(report)
    closer = profiles(fit, places, Regions(fit, places, words, called), annotators, order)
    next(report)
    cases = Cases(fit, vote, words)
    found = answer(fit, vote) | {"overruled": cases.of(vote.most_striking(fit, OVERRULED))}
    unsure, disputed = to_adjudicate(fit, vote)
    adjudicate = {"least_sure": cases.of(unsure), "disputed": cases.of(disputed)}
    next(report)
    agreed = agreement(fit)
    next(report)
    ask = questions(fit, words, costs)
    next(report)
    method = {"version": whoknows.__version__, "feature_names": called[:200]}
    drawn = places.facts(fit, words)
    parts = map(plain, (annotators, closer, drawn, agreed, adjudicate, ask, method))
    summary = Summary(plain(given), plain(found), table, *parts)
    next(report)
    return summary


def _report(progress: Progress | None) -> Iterator[None]:
    """Tell of each step, as often as asked."""
    for done in range(1, STEPS + 1):
        if progress is not None:
            progress(done, STEPS)
        yield


def _feature_names(model: Any, fit: Fit, features: Sequence[str] | None) -> list[str]:
    """Names of the columns of X."""
    width = int(model.n_features_in_)
    if features is not None:
        if len(features) != width:
            raise InputError(
                f"features= must name each of the {width} columns of X; got {len(features)} names."
            )
        return [str(name) for name in features]
    own = getattr(fit.X, "columns", None)
    return [f"feature {j}" for j in range(width)] if own is None else [str(name) for name in own]


def _gold(gold: Any, fit: Fit) -> Array | None:
    """Gold as class codes or numbers, NaN where it is not known: (n_items,)."""
    if gold is None:
        return None
    if fit.kind == "numbers":
        return check_gold_numbers(gold, fit.said)
    strange = set(with_classes_of(gold, fit.said).labels.tolist()) - set(fit.said.labels.tolist())
    if strange:
        raise InputError(
            f"gold has labels that the fit does not know: {show(sorted(strange, key=str))}. Pass it to fit."
        )
    with warnings.catch_warnings():  # of contradictions the fit has warned already
        warnings.simplefilter("ignore")
        codes = gold_codes(gold, fit.said)
    assert codes is not None
    return np.asarray(codes)
