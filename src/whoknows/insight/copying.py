"""Who may have copied: pairs of annotators that agree more than their expertise explains."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import betainc

from whoknows._array import Array
from whoknows.data.annotations import Annotations
from whoknows.data.errors import InputError
from whoknows.data.vocabulary import Ids, elements, show
from whoknows.insight.meetings import Meetings, pair_names


@dataclass(frozen=True, eq=False)
class CopyingSuspects:
    """Pairs that agree more than independent errors allow; most surprising first.

    Attributes
    ----------
    first, second : ids of shape (n_pairs,)
    n_items : int array of shape (n_pairs,)
        Items both labelled.
    observed, expected : (n_pairs,)
        Agreements on these, and how many two independent annotators of this expertise would have.
    mistakes, mistakes_expected : (n_pairs,)
        The same for agreements on a wrong label, wrong as the posterior has it. It heard the pair too, so
        ``mistakes`` is rather low. For reading; the test does not use it.
    z, p : (n_pairs,)
        Standard score, and one-sided p value.
    p_adjusted : (n_pairs,)
        p after Benjamini and Hochberg: among all pairs up to here, this share may be innocent.
    n_tested : int
        Pairs with common items, suspect or not.
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
        """Count the suspects."""
        return len(self.first)

    def __repr__(self) -> str:
        """Give counts, not arrays."""
        return f"CopyingSuspects(n_pairs={len(self)}, n_tested={self.n_tested})"

    def __str__(self) -> str:
        """One line a pair."""
        if not len(self):
            return f"None of {self.n_tested} pairs agrees more than their expertise explains."
        lines = [f"{len(self)} of {self.n_tested} pairs agree more than their expertise explains:"]
        lines += [
            f"  {pair}: {self.observed[j]} of {self.n_items[j]} labels agree, "
            f"{self.expected[j]:.1f} expected; {self.mistakes[j]:.1f} wrong alike, "
            f"{self.mistakes_expected[j]:.1f} expected; adjusted p {self.p_adjusted[j]:.1g}"
            for j, pair in enumerate(pair_names(self.first, self.second))
        ]
        return "\n".join(lines)


def copying_suspects(
    said: Annotations, posterior: Any, expertise: Any, level: float = 0.01
) -> CopyingSuspects:
    """Pairs of annotators that agree more than a model expects: one may have copied from the other.

    If s and t are right on item i with probabilities a_s and a_t, err independently and spread their errors
    evenly over the other K − 1 labels, they agree with probability

        e_i = a_s a_t + (1 − a_s)(1 − a_t) / (K − 1),

    whatever the truth. Agreements are compared with Σ e_i; z has the variance Σ e_i (1 − e_i). The p value is
    the tail of a binomial of the same mean, which for a surprising number of agreements is never too small
    (Hoeffding 1956), however few the items. It is 1 for pairs less than one agreement above the mean.

    A small p says *more alike than the model explains*. Items that mislead everyone do that too: look at them
    before you accuse anyone. And a copied label counts twice in a fit: with few other annotators the pair
    passes for two experts.

    Parameters
    ----------
    said : Annotations
    posterior : (n_items, n_classes)
        Truth of each item given the labels, columns as in ``said.labels``; such as ``posterior_`` of a fit.
    expertise : (n_items, n_annotators) or (n_annotators,)
        Probability that each annotator is right, on each item or on all alike; such as ``expertise(X)``.
    level : float
        Pairs whose p, adjusted for the number of pairs (Benjamini and Hochberg 1995), is below it.

    Returns
    -------
    CopyingSuspects
        Sorted by p.

    Examples
    --------
    >>> import numpy as np
    >>> from whoknows import Annotations
    >>> from whoknows.insight import copying_suspects
    >>> rng = np.random.default_rng(0)
    >>> labels = np.where(rng.random((200, 3)) < 0.7, 1, 0)  # the truth is 1 throughout
    >>> labels[:, 2] = labels[:, 0]
    >>> said = Annotations.from_matrix(labels, annotators=["anna", "bob", "copycat"])
    >>> suspects = copying_suspects(said, np.tile([0.0, 1.0], (200, 1)), np.full(3, 0.7))
    >>> suspects.first, suspects.second, suspects.observed, suspects.expected.round()
    (array(['anna'], ...), array(['copycat'], ...), array([200]), array([116.]))
    """
    if not 0 < level < 1:
        raise InputError(f"level= must lie between 0 and 1; got {level}.")
    if said.n_classes < 2:
        raise InputError(f"Expected at least two labels in said.labels, got {show(elements(said.labels))}.")
    q, a = _label_posterior(said, posterior), _label_expertise(said, expertise)
    meetings = Meetings(said)
    n, observed = meetings.n_items, meetings.sum(same_label=True)
    expected, wrong, variance = _if_independent(meetings, a, said.n_classes - 1)
    with np.errstate(divide="ignore", invalid="ignore"):  # annotators without doubt: infinite, or 0 / 0
        z = (observed - expected) / np.sqrt(variance)
    p = _binomial_tail(observed, n, expected)
    p_adjusted = _benjamini_hochberg(p)
    chosen = np.flatnonzero(p_adjusted < level)
    chosen = chosen[np.lexsort((-z[chosen], p[chosen]))]
    return CopyingSuspects(
        first=said.annotators[meetings.first[chosen]],
        second=said.annotators[meetings.second[chosen]],
        n_items=n[chosen].astype(np.intp),
        observed=observed[chosen].astype(np.intp),
        expected=expected[chosen],
        mistakes=meetings.sum(1 - q, same_label=True)[chosen],
        mistakes_expected=wrong[chosen],
        z=z[chosen],
        p=p[chosen],
        p_adjusted=p_adjusted[chosen],
        n_tested=len(n),
    )


