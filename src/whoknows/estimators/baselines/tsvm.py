"""A transductive linear support vector machine, where the paper used SVM-light.

The margin should be empty of all items, labelled or not. With f(x) = wᵀx + b and labels ±1, those of
unlabelled items unknown too,

    min over w, b, ŷ   ½‖w‖² + C Σ_labelled ξ² + v C Σ_unlabelled ξ²,   ξ = max(0, 1 − y f(x)),

where as large a share of ŷ is positive as of the labels. Joachims (ICML 1999): the weight v grows from nearly
nothing, doubling; at each, ŷ is changed where that lowers the objective. Squared slacks, a Newton method and
changing all labels at once are from Sindhwani and Keerthi (SIGIR 2006).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_random_state
from threadpoolctl import threadpool_limits

from whoknows._array import Array, with_constant
from whoknows.data.annotations import Annotations
from whoknows.estimators.baselines.base import Baseline, majority, votes
from whoknows.estimators.inputs.validation import check_setting
from whoknows.model.settings import NOT_NEGATIVE, POSITIVE, or_none

COSTS = (0.001, 0.01, 0.1, 1.0, 10.0)  # C to choose from
WEIGHTS = (1 / 512, 1 / 64, 1 / 8, 1.0)  # and weights of the unlabelled
FIRST_WEIGHT = 2.0**-10  # nearly nothing
FOLDS = 5


class TransductiveSVM(Baseline):
    """A linear support vector machine that looks for a gap among all items, labelled or not.

    *SVM-light* of Yan, Rosales, Fung and Dy (UAI 2010), after T. Joachims, Transductive inference for text
    classification using support vector machines (ICML 1999). Labelled items have the class of their majority
    vote, ties as in `MajorityVoteClassifier`. Unlabelled items are given classes too, in the same
    proportions, so that few of them lie near the boundary. More than two classes: each against the rest.

    C and the unlabelled items' weight are chosen as in the paper, on labelled items held out, here each of
    them once: the setting whose predictions meet their majority vote most often; no truth is used. A tie goes
    to the smaller C, then to the smaller weight.

    Parameters
    ----------
    C : float, optional
        Cost of a labelled item in the margin. None: one of 0.001, 0.01, …, 10.
    unlabelled_weight : float, optional
        Cost of an unlabelled item in the margin, relative to a labelled one; 0 is a plain support vector
        machine. None: one of 1/512, 1/64, 1/8, 1.
    standardize : bool
        Bring every column of X to mean 0 and variance 1 over all items, labelled or not.
    random_state : int, RandomState or None
        For the parts that labelled items are held out in.

    Attributes
    ----------
    classes_ : (n_classes,)
        The labels.
    annotators_ : (n_annotators,)
        Their ids.
    C_, unlabelled_weight_ : float
        As given, or chosen.

    Examples
    --------
    Two rows of items with a gap between them, and one labelled item in each, at opposite ends.

    >>> import numpy as np
    >>> from whoknows import Annotations
    >>> from whoknows.estimators.baselines.tsvm import TransductiveSVM
    >>> X = np.array([[x, row] for row in (0, 1) for x in np.linspace(0, 1.2, 20)])
    >>> said = Annotations.from_arrays([0, 39], ["anna", "anna"], ["lower", "upper"], items=range(40))
    >>> in_row = np.repeat(["lower", "upper"], 20)
    >>> for weight in (0, 1):
    ...     model = TransductiveSVM(C=1, unlabelled_weight=weight, standardize=False).fit(X, said)
    ...     print(model.score(X, in_row))
    0.85
    1.0
    """

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
        """Signed distance to the boundary, in margins: of the second of two classes (n_items,), or of each.

        (n_items, n_classes) for more than two classes.
        """
        f = self._decide(self._scaled(X))
        return f[:, 0] if f.shape[1] == 1 else f

    def _decide(self, X: Array) -> Array:
        return with_constant(X) @ self._machines.T

    def _predict(self, X: Array) -> NDArray[Any]:
        return _winner(self._decide(X))

    def _learn(self, X: Array, said: Annotations) -> None:
        check_setting(self, "C", or_none(POSITIVE))
        check_setting(self, "unlabelled_weight", or_none(NOT_NEGATIVE))
        vote = np.where(said.labelled, majority(votes(said)), -1)
        basis = np.linalg.qr(X.T)[0] if X.shape[1] > len(X) else None  # w lies in the span of the items
        A = with_constant(X if basis is None else X @ basis)
        with threadpool_limits(1, user_api="blas"):  # small products: more threads only wait for each other
            C, weight = self._choose(A, vote, said.n_classes)
            machines = _machines(A, vote, said.n_classes, C, [weight])[weight]
        slopes = machines[:, :-1] if basis is None else machines[:, :-1] @ basis.T
        self._machines = np.column_stack([slopes, machines[:, -1]])
        self.C_, self.unlabelled_weight_ = C, weight

    def _choose(self, A: Array, vote: NDArray[Any], n_classes: int) -> tuple[float, float]:
        """Return C and weight, as given or those that foretell most held-out votes."""
        costs = COSTS if self.C is None else (float(self.C),)
        weights = WEIGHTS if self.unlabelled_weight is None else (float(self.unlabelled_weight),)
        if len(costs) * len(weights) == 1:
            return costs[0], weights[0]
        met = np.zeros((len(costs), len(weights)), dtype=int)
        for part in _parts(vote, check_random_state(self.random_state)):
            without = vote.copy()
            without[part] = -1
            for i, C in enumerate(costs):
                machines = _machines(A, without, n_classes, C, weights)
                met[i] += [int(np.sum(_winner(A[part] @ machines[v].T) == vote[part])) for v in weights]
        i, j = np.unravel_index(met.argmax(), met.shape)
        return costs[i], weights[j]


def _parts(vote: NDArray[Any], rng: np.random.RandomState) -> list[NDArray[np.intp]]:
    """Cut the labelled items into parts to hold out, classes spread evenly; one item cannot be cut."""
    order = rng.permutation(np.flatnonzero(vote >= 0))
    order = order[np.argsort(vote[order], kind="stable")]
    n_parts = min(FOLDS, len(order))
    return [order[start::n_parts] for start in range(n_parts)] if n_parts > 1 else []


def _winner(f: Array) -> NDArray[np.intp]:
    """Position of the predicted class: of decisions (n_items, 1) for two classes, (n_items, K) for more."""
    return (f[:, 0] > 0).astype(np.intp) if f.shape[1] == 1 else f.argmax(axis=1)


def _machines(A: Array, vote: NDArray[Any], n_classes: int, C: float, weights: Any) -> dict[float, Array]:
    """For each weight, w and b of one machine for two classes, or of one a class: (n_machines, D + 1)."""
    labelled = vote >= 0
    rows = []
    for positive in range(1 if n_classes == 2 else 0, n_classes):
        y = np.where(vote[labelled] == positive, 1.0, -1.0)
        steps = anneal(A[labelled], y, A[~labelled], C, weights)
        rows.append({step.weight: step.w for step in steps})  # the last step at each weight stays
    return {weight: np.array([row[weight] for row in rows]) for weight in weights}


@dataclass(frozen=True)
class Step:
    """One machine on the way: the weight, w with b last, the labels ŷ it was taught, and its objective."""

    weight: float
    w: Array
    labels: Array
    objective: float


def anneal(labelled: Array, y: Array, unlabelled: Array, C: float, weights: Any) -> Iterator[Step]:
    """Give each machine on the way from no weight to the largest of ``weights``.

    At one weight the objective falls from step to step, and the last step is a minimum over w, b and over
    every exchange of ŷ. ``labelled`` (l, D + 1), ``unlabelled`` (u, D + 1), ``y`` (l,) of ±1.
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
            if np.array_equal(better, guess) or objective > last * (1 - 1e-9):  # trades of equals may go on
                break
            last, guess = objective, better


