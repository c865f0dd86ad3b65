"""Two Triton kernels for the pass over all items on a GPU, which do not store the table of distances.

`distances.nearest` and a sparse product give the same results on any device, but on a GPU they are limited by
memory bandwidth. Triton is installed with torch. It compiles the kernels at the first call, which takes
seconds, and caches them on disk.
"""

from __future__ import annotations

from functools import cache
from importlib import import_module
from typing import Any, no_type_check

from whoknows._array import Array, like, namespace

tl: Any = None  # triton.language, imported by `_compiled`

MANY = 1_000_000  # items: with fewer, compilation takes longer than it saves
TILE = 64  # items and anchors per tile
SPAN = 4096  # items summed by one program
DOUBLE = {(8, 0), (9, 0), (10, 0)}  # compute capabilities of GPUs with fast double precision


def takes(X: Any, n_nearest: int) -> bool:
    """Whether X has many items in single precision, on a GPU that runs the kernels."""
    if not getattr(X, "is_cuda", False) or X.dtype != namespace(X).float32 or len(X) < MANY:
        return False
    return _runs(namespace(X), X.device, X.shape[1], n_nearest)


def nearest(X: Any, nodes: Array, k: int) -> tuple[Any, Any]:
    """Index and squared distance of the k nearest nodes of each x, nearest first: two (n_items, k).

    Same as `distances.nearest`, up to rounding in single precision.
    """
    xp, nodes, X = namespace(X), like(nodes, X), X.contiguous()
    centre = nodes.mean(axis=0)  # avoids cancellation if all points are far from zero
    B = nodes - centre
    index = xp.empty((len(X), k), dtype=xp.int64, device=X.device)
    squared = xp.empty((len(X), k), dtype=X.dtype, device=X.device)
    sizes = {"n_items": len(X), "n_features": X.shape[1], "n_nodes": len(nodes)}
    tiles = {"k": k, "BEST": 1 << (k - 1).bit_length(), "ROWS": TILE, "NODES": TILE, "COLUMNS": 32}
    with xp.cuda.device(X.device):
        _compiled()[0][(-(-len(X) // TILE),)](
            X, -2 * B, (B**2).sum(axis=1), centre, index, squared, **sizes, **tiles, num_warps=4, num_stages=1
        )
    return index, squared


def sums_by_anchor(X: Any, index: Any, weights: Any, n_anchors: int) -> Any:
    """ZᵀX in double precision, Z having ``weights`` (n_items, k) at ``index``: (n_anchors, D)."""
    xp, X, (n_items, D) = namespace(X), X.contiguous(), X.shape
    grid = -(-n_anchors // TILE), -(-n_items // SPAN), -(-D // TILE)
    parts = xp.empty((grid[1], n_anchors, D), dtype=xp.float64, device=X.device)
    sizes = {"n_items": n_items, "n_features": D, "n_anchors": n_anchors}
    tiles = {"k": index.shape[1], "SPAN": SPAN, "ROWS": TILE, "ANCHORS": TILE, "COLUMNS": TILE}
    with xp.cuda.device(X.device):
        _compiled()[1][grid](
            X, index.contiguous(), weights.contiguous(), parts, **sizes, **tiles, num_warps=4, num_stages=3
        )
    return parts.sum(axis=0)


@cache
def _runs(xp: Any, device: Any, n_features: int, k: int) -> bool:
    """Whether the kernels run on the device, tried once on a few items."""
    if xp.cuda.get_device_capability(device) not in DOUBLE:
        return False
    X = xp.zeros((TILE, n_features), device=device)
    try:
        index, squared = nearest(X, X, k)
        return bool(xp.isfinite(sums_by_anchor(X, index, squared, TILE)).all())
    except Exception:  # no Triton, no C compiler, another version: the plain way is used
        return False


@cache
def _compiled() -> tuple[Any, Any]:
    """Both kernels, which Triton compiles for the arguments of the first call."""
    global tl
    triton, tl = import_module("triton"), import_module("triton.language")
    compiler = triton.jit(do_not_specialize=["n_items", "n_nodes", "n_anchors"])  # one kernel for all sizes
    return compiler(_nearest), compiler(_sums_by_anchor)


@no_type_check
def _nearest(
    X,
    nodes,
    lengths,
    centre,
    index,
    squared,
    n_items,
    n_features,
    n_nodes,
    k: tl.constexpr,
    BEST: tl.constexpr,
    ROWS: tl.constexpr,
    NODES: tl.constexpr,
    COLUMNS: tl.constexpr,
):
    """|x|² + (|b|² − 2bᵀx) of ROWS items, in tiles of NODES nodes; the k smallest of each tile, one by one.

    Each replaces the largest of the best so far, if it is smaller.
    """
    row = tl.program_id(0).to(tl.int64) * ROWS + tl.arange(0, ROWS)
    place = tl.arange(0, BEST)[None, :]
    best = tl.zeros((ROWS, BEST), tl.float32) + tl.where(place < k, float("inf"), float("-inf"))
    who = tl.zeros((ROWS, BEST), tl.int32)
    own = tl.zeros((ROWS,), tl.float32)
    for first in range(0, n_nodes, NODES):
        node = first + tl.arange(0, NODES)
        own, d = tl.zeros((ROWS,), tl.float32), tl.zeros((ROWS, NODES), tl.float32)
        for start in range(0, n_features, COLUMNS):
            column = start + tl.arange(0, COLUMNS)
            there = (row < n_items)[:, None] & (column < n_features)[None, :]
            x = tl.load(X + row[:, None] * n_features + column[None, :], there, 0.0)
            x -= tl.load(centre + column, column < n_features, 0.0)[None, :]
            there = (node < n_nodes)[None, :] & (column < n_features)[:, None]
            b = tl.load(nodes + node[None, :] * n_features + column[:, None], there, 0.0)
            own += tl.sum(x * x, 1)
            d = tl.dot(x, b, d, input_precision="tf32x3")  # as accurate as single precision
        d += tl.load(lengths + node, node < n_nodes, float("inf"))[None, :]
        for _ in tl.static_range(k):
            least, worst = tl.min(d, 1)[:, None], tl.max(best, 1)[:, None]
            found = tl.min(tl.where(d == least, node[None, :], n_nodes - 1), 1)[:, None]
            d = tl.where(node[None, :] == found, float("inf"), d)
            spot = tl.min(tl.where(best == worst, place, BEST), 1)[:, None]
            better = (place == spot) & (least < worst)
            best, who = tl.where(better, least, best), tl.where(better, found, who)
    best = tl.where(place < k, best, float("inf"))
    for j in tl.static_range(k):
        least = tl.min(best, 1)
        spot = tl.min(tl.where(best == least[:, None], place, BEST), 1)[:, None]
        found = tl.max(tl.where(place == spot, who, 0), 1)
        tl.store(index + row * k + j, found.to(tl.int64), row < n_items)
        tl.store(squared + row * k + j, tl.maximum(least + own, 0.0), row < n_items)
        best = tl.where(place == spot, float("inf"), best)


@no_type_check
def _sums_by_anchor(
    X,
    index,
    weights,
    parts,
    n_items,
    n_features,
    n_anchors,
    k: tl.constexpr,
    SPAN: tl.constexpr,
    ROWS: tl.constexpr,
    ANCHORS: tl.constexpr,
    COLUMNS: tl.constexpr,
):
    """ZᵀX over SPAN items, for a tile of anchors and columns; Z is rebuilt for ROWS items at a time."""
    anchor = tl.program_id(0) * ANCHORS + tl.arange(0, ANCHORS)
    part = tl.program_id(1).to(tl.int64)
    column = tl.program_id(2) * COLUMNS + tl.arange(0, COLUMNS)
    total = tl.zeros((ANCHORS, COLUMNS), tl.float64)
    for start in range(0, SPAN, ROWS):
        row = part * SPAN + start + tl.arange(0, ROWS)
        there = (row < n_items)[:, None] & (column < n_features)[None, :]
        x = tl.load(X + row[:, None] * n_features + column[None, :], there, 0.0)
        z = tl.zeros((ANCHORS, ROWS), tl.float32)
        for j in tl.static_range(k):
            tied = tl.load(index + row * k + j, row < n_items, -1).to(tl.int32)
            weight = tl.load(weights + row * k + j, row < n_items, 0.0)
            z += tl.where(tied[None, :] == anchor[:, None], weight[None, :], 0.0)
        total = tl.dot(z.to(tl.float64), x.to(tl.float64), total, out_dtype=tl.float64)
    there = (anchor < n_anchors)[:, None] & (column < n_features)[None, :]
    tl.store(parts + (part * n_anchors + anchor[:, None]) * n_features + column[None, :], total, there)
