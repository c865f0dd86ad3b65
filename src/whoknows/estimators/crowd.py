"""CrowdClassifier: one model, transparent."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.metrics import accuracy_score
from sklearn.utils.validation import check_is_fitted
from threadpoolctl import threadpool_limits

from whoknows._array import Array
from whoknows.data.annotations import Annotations
from whoknows.estimators.checks import (
    check_annotations,
    check_classes,
    check_features,
    check_weight,
    row_ids,
)
from whoknows.estimators.gold import check_gold
from whoknows.estimators.pieces import resolve_annotators, resolve_truth
from whoknows.estimators.seen import Seen, silence
from whoknows.estimators.suggest import suggest
from whoknows.estimators.suggestions import Suggestions
from whoknows.fit.items import Items
from whoknows.fit.monitor import Callback, Monitor
from whoknows.fit.objective import Model
from whoknows.fit.solve import solve
from whoknows.model.annotators import GaussianAnnotators
from whoknows.model.maps import LinearFeatures
from whoknows.model.settings import NotCompatible
from whoknows.model.truth import GraphTruth

TYPICAL_ITEMS = 1000  # what a confusion matrix is averaged over
COEFFICIENTS = ("coef_", "intercept_", "annotator_coef_", "annotator_intercept_")


class CrowdClassifier(ClassifierMixin, BaseEstimator):
    """Learn the truth, a classifier and every annotator's expertise from who said what.

    One fit of Yan, Rosales, Fung and Dy (UAI 2010): labels of several annotators, on some of the items,
    become p(z | x) for any item, p(z | x, labels) for labelled ones, and the probability that annotator t
    is right on item x.

    Parameters
    ----------
    truth : {"lgp", "id", "gp"} or truth model
        What the truth is given x. "id": logistic, items independent, Eq. (18). "lgp": the same with a graph
        prior on its weights, through which unlabelled items count, Eqs. (9), (10). "gp": smooth on the graph
        of items, Eqs. (3), (5). Or `LogisticTruth(...)`, `GraphTruth(...)`.
    annotators : {"auto", "bernoulli", "confusion", "gaussian"} or annotator model
        What annotators say given the truth. "auto" is "bernoulli" for two classes ("gaussian" for "gp", which
        needs it) and "confusion" for more.
    map : {"rbf", "linear", "spectral"} or map
        What truth and annotators see of x. "rbf": any smooth function of x. "linear": x itself, with
        coefficients to read. "spectral": the graph's eigenvectors, where unlabelled items pay most if items
        lie in clusters.
    solver : {"auto", "vb", "em", "lbfgs", "crossfit"}
        "vb": variational, with uncertainty. "em": Algorithm 1. "lbfgs": the marginal likelihood directly.
        "crossfit": EM in which an item's posterior uses a classifier that did not see its labels. "auto" is
        "vb" wherever it has a bound (two classes, Bernoulli annotators, logistic truth), "crossfit" for more
        classes, "em" elsewhere.
    max_iter : int
        Iterations at most; `DidNotConverge` warns when they were not enough.
    tol : float
        When to stop: see ``stop``.
    stop : {"bound", "parameters"}
        Stop when the bound rises by less than ``tol`` of its size, or, as in Algorithm 1, when annotators'
        parameters move by less than ``tol`` in squared norm.
    standardize : bool
        Bring every column of X to mean 0 and variance 1 over all items, labelled or not.
    warm_start : bool
        Start from the previous fit's posterior in place of the majority vote.
    random_state : int, RandomState or None
        For the maps and graphs that sample items; the same number, the same model.

    Attributes
    ----------
    classes_ : (n_classes,)
        The labels.
    annotators_ : (n_annotators,)
        Their ids, the columns of `expertise`.
    coef_, intercept_ : (1, n_features), (1,), or (n_classes, n_features), (n_classes,)
        Log-odds of the second of two classes, or the logits of each, in the units of X. Only with
        map="linear"; not for "gp".
    annotator_coef_, annotator_intercept_ : (n_annotators, n_features), (n_annotators,)
        w_t and γ_t in the units of X: log-odds of being right (Bernoulli), or the logit of Eq. (15)
        (Gaussian). Only with map="linear".
    posterior_ : (n_items, n_classes)
        Truth of every item of the fit, labelled or not.
    bound_history_ : list of float
        What the solver climbed, one value an iteration.
    n_iter_ : int
    solver_ : str
        The solver that "auto" chose.

    Examples
    --------
    >>> import numpy as np
    >>> from whoknows import CrowdClassifier
    >>> X = np.array([[0.0], [1.0], [2.0], [3.0], [4.0], [5.0]])
    >>> nan = np.nan
    >>> y = [[0, 0, 1], [0, nan, 0], [nan, nan, nan], [nan, nan, nan], [1, 1, 0], [1, 1, nan]]
    >>> model = CrowdClassifier().fit(X, y)
    >>> model.predict(X)
    array([0, 0, 0, 1, 1, 1])
    >>> model.expertise(X).shape
    (6, 3)
    """

    def __init__(
        self,
        truth: Any = "lgp",
        annotators: Any = "auto",
        map: Any = "rbf",
        solver: str = "auto",
        *,
        max_iter: int = 200,
        tol: float = 1e-6,
        stop: str = "bound",
        standardize: bool = True,
        warm_start: bool = False,
        random_state: Any = 0,
    ) -> None:
        self.truth = truth
        self.annotators = annotators
        self.map = map
        self.solver = solver
        self.max_iter = max_iter
        self.tol = tol
        self.stop = stop
        self.standardize = standardize
        self.warm_start = warm_start
        self.random_state = random_state

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
        gold : mapping from item id to label, or (n_items,) with NaN or None, optional
            Truth where it is known: fixed in the posterior, and annotators are measured on it.
        sample_weight : (n_items,), optional
            How much each item counts; 2 is the same item twice. The map and the graph are of the items as
            they are: an item of weight 0 still has its place there, as one without labels has.
        """
        index = row_ids(X)
        X = check_features(self, X, reset=True)
        said, gold = check_gold(gold, check_annotations(y, len(X), index=index))
        check_classes(said)
        return self._fit(X, said, callback, gold=gold, weight=check_weight(sample_weight, X))

    def _fit(
        self,
        X: Array,
        said: Annotations,
        callback: Callback | None = None,
        seen: Seen | None = None,
        gold: Array | None = None,
        weight: Array | None = None,
    ) -> Self:
        """Fit to checked input; ``seen`` is what another fit with the same map made of the same items."""
        learnt, every = _Learnt.of_items(self, X, said, seen)
        every = replace(every, gold=gold, weight=weight)
        monitor = Monitor(self.max_iter, self.tol, self.stop, callback, exact=_is_exact(learnt.model.truth))
        start = self._previous_posterior(X, said)
        items = every
        if not learnt.model.truth.couples_items:
            items, start = every.labelled(), None if start is None else start[every.informed]
        with threadpool_limits(
            1, user_api="blas"
        ):  # many small products: more threads only wait for each other
            fitted = solve(learnt.model, items, start, monitor, self.solver)
        # Nothing learnt has changed until here: a fit that fails or is interrupted leaves the old one whole.
        self._learnt, self._fitted, self.n_features_in_ = learnt, fitted, X.shape[1]
        self.classes_, self.annotators_ = said.labels, said.annotators
        self.solver_, self.bound_history_, self.n_iter_ = fitted.solver, monitor.history, monitor.n_iter
        self.posterior_ = self._posterior(every)
        self._typical = every.Psi[:: max(len(X) // TYPICAL_ITEMS, 1)]
        self._set_coefficients()
        return self

    def predict_proba(self, X: Any) -> Array:
        """p(z | x) of each item, labels aside: (n_items, n_classes), columns as in ``classes_``."""
        return np.exp(self._log_predict(self._learnt_items(X)))

    def predict(self, X: Any) -> Any:
        """Return the likelier class of each item: (n_items,)."""
        likeliest = self.predict_proba(X).argmax(axis=1)
        return self.classes_[likeliest]

    def posterior(self, X: Any, y: Any, unknown: str = "error") -> Array:
        """p(z | x, labels) of each item, Eqs. (7), (12): (n_items, n_classes); without labels, p(z | x).

        Parameters
        ----------
        X : (n_items, n_features)
        y : as in `fit`
            Labels of these items.
        unknown : {"error", "population"}
            An annotator the fit did not see is an error, or counts as one of the crowd.
        """
        return self._posterior(self._learnt_items(X, y, unknown))

    def expertise(self, X: Any) -> Array:
        """Probability that each annotator is right on each item: (n_items, n_annotators)."""
        items = self._learnt_items(X)
        prob = np.exp(self._log_predict(items))
        return self._learnt.model.annotators.expertise(self._fitted.annotators, items.Psi, prob)[:, :-1]

    def confusion(self, annotator: Any) -> Array:
        """p(label | truth) of one annotator, averaged over items of the fit: (n_classes, n_classes).

        Rows are the truth, columns the label, both as in ``classes_``. Of many items, a thousand are taken.
        """
        check_is_fitted(self)
        known = self.annotators_.tolist()
        if annotator not in known:
            raise ValueError(f"annotator must be one of {known[:5]} (annotators_); got {annotator!r}.")
        belief = self._fitted.annotators.of(known.index(annotator))
        return self._learnt.model.annotators.confusion(belief, self._typical)[0]

    def annotator_scale(self, X: Any) -> Array:
        """σ_t(x) of Eq. (15), the spread of each annotator's labels: (n_items, n_annotators)."""
        items = self._learnt_items(X)
        model = self._learnt.model.annotators
        if not isinstance(model, GaussianAnnotators):
            raise NotCompatible(
                f"annotator_scale is σ of Eq. (15), which {type(model).__name__} does not have. "
                "Use annotators='gaussian', or expertise(X), which every annotator model has."
            )
        return model.scale(self._fitted.annotators.mean, items.Psi)[:, :-1]

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Accuracy on a truth vector; on annotations, how well they are foretold.

        Parameters
        ----------
        X : (n_items, n_features)
        y : (n_items,) or annotations
            One dimension is the truth: returns accuracy. Annotations (or a matrix): the mean over labels of
            log p(labels | x), truth integrated out. It needs no truth, so it can choose settings.
        """
        if not isinstance(y, Annotations) and np.ndim(y) == 1:
            return float(accuracy_score(y, self.predict(X), sample_weight=sample_weight))
        if sample_weight is not None:
            raise ValueError("sample_weight goes with a truth vector; annotations are scored label by label.")
        items = self._learnt_items(X, y, unknown="population").labelled()
        if items.Y.n_annotations == 0:
            raise ValueError("score on annotations needs at least one label; y has none.")
        return float(self._log_predictive(items).sum()) / items.Y.n_annotations

    def log_predictive(self, X: Any, y: Any) -> Array:
        """log p(labels | x) of each item, truth and annotators integrated out: (n_items,).

        What `score` on annotations is the mean of; an item without labels has 0.
        """
        return self._log_predictive(self._learnt_items(X, y, unknown="population"))

    def suggest(
        self,
        X: Any,
        said: Any,
        n: int,
        costs: Any = None,
        annotators: Any = None,
        *,
        min_gain: float = 0.0,
        spread: bool = True,
    ) -> Suggestions:
        """Choose the n labels, not asked yet, that say most about the truth for what they cost.

        Parameters
        ----------
        X : (n_items, n_features)
            Items one could ask about.
        said : as in `fit`
            Their labels so far.
        n : int
            Labels to ask for, at most.
        costs : mapping or (n_annotators,), optional
            Cost of a label by annotator; default 1 each.
        annotators : sequence of ids, optional
            Who may be asked.
        min_gain : float
            Stop when no label is worth so many bits per cost.
        spread : bool
            Spread the batch over the data and the annotators.
        """
        return suggest(self, X, said, n, costs=costs, annotators=annotators, min_gain=min_gain, spread=spread)

    def __getattr__(self, name: str) -> Any:
        """Say why a coefficient is not there."""
        if name in COEFFICIENTS and "_fitted" in vars(self):
            raise AttributeError(
                f"{name} exists only with map='linear' (and, for coef_ and intercept_, a logistic truth); "
                f"this model has map={self.map!r}, truth={self.truth!r}."
            )
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    def __sklearn_tags__(self) -> Any:
        """Tell scikit-learn how many classes this truth can take."""
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = not (self.truth == "gp" or isinstance(self.truth, GraphTruth))
        return tags

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
        return self._learnt.items(X, said.recode(self.annotators_, self.classes_, unknown=unknown))

    def _log_predict(self, items: Items) -> Array:
        return self._learnt.model.truth.log_predict(self._fitted.truth, items.Phi)

    def _posterior(self, items: Items) -> Array:
        evidence = self._learnt.model.annotators.evidence_at(self._fitted.annotators, items.Psi, items.Y)
        return self._learnt.model.truth.posterior_at(self._fitted.truth, items.Phi, items.complete(evidence))

    def _log_predictive(self, items: Items) -> Array:
        """log p(labels | x) of each item, truth and annotators integrated out: (n_items,)."""
        evidence = self._learnt.model.annotators.predictive(self._fitted.annotators, items.Psi, items.Y)
        return np.asarray(np.logaddexp.reduce(self._log_predict(items) + evidence.table, axis=1))

    def _previous_posterior(self, X: Array, said: Annotations) -> Array | None:
        """Return what the previous fit makes of these labels, if there is one that knows their kind."""
        if not (self.warm_start and self.__sklearn_is_fitted__()):
            return None
        if self._learnt.seen.n_features != X.shape[1] or not np.array_equal(self.classes_, said.labels):
            return None
        known = said.recode(self.annotators_, self.classes_, unknown="population")
        return self._posterior(self._learnt.items(X, known))

    def _set_coefficients(self) -> None:
        """Coefficients in the units of the X the user gave; only a linear map has them."""
        for name in COEFFICIENTS:
            vars(self).pop(name, None)
        features, model = self._learnt.seen.features, self._learnt.model
        if not isinstance(features, LinearFeatures):
            return
        leading = features.matrix[:, : model.annotators.directions]
        w, gamma = model.annotators.coefficients(self._fitted.annotators.mean[:-1], leading.shape[1] + 1)
        to_units = self._learnt.seen.to_input_units
        self.annotator_coef_, self.annotator_intercept_ = to_units(w @ leading.T, gamma)
        if not model.truth.couples_items:
            xi = self._fitted.truth.mean.reshape(features.matrix.shape[1] + 1, -1)
            self.coef_, self.intercept_ = to_units((features.matrix @ xi[:-1]).T, xi[-1])


@dataclass(frozen=True)
class _Learnt:
    """What does not depend on labels: how items are seen, and the model prepared for them."""

    seen: Seen
    model: Model

    @classmethod
    def of_items(
        cls, settings: CrowdClassifier, X: Array, said: Annotations, seen: Seen | None
    ) -> tuple[_Learnt, Items]:
        """Learn from checked X, and return the items as they are then seen: both need the map's one pass."""
        K = said.n_classes
        truth = resolve_truth(settings.truth, len(X)).for_classes(K)
        annotators = resolve_annotators(settings.annotators, truth, K).for_classes(K)
        Model(annotators, truth)  # before the graph, which takes longer: do the pieces fit each other?
        seen = seen or Seen.of_items(settings, X, annotators.directions)
        views = seen.views(X)
        learnt = cls(seen, Model(annotators, truth.prepare(seen.scaled(X), views[0], seen.seed)))
        return learnt, learnt._items(X, views, said)

    def items(self, X: Array, said: Annotations | None = None) -> Items:
        """Return what truth and annotators see of checked X, with or without labels."""
        return self._items(X, self.seen.views(X), silence(len(X)) if said is None else said)

    def _items(self, X: Array, views: tuple[Array, Array], said: Annotations) -> Items:
        Phi, Psi = views
        return Items(self.seen.scaled(X) if self.model.truth.couples_items else Phi, Psi, said)


def _is_exact(truth: Any) -> bool:
    return getattr(truth, "neighbors", None) is None
