"""What becomes of a crowd's labels: some are copied, most are never given."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from whoknows.data.annotations import Annotations
from whoknows.data.simulate.arguments import (
    Floats,
    Labels,
    one_each,
    refuse_unless_count,
    refuse_unless_share,
    stream,
)


def copycats(own: Any, copied: Any, share: float = 0.7, random_state: Any = 0) -> Labels:
    """Annotators who copy another's label with probability ``share``, and else say what they think.

    Parameters
    ----------
    own : (n_items, n_annotators)
        What they would say by themselves: labels of any kind in this module.
    copied : (n_items, n_annotators) or (n_items, 1)
        What those they copy said, such as ``labels[:, [0, 0, 2]]``.
    share : float
    random_state : int or Generator

    Returns
    -------
    (n_items, n_annotators)

    Examples
    --------
    >>> import numpy as np
    >>> from whoknows.data.simulate import constant_accuracies, copycats
    >>> labels = constant_accuracies([0, 1] * 50, [0.9, 0.6])
    >>> labels = np.column_stack([labels, copycats(labels[:, [1]], labels[:, [0]], share=1.0)])
    >>> bool((labels[:, 2] == labels[:, 0]).all())
    True
    """
    own, copied = np.asarray(own), np.asarray(copied)
    if own.ndim != 2 or copied.ndim != 2 or copied.shape not in (own.shape, (len(own), 1)):
        raise ValueError(
            "Expected own and copied of one shape (n_items, n_annotators), or one column of copied; "
            f"got {own.shape} and {copied.shape}. Take columns as labels[:, [0]]."
        )
    refuse_unless_share(share, "share=")
    copies = stream("copycats", random_state).random(own.shape) < share
    return np.asarray(np.where(copies, copied, own))


def hide(
    labels: Any, *, items: float = 1.0, seen: Any = 1.0, per_item: int | None = None, random_state: Any = 0
) -> Annotations:
    """Hide labels at random, as if never given. What is left can go into ``fit``.

    Parameters
    ----------
    labels : (n_items, n_annotators) or Annotations
        A matrix, or annotations already: to name annotators, or to thin out a real crowd.
    items : float
        Share of the labelled items that stay labelled; the others lose all their labels.
    seen : float or (n_annotators,)
        Share of these items' labels that each annotator keeps.
    per_item : int, optional
        Most labels an item keeps, of those left by then. Exactly so many where ``seen`` is 1.
    random_state : int or Generator

    Returns
    -------
    Annotations
        All items, annotators and classes are still known.

    Examples
    --------
    >>> from whoknows.data.simulate import constant_accuracies, hide
    >>> labels = constant_accuracies([0, 1] * 50, [0.9, 0.8, 0.7, 0.6])
    >>> hide(labels, items=0.3, per_item=2)
    Annotations(n_items=100, n_annotators=4, n_classes=2, n_annotations=60)
    """
    said = labels if isinstance(labels, Annotations) else Annotations.from_matrix(labels)
    refuse_unless_share(items, "items=")
    shares = _shares(seen, said.n_annotators)
    rng = stream("hide", random_state)
    labelled = np.flatnonzero(said.labelled)
    stays = np.isin(said.item, rng.permutation(labelled)[: round(items * len(labelled))])
    given = np.bincount(said.annotator[stays], minlength=said.n_annotators)
    stays[stays] = _draw(said.annotator[stays], np.rint(shares * given), rng)
    if per_item is not None:
        refuse_unless_count(per_item, "per_item=")
        stays[stays] = _draw(said.item[stays], np.full(said.n_items, float(per_item)), rng)
    return said.only(stays)


def _shares(seen: Any, n_annotators: int) -> Floats:
    """One share an annotator, from one for all or one for each."""
    shares = one_each(np.atleast_1d(seen), "seen=")
    if len(shares) not in (1, n_annotators):
        raise ValueError(
            f"seen= must be one share, or one for each of {n_annotators} annotators; got {len(shares)}."
        )
    refuse_unless_share(shares, "seen=")
    return np.broadcast_to(shares, n_annotators)


def _draw(group: NDArray[np.int32], most: Floats, rng: np.random.Generator) -> NDArray[np.bool_]:
    """Which members to keep if each group keeps at most so many of them, drawn at random."""
    order = np.lexsort((rng.random(len(group)), group))
    ordered = group[order]
    keep = np.empty(len(group), dtype=np.bool_)
    keep[order] = np.arange(len(group)) - np.searchsorted(ordered, ordered) < most[ordered]
    return keep
