"""The contracts of truth models and annotator models: everything that other code calls on them.

`TruthModel` and `AnnotatorModel` are what any solver needs. `ClassTruth` and `ClassAnnotators` extend them to
what `CrowdClassifier` needs. Every other protocol is optional and belongs to one feature, such as a solver or
intervals. A piece implements a protocol by having its members; no base class is needed.

`supports` tests for an optional protocol; `require` raises `NotCompatible`, naming what is missing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from inspect import getattr_static
from typing import Any, ClassVar, Protocol, Self

from whoknows._array import Array, Mask
from whoknows.data.annotations import Annotations
from whoknows.model.annotators.pairs import Pairs
from whoknows.model.annotators.population import CrowdBelief, Population
from whoknows.model.annotators.shared_effects import LabelOdds
from whoknows.model.evidence import Evidence, TableEvidence
from whoknows.model.gaussian import Belief
from whoknows.model.posterior import CategoricalPosterior, GaussianPosterior, Posterior
from whoknows.model.settings import NotCompatible

# --- truth models -----------------------------------------------------------------------------------


class TruthModel(Protocol):
    """What any solver needs: p(z | x; ξ). The last column of X is constant; ξ is an array of any shape.

    Evidence and posteriors are of the kind that it accepts and returns, so it may name these as their types.
    """

    accepts: ClassVar[str]  # "table", or "quadratic" if evidence must be a quadratic in a real z
    couples_items: ClassVar[bool]  # whether the posterior of an item depends on other items
    description: str  # the graph it was prepared with, for people to read; "" without one

    @property
    def needs_all(self) -> bool:
        """Whether unlabelled items must be present in every fit and prediction."""

    def for_classes(self, n_classes: int) -> Self:
        """Return the model for this number of classes, or raise `NotCompatible`."""

    def prepare(self, X: Array, features: Array, seed: int = 0) -> Self:
        """Return a copy that holds what it needs of all items, labelled or not.

        ``X`` (n_items, D) are the items and ``features`` (n_items, n_features) what ξ multiplies.
        """

    def init(self, n_features: int) -> Array:
        """Return ξ before any label."""

    def posterior(self, xi: Array, X: Array, evidence: Any) -> Posterior:
        """p̃(z) and the log marginal likelihood."""

    def expected_log_truth(self, xi: Array, X: Array, posterior: Any) -> tuple[float, Array]:
        """E_p̃(z)[Σ log p(z | x)] and its gradient in ξ."""

    def log_prior(self, xi: Array) -> tuple[float, Array]:
        """log p(ξ | X) and its gradient."""

    def state(self, xi: Array, posterior: Any, evidence: Any, X: Array) -> Any:
        """Return what predictions need, at the end of a fit; ``X`` are the items of the posterior."""

    def parameters(self, state: Any) -> Array:
        """Return ξ of a state."""


class ClassTruth(TruthModel, Protocol):
    """What `CrowdClassifier` needs of a truth model."""

    def log_predict(self, state: Any, X: Array) -> Array:
        """log p(z | x): (n_items, n_classes)."""

    def posterior_at(self, state: Any, X: Array, evidence: Any) -> Array:
        """p(z | x, labels): (n_items, n_classes)."""


class RealTruth(TruthModel, Protocol):
    """What `CrowdRegressor` needs of a truth model; its fit starts from the prior, not from a vote."""

    def predict(self, state: Any, X: Array) -> GaussianPosterior:
        """p(z | x)."""

    def posterior_at(self, state: Any, X: Array, evidence: Any) -> GaussianPosterior:
        """p(z | x, labels) of each item."""

    def log_density(self, state: Any, X: Array, evidence: Any) -> Array:
        """log p(labels | x) of each item: (n_items,)."""


class CoefficientTruth(Protocol):
    """What ``coef_`` and ``intercept_`` need."""

    def weights(self, xi: Array) -> Array:
        """Return the part of ξ that multiplies x: (n_features, n_outputs)."""


class IntervalTruth(Protocol):
    """What Laplace covariances of ξ, and intervals of p(z | x), need: f = ξᵀx with a Gaussian prior on ξ."""

    @property
    def precision(self) -> Array:
        """Precision matrix of the prior of each output: (n_features, n_features)."""

    def residual(self, xi: Array, X: Array, posterior: Any) -> Array:
        """Gradient of each item's expected log truth in f: (n_items, n_outputs)."""

    def log_odds(self, xi: Array, X: Array) -> Array:
        """f = ξᵀx: (n_items, n_outputs)."""

    def log_prob(self, xi: Array, f: Array) -> Array:
        """log p(z) at f: (n_items, n_classes)."""


class ReducibleTruth(Protocol):
    """What the reduced basis needs: ξ begins with one row per feature, with prior N(0, R⁻¹).

    p(z | x) depends on these rows through their products with x alone. Other rows of ξ are not reduced.
    """

    @property
    def precision(self) -> Array:
        """R."""

    def with_precision(self, precision: Array) -> Self:
        """Return a copy with another R."""

    def weights(self, xi: Array) -> Array:
        """Return the rows of ξ that multiply x: (n_features, n_outputs)."""


