"""Whom to ask next: labels with the most expected information about the truth per cost."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import entr
from sklearn.utils.validation import check_is_fitted

from whoknows._array import Array, Rows
from whoknows.data.annotations import Annotations
from whoknows.data.errors import InputError
from whoknows.data.vocabulary import Ids, elements, make_vocabulary, tight_array
from whoknows.estimators.ask.suggestions import Suggestions, check_costs, check_count, check_gain, count_of_labels
from whoknows.estimators.inputs.validation import FeatureRows, Labels, Names, annotator_rows, row_ids
from whoknows.fit.items import Items
from whoknows.model.protocols import AccuracyAnnotators, supports

MOST_PER_ITEM = 4  # labels of one item in a batch, whose answers are enumerated
MOST_PATTERNS = 1_000  # of answers on one item: with many classes, fewer labels per item
POOL = 5_000  # most informative items, from which a batch is chosen
AT_ONCE = 4_000_000  # numbers in memory at once
NEAR = 0.1  # squared distance of similar items, relative to the mean over pairs of items
LEAST_LEFT = 1e-6  # factor of an item's gain next to a duplicate of it: it comes last, but it comes
ASKED, FULL = -2.0, -1.0  # gains of a pair already asked, and of an item with enough labels
_NONE = np.zeros(0, dtype=np.intp), np.zeros(0, dtype=np.intp), np.zeros(0)


def suggest(
    model: Any,
    X: FeatureRows,
    y: Labels,
    n: int,
    costs: Mapping[Any, float] | ArrayLike | None = None,
    annotators: Names | None = None,
    *,
    min_gain: float = 0.0,
    spread: bool = True,
) -> Suggestions:
    """Choose the n labels, not asked yet, with the most expected information about the truth per cost.

    The gain of a label y of annotator t on item i is the mutual information with the truth z,

        I(z_i; y_it | x_i, labels so far) = H(y_it) − Σ_z p̃_i(z) H(y_it | z),

    with the item's posterior p̃_i and the annotator's p(y | x, z, t). It is zero for an annotator who guesses
    and for an item whose truth is certain, and as large for a reliable adversary as for an expert. Labels are
    chosen one by one. A second label on an item gains what it adds to the first, averaged over all answers to
    the first: I(z; y_1, …, y_k) is exact, since labels are independent given z. Parameters are those of the
    fit: what a label teaches about other items and about its annotator shows after the next fit.

    Parameters
    ----------
    model : CrowdClassifier or AutoCrowdClassifier
        Fitted.
    X : (n_items, n_features)
        Items one could ask about, of the fit or new.
    y : Annotations, (n_items, n_annotators) with NaN, or (n_items,)
        Labels of these items so far, as in `CrowdClassifier.posterior`. Annotators not seen in training have
        the population's expertise; they are not suggested.
    n : int
        Largest number of labels to ask for; at most four per item (fewer with more than ten classes).
    costs : mapping or (n_annotators,), optional
        Cost of a label by annotator, or in the order of ``annotators_``. Annotators without one cost 1.
    annotators : sequence of ids, optional
        Who may be asked. Default: all.
    min_gain : float
        Stop when no label gains this many bits per cost. At 0, when no label gains anything.
    spread : bool
        Spread the batch over the items and the annotators. For the order only, the gain is

        - multiplied by 1 − max exp(−d² / s) over the other items chosen, where d is the distance in the
          features of the truth and s one tenth of its mean square over pairs of items: after the next fit, a
          label of one item also informs about its neighbours;
        - divided by 1 + m_t / m̄, where m_t is the number of labels of annotator t in ``y`` and the batch, and
          m̄ its mean. Annotators are judged by the classifier they teach: one who is asked alone is never
          contradicted, looks like an expert, and is asked again.

    Returns
    -------
    Suggestions
        In the order chosen: its first five are the batch of five.

    Notes
    -----
    Without ``spread``, costs and the limit of four, the batch has at least 1 − 1/e of the information of the
    best batch, since information is submodular. With more than 5 000 items (or ``n``, if larger) the batch is
    chosen among those with the most informative first label; without ``spread`` this changes nothing.

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
    voices = model._voices(X, y)
    items = voices[0].items
    crowd = _Crowd.of(model, voices, costs, annotators)
    prob = model.posterior(X, y, unknown="population")
    highest = np.argsort(-crowd.best_gain(items.Y, prob), kind="stable")
    rows = np.sort(highest[: max(n, POOL)])
    over = _Diversity.of(items, rows, crowd.asked) if spread else None
    batch = _Batch.of(crowd, rows, prob[rows], items.Y[rows])
    chosen = batch.choose(n, min_gain, over)
    why = "" if len(chosen) == n else batch.why_no_more(len(chosen), min_gain)
    row, person, bits = (np.array(column) for column in zip(*chosen, strict=True)) if chosen else _NONE
    cost = crowd.cost[person]
    ids = _item_ids(X, y, items.Y)[rows[row]]
    return Suggestions(ids, crowd.names[person], bits, cost, bits / cost, why)


