"""Labels grouped by annotator in padded blocks, so that many annotators are computed at once."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from whoknows._array import Array, Mask, Rows, like, namespace, rows_like, segment_sum
from whoknows.data.annotations import Annotations

FEWEST = 0.8  # of the labels of the first annotator in a block, to share it
NUMBERS_PER_BLOCK = 500_000  # what fits in a processor's cache
MOST_LOG_ODDS = 350.0  # of either term of η, so that e^−η is finite
TABLES = 2  # of labels × classes, that are in it at the same time


@dataclass(frozen=True)
class Block:
    """Annotators with about the same number of labels.

    Attributes
    ----------
    annotators : (n,)
        Codes, each once; −1 is an annotator not seen in training.
    rows : slice
        Position of their labels in `Pairs`: n times the same number.
    """

    annotators: Rows
    rows: slice


def in_block(values: Array, block: Block) -> Array:
    """Return a block's view of an array over labels: (n_annotators, n_labels, …)."""
    part, n = values[block.rows], len(block.annotators)
    return part.reshape(n, len(part) // n, *part.shape[1:])


@dataclass(frozen=True)
class Pairs:
    """Labels sorted by annotator in blocks; shorter rows are padded with labels of zero weight.

    A Python loop over two thousand annotators would take longer than the arithmetic on their labels.

    Attributes
    ----------
    labels : Annotations
        In the order of the blocks, (n_pairs,); padding has confidence 0. Codes and confidences are arrays of
        the same kind as ``x``.
    x : (n_pairs, n_features)
        Features of each label's item.
    blocks : list of Block
        The blocks of annotators.
    """

    labels: Annotations
    x: Array
    blocks: list[Block]


def group_labels(X: Array, Y: Annotations) -> Pairs:
    """Group the labels of items with features ``X`` by annotator."""
    place, real, blocks = _layout(Y, max(X.shape[1], TABLES * Y.n_classes))
    item, annotator, label = (rows_like(codes[place], X) for codes in (Y.item, Y.annotator, Y.label))
    confidence = like(np.where(real, Y.counts[place], 0.0), X)
    labels = Annotations(item, annotator, label, Y.items, Y.annotators, Y.labels, confidence)
    return Pairs(labels, X[item], blocks)


def _layout(Y: Annotations, n_numbers: int) -> tuple[Rows, Mask, list[Block]]:
    """Original position of each label, whether it is real, and the blocks."""
    groups = Y.by_annotator
    sizes = np.diff(groups.bounds)
    places, reals, end = [np.zeros(0, dtype=np.intp)], [np.zeros(0, dtype=bool)], 0
    blocks: list[Block] = []
    for annotators, first, most in _shapes(sizes, n_numbers):
        step = first + np.arange(most)
        real = step < sizes[annotators][:, None]
        within = np.minimum(step, sizes[annotators][:, None] - 1)
        places.append(groups.order[groups.bounds[annotators][:, None] + within].ravel())
        reals.append(real.ravel())
        codes = np.where(annotators == Y.n_annotators, -1, annotators)
        blocks.append(Block(codes, slice(end, end + real.size)))
        end += real.size
    return np.concatenate(places), np.concatenate(reals), blocks


def _shapes(sizes: Rows, n_numbers: int) -> Iterator[tuple[Rows, int, int]]:
    """Give for each block its annotators, the first of their labels in it, and the number of labels."""
    order = np.argsort(-sizes, kind="stable")
    order = order[sizes[order] > 0]
    longest = max(NUMBERS_PER_BLOCK // n_numbers, 1)  # labels; annotators with more get several blocks
    while len(order):
        most = int(sizes[order[0]])
        if most > longest:
            for first in range(0, most, longest):
                yield order[:1], first, min(longest, most - first)
            order = order[1:]
            continue
        alike = int((sizes[order] >= FEWEST * most).sum())
        n = min(alike, max(longest // most, 1))
        yield order[:n], 0, most
        order = order[n:]


# --- η_z = w_tᵀx + γ_t + k_tᵀ code_z, linear in (x, code_z), where x carries the constant --------------


def sum_over_labels(pairs: Pairs, q: Array, right: Array, w: Array, shift: Array) -> tuple[float, Array, Array]:
    """Σ over labels of q_z log σ(η_z) − [z ≠ l] q_z wᵀx at η_z = wᵀx + shift_z.

    Also its gradient in w, and Σ q_z σ(η_z) by annotator and class. ``q`` (n_pairs, n_classes) is p̃(z) of each label's
    item, ``right`` (n_pairs,) that of z = l. e^−η_z is a product of e^−wᵀx and e^−shift_z: there are far fewer
    of these than labels times classes.
    """
    value, slopes, expected = 0.0, np.zeros_like(w), np.zeros_like(shift)
    of_shift, ones = np.exp(-shift), np.ones(q.shape[1])
    for block in pairs.blocks:
        t, x, weight = block.annotators, in_block(pairs.x, block)[:, :, :-1], in_block(q, block)
        along, is_right = (x @ w[t, :, None])[:, :, 0].clip(-MOST_LOG_ODDS, MOST_LOG_ODDS), in_block(right, block)
        inverse = np.exp(-along)[:, :, None] * of_shift[t, None, :]
        inverse += 1  # 1 / σ(η)
        of_class = weight / inverse
        value -= np.vdot(weight @ ones - is_right, along) + np.vdot(weight, np.log(inverse, out=inverse))
        slopes[t] += ((is_right - of_class @ ones)[:, None, :] @ x)[:, 0]
        expected[t] += np.ones(x.shape[1]) @ of_class
    return float(value), slopes, expected


def moments_by_class(pairs: Pairs, codes: Array, mean: Array, covariance: Array | None) -> tuple[Array, Array]:
    """E[η_z] and E[η_z²] of each label for θ ~ N(mean, covariance): two (n_pairs, n_codes).

    ``codes`` (n_codes, n_extra) are the class codes; ``mean`` is (n_annotators + 1, n_columns).
    """
    x, n = pairs.x, pairs.x.shape[1]
    codes, theta = like(codes, x), like(mean, x)
    S = None if covariance is None else like(covariance, x)
    first, second = like(np.zeros((2, len(x), len(codes))), x)
    for block in pairs.blocks:
        part, t = in_block(x, block), rows_like(block.annotators, x)
        eta = part @ theta[t, :n, None] + (theta[t, n : n + codes.shape[1]] @ codes.T)[:, None, :]
        in_block(first, block)[:] = eta
        in_block(second, block)[:] = eta**2 if S is None else eta**2 + _variance(part, codes, S[t])
    return first, second


def gram_and_pull(pairs: Pairs, codes: Array, weight: Array, target: Array) -> tuple[Array, Array]:
    """Σ weight_z a_z a_zᵀ and Σ target_z a_z of each annotator's labels, with a_z = (x, code_z).

    ``weight`` and ``target`` are (n_pairs, n_classes); the result is (n_annotators, n_columns, n_columns) and
    (n_annotators, n_columns).
    """
    x, T, n = pairs.x, pairs.labels.n_annotators, pairs.x.shape[1]
    codes, n_extra = like(codes, x), codes.shape[1]
    gram, pull = like(np.zeros((T, n + n_extra, n + n_extra)), x), like(np.zeros((T, n + n_extra)), x)
    w, r, by_code = weight.sum(axis=1), target.sum(axis=1), weight @ codes
    for block in pairs.blocks:
        t, part = rows_like(block.annotators, x), in_block(x, block)
        across = part.swapaxes(1, 2)
        gram[t, :n, :n] += across @ (part * in_block(w, block)[:, :, None])
        gram[t, :n, n:] += across @ in_block(by_code, block)
        pull[t, :n] += (across @ in_block(r, block)[:, :, None])[:, :, 0]
    if n_extra:
        who = pairs.labels.annotator
        gram[:, n:, :n] = gram[:, :n, n:].swapaxes(1, 2)
        gram[:, n:, n:] = namespace(x).einsum("tz,zi,zj->tij", segment_sum(weight, who, T), codes, codes)
        pull[:, n:] = segment_sum(target @ codes, who, T)
    return gram, pull


def variance_of_codes(codes: Array, covariance: Array) -> Array:
    """Var[code_zᵀk_t] of each annotator and class: (n_annotators, n_codes)."""
    n = codes.shape[1]
    return namespace(codes).einsum("zi,tij,zj->tz", codes, covariance[:, :n, :n], codes)


def _variance(x: Array, codes: Array, covariance: Array) -> Array:
    """Var[a_zᵀθ] of a_z = (x, code_z): (n_annotators, n_labels, n_codes)."""
    n, end = x.shape[2], x.shape[2] + codes.shape[1]
    alone = namespace(x).einsum("tij,tij->ti", x @ covariance[:, :n, :n], x)[:, :, None]
    cross = x @ (covariance[:, :n, n:end] @ codes.T)
    return alone + 2 * cross + variance_of_codes(codes, covariance[:, n:, n:])[:, None, :]
