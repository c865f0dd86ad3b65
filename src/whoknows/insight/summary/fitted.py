"""One face over every fitted model: what it says of the items it was fitted to, a few rows at a time."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import _safe_indexing
from sklearn.utils.validation import _num_samples, check_is_fitted

from whoknows._array import Array, Rows
from whoknows.data.annotations import Annotations
from whoknows.data.errors import InputError
from whoknows.estimators.inputs.validation import check_annotations, row_ids
from whoknows.model.truth import GraphTruth

Kind = Literal["classes", "levels", "numbers"]

AT_ONCE = 4_000_000  # numbers held at once
WORK = 1_000_000  # items × annotators × classes² that a ranking may take
ANSWERS = 8_000_000  # items × annotators × members × classes at which skill is looked at
FEWEST_ASKED = 500  # items in any case
FEWEST_RANKED, MOST_RANKED = 50, 1_000  # items that a ranking is averaged over


@dataclass(frozen=True, eq=False)
class Fit:
    """A fitted model and what it was fitted to.

    Attributes
    ----------
    model : CrowdClassifier, AutoCrowdClassifier or CrowdRegressor
    X : (n_items, n_features)
    said : Annotations
        In the codes of the model: annotators as in ``annotators_``, labels as in ``classes_``.
    kind : {"classes", "levels", "numbers"}
    """

    model: Any
    X: Any
    said: Annotations
    kind: Kind

    @classmethod
    def of(cls, model: Any, X: Any, said: Any) -> Fit:
        """Check that these are the items of the fit."""
        check_is_fitted(model)
        kind: Kind = (
            "numbers"
            if hasattr(model, "posterior_mean_")
            else "levels"
            if hasattr(model, "annotator_severity_")
            else "classes"
        )
        n_items, known = (
            _num_samples(X),
            len(model.posterior_mean_ if kind == "numbers" else model.posterior_),
        )
        if n_items != known:
            raise InputError(
                f"A summary is of the items of the fit: it had {known}, X has {n_items} rows. Pass the X and "
                "the labels that were given to fit, in the same order."
            )
        said = check_annotations(said, n_items, model.annotators_, row_ids(X))
        return cls(
            model,
            X,
            said.recode(model.annotators_, said.labels if kind == "numbers" else model.classes_),
            kind,
        )

    @property
    def n_items(self) -> int:
        """Number of items."""
        return self.said.n_items

    @property
    def n_annotators(self) -> int:
        """Number of annotators."""
        return self.said.n_annotators

    @cached_property
    def posterior(self) -> Array:
        """p(z | x, labels): (n_items, n_classes)."""
        return np.asarray(self.model.posterior_)

    @cached_property
    def consensus(self) -> NDArray[Any]:
        """Likeliest class of each item, as its code; of numbers the expected one: (n_items,)."""
        return np.asarray(
            self.model.posterior_mean_ if self.kind == "numbers" else self.posterior.argmax(axis=1)
        )

    @cached_property
    def doubt(self) -> Array:
        """Probability that the consensus is wrong; of numbers its standard deviation: (n_items,)."""
        if self.kind == "numbers":
            return np.asarray(self.model.posterior_std_)
        return np.asarray(1 - self.posterior.max(axis=1))

    @property
    def higher_is_better(self) -> bool:
        """Whether a higher skill is a better one: a probability is, an error is not."""
        return self.kind != "numbers"

    @property
    def knows_features_alone(self) -> bool:
        """Whether the model says what the features say without the item's own labels."""
        truth = getattr(self.model, "truth", None)
        return self.kind != "numbers" and not (truth == "gp" or isinstance(truth, GraphTruth))

    def rows(self, rows: Rows) -> Any:
        """Features of some items, in the type of X."""
        return _safe_indexing(self.X, rows)

    def numbers(self, rows: Rows) -> Array:
        """Features of some items as an array: (n_rows, n_features)."""
        return np.asarray(self.rows(rows), dtype=float)

    def skill(self, rows: Rows, people: Rows | None = None) -> Array:
        """Probability of being right on these items; of numbers the typical error: (n_rows, n_people).

        A few items at a time: members of an average each have a table of their own.
        """
        chosen = np.arange(self.n_annotators) if people is None else people
        classes = 1 if self.kind == "numbers" else self.said.n_classes
        a_row = (self.n_annotators + 1) * classes + self.n_members * len(chosen)
        parts = np.array_split(rows, 1 + len(rows) * a_row // AT_ONCE)
        return np.vstack(
            [self._skill(part, chosen) for part in parts if len(part)] or [np.zeros((0, len(chosen)))]
        )

    def _skill(self, rows: Rows, people: Rows) -> Array:
        if self.kind == "numbers":
            return np.asarray(self.model.annotator_scale(self.rows(rows))[:, people])
        return np.asarray(self.model.expertise(self.rows(rows), annotators=self.said.annotators[people]))

    def affordable(self, most: int) -> int:
        """How many items everybody's skill may be asked at: ``most``, fewer of large crowds and averages."""
        classes = 1 if self.kind == "numbers" else self.said.n_classes
        n = ANSWERS // (self.n_annotators * self.n_members * classes)
        return min(most, max(n, FEWEST_ASKED))

    @property
    def n_members(self) -> int:
        """How many models are averaged."""
        return len(getattr(self.model, "members_", [self.model]))

    def ranking(self) -> Any:
        """Expertise averaged over items, with limits; over fewer items where limits take long to find."""
        n = WORK // (self.n_annotators * self.said.n_classes**2)
        if n >= MOST_RANKED:
            return self.model.ranking()
        return self.model.ranking(self.rows(self.sample(max(n, FEWEST_RANKED))))

    def sample(self, n: int, among: Rows | None = None) -> Rows:
        """At most n items, drawn at random, the same ones every time; in order."""
        rows = np.arange(self.n_items) if among is None else among
        if len(rows) <= n:
            return rows
        return np.sort(np.random.default_rng(0).choice(rows, n, replace=False))
