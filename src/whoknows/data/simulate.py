"""Annotators made up for items whose truth is known: to try a method where the answer can be checked."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray


def cluster_experts(
    X: Any, z: Any, n_annotators: int = 5, error: float = 0.35, random_state: int = 0
) -> NDArray[Any]:
    """The labelers of the paper's Sec. 4.1: each an expert on one cluster of items.

    Items are put into as many k-means clusters as there are annotators (features standardised first).
    Annotator t labels cluster t without a mistake and is wrong on a share ``error`` of all other items.

    Parameters
    ----------
    X : (n_items, n_features)
    z : (n_items,)
        The truth, two classes.
    n_annotators : int
    error : float
    random_state : int

    Returns
    -------
    (n_items, n_annotators)
        A label of every annotator for every item; hide what should be missing.
    """
    from sklearn.cluster import KMeans
    from sklearn.preprocessing import StandardScaler

    z = np.asarray(z)
    classes, codes = np.unique(z, return_inverse=True)
    if len(classes) != 2:
        raise ValueError(f"cluster_experts flips labels between two classes; z has {len(classes)}.")
    rng = np.random.default_rng(random_state)
    seed = int(rng.integers(2**31 - 1))
    cluster = KMeans(n_annotators, n_init=10, random_state=seed).fit_predict(
        StandardScaler().fit_transform(X)
    )
    elsewhere = cluster[:, None] != np.arange(n_annotators)
    wrong = elsewhere & (rng.random(elsewhere.shape) < error)
    return np.asarray(classes[np.where(wrong, 1 - codes[:, None], codes[:, None])])