class LeaveOneOutTruth(ReducibleTruth, Protocol):
    """What solver="crossfit" needs: predictions for each item as fitted without its labels."""

    def curvature(self, xi: Array, X: Array, posterior: Any) -> Array:
        """Minus the second derivative of each item's expected log truth in ξᵀx: (n_items, n_outputs)."""

    def leave_one_out(self, xi: Array, X: Array, posterior: Any, variance: Array) -> Array:
        """log p(z | x) of each item without its labels: (n_items, n_classes).

        ``variance`` (n_items, n_outputs) is that of ξᵀx in the fit without the item.
        """

    def cross_fitted(
        self, xi: Array, X: list[Array], held_out: list[Array], evidence: list[Array], counts: list[Array]
    ) -> Any:
        """Return the state, with those predictions of the training items, which have these weights."""


class ItemTruth(Protocol):
    """A truth model over the scaled items themselves; its X is not made of the map's features."""

    @property
    def works_on_items(self) -> bool:
        """Whether it is one, as configured."""


class VariationalTruth(Protocol):
    """What solver="vb" needs: a bound that is quadratic in ξ."""

    @property
    def has_bound(self) -> bool:
        """Whether there is one, as configured."""

    def prior_belief(self) -> Belief:
        """q(ξ) before any label."""

    def moments(self, belief: Belief, X: Array) -> tuple[Array, Array]:
        """E[f] and E[f²] of every item."""

    def bounded_posterior(self, moments: tuple[Array, Array], evidence: Any) -> CategoricalPosterior:
        """Best q(z) given q(ξ); its log marginal is the local part of the bound."""

    def statistics(self, moments: tuple[Array, Array], X: Array, posterior: Any) -> tuple[Array, Array]:
        """Return the sums over items that determine q(ξ)."""

    def update(self, gram: Array, pull: Array) -> Belief:
        """Best q(ξ) given those sums."""

    def without_own_labels(self, moments: tuple[Array, Array], posterior: Any) -> Array:
        """log p(z | x) of each item under q(ξ) without the terms of the item: (n_items, n_classes)."""

    def divergence(self, belief: Belief) -> float:
        """KL(q(ξ) ‖ p(ξ))."""


# --- annotator models -------------------------------------------------------------------------------


class AnnotatorModel(Protocol):
    """What any solver needs: p(y | x, z; θ). The last column of X is constant.

    θ has one row per annotator and a last row for the population, which annotators not seen in training get.
    """

    gives: ClassVar[str]  # "table", or "quadratic" if evidence is a quadratic in a real z
    directions: int | None  # leading features that expertise depends on; None chooses by the number of labels

    def for_classes(self, n_classes: int) -> Self:
        """Return the model for this number of classes, or raise `NotCompatible`."""

    def init(self, n_features: int, n_annotators: int) -> Array:
        """Return θ before any label: (n_annotators + 1, n_columns)."""

    def evidence(self, theta: Array, X: Array, Y: Annotations) -> Evidence:
        """Σ_t log p(y | x, z) of each item."""

    def expected_log_lik(self, theta: Array, X: Array, Y: Annotations, posterior: Any) -> tuple[float, Array]:
        """E_p̃(z)[Σ log p(y | x, z)] and its gradient in θ."""

    def log_prior(self, theta: Array) -> tuple[float, Array]:
        """log p(θ) and its gradient: quadratic, proper, and the same for every annotator."""

    def evidence_at(self, belief: Belief, X: Array, Y: Annotations) -> Evidence:
        """Return the evidence under a fitted belief; `belief.mean` is θ."""


class ClassAnnotators(AnnotatorModel, Protocol):
    """What `CrowdClassifier` needs of an annotator model."""

    def predictive(self, belief: Belief, X: Array, Y: Annotations) -> TableEvidence:
        """Σ_t log P(y | x, z) of each item, as probabilities of labels."""

    def expertise(self, belief: Belief, X: Array, prob: Array) -> Array:
        """Probability that each annotator is right on each item: (n_items, n_annotators + 1).

        ``prob`` (n_items, n_classes) is p(z | x), over which accuracy is averaged.
        """

    def confusion(self, belief: Belief, X: Array) -> Array:
        """p(y | z, t), averaged over the items: (n_annotators + 1, n_classes, n_classes)."""


class CoefficientAnnotators(Protocol):
    """What ``annotator_coef_`` and ``annotator_intercept_`` need."""

    def coefficients(self, theta: Array, n_features: int) -> tuple[Array, Array]:
        """Return w and γ of each row of θ."""


