"""How many items are of each class, overall and in groups, corrected for the errors of annotators."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted

from whoknows._array import Array, Rows
from whoknows.data.annotations import Annotations
from whoknows.data.errors import InputError
from whoknows.data.vocabulary import Ids, elements, factorize, show, sorted_if_possible
from whoknows.estimators.inputs.training_data import by_row, gold_codes, with_classes_of
from whoknows.estimators.inputs.validation import row_ids
from whoknows.estimators.intervals import check_level
from whoknows.insight.rates.hidden_gold import posterior_without_own_gold, posteriors_without_annotators
from whoknows.insight.rates.study import Study
from whoknows.insight.rates.table import ALL, SCORE, Rates


def rate(
    model: Any,
    X: Any,
    y: Any,
    *,
    gold: Mapping[Hashable, Any] | ArrayLike | None = None,
    by: Any = None,
    pair: Any = None,
    gold_weight: Mapping[Hashable, float] | ArrayLike | None = None,
    score: Mapping[Hashable, float] | None = None,
    level: float = 0.9,
    new_items: bool = False,
    folds: int = 5,
    random_state: Any = 0,
) -> Rates:
    """Share of each class among items, overall and in groups, corrected for the errors of annotators.

    With gold, by prediction-powered inference: the posterior of the model is the prediction of every item,
    and the gold items show how wrong it is. The intervals hold however wrong the model is, if gold items are a
    random sample (or ``gold_weight`` says how they were drawn), and are at most about as wide as those from the
    gold alone. So that a posterior has not seen its own gold, the model is fitted again ``folds`` times, each
    time without a part of the gold; of an ensemble, only the three best members. Without gold, by the posterior alone.

    Parameters
    ----------
    model : fitted CrowdClassifier or AutoCrowdClassifier
    X, y
        Features and labels of the items, as in `fit`.
    gold : as in `fit`, optional
        Truth of a random sample of the items.
    by : (n_items,), or mapping from item id to group, optional
        Group of each item, such as the model under test or the topic; None for items of no group.
    pair : (n_items,), or mapping from item id, optional
        What items of different groups have in common, such as the question that several models answered:
        differences between groups then account for it.
    gold_weight : (n_items,), or mapping from item id, optional
        One divided by the probability that the item was drawn for gold, up to a factor. Only that of gold items
        matters.
    score : mapping from class to a number between 0 and 1, optional
        Adds the mean score, such as a win rate: ``{"A": 1, "tie": 0.5, "B": 0}``.
    level : float
        Nominal coverage of the intervals.
    new_items : bool
        By default, the rate is that of these items. True: that of all items of which these are a random sample,
        such as all questions that might be asked. Intervals are wider.
    folds : int
        Number of fits that hide a part of the gold.
    random_state : int or None
        Divides the gold items into parts.

    Returns
    -------
    Rates

    References
    ----------
    A. N. Angelopoulos, J. C. Duchi, T. Zrnic (2023), PPI++: efficient prediction-powered inference.
    T. Zrnic, E. J. Candès (2024), Cross-prediction-powered inference. PNAS 121.

    Examples
    --------
    >>> import numpy as np
    >>> from whoknows import CrowdClassifier
    >>> from whoknows.insight import rate
    >>> rng = np.random.default_rng(0)
    >>> X, truth = np.zeros((400, 1)), rng.random(400) < 0.7
    >>> y = np.where(rng.random((400, 3)) < 0.8, truth[:, None], ~truth[:, None]).astype(int)
    >>> gold = {i: int(truth[i]) for i in range(40)}
    >>> model = CrowdClassifier("id", map="linear").fit(X, y, gold=gold)
    >>> rates = rate(model, X, y, gold=gold, by=["first"] * 200 + ["second"] * 200)
    >>> rates.group.tolist(), rates.label.tolist(), rates.n_gold.tolist()
    (['all items', 'all items', 'first', 'first', 'second', 'second'], [0, 1, 0, 1, 0, 1], [40, 40, 40, 40, 0, 0])
    >>> bool(rates.low[1] < truth.mean() < rates.high[1])
    True
    """
    check_is_fitted(model)
    if not hasattr(model, "classes_"):
        raise InputError("rate is about classes; a regressor has none.")
    Y = model._annotations_of(X, y)
    known = by_row(gold, row_ids(X), y)
    Y = with_classes_of(known, Y)
    Y = Y.recode(Y.annotators, _all_labels(model, Y))
    codes = gold_codes(known, Y)
    options = {"by": by, "pair": pair, "gold_weight": gold_weight, "score": score, "level": level}
    options |= {"new_items": new_items, "items": Y.items}
    if codes is None or not np.isfinite(codes).any():
        replicates = posteriors_without_annotators(model, X, Y)
        return rate_of(model.posterior(X, Y), None, Y.labels, replicates=replicates, **options)
    prob = posterior_without_own_gold(model, X, Y, codes, folds, random_state)
    return rate_of(prob, codes, Y.labels, **options)


def rate_of(
    prob: Array,
    gold: Array | None,
    labels: Ids,
    *,
    by: Any = None,
    pair: Any = None,
    gold_weight: Any = None,
    score: Mapping[Hashable, float] | None = None,
    level: float = 0.9,
    new_items: bool = False,
    items: Ids | None = None,
    replicates: list[Array] | None = None,
) -> Rates:
    """Compute the rates of `rate` from predictions that have not seen the gold.

    Parameters
    ----------
    prob : (n_items, n_classes)
        Probability of each class.
    gold : (n_items,) or None
        Column of the true class, NaN where it is not known.
    labels : (n_classes,)
    replicates : list of (n_items, n_classes), optional
        Predictions without each of the annotators, for intervals without gold.
    items : ids, optional
        Keys of ``by``, ``pair`` and ``gold_weight`` if these are mappings.
    by, pair, gold_weight, score, level, new_items
        As in `rate`.
    """
    ids = elements(items) if items is not None else list(range(len(prob)))
    names, members = _groups(by, ids)
    study = Study(
        prob=prob,
        gold=np.full(len(prob), np.nan) if gold is None else gold,
        weight=_weights(gold_weight, ids),
        pair=None if pair is None else factorize(_of_items(pair, ids, "pair"), "pair").codes,
        shares=_shares(score, elements(labels)),
        reach=check_level(level),
        new_items=new_items,
        replicates=replicates or [],
    )
    return study.rates(names, members, [*elements(labels), *([SCORE] if score else [])], level)


# --- input ---------------------------------------------------------------------------------------------------


def _all_labels(model: Any, Y: Annotations) -> list[Any]:
    """Labels of the fit, then those that only these annotations or gold have."""
    known = elements(model.classes_)
    return [*known, *(label for label in elements(Y.labels) if label not in known)]


def _of_items(values: Any, ids: list[Any], name: str) -> list[Any]:
    """Return one value per item, from a column or a mapping."""
    if isinstance(values, Mapping):
        known = set(ids)
        strange = [item for item in values if item not in known]
        if strange:
            raise InputError(
                f"{name}= names {len(strange)} items that y does not have, such as {show(strange, 3)}; y has "
                f"{show(ids, 3)}. Use the ids of y's items."
            )
        return [values.get(item) for item in ids]
    if np.ndim(values) != 1 or len(values) != len(ids):
        raise InputError(f"{name}= needs one value for each of the {len(ids)} items; got shape {np.shape(values)}.")
    return list(np.asarray(values, dtype=object))


def _groups(by: Any, ids: list[Any]) -> tuple[list[Any], list[Rows]]:
    """Names and rows of all items, then of each group in order."""
    everything = np.arange(len(ids))
    if by is None:
        return [ALL], [everything]
    found = factorize(_of_items(by, ids, "by"), "by")
    names = sorted_if_possible(found.values)
    return [ALL, *names], [everything, *(np.flatnonzero(found.codes == found.values.index(name)) for name in names)]


def _weights(given: Any, ids: list[Any]) -> Array | None:
    """Weights of gold items, 1 where there is none."""
    if given is None:
        return None
    listed = _of_items(given, ids, "gold_weight")
    weight = np.array([1.0 if value is None else value for value in listed], dtype=float)
    if not (np.isfinite(weight) & (weight > 0)).all():
        wrong = weight[~(np.isfinite(weight) & (weight > 0))][0]
        raise InputError(f"gold_weight= needs positive numbers, 1 / probability of being drawn; got {wrong}.")
    return weight


def _shares(score: Mapping[Hashable, float] | None, labels: list[Any]) -> Array:
    """Weights of the classes in each share: (n_classes, n_shares)."""
    if score is None:
        return np.eye(len(labels))
    lacking = [label for label in labels if label not in score]
    values = np.array([score.get(label, np.nan) for label in labels], dtype=float)
    if lacking or not ((values >= 0) & (values <= 1)).all():
        raise InputError(
            f"score= needs a number between 0 and 1 for each of the labels {show(labels)}; got {dict(score)}."
        )
    return np.column_stack([np.eye(len(labels)), values])
