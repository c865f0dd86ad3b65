"""A transductive linear support vector machine; the paper used SVM-light.

Few items, labelled or not, should lie within the margin. With f(x) = wᵀx + b and labels ±1, where the
labels ŷ of unlabelled items are unknown too,

    min over w, b, ŷ   ½‖w‖² + C Σ_labelled ξ² + v C Σ_unlabelled ξ²,   ξ = max(0, 1 − y f(x)),

subject to the share of positive ŷ being that of the labels. As in Joachims (ICML 1999), the weight v is
doubled from nearly 0 upwards, and at each v labels ŷ are switched while that lowers the objective. Squared
slacks, Newton's method and switching all labels at once are from Sindhwani and Keerthi (SIGIR 2006).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_random_state
from threadpoolctl import threadpool_limits

from whoknows._array import Array, with_constant
from whoknows.data.annotations import Annotations
from whoknows.estimators.baselines.two_step import Baseline, majority, votes
from whoknows.model.settings import NOT_NEGATIVE, POSITIVE, Rules, or_none

COSTS = (0.001, 0.01, 0.1, 1.0, 10.0)  # candidates for C
WEIGHTS = (1 / 512, 1 / 64, 1 / 8, 1.0)  # candidates for the weight of unlabelled items
FIRST_WEIGHT = 2.0**-10
FOLDS = 5


class TransductiveSVM(Baseline):
    """A linear support vector machine whose margin avoids all items, labelled or not.

    *SVM-light* of Yan, Rosales, Fung and Dy (UAI 2010), after T. Joachims, Transductive inference for text
    classification using support vector machines (ICML 1999). The class of a labelled item is its majority
    vote, with ties as in `MajorityVoteClassifier`. Unlabelled items are assigned classes in the same
    proportions, such that few of them lie near the boundary. More than two classes: one versus the rest.

    C and the weight of unlabelled items are chosen as in the paper, by cross-validation on the labelled
    items: the values whose predictions agree most often with the held-out majority votes. No true labels are
    used. Ties go to the smaller C, then to the smaller weight.

    Parameters
    ----------
    C : float, optional
        Cost of a labelled item within the margin. None: one of 0.001, 0.01, …, 10.
    unlabelled_weight : float, optional
        Cost of an unlabelled item within the margin, relative to a labelled one; 0 is a standard support
        vector machine. None: one of 1/512, 1/64, 1/8, 1.
    standardize : bool
        As in `MajorityVoteClassifier`.
    random_state : int, RandomState or None
        For the folds of the cross-validation.

    Attributes
    ----------
    classes_, annotators_
        As in `MajorityVoteClassifier`.
    C_, unlabelled_weight_ : float
        As given, or chosen.

    Examples
    --------
    Two rows of items with a gap between them; one item of each row is labelled, at opposite ends.

    >>> import numpy as np
    >>> from whoknows import Annotations
    >>> from benchmarks.paper.tsvm import TransductiveSVM
    >>> X = np.array([[x, row] for row in (0, 1) for x in np.linspace(0, 1.2, 20)])
    >>> y = Annotations.from_arrays([0, 39], ["anna", "anna"], ["lower", "upper"], items=range(40))
    >>> in_row = np.repeat(["lower", "upper"], 20)
    >>> for weight in (0, 1):
    ...     model = TransductiveSVM(C=1, unlabelled_weight=weight, standardize=False).fit(X, y)
    ...     print(model.score(X, in_row))
    0.85
    1.0
    """

    rules: ClassVar[Rules] = {"C": or_none(POSITIVE), "unlabelled_weight": or_none(NOT_NEGATIVE)}

    def __init__(
        self,
        C: float | None = None,
        unlabelled_weight: float | None = None,
        *,
        standardize: bool = True,
        random_state: Any = 0,
    ) -> None:
        self.C = C
        self.unlabelled_weight = unlabelled_weight
        self.standardize = standardize
        self.random_state = random_state

    def decision_function(self, X: Any) -> Array:
        """Return f(x): of the second class (n_items,) for two classes, else of each (n_items, n_classes)."""
        f = with_constant(self._scaled(X)) @ self._coefficients.T
        return f[:, 1] if f.shape[1] == 2 else f

    def predict(self, X: Any) -> Any:
        """Return the predicted class of each item: (n_items,)."""
        f = with_constant(self._scaled(X)) @ self._coefficients.T
        return self.classes_[f.argmax(axis=1)]

    def _learn(self, X: Array, annotations: Annotations) -> None:
        vote = np.where(annotations.labelled, majority(votes(annotations)), -1)
        basis = np.linalg.qr(X.T)[0] if X.shape[1] > len(X) else None  # w lies in the span of the items
        A = with_constant(X if basis is None else X @ basis)
        with threadpool_limits(1, user_api="blas"):  # the products are too small for several threads
            C, weight = self._choose(A, vote, annotations.n_classes)
            coefficients = _one_versus_rest(A, vote, annotations.n_classes, C, [weight])[weight]
        slopes = coefficients[:, :-1] if basis is None else coefficients[:, :-1] @ basis.T
        self._coefficients = np.column_stack([slopes, coefficients[:, -1]])
        self.C_, self.unlabelled_weight_ = C, weight

    def _choose(self, A: Array, vote: NDArray[Any], n_classes: int) -> tuple[float, float]:
        """Return C and the weight, as given or by cross-validation."""
        costs = COSTS if self.C is None else (float(self.C),)
        weights = WEIGHTS if self.unlabelled_weight is None else (float(self.unlabelled_weight),)
        if len(costs) * len(weights) == 1:
            return costs[0], weights[0]
        right = np.zeros((len(costs), len(weights)), dtype=int)
        for fold in _folds(vote, check_random_state(self.random_state)):
            train = vote.copy()
            train[fold] = -1
            for i, C in enumerate(costs):
                fitted = _one_versus_rest(A, train, n_classes, C, weights)
                predicted = [(A[fold] @ fitted[weight].T).argmax(axis=1) for weight in weights]
                right[i] += np.sum(np.array(predicted) == vote[fold], axis=1)
        i, j = np.unravel_index(right.argmax(), right.shape)
        return costs[i], weights[j]


def _folds(vote: NDArray[Any], rng: np.random.RandomState) -> list[NDArray[np.intp]]:
    """Return stratified folds of the labelled items; none if there is only one item."""
    order = rng.permutation(np.flatnonzero(vote >= 0))
    order = order[np.argsort(vote[order], kind="stable")]
    n_folds = min(FOLDS, len(order))
    return [order[start::n_folds] for start in range(n_folds)] if n_folds > 1 else []


def _one_versus_rest(A: Array, vote: NDArray[Any], n_classes: int, C: float, weights: Any) -> dict[float, Array]:
    """Return for each weight the rows (w, b) of all classes; those of two classes are opposite."""
    labelled, rows = vote >= 0, []
    for positive in range(1 if n_classes == 2 else 0, n_classes):
        y = np.where(vote[labelled] == positive, 1.0, -1.0)
        steps = anneal(A[labelled], y, A[~labelled], C, weights)
        rows.append({step.weight: step.w for step in steps})  # keeps the last step at each weight
    if n_classes == 2:
        rows.insert(0, {weight: -w for weight, w in rows[0].items()})
    return {weight: np.array([row[weight] for row in rows]) for weight in weights}


class Step(NamedTuple):
    """An intermediate fit: the weight v, w with b last, the labels ŷ it was fitted to, and its objective."""

    weight: float
    w: Array
    labels: Array
    objective: float


def anneal(labelled: Array, y: Array, unlabelled: Array, C: float, weights: Any) -> Iterator[Step]:
    """Yield the fits from weight 0 to the largest of ``weights``.

    At each weight the objective decreases, and the last step is a minimum over w, b and all exchanges of two
    labels ŷ. ``labelled`` (l, D + 1), ``unlabelled`` (u, D + 1), ``y`` (l,) of ±1.
    """
    cost = np.full(len(y), C)
    w, objective = svm(labelled, y, cost, np.zeros(labelled.shape[1]))
    n_positive = round(len(unlabelled) * float(np.mean(y > 0)))
    guess = _best_labels(unlabelled @ w, n_positive)
    yield Step(0.0, w, guess, objective)
    A = np.vstack([labelled, unlabelled])
    for weight in _ladder(weights):
        cost = np.repeat([C, weight * C], [len(y), len(guess)])
        last = np.inf
        while True:
            w, objective = svm(A, np.concatenate([y, guess]), cost, w)
            yield Step(weight, w, guess, objective)
            better = _best_labels(unlabelled @ w, n_positive)
            if np.array_equal(better, guess) or objective > last * (1 - 1e-9):  # ties could be exchanged forever
                break
            last, guess = objective, better


def _ladder(weights: Any) -> list[float]:
    """Return the positive weights, and doublings of the first weight up to the largest, sorted."""
    top = max(weights)
    doublings = FIRST_WEIGHT * 2.0 ** np.arange(64)
    return sorted({weight for weight in (*doublings[doublings < top].tolist(), *weights) if weight > 0})


def _best_labels(f: Array, n_positive: int) -> Array:
    """Return the labels ±1, ``n_positive`` of them +1, with the smallest sum of squared slacks.

    Exchanging the labels of a positive and a negative item lowers this sum if and only if the negative item
    has the larger f (for plain slacks, Joachims' condition is ξ_i + ξ_j > 2). So the items with the largest f
    are positive.
    """
    labels = np.full(len(f), -1.0)
    labels[np.argsort(-f, kind="stable")[:n_positive]] = 1.0
    return labels


def svm(A: Array, y: Array, cost: Array, w: Array) -> tuple[Array, float]:
    """Minimise ½‖w‖² + Σ cost ξ² by Newton's method from w; return w and the minimum.

    The coefficient of the constant, last in A, is not penalised. The objective is piecewise quadratic, so a
    few steps suffice.
    """
    value = _objective(A, y, cost, w)
    while True:
        slack = 1 - y * (A @ w)
        in_margin = slack > 0
        weighted = A[in_margin] * cost[in_margin, None]
        gradient = np.append(w[:-1], 0.0) - 2 * weighted.T @ (y * slack)[in_margin]
        curvature = 2 * weighted.T @ A[in_margin]
        curvature[np.diag_indices_from(curvature)] += np.append(np.ones(len(w) - 1), 1e-10)
        step = -np.linalg.solve(curvature, gradient)
        decrease = -float(gradient @ step)
        if decrease <= 1e-10 * max(value, 1e-6):
            return w, value
        size = 1.0
        while (moved := _objective(A, y, cost, w + size * step)) > value - 1e-4 * size * decrease:
            size /= 2
        if moved >= value:  # the minimum, up to rounding
            return w, value
        w, value = w + size * step, moved


def _objective(A: Array, y: Array, cost: Array, w: Array) -> float:
    slack = np.maximum(1 - y * (A @ w), 0.0)
    return float(w[:-1] @ w[:-1] / 2 + cost @ slack**2)
