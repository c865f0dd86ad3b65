"""Simulated annotators for items whose true label is known, to evaluate a method.

Every function returns a complete matrix (n_items, n_annotators). A mixed crowd is ``np.column_stack`` of
several, and `hide` removes labels, as in real data. ``random_state`` is a seed, or one
``np.random.Generator`` passed from call to call. With equal seeds, two calls of one function draw the same
numbers, two functions do not.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from whoknows.data.annotations import Annotations
from whoknows.data.errors import InputError
from whoknows.data.vocabulary import elements, factorize, show, sorted_if_possible, tight_array

Labels = NDArray[Any]
Floats = NDArray[np.float64]
Codes = NDArray[np.intp]
Kind = Literal["uniform", "prior", "constant"]


def cluster_experts(X: Any, z: Any, n_annotators: int = 5, error: float = 0.35, random_state: Any = 0) -> Labels:
    """Simulate the labelers of Sec. 4.1 of the paper: each is an expert on one cluster of items.

    K-means puts the items into as many clusters as there are annotators. Annotator t makes no errors in
    cluster t, and errs on every other item independently with probability ``error``. The paper has five
    annotators, 35 % and two classes, and does not say whether features were scaled: here they are
    standardised first. For more than two classes, an error is any of the other classes.

    Parameters
    ----------
    X : (n_items, n_features)
    z : (n_items,)
        The true labels.
    n_annotators : int
    error : float
    random_state : int or Generator

    Returns
    -------
    (n_items, n_annotators)
        A label by every annotator for every item; see `hide`.
    """
    from sklearn.cluster import KMeans
    from sklearn.preprocessing import StandardScaler

    classes, codes = _classes_of(z)
    _refuse_unless_count(n_annotators, "n_annotators=")
    _refuse_unless_share(error, "error=")
    if len(X) != len(codes):
        raise InputError(f"Expected a row of X for each item of z, got {len(X)} rows and {len(codes)} items.")
    if len(X) < n_annotators:
        raise InputError(
            f"Expected at least one item per annotator, got {len(X)} items and {n_annotators} annotators. "
            "Pass a smaller n_annotators=."
        )
    rng = _stream("", random_state)
    seed = int(rng.integers(2**31 - 1))
    cluster = KMeans(n_annotators, n_init=10, random_state=seed).fit_predict(StandardScaler().fit_transform(X))
    elsewhere = cluster[:, None] != np.arange(n_annotators)
    wrong = elsewhere & (rng.random(elsewhere.shape) < error)
    return _with_errors(classes, codes, wrong, rng)


def constant_accuracies(z: Any, accuracies: Any, random_state: Any = 0) -> Labels:
    """Simulate annotators each of whom has the same accuracy on every item.

    Parameters
    ----------
    z : (n_items,)
        The true labels, of two classes or more.
    accuracies : (n_annotators,)
        Probability of a correct label. An error is any of the other classes.
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
    classes, codes = _classes_of(z)
    right = _one_each(accuracies, "accuracies=")
    _refuse_unless_share(right, "accuracies=")
    rng = _stream("constant_accuracies", random_state)
    return _with_errors(classes, codes, rng.random((len(codes), len(right))) >= right, rng)


def class_experts(
    z: Any, knows: Sequence[Any], right: float = 0.95, elsewhere: float = 0.5, random_state: Any = 0
) -> Labels:
    """Simulate experts on some of the classes, with a lower accuracy on items of the others.

    Parameters
    ----------
    z : (n_items,)
        The true labels.
    knows : sequence of length n_annotators
        The class or list of classes that each annotator knows, such as ``["cat", ["cat", "dog"]]``.
    right, elsewhere : float
        Probability of a correct label for a known and for any other class. An error is any other class.
    random_state : int or Generator

    Returns
    -------
    (n_items, n_annotators)
    """
    classes, codes = _classes_of(z)
    _refuse_unless_share(right, "right=")
    _refuse_unless_share(elsewhere, "elsewhere=")
    if not len(knows):
        raise InputError("knows= must hold the classes of each annotator, got none.")
    known = np.column_stack([_is_known(classes, each) for each in knows])
    rng = _stream("class_experts", random_state)
    accuracy = np.where(known, right, elsewhere)[codes]
    return _with_errors(classes, codes, rng.random(accuracy.shape) >= accuracy, rng)


