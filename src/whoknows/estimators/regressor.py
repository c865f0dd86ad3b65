"""CrowdRegressor: truth and labels are real numbers."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Any, Literal, Self, overload

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import RegressorMixin
from sklearn.metrics import r2_score

from whoknows._array import Array
from whoknows.data.errors import InputError
from whoknows.estimators.base import CrowdEstimator, frame_of_items, is_truth_vector
from whoknows.estimators.fitted_pair import attributes_of, consensus, fit_pair, typical_rows
from whoknows.estimators.inputs.training_data import TrainingData, check_numbers, check_training_input
from whoknows.estimators.inputs.validation import FeatureRows, Gold, Labels, RandomState, Unknown, all_or_nothing
from whoknows.estimators.prepared_model import prepare_regressor
from whoknows.fit.engines import Serial
from whoknows.fit.items import Items
from whoknows.fit.monitor import Callback
from whoknows.model.annotators import BiasedAnnotators
from whoknows.model.maps import Map
from whoknows.model.truth.linear import LinearTruth

SOLVERS = ("auto", "em", "lbfgs")


@dataclass(eq=False, repr=False)
class CrowdRegressor(RegressorMixin, CrowdEstimator):
    """Learn a real-valued truth, a regression and the bias and spread of each annotator from their labels.

    The truth is a function of x plus noise, z = f(x) + ε; the label of annotator t is y = z + b_t + noise of
    standard deviation σ_t(x). All distributions are Gaussian, so the posterior of the truth and of f is exact
    given b_t, σ_t and the variance of ε, which are estimated. Labels are standardized internally; all results
    are in the units of y.

    Parameters
    ----------
    truth : {"id", "lgp"} or LinearTruth
        "id": items independent given f. "lgp": the same with a graph prior on the weights of f, Eq. (10),
        which uses unlabelled items. Or `LinearTruth(...)`.
    annotators : {"auto", "biased"} or BiasedAnnotators
        Model of the labels given the truth; "auto" is "biased", the only kind.
    map : {"rbf", "linear", "spectral", "clusters"} or map
        Features of x for truth and annotators, as in `CrowdClassifier`.
    solver : {"auto", "em", "lbfgs"}
        "em": Algorithm 1 with an exact E-step. "lbfgs": the marginal likelihood directly, the same maximum.
        "auto" is "em".
    annotator_map : as ``map``, optional
        Features of x for the spread of annotators, as in `CrowdClassifier`.
    max_iter : int
        Maximum number of iterations; `DidNotConverge` warns if it is reached.
    tol : float
        Stop when the relative increase of the bound is less than ``tol``.
    standardize : bool or "roots"
        As in `CrowdClassifier`.
    random_state : int, RandomState or None
        For maps and graphs that sample items; an integer gives reproducible results.

    Attributes
    ----------
    annotators_ : (n_annotators,)
        Their ids, the columns of `annotator_scale`.
    annotator_bias_ : (n_annotators,)
        b_t, the mean difference between an annotator's labels and the truth; 0 over all annotators.
    noise_ : float
        s, the standard deviation of the truth around f(x).
    posterior_mean_, posterior_std_ : (n_items,)
        Posterior mean and standard deviation of the truth of every item of the fit, labelled or not.
    graph_ : str
        Description of the graphs of truth and map; empty if there are none.
    bound_history_ : list of float
        Objective of the solver in standardized units, one value per iteration.
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

    truth: LinearTruth | str = "id"
    annotators: BiasedAnnotators | str = "auto"
    map: Map | str = "rbf"
    solver: str = "auto"
    _: KW_ONLY
    annotator_map: Map | str | None = None
    max_iter: int = 200
    tol: float = 1e-6
    standardize: bool | str = True
    random_state: RandomState = 0

    stop = "bound"  # see `CrowdClassifier`

    @all_or_nothing
    def fit(
        self,
        X: FeatureRows,
        y: Labels,
        callback: Callback | None = None,
        *,
        gold: Gold | None = None,
        sample_weight: ArrayLike | None = None,
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
        gold : mapping from item id to number, or (n_items,) with NaN or None, optional
            Known truth of some items: it is fixed in the posterior, and annotators are measured on it.
        sample_weight : (n_items,), optional
            Weight of each item, as in `CrowdClassifier.fit`.
        """
        if self.solver not in SOLVERS:
            raise InputError(f"solver must be one of {SOLVERS}; got {self.solver!r}.")
        X, data = check_training_input(self, X, y, gold, sample_weight)
        data = data.without_zero_weights()
        prepared = prepare_regressor(self, X, data)
        items = prepared.chunks(X, np.flatnonzero(data.informed), data, Serial())
        typical = prepared.some(X, typical_rows(len(X)))
        pair = fit_pair(self, prepared, items, typical, callback=callback)
        # Only now does the estimator change: a fit that fails leaves the previous one intact.
        self._pair, self.annotators_ = pair, data.annotations.annotators
        self._set_attributes()
        truth = consensus(pair, X, data)
        self.posterior_mean_, self.posterior_std_ = truth.mean, np.sqrt(truth.variance)
        return self

    def _set_attributes(self) -> None:
        """Set the attributes that follow from the fitted pair."""
        pair = self._pair
        vars(self).update(attributes_of(pair))
        scale, theta = pair.prepared.units.scale, pair.solution.annotators.mean
        self.annotator_bias_ = scale * pair.prepared.model.annotators.bias(theta)[:-1]
        self.noise_ = scale * float(np.sqrt(pair.solution.truth.noise))

    @overload
    def predict(self, X: FeatureRows, return_std: Literal[False] = ...) -> Array: ...

    @overload
    def predict(self, X: FeatureRows, return_std: Literal[True]) -> tuple[Array, Array]: ...

    def predict(self, X: FeatureRows, return_std: bool = False) -> Array | tuple[Array, Array]:
        """Return the expected truth of each item, labels aside: (n_items,).

        Parameters
        ----------
        X : (n_items, n_features)
        return_std : bool
            Return its standard deviation too: uncertainty about f(x) and the noise of the truth around it.
        """
        items = self._items(X)
        found = self._pair.prediction(items)
        return (found.mean, np.sqrt(found.variance)) if return_std else found.mean

    def to_frame(self, X: FeatureRows, y: Labels | None = None, *, backend: str | None = None) -> Any:
        """Return the columns item, truth and std as a dataframe, one row per item.

        Parameters
        ----------
        X : (n_items, n_features)
        y : as in `fit`, optional
            Labels of these items. With them the truth is that of `posterior`, without that of `predict`.
        backend : {"pandas", "polars", "pyarrow"}, optional
            Default: the library of X, or the first that is installed.
        """
        truth, std = self.predict(X, return_std=True) if y is None else self.posterior(X, y)
        return frame_of_items(X, y, {"truth": truth, "std": std}, backend)

    def posterior(self, X: FeatureRows, y: Labels, unknown: Unknown = "error") -> tuple[Array, Array]:
        """Mean and standard deviation of each item's truth, its labels included: two (n_items,).

        Parameters
        ----------
        X : (n_items, n_features)
        y : as in `fit`
            Labels of these items. Those of an item of the fit replace the ones it had there.
        unknown : {"error", "population"}
            An annotator not seen in training is an error, or has the population's spread and an unknown bias.
        """
        items = self._items(X, y, unknown)
        found = self._pair.posterior(items)
        return found.mean, np.sqrt(found.variance)

    def annotator_scale(self, X: FeatureRows) -> Array:
        """σ_t(x), the spread of each annotator's labels around truth and bias: (n_items, n_annotators)."""
        items = self._items(X)
        return self._pair.scale(items)

    def log_predictive(self, X: FeatureRows, y: Labels) -> Array:
        """log p(labels | x) of each item, a density in the units of y, truth integrated out: (n_items,)."""
        items = self._items(X, y, "population")
        return self._pair.log_predictive(items)

    def score(self, X: FeatureRows, y: Labels, sample_weight: ArrayLike | None = None) -> float:
        """Return R² on a truth vector, or the held-out log-likelihood of annotations.

        Parameters
        ----------
        X : (n_items, n_features)
        y : (n_items,) or annotations
            A vector is the truth: returns R². Annotations (or a matrix): returns the mean over labels of
            log p(labels | x), a density in the units of y, truth integrated out. It needs no truth, so it
            can select settings.
        """
        if is_truth_vector(y):
            return float(r2_score(y, self.predict(X), sample_weight=sample_weight))
        return self._score_annotations(X, y, sample_weight)

    def _items(self, X: Any, y: Any = None, unknown: str = "error") -> Items:
        """Validate X, and labels if there are any, and return their features."""
        checked = self._checked(X)
        if y is None:
            return self._pair.prepared.items(checked)
        annotations = self._annotations_of(X, y)
        check_numbers(annotations)
        known = annotations.recode(self.annotators_, annotations.labels, unknown=unknown)
        return self._pair.prepared.items(checked, TrainingData(known))
