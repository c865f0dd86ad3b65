"""What the truth is, given x: p(z | x; ξ)."""

from __future__ import annotations

from typing import Any, ClassVar, Protocol, Self, runtime_checkable

from whoknows._array import Array
from whoknows.model.belief import Belief
from whoknows.model.evidence import Evidence
from whoknows.model.posterior import CategoricalPosterior, Posterior
from whoknows.model.truth.graph import GraphTruth
from whoknows.model.truth.linear import LinearTruth
from whoknows.model.truth.logistic import LogisticTruth
from whoknows.model.truth.ordered import OrderedTruth

__all__ = ["BoundedTruth", "GraphTruth", "LinearTruth", "LogisticTruth", "OrderedTruth", "TruthModel"]


class TruthModel(Protocol):
    """What a solver asks of the truth; features carry a constant last column."""

    accepts: ClassVar[str]
    couples_items: ClassVar[bool]
    uses_map: ClassVar[bool]  # whether its features are those of the map, or the scaled x
    chosen: str  # the graph it was prepared with, in words; none, none

    @property
    def needs_all(self) -> bool:
        """Whether items without labels have to be there whenever others are fitted or asked about."""

    def for_classes(self, n_classes: int) -> Self:
        """Return the same for so many classes, or refuse."""

    def prepare(self, X: Array, features: Array, seed: int = 0) -> Self:
        """Return a copy that holds what it needs of all items: A of Eq. (10), or Δ of Eq. (3)."""

    def init(self, n_features: int) -> Array:
        """Return ξ before any label."""

    def posterior(self, xi: Array, X: Array, evidence: Evidence) -> Posterior:
        """p̃(z) and the log marginal."""

    def expected_log_truth(self, xi: Array, X: Array, posterior: Posterior) -> tuple[float, Array]:
        """E_p̃(z)[Σ log p(z | x)] and its gradient."""

    def log_prior(self, xi: Array) -> tuple[float, Array]:
        """log p(ξ | X) and its gradient."""

    def learnt(self, xi: Array, posterior: Posterior, evidence: Evidence) -> Any:
        """Return what predictions need, from the end of a point-estimate fit."""

    def log_predict(self, known: Any, X: Array) -> Array:
        """log p(z | x) under what a fit has learnt: (n_items, n_classes)."""

    def posterior_at(self, known: Any, X: Array, evidence: Evidence) -> Array:
        """p(z | x, labels) under what a fit has learnt: (n_items, n_classes)."""


@runtime_checkable
class BoundedTruth(Protocol):
    """What the variational solver asks on top: a bound that is quadratic in ξ."""

    @property
    def has_bound(self) -> bool:
        """Whether it has one, as set."""

    def prior_belief(self) -> Belief:
        """q(ξ) before any label."""

    def moments(self, belief: Belief, X: Array) -> tuple[Array, Array]:
        """E[f] and E[f²] of every item."""

    def bounded_posterior(self, moments: tuple[Array, Array], evidence: Evidence) -> CategoricalPosterior:
        """Best q(z) given q(ξ); its log marginal is the local part of the bound."""

    def statistics(self, moments: tuple[Array, Array], X: Array, posterior: Posterior) -> tuple[Array, Array]:
        """Return the sums over items that q(ξ) needs."""

    def update(self, gram: Array, pull: Array) -> Belief:
        """Best q(ξ) given those sums."""

    def divergence(self, belief: Belief) -> float:
        """KL(q(ξ) ‖ p(ξ))."""
