"""Annotators who name a class: experts, liars and those who do not look."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from whoknows.data.simulate.arguments import (
    Codes,
    Labels,
    classes_of,
    one_each,
    refuse_unless_count,
    refuse_unless_share,
    seed_of,
    stream,
)
from whoknows.data.vocabulary import elements, show

Kind = Literal["uniform", "prior", "constant"]


def cluster_experts(
    X: Any, z: Any, n_annotators: int = 5, error: float = 0.35, random_state: Any = 0
) -> Labels:
    """The labelers of the paper's Sec. 4.1: each an expert on one cluster of items.

    Items are put into as many k-means clusters as there are annotators. Annotator t labels cluster t without
    a mistake; every other item, each by itself, wrongly with probability ``error``. The paper has five
    annotators, 35 % and two classes, and does not say whether features were scaled: here they are
    standardised first. With more classes, a mistake is any of the others.

    Parameters
    ----------
    X : (n_items, n_features)
    z : (n_items,)
        The truth.
    n_annotators : int
    error : float
    random_state : int or Generator

    Returns
    -------
    (n_items, n_annotators)
        A label of every annotator for every item; hide what should be missing.
    """
    from sklearn.cluster import KMeans
    from sklearn.preprocessing import StandardScaler

    classes, codes = classes_of(z)
    refuse_unless_count(n_annotators, "n_annotators=")
    refuse_unless_share(error, "error=")
    if len(X) != len(codes):
        raise ValueError(f"Expected a row of X for each item of z, got {len(X)} rows and {len(codes)} items.")
    if len(X) < n_annotators:
        raise ValueError(
            f"Expected an item at least for each annotator's cluster, got {len(X)} items and {n_annotators} "
            "annotators. Ask for fewer with n_annotators=."
        )
    rng = np.random.default_rng(seed_of(random_state))
    seed = int(rng.integers(2**31 - 1))
    cluster = KMeans(n_annotators, n_init=10, random_state=seed).fit_predict(
        StandardScaler().fit_transform(X)
    )
    elsewhere = cluster[:, None] != np.arange(n_annotators)
    wrong = elsewhere & (rng.random(elsewhere.shape) < error)
    return _with_mistakes(classes, codes, wrong, rng)


def constant_accuracies(z: Any, accuracies: Any, random_state: Any = 0) -> Labels:
    """Annotators who are right with a probability of their own, the same on every item.

    Parameters
    ----------
    z : (n_items,)
        The truth: any labels, two classes or more.
    accuracies : (n_annotators,)
        Chance to be right. A mistake is any of the other classes.
    random_state : int or Generator

    Returns
    -------
    (n_items, n_annotators)

    Examples
    --------
    >>> from whoknows.data.simulate import constant_accuracies
    >>> constant_accuracies(["cat", "dog", "cat"], [1.0, 0.0])
    array([['cat', 'dog'],
           ['dog', 'cat'],
           ['cat', 'dog']], dtype='<U3')
    """
    classes, codes = classes_of(z)
    right = one_each(accuracies, "accuracies=")
    refuse_unless_share(right, "accuracies=")
    rng = stream("constant_accuracies", random_state)
    return _with_mistakes(classes, codes, rng.random((len(codes), len(right))) >= right, rng)


def class_experts(
    z: Any, knows: Sequence[Any], right: float = 0.95, elsewhere: float = 0.5, random_state: Any = 0
) -> Labels:
    """Experts by class: each knows some of the classes, and is poor at items of the others.

    Parameters
    ----------
    z : (n_items,)
        The truth.
    knows : sequence of length n_annotators
        The class or list of classes that each annotator knows, such as ``["cat", ["cat", "dog"]]``.
    right, elsewhere : float
        Chance to be right on a known and on any other class. A mistake is any of the other classes.
    random_state : int or Generator

    Returns
    -------
    (n_items, n_annotators)
    """
    classes, codes = classes_of(z)
    refuse_unless_share(right, "right=")
    refuse_unless_share(elsewhere, "elsewhere=")
    if not len(knows):
        raise ValueError("knows= must hold the classes of each annotator, got none.")
    known = np.column_stack([_is_known(classes, each) for each in knows])
    rng = stream("class_experts", random_state)
    accuracy = np.where(known, right, elsewhere)[codes]
    return _with_mistakes(classes, codes, rng.random(accuracy.shape) >= accuracy, rng)


def adversaries(z: Any, n_annotators: int = 1, error: float = 0.95, random_state: Any = 0) -> Labels:
    """Annotators who are reliably wrong: whoever sees through them learns as much as from an expert.

    Each has one wrong class for every true class, and says it with probability ``error``; else the truth.

    Parameters
    ----------
    z : (n_items,)
        The truth.
    n_annotators : int
    error : float
    random_state : int or Generator

    Returns
    -------
    (n_items, n_annotators)

    Examples
    --------
    >>> from whoknows.data.simulate import adversaries
    >>> adversaries([0, 1, 1], error=1.0).ravel()
    array([1, 0, 0])
    """
    classes, codes = classes_of(z)
    refuse_unless_count(n_annotators, "n_annotators=")
    refuse_unless_share(error, "error=")
    rng = stream("adversaries", random_state)
    shift = rng.integers(1, len(classes), n_annotators)
    wrong = rng.random((len(codes), n_annotators)) < error
    said: Labels = classes[(codes[:, None] + shift * wrong) % len(classes)]
    return said


def spammers(z: Any, n_annotators: int = 1, kind: Kind = "uniform", random_state: Any = 0) -> Labels:
    """Annotators who do not look at the item.

    Parameters
    ----------
    z : (n_items,)
        The truth, of which only the classes and, for "prior", their shares are used.
    n_annotators : int
    kind : {"uniform", "prior", "constant"}
        They say any class, each as often; any class, as often as it is true; or, each of them, one class
        drawn at the start and no other.
    random_state : int or Generator

    Returns
    -------
    (n_items, n_annotators)
    """
    classes, codes = classes_of(z)
    refuse_unless_count(n_annotators, "n_annotators=")
    rng = stream("spammers", random_state)
    shape = len(codes), n_annotators
    if kind == "uniform":
        said = rng.integers(len(classes), size=shape)
    elif kind == "prior":
        said = rng.choice(codes, size=shape)
    elif kind == "constant":
        said = np.tile(rng.integers(len(classes), size=n_annotators), (len(codes), 1))
    else:
        raise ValueError(f"kind= must be 'uniform', 'prior' or 'constant'; got {kind!r}.")
    spam: Labels = classes[said]
    return spam


def _with_mistakes(
    classes: Labels, codes: Codes, wrong: NDArray[np.bool_], rng: np.random.Generator
) -> Labels:
    """The truth, and any of the other classes where wrong; shape of wrong."""
    shift = wrong * rng.integers(1, len(classes), wrong.shape)
    return np.asarray(classes[(codes[:, None] + shift) % len(classes)])


def _is_known(classes: Labels, known: Any) -> NDArray[np.bool_]:
    """Which classes are among those an annotator knows: one class, or a list of them."""
    listed = list(known) if isinstance(known, (list, tuple, set, frozenset, np.ndarray)) else [known]
    strange = [each for each in listed if each not in elements(classes)]
    if strange:
        raise ValueError(f"knows= must hold classes of z, {show(elements(classes))}; got {show(strange)}.")
    return np.array([each in listed for each in elements(classes)])
