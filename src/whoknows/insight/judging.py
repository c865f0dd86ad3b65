"""From the votes of judges to a decision: judges against gold, shared errors, kinds of items, corrected rates."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from sklearn.utils import _safe_indexing

from whoknows._array import Array, Mask
from whoknows.data.annotations import Annotations
from whoknows.data.vocabulary import elements, tight_array
from whoknows.estimators.baselines.two_step import votes
from whoknows.estimators.inputs.training_data import gold_codes, with_classes_of
from whoknows.insight.accuracy import AgainstGold, confusion_counts, from_confusion
from whoknows.insight.blocks import Blocks, contradicting_blocks
from whoknows.insight.kinds import ByKind, by_kind
from whoknows.insight.pair_expectations import expected_pairs, rows_to_compare
from whoknows.insight.rates import Rates, rate_of
from whoknows.insight.rates.hidden_gold import Progress, posterior_without_own_gold, posteriors_without_annotators
from whoknows.insight.together import LEAST, SharedErrors, shared_errors
from whoknows.insight.worse import WorseThanChance, worse_than_chance

FOLDS = 5  # fits that hide a part of the gold
CONSENSUS = "consensus"


@dataclass(frozen=True, eq=False)
class Judges:
    """What is known about judges and what they judged.

    Attributes
    ----------
    against : AgainstGold or None
        Each judge against the gold; the last row, "consensus", is the consensus of fits without this gold.
    shared : SharedErrors
        Who errs together: on the gold or, with too little of it, by the fitted model.
    by_gold : bool
        Whether ``shared`` is from gold.
    blocks : Blocks or None
        Judges that contradict each other, if there is no gold.
    rates : Rates
        Corrected, of all items.
    rates_by, kinds : mappings from column to Rates, and to ByKind
        Corrected rates of each group, and how often each judge is right on it.
    posterior : (n_items, n_classes)
        Of all items; that of a gold item has not seen its gold.
    is_gold : (n_items,)
    annotations : Annotations
    worse : list of WorseThanChance
        Judges who are worse than chance on the gold, and how the model uses their labels.
    """

    against: AgainstGold | None
    shared: SharedErrors
    by_gold: bool
    blocks: Blocks | None
    rates: Rates
    posterior: Array
    is_gold: Mask
    annotations: Annotations
    rates_by: dict[str, Rates] = field(default_factory=dict)
    kinds: dict[str, ByKind] = field(default_factory=dict)
    worse: list[WorseThanChance] = field(default_factory=list)

    def next_items(self, n: int) -> dict[str, Any]:
        """Items that people should look at next, as columns: those whose class is the least certain.

        ``information`` is what the truth of the item would add, in bits: the entropy of its posterior.
        """
        prob = np.clip(self.posterior, 1e-300, 1)
        bits = np.where(self.is_gold, -1.0, -(prob * np.log2(prob)).sum(axis=1))
        rows = np.argsort(-bits, kind="stable")[: min(n, int((~self.is_gold).sum()))]
        counts = votes(self.annotations, weighted=False)
        labels = self.annotations.labels
        return {
            "item": self.annotations.items[rows],
            "consensus": labels[self.posterior[rows].argmax(axis=1)],
            "confidence": self.posterior[rows].max(axis=1),
            "information": bits[rows],
            **{f"votes for {label}": counts[rows, k] for k, label in enumerate(labels.tolist())},
        }


def judges(
    model: Any,
    X: Any,
    y: Annotations,
    *,
    gold: Mapping[Hashable, Any] | None = None,
    by: Mapping[str, Any] | None = None,
    pair: Any = None,
    level: float = 0.9,
    random_state: Any = 0,
    progress: Progress | None = None,
) -> Judges:
    """Study judges: each against the gold, who errs together, and corrected rates.

    Parameters
    ----------
    model : fitted CrowdClassifier or AutoCrowdClassifier
        With gold, it is fitted again five times, each time without a part of the gold.
    X, y
        Features and labels of the items, as in `fit`.
    gold : mapping from item id to label, optional
    by : mapping from the name of a column to its values, optional
        Groups of items, one value per item: the model under test, the topic.
    pair : (n_items,), optional
        As in `rate`.
    level : float
        Nominal coverage of the intervals.
    random_state : int or None
        Divides the gold items into parts.
    progress : callable(done, of), optional
    """
    y = with_classes_of(gold, y)
    codes = gold_codes(gold, y) if gold else None
    is_gold = np.zeros(y.n_items, dtype=bool) if codes is None else np.isfinite(codes)
    options: dict[str, Any] = {"pair": pair, "level": level, "items": y.items}
    if codes is None:
        prob = model.posterior(X, y)
        options["replicates"] = posteriors_without_annotators(model, X, y)
    else:
        prob = posterior_without_own_gold(model, X, y, codes, FOLDS, random_state, progress)
    shared, by_gold = _shared(model, X, y, codes)
    columns = by or {}
    return Judges(
        against=None if codes is None else _against(y, codes, prob, level),
        shared=shared,
        by_gold=by_gold,
        blocks=contradicting_blocks(y) if codes is None else None,
        rates=rate_of(prob, codes, y.labels, **options),
        rates_by={name: rate_of(prob, codes, y.labels, by=values, **options) for name, values in columns.items()},
        kinds={name: by_kind(y, prob, values, codes, level) for name, values in columns.items()},
        posterior=prob,
        is_gold=is_gold,
        annotations=y,
        worse=[] if codes is None else worse_than_chance(model, X, y, codes, level),
    )


def _against(y: Annotations, gold: Array, prob: Array, level: float) -> AgainstGold:
    """Judges, and then the consensus, against the gold."""
    known, n = np.isfinite(gold), y.n_classes
    cell = gold[known].astype(int) * n + prob[known].argmax(axis=1)
    of_consensus = np.bincount(cell, minlength=n * n).reshape(1, n, n)
    names = tight_array([*elements(y.annotators), CONSENSUS])
    return from_confusion(names, y.labels, np.concatenate([confusion_counts(y, gold), of_consensus]), level)


def _shared(model: Any, X: Any, y: Annotations, gold: Array | None) -> tuple[SharedErrors, bool]:
    """Who errs together, and whether that is known from gold."""
    if gold is not None and np.isfinite(gold).sum() >= LEAST:
        found = shared_errors(y, gold)
        if len(found):
            return found, True
    rows = rows_to_compare(y, len(model.pairs_))
    return shared_errors(y[rows], expected=expected_pairs(model, _safe_indexing(X, rows), y[rows])), False
