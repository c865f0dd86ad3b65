"""A fitted model and its data: one interface, with a categorical and a Gaussian implementation.

Everything a summary asks of a model is asked here, so no other module distinguishes classes from numbers.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import _safe_indexing
from sklearn.utils.validation import _num_samples

from whoknows._array import Array, Rows, segment_sum
from whoknows.data.annotations import Annotations
from whoknows.data.errors import InputError
from whoknows.data.vocabulary import Ids
from whoknows.estimators.ask.suggestions import Suggestions
from whoknows.estimators.inputs.validation import CheckedFeatures, check_annotations, checked, row_ids
from whoknows.insight.measurement_scale import Level
from whoknows.insight.summary.text import Facts, Table

BLOCK = 4_000_000  # numbers held in memory at once
ANSWERS = 8_000_000  # items × annotators × members × classes at which skill is computed
MIN_ITEMS = 500  # items in any case
BINS = 10  # of a histogram


class FittedModel(ABC):
    """A fitted model and the data it was fitted to.

    Attributes
    ----------
    model : CrowdClassifier, AutoCrowdClassifier or CrowdRegressor
    X : (n_items, n_features)
    annotations : Annotations
        In the codes of the model: annotators as in ``annotators_``, labels as in ``classes_``.
    n_items, n_annotators : int
    n_members : int
        Number of models that are averaged.
    kind : {"classes", "levels", "numbers"}
    level : {"nominal", "ordinal", "interval"}
        Measurement scale of the labels.
    sign : {1, -1}
        1 if a higher skill is better (a probability), −1 if a lower one is (an error).
    map_decimals : (int, int)
        Decimals of uncertainty and skill on a map.
    classes : list
        For JSON; empty for numbers.
    consensus : (n_items,)
        Code of the most probable class, or expected value.
    uncertainty : (n_items,)
        Probability that the consensus is wrong, or its standard deviation.
    is_uncertain : bool array of shape (n_items,)
        Whether an item may need review.
    vote : (n_items,)
        Code of the most frequent label, or mean; NaN for ties and without labels.
    overruled : bool array of shape (n_items,)
        Whether the consensus contradicts the vote.
    margin : (n_items,)
        How clearly it does: difference in number of labels, or distance.
    entropy : (n_items,)
        Entropy of the posterior, or its standard deviation, which grows with it.
    disagreement : (n_items,)
        Entropy of the labels of each item in bits, or their standard deviation.
    """

    kind: ClassVar[str]
    level: ClassVar[Level]
    sign: ClassVar[int]
    pair_measure: ClassVar[str]
    map_decimals: ClassVar[tuple[int, int]]
    posterior_attribute: ClassVar[str]

    classes: list[Any]
    consensus: NDArray[Any]
    uncertainty: Array
    is_uncertain: NDArray[np.bool_]
    vote: Array
    overruled: NDArray[np.bool_]
    margin: Array
    entropy: Array
    disagreement: Array

    def __init__(self, model: Any, X: Any, y: Any) -> None:
        n_items, n_fitted = _num_samples(X), len(getattr(model, self.posterior_attribute))
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
        self.n_members = len(getattr(model, "pairs_", [model]))

    # --- data --------------------------------------------------------------------------------------

    @property
    def n_outcomes(self) -> int:
        """Number of classes, 1 for numbers."""
        return max(len(self.classes), 1)

    def features(self, rows: Rows) -> Any:
        """Features of some items, for the methods of the model, which all get them here."""
        return CheckedFeatures(self._checked.X[rows], None)

    @cached_property
    def _checked(self) -> CheckedFeatures:
        """All features, validated once for every question to the model."""
        return checked(self.model, self.X)

    def feature_array(self, rows: Rows | None = None) -> Array:
        """Features of some or all items as an array: (n_rows, n_features)."""
        return np.asarray(self.X if rows is None else _safe_indexing(self.X, rows), dtype=float)

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

    def skill(self, rows: Rows, annotators: Rows | None = None) -> Array:
        """Probability of being correct on some items, or typical error: (n_rows, n_annotators).

        Computed in blocks: each member of an ensemble has a table of its own.
        """
        chosen = np.arange(self.n_annotators) if annotators is None else annotators
        width = (self.n_annotators + 1) * self.n_outcomes + self.n_members * len(chosen)
        blocks = np.array_split(rows, 1 + len(rows) * width // BLOCK)
        skills = [self.skill_block(block, chosen) for block in blocks if len(block)]
        return np.vstack(skills or [np.zeros((0, len(chosen)))])

    def annotator_mean(self, values: Array, where: Any = slice(None)) -> Array:
        """Mean over the labels of each annotator, NaN without labels: (n_annotators,)."""
        annotator = self.annotations.annotator[where]
        n = np.bincount(annotator, minlength=self.n_annotators)
        return np.asarray(segment_sum(values[where], annotator, self.n_annotators) / np.where(n, n, np.nan))

    def histogram(self, values: Array, edges: Array) -> Facts:
        """Counts of labelled and of unlabelled items between the edges."""
        bins = np.clip(np.digitize(values, edges) - 1, 0, BINS - 1)
        on = self.annotations.labelled
        return {
            "edges": edges,
            "labelled": np.bincount(bins[on], minlength=BINS),
            "unlabelled": np.bincount(bins[~on], minlength=BINS),
        }

    # --- consensus ---------------------------------------------------------------------------------

    @abstractmethod
    def consensus_columns(self) -> Table:
        """Columns of the table of consensus beside the item."""

    @abstractmethod
    def consensus_facts(self) -> Facts:
        """Distribution of the consensus and of its certainty."""

    @abstractmethod
    def predictions(self, rows: Rows) -> list[Facts]:
        """Predictions from the features alone, without the labels of the item."""

    @abstractmethod
    def explanation(self, row: int, case: Facts, skill: Array, annotators: Any, labels: Any) -> Iterator[str]:
        """Why the consensus contradicts the vote, in sentences."""

    @abstractmethod
    def suggest(self, rows: Rows, n: int, costs: Any) -> Suggestions:
        """Choose n labels of some items to collect next."""

    # --- annotators --------------------------------------------------------------------------------

    @abstractmethod
    def skill_block(self, rows: Rows, annotators: Rows) -> Array:
        """Skill on a few items: (n_rows, n_annotators)."""

    @abstractmethod
    def skills_differ(self, low: float, high: float) -> bool:
        """Whether two skills differ enough to mention it."""

    @abstractmethod
    def color_domain(self, skill: Array) -> list[float]:
        """Range of skill for colours: nearly all values, rounded."""

    @abstractmethod
    def ranking(self) -> tuple[Rows, Table]:
        """Annotators from best to worst, and their columns in that order."""

    @abstractmethod
    def check_gold(self, gold: Any) -> Array:
        """Gold as class codes or numbers, NaN where unknown: (n_items,)."""

    @abstractmethod
    def gold_columns(self, gold: Array) -> dict[str, Array]:
        """Comparison of annotators with gold: columns of (n_annotators,)."""

    @abstractmethod
    def pair_values(self, annotations: Annotations) -> tuple[Ids, Ids, Array, Array]:
        """Agreement of all pairs: two ids, number of common items, value."""

    # --- facts that only some models have ----------------------------------------------------------

    def profiles(self, annotators: list[int], rows: Rows) -> list[Facts]:
        """Facts about some annotators, some of them averaged over items."""
        return [{} for _ in annotators]

    def share_of_consensus(self, labels: Rows) -> float | None:
        """Share of some labels that equal the consensus."""
        return None

    def agreement_facts(self) -> Facts:
        """Agreement beside Krippendorff's alpha, and pairs that may have copied."""
        return {}

    def label_warnings(self) -> Iterator[str]:
        """Warnings about the labels."""
        yield from ()