def adversaries(z: Any, n_annotators: int = 1, error: float = 0.95, random_state: Any = 0) -> Labels:
    """Simulate annotators who are consistently wrong, and therefore as informative as an expert.

    Each has one wrong class per true class, and chooses it with probability ``error``, else the true class.

    Parameters
    ----------
    z : (n_items,)
        The true labels.
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
    classes, codes = _classes_of(z)
    _refuse_unless_count(n_annotators, "n_annotators=")
    _refuse_unless_share(error, "error=")
    rng = _stream("adversaries", random_state)
    shift = rng.integers(1, len(classes), n_annotators)
    wrong = rng.random((len(codes), n_annotators)) < error
    labels: Labels = classes[(codes[:, None] + shift * wrong) % len(classes)]
    return labels


def spammers(z: Any, n_annotators: int = 1, kind: Kind = "uniform", random_state: Any = 0) -> Labels:
    """Simulate annotators whose labels do not depend on the item.

    Parameters
    ----------
    z : (n_items,)
        The true labels, of which only the classes and, for "prior", their frequencies are used.
    n_annotators : int
    kind : {"uniform", "prior", "constant"}
        Labels are drawn uniformly, or by the frequency of the true classes, or each annotator always uses
        one class, drawn once.
    random_state : int or Generator

    Returns
    -------
    (n_items, n_annotators)
    """
    classes, codes = _classes_of(z)
    _refuse_unless_count(n_annotators, "n_annotators=")
    rng = _stream("spammers", random_state)
    shape = len(codes), n_annotators
    if kind == "uniform":
        labels = rng.integers(len(classes), size=shape)
    elif kind == "prior":
        labels = rng.choice(codes, size=shape)
    elif kind == "constant":
        labels = np.tile(rng.integers(len(classes), size=n_annotators), (len(codes), 1))
    else:
        raise InputError(f"kind= must be 'uniform', 'prior' or 'constant'; got {kind!r}.")
    spam: Labels = classes[labels]
    return spam


def _with_errors(classes: Labels, codes: Codes, wrong: NDArray[np.bool_], rng: np.random.Generator) -> Labels:
    """Return the true classes, and any other class where ``wrong``; in the shape of ``wrong``."""
    shift = wrong * rng.integers(1, len(classes), wrong.shape)
    return np.asarray(classes[(codes[:, None] + shift) % len(classes)])


def _is_known(classes: Labels, known: Any) -> NDArray[np.bool_]:
    """Return which classes an annotator knows, who is given as one class or a list of them."""
    listed = list(known) if isinstance(known, (list, tuple, set, frozenset, np.ndarray)) else [known]
    others = [each for each in listed if each not in elements(classes)]
    if others:
        raise InputError(f"knows= must hold classes of z, {show(elements(classes))}; got {show(others)}.")
    return np.array([each in listed for each in elements(classes)])


def ordered_scores(z: Any, severity: Any, spread: Any, n_levels: int = 5, random_state: Any = 0) -> Codes:
    """Simulate scores 1, …, n_levels: true score plus severity plus noise, rounded and clipped.

    y = min(max(round(z + severity_t + spread_t ε), 1), n_levels), with ε ~ N(0, 1).

    Parameters
    ----------
    z : (n_items,)
        The true scores on the same scale, integers or not.
    severity : (n_annotators,)
        How many levels each annotator scores above the true score; below if negative.
    spread : (n_annotators,), or (n_items, n_annotators) if it depends on the item
    n_levels : int
    random_state : int or Generator

    Returns
    -------
    (n_items, n_annotators)
        Integers.
    """
    _refuse_unless_count(n_levels, "n_levels=")
    levels = _finite_numbers(z, "z")
    if levels.size and not (levels.min() >= 1 and levels.max() <= n_levels):
        raise InputError(
            f"Expected true scores between 1 and n_levels={n_levels}, got values from {levels.min():g} "
            f"to {levels.max():g}. Shift them, or pass n_levels=."
        )
    severity = _one_each(severity, "severity=")
    noisy = _noisy(levels, severity, spread, _stream("ordered_scores", random_state))
    return np.clip(np.rint(noisy), 1, n_levels).astype(np.intp)


def real_values(z: Any, bias: Any, spread: Any, random_state: Any = 0) -> Floats:
    """Simulate real numbers: y = z + bias_t + spread_t ε, with ε ~ N(0, 1).

    Parameters
    ----------
    z : (n_items,)
        The true values.
    bias : (n_annotators,)
    spread : (n_annotators,), or (n_items, n_annotators) if it depends on the item
    random_state : int or Generator

    Returns
    -------
    (n_items, n_annotators)
    """
    bias = _one_each(bias, "bias=")
    return _noisy(_finite_numbers(z, "z"), bias, spread, _stream("real_values", random_state))


def _noisy(z: Floats, bias: Floats, spread: Any, rng: np.random.Generator) -> Floats:
    """Return z + bias_t + spread ε, shape (n_items, n_annotators)."""
    shape = len(z), len(bias)
    spread = np.asarray(spread, dtype=float)
    if spread.shape not in ((), shape[1:], shape) or not (np.isfinite(spread) & (spread >= 0)).all():
        raise InputError(
            f"spread= must hold one number of at least 0 for each annotator, shape {shape[1:]}, or for each "
            f"item and annotator, shape {shape}; got shape {spread.shape}"
            f"{f' and {spread.min():g} as the smallest' if spread.size else ''}."
        )
    noisy: Floats = z[:, None] + bias + spread * rng.normal(size=shape)
    return noisy


def copycats(own: Any, copied: Any, share: float = 0.7, random_state: Any = 0) -> Labels:
    """Simulate annotators who copy another's label with probability ``share``.

    Parameters
    ----------
    own : (n_items, n_annotators)
        Their own labels, from any other function of this module.
    copied : (n_items, n_annotators) or (n_items, 1)
        The labels that they copy, such as ``labels[:, [0, 0, 2]]``.
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
        raise InputError(
            "Expected own and copied of one shape (n_items, n_annotators), or one column of copied; "
            f"got {own.shape} and {copied.shape}. Take columns as labels[:, [0]]."
        )
    _refuse_unless_share(share, "share=")
    copies = _stream("copycats", random_state).random(own.shape) < share
    return np.asarray(np.where(copies, copied, own))


