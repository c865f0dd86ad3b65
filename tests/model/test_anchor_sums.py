"""One pass over any number of items: sums that add up, and what is made of them."""

import numpy as np
import pytest

from tests.reference.graphs import laplacian
from whoknows.model import distances
from whoknows.model.graph import AnchorGraph
from whoknows.model.graph.anchors import AnchorSums, sums_over, ties
from whoknows.model.maps import MapItems, SpectralFeatures, SpectralMap

RNG = np.random.default_rng(0)
X = RNG.normal(size=(130, 3)) + RNG.choice([-3, 0, 3], size=(130, 1))
GRAPH = AnchorGraph(anchors=20, nearest=4)
SUMS = ("n_items", "total", "gram", "by_anchor", "mass", "joint", "reach")


def assert_same(one, other):
    for name in SUMS:
        np.testing.assert_allclose(getattr(one, name), getattr(other, name), atol=1e-10, err_msg=name)


class Rows:
    """Rows that can only be taken a few at a time, and count how often each was."""

    def __init__(self, values, most=40):
        self.values, self.most, self.shape = values, most, values.shape
        self.taken = np.zeros(len(values), dtype=int)

    def __len__(self):
        return len(self.values)

    def __getitem__(self, rows):
        self.taken[rows] += 1
        part = self.values[rows]
        assert len(part) <= self.most
        return part


def test_sums_are_what_they_say():
    built = GRAPH.build(X, seed=1)
    Z, sums = built.attach(X).toarray(), built.sums
    squared = ((X[:, None] - built.anchors[None]) ** 2).sum(axis=2)
    expected = (130, X.sum(axis=0), X.T @ X, Z.T @ X, Z.sum(axis=0), Z.T @ Z, squared.min(axis=1).max())
    assert_same(sums, AnchorSums(*expected))


def test_sums_of_parts_add_up_to_those_of_all(monkeypatch):
    built = GRAPH.build(X)
    at = built.anchors, built.n_nearest
    first, *rest = (sums_over(part, part, *at) for part in (X[:7], X[7:8], X[8:8], X[8:]))
    assert_same(sum(rest, first), built.sums)
    monkeypatch.setattr(distances, "ENOUGH", 11)
    monkeypatch.setattr(distances, "BLOCK", 50)
    assert_same(sums_over(X, X, *at), built.sums)


def test_items_that_come_later_join_without_a_second_look_at_the_first():
    first = GRAPH.build(X[:80], seed=3)
    joined, whole = first.joined_by(X[80:]), sums_over(X, X, first.anchors, first.n_nearest)
    assert_same(joined.sums, whole)
    assert first.sums.n_items == 80
    assert joined.sums.reach >= first.sums.reach


def test_the_spectral_map_of_merged_sums_is_that_of_all():
    first = GRAPH.build(X[:80], seed=3)
    joined = first.joined_by(X[80:])
    Z = first.attach(X).toarray()
    half = Z / np.sqrt(Z.sum(axis=0))
    s, U = np.linalg.eigh(half @ half.T)  # Φ's own, of all items
    basis, eigenvalues = joined.basis(5, eps=0.01)
    np.testing.assert_allclose(eigenvalues, 1 - s[::-1][:5], atol=1e-10)
    found = SpectralFeatures(joined, basis, eigenvalues).transform(X)
    expected = U[:, ::-1][:, :5] / np.sqrt(eigenvalues + 0.01)
    np.testing.assert_allclose(found @ found.T, expected @ expected.T, atol=1e-8)


def test_smoothness_of_features_comes_from_sums_over_blocks(monkeypatch):
    built = GRAPH.build(X)
    features = np.column_stack([X**2, np.ones(130)])
    expected = features.T @ laplacian(built, X) @ features / 130
    np.testing.assert_allclose(built.smoothness(X, features), expected, atol=1e-10)
    np.testing.assert_allclose(built.sums.smoothness, X.T @ laplacian(built, X) @ X / 130, atol=1e-10)
    monkeypatch.setattr(distances, "ENOUGH", 40)
    items, seen = Rows(X), Rows(features)
    np.testing.assert_allclose(built.smoothness(items, seen), expected, atol=1e-10)
    assert np.all(items.taken == 1)
    assert np.all(seen.taken == 1)


def test_many_items_are_read_once_after_the_sample_and_never_all_at_once(monkeypatch):
    monkeypatch.setattr(distances, "ENOUGH", 40)
    rows = Rows(X)
    built = GRAPH.build(rows, seed=2)
    assert rows.taken.sum() == 130 + 40
    assert rows.taken.min() == 1
    assert built.sums.n_items == 130
    assert len(built.anchors) == 13  # a third of the sample
    again = GRAPH.build(X, seed=2)
    np.testing.assert_array_equal(built.anchors, again.anchors)
    assert_same(built.sums, again.sums)


def test_the_sample_is_some_of_the_items_in_their_order_and_all_of_few(monkeypatch):
    np.testing.assert_array_equal(distances.enough_of(X, 5), X)
    monkeypatch.setattr(distances, "ENOUGH", 40)
    drawn = distances.enough_of(X.astype(np.float32), 5)
    assert drawn.shape == (40, 3)
    assert drawn.dtype == float
    place = [int(np.flatnonzero((X.astype(np.float32) == x).all(axis=1))[0]) for x in drawn]
    assert np.all(np.diff(place) > 0)
    assert not np.array_equal(drawn, distances.enough_of(X.astype(np.float32), 6))


def test_the_spectral_map_knows_all_items_and_the_other_maps_the_sample(monkeypatch):
    monkeypatch.setattr(distances, "ENOUGH", 40)
    sample, rows = distances.enough_of(X, 4), Rows(X)
    features = SpectralMap(GRAPH, rank=6).prepare(MapItems(sample, seed=4, everything=rows))
    assert np.all(rows.taken == 1)
    assert features.graph.sums.n_items == 130
    np.testing.assert_allclose(features.transform(sample).mean(axis=0), 0, atol=1e-10)
    alone = SpectralMap(GRAPH, rank=6).prepare(MapItems(sample, seed=4))
    np.testing.assert_array_equal(alone.graph.anchors, features.graph.anchors)
    assert alone.graph.sums.n_items == 40


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_items_of_less_precision_are_summed_in_double(dtype):
    far = (X + 100).astype(dtype)
    built = GRAPH.build(far)
    for name in SUMS[1:-1]:
        assert getattr(built.sums, name).dtype == np.float64
    np.testing.assert_allclose(built.sums.gram, far.astype(float).T @ far.astype(float), rtol=1e-12)
    np.testing.assert_allclose(built.sums.mass.sum(), 130, rtol=1e-6)
    exact = ties(far.astype(float), built.anchors, 4)
    np.testing.assert_allclose(ties(far, built.anchors, 4)[1], exact[1], atol=1e-4)
    assert built.attach(far).dtype == dtype
