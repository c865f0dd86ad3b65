"""Bundled data for a first look: tumours with features, and five simulated annotators."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from whoknows.data.annotations import Annotations

ANNOTATORS = ("anna", "bruno", "chloe", "dmitri", "emeka")
SHARE_LABELLED = 0.3


@dataclass(frozen=True, eq=False)
class Tumours:
    """Items, their features and true labels, and what the annotators said.

    Parameters
    ----------
    annotations : Annotations
    features : (n_items, n_features)
    names : list of n_features str
    truth : (n_items,)
        The true labels, as text.
    """

    annotations: Annotations
    features: Any
    names: list[str]
    truth: Any


def tumours() -> Tumours:
    """Return 569 tumours; each annotator is always right on one cluster and wrong on a third of the others."""
    import numpy as np
    from sklearn.datasets import load_breast_cancer

    from whoknows import Annotations
    from whoknows.data.simulate import cluster_experts

    data = load_breast_cancer()
    X, truth = data.data, data.target_names[data.target]
    labels = cluster_experts(X, truth, n_annotators=len(ANNOTATORS), random_state=0)
    labelled = np.random.default_rng(0).random(len(X)) < SHARE_LABELLED
    items = [f"tumour {i:03d}" for i in range(1, len(X) + 1)]
    labels = np.where(labelled[:, None], labels, None)
    annotations = Annotations.from_matrix(labels, items=items, annotators=list(ANNOTATORS))
    return Tumours(annotations, X, data.feature_names.tolist(), truth)