def information_of_next_label(model: Any, X: FeatureRows, y: Labels) -> Array:
    """Bits about the truth expected of the next label of each item, from whoever gives it: (n_items,).

    The gain of `suggest`, averaged over the annotators of the fit who have not labelled the item; 0 if all have.
    For queues in which one cannot choose who labels an item.

    Parameters
    ----------
    model : CrowdClassifier or AutoCrowdClassifier
        Fitted.
    X, y
        As in `suggest`.
    """
    check_is_fitted(model)
    voices = model._voices(X, y)
    crowd = _Crowd.of(model, voices, None, None)
    return crowd.mean_gain(voices[0].items.Y, model.posterior(X, y, unknown="population"))


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
        confusion = pieces.confusion(belief, self.pair.typical.X_annotators)
        is_right = np.eye(confusion.shape[1], dtype=bool)
        wrong = np.where(is_right, 0.0, confusion)
        total = wrong.sum(axis=2, keepdims=True)
        evenly = ~is_right / (len(is_right) - 1)  # of one who is never wrong
        return np.where(total > 0, wrong / np.where(total > 0, total, 1.0), evenly)


@dataclass(frozen=True)
class _Crowd:
    """The annotators who may be asked, with their accuracies and costs.

    Attributes
    ----------
    voices : list of Voice
        One fitted pair, or several whose answers are averaged.
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
        """Take them from a fitted model."""
        known = model.annotators_
        wanted = None if annotators is None else make_vocabulary(annotators, "annotators=")
        asked = np.sort(annotator_rows(wanted, known))
        if not asked.size:
            raise InputError("annotators= must name at least one annotator. Leave it out for all.")
        cost = check_costs(costs, known, asked)
        mistakes = sum(voice.weight * voice.mistakes()[asked] for voice in voices)
        return cls(voices, len(known), asked, known[asked], cost, np.asarray(mistakes))

    @property
    def n_classes(self) -> int:
        return self.mistakes.shape[1]

    @property
    def most_per_item(self) -> int:
        """Largest number of labels per item in a batch; the answers of all but the last are enumerated."""
        fitting = (k for k in range(MOST_PER_ITEM, 1, -1) if self.n_classes ** (k - 1) <= MOST_PATTERNS)
        return next(fitting, 1)

    def accuracy(self, rows: Any) -> Array:
        """P(right | x, z): (n_items, n_asked, n_classes), the last axis 1 if it is the same for all."""
        return np.asarray(sum(voice.weight * voice.accuracy(rows)[:, self.asked] for voice in self.voices))

    def gain(self, Y: Annotations, prob: Array, accuracy: Array) -> Array:
        """Bits per cost of each label, ASKED if it has been asked: (n_items, n_asked)."""
        # The last column is for annotators not seen in training, whose code is −1.
        free = np.ones((Y.n_items, self.n_known + 1), dtype=bool)
        free[Y.item, Y.annotator] = False
        return np.where(free[:, self.asked], information(prob, accuracy, self.mistakes) / self.cost, ASKED)

    def best_gain(self, Y: Annotations, prob: Array) -> Array:
        """Bits per cost of each item's best label, ASKED if all have been asked: (n_items,)."""
        return self._by_item(Y, prob, lambda gain: gain.max(axis=1))

    def mean_gain(self, Y: Annotations, prob: Array) -> Array:
        """Bits per cost of a label of each item, averaged over those not asked yet, 0 without any: (n_items,)."""
        return self._by_item(
            Y, prob, lambda gain: np.maximum(gain, 0).sum(axis=1) / np.fmax((gain >= 0).sum(axis=1), 1)
        )

    def _by_item(self, Y: Annotations, prob: Array, reduce: Callable[[Array], Array]) -> Array:
        """Reduce the gains of the annotators of each item to one number, block by block: (n_items,)."""
        blocks = Y.chunks(1 + prob.size * len(self.asked) // AT_ONCE)
        gains = (self.gain(Y[rows], prob[rows], self.accuracy(rows)) for rows in blocks)
        return np.concatenate([reduce(gain) for gain in gains])


# --- a batch, label by label -----------------------------------------------------------------------


@dataclass
class _Batch:
    """Items from which a batch is chosen, and the gains of their labels given those chosen so far.

    Attributes
    ----------
    accuracy : (n_items, n_asked, n_classes or 1)
    gain : (n_items, n_asked)
        Bits per cost; ASKED for pairs asked or chosen, FULL for items with enough labels in this batch.
    joint : for each item (n_patterns, n_classes)
        p(values of the chosen labels, z): one row per combination of values.
    taken : (n_items,)
        How many labels are chosen.
    """

    crowd: _Crowd
    accuracy: Array
    gain: Array
    joint: list[Array]
    taken: Rows

    @classmethod
    def of(cls, crowd: _Crowd, rows: Rows, prob: Array, Y: Annotations) -> Self:
        accuracy = crowd.accuracy(rows)
        gain = crowd.gain(Y, prob, accuracy)
        return cls(crowd, accuracy, gain, list(prob[:, None, :]), np.zeros(len(prob), dtype=np.intp))

    def choose(self, n: int, min_gain: float, over: _Diversity | None) -> list[tuple[int, int, float]]:
        """Take the best label repeatedly: at most n of (row, annotator, bits)."""
        chosen: list[tuple[int, int, float]] = []
        while len(chosen) < n:
            score = self.gain if over is None else over.weigh(self.gain)
            score = np.where((self.gain > 0) & (self.gain >= min_gain), score, ASKED)
            row, person = map(int, np.unravel_index(score.argmax(), score.shape))
            if score[row, person] <= 0:
                break
            chosen.append((row, person, float(self.gain[row, person] * self.crowd.cost[person])))
            self._take(row, person)
            if over is not None:
                over.take(row, person)
        return chosen

    def why_no_more(self, n_chosen: int, min_gain: float) -> str:
        """Say why no label is left to choose."""
        if (self.gain == ASKED).all():
            return f"every {'other ' if n_chosen else ''}pair of these items and annotators has been asked"
        left = self.gain.max()
        if left < 0:
            most = count_of_labels(self.crowd.most_per_item)
            return f"a batch has at most {most} on one item; fit with these and ask again"
        if left == 0:
            return "no other label has information about the truth"
        return f"no other label gains min_gain={min_gain:g} bits per cost; the best gains {left:.2g}"

    def _take(self, row: int, person: int) -> None:
        """Add a label to the batch: the item's other labels now gain what they add to it."""
        free = self.gain[row] >= 0
        free[person] = False
        self.gain[row, person] = ASKED
        self.taken[row] += 1
        if self.taken[row] == self.crowd.most_per_item:
            self.gain[row, free] = FULL
            return
        joint = self.joint[row][:, None, :] * self._speech(row, person).T  # p(pattern, z) p(y | z)
        self.joint[row] = joint.reshape(-1, self.crowd.n_classes)
        gain = _further_information(self.joint[row], self.accuracy[row, free], self.crowd.mistakes[free])
        self.gain[row, free] = gain / self.crowd.cost[free]

    def _speech(self, row: int, person: int) -> Array:
        """p(y | x, z) of one annotator on one item: (n_classes, n_classes), rows the truth."""
        right = np.broadcast_to(self.accuracy[row, person], self.crowd.n_classes)
        return np.diag(right) + (1 - right)[:, None] * self.crowd.mistakes[person]


def _further_information(joint: Array, accuracy: Array, mistakes: Array) -> Array:
    """I(z; y_t | labels chosen) = Σ_pattern p(pattern) I(z; y_t | pattern), in bits: (n_annotators,)."""
    pattern = joint.sum(axis=1)
    seen = pattern > 0
    prob = joint[seen] / pattern[seen, None]
    return np.asarray(pattern[seen] @ information(prob, accuracy[None], mistakes))


@dataclass
class _Diversity:
    """How similar items are to the batch, and how many labels each annotator gave.

    Attributes
    ----------
    features : (n_items, n_features)
        What the truth sees of the items.
    scale : float
        Squared distance of similar items.
    apart : (n_items,)
        1 − similarity to the nearest other item chosen; similarity is exp(−d² / scale).
    n_labels : (n_asked,)
        Labels of each annotator, chosen ones included.
    """

    features: Array
    scale: float
    apart: Array
    n_labels: Array

    @classmethod
    def of(cls, items: Items, rows: Rows, asked: Rows) -> Self:
        mean_squared_distance = 2 * float(items.X_truth.var(axis=0).sum())
        n_labels = items.Y.labels_per_annotator[asked].astype(float)
        return cls(items.X_truth[rows], NEAR * mean_squared_distance or 1.0, np.ones(len(rows)), n_labels)

    def weigh(self, gain: Array) -> Array:
        """gain · apart / (1 + n_labels / mean n_labels): (n_items, n_asked)."""
        share = 1 + self.n_labels / max(self.n_labels.mean(), 1.0)
        return np.asarray(gain * (self.apart[:, None] / share))

    def take(self, row: int, person: int) -> None:
        """Add a label; the gains on its own item are exact already."""
        squared = ((self.features - self.features[row]) ** 2).sum(axis=1)
        apart = np.maximum(-np.expm1(-squared / self.scale), LEAST_LEFT)
        apart[row] = 1.0
        self.apart = np.minimum(self.apart, apart)
        self.n_labels[person] += 1


# --- ids ---------------------------------------------------------------------------------------------


def _item_ids(X: Any, y: Any, Y: Annotations) -> Ids:
    """Return the ids of the items: those of y, or of X if y has none."""
    index = row_ids(X)
    if index is None or isinstance(y, Annotations) or elements(Y.items) != list(range(len(index))):
        return Y.items
    return tight_array(index)


NOTHING = 1e-12  # bits below which information is rounding


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
    label = p * accuracy + (wrong.swapaxes(0, 1) @ mistakes).swapaxes(0, 1)
    given_truth = entr(accuracy) + entr(1 - accuracy) + (1 - accuracy) * entr(mistakes).sum(axis=2)
    bits = (entr(label).sum(axis=2) - (p * given_truth).sum(axis=2)) / np.log(2)
    return np.where(bits > NOTHING, bits, 0.0)