def hide(
    labels: Any, *, items: float = 1.0, seen: Any = 1.0, per_item: int | None = None, random_state: Any = 0
) -> Annotations:
    """Remove labels at random; the rest can be passed to ``fit``.

    Parameters
    ----------
    labels : (n_items, n_annotators) or Annotations
        A matrix; or annotations, to name annotators or to thin out real data.
    items : float
        Share of the labelled items that keep labels; the others lose all of them.
    seen : float or (n_annotators,)
        Share of their labels of these items that annotators keep.
    per_item : int, optional
        Maximum number of labels per item after that; the exact number if ``seen`` is 1.
    random_state : int or Generator

    Returns
    -------
    Annotations
        With all items, annotators and classes.

    Examples
    --------
    >>> from whoknows.data.simulate import constant_accuracies, hide
    >>> labels = constant_accuracies([0, 1] * 50, [0.9, 0.8, 0.7, 0.6])
    >>> hide(labels, items=0.3, per_item=2)
    Annotations(n_items=100, n_annotators=4, n_classes=2, n_annotations=60)
    """
    Y = labels if isinstance(labels, Annotations) else Annotations.from_matrix(labels)
    _refuse_unless_share(items, "items=")
    shares = _shares(seen, Y.n_annotators)
    rng = _stream("hide", random_state)
    labelled = np.flatnonzero(Y.labelled)
    kept = np.isin(Y.item, rng.permutation(labelled)[: round(items * len(labelled))])
    n_labels = np.bincount(Y.annotator[kept], minlength=Y.n_annotators)
    kept[kept] = _draw(Y.annotator[kept], np.rint(shares * n_labels), rng)
    if per_item is not None:
        _refuse_unless_count(per_item, "per_item=")
        kept[kept] = _draw(Y.item[kept], np.full(Y.n_items, float(per_item)), rng)
    return Y.only(kept)


