"""One door to the solvers: from a model and items to what was learnt."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from whoknows._array import Array, Mask, Rows
from whoknows.fit.crossfit import fit_crossfit
from whoknows.fit.em import fit_em, m_step
from whoknows.fit.engines import Engine, Serial
from whoknows.fit.items import Items
from whoknows.fit.laplace import Spread, spread
from whoknows.fit.lbfgs import fit_lbfgs
from whoknows.fit.monitor import Monitor
from whoknows.fit.objective import Model, Parameters, e_step
from whoknows.fit.variational import fit_variational, has_bound
from whoknows.model.annotators.population import CrowdBelief
from whoknows.model.belief import Belief
from whoknows.model.evidence import TableEvidence
from whoknows.model.posterior import CategoricalPosterior, Posterior
from whoknows.model.settings import NotCompatible

SOLVERS = ("auto", "vb", "em", "lbfgs", "crossfit")
MANY = 20_000  # items: from here on a fit first finds its way on some of them
SOME = 5_000
VOTE_WEIGHT = 0.8  # log-odds a single vote is worth before anything is known of annotators
VOTE_CERTAINTY = 0.98  # the vote alone never makes an item more certain than this


@dataclass(frozen=True)
class Fitted:
    """What a solver learnt.

    Attributes
    ----------
    annotators : Belief
        q(θ): a row for each annotator and a last one for an annotator never seen.
    truth : Belief or Smoothed
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

    def spread(self, model: Model, items: Items) -> Spread:
        """How sure the fit is of its parameters, for intervals."""
        population = None if self.crowd is None else self.crowd.learnt()
        return spread(model, [items], self.parameters, population, Serial())

    def of_annotators(self, rows: Rows, active: Mask) -> Fitted:
        """Return the same for other annotators: ``rows`` says which each is here, −1 for a new one."""
        crowd = None if self.crowd is None else self.crowd.of_annotators(rows, active)
        belief = Belief(self.annotators.mean[[*rows, -1]]) if crowd is None else crowd.belief()
        return replace(self, annotators=belief, crowd=crowd)


def vote(items: Items) -> CategoricalPosterior:
    """Return where every solver starts: gold, a soft majority vote, even odds where nobody spoke."""
    Y = items.Y
    ballots = np.zeros((Y.n_items, Y.n_classes))
    np.add.at(ballots, (Y.item, Y.label), VOTE_WEIGHT * Y.counts)
    prob = CategoricalPosterior.from_log_joint(ballots).prob
    cautious = np.log(np.clip(prob, 1 - VOTE_CERTAINTY, VOTE_CERTAINTY))
    evidence = items.complete(TableEvidence(cautious))
    return CategoricalPosterior.from_log_joint(evidence.table, evidence.weight)


def solve(
    model: Model,
    items: Items,
    start: Array | None,
    monitor: Monitor,
    solver: str = "auto",
    engine: Engine | None = None,
    n_chunks: int = 1,
    before: Fitted | None = None,
) -> Fitted:
    """Fit ``model`` to ``items`` by one of `SOLVERS`; "auto" is the best the pieces allow.

    ``start`` (n_items, n_classes) is a first guess at the posterior; None takes the vote. ``before`` is what
    the same model learnt from some of these labels: a better place to start from.
    """
    if solver not in SOLVERS:
        raise ValueError(f"solver must be one of {SOLVERS}; got {solver!r}.")
    if solver == "auto":
        solver = _best_solver(model, items.Y.n_classes)
    if model.truth.couples_items and n_chunks > 1:
        raise NotCompatible(
            f"{type(model.truth).__name__} couples all items and cannot be fitted in {n_chunks} chunks. "
            "Use one chunk, or LogisticTruth with SpectralMap: the same prior, item by item."
        )
    engine = engine or Serial()
    if before is None and start is None and items.Y.n_items > MANY and not model.truth.couples_items:
        before = _on_some(model, items, monitor, solver)
    chunks = list(items.chunks(n_chunks))
    posteriors: list[Posterior] = [vote(part) for part in chunks]
    if start is not None:
        rows = items.Y.chunks(n_chunks)
        posteriors = [
            CategoricalPosterior(start[r], weight=p.weight) for r, p in zip(rows, posteriors, strict=True)
        ]
    if solver == "vb":
        beliefs = None if before is None or before.crowd is None else (before.crowd, before.truth)
        crowd, xi = fit_variational(model, chunks, posteriors, monitor, engine, beliefs)
        return Fitted(crowd.belief(), xi, solver, crowd)
    if before is None:
        parameters = _first_guess(model, chunks, posteriors, engine)
    else:
        parameters = before.parameters
        posteriors = [e_step(part, model, parameters) for part in chunks]
    if solver == "crossfit":
        theta, known = fit_crossfit(model, chunks, posteriors, parameters, monitor, engine)
        return Fitted(theta, known, solver)
    climb = fit_em if solver == "em" else fit_lbfgs
    parameters = climb(model, chunks, parameters, monitor, engine)
    return Fitted(Belief(parameters.theta), _learnt(model, chunks, parameters), solver)


def _on_some(model: Model, items: Items, monitor: Monitor, solver: str) -> Fitted:
    """Fit to a few thousand of many items: a start from which all of them need few, dear iterations."""
    rows = np.random.default_rng(0).choice(items.Y.n_items, SOME, replace=False)
    fitted = solve(model, items[np.sort(rows)], None, monitor.rehearsal(), solver)
    return fitted.of_annotators(np.arange(items.Y.n_annotators), items.Y.labels_per_annotator > 0)


def _best_solver(model: Model, n_classes: int) -> str:
    """Variational where there is a bound; of more classes cross-fitted; Algorithm 1 for the rest."""
    if has_bound(model):
        return "vb"
    return "em" if n_classes == 2 else "crossfit"


def _first_guess(
    model: Model, chunks: Sequence[Items], posteriors: Sequence[Posterior], engine: Engine
) -> Parameters:
    """Return the M-step at the starting posterior: avoids label switching, and the flat spot at w = 0."""
    theta = model.annotators.init(chunks[0].Psi.shape[1], chunks[0].Y.n_annotators)
    xi = model.truth.init(chunks[0].Phi.shape[1])
    return m_step(model, chunks, posteriors, Parameters(theta, xi), engine)


def _learnt(model: Model, chunks: Sequence[Items], parameters: Parameters) -> Any:
    """Return what the truth keeps; where items hang together there is one chunk, and it matters."""
    items = chunks[0]
    evidence = items.complete(model.annotators.evidence(parameters.theta, items.Psi, items.Y))
    posterior = model.truth.posterior(parameters.xi, items.Phi, evidence)
    return model.truth.learnt(parameters.xi, posterior, evidence)
