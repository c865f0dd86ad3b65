"""Maps: what the truth sees of x."""

import numpy as np
import pytest

from tests.reference.graphs import laplacian
from whoknows.model.graph import AnchorGraph, GaussianGraph, KnnGraph
from whoknows.model.maps import ClusterMap, LinearMap, MapItems, RbfMap, SpectralMap

RNG = np.random.default_rng(0)
X = RNG.normal(size=(90, 3)) * [1.0, 2.0, 0.5] + RNG.choice([-3, 0, 3], size=(90, 1))
STANDARD = (X - X.mean(axis=0)) / X.std(axis=0)
MAPS = {
    "linear": LinearMap(),
    "rbf": RbfMap(),
    "rbf, few landmarks": RbfMap(width=0.5, rank=10, landmarks=40),
    "spectral, anchors": SpectralMap(AnchorGraph(anchors=30, nearest=4)),
    "spectral, kNN": SpectralMap(KnnGraph(k=6), rank=12),
    "spectral, Gaussian": SpectralMap(GaussianGraph(), rank=12),
    "clusters": ClusterMap(4),
}
every_map = pytest.mark.parametrize("piece", MAPS.values(), ids=MAPS.keys())
LEARNT = {name: piece for name, piece in MAPS.items() if not isinstance(piece, LinearMap)}
learnt_map = pytest.mark.parametrize("piece", LEARNT.values(), ids=LEARNT.keys())


@every_map
def test_features_of_standardised_items_are_centred_and_of_length_about_one(piece):
    features = piece.prepare(MapItems(STANDARD)).transform(STANDARD)
    np.testing.assert_allclose(features.mean(axis=0), 0, atol=1e-9)
    assert (features**2).sum(axis=1).mean() == pytest.approx(1, rel=1e-9)


@every_map
def test_preparing_leaves_the_settings_alone(piece):
    before = piece.get_params()
    piece.prepare(MapItems(X))
    assert piece.get_params() == before
    assert {name: value for name, value in vars(piece).items() if name not in before} == {}


@every_map
def test_the_same_seed_gives_the_same_features(piece):
    once, again = (piece.prepare(MapItems(X, seed=5)).transform(X) for _ in range(2))
    np.testing.assert_array_equal(once, again)


def test_another_seed_draws_other_landmarks_and_anchors():
    for piece in (MAPS["rbf, few landmarks"], MAPS["spectral, anchors"]):
        five, six = (piece.prepare(MapItems(X, seed=seed)).transform(X) for seed in (5, 6))
        assert five.shape != six.shape or not np.allclose(five, six)


@every_map
def test_the_order_of_rows_does_not_matter(piece):
    """Landmarks and anchors are drawn by what items are, not by where they stand."""
    order = np.random.default_rng(0).permutation(len(X))
    one, other = piece.prepare(MapItems(X)).transform(X)[order], piece.prepare(MapItems(X[order])).transform(X[order])
    np.testing.assert_allclose(one @ one.T, other @ other.T, atol=1e-6)


@every_map
def test_an_items_features_do_not_depend_on_whom_it_is_asked_with(piece):
    prepared = piece.prepare(MapItems(X))
    np.testing.assert_allclose(prepared.transform(X[3:5]), prepared.transform(X)[3:5], atol=1e-10)


@every_map
def test_one_item_is_enough_to_prepare(piece):
    features = piece.prepare(MapItems(X[:1])).transform(X[:4])
    assert len(features) == 4
    assert np.all(np.isfinite(features))


def test_linear_map_is_x_over_the_root_of_its_dimension():
    prepared = LinearMap().prepare(MapItems(X))
    np.testing.assert_allclose(prepared.transform(X), X / np.sqrt(3))
    np.testing.assert_allclose(X @ prepared.matrix, prepared.transform(X))


def test_linear_map_does_not_look_at_the_items_unless_only_some_features_may_lead():
    plain = LinearMap().prepare(MapItems(X[:5])).matrix
    np.testing.assert_array_equal(LinearMap().prepare(MapItems(X)).matrix, plain)
    np.testing.assert_array_equal(LinearMap().prepare(MapItems(X, leading=3)).matrix, plain)
    assert not np.allclose(LinearMap().prepare(MapItems(X, leading=2)).matrix, plain)