def _shares(seen: Any, n_annotators: int) -> Floats:
    """Return one share per annotator, from one for all or one for each."""
    shares = _one_each(np.atleast_1d(seen), "seen=")
    if len(shares) not in (1, n_annotators):
        raise InputError(f"seen= must be one share, or one for each of {n_annotators} annotators; got {len(shares)}.")
    _refuse_unless_share(shares, "seen=")
    return np.broadcast_to(shares, n_annotators)


def _draw(group: NDArray[np.int32], most: Floats, rng: np.random.Generator) -> NDArray[np.bool_]:
    """Return which members to keep if each group keeps at most ``most`` of them, drawn at random."""
    order = np.lexsort((rng.random(len(group)), group))
    ordered = group[order]
    keep = np.empty(len(group), dtype=np.bool_)
    keep[order] = np.arange(len(group)) - np.searchsorted(ordered, ordered) < most[ordered]
    return keep


# --- checks of arguments ---------------------------------------------------------------------------------


def _stream(kind: str, random_state: Any) -> np.random.Generator:
    """Return a generator for one kind of annotator: with one seed, two kinds must err on different items."""
    if isinstance(random_state, np.random.Generator):
        return random_state
    if isinstance(random_state, np.random.RandomState):  # as in scikit-learn
        random_state = random_state.randint(2**31 - 1)
    if random_state is None:
        return np.random.default_rng()
    if not isinstance(random_state, (int, np.integer)) or random_state < 0:
        raise InputError(
            f"random_state must be an integer of 0 or more, a Generator, a RandomState or None; got {random_state!r}."
        )
    return np.random.default_rng([int(random_state), *kind.encode()])


def _classes_of(z: Any) -> tuple[Labels, Codes]:
    """Return the sorted classes, and the code of each item's true class."""
    truth = factorize(z, "z")
    missing = np.flatnonzero(truth.codes < 0)
    if missing.size:
        raise InputError(
            f"Expected the true label of every item in z, got none in row {missing[0]} "
            f"(counting from 0; {missing.size} in total). Leave such items out."
        )
    values = sorted_if_possible(truth.values)
    if len(values) < 2:
        raise InputError(f"Expected two classes or more in z, got {show(values) or 'no items'}.")
    place = {value: code for code, value in enumerate(values)}
    return tight_array(values), np.array([place[value] for value in truth.values])[truth.codes]


def _finite_numbers(values: Any, name: str) -> Floats:
    """Return a list of finite numbers, one per item or annotator."""
    numbers = np.asarray(values, dtype=float)
    if numbers.ndim != 1 or not np.isfinite(numbers).all():
        raise InputError(
            f"{name} must be a list of finite numbers, got "
            f"{'NaN or inf in it' if numbers.ndim == 1 else f'an array of shape {numbers.shape}'}."
        )
    return numbers


def _one_each(values: Any, name: str) -> Floats:
    """Return one finite number per annotator, for one annotator or more."""
    numbers = _finite_numbers(values, name)
    if not len(numbers):
        raise InputError(f"{name} must hold a number for each annotator, got none.")
    return numbers


def _refuse_unless_share(share: Any, name: str) -> None:
    """Refuse a probability or a share outside of 0 to 1."""
    try:
        share = np.asarray(share, dtype=float)
    except (TypeError, ValueError):
        raise InputError(f"{name} must be between 0 and 1; got {share!r}.") from None
    bad = share[~((share >= 0) & (share <= 1))]
    if bad.size:
        raise InputError(f"{name} must be between 0 and 1; got {bad[0]:g}.")


def _refuse_unless_count(count: Any, name: str) -> None:
    """Refuse a count that is not an integer of at least 1."""
    if not isinstance(count, (int, np.integer)) or count < 1:
        raise InputError(f"{name} must be an integer of at least 1; got {count!r}.")
