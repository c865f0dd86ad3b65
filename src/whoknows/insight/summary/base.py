"""What all fitted models have in common for a summary: their data, samples of items, skill in blocks."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cached_property
from typing import Any

import numpy as np
from sklearn.utils import _safe_indexing
from sklearn.utils.validation import _num_samples

from whoknows._array import Array, Mask, Rows, segment_sum
from whoknows.data.errors import InputError
from whoknows.estimators.inputs.preprocessing import Preprocessing
from whoknows.estimators.inputs.validation import CheckedFeatures, check_annotations, checked, row_ids
from whoknows.insight.summary.text import Facts

ANSWERS = 8_000_000  # items × annotators × members × classes at which skill is computed
MIN_ITEMS = 500  # items in any case
FEATURE_ITEMS = 5_000  # on which a feature must vary to count
BINS = 10  # of a histogram


class FittedData:
    """A fitted model and the data it was fitted to.

    Attributes
    ----------
    model : fitted estimator
    X : (n_items, n_features)
        As passed by the user.
    annotations : Annotations
        In the codes of the model: annotators as in ``annotators_``, labels as in ``classes_``.
    gold : (n_items,)
        Class codes or numbers, NaN for items whose truth is not known.
    n_items, n_annotators : int
    n_members : int
        Number of models that are averaged.
    n_outcomes : int
        Number of classes, 1 for numbers.
    """

    def __init__(self, model: Any, X: Any, y: Any, n_fitted: int) -> None:
        n_items = _num_samples(X)
        if n_items != n_fitted:
            raise InputError(
                f"A summary needs the data of the fit: it had {n_fitted} items, X has {n_items} rows. Pass "
                "the same X and y as to fit, in the same order."
            )
        annotations = check_annotations(y, n_items, model.annotators_, row_ids(X))
        labels = getattr(model, "classes_", annotations.labels)  # numbers have no classes
        self.model, self.X = model, X
        self.annotations = annotations.recode(model.annotators_, labels)
        self.n_items, self.n_annotators = self.annotations.shape
        self.gold = np.full(self.n_items, np.nan)
        self.n_members = len(getattr(model, "pairs_", [model]))
        self.n_outcomes = len(getattr(model, "classes_", [model]))

    @property
    def is_gold(self) -> Mask:
        """Items whose truth is known: (n_items,)."""
        return np.isfinite(self.gold)

    def features(self, rows: Rows) -> Any:
        """Features of some items, for the methods of the model, which all get them here."""
        return CheckedFeatures(self._checked.X[rows], None)

    @cached_property
    def _checked(self) -> CheckedFeatures:
        """All features, validated once for every question to the model."""
        return checked(self.model, self.X)

    def feature_array(self, rows: Rows | None = None) -> Array:
        """Features of some or all items as an array: (n_rows, n_features)."""
        return self.preprocessing.encoded(self.X if rows is None else _safe_indexing(self.X, rows))

    @property
    def preprocessing(self) -> Preprocessing:
        """Preprocessing of the model, or of the first of those averaged."""
        pair = self.model.pairs_[0] if hasattr(self.model, "pairs_") else self.model._pair
        found: Preprocessing = pair.prepared.preprocessing
        return found

    @cached_property
    def has_features(self) -> bool:
        """Whether any feature varies: a column of zeros stands for items without features."""
        X = self.feature_array(self.sample(FEATURE_ITEMS))
        return bool((X[:1] != X).any())

    def sample(self, n: int, among: Rows | None = None) -> Rows:
        """At most n items in order, drawn at random, the same ones every time."""
        rows = np.arange(self.n_items) if among is None else among
        if len(rows) <= n:
            return rows
        return np.sort(np.random.default_rng(0).choice(rows, n, replace=False))

    def affordable(self, most: int) -> int:
        """Number of items to compute all skills at: ``most``, fewer for many annotators or members."""
        n = ANSWERS // (self.n_annotators * self.n_members * self.n_outcomes)
        return min(most, max(n, MIN_ITEMS))

    def annotator_mean(self, values: Array, where: Any = slice(None)) -> Array:
        """Mean over the labels of each annotator, NaN without labels: (n_annotators,)."""
        annotator = self.annotations.annotator[where]
        n = np.bincount(annotator, minlength=self.n_annotators)
        return np.asarray(segment_sum(values[where], annotator, self.n_annotators) / np.where(n, n, np.nan))

    def histogram(self, values: Array, edges: Array) -> Facts:
        """Counts of labelled and of unlabelled items between the edges."""
        labelled, values = self.annotations.labelled, np.clip(values, edges[0], edges[-1])
        parts = {"labelled": values[labelled], "unlabelled": values[~labelled]}
        return {"edges": edges} | {name: np.histogram(part, edges)[0] for name, part in parts.items()}

    # --- facts that only some models have ----------------------------------------------------------

    def profiles(self, annotators: list[int], rows: Rows) -> list[Facts]:
        """Facts about some annotators, some of them averaged over items."""
        return [{} for _ in annotators]

    def agreement_facts(self) -> Facts:
        """Agreement beside Krippendorff's alpha, and pairs that may have copied."""
        return {}

    def kinds(self, by: Mapping[str, Any]) -> Facts:
        """How often each annotator is right on each kind of item, by the name of the kinds."""
        if by:
            raise InputError("by= is about classes: how often an annotator is right. Leave it out for numbers.")
        return {}

    def prob_without_own_gold(self) -> Array | None:
        """Class probabilities of gold items whose own gold was hidden; None where there are none."""
        return None

    def gold_warnings(self) -> Iterable[str]:
        """Warnings about what gold says, or would say."""
        return ()

    def label_warnings(self) -> Iterable[str]:
        """Warnings about the labels."""
        return ()
