"""The entry point to the solvers: from a model and items to a solution."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from itertools import pairwise, starmap
from operator import attrgetter
from typing import Any

import numpy as np

from whoknows._array import Array, Mask, Rows, like, to_numpy
from whoknows._threads import one_thread
from whoknows.data.errors import InputError
from whoknows.fit.crossfit import fit_crossfit
from whoknows.fit.em import fit_em, m_step
from whoknows.fit.engines import Chunks, Engine, Serial
from whoknows.fit.items import Items
from whoknows.fit.laplace import Covariances, laplace_covariances
from whoknows.fit.lbfgs import fit_lbfgs
from whoknows.fit.monitor import Monitor
from whoknows.fit.objective import Model, Parameters, check_pair, e_step, final_state
from whoknows.fit.reduced_basis import ReducedBasis, from_reduced, principal_basis, reduced_basis, to_reduced
from whoknows.fit.starts import best_beliefs, weighted_vote
from whoknows.fit.variational import fit_variational, has_bound, held_out, variational_posterior
from whoknows.model.annotators.population import CrowdBelief
from whoknows.model.gaussian import Belief
from whoknows.model.posterior import CategoricalPosterior
from whoknows.model.protocols import LeaveOneOutTruth, RealTruth, supports
from whoknows.model.settings import NotCompatible
from whoknows.model.truth.logistic import CrossFitBelief

MANY = 8_000  # items: with more, a fit starts from a fit to a sample of them
SAMPLE = 5_000


@dataclass(frozen=True)
class Solution:
    """The result of a solver.

    Attributes
    ----------
    annotators : Belief
        q(θ): one row per annotator and a last one for an annotator not seen in training.
    truth : object
        State of the truth model, such as q(ξ).
    solver : str
        Name of the solver.
    crowd : CrowdBelief, optional
        The full belief about the annotators, from the variational solver.
    """

    annotators: Belief
    truth: Any
    solver: str
    crowd: CrowdBelief | None = None


def parameters_of(model: Model, solution: Solution) -> Parameters:
    """Return θ and ξ of a solution as point estimates."""
    return Parameters(solution.annotators.mean, model.truth.parameters(solution.truth))


def covariances_of(model: Model, items: Items | Chunks, solution: Solution) -> Covariances:
    """Return the covariances of the parameters of a solution, for intervals."""
    population = None if solution.crowd is None else solution.crowd.fitted_population()
    data = as_chunks(items)
    return laplace_covariances(model, data.chunks, parameters_of(model, solution), population, data.engine)


def guess_of(model: Model, items: Items | Chunks, solution: Solution) -> Array:
    """p̃(z) of each item under a solution, to start another model from: (n_items, n_classes)."""
    data = as_chunks(items)
    (parts,) = data.engine.sum(_prob, data.chunks, model, solution)
    return np.vstack(parts)


def without_own_labels(model: Model, items: Items | Chunks, solution: Solution) -> Solution:
    """Return a variational solution that predicts each item of the fit as if its labels had not been in it.

    Otherwise the labels of an item would count twice in its posterior: as evidence, and in ξ. Other solutions are
    returned as they are.
    """
    if solution.solver != "vb":
        return solution
    data, xi = as_chunks(items), solution.truth
    parts = data.engine.sum(held_out, data.chunks, model, solution.annotators, xi)
    return replace(solution, truth=CrossFitBelief(xi.mean, xi.covariance, *map(np.vstack, parts)))


def for_annotators(solution: Solution, rows: Rows, active: Mask) -> Solution:
    """Return a solution for other annotators: ``rows`` are their rows in this one, −1 for new ones.

    ``active`` annotators have labels.
    """
    crowd = None if solution.crowd is None else solution.crowd.of_annotators(rows, active)
    belief = Belief(solution.annotators.mean[[*rows, -1]]) if crowd is None else crowd.belief()
    return replace(solution, annotators=belief, crowd=crowd)


@one_thread()
def solve(
    model: Model,
    items: Items | Chunks,
    start: Array | None,
    monitor: Monitor,
    solver: str = "auto",
    before: Solution | None = None,
) -> Solution:
    """Fit a model to items.

    Parameters
    ----------
    model : Model
        With a prepared truth.
    items : Items or Chunks
        `Items` are one chunk in this process.
    start : (n_items, n_classes), optional
        Initial posterior; default: the weighted vote, or for a real-valued truth the prior.
    monitor : Monitor
    solver : str
        One of `SOLVERS`, or "auto" for the best one that the model supports.
    before : Solution, optional
        A solution of the same model for part of these labels, to start from.
    """
    if solver not in ("auto", *SOLVERS):
        raise InputError(f"solver must be one of {('auto', *SOLVERS)}; got {solver!r}.")
    check_pair(model.annotators, model.truth)
    data = as_chunks(items)
    _refuse_coupled(model, data)
    size = _Size(*data.engine.sum(_size, data.chunks))
    name = _best_solver(model, size.n_classes[0]) if solver == "auto" else solver
    if not SOLVERS[name].works_on_tensors:
        place = "labels_on_host" if keeps_features(model, name) else "on_host"
        data = Chunks(data.engine.keep(attrgetter(place), data.chunks), data.engine)
    problem = _Problem(model, data, size, start, monitor, before)
    find_basis = SOLVERS[name].basis
    basis = find_basis and find_basis(model, data, sum(size.n_items), size.n_truth_features[0])
    return _from_start(problem, name) if basis is None else _in_reduced_basis(problem, basis, name)


def split_into_chunks(items: Items, n_chunks: int, engine: Engine) -> Chunks:
    """Split items in memory into chunks that an engine stores."""
    return Chunks(engine.keep(_itself, list(items.chunks(n_chunks))), engine)


# --- from a problem to a solution ---------------------------------------------------------------------


@dataclass(frozen=True)
class _Size:
    """Numbers of items, classes and features of each chunk, and of labels per annotator."""

    n_items: list[int]
    n_classes: list[int]
    n_truth_features: list[int]
    n_expertise_features: list[int]
    labels_per_annotator: Rows


@dataclass(frozen=True)
class _Problem:
    """The arguments of a solver."""

    model: Model
    data: Chunks
    size: _Size
    start: Array | None
    monitor: Monitor
    before: Solution | None
    state: Any = None  # of an interrupted fit


def _from_start(problem: _Problem, name: str) -> Solution:
    """Run a solver; with many items and nothing to start from, first on a sample."""
    problem = replace(problem, state=problem.monitor.resume())
    is_new = problem.before is None and problem.start is None and problem.state is None
    if is_new and sum(problem.size.n_items) > MANY and not problem.model.truth.couples_items:
        problem = replace(problem, before=_solution_of_sample(problem, name))
    return SOLVERS[name].run(problem, name)


def _in_reduced_basis(problem: _Problem, basis: ReducedBasis, name: str) -> Solution:
    n_features = [basis.basis.shape[1]] * len(problem.size.n_items)
    before = problem.before
    reduced = replace(
        problem,
        model=basis.model,
        data=basis.chunks,
        size=replace(problem.size, n_truth_features=n_features),
        before=None if before is None else replace(before, truth=to_reduced(basis, before.truth)),
    )
    solution = _from_start(reduced, name)
    return replace(solution, truth=from_reduced(basis, solution.truth))


def _solution_of_sample(problem: _Problem, name: str) -> Solution:
    """Fit to a few thousand of many items, so that the fit to all needs few iterations."""
    size, data = problem.size, problem.data
    rows = np.sort(np.random.default_rng(0).choice(sum(size.n_items), SAMPLE, replace=False))
    of_chunks = zip(data.chunks, _rows_of_chunks(size), strict=True)
    work = [(chunk, rows[(r.start <= rows) & (rows < r.stop)] - r.start) for chunk, r in of_chunks]
    (sample,) = data.engine.sum(_sample, work)
    solution = solve(problem.model, Chunks(sample, Serial()), None, problem.monitor.rehearsal(), name)
    labels = size.labels_per_annotator
    return for_annotators(solution, np.arange(len(labels)), labels > 0)


def _variational(problem: _Problem, name: str) -> Solution:
    before, data = problem.before, problem.data
    beliefs = None if before is None or before.crowd is None else (before.crowd, before.truth)
    if beliefs is None and problem.start is None and problem.state is None:
        beliefs = best_beliefs(problem.model, data.chunks, data.engine)
    posteriors = _initial_posteriors(problem) if beliefs is None and problem.state is None else []
    crowd, xi = fit_variational(
        problem.model, data.chunks, posteriors, problem.monitor, data.engine, beliefs, problem.state
    )
    return Solution(crowd.belief(), xi, name, crowd)


def _point_estimate(problem: _Problem, name: str, fit: Callable[..., Parameters]) -> Solution:
    model, chunks, engine = problem.model, problem.data.chunks, problem.data.engine
    parameters = fit(model, chunks, _initial_parameters(problem), problem.monitor, engine)
    # A truth that couples items has a single chunk; any other one needs only the parameters.
    ((state,),) = engine.sum(final_state, chunks[:1], model, parameters)
    return Solution(Belief(parameters.theta), state, name)


def _crossfit(problem: _Problem, name: str) -> Solution:
    model, chunks, engine = problem.model, problem.data.chunks, problem.data.engine
    if problem.before is None:
        posteriors, parameters = _initial_posteriors(problem), _before_labels(problem)
    else:
        parameters = parameters_of(model, problem.before)
        posteriors = engine.keep(e_step, chunks, model, parameters)
    theta, state = fit_crossfit(model, chunks, posteriors, parameters, problem.monitor, engine)
    return Solution(theta, state, name)


def _initial_parameters(problem: _Problem) -> Parameters:
    """Return θ and ξ of a solution, of an M-step at the initial posterior, or of the prior."""
    model, data = problem.model, problem.data
    if problem.before is not None:
        return parameters_of(model, problem.before)
    if supports(model.truth, RealTruth):
        return _before_labels(problem)
    return m_step(model, data.chunks, _initial_posteriors(problem), _before_labels(problem), data.engine)


def _before_labels(problem: _Problem) -> Parameters:
    model, size = problem.model, problem.size
    theta = model.annotators.init(size.n_expertise_features[0], len(size.labels_per_annotator))
    return Parameters(theta, model.truth.init(size.n_truth_features[0]))


def _initial_posteriors(problem: _Problem) -> list[Any]:
    """Return the posterior of each chunk to start from: the weighted vote, or the given one."""
    data = problem.data
    if problem.start is None:
        return weighted_vote(data.chunks, data.engine)
    parts = [problem.start[rows] for rows in _rows_of_chunks(problem.size)]
    return data.engine.keep(_given_posterior, list(zip(data.chunks, parts, strict=True)))


@dataclass(frozen=True)
class Solver:
    """A solver and its properties.

    Attributes
    ----------
    run : callable
        From a problem, and the solver's name, to a solution.
    works_on_tensors : bool
        Whether it accepts torch tensors; others get NumPy arrays.
    features_on_tensors : bool
        Whether it accepts them as features of a truth that works on tensors, if those of expertise are arrays.
    basis : callable, optional
        Gives the basis that it runs in, or None to leave the features as they are.
    """

    run: Callable[[_Problem, str], Solution]
    works_on_tensors: bool = False
    features_on_tensors: bool = False
    basis: Callable[..., ReducedBasis | None] | None = None


SOLVERS = {
    "vb": Solver(_variational, works_on_tensors=True, basis=reduced_basis),
    "em": Solver(partial(_point_estimate, fit=fit_em)),
    "lbfgs": Solver(partial(_point_estimate, fit=fit_lbfgs)),
    "crossfit": Solver(_crossfit, features_on_tensors=True, basis=principal_basis),
}


def _best_solver(model: Model, n_classes: int) -> str:
    """Variational if there is a bound; for more than two classes cross-fitted if possible; otherwise EM."""
    if has_bound(model):
        return "vb"
    return "crossfit" if n_classes > 2 and supports(model.truth, LeaveOneOutTruth) else "em"


def keeps_features(model: Model, name: str | None = None) -> bool:
    """Whether features of the truth may be tensors where all else is NumPy arrays, under a solver or the best one."""
    solver = SOLVERS[_best_solver(model, 3) if name is None else name]
    return solver.features_on_tensors and bool(getattr(model.truth, "works_on_tensors", False))


def _refuse_coupled(model: Model, data: Chunks) -> None:
    if model.truth.couples_items and not (len(data.chunks) == 1 and isinstance(data.engine, Serial)):
        raise NotCompatible(
            f"{type(model.truth).__name__} couples all items, so it needs a single chunk in this process; "
            f"got {len(data.chunks)} in {type(data.engine).__name__}. Use engine=None, or LogisticTruth with "
            "SpectralMap: the same prior without coupling."
        )


# --- functions of single chunks -----------------------------------------------------------------------


def as_chunks(items: Items | Chunks) -> Chunks:
    """Return items as chunks; `Items` are one chunk in this process."""
    return items if isinstance(items, Chunks) else Chunks([items], Serial())


def _rows_of_chunks(size: _Size) -> list[slice]:
    """Return the rows of each chunk among all items."""
    return list(starmap(slice, pairwise(np.cumsum([0, *size.n_items]).tolist())))


def _prob(items: Items, model: Model, solution: Solution) -> tuple[list[Array]]:
    if solution.crowd is not None:
        return ([to_numpy(variational_posterior(items, model, solution.annotators, solution.truth).prob)],)
    return ([to_numpy(e_step(items, model, parameters_of(model, solution)).prob)],)  # type: ignore[union-attr]


def _itself(items: Items) -> Items:
    return items


def _size(items: Items) -> tuple[Any, ...]:
    Y, n_features = items.Y, [items.X_truth.shape[1]]
    return [Y.n_items], [Y.n_classes], n_features, [items.X_annotators.shape[1]], Y.labels_per_annotator


def _sample(work: tuple[Items, Rows]) -> tuple[list[Items]]:
    items, rows = work
    return ([items[rows]] if len(rows) else [],)


def _given_posterior(work: tuple[Items, Array]) -> CategoricalPosterior:
    items, prob = work
    weight = None if items.weight is None else like(items.weight, items.X_annotators)
    return CategoricalPosterior(like(np.array(prob), items.X_annotators), weight=weight)
