"""What annotators say, given the truth: p(y | x, z; θ)."""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar, Protocol, Self, runtime_checkable

from whoknows._array import Array, Mask
from whoknows.data.annotations import Annotations
from whoknows.model.annotators.bernoulli import BernoulliAnnotators
from whoknows.model.annotators.biased import BiasedAnnotators
from whoknows.model.annotators.confusion import ConfusionAnnotators
from whoknows.model.annotators.gaussian import GaussianAnnotators
from whoknows.model.annotators.ordered import OrderedAnnotators
from whoknows.model.annotators.pairs import Pairs
from whoknows.model.annotators.population import CrowdBelief, Population
from whoknows.model.belief import Belief
from whoknows.model.evidence import Evidence, TableEvidence
from whoknows.model.posterior import Posterior

__all__ = [
    "AnnotatorModel",
    "BernoulliAnnotators",
    "BiasedAnnotators",
    "BoundedAnnotators",
    "ConfusionAnnotators",
    "FreezingAnnotators",
    "GaussianAnnotators",
    "OrderedAnnotators",
    "Population",
]


class AnnotatorModel(Protocol):
    """What a solver asks of annotators; X carries a constant last column, θ the crowd in its last row."""

    gives: ClassVar[str]
    directions: int | None

    def for_classes(self, n_classes: int) -> Self:
        """Return the same for so many classes, or refuse."""

    def init(self, n_features: int, n_annotators: int) -> Array:
        """Return θ before any label."""

    def evidence(self, theta: Array, X: Array, Y: Annotations) -> Evidence:
        """Σ_t log p(y | x, z) of each item."""

    def expected_log_lik(
        self, theta: Array, X: Array, Y: Annotations, posterior: Posterior
    ) -> tuple[float, Array]:
        """E_p̃(z)[Σ log p(y | x, z)] and its gradient."""

    def log_prior(self, theta: Array) -> tuple[float, Array]:
        """log p(θ) and its gradient."""

    def evidence_at(self, belief: Belief, X: Array, Y: Annotations) -> Evidence:
        """Return the evidence under what a fit has learnt of θ."""

    def predictive(self, belief: Belief, X: Array, Y: Annotations) -> TableEvidence:
        """Σ_t log P(y | x, z) of each item, as probabilities of labels, θ integrated out where it can be."""

    def expertise(self, belief: Belief, X: Array, prob: Array) -> Array:
        """Probability that each annotator, and in the last column a stranger, is right on each item."""

    def confusion(self, belief: Belief, X: Array) -> Array:
        """p(y | z, t), averaged over the items: (n_annotators + 1, n_classes, n_classes)."""

    def coefficients(self, theta: Array, n_features: int) -> tuple[Array, Array]:
        """Return w and γ of each row of θ."""


@runtime_checkable
class FreezingAnnotators(Protocol):
    """What an M-step asks on top, where much of the work does not depend on θ."""

    def frozen(self, pairs: Pairs, posterior: Posterior) -> Callable[[Array], tuple[float, Array]]:
        """Return `expected_log_lik` as a function of θ alone."""


@runtime_checkable
class BoundedAnnotators(Protocol):
    """What the variational solver asks on top: a bound that is quadratic in θ."""

    @property
    def has_bound(self) -> bool:
        """Whether it has one, as set."""

    def prior_belief(self, n_features: int, active: Mask) -> CrowdBelief:
        """q(θ) before any label."""

    def moments(self, belief: Belief, pairs: Pairs) -> tuple[Array, Array]:
        """E[η] and E[η²] of every label."""

    def bounded_evidence(self, moments: tuple[Array, Array], pairs: Pairs) -> Evidence:
        """E_q(θ)[Σ_t log p(y | x, z)] from below."""

    def statistics(
        self, moments: tuple[Array, Array], pairs: Pairs, posterior: Posterior
    ) -> tuple[Array, Array]:
        """Return the sums over labels that q(θ) needs."""
