"""CrowdRegressor: the same for labels that are real numbers."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.metrics import r2_score
from sklearn.utils.validation import check_is_fitted

from whoknows._array import Array
from whoknows._threads import one_thread
from whoknows.data.annotations import Annotations
from whoknows.data.errors import Advice, InputError
from whoknows.data.vocabulary import show
from whoknows.estimators.inputs.gold import by_row, check_gold_numbers
from whoknows.estimators.inputs.preprocessing import Preprocessing, silence
from whoknows.estimators.inputs.resolve import resolve
from whoknows.estimators.inputs.validation import (
    all_or_nothing,
    check_annotations,
    check_features,
    check_some_labels,
    check_weight,
    only_what_counts,
    row_ids,
)
from whoknows.estimators.persistence.saved import Saved
from whoknows.estimators.prepared_model import directions_of, graph_in_words
from whoknows.fit.em import fit_em
from whoknows.fit.engines import Serial
from whoknows.fit.items import Items
from whoknows.fit.lbfgs import fit_lbfgs
from whoknows.fit.monitor import Callback, Monitor
from whoknows.fit.objective import Model, Parameters, evidence_of
from whoknows.model.annotators.biased import BiasedAnnotators
from whoknows.model.belief import Belief
from whoknows.model.graph import AutoGraph
from whoknows.model.posterior import GaussianPosterior
from whoknows.model.settings import NotCompatible
from whoknows.model.truth.linear import LinearBelief, LinearTruth

SOLVERS = {"auto": fit_em, "em": fit_em, "lbfgs": fit_lbfgs}


class CrowdRegressor(Saved, RegressorMixin, BaseEstimator):
    """Learn a real-valued truth, a regression and every annotator's bias and spread from who said what.

    The truth is a function of x plus noise, z = f(x) + ε; annotator t says y = z + b_t + noise of standard
    deviation σ_t(x). Everything is Gaussian, so the truth and f are known exactly, with their uncertainty,
    once b_t, σ_t and the size of ε are; these are learnt. Labels are brought to mean 0 and variance 1 inside;
    every answer is in the units of y.

    Parameters
    ----------
    truth : {"id", "lgp"} or LinearTruth
        "id": items independent given f. "lgp": the same with a graph prior on f's weights, Eq. (10), through
        which unlabelled items count. Or `LinearTruth(...)`.
    annotators : {"auto", "biased"} or BiasedAnnotators
        What annotators say given the truth; "auto" is "biased", the only kind.
    map : {"rbf", "linear", "spectral", "clusters"} or map
        What truth and annotators see of x, as in `CrowdClassifier`.
    solver : {"auto", "em", "lbfgs"}
        "em": Algorithm 1 with an exact E-step. "lbfgs": the marginal likelihood directly, the same maximum.
        "auto" is "em".
    annotator_map : as ``map``, optional
        What annotators' spread sees of x, as in `CrowdClassifier`.
    max_iter : int
        Iterations at most; `DidNotConverge` warns when they were not enough.
    tol : float
        Stop when the bound rises by less than ``tol`` of its size.
    standardize : bool or "roots"
        As in `CrowdClassifier`.
    random_state : int, RandomState or None
        For the maps and graphs that sample items; the same number, the same model.

    Attributes
    ----------
    annotators_ : (n_annotators,)
        Their ids, the columns of `annotator_scale`.
    annotator_bias_ : (n_annotators,)
        How much more than the truth each says on average; the crowd's is 0.
    noise_ : float
        s, the standard deviation of the truth around f(x).
    posterior_mean_, posterior_std_ : (n_items,)
        Truth of every item of the fit, labelled or not, and how sure that is.
    graph_ : str
        The graphs of truth and map, in words; empty where there are none.
    bound_history_ : list of float
        What the solver climbed, one value an iteration, in standardised units.
    n_iter_ : int
    solver_ : str
        The solver that "auto" chose.

    Examples
    --------
    >>> import numpy as np
    >>> from whoknows.estimators.regressor import CrowdRegressor
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(-3, 3, size=(200, 1))
    >>> z = 50 + 10 * np.sin(X[:, 0])
    >>> y = z[:, None] + [3, -1, -2] + rng.normal(size=(200, 3)) * [1, 2, 6]
    >>> model = CrowdRegressor().fit(X, y)
    >>> model.annotator_bias_.round()
    array([ 3., -1., -2.])
    >>> model.annotator_scale(X).mean(axis=0).round()
    array([1., 2., 6.])
    >>> mean, std = model.predict([[0.0]], return_std=True)
    >>> bool(abs(mean[0] - 50) < 2 * std[0])
    True
    """

    def __init__(
        self,
        truth: Any = "id",
        annotators: Any = "auto",
        map: Any = "rbf",
        solver: str = "auto",
        *,
        annotator_map: Any = None,
        max_iter: int = 200,
        tol: float = 1e-6,
        standardize: bool | str = True,
        random_state: Any = 0,
    ) -> None:
        self.truth = truth
        self.annotators = annotators
        self.map = map
        self.solver = solver
        self.annotator_map = annotator_map
        self.max_iter = max_iter
        self.tol = tol
        self.standardize = standardize
        self.random_state = random_state

    @all_or_nothing
    def fit(
        self,
        X: Any,
        y: Any,
        callback: Callback | None = None,
        *,
        gold: Any = None,
        sample_weight: Any = None,
    ) -> Self:
        """Learn from features and who said what.

        Parameters
        ----------
        X : (n_items, n_features)
            A row for every item, labelled or not.
        y : Annotations, (n_items, n_annotators) with NaN, or (n_items,)
            Who said what; one dimension is one annotator.
        callback : callable(iteration, bound, seconds), optional
            Called after every iteration; return True to stop there.
        gold : mapping from item id to number, or (n_items,) with NaN or None, optional
            Truth where it is known: fixed in the posterior, and annotators are measured on it.
        sample_weight : (n_items,), optional
            How much each item counts, as in `CrowdClassifier.fit`.
        """
        if self.solver not in SOLVERS:
            raise InputError(f"solver must be one of {tuple(SOLVERS)}; got {self.solver!r}.")
        index = row_ids(X)
        X = check_features(self, X, reset=True)
        said = check_annotations(y, len(X), index=index)
        check_some_labels(said)
        _check_numbers(said)
        weight = check_weight(sample_weight, X)
        said, gold = only_what_counts(said, check_gold_numbers(by_row(gold, index, y), said), weight)
        learnt = _Learnt.of_items(self, X, said, weight)
        monitor = Monitor(self.max_iter, self.tol, callback=callback)
        every = learnt.items(X, said, gold, weight)
        with one_thread:
            fitted = _fit(learnt.model, every.labelled(), monitor, self.solver)
        # Nothing learnt has changed until here: a fit that fails or is interrupted leaves the old one whole.
        self._learnt, self._fitted = learnt, fitted
        self.annotators_, self.graph_ = said.annotators, graph_in_words(learnt.truth, learnt.seen)
        self.solver_ = "em" if self.solver == "auto" else self.solver
        self.bound_history_, self.n_iter_ = monitor.history, monitor.n_iter
        self.annotator_bias_ = learnt.scale * learnt.annotators.bias(fitted.annotators.mean)[:-1]
        self.noise_ = learnt.scale * float(np.sqrt(fitted.truth.noise))
        self.posterior_mean_, self.posterior_std_ = self._posterior(every)
        return self

    def predict(self, X: Any, return_std: bool = False) -> Any:
        """Return the expected truth of each item, labels aside: (n_items,).

        Parameters
        ----------
        X : (n_items, n_features)
        return_std : bool
            Return its standard deviation too: how unsure f(x) is, and how far the truth strays from it.
        """
        items = self._learnt_items(X)
        mean, std = self._learnt.in_units(self._learnt.truth.predict(self._fitted.truth, items.X_truth))
        return (mean, std) if return_std else mean

    def posterior(self, X: Any, y: Any, unknown: str = "error") -> tuple[Array, Array]:
        """Mean and standard deviation of each item's truth, its labels included: two (n_items,).

        Parameters
        ----------
        X : (n_items, n_features)
        y : as in `fit`
            Labels of these items. Those of an item of the fit replace the ones it had there.
        unknown : {"error", "population"}
            An annotator the fit did not see is an error, or counts as one of the crowd, his bias unknown.
        """
        return self._posterior(self._learnt_items(X, y, unknown))

    def annotator_scale(self, X: Any) -> Array:
        """σ_t(x), the spread of each annotator's labels around truth and bias: (n_items, n_annotators)."""
        items = self._learnt_items(X)
        scale = self._learnt.annotators.scale(self._fitted.annotators.mean, items.X_annotators)
        return self._learnt.scale * scale[:, :-1]

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """R² on a truth vector; on annotations, how well they are foretold.

        Parameters
        ----------
        X : (n_items, n_features)
        y : (n_items,) or annotations
            One dimension is the truth: returns R². Annotations (or a matrix): the mean over labels of
            log p(labels | x), a density in the units of y, truth integrated out. It needs no truth, so it
            can choose settings.
        """
        if not isinstance(y, Annotations) and np.ndim(y) == 1:
            return float(r2_score(y, self.predict(X), sample_weight=sample_weight))
        if sample_weight is not None:
            raise InputError("sample_weight goes with a truth vector; annotations are scored label by label.")
        items = self._learnt_items(X, y, unknown="population").labelled()
        if items.Y.n_annotations == 0:
            raise InputError("score on annotations needs at least one label; y has none.")
        density = self._learnt.truth.log_density(self._fitted.truth, items.X_truth, self._evidence(items))
        return float(density.sum() / items.Y.counts.sum() - np.log(self._learnt.scale))

    def __sklearn_is_fitted__(self) -> bool:
        """Whether a fit has come to its end."""
        return "_fitted" in vars(self)

    # --- inside, on checked input ------------------------------------------------------------------

    def _learnt_items(self, X: Any, y: Any = None, unknown: str = "error") -> Items:
        """Check X, and labels if there are any, and return what the model sees of them."""
        check_is_fitted(self)
        index = row_ids(X)
        X = check_features(self, X, reset=False)
        if y is None:
            return self._learnt.items(X)
        said = check_annotations(y, len(X), self.annotators_, index)
        _check_numbers(said)
        return self._learnt.items(X, said.recode(self.annotators_, said.labels, unknown=unknown))

    def _evidence(self, items: Items) -> Any:
        return self._learnt.annotators.evidence_at(self._fitted.annotators, items.X_annotators, items.Y)

    def _posterior(self, items: Items) -> tuple[Array, Array]:
        evidence = items.complete(self._evidence(items))
        known = self._learnt.truth.posterior_at(self._fitted.truth, items.X_truth, evidence)
        return self._learnt.in_units(known)


