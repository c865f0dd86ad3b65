"""One door to the solvers: from a model and items to what was learnt."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import pairwise, starmap
from typing import Any

import numpy as np

from whoknows._array import Array, Mask, Rows, like, to_numpy
from whoknows.data.errors import InputError
from whoknows.fit.crossfit import fit_crossfit
from whoknows.fit.em import fit_em, m_step
from whoknows.fit.engines import Chunks, Engine, Serial
from whoknows.fit.items import Items
from whoknows.fit.laplace import Covariances, spread
from whoknows.fit.lbfgs import fit_lbfgs
from whoknows.fit.monitor import Monitor
from whoknows.fit.objective import Model, Parameters, e_step, evidence_of
from whoknows.fit.reduced_basis import ReducedBasis
from whoknows.fit.variational import fit_variational, has_bound
from whoknows.model.annotators.population import CrowdBelief
from whoknows.model.belief import Belief
from whoknows.model.evidence import TableEvidence
from whoknows.model.posterior import CategoricalPosterior
from whoknows.model.settings import NotCompatible

SOLVERS = ("auto", "vb", "em", "lbfgs", "crossfit")
NARROWING = ("vb", "crossfit")  # em and lbfgs are the paper's, and climb in ξ itself
MANY = 20_000  # items: from here on a fit first finds its way on some of them
SOME = 5_000
VOTE_WEIGHT = 0.8  # log-odds a single vote is worth before anything is known of annotators
VOTE_CERTAINTY = 0.98  # the vote alone never makes an item more certain than this


@dataclass(frozen=True)
class Solution:
    """What a solver learnt.

    Attributes
    ----------
    annotators : Belief
        q(θ): a row for each annotator and a last one for an annotator never seen.
    truth : Belief or GraphBelief
        q(ξ); for GP, whose truth has no parameters, what is known of the items themselves.
    solver : str
        Which solver it was.
    crowd : CrowdBelief, optional
        All that the variational solver knows of the annotators.
    """

    annotators: Belief
    truth: Any
    solver: str
    crowd: CrowdBelief | None = None

    @property
    def parameters(self) -> Parameters:
        """θ and ξ as single points; where the truth has no parameters, ξ is empty."""
        return Parameters(self.annotators.mean, getattr(self.truth, "mean", np.zeros(0)))

    def spread(self, model: Model, items: Items | Chunks) -> Covariances:
        """How sure the fit is of its parameters, for intervals."""
        population = None if self.crowd is None else self.crowd.learnt()
        kept = items if isinstance(items, Chunks) else Chunks([items], Serial())
        return spread(model, kept.chunks, self.parameters, population, kept.engine)

    def among(self, labels_per_annotator: Rows) -> Solution:
        """Return the same for the same annotators, with so many labels each."""
        return self.of_annotators(np.arange(len(labels_per_annotator)), labels_per_annotator > 0)

    def of_annotators(self, rows: Rows, active: Mask) -> Solution:
        """Return the same for other annotators: ``rows`` says which each is here, −1 for a new one."""
        crowd = None if self.crowd is None else self.crowd.of_annotators(rows, active)
        belief = Belief(self.annotators.mean[[*rows, -1]]) if crowd is None else crowd.belief()
        return replace(self, annotators=belief, crowd=crowd)


def vote(items: Items) -> CategoricalPosterior:
    """Return where every solver starts: gold, a soft majority vote, even odds where nobody spoke."""
    Y = items.Y
    cell = Y.item.astype(np.intp) * Y.n_classes + Y.label
    ballots = VOTE_WEIGHT * np.bincount(cell, Y.counts, Y.n_items * Y.n_classes).astype(float)
    prob = CategoricalPosterior.from_log_joint(ballots.reshape(Y.n_items, Y.n_classes)).prob
    cautious = np.log(np.clip(prob, 1 - VOTE_CERTAINTY, VOTE_CERTAINTY))
    evidence = items.complete(TableEvidence(like(cautious, items.X_truth)))
    return CategoricalPosterior.from_log_joint(evidence.table, evidence.weight)


def solve(
    model: Model,
    items: Items | Chunks,
    start: Array | None,
    monitor: Monitor,
    solver: str = "auto",
    engine: Engine | None = None,
    n_chunks: int = 1,
    before: Solution | None = None,
) -> Solution:
    """Fit ``model`` to ``items`` by one of `SOLVERS`; "auto" is the best the pieces allow.

    Items that no engine keeps yet, ``engine`` gets in ``n_chunks`` chunks. ``start`` (n_items, n_classes) is
    a first guess at the posterior; None takes the vote. ``before`` is what the same model learnt from some of
    these labels: a better place to start from.
    """
    if solver not in SOLVERS:
        raise InputError(f"solver must be one of {SOLVERS}; got {solver!r}.")
    kept = items if isinstance(items, Chunks) else kept_in_chunks(items, n_chunks, engine or Serial())
    _refuse_coupled(model, kept)
    size = _Size(*kept.engine.sum(_size, kept.chunks))
    if solver == "auto":
        solver = _best_solver(model, size.n_classes[0])
    if solver != "vb":  # the only one that knows tensors
        kept = Chunks(kept.engine.keep(_here, kept.chunks), kept.engine)
    narrow = (
        ReducedBasis.of(model, kept, sum(size.n_items), size.n_truth_features[0])
        if solver in NARROWING
        else None
    )
    if narrow is None:
        return _solve(model, kept, size, start, monitor, solver, before)
    if before is not None:
        before = replace(before, truth=narrow.narrowed(before.truth))
    size = size.narrowed(narrow.basis.shape[1])
    fitted = _solve(narrow.model, narrow.kept, size, start, monitor, solver, before)
    return replace(fitted, truth=narrow.widened(fitted.truth))


def _solve(
    model: Model,
    kept: Chunks,
    size: _Size,
    start: Array | None,
    monitor: Monitor,
    solver: str,
    before: Solution | None,
) -> Solution:
    """Run the solver on items in chunks."""
    state = monitor.resume()
    is_new = before is None and start is None and state is None
    if is_new and sum(size.n_items) > MANY and not model.truth.couples_items:
        before = _on_some(model, kept, size, monitor, solver)
    if solver != "vb":
        return _point_estimate(model, kept, size, start, monitor, solver, before)
    beliefs = None if before is None or before.crowd is None else (before.crowd, before.truth)
    posteriors = _first_posteriors(kept, size, start) if beliefs is None and state is None else []
    crowd, xi = fit_variational(model, kept.chunks, posteriors, monitor, kept.engine, beliefs, state)
    return Solution(crowd.belief(), xi, solver, crowd)


def kept_in_chunks(items: Items, n_chunks: int, engine: Engine) -> Chunks:
    """Give an engine items that are in memory here."""
    return Chunks(engine.keep(_itself, list(items.chunks(n_chunks))), engine)


def guess_of(model: Model, items: Items | Chunks, fitted: Solution) -> Array:
    """p̃(z) of each item at what was learnt, to start another model from: (n_items, n_classes)."""
    kept = items if isinstance(items, Chunks) else Chunks([items], Serial())
    (found,) = kept.engine.sum(_prob, kept.chunks, model, fitted.parameters)
    return np.vstack(found)


def _prob(items: Items, model: Model, parameters: Parameters) -> tuple[list[Array]]:
    return ([to_numpy(e_step(items, model, parameters).prob)],)  # type: ignore[union-attr]


def _here(items: Items) -> Items:
    return items.here


def _itself(items: Items) -> Items:
    return items


def _refuse_coupled(model: Model, kept: Chunks) -> None:
    if model.truth.couples_items and not (len(kept.chunks) == 1 and isinstance(kept.engine, Serial)):
        raise NotCompatible(
            f"{type(model.truth).__name__} couples all items: it is fitted in one chunk and in this process, "
            f"not in {len(kept.chunks)} by {type(kept.engine).__name__}. Use engine=None, or LogisticTruth "
            "with SpectralMap: the same prior, item by item."
        )


@dataclass(frozen=True)
class _Size:
    """How many items, classes and features; of each chunk, in lists."""

    n_items: list[int]
    n_classes: list[int]
    n_truth_features: list[int]
    n_expertise_features: list[int]
    labels_per_annotator: Rows

    def narrowed(self, n_truth_features: int) -> _Size:
        """Return the same with other features of the truth."""
        return replace(self, n_truth_features=[n_truth_features] * len(self.n_items))

    def rows(self) -> list[slice]:
        """Return which rows of all items each chunk has."""
        return list(starmap(slice, pairwise(np.cumsum([0, *self.n_items]).tolist())))


def _size(items: Items) -> tuple[Any, ...]:
    Y = items.Y
    return (
        [Y.n_items],
        [Y.n_classes],
        [items.X_truth.shape[1]],
        [items.X_annotators.shape[1]],
        Y.labels_per_annotator,
    )


def _on_some(model: Model, kept: Chunks, size: _Size, monitor: Monitor, solver: str) -> Solution:
    """Fit to a few thousand of many items: a start from which all of them need few, dear iterations."""
    rows = np.sort(np.random.default_rng(0).choice(sum(size.n_items), SOME, replace=False))
    inside = zip(kept.chunks, size.rows(), strict=True)
    work = [(chunk, rows[(r.start <= rows) & (rows < r.stop)] - r.start) for chunk, r in inside]
    (few,) = kept.engine.sum(_some, work)
    fitted = solve(model, Chunks(few, Serial()), None, monitor.rehearsal(), solver)
    return fitted.among(size.labels_per_annotator)


def _some(work: tuple[Items, Rows]) -> tuple[list[Items]]:
    items, rows = work
    return ([items[rows]] if len(rows) else [],)


def _first_posteriors(kept: Chunks, size: _Size, start: Array | None) -> list[Any]:
    """Return where to start: the vote, or a guess at the posterior."""
    if start is None:
        return kept.engine.keep(vote, kept.chunks)
    guesses = [start[rows] for rows in size.rows()]
    return kept.engine.keep(_guess, list(zip(kept.chunks, guesses, strict=True)))


def _guess(work: tuple[Items, Array]) -> CategoricalPosterior:
    items, prob = work
    weight = None if items.weight is None else like(items.weight, items.X_truth)
    return CategoricalPosterior(like(np.array(prob), items.X_truth), weight=weight)


def _best_solver(model: Model, n_classes: int) -> str:
    """Variational where there is a bound; of more classes cross-fitted; Algorithm 1 for the rest."""
    if has_bound(model):
        return "vb"
    return "em" if n_classes == 2 else "crossfit"


def _point_estimate(
    model: Model,
    kept: Chunks,
    size: _Size,
    start: Array | None,
    monitor: Monitor,
    solver: str,
    before: Solution | None,
) -> Solution:
    """Fit by a solver whose θ and ξ are single points."""
    chunks, engine = kept.chunks, kept.engine
    if before is None:
        posteriors = _first_posteriors(kept, size, start)
        parameters = m_step(model, chunks, posteriors, _zero(model, size), engine)
    else:
        parameters = before.parameters
        posteriors = engine.keep(e_step, chunks, model, parameters)
    if solver == "crossfit":
        theta, known = fit_crossfit(model, chunks, posteriors, parameters, monitor, engine)
        return Solution(theta, known, solver)
    climb = fit_em if solver == "em" else fit_lbfgs
    parameters = climb(model, chunks, parameters, monitor, engine)
    ((known,),) = engine.sum(_learnt, chunks[:1], model, parameters)
    return Solution(Belief(parameters.theta), known, solver)


def _zero(model: Model, size: _Size) -> Parameters:
    """Return where the first M-step, at the vote, starts: never where labels are switched, or w is 0."""
    theta = model.annotators.init(size.n_expertise_features[0], len(size.labels_per_annotator))
    return Parameters(theta, model.truth.init(size.n_truth_features[0]))


def _learnt(items: Items, model: Model, parameters: Parameters) -> tuple[list[Any]]:
    """Return what the truth keeps; where items hang together there is one chunk, and it matters."""
    evidence = evidence_of(items, model, parameters)
    posterior = model.truth.posterior(parameters.xi, items.X_truth, evidence)
    return ([model.truth.learnt(parameters.xi, posterior, evidence)],)