class AccuracyAnnotators(Protocol):
    """What `suggest` uses if accuracy differs by class; otherwise it uses `expertise`."""

    def accuracy(self, belief: Belief, X: Array) -> Array:
        """P(right | x, z): (n_items, n_annotators + 1, n_classes), or one column for all classes."""


class ItemEffectAnnotators(Protocol):
    """What annotators who err together need: random effects that the labels of an item share."""

    population: Population

    @property
    def item_effect(self) -> float:
        """Standard deviation of that of all labels: root mean square over annotators; 0 if they are independent."""

    def with_item_effect(self, size: float | Array) -> Self:
        """Return a copy whose `evidence_at` integrates out an effect of this size, of all or of each row of θ."""

    @property
    def group(self) -> Any:
        """Group of each row of θ whose labels share one more effect; None without groups."""

    @property
    def group_effect(self) -> float:
        """Standard deviation of that effect."""

    def with_groups(self, group: Any, size: float | Array = 0.0) -> Self:
        """Return a copy with groups, and an effect of this size in each."""

    def effects(self, n_rows: int) -> Array:
        """Sizes of both effects for each row of θ: (n_rows, 2)."""

    def label_odds(self, belief: Belief, X: Array, Y: Annotations) -> LabelOdds:
        """Return the labels with the log-odds that they are right, apart from effects."""


class MistakeAnnotators(Protocol):
    """What intervals with many classes use: θ ends with parameters that expertise does not depend on."""

    @property
    def n_mistakes(self) -> int:
        """Number of these columns: distributions of wrong labels."""

    def without_mistakes(self) -> AnnotatorModel:
        """Return the annotators with the other columns of θ alone."""


class ScaleAnnotators(Protocol):
    """What `annotator_scale` needs."""

    def scale(self, theta: Array, X: Array) -> Array:
        """σ_t(x): (n_items, n_annotators + 1)."""


class BiasAnnotators(Protocol):
    """What ``annotator_bias_`` and ``annotator_severity_`` need."""

    def bias(self, theta: Array) -> Array:
        """How much more than the truth each annotator says on average: (n_annotators + 1,)."""


class CachingAnnotators(Protocol):
    """What makes an M-step fast: terms that do not depend on θ are computed once."""

    def expected_log_lik_of_theta(self, pairs: Pairs, posterior: Any) -> Callable[[Array], tuple[float, Array]]:
        """Return `expected_log_lik` as a function of θ alone."""


class VariationalAnnotators(Protocol):
    """What solver="vb" needs: a bound that is quadratic in θ, and the prior on the population."""

    population: Population

    @property
    def has_bound(self) -> bool:
        """Whether there is one, as configured."""

    def prior_belief(self, n_features: int, active: Mask) -> CrowdBelief:
        """q(θ) before any label; ``active`` annotators have labels."""

    def moments(self, belief: Belief, pairs: Pairs) -> tuple[Array, Array]:
        """E[η] and E[η²] of every label."""

    def bounded_evidence(self, moments: tuple[Array, Array], pairs: Pairs) -> Evidence:
        """Lower bound of E_q(θ)[Σ_t log p(y | x, z)]."""

    def statistics(self, moments: tuple[Array, Array], pairs: Pairs, posterior: Any) -> tuple[Array, Array]:
        """Return the sums over labels that determine q(θ)."""


# --- tests for protocols ----------------------------------------------------------------------------

_ONLY_IF: dict[type, str] = {
    VariationalTruth: "has_bound",
    VariationalAnnotators: "has_bound",
    ItemTruth: "works_on_items",
}


def supports(piece: Any, protocol: type) -> bool:
    """Whether a piece implements a protocol, as it is configured."""
    return not any(_missing(piece, protocol))


def require(piece: Any, protocol: type, feature: str, instead: str = "") -> Any:
    """Return the piece if it implements a protocol; otherwise raise `NotCompatible`.

    Parameters
    ----------
    piece : truth model or annotator model
    protocol : type
        One of the protocols of this module.
    feature : str
        What was asked for, such as "solver='vb'".
    instead : str
        What to use instead.
    """
    missing = list(_missing(piece, protocol))
    if missing:
        message = (
            f"{feature} needs {protocol.__name__} (whoknows.model.protocols); "
            f"{type(piece).__name__} does not have {', '.join(missing)}."
        )
        raise NotCompatible(f"{message} {instead}".rstrip())
    return piece


def _missing(piece: Any, protocol: type) -> Iterator[str]:
    """Give the members of a protocol that a piece lacks."""
    absent = [name for name in members(protocol) if getattr_static(piece, name, _missing) is _missing]
    yield from absent
    condition = _ONLY_IF.get(protocol)
    if condition and not absent and not getattr(piece, condition):
        yield f"{condition} (False as configured)"


def members(protocol: type) -> list[str]:
    """Return the names of the members of a protocol, inherited ones included."""
    names = (n for base in protocol.__mro__ for n in (*vars(base), *vars(base).get("__annotations__", ())))
    return sorted({name for name in names if not name.startswith("_")})