@dataclass(frozen=True)
class _Learnt:
    """What a fit takes from all items, and from the labels' mean and spread, before it begins."""

    seen: Preprocessing
    annotators: BiasedAnnotators
    truth: LinearTruth
    mean: float
    scale: float

    @classmethod
    def of_items(cls, settings: CrowdRegressor, X: Array, said: Annotations, weight: Array | None) -> _Learnt:
        truth, annotators = _resolve_truth(settings.truth), _resolve_annotators(settings.annotators)
        seen = Preprocessing.of_items(settings, X, directions_of(annotators, said))
        truth = truth.prepare(seen.scaled(X), seen.views(X)[0], seen.seed)
        return cls(seen, annotators, truth, *_mean_and_scale(said, weight))

    @property
    def model(self) -> Model:
        return Model(self.annotators, self.truth)

    def items(
        self,
        X: Array,
        said: Annotations | None = None,
        gold: Array | None = None,
        weight: Array | None = None,
    ) -> Items:
        """Return what truth and annotators see of checked X, labels standardised."""
        said = silence(len(X)) if said is None else said
        labels = (said.labels.astype(float) - self.mean) / self.scale
        gold = None if gold is None else (gold - self.mean) / self.scale
        return Items(*self.seen.views(X), replace(said, labels=labels), gold, weight)

    def in_units(self, known: GaussianPosterior) -> tuple[Array, Array]:
        """Mean and standard deviation in the units of y."""
        return self.mean + self.scale * known.mean, self.scale * np.sqrt(known.variance)