def _ladder(weights: Any) -> list[float]:
    """The weights above 0, and doublings of the first up to the largest, in order."""
    top = max(weights)
    doublings = FIRST_WEIGHT * 2.0 ** np.arange(64)
    return sorted({weight for weight in (*doublings[doublings < top].tolist(), *weights) if weight > 0})


def _best_labels(f: Array, n_positive: int) -> Array:
    """The labels ±1, ``n_positive`` of them +1, that cost least where the machine says f.

    A positive item and a negative one trade labels if that lowers the sum of their squared slacks, which is
    so exactly when the negative one has the larger f (for plain slacks, Joachims' ξ_i + ξ_j > 2). After all
    trades the items of largest f are positive.
    """
    labels = np.full(len(f), -1.0)
    labels[np.argsort(-f, kind="stable")[:n_positive]] = 1.0
    return labels


def svm(A: Array, y: Array, cost: Array, w: Array) -> tuple[Array, float]:
    """Minimise ½‖w‖² + Σ cost ξ² by Newton's method from w, and return w and the minimum.

    The constant, last in A, has no price. The objective is quadratic between the places where an item leaves
    the margin, so a handful of steps gets there.
    """
    value = _objective(A, y, cost, w)
    while True:
        slack = 1 - y * (A @ w)
        inside = slack > 0
        priced = A[inside] * cost[inside, None]
        gradient = np.append(w[:-1], 0.0) - 2 * priced.T @ (y * slack)[inside]
        curvature = 2 * priced.T @ A[inside]
        curvature[np.diag_indices_from(curvature)] += np.append(np.ones(len(w) - 1), 1e-10)
        step = -np.linalg.solve(curvature, gradient)
        promised = -float(gradient @ step)
        if promised <= 1e-10 * max(value, 1e-6):
            return w, value
        size, moved = 1.0, _objective(A, y, cost, w + step)
        while moved > value - 1e-4 * size * promised:
            size /= 2
            moved = _objective(A, y, cost, w + size * step)
        if moved >= value:  # as low as rounding lets it
            return w, value
        w, value = w + size * step, moved


def _objective(A: Array, y: Array, cost: Array, w: Array) -> float:
    slack = np.maximum(1 - y * (A @ w), 0.0)
    return float(w[:-1] @ w[:-1] / 2 + cost @ slack**2)
