"""Weights of several models, by how well each foretells labels it did not see."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.special import logsumexp

from whoknows._array import Array, Mask

PRIOR_ITEMS = 3.0  # items spread evenly over the members: few labels cannot tell them apart
PRIOR_SHARE = 0.3  # of all items, spread evenly within a kind: averaging is right more often than choosing
ROUNDS = 500  # of EM


def weigh(log_lik: Array, kinds: Any, spectral: Mask) -> Array:
    """Weights of the members, (n_members,); those with a graph have to earn theirs.

    They look at unlabelled items, too, and where these say nothing of the classes they are worse than the
    others in ways that few held-out labels do not show. So they count only where, stacked by themselves, they
    foretell held-out labels better than the others do.

    Parameters
    ----------
    log_lik : (n_items, n_members)
        Log-likelihood of each item's labels under each member, which did not see them.
    kinds : (n_members,)
        Members of one kind differ in how they see x, of different kinds in what annotators are like.
    spectral : (n_members,)
        Which members have a graph.
    """
    kinds = np.asarray(kinds)
    if not spectral.any() or spectral.all() or len(log_lik) < 2:
        return stack(log_lik, kinds)
    alone = np.zeros((2, len(spectral)))
    for row, part in enumerate((~spectral, spectral)):
        alone[row, part] = stack(log_lik[:, part], kinds[part])
    others, graph = (float(logsumexp(log_lik, axis=1, b=weights).sum()) for weights in alone)
    return stack(log_lik, kinds) if graph > others else alone[0]


def stack(log_lik: Array, kinds: Any) -> Array:
    """Weights that maximise Σ_i log Σ_m w_m l_im, members of one kind drawn towards each other: (n_members,).

    What foretells noisy labels best need not be right most often, and an average over maps and prior
    variances usually is. A kind of annotators that does not fit has to go, and does.
    """
    n_items, n_members = log_lik.shape
    weights = np.full(n_members, 1 / n_members)
    _, kind = np.unique(kinds, return_inverse=True)
    size = np.bincount(kind)
    lik = np.exp(log_lik - log_lik.max(axis=1, keepdims=True)) if n_items else log_lik
    for _ in range(ROUNDS if n_items else 0):
        share = weights * lik
        even = (np.bincount(kind, weights=weights) / size)[kind]
        weights = (share / share.sum(axis=1, keepdims=True)).sum(axis=0)
        weights += PRIOR_ITEMS / n_members + PRIOR_SHARE * n_items * even
        weights /= weights.sum()
    return weights
