"""CrowdClassifier: one model, transparent."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import KW_ONLY, dataclass, replace
from functools import partial
from os import PathLike
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator
from sklearn.utils import get_tags

from whoknows._array import Array
from whoknows.data.annotations import Annotations
from whoknows.data.vocabulary import codes_of, elements
from whoknows.estimators.base import CrowdClassifierMixin, checkpoint_of
from whoknows.estimators.fitted_pair import (
    FittedPair,
    attributes_of,
    coefficients,
    consensus,
    fit_pair,
    severity,
    typical_rows,
)
from whoknows.estimators.inputs.raw_rows import RawRows
from whoknows.estimators.inputs.requirements import is_classifier
from whoknows.estimators.inputs.training_data import TrainingData, check_labels, check_training_input
from whoknows.estimators.inputs.validation import FeatureRows, Gold, Labels, Names, RandomState, Unknown, all_or_nothing
from whoknows.estimators.prepared_model import PreparedModel, in_groups, is_still_valid, prepare_classifier
from whoknows.estimators.reading import Reading
from whoknows.estimators.with_classifier import fit_with_classifier, fitted_classifier
from whoknows.fit.engines import Engine, opened
from whoknows.fit.monitor import Callback
from whoknows.fit.solve import Solution, for_annotators
from whoknows.model.maps import Map
from whoknows.model.protocols import AnnotatorModel, TruthModel
from whoknows.model.truth import GraphTruth

COEFFICIENTS = ("coef_", "intercept_", "annotator_coef_", "annotator_intercept_")


@dataclass(eq=False, repr=False)
class CrowdClassifier(CrowdClassifierMixin):
    """Learn the truth, a classifier and the expertise of each annotator from the labels of many annotators.

    The model of Yan, Rosales, Fung and Dy (UAI 2010). From labels of several annotators on some of the items
    it estimates p(z | x) for any item, p(z | x, labels) for labelled items, and the probability that
    annotator t is right on item x.

    Parameters
    ----------
    truth : {"lgp", "id", "gp", "ordered"}, truth model, or classifier
        Model of the truth given x. "id": logistic, items independent, Eq. (18). "lgp": the same with a graph
        prior on its weights, which uses unlabelled items, Eqs. (9), (10). "gp": smooth on the graph of items,
        Eqs. (3), (5). "ordered": ordered levels, such as scores 1 to 5. Or `LogisticTruth(...)`,
        `GraphTruth(...)`. Or any scikit-learn classifier or pipeline with ``predict_proba`` and
        ``sample_weight``, such as ``HistGradientBoostingClassifier()``: it is cross-fitted, and gets X as it
        is (dataframes, sparse matrices, texts).
    annotators : {"auto", "bernoulli", "confusion", "gaussian", "ordered"} or annotator model
        Model of the labels given the truth. "auto" is "bernoulli" for two classes ("gaussian" for "gp", which
        requires it) and for fewer than three annotators, "confusion" for more classes, or for two if accuracies
        differ between the classes (a larger bound on the labels alone), and "ordered", with a severity and a
        spread per annotator, for ordered levels.
    map : {"rbf", "linear", "spectral", "clusters"} or map
        Features of x for truth and annotators. "rbf": any smooth function of x. "linear": x itself, with
        interpretable coefficients. "spectral": eigenvectors of a graph of all items, which use unlabelled
        items best if items form clusters. "clusters": which of a few clusters x belongs to.
    solver : {"auto", "vb", "em", "lbfgs", "crossfit"}
        "vb": variational, with uncertainty. "em": Algorithm 1. "lbfgs": the marginal likelihood directly.
        "crossfit": EM in which an item's posterior uses a classifier that did not see its labels. "auto" is
        "vb" wherever it has a bound (two classes, Bernoulli annotators, logistic truth), "crossfit" for more
        classes, "em" elsewhere.
    annotator_map : as ``map``, optional
        Features of x for expertise, such as "clusters": expertise that differs between groups of items. None:
        the leading features of ``map``.
    max_iter : int
        Maximum number of iterations; `DidNotConverge` warns if it is reached.
    tol : float
        When to stop: see ``stop``.
    stop : {"bound", "parameters"}
        Stop when the relative increase of the bound is less than ``tol``, or, as in Algorithm 1, when the
        annotators' parameters change by less than ``tol`` in squared norm.
    levels : sequence of labels, optional
        For truth="ordered": the levels, lowest first. Numbers need none.
    standardize : bool, "roots" or "units"
        Bring every column of X to mean 0 and variance 1 over all items, labelled or not; "roots" takes the
        square root of skewed amounts first (columns never below zero, such as counts and activations; of
        columns that share one unit, as pixels do, of all or none). "units": the same, but where all columns
        share one unit they keep it.
    warm_start : bool
        Start from the posterior of the previous fit instead of the majority vote.
    random_state : int, RandomState or None
        For maps and graphs that sample items; an integer gives reproducible results.
    groups : mapping from annotator id to group, optional
        Annotators who err together, such as prompts of one model: their labels of an item share an effect on the
        log-odds of being right, in addition to the one that all its labels share. Other annotators have no group.
    engine : None, "dask", address, distributed.Client or Engine
        Where sums over many items are computed: in this process, in one process per core, or on the Dask
        cluster whose scheduler has this address, such as "tcp://10.0.0.1:8786". Results are the same.
    device : str, optional
        Where features are computed: "cuda" for a GPU, through torch. None: where X is; for a tensor, on its
        own device.

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
    worse_than_chance_ : dict
        Annotators who are worse than chance on the gold, with how the model uses their labels: "the labels are
        inverted", "the labels are not used" or "the labels still count as they are". Empty without gold.
    annotator_severity_ : (n_annotators,)
        Mean difference between an annotator's labels and the truth, in levels; 0 over all annotators. Only
        for ordered labels.
    item_effect_, group_effect_ : (n_annotators,)
        How much each annotator errs together with all others, and additionally with those of its group; 0
        means independent errors. Not for Gaussian and ordered annotators.
    truth_classifier_ : classifier
        The classifier given as ``truth``, fitted to all labelled items; its classes are positions in
        ``classes_``.
    posterior_ : (n_items, n_classes)
        Truth of every item of the fit, labelled or not.
    graph_ : str
        Description of the graphs of truth and map, such as "truth on 10 nearest neighbours of 500 items";
        empty if there are none.
    bound_history_ : list of float
        Objective of the solver, one value per iteration.
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

    truth: TruthModel | BaseEstimator | str = "lgp"
    annotators: AnnotatorModel | str = "auto"
    map: Map | str = "rbf"
    solver: str = "auto"
    _: KW_ONLY
    annotator_map: Map | str | None = None
    max_iter: int = 200
    tol: float = 1e-6
    stop: str = "bound"
    levels: Names | None = None
    standardize: bool | str = True
    warm_start: bool = False
    random_state: RandomState = 0
    groups: Mapping[Hashable, Hashable] | None = None
    engine: object = None
    device: str | None = None

    weights_ = _truth_weights = np.ones(1)  # of the one pair

    @all_or_nothing
    def fit(
        self,
        X: FeatureRows,
        y: Labels,
        callback: Callback | None = None,
        *,
        gold: Gold | None = None,
        sample_weight: ArrayLike | None = None,
        checkpoint: str | PathLike[str] | None = None,
    ) -> Self:
        """Learn from features and annotations.

        Parameters
        ----------
        X : (n_items, n_features)
            One row per item, labelled or not.
        y : Annotations, (n_items, n_annotators) with NaN, or (n_items,)
            Labels by item and annotator; a vector holds the labels of one annotator.
        callback : callable(iteration, bound, seconds), optional
            Called after every iteration; return True to stop the fit.
        gold : mapping from item id to label, or (n_items,) with NaN or None, optional
            Known truth of some items: it is fixed in the posterior, and annotators are measured on it.
        sample_weight : (n_items,), optional
            Weight of each item; a weight of 2 is the same item twice. The map and the graph ignore weights:
            an item of weight 0 is used there like one without labels.
        checkpoint : str or path, optional
            A folder for intermediate results: a fit that was interrupted continues from there.
        """
        X, data = check_training_input(self, X, y, gold, sample_weight)
        with opened(self.engine) as engine:
            return self._fit(X, data, engine, callback, checkpoint=checkpoint_of(self, checkpoint, data))

    def update(self, X: FeatureRows, y: Labels, callback: Callback | None = None) -> Self:
        """Learn from labels that came in since the fit: the result of a new fit, in a fraction of its time.

        Parameters
        ----------
        X : (n_items, n_features)
            The items of the fit, in the same order; new items may follow, and lead to a new fit.
        y : as in `fit`
            The new labels. A label replaces an earlier one of the same item and annotator. Annotators may be
            new.
        callback : callable(iteration, bound, seconds), optional
            As in `fit`.
        """
        X, data = self._updated_data(X, y)
        data = replace(data, annotations=check_labels(data.annotations, self))
        prepared, before = start_of_update(self, self._pair, self._training_data, data)
        with opened(self.engine) as engine:
            return self._fit(X, data, engine, callback, prepared=prepared, before=before)

    def _fit(self, X: Array, data: TrainingData, engine: Engine, callback: Callback | None, **start: Any) -> Self:
        """Fit to validated input; ``start`` as in `_fit_pair`."""
        data = data.without_zero_weights()
        pair = self._fit_pair(X, data, engine, callback, **start)
        # Only now does the estimator change: a fit that fails leaves the previous one intact.
        self._pair, self._training_data = pair, data
        self._set_attributes()
        checkpoint = start.get("checkpoint")
        if checkpoint is None or not checkpoint.step("fit").is_done:
            self.posterior_ = consensus(pair, X, data).prob
        else:

            def of_block(X: Array, rows: slice) -> Array:
                return consensus(pair, X, data[rows]).prob

            self.posterior_ = checkpoint.in_pieces("consensus", of_block, X, pair.prepared.needs_all)
        self._find_worse_than_chance(X)
        return self

    def _fit_pair(
        self,
        X: Array,
        data: TrainingData,
        engine: Engine,
        callback: Callback | None = None,
        *,
        prepared: PreparedModel | None = None,
        before: Solution | None = None,
        checkpoint: Any = None,
        is_member: bool = False,
    ) -> FittedPair:
        """Fit one pair to validated input.

        ``prepared`` and ``before`` are of an earlier fit to the same items and some of the labels; ``is_member`` as in
        `fit_pair`.
        """
        if isinstance(X, RawRows):
            start = self._previous_posterior(X, data.annotations, np.flatnonzero(data.informed))
            return fit_with_classifier(self, X, data, engine, callback, prepared, start)
        if prepared is None:
            prepare = partial(prepare_classifier, self, X, data.annotations)
            prepared = prepare() if checkpoint is None else checkpoint.step("view").remember(prepare)
        # Unless items are coupled without anchors, those without labels do not enter the solver.
        rows = np.arange(len(X)) if prepared.model.truth.needs_all else np.flatnonzero(data.informed)
        return fit_pair(
            self,
            prepared,
            prepared.chunks(X, rows, data, engine),
            prepared.some(X, typical_rows(len(X))).on_host,
            callback=callback,
            start=self._previous_posterior(X, data.annotations, rows),
            before=before,
            step=None if checkpoint is None else checkpoint.step("fit"),
            is_member=is_member,
        )

    @property
    def pairs_(self) -> list[FittedPair]:  # type: ignore[override]
        """The fitted pair: an ensemble of one."""
        return [self._pair]

    @property
    def _reading(self) -> Reading | None:  # type: ignore[override]
        return self._pair.reading

    def _set_attributes(self) -> None:
        """Set the attributes that follow from the fitted pair and the training data."""
        pair, data = self._pair, self._training_data
        self.classes_, self.annotators_ = data.annotations.labels, data.annotations.annotators
        for name in (*COEFFICIENTS, "annotator_severity_", "truth_classifier_"):
            vars(self).pop(name, None)
        vars(self).update(attributes_of(pair) | coefficients(pair) | severity(pair) | fitted_classifier(pair))

    def posterior(self, X: FeatureRows, y: Labels, unknown: Unknown = "error") -> Array:
        """p(z | x, labels) of each item, Eqs. (7), (12): (n_items, n_classes); without labels, p(z | x).

        Parameters
        ----------
        X : (n_items, n_features)
        y : as in `fit`
            Labels of these items.
        unknown : {"error", "population"}
            An annotator not seen in training is an error, or has the expertise of the population.
        """
        data = TrainingData(self._known_annotations(X, y, unknown))
        return consensus(self._pair, self._checked(X), data).prob

    def annotator_scale(self, X: FeatureRows) -> Array:
        """σ_t(x) of Eq. (15), the spread of each annotator's labels: (n_items, n_annotators).

        For ordered labels, in levels.
        """
        X = self._checked(X)
        return self._pair.scale(self._pair.prepared.items(X))

    def __getattr__(self, name: str) -> Any:
        """Say why a coefficient is not there."""
        if name in COEFFICIENTS and "_pair" in vars(self):
            raise AttributeError(
                f"{name} exists only with map='linear' and no square roots (and, for coef_ and intercept_, a "
                "logistic truth; for those of annotators, no map of their own); this model has "
                f"map={self.map!r}, standardize={self.standardize!r}, truth={self.truth!r}, "
                f"annotator_map={self.annotator_map!r}."
            )
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    def __sklearn_tags__(self) -> Any:
        """Tell scikit-learn whether this truth supports more than two classes, and what X it takes."""
        tags = super().__sklearn_tags__()
        # Not yet resolved: the setting may be a name, or a model that is not for any number of classes yet.
        tags.classifier_tags.multi_class = not (self.truth == "gp" or isinstance(self.truth, GraphTruth))
        if is_classifier(self.truth):
            tags.input_tags = get_tags(self.truth).input_tags
        return tags

    # --- inside, on validated input ----------------------------------------------------------------

    def _previous_posterior(self, X: Array, annotations: Annotations, rows: Any) -> Array | None:
        """Return the previous fit's posterior of some items, with ``warm_start`` and if it applies."""
        if not self.warm_start or "_pair" not in vars(self):
            return None
        prepared = self._pair.prepared
        same_classes = np.array_equal(self.classes_, annotations.labels)
        if prepared.preprocessing.n_features != X.shape[1] or not same_classes:
            return None
        known = annotations.recode(self.annotators_, self.classes_, unknown="population")
        return self._pair.posterior(prepared.some(X, rows, TrainingData(known))).prob


def start_of_update(
    settings: Any, pair: FittedPair, known: TrainingData, data: TrainingData
) -> tuple[PreparedModel | None, Solution | None]:
    """Return what an update keeps of the fit: nothing if items, classes or the model have changed."""
    annotations = data.annotations
    same_items = data.fingerprint == known.fingerprint
    same_classes = np.array_equal(annotations.labels, known.annotations.labels)
    if not (same_items and same_classes and is_still_valid(pair.prepared, settings, annotations)):
        return None, None
    rows = codes_of(elements(annotations.annotators), known.annotations.annotators)
    return in_groups(pair.prepared, settings, annotations), for_annotators(
        pair.solution, rows, annotations.labels_per_annotator > 0
    )