@dataclass(frozen=True)
class _Fitted:
    """What a solver learnt of annotators and truth."""

    annotators: Belief
    truth: LinearBelief


def _fit(model: Model, items: Items, monitor: Monitor, solver: str) -> _Fitted:
    """Climb from the prior: nobody biased, all annotators alike."""
    theta = model.annotators.init(items.X_annotators.shape[1], items.Y.n_annotators)
    start = Parameters(theta, model.truth.init(items.X_truth.shape[1]))
    found = SOLVERS[solver](model, [items], start, monitor, Serial())
    evidence = evidence_of(items, model, found)
    posterior = model.truth.posterior(found.xi, items.X_truth, evidence)
    return _Fitted(Belief(found.theta), model.truth.learnt(found.xi, posterior, evidence, items.X_truth))


def _mean_and_scale(said: Annotations, weight: Array | None) -> tuple[float, float]:
    """Mean and standard deviation of the labels given, as much as each counts; 1 where all are the same."""
    values = said.labels[said.label].astype(float)
    counts = said.counts if weight is None else said.counts * weight[said.item]
    mean = float(np.average(values, weights=counts))
    scale = float(np.sqrt(np.average((values - mean) ** 2, weights=counts)))
    return mean, scale if scale > 1e-12 * np.abs(values).max() else 1.0


def _resolve_truth(choice: Any) -> LinearTruth:
    words = {"id": LinearTruth, "lgp": lambda: LinearTruth(graph=AutoGraph())}
    truth = resolve("truth", choice, words, "expected_log_truth")
    if not isinstance(truth, LinearTruth):
        raise NotCompatible(f"CrowdRegressor needs LinearTruth; got {type(truth).__name__}.")
    return truth


def _resolve_annotators(choice: Any) -> BiasedAnnotators:
    words = {"auto": BiasedAnnotators, "biased": BiasedAnnotators}
    annotators = resolve("annotators", choice, words, "expected_log_lik")
    if not isinstance(annotators, BiasedAnnotators):
        raise NotCompatible(f"CrowdRegressor needs BiasedAnnotators; got {type(annotators).__name__}.")
    return annotators


def _check_numbers(said: Annotations) -> None:
    """Refuse labels that are no numbers; infinite ones never get this far."""
    if said.labels.dtype.kind not in "iuf" and said.n_classes:
        raise InputError(
            Advice("regression", "CrowdRegressor"),
            f" needs labels that are numbers; got {show(said.labels.tolist())}. If they are classes, use ",
            Advice("classifier", "CrowdClassifier"),
            "; if they are numbers written as text, convert them first.",
        )
    if not np.isfinite(said.labels.astype(float)).all():
        raise InputError("Expected finite labels, got inf. Use None or NaN for a missing label.")
