"""A second factor: annotators agree for another reason than the truth, and labels cannot tell which is which.

If annotators err independently given the truth, the correlations of their labels have one factor, c_ts = a_t a_s,
whatever their accuracies; adversaries have a_t < 0. Judges who follow a trap, such as the longer of two answers, agree
with each other beyond that. Then any combination of the two factors may be the truth.
"""

from __future__ import annotations

import numpy as np

from whoknows._array import Array, Mask
from whoknows.data.annotations import Annotations

LEAST_COMMON = 20  # items of a pair, below which its correlation is mostly chance
FEWEST = 4  # annotators: the correlations of three always have one factor
MOST = 100  # annotators, those with the most labels
STEPS = 200  # of the iteration for a
CONTRADICTION = 0.2  # second factor, as a share of the first, from which only the vote counts
SAME = 1e-6  # expertise that varies by less is constant


def second_factor(Y: Annotations) -> float:
    """Return the largest eigenvalue of the correlations that one factor does not explain, as a share of that factor's.

    What sampling alone would lead to, 2 √(max_t Σ_s 1 / n_ts) for n_ts common items, is subtracted. 0 if fewer than
    four annotators have enough items in common.

    Examples
    --------
    >>> import numpy as np
    >>> from whoknows import Annotations
    >>> from whoknows.fit.second_factor import second_factor
    >>> rng = np.random.default_rng(0)
    >>> truth, trap = rng.integers(2, size=(2, 300, 1))
    >>> followed = np.hstack([np.tile(truth, 4), np.tile(trap, 4)])
    >>> labels = np.where(rng.random((300, 8)) < 0.8, followed, 1 - followed)
    >>> second_factor(Annotations.from_matrix(labels[:, :4])), round(second_factor(Annotations.from_matrix(labels)), 1)
    (0.0, 0.6)
    """
    C, n_common = correlations(_most_active(Y))
    known = n_common >= LEAST_COMMON
    np.fill_diagonal(known, False)
    enough = known.sum(axis=1) >= FEWEST - 2
    kept = np.ix_(enough, enough)
    C, known, n_common = C[kept], known[kept], n_common[kept]
    if len(C) < FEWEST:
        return 0.0
    a = one_factor(np.where(known, C, 0.0), known)
    explained, rest = (np.where(known, part, 0.0) for part in (np.outer(a, a), C - np.outer(a, a)))
    by_chance = 2 * np.sqrt(np.where(known, 1 / np.maximum(n_common, 1), 0.0).sum(axis=1).max())
    largest, of_factor = (float(np.linalg.eigvalsh(part)[-1]) for part in (rest, explained))
    return max(largest - float(by_chance), 0.0) / of_factor if of_factor > 0 else 0.0


def contradiction(Y: Annotations, expertise: Array) -> float:
    """How far labels have a second factor that expertise does not explain: from 0 to 1, where only the vote counts.

    Experts of different kinds of items have two factors as well, but only one within each kind. So there must be two
    in each half of the items, too, divided where ``expertise`` (n_items, n_annotators) varies most. Which factor is
    the truth, labels do not tell: two thirds of the annotators may be right, or in a trap.
    """
    found = second_factor(Y)
    varies = expertise - expertise.mean(axis=0)
    if found and np.abs(varies).max() >= SAME:
        order = np.argsort(np.linalg.svd(varies, full_matrices=False)[0][:, 0], kind="stable")
        found = min(found, float(np.mean([second_factor(Y[np.sort(half)]) for half in np.array_split(order, 2)])))
    return min(found / CONTRADICTION, 1.0)


def correlations(Y: Annotations) -> tuple[Array, Array]:
    """Correlation of the labels of each pair of annotators on common items, and their number: two (T, T).

    Σ_k cov([y_t = k], [y_s = k]) / √(Σ_k var [y_t = k] Σ_k var [y_s = k]); for two classes Pearson's.
    """
    label = np.full((Y.n_items, Y.n_annotators), -1)
    label[Y.item, Y.annotator] = Y.label
    seen = (label >= 0).astype(float)
    n_common = seen.T @ seen
    covariance, variance = np.zeros((2, *n_common.shape))
    for k in range(Y.n_classes):
        said = (label == k).astype(float)
        share = said.T @ seen / np.maximum(n_common, 1)  # of label k of t, on items that s labelled too
        covariance += said.T @ said / np.maximum(n_common, 1) - share * share.T
        variance += share * (1 - share)
    scale = np.sqrt(variance * variance.T)
    return np.divide(covariance, scale, out=np.zeros_like(scale), where=scale > 0), n_common


def one_factor(C: Array, known: Mask) -> Array:
    """Least squares fit of c_ts = a_t a_s to known correlations off the diagonal: (n_annotators,)."""
    values, vectors = np.linalg.eigh(C)
    a = vectors[:, -1] * np.sqrt(max(values[-1], 0.0))
    for _ in range(STEPS):
        a = 0.5 * a + 0.5 * np.clip(C @ a / np.maximum(known @ a**2, 1e-9), -1, 1)
    return np.asarray(a)


def _most_active(Y: Annotations) -> Annotations:
    """Return the labels of the annotators with the most of them; confidences do not count."""
    kept = np.argsort(-Y.labels_per_annotator, kind="stable")[:MOST]
    place = np.full(Y.n_annotators, -1)
    place[kept] = np.arange(len(kept))
    labels = Y.only((Y.annotator >= 0) & (place[Y.annotator] >= 0))
    annotator = place[labels.annotator].astype(np.int32)
    return Annotations(labels.item, annotator, labels.label, labels.items, Y.annotators[kept], labels.labels)
