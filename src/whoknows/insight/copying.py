"""Copying: pairs of annotators that agree more than their expertise explains."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import betainc
from scipy.stats import false_discovery_control

from whoknows._array import Array
from whoknows.data.annotations import Annotations
from whoknows.data.errors import InputError
from whoknows.data.vocabulary import Ids, elements, show
from whoknows.insight.pairwise import AnnotatorPairs, pair_names


@dataclass(frozen=True, eq=False)
class CopyingSuspects:
    """Pairs that agree more than independent errors explain; smallest p value first.

    Attributes
    ----------
    first, second : ids of shape (n_pairs,)
    n_items : int array of shape (n_pairs,)
        Number of items both labelled.
    observed, expected : (n_pairs,)
        Agreements on these, and their expected number for two independent annotators of this expertise.
    mistakes, mistakes_expected : (n_pairs,)
        The same for agreements on a wrong label, according to the posterior. The posterior depends on the
        labels of the pair too, so ``mistakes`` is biased downwards. The test does not use it.
    z, p : (n_pairs,)
        Standard score and one-sided p value.
    p_adjusted : (n_pairs,)
        p value adjusted by Benjamini and Hochberg: expected share of false positives among the pairs up to
        this one.
    n_tested : int
        Number of pairs with common items.
    """

    first: Ids
    second: Ids
    n_items: NDArray[np.intp]
    observed: NDArray[np.intp]
    expected: Array
    mistakes: Array
    mistakes_expected: Array
    z: Array
    p: Array
    p_adjusted: Array
    n_tested: int

    def __len__(self) -> int:
        """Return the number of pairs."""
        return len(self.first)

    def __repr__(self) -> str:
        """Return counts, not arrays."""
        return f"CopyingSuspects(n_pairs={len(self)}, n_tested={self.n_tested})"

    def __str__(self) -> str:
        """Return one line per pair."""
        if not len(self):
            return f"None of {self.n_tested} pairs agrees more than their expertise explains."
        lines = [f"{len(self)} of {self.n_tested} pairs agree more than their expertise explains:"]
        lines += [
            f"  {pair}: {self.observed[j]} of {self.n_items[j]} labels agree, "
            f"{self.expected[j]:.1f} expected; {self.mistakes[j]:.1f} shared mistakes, "
            f"{self.mistakes_expected[j]:.1f} expected; adjusted p {self.p_adjusted[j]:.1g}"
            for j, pair in enumerate(pair_names(self.first, self.second))
        ]
        return "\n".join(lines)


def copying_suspects(
    annotations: Annotations, posterior: Any, expertise: Any, level: float = 0.01
) -> CopyingSuspects:
    """Find pairs of annotators that agree more than a model expects: one may have copied from the other.

    If s and t are correct on item i with probabilities a_s and a_t, make independent errors and spread these
    evenly over the other K − 1 labels, they agree with probability

        e_i = a_s a_t + (1 − a_s)(1 − a_t) / (K − 1),

    whatever the truth. The number of agreements is compared with Σ e_i; z uses the variance Σ e_i (1 − e_i).
    The p value is the tail of a binomial distribution of the same mean, which is conservative for any number
    of items (Hoeffding 1956). It is 1 for pairs less than one agreement above the mean.

    A small p value means *more alike than the model explains*. Items that mislead everyone have the same
    effect: look at them before you accuse anyone. Copied labels also count twice in a fit: with few other
    annotators, the model may take the pair for two experts.

    Parameters
    ----------
    annotations : Annotations
    posterior : (n_items, n_classes)
        Probability of each class given the labels, columns as in ``annotations.labels``; such as
        ``posterior_`` of a fitted model.
    expertise : (n_items, n_annotators) or (n_annotators,)
        Probability that each annotator is correct, per item or overall; such as ``expertise(X)``.
    level : float
        False discovery rate: pairs with a smaller adjusted p value (Benjamini and Hochberg 1995) are kept.

    Returns
    -------
    CopyingSuspects
        Sorted by p value.

    Examples
    --------
    >>> import numpy as np
    >>> from whoknows import Annotations
    >>> from whoknows.insight import copying_suspects
    >>> rng = np.random.default_rng(0)
    >>> labels = np.where(rng.random((200, 3)) < 0.7, 1, 0)  # the truth is 1 throughout
    >>> labels[:, 2] = labels[:, 0]
    >>> annotations = Annotations.from_matrix(labels, annotators=["anna", "bob", "copycat"])
    >>> suspects = copying_suspects(annotations, np.tile([0.0, 1.0], (200, 1)), np.full(3, 0.7))
    >>> suspects.first, suspects.second, suspects.observed, suspects.expected.round()
    (array(['anna'], ...), array(['copycat'], ...), array([200]), array([116.]))
    """
    if not 0 < level < 1:
        raise InputError(f"level= must lie between 0 and 1; got {level}.")
    if annotations.n_classes < 2:
        raise InputError(
            f"Expected at least two labels in annotations.labels, got {show(elements(annotations.labels))}."
        )
    q, a = _label_posterior(annotations, posterior), _label_expertise(annotations, expertise)
    pairs = AnnotatorPairs(annotations)
    n, observed = pairs.n_items, pairs.sum(same_label=True)
    expected, wrong, variance = _if_independent(pairs, a, annotations.n_classes - 1)
    with np.errstate(divide="ignore", invalid="ignore"):  # expertise of exactly 0 or 1: infinite, or 0 / 0
        z = (observed - expected) / np.sqrt(variance)
    p = _binomial_tail(observed, n, expected)
    p_adjusted = false_discovery_control(p) if len(p) else p
    chosen = np.flatnonzero(p_adjusted < level)
    chosen = chosen[np.lexsort((-z[chosen], p[chosen]))]
    return CopyingSuspects(
        first=annotations.annotators[pairs.first[chosen]],
        second=annotations.annotators[pairs.second[chosen]],
        n_items=n[chosen].astype(np.intp),
        observed=observed[chosen].astype(np.intp),
        expected=expected[chosen],
        mistakes=pairs.sum(1 - q, same_label=True)[chosen],
        mistakes_expected=wrong[chosen],
        z=z[chosen],
        p=p[chosen],
        p_adjusted=p_adjusted[chosen],
        n_tested=len(n),
    )


def _if_independent(pairs: AnnotatorPairs, a: Array, others: int) -> tuple[Array, Array, Array]:
    """Σ e_i, its part on wrong labels, and Σ e_i (1 − e_i): each (n_pairs,)."""
    b = 1 - a
    wrong = pairs.sum(b, b) / others
    expected = pairs.sum(a, a) + wrong
    squares = pairs.sum(a**2, a**2) + 2 * pairs.sum(a * b, a * b) / others + pairs.sum(b**2, b**2) / others**2
    return expected, wrong, np.maximum(expected - squares, 0)


def _binomial_tail(observed: Array, n: Array, expected: Array) -> Array:
    """P(at least ``observed`` of n) at this mean; 1 where less than one above it: (n_pairs,)."""
    p = np.ones(len(n))
    high = observed >= expected + 1
    p[high] = betainc(observed[high], n[high] - observed[high] + 1, (expected / n)[high])
    return p


def _label_posterior(annotations: Annotations, posterior: Any) -> Array:
    """Posterior probability of each label that was given: (n_annotations,)."""
    q = np.asarray(posterior, dtype=float)
    expected = annotations.n_items, annotations.n_classes
    if q.shape != expected:
        raise InputError(
            f"Expected posterior of shape {expected}, one row per item and one column for each of the labels "
            f"{show(elements(annotations.labels))}; got {q.shape}."
        )
    return _check_probabilities(q[annotations.item, annotations.label], "posterior")


def _label_expertise(annotations: Annotations, expertise: Any) -> Array:
    """Probability that the annotator of each label is correct on its item: (n_annotations,)."""
    a = np.asarray(expertise, dtype=float)
    if a.shape not in (annotations.shape, annotations.shape[1:]):
        raise InputError(
            f"Expected expertise of shape {annotations.shape}, one row per item and one column per "
            f"annotator, or {annotations.shape[1:]}; got {a.shape}."
        )
    given = a[annotations.annotator] if a.ndim == 1 else a[annotations.item, annotations.annotator]
    return _check_probabilities(given, "expertise")


def _check_probabilities(values: Array, name: str) -> Array:
    """Raise unless values lie between 0 and 1, up to rounding."""
    wrong = values[~((values >= -1e-9) & (values <= 1 + 1e-9))]
    if wrong.size:
        raise InputError(f"Expected probabilities in {name}, between 0 and 1; got {wrong[0]}.")
    return np.clip(values, 0, 1)
