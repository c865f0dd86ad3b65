"""The arithmetic under everything: distances, neighbours, k-means, sums over observed pairs."""

import numpy as np
import pytest

from whoknows import _array
from whoknows.model import distances

A, B = np.random.default_rng(0).normal(size=(7, 3)), np.random.default_rng(1).normal(size=(11, 3))
APART = ((A[:, None] - B[None]) ** 2).sum(axis=2)


@pytest.mark.parametrize("offset", [0.0, 1e6])
def test_squared_distances_survive_points_far_from_zero(offset):
    np.testing.assert_allclose(distances.squared_distances(A + offset, B + offset), APART, atol=1e-6)
    assert distances.squared_distances(A + offset, A + offset).min() >= 0


@pytest.mark.parametrize("k", [1, 4, 11])
def test_nearest_gives_the_k_smallest_in_order_block_by_block(monkeypatch, k):
    monkeypatch.setattr(distances, "BLOCK", 3)
    index, squared = distances.nearest(A, B, k)
    np.testing.assert_array_equal(index, np.argsort(APART, axis=1)[:, :k])
    np.testing.assert_allclose(squared, np.sort(APART, axis=1)[:, :k], atol=1e-12)


def test_k_means_finds_clumps_and_keeps_centres_that_lost_their_items():
    clump = np.repeat([0, 1, 2], 30)
    X = np.random.default_rng(2).normal(size=(90, 2)) * 0.1 + np.array([[0, 0], [5, 0], [0, 5]])[clump]
    centres = distances.k_means(X, 20, np.random.default_rng(3))
    reach = distances.nearest(X, centres, 1)[1]
    assert centres.shape == (20, 2)
    assert reach.max() < 0.3
    same = distances.k_means(np.ones((6, 2)), 3, np.random.default_rng(0))
    np.testing.assert_array_equal(same, 1)


ROWS, COLUMNS = np.array([0, 0, 2, 6, 3]), np.array([1, 3, 0, 1, 1])


def test_pair_products_are_rows_of_the_product_nobody_computes():
    np.testing.assert_allclose(_array.pair_products(A, B, ROWS, COLUMNS), (A @ B.T)[ROWS, COLUMNS])
    np.testing.assert_allclose(
        _array.pair_products(A[:, :1], B[:, :1], ROWS, COLUMNS), (A[:, :1] @ B[:, :1].T)[ROWS, COLUMNS]
    )


def test_pair_sums_add_weighted_rows_by_column():
    weights = np.array([1.0, -2.0, 0.5, 3.0, 7.0])
    expected = np.zeros((5, 3))
    for weight, row, column in zip(weights, ROWS, COLUMNS, strict=True):
        expected[column] += weight * A[row]
    np.testing.assert_allclose(_array.pair_sums(weights, A, ROWS, COLUMNS, 5), expected)


def test_segment_sum_of_vectors_tables_and_nothing():
    segments = np.array([0, 2, 2])
    np.testing.assert_array_equal(_array.segment_sum(np.array([1.0, 2, 3]), segments, 4), [1, 0, 5, 0])
    np.testing.assert_array_equal(
        _array.segment_sum(np.array([[1.0, 1], [2, 0], [3, 5]]), segments, 3), [[1, 1], [0, 0], [5, 5]]
    )
    np.testing.assert_array_equal(_array.segment_sum(np.zeros(0), np.zeros(0, int), 2), [0, 0])


def test_groups_are_the_positions_of_each_code_but_of_codes_nobody_has():
    found = _array.group_by(np.array([3, 0, 3, 2, 3]), 5)
    assert {code: found.order[rows].tolist() for code, rows in _array.spans(found)} == {0: [1], 2: [3], 3: [0, 2, 4]}
    assert list(_array.spans(_array.group_by(np.zeros(0, int), 2))) == []


def test_the_constant_comes_last():
    np.testing.assert_array_equal(_array.with_constant(np.zeros((2, 1))), [[0, 1], [0, 1]])


def test_the_first_number_too_large_to_square_is_found_and_nan_is_none():
    X = np.array([[1.0, np.nan], [2.0, 3.0]])
    assert _array.too_large(X) is None
    assert _array.too_large(np.zeros((0, 2))) is None
    assert _array.too_large(np.full((2, 2), np.nan)) is None
    X[1, 0] = -1e151
    assert _array.too_large(X) == (1, 0)


@pytest.mark.parametrize("n_matrices", [0, 1, 7, 200, 201, 450])
@pytest.mark.parametrize("size", [1, 2, 5, 21])
def test_inverses_of_few_matrices_and_of_many(n_matrices, size):
    rows = np.random.default_rng(0).normal(size=(n_matrices, 30, size)) * np.logspace(-3, 3, size)
    matrices = rows.swapaxes(1, 2) @ rows + np.eye(size)
    found, log_det = _array.inverses(matrices)
    np.testing.assert_allclose(found @ matrices, np.broadcast_to(np.eye(size), matrices.shape), atol=1e-8)
    np.testing.assert_allclose(found, found.swapaxes(1, 2), rtol=1e-12)
    np.testing.assert_allclose(log_det, np.linalg.slogdet(matrices)[1], atol=1e-10)