def test_where_only_some_features_may_lead_they_are_the_principal_directions():
    centred = X - X.mean(axis=0)
    V = np.linalg.svd(centred, full_matrices=False)[2]
    matrix = LinearMap().prepare(MapItems(X, leading=2)).matrix
    for k in range(3):
        np.testing.assert_allclose(abs(matrix[:, k] @ V[k]), 1 / np.sqrt(3), rtol=1e-9)


def test_turning_x_to_its_principal_axes_loses_nothing_and_keeps_every_length():
    plain, turned = (
        LinearMap().prepare(MapItems(X)).transform(X),
        LinearMap().prepare(MapItems(X, leading=1)).transform(X),
    )
    np.testing.assert_allclose(turned @ turned.T, plain @ plain.T, atol=1e-10)


def test_rbf_features_of_full_rank_are_the_centred_kernel():
    squared = ((X[:, None] - X[None]) ** 2).sum(axis=2)
    kernel = np.exp(-squared / (0.3 * np.median(squared[~np.eye(90, dtype=bool)])))
    H = np.eye(90) - 1 / 90
    centred = H @ kernel @ H
    features = RbfMap(width=0.3, rank=90, landmarks=90).prepare(MapItems(X)).transform(X)
    np.testing.assert_allclose(features @ features.T, centred * 90 / np.trace(centred), atol=1e-5)


def test_rbf_features_of_low_rank_come_near_the_kernel():
    full = RbfMap(rank=90, landmarks=90).prepare(MapItems(X)).transform(X)
    low = RbfMap(rank=30, landmarks=60).prepare(MapItems(X)).transform(X)
    assert low.shape == (90, 30)
    assert np.abs(full @ full.T - low @ low.T).max() < 0.05 * np.abs(full @ full.T).max()


def test_clusters_are_those_that_lie_apart():
    """Three clouds: features are one where an item is in the cloud, centred and scaled."""
    rng = np.random.default_rng(1)
    cloud = rng.integers(3, size=200)
    items = np.array([[0.0, 0.0], [9.0, 0.0], [0.0, 9.0]])[cloud] + rng.normal(size=(200, 2))
    features = ClusterMap(3).prepare(MapItems(items)).transform(items)
    inside = np.eye(3)[cloud] - np.eye(3)[cloud].mean(axis=0)
    expected = inside / np.sqrt((inside**2).sum(axis=1).mean())
    np.testing.assert_allclose(features @ features.T, expected @ expected.T, atol=1e-9)


def test_a_new_item_belongs_to_the_nearest_cluster():
    items = np.array([[0.0], [0.1], [5.0], [5.2]])
    prepared = ClusterMap(2).prepare(MapItems(items))
    old, new = prepared.transform(items), prepared.transform(np.array([[-90.0], [4.0]]))
    np.testing.assert_allclose(new, old[[0, 2]])


def test_there_are_never_more_clusters_than_items():
    assert ClusterMap(8).prepare(MapItems(X[:3])).transform(X).shape == (90, 3)


def test_the_tightest_of_several_tries_is_taken():
    """A single try of k-means from items drawn at random often leaves two of these clouds together."""
    rng = np.random.default_rng(2)
    centres = np.arange(8)[:, None] * 10.0
    items = np.repeat(centres, 40, axis=0) + rng.normal(size=(320, 1))
    found = [
        len(np.unique(ClusterMap(8).prepare(MapItems(items, seed)).transform(centres), axis=0)) for seed in range(6)
    ]
    assert np.mean(found) > 7


def top_eigenvectors(Phi, n, eps=0.005):
    """u_k / √(μ_k + eps) for the n largest eigenvalues of a normalised Φ, μ_k = 1 − s_k."""
    s, U = np.linalg.eigh(Phi)
    s, U = s[::-1][:n], U[:, ::-1][:, :n]
    return U / np.sqrt(np.maximum(1 - s, 0) + eps)


