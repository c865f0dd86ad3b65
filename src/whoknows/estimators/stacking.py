"""Weights of several models, by how well each foretells labels it did not see."""

from __future__ import annotations

import numpy as np
from scipy.special import logsumexp

from whoknows._array import Array, Mask

PRIOR_ITEMS = 3.0  # items' worth of weight spread evenly over the members: few labels cannot tell them apart
ROUNDS = 500  # of EM


def weigh(log_lik: Array, spectral: Mask, even: float = 0.0) -> Array:
    """Weights of the members, (n_members,); those with a graph have to earn theirs.

    They look at unlabelled items, too, and where these say nothing of the classes they are worse than the
    others in ways that few held-out labels do not show. So they count only where, stacked by themselves, they
    foretell held-out labels better than the others do.

    Parameters
    ----------
    log_lik : (n_items, n_members)
        Log-likelihood of each item's labels under each member, which did not see them.
    spectral : (n_members,)
        Which members have a graph.
    even : float
        As in `stack`.
    """
    if not spectral.any() or spectral.all() or len(log_lik) < 2:
        return stack(log_lik, even)
    alone = np.zeros((2, len(spectral)))
    for row, part in enumerate((~spectral, spectral)):
        alone[row, part] = stack(log_lik[:, part], even)
    others, graph = (float(logsumexp(log_lik, axis=1, b=weights).sum()) for weights in alone)
    return stack(log_lik, even) if graph > others else alone[0]


def stack(log_lik: Array, even: float = 0.0) -> Array:
    """Weights that maximise Σ_i log Σ_m w_m l_im, drawn towards an even share: (n_members,).

    ``even`` is how strongly, as a share of the items; three items' worth come on top.
    """
    n_items, n_members = log_lik.shape
    weights = np.full(n_members, 1 / n_members)
    prior = (PRIOR_ITEMS + even * n_items) / n_members
    lik = np.exp(log_lik - log_lik.max(axis=1, keepdims=True)) if n_items else log_lik
    for _ in range(ROUNDS if n_items else 0):
        share = weights * lik
        weights = (share / share.sum(axis=1, keepdims=True)).sum(axis=0) + prior
        weights /= weights.sum()
    return weights
