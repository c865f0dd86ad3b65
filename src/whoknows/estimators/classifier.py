"""CrowdClassifier: one model, transparent."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from whoknows._array import Array, to_numpy
from whoknows._threads import one_thread
from whoknows.data.annotations import Annotations
from whoknows.data.errors import InputError
from whoknows.estimators.answers import Answers
from whoknows.estimators.inputs.gold import by_row, gold_codes, with_classes_of
from whoknows.estimators.inputs.levels import check_labels
from whoknows.estimators.inputs.training_data import TrainingData, fingerprint
from whoknows.estimators.inputs.validation import (
    all_or_nothing,
    check_annotations,
    check_features,
    check_weight,
    row_ids,
)
from whoknows.estimators.one_model import OneModel, rows_of, stacked, typical_rows
from whoknows.estimators.persistence.checkpoint import NO_CHECKPOINT, NO_STEP, Checkpoint, Step
from whoknows.estimators.prepared_model import PreparedModel
from whoknows.estimators.ranking import Ranking
from whoknows.fit.engines import Chunks, Engine, opened
from whoknows.fit.items import Items
from whoknows.fit.monitor import Callback, Monitor
from whoknows.fit.solve import Solution, solve
from whoknows.model.annotators import GaussianAnnotators, OrderedAnnotators
from whoknows.model.maps import LinearFeatures
from whoknows.model.settings import NotCompatible
from whoknows.model.truth import GraphTruth

COEFFICIENTS = ("coef_", "intercept_", "annotator_coef_", "annotator_intercept_")


class CrowdClassifier(OneModel, Answers, BaseEstimator):
    """Learn the truth, a classifier and every annotator's expertise from who said what.

    One fit of Yan, Rosales, Fung and Dy (UAI 2010): labels of several annotators, on some of the items,
    become p(z | x) for any item, p(z | x, labels) for labelled ones, and the probability that annotator t
    is right on item x.

    Parameters
    ----------
    truth : {"lgp", "id", "gp", "ordered"} or truth model
        What the truth is given x. "id": logistic, items independent, Eq. (18). "lgp": the same with a graph
        prior on its weights, through which unlabelled items count, Eqs. (9), (10). "gp": smooth on the graph
        of items, Eqs. (3), (5). "ordered": levels with an order, such as scores 1 to 5. Or
        `LogisticTruth(...)`, `GraphTruth(...)`.
    annotators : {"auto", "bernoulli", "confusion", "gaussian", "ordered"} or annotator model
        What annotators say given the truth. "auto" is "bernoulli" for two classes ("gaussian" for "gp", which
        needs it), "confusion" for more or where somebody nearly always says one thing, and "ordered", with a
        severity and a spread each, for ordered levels.
    map : {"rbf", "linear", "spectral", "clusters"} or map
        What truth and annotators see of x. "rbf": any smooth function of x. "linear": x itself, with
        coefficients to read. "spectral": the graph's eigenvectors, where unlabelled items pay most if items
        lie in clusters. "clusters": which of a few clusters x lies in, and nothing else.
    solver : {"auto", "vb", "em", "lbfgs", "crossfit"}
        "vb": variational, with uncertainty. "em": Algorithm 1. "lbfgs": the marginal likelihood directly.
        "crossfit": EM in which an item's posterior uses a classifier that did not see its labels. "auto" is
        "vb" wherever it has a bound (two classes, Bernoulli annotators, logistic truth), "crossfit" for more
        classes, "em" elsewhere.
    annotator_map : as ``map``, optional
        What expertise sees of x, all of it, such as "clusters": expertise that differs from one kind of item
        to another. None: the leading features of ``map``.
    max_iter : int
        Iterations at most; `DidNotConverge` warns when they were not enough.
    tol : float
        When to stop: see ``stop``.
    stop : {"bound", "parameters"}
        Stop when the bound rises by less than ``tol`` of its size, or, as in Algorithm 1, when annotators'
        parameters move by less than ``tol`` in squared norm.
    levels : sequence of labels, optional
        For truth="ordered": the levels, lowest first. Numbers need none.
    standardize : bool, "roots" or "units"
        Bring every column of X to mean 0 and variance 1 over all items, labelled or not; "roots" takes the
        square root of skewed amounts first (columns never below zero, such as counts and activations; of
        columns that share one unit, as pixels do, of all or none). "units": the same, but where all columns
        share one unit they keep it.
    warm_start : bool
        Start from the previous fit's posterior in place of the majority vote.
    random_state : int, RandomState or None
        For the maps and graphs that sample items; the same number, the same model.
    engine : None, "dask", address, distributed.Client or Engine
        Where many items are added up: in this process, in a process for each of its cores, or on the Dask
        cluster whose scheduler has this address, such as "tcp://10.0.0.1:8786". The numbers are the same.
    device : str, optional
        Where features are worked on: "cuda" for a GPU, through torch. None: where they are, which of a
        tensor is its own device.

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
        (Gaussian). Only with map="linear" and no other ``annotator_map``.
    annotator_severity_ : (n_annotators,)
        How many levels more than the truth each says on average; the crowd's is 0. Only of ordered labels.
    posterior_ : (n_items, n_classes)
        Truth of every item of the fit, labelled or not.
    graph_ : str
        The graphs of truth and map, in words, such as "truth on 10 nearest neighbours of 500 items"; empty
        where there are none.
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
        annotator_map: Any = None,
        max_iter: int = 200,
        tol: float = 1e-6,
        stop: str = "bound",
        levels: Any = None,
        standardize: bool | str = True,
        warm_start: bool = False,
        random_state: Any = 0,
        engine: Any = None,
        device: Any = None,
    ) -> None:
        self.truth = truth
        self.annotators = annotators
        self.map = map
        self.solver = solver
        self.annotator_map = annotator_map
        self.max_iter = max_iter
        self.tol = tol
        self.stop = stop
        self.levels = levels
        self.standardize = standardize
        self.warm_start = warm_start
        self.random_state = random_state
        self.engine = engine
        self.device = device

    @all_or_nothing
    def fit(
        self,
        X: Any,
        y: Any,
        callback: Callback | None = None,
        *,
        gold: Any = None,
        sample_weight: Any = None,
        checkpoint: Any = None,
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
        checkpoint : str or path, optional
            A folder in which the fit remembers what it has done: interrupted and called again, it goes on.
        """
        index = row_ids(X)
        X = check_features(self, X, reset=True)
        gold = by_row(gold, index, y)
        said = with_classes_of(gold, check_annotations(y, len(X), index=index))
        said = check_labels(said, self.truth, self.levels)
        given = TrainingData(said, gold_codes(gold, said), check_weight(sample_weight, X), fingerprint(X))
        return self._fit(X, given, callback, checkpoint=Checkpoint.of(checkpoint, self, given))

    def _fit(
        self,
        X: Array,
        given: TrainingData,
        callback: Callback | None = None,
        *,
        learnt: PreparedModel | None = None,
        before: Solution | None = None,
        engine: Engine | None = None,
        checkpoint: Checkpoint = NO_CHECKPOINT,
    ) -> Self:
        """Fit to checked input.

        ``learnt`` is what another fit with the same settings made of the same items, ``before`` is what it
        learnt from some of these labels; ``engine`` is one that is open already.
        """
        given = given.counting()
        with opened(engine or self.engine) as engine:
            learnt = learnt or checkpoint.remember(
                "view", lambda: PreparedModel.of_items(self, X, given.said)
            )
            # Where items do not interact, or anchors stand for them, those nobody labelled say nothing.
            rows = np.arange(len(X)) if learnt.model.truth.needs_all else np.flatnonzero(given.informed)
            start = self._previous_posterior(X, given.said, rows)
            items, typical = learnt.kept(X, rows, given, engine), learnt.some(X, typical_rows(len(X))).here
            self._learn(learnt, items, typical, given, callback, start, before, checkpoint.step("fit"))
        # Of a fit that a callback has stopped nothing is remembered but its state.
        memory = checkpoint if checkpoint.step("fit").is_done else NO_CHECKPOINT
        consensus = partial(self._consensus, given=given)
        self.posterior_ = memory.in_pieces("consensus", consensus, X, learnt.needs_all)
        return self

    def _learn(
        self,
        learnt: PreparedModel,
        items: Items | Chunks,
        typical: Items,
        given: TrainingData,
        callback: Callback | None = None,
        start: Array | None = None,
        before: Solution | None = None,
        step: Step = NO_STEP,
    ) -> Self:
        """Fit to items of which something is known; ``typical`` ones are what averages are over."""
        monitor = self._monitor(learnt, callback, step)
        fitted = step.fitted(monitor, lambda: self._solve(learnt, items, monitor, start, before))
        sure = fitted.spread(learnt.model, items)
        # Nothing learnt has changed until here: a fit that fails or is interrupted leaves the old one whole.
        self._learnt, self._fitted, self._spread = learnt, fitted, sure
        self._given, self._typical = given, typical
        self.n_features_in_ = learnt.seen.n_features
        self.classes_, self.annotators_, self.graph_ = given.said.labels, given.said.annotators, learnt.graph
        self.solver_, self.bound_history_, self.n_iter_ = fitted.solver, monitor.history, monitor.n_iter
        self._set_coefficients()
        self._set_severity()
        return self

    def _monitor(
        self, learnt: PreparedModel, callback: Callback | None = None, keeper: Step = NO_STEP
    ) -> Monitor:
        exact = getattr(learnt.model.truth, "neighbors", None) is None
        return Monitor(self.max_iter, self.tol, self.stop, callback, exact=exact, keeper=keeper)

    def _solve(
        self,
        learnt: PreparedModel,
        items: Items | Chunks,
        monitor: Monitor,
        start: Any = None,
        before: Any = None,
    ) -> Solution:
        """Run the solver; nothing of this estimator changes."""
        with one_thread:
            return solve(learnt.model, items, start, monitor, self.solver, before=before)

    def update(self, X: Any, y: Any, callback: Callback | None = None) -> Self:
        """Learn from labels that came in since the fit: the answer of a new fit, in a fraction of its time.

        Parameters
        ----------
        X : (n_items, n_features)
            The items of the fit, in the same order; new items may follow, and are learnt from the beginning.
        y : as in `fit`
            The new labels. One of a pair that had one replaces it. New annotators are welcome.
        callback : callable(iteration, bound, seconds), optional
            As in `fit`.
        """
        check_is_fitted(self)
        index = row_ids(X)
        X = check_features(self, X, reset=False)
        return self._update(X, self._new_labels(y, len(X), index), callback)

    def _update(
        self, X: Array, new: Annotations, callback: Callback | None = None, engine: Engine | None = None
    ) -> Self:
        given = self._given.with_labels(new, X)
        given = replace(given, said=check_labels(given.said, self.truth, self.levels)).counting()
        said, learnt = given.said, self._learnt
        as_before = given.items == self._given.items and np.array_equal(said.labels, self.classes_)
        if not (as_before and learnt.serves(self.annotators, said)):
            return self._fit(X, given, callback, engine=engine)
        active = said.labels_per_annotator > 0
        before = self._fitted.of_annotators(rows_of(said.annotators, self.annotators_), active)
        return self._fit(X, given, callback, learnt=learnt, before=before, engine=engine)

    def predict_proba(self, X: Any, return_interval: bool = False, level: float = 0.9) -> Any:
        """p(z | x) of each item, labels aside: (n_items, n_classes), columns as in ``classes_``.

        With ``truth="gp"`` an item of the fit is known by its own labels too: there is no function of x.

        Parameters
        ----------
        X : (n_items, n_features)
        return_interval : bool
            Return the lower and the upper limit of each probability too: three (n_items, n_classes).
        level : float
            Share of such intervals that should hold the probability.
        """
        X = self._checked(X)
        if return_interval:
            return stacked(self._class_interval(items, level) for items in self._learnt.blocks(X))
        return np.concatenate([to_numpy(self._prob(items)) for items in self._learnt.blocks(X)])

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
        given = TrainingData.labels(self._known_labels(X, y, unknown))
        return self._consensus(self._checked(X), slice(None), given)

    def expertise(
        self, X: Any, annotators: Any = None, return_interval: bool = False, level: float = 0.9
    ) -> Any:
        """Probability that each annotator is right on each item: (n_items, n_annotators).

        Parameters
        ----------
        X : (n_items, n_features)
        annotators : sequence of ids, optional
            Whose, a column each; default ``annotators_``. One the fit did not see has the population's.
        return_interval, level
            As in `predict_proba`: three (n_items, n_annotators).
        """
        X = self._checked(X)
        rows = self._rows_of(annotators)
        if return_interval:
            return stacked(self._expertise_interval(items, level, rows) for items in self._learnt.blocks(X))
        return np.concatenate([self._expertise(items, rows) for items in self._learnt.blocks(X)])

    def ranking(self, X: Any = None, level: float = 0.9) -> Ranking:
        """Rank annotators by the probability of being right, averaged over items, with intervals.

        Parameters
        ----------
        X : (n_items, n_features), optional
            Over which items; default those of the fit (of many, a thousand).
        level : float
            Share of such intervals that should hold the average.
        """
        check_is_fitted(self)
        value = self._average_expertise(self._some_items(None if X is None else self._checked(X)), level)
        return Ranking.of(self.annotators_, value, self._given.said.labels_per_annotator, level)

    def confusion(self, annotator: Any) -> Array:
        """p(label | truth) of one annotator, averaged over items of the fit: (n_classes, n_classes).

        Rows are the truth, columns the label, both as in ``classes_``. Of many items, a thousand are taken.
        """
        check_is_fitted(self)
        known = self.annotators_.tolist()
        if annotator not in known:
            raise InputError(f"annotator must be one of {known[:5]} (annotators_); got {annotator!r}.")
        belief = self._fitted.annotators.of(known.index(annotator))
        return self._learnt.model.annotators.confusion(belief, self._typical.X_annotators)[0]

    def annotator_scale(self, X: Any) -> Array:
        """σ_t(x) of Eq. (15), the spread of each annotator's labels: (n_items, n_annotators).

        Of ordered labels in levels.
        """
        X = self._checked(X)
        model = self._learnt.model.annotators
        if not isinstance(model, GaussianAnnotators | OrderedAnnotators):
            raise NotCompatible(
                f"annotator_scale is σ of Eq. (15), which {type(model).__name__} does not have. "
                "Use annotators='gaussian', or expertise(X), which every annotator model has."
            )
        return model.scale(self._fitted.annotators.mean, self._learnt.items(X).X_annotators)[:, :-1]

    def log_predictive(self, X: Any, y: Any) -> Array:
        """log p(labels | x) of each item, truth and annotators integrated out: (n_items,).

        What `score` on annotations is the mean of; an item without labels has 0.
        """
        given = TrainingData.labels(self._known_labels(X, y, "population"))
        blocks = self._learnt.blocks(self._checked(X), given)
        return np.concatenate([self._log_predictive(items) for items in blocks])

    def __getattr__(self, name: str) -> Any:
        """Say why a coefficient is not there."""
        if name in COEFFICIENTS and "_fitted" in vars(self):
            raise AttributeError(
                f"{name} exists only with map='linear' and no roots (and, for coef_ and intercept_, a "
                "logistic truth; for those of annotators, no map of their own); this model has "
                f"map={self.map!r}, standardize={self.standardize!r}, truth={self.truth!r}, "
                f"annotator_map={self.annotator_map!r}."
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

    def _consensus(self, X: Array, rows: slice, given: TrainingData) -> Array:
        return np.concatenate([self._posterior(items) for items in self._learnt.blocks(X, given[rows])])

    def _previous_posterior(self, X: Array, said: Annotations, rows: Any) -> Array | None:
        """Return what the previous fit makes of some items' labels, if there is one that knows their kind."""
        if not (self.warm_start and self.__sklearn_is_fitted__()):
            return None
        if self._learnt.seen.n_features != X.shape[1] or not np.array_equal(self.classes_, said.labels):
            return None
        known = said.recode(self.annotators_, self.classes_, unknown="population")
        return self._posterior(self._learnt.some(X, rows, TrainingData.labels(known)))

    def _set_severity(self) -> None:
        vars(self).pop("annotator_severity_", None)
        model = self._learnt.model.annotators
        if isinstance(model, OrderedAnnotators):
            self.annotator_severity_ = model.severity(self._fitted.annotators.mean)[:-1]

    def _set_coefficients(self) -> None:
        """Coefficients in the units of the X the user gave; only a linear map has them."""
        for name in COEFFICIENTS:
            vars(self).pop(name, None)
        features, model = self._learnt.seen.features, self._learnt.model
        if not isinstance(features, LinearFeatures) or self._learnt.seen.roots.any():
            return
        to_units = self._learnt.seen.to_input_units
        if self._learnt.seen.of_annotators is None:
            leading = features.matrix[:, : self._learnt.seen.directions]
            w, gamma = model.annotators.coefficients(self._fitted.annotators.mean[:-1], leading.shape[1] + 1)
            self.annotator_coef_, self.annotator_intercept_ = to_units(w @ leading.T, gamma)
        if not model.truth.couples_items:
            xi = model.truth.weights(self._fitted.truth.mean).reshape(features.matrix.shape[1] + 1, -1)
            self.coef_, self.intercept_ = to_units((features.matrix @ xi[:-1]).T, xi[-1])