def test_spectral_features_of_an_anchor_graph_are_its_eigenvectors():
    piece = SpectralMap(AnchorGraph(anchors=30, nearest=4), rank=6)
    features = piece.prepare(MapItems(X, seed=1)).transform(X)
    built = piece.graph.build(X, seed=1)
    expected = top_eigenvectors(np.eye(90) - laplacian(built, X), 6)
    expected = expected - expected.mean(axis=0)
    expected /= np.sqrt((expected**2).sum(axis=1).mean())
    np.testing.assert_allclose(features @ features.T, expected @ expected.T, atol=1e-8)
    for k in range(1, 6):  # up to sign, one by one; the first is constant and centred away
        assert abs(np.corrcoef(features[:, k], expected[:, k])[0, 1]) == pytest.approx(1, abs=1e-8)


@pytest.mark.parametrize("graph", [KnnGraph(k=8), GaussianGraph()], ids=["kNN", "Gaussian"])
def test_spectral_features_of_a_weighted_graph_follow_its_eigenvectors(graph):
    """Nyström: an item of the graph is placed by its neighbours, itself among them: nearly."""
    close = np.random.default_rng(7).normal(size=(90, 2))
    built = graph.build(close)
    Phi = np.asarray(built.Phi.toarray() if hasattr(built.Phi, "toarray") else built.Phi)
    root = np.sqrt(Phi.sum(axis=1))
    expected = top_eigenvectors(Phi / root[:, None] / root[None], 5)
    features = SpectralMap(graph, rank=5).prepare(MapItems(close)).transform(close)
    for k in range(1, 5):
        assert abs(np.corrcoef(features[:, k], expected[:, k])[0, 1]) > 0.95


def test_spectral_features_tell_far_groups_apart():
    """Three clumps: most of the length lies between them, next to none between random thirds."""
    rng = np.random.default_rng(0)
    clump = np.repeat([0, 1, 2], 40)
    items = rng.normal(size=(120, 2)) * 0.3 + np.array([[0, 0], [8, 0], [0, 8]])[clump]
    features = SpectralMap(KnnGraph(k=6), rank=10).prepare(MapItems(items)).transform(items)
    within = sum(((features[clump == c] - features[clump == c].mean(axis=0)) ** 2).sum() for c in range(3))
    assert within / (features**2).sum() < 0.5
    shuffled = np.random.default_rng(1).permutation(clump)
    by_chance = sum(((features[shuffled == c] - features[shuffled == c].mean(axis=0)) ** 2).sum() for c in range(3))
    assert by_chance / (features**2).sum() > 0.9


@pytest.mark.parametrize("name", ["spectral, anchors", "spectral, kNN", "spectral, Gaussian"])
def test_spectral_features_vanish_far_from_every_item(name):
    prepared = MAPS[name].prepare(MapItems(X))
    assert np.abs(prepared.transform(X + 1e4)).max() < 1e-5
    assert (prepared.transform(X) ** 2).sum(axis=1).min() > 1e-3


@learnt_map
def test_nearby_items_get_nearby_features(piece):
    prepared = piece.prepare(MapItems(X))
    there, nearly = prepared.transform(X), prepared.transform(X + 1e-6)
    np.testing.assert_allclose(nearly, there, atol=1e-3)


def test_spectral_features_tell_many_far_groups_apart():
    """Eight clumps with no edge between them: the eigenvalue 1 eight times over, a feature for each."""
    clump = np.repeat(np.arange(8), 60)
    centres = np.array([[6 * (c % 4), 6 * (c // 4)] for c in range(8)])
    items = np.random.default_rng(0).normal(size=(480, 2)) * 0.2 + centres[clump]
    features = SpectralMap(KnnGraph(k=6), rank=12).prepare(MapItems(items)).transform(items)
    means = np.array([features[clump == c].mean(axis=0) for c in range(8)])
    assert np.linalg.matrix_rank(means, tol=0.05) == 7  # eight means, centred


def test_a_linear_map_of_few_axes_has_the_leading_ones():
    axes = LinearMap(rank=2).prepare(MapItems(X)).matrix
    all_axes = LinearMap().prepare(MapItems(X, leading=2)).matrix
    assert axes.shape == (X.shape[1], 2)
    np.testing.assert_allclose(np.abs(axes), np.abs(all_axes[:, :2]), atol=1e-8)
