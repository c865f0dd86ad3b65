"""Whom to ask next: the labels expected to say most about the truth, for what they cost."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy.special import entr
from sklearn.utils.validation import check_is_fitted

from whoknows._array import Array, Mask
from whoknows.data.annotations import Annotations
from whoknows.data.vocabulary import Ids, elements, tight_array
from whoknows.estimators.ask.checks import check_costs, check_count, check_gain, positions
from whoknows.estimators.ask.suggestions import Suggestions, count_of_labels
from whoknows.estimators.inputs.validation import row_ids
from whoknows.fit.items import Items
from whoknows.model.protocols import AccuracyAnnotators, supports

Rows = NDArray[np.intp]

MOST_AN_ITEM = 4  # labels of one item in a batch: their answers are enumerated, all patterns of them
MOST_PATTERNS = 1_000  # of answers on one item; with many classes fewer labels an item
POOL = 5_000  # items a batch is chosen from: the most informative ones, and never fewer than labels
AT_ONCE = 4_000_000  # numbers held at once while all items are looked at
NEAR = 0.1  # squared distance at which items are alike, in units of the mean one between two items
LEAST_LEFT = 1e-6  # of an item's gain beside a copy of it: such an item comes last, and still comes
NOTHING = 1e-12  # bits below which information is rounding
ASKED, FULL = -2.0, -1.0  # in place of a worth: the pair has been asked, the item has enough labels
_NONE = np.zeros(0, dtype=np.intp), np.zeros(0, dtype=np.intp), np.zeros(0)


def suggest(
    model: Any,
    X: Any,
    said: Any,
    n: int,
    *,
    costs: Any = None,
    annotators: Any = None,
    min_gain: float = 0.0,
    spread: bool = True,
) -> Suggestions:
    """Choose the n labels, not asked yet, that say most about the truth for what they cost.

    A label y of annotator t on item i is worth the information it is expected to give about the truth z,

        I(z_i; y_it | x_i, labels so far) = H(y_it) − Σ_z p̃_i(z) H(y_it | z),

    with p̃_i the item's posterior and p(y | x, z, t) the annotator's: nothing for an annotator the model takes
    for a coin, nothing for an item whose truth is settled, as much for a reliable adversary as for an expert.
    Labels are chosen one by one. A second label on an item is worth what it adds to the first, the
    expectation taken over all that the first may say: I(z; y_1, …, y_k) is exact, labels being independent
    given z. Parameters are held as the fit left them: what a label teaches about other items and about its
    annotator comes on top, and shows at the next fit.

    Parameters
    ----------
    model : CrowdClassifier or AutoCrowdClassifier
        Solution.
    X : (n_items, n_features)
        The items one could ask about, of the fit or new.
    said : Annotations, (n_items, n_annotators) with NaN, or (n_items,)
        Labels of these items so far, as in `CrowdClassifier.posterior`. Annotators the fit did not see count
        as one of the crowd; they are not suggested.
    n : int
        Labels to ask for, at most; no more than four on one item (fewer with more than ten classes).
    costs : mapping or (n_annotators,), optional
        Cost of a label by annotator, or in the order of ``annotators_``. Default: 1 each.
    annotators : sequence of ids, optional
        Who may be asked. Default: all.
    min_gain : float
        Stop when no pair is worth so many bits per cost. At 0, when no pair says anything.
    spread : bool
        Spread the batch over the data and the annotators. For the order only, a label's worth is taken

        - times 1 − max exp(−d² / s) over the other items chosen, d being the distance in the features of the
          truth and s a tenth of its mean square over pairs of items: what is learnt at one of two neighbours
          the next fit may know of the other;
        - over 1 + m_t / m̄, where m_t labels of annotator t are in ``said`` and the batch, m̄ on average.
          Annotators are judged by the classifier they teach. One who is asked alone has nobody to
          contradict him, looks an expert, and is asked again.

    Returns
    -------
    Suggestions
        In the order chosen, so that its first five are the batch of five.

    Notes
    -----
    Without ``spread``, costs and the limit of four, the batch has at least 1 − 1/e of the information of the
    best of all batches, since information is submodular. With more than 5 000 items (or ``n``, if larger)
    the batch is chosen among those whose first label says most; without ``spread`` this changes nothing.

    Examples
    --------
    >>> import numpy as np
    >>> from whoknows import CrowdClassifier
    >>> from whoknows.estimators.ask.batch import suggest
    >>> X = np.array([[0.0], [1.0], [2.0], [3.0], [4.0], [5.0]])
    >>> nan = np.nan
    >>> y = np.array([[0, 0, 1], [0, nan, 0], [nan, nan, nan], [nan, nan, nan], [1, 1, 0], [1, 1, nan]])
    >>> model = CrowdClassifier().fit(X, y)
    >>> asked = suggest(model, X, y, n=2)
    >>> sorted(asked.item.tolist())
    [2, 3]
    """
    check_is_fitted(model)
    n, min_gain = check_count(n), check_gain(min_gain)
    voices = model._voices(X, said)
    items = voices[0].items
    crowd = _Crowd.of(model, voices, costs, annotators)
    prob = model.posterior(X, said, unknown="population")
    rows = _highest(crowd.best_worth(items.Y, prob), max(n, POOL))
    over = _Diversity.of(items, rows, crowd.asked) if spread else None
    batch = _Batch.of(crowd, rows, prob[rows], items.Y[rows])
    chosen = batch.choose(n, min_gain, over)
    why = "" if len(chosen) == n else batch.why_no_more(len(chosen), min_gain)
    row, person, bits = (np.array(column) for column in zip(*chosen, strict=True)) if chosen else _NONE
    cost = crowd.cost[person]
    ids = _item_ids(X, said, items.Y)[rows[row]]
    return Suggestions(ids, crowd.names[person], bits, cost, bits / cost, why)


def information(prob: Array, accuracy: Array, mistakes: Array) -> Array:
    """Bits about the truth expected of a label: I(z; y_t) = H(y_t) − Σ_z p(z) H(y_t | z).

    p(y | z, t) is a_tz for y = z and (1 − a_tz) m_tzy otherwise, so that H(y_t | z) is the entropy of being
    right or wrong and, in the share 1 − a_tz of cases, that of the mistake. No array has both classes.

    Parameters
    ----------
    prob : (n_items, n_classes)
        p(z), what is known of the truth of each item.
    accuracy : (n_items, n_annotators, n_classes), the last axis 1 if accuracy is the same for all
        a, the probability that an annotator is right if the truth is z.
    mistakes : (n_annotators, n_classes, n_classes)
        m, the label of one who is wrong: rows the truth, zero on the diagonal.

    Returns
    -------
    (n_items, n_annotators)

    Examples
    --------
    >>> import numpy as np
    >>> from whoknows.estimators.ask.batch import information
    >>> accuracy = np.array([[[1.0], [0.5], [0.0]]])  # an expert, a coin, an adversary
    >>> mistakes = np.array([[[0.0, 1.0], [1.0, 0.0]]] * 3)
    >>> information(np.array([[0.5, 0.5]]), accuracy, mistakes)
    array([[1., 0., 1.]])
    """
    p = prob[:, None, :]
    wrong = p * (1 - accuracy)
    said = p * accuracy + (wrong.swapaxes(0, 1) @ mistakes).swapaxes(0, 1)
    given_truth = entr(accuracy) + entr(1 - accuracy) + (1 - accuracy) * entr(mistakes).sum(axis=2)
    bits = (entr(said).sum(axis=2) - (p * given_truth).sum(axis=2)) / np.log(2)
    return np.where(bits > NOTHING, bits, 0.0)


# --- who can be asked ------------------------------------------------------------------------------


@dataclass(frozen=True)
class Voice:
    """A fitted pair, the items with its features, and its weight among others."""

    weight: float
    pair: Any
    items: Items

    def accuracy(self, rows: Any) -> Array:
        """P(right | x, z): (n_items, n_annotators + 1, n_classes), the last axis 1 if the same for all.

        Annotator models without an accuracy per class, such as Gaussian ones, have their expertise.
        """
        pieces, belief = self.pair.prepared.model.annotators, self.pair.solution.annotators
        X_annotators = self.items.X_annotators[rows]
        if supports(pieces, AccuracyAnnotators):
            return np.asarray(pieces.accuracy(belief, X_annotators))
        n_classes = self.items.Y.n_classes
        evenly = np.full((len(X_annotators), n_classes), 1 / n_classes)
        return np.asarray(pieces.expertise(belief, X_annotators, evenly)[:, :, None])

    def mistakes(self) -> Array:
        """p(y | z, wrong), averaged over items: (n_annotators + 1, n_classes, n_classes)."""
        pieces, belief = self.pair.prepared.model.annotators, self.pair.solution.annotators
        return _mistakes(pieces.confusion(belief, self.pair.typical.X_annotators))


@dataclass(frozen=True)
class _Crowd:
    """The annotators who may be asked: what they would say, and what they cost.

    Attributes
    ----------
    voices : list of Voice
        Who says so: one fitted model, or several whose answers are averaged.
    n_known : int
        Annotators of the fit.
    asked : (n_asked,)
        Positions of those who may be asked among them.
    names, cost : (n_asked,)
    mistakes : (n_asked, n_classes, n_classes)
        p(y | z, wrong).
    """

    voices: list[Voice]
    n_known: int
    asked: Rows
    names: Ids
    cost: Array
    mistakes: Array

    @classmethod
    def of(cls, model: Any, voices: list[Voice], costs: Any, annotators: Any) -> Self:
        """Read a fitted model."""
        known = model.annotators_
        asked = positions(annotators, known)
        cost = check_costs(costs, elements(known), asked)
        mistakes = sum(voice.weight * voice.mistakes()[asked] for voice in voices)
        return cls(voices, len(known), asked, known[asked], cost, np.asarray(mistakes))

    @property
    def n_classes(self) -> int:
        return self.mistakes.shape[1]

    @property
    def most_an_item(self) -> int:
        """Labels of one item in a batch; what all but the last may say is enumerated."""
        fitting = (k for k in range(MOST_AN_ITEM, 1, -1) if self.n_classes ** (k - 1) <= MOST_PATTERNS)
        return next(fitting, 1)

    def accuracy(self, rows: Any) -> Array:
        """P(right | x, z): (n_items, n_asked, n_classes), the last axis 1 if it is the same for all."""
        return np.asarray(sum(voice.weight * voice.accuracy(rows)[:, self.asked] for voice in self.voices))

    def free(self, Y: Annotations) -> Mask:
        """Whether a pair has not been asked yet: (n_items, n_asked)."""
        free = np.ones((Y.n_items, self.n_known + 1), dtype=bool)  # the last column: strangers, code -1
        free[Y.item, Y.annotator] = False
        return np.asarray(free[:, self.asked])

    def best_worth(self, Y: Annotations, prob: Array) -> Array:
        """Bits per cost of each item's best label, ASKED if it has them all: (n_items,)."""
        best = np.empty(len(prob))
        for rows in Y.chunks(1 + prob.size * len(self.asked) // AT_ONCE):
            worth = information(prob[rows], self.accuracy(rows), self.mistakes) / self.cost
            best[rows] = np.where(self.free(Y[rows]), worth, ASKED).max(axis=1)
        return best


def _mistakes(confusion: Array) -> Array:
    """p(y | z, wrong) of a confusion matrix; of one who is never wrong, anything: evenly."""
    K = confusion.shape[1]
    off = np.where(np.eye(K, dtype=bool), 0.0, confusion)
    total = off.sum(axis=2, keepdims=True)
    evenly = (1 - np.eye(K)) / (K - 1)
    return np.where(total > 0, off / np.where(total > 0, total, 1.0), evenly)


# --- a batch, label by label -----------------------------------------------------------------------


@dataclass
class _Batch:
    """Items a batch is chosen from, and what their labels are worth after those chosen so far.

    Attributes
    ----------
    accuracy : (n_items, n_asked, n_classes or 1)
    worth : (n_items, n_asked)
        Bits per cost; ASKED for pairs asked or chosen, FULL for items with enough labels in this batch.
    joint : for each item (n_patterns, n_classes)
        p(what the labels chosen will say, z): a row for each way they may come out.
    taken : (n_items,)
        How many labels are chosen.
    """

    crowd: _Crowd
    accuracy: Array
    worth: Array
    joint: list[Array]
    taken: Rows

    @classmethod
    def of(cls, crowd: _Crowd, rows: Rows, prob: Array, Y: Annotations) -> Self:
        accuracy = crowd.accuracy(rows)
        worth = information(prob, accuracy, crowd.mistakes) / crowd.cost
        worth = np.where(crowd.free(Y), worth, ASKED)
        return cls(crowd, accuracy, worth, list(prob[:, None, :]), np.zeros(len(prob), dtype=np.intp))

    def choose(self, n: int, min_gain: float, over: _Diversity | None) -> list[tuple[int, int, float]]:
        """Take the best label again and again: at most n of (row, annotator, bits)."""
        chosen: list[tuple[int, int, float]] = []
        while len(chosen) < n:
            score = self.worth if over is None else over.weigh(self.worth)
            score = np.where((self.worth > 0) & (self.worth >= min_gain), score, ASKED)
            row, person = map(int, np.unravel_index(score.argmax(), score.shape))
            if score[row, person] <= 0:
                break
            chosen.append((row, person, float(self.worth[row, person] * self.crowd.cost[person])))
            self._take(row, person)
            if over is not None:
                over.take(row, person)
        return chosen

    def why_no_more(self, n_chosen: int, min_gain: float) -> str:
        """Say why no label is left to choose."""
        if (self.worth == ASKED).all():
            return f"every {'other ' if n_chosen else ''}pair of these items and annotators has been asked"
        left = self.worth.max()
        if left < 0:
            most = count_of_labels(self.crowd.most_an_item)
            return f"a batch has at most {most} on one item; fit with these and ask again"
        if left == 0:
            return "no label left says anything about the truth"
        return f"no label left is worth min_gain={min_gain:g} bits per cost; the best is worth {left:.2g}"

    def _take(self, row: int, person: int) -> None:
        """Count on this label: the item's other labels are worth what they add to it."""
        free = self.worth[row] >= 0
        free[person] = False
        self.worth[row, person] = ASKED
        self.taken[row] += 1
        if self.taken[row] == self.crowd.most_an_item:
            self.worth[row, free] = FULL
            return
        self.joint[row] = _with_label(self.joint[row], self._speech(row, person))
        gain = _further_information(self.joint[row], self.accuracy[row, free], self.crowd.mistakes[free])
        self.worth[row, free] = gain / self.crowd.cost[free]

    def _speech(self, row: int, person: int) -> Array:
        """p(y | x, z) of one annotator on one item: (n_classes, n_classes), rows the truth."""
        right = np.broadcast_to(self.accuracy[row, person], self.crowd.n_classes)
        return np.diag(right) + (1 - right)[:, None] * self.crowd.mistakes[person]


def _with_label(joint: Array, speech: Array) -> Array:
    """p(pattern, z) with one more label y in the pattern: p(pattern, z) p(y | z)."""
    longer = joint[:, None, :] * speech.T
    return np.asarray(longer.reshape(-1, joint.shape[1]))


def _further_information(joint: Array, accuracy: Array, mistakes: Array) -> Array:
    """I(z; y_t | labels chosen) = Σ_pattern p(pattern) I(z; y_t | pattern), in bits: (n_annotators,)."""
    pattern = joint.sum(axis=1)
    seen = pattern > 0
    prob = joint[seen] / pattern[seen, None]
    return np.asarray(pattern[seen] @ information(prob, accuracy[None], mistakes))


@dataclass
class _Diversity:
    """What a batch has of each region and each annotator.

    Attributes
    ----------
    features : (n_items, n_features)
        What the truth sees of the items.
    scale : float
        Squared distance at which items are alike.
    apart : (n_items,)
        1 − likeness to the nearest other item chosen, likeness being exp(−d² / scale).
    given : (n_asked,)
        Labels of each annotator, chosen ones included.
    """

    features: Array
    scale: float
    apart: Array
    given: Array

    @classmethod
    def of(cls, items: Items, rows: Rows, asked: Rows) -> Self:
        mean_squared_distance = 2 * float(items.X_truth.var(axis=0).sum())
        given = items.Y.labels_per_annotator[asked].astype(float)
        return cls(items.X_truth[rows], NEAR * mean_squared_distance or 1.0, np.ones(len(rows)), given)

    def weigh(self, worth: Array) -> Array:
        """worth · apart / (1 + given / mean given): (n_items, n_asked)."""
        share = 1 + self.given / max(self.given.mean(), 1.0)
        return np.asarray(worth * (self.apart[:, None] / share))

    def take(self, row: int, person: int) -> None:
        """Count a label. Its own item is left alone: what further labels add there is known exactly."""
        squared = ((self.features - self.features[row]) ** 2).sum(axis=1)
        apart = np.maximum(-np.expm1(-squared / self.scale), LEAST_LEFT)
        apart[row] = 1.0
        self.apart = np.minimum(self.apart, apart)
        self.given[person] += 1


def _highest(values: Array, n: int) -> Rows:
    """Rows of the n highest values, in the order of rows."""
    if n >= len(values):
        return np.arange(len(values))
    return np.sort(np.argsort(-values, kind="stable")[:n])


# --- what the user gave, and gets ------------------------------------------------------------------


def _item_ids(X: Any, said: Any, Y: Annotations) -> Ids:
    """Ids of the items: those of the labels, or of X where labels came without."""
    index = row_ids(X)
    if index is None or isinstance(said, Annotations) or elements(Y.items) != list(range(len(index))):
        return Y.items
    return tight_array(index)