def _if_independent(meetings: Meetings, a: Array, others: int) -> tuple[Array, Array, Array]:
    """Σ e_i, its part on wrong labels, and Σ e_i (1 − e_i): each (n_pairs,)."""
    b = 1 - a
    wrong = meetings.sum(b, b) / others
    expected = meetings.sum(a, a) + wrong
    squares = (
        meetings.sum(a**2, a**2)
        + 2 * meetings.sum(a * b, a * b) / others
        + meetings.sum(b**2, b**2) / others**2
    )
    return expected, wrong, np.maximum(expected - squares, 0)


def _binomial_tail(observed: Array, n: Array, expected: Array) -> Array:
    """P(at least ``observed`` of n) at this mean; 1 where less than one above it: (n_pairs,)."""
    p = np.ones(len(n))
    high = observed >= expected + 1
    p[high] = betainc(observed[high], n[high] - observed[high] + 1, (expected / n)[high])
    return p


def _benjamini_hochberg(p: Array) -> Array:
    """Smallest share of false discoveries at which each p would be discovered: (n,)."""
    order = np.argsort(p)[::-1]
    adjusted = np.empty_like(p)
    adjusted[order] = np.minimum.accumulate(p[order] * len(p) / np.arange(len(p), 0, -1))
    return adjusted


def _label_posterior(said: Annotations, posterior: Any) -> Array:
    """Posterior probability of each label that was given: (n_annotations,)."""
    q = np.asarray(posterior, dtype=float)
    if q.shape != (said.n_items, said.n_classes):
        raise InputError(
            f"Expected posterior of shape {(said.n_items, said.n_classes)}, a row an item and a column for "
            f"each of the labels {show(elements(said.labels))}; got {q.shape}."
        )
    return _refuse_improbable(q[said.item, said.label], "posterior")


def _label_expertise(said: Annotations, expertise: Any) -> Array:
    """Probability that whoever gave each label is right there: (n_annotations,)."""
    a = np.asarray(expertise, dtype=float)
    if a.shape not in (said.shape, said.shape[1:]):
        raise InputError(
            f"Expected expertise of shape {said.shape}, a row an item and a column an annotator, "
            f"or {said.shape[1:]}; got {a.shape}."
        )
    given = a[said.annotator] if a.ndim == 1 else a[said.item, said.annotator]
    return _refuse_improbable(given, "expertise")


def _refuse_improbable(values: Array, name: str) -> Array:
    """Probabilities lie between 0 and 1; rounding may push them a hair beyond."""
    wrong = values[~((values >= -1e-9) & (values <= 1 + 1e-9))]
    if wrong.size:
        raise InputError(f"Expected probabilities in {name}, between 0 and 1; got {wrong[0]}.")
    return np.clip(values, 0, 1)
