"""Graphs: Φ, Δ, A, new items, and what they refuse."""

import numpy as np
import pytest
import scipy.sparse as sp

from tests.reference import graphs, models
from whoknows.model.graph import AnchorGraph, GaussianGraph, KnnGraph, PrecomputedGraph
from whoknows.model.graph.weighted import WeightedGraph
from whoknows.model.settings import NotCompatible

RNG = np.random.default_rng(0)
X = RNG.normal(size=(40, 3))
W = models.weights(X, np.eye(3))
GRAPHS = {
    "gaussian": GaussianGraph(),
    "metric": GaussianGraph(metric=np.diag([1.0, 2.0, 0.5])),
    "knn": KnnGraph(k=4),
    "anchors": AnchorGraph(anchors=12, nearest=3),
    "dense": PrecomputedGraph(W),
    "sparse": PrecomputedGraph(sp.csr_array(np.where(W > 0.2, W, 0.0))),
}
every_graph = pytest.mark.parametrize("graph", GRAPHS.values(), ids=GRAPHS.keys())
PLACING = {name: graph for name, graph in GRAPHS.items() if name not in ("dense", "sparse")}
placing_graph = pytest.mark.parametrize("graph", PLACING.values(), ids=PLACING.keys())


def laplacian(built, items=X):
    return graphs.laplacian(built, items)


def phi(built):
    """Return Φ in units of the mean degree, whatever the graph; the diagonal plays no part in Δ."""
    Phi = -laplacian(built)
    np.fill_diagonal(Phi, 0.0)
    return Phi


@every_graph
def test_laplacian_is_symmetric_positive_and_kills_constants(graph):
    Delta = laplacian(graph.build(X))
    np.testing.assert_allclose(Delta, Delta.T, atol=1e-14)
    np.testing.assert_allclose(Delta.sum(axis=1), 0, atol=1e-12)
    assert np.linalg.eigvalsh(Delta).min() > -1e-12
    assert np.linalg.eigvalsh(Delta).max() > 0.1


@every_graph
def test_weights_are_not_negative(graph):
    assert phi(graph.build(X)).min() > -1e-14


@every_graph
def test_smoothness_is_a_mean_over_edges_and_the_laplacian_between_features(graph):
    built = graph.build(X)
    features = np.column_stack([X**2, np.ones(40)])
    A = built.smoothness(X, features)
    np.testing.assert_allclose(A, models.smoothness(features, phi(built)) / 40, atol=1e-12)
    np.testing.assert_allclose(A, features.T @ laplacian(built) @ features / 40, atol=1e-12)


@pytest.mark.parametrize("graph", [GRAPHS["dense"], GRAPHS["sparse"]], ids=["dense", "sparse"])
def test_smoothness_and_laplacian_do_not_depend_on_the_scale_of_the_weights(graph):
    tenfold = PrecomputedGraph(10 * graph.weights).build(X)
    np.testing.assert_allclose(tenfold.smoothness(X, X), graph.build(X).smoothness(X, X))
    np.testing.assert_allclose(laplacian(tenfold), laplacian(graph.build(X)))


@pytest.mark.parametrize("graph", [GaussianGraph(metric=np.eye(2)), KnnGraph(k=20), AnchorGraph(60, 5)])
def test_smoothness_stays_put_when_more_items_of_the_same_kind_arrive(graph):
    rng = np.random.default_rng(1)
    many = rng.normal(size=(1200, 2))
    few = many[:300]
    if isinstance(graph, KnnGraph):  # the same neighbourhood, in items
        few_graph, many_graph = KnnGraph(k=5), graph
    else:
        few_graph = many_graph = graph
    A_few = few_graph.build(few).smoothness(few, few)
    A_many = many_graph.build(many).smoothness(many, many)
    assert np.trace(A_many) == pytest.approx(np.trace(A_few), rel=0.25)  # the sum would be 4 or 16 times it


def test_smoothness_of_an_anchor_graph_is_the_same_when_every_item_comes_twice():
    once = AnchorGraph(anchors=12, nearest=3).build(X)
    twice, X2 = once.joined_by(X), np.vstack([X, X])
    np.testing.assert_allclose(twice.smoothness(X2, X2), once.smoothness(X, X), atol=1e-12)
    np.testing.assert_allclose(twice.sums.smoothness, once.smoothness(X, X), atol=1e-12)


def test_smoothness_of_a_gaussian_graph_hardly_moves_when_every_item_comes_twice():
    """Twins are a further edge of no length each: one in N of them."""
    graph = GaussianGraph(metric=0.05 * np.eye(3))
    X2 = np.vstack([X, X])
    once, twice = graph.build(X).smoothness(X, X), graph.build(X2).smoothness(X2, X2)
    np.testing.assert_allclose(twice, once, rtol=0.03)


def test_anchor_graph_has_degrees_of_one_and_rows_of_weights_that_sum_to_one():
    built = AnchorGraph(anchors=12, nearest=3).build(X)
    Z = built.attach(X).toarray()
    np.testing.assert_allclose(Z.sum(axis=1), 1)
    assert np.all((Z > 0).sum(axis=1) == 3)
    np.testing.assert_allclose(built.sums.mass, Z.sum(axis=0))
    Phi = Z @ np.diag(1 / Z.sum(axis=0)) @ Z.T
    np.testing.assert_allclose(Phi.sum(axis=1), 1)
    np.testing.assert_allclose(laplacian(built), np.eye(40) - Phi, atol=1e-12)


def test_anchor_weights_fall_with_distance_and_are_relative_to_the_last():
    built = AnchorGraph(anchors=12, nearest=3).build(X)
    squared = ((X[:, None] - built.anchors[None]) ** 2).sum(axis=2)
    Z = built.attach(X).toarray()
    for i in range(40):
        near = np.argsort(squared[i])[:3]
        raw = np.exp(-squared[i, near] / squared[i, near[-1]])
        np.testing.assert_allclose(Z[i, near], raw / raw.sum(), atol=1e-10)


def test_anchors_are_never_more_than_a_third_of_the_items_nor_fewer_than_an_item_needs():
    assert len(AnchorGraph().build(X).anchors) == 13
    assert len(AnchorGraph(nearest=5).build(X[:9]).anchors) == 6
    assert len(AnchorGraph(nearest=5).build(X[:4]).anchors) == 4


def test_knn_weights_are_self_tuned_and_symmetrised():
    built = KnnGraph(k=4).build(X)
    distance = np.sqrt(((X[:, None] - X[None]) ** 2).sum(axis=2))
    order = np.argsort(distance, axis=1)
    reach = distance[np.arange(40), order[:, 4]]
    expected = np.zeros((40, 40))
    for i in range(40):
        for j in order[i, 1:5]:
            w = np.exp(-(distance[i, j] ** 2) / (reach[i] * reach[j]))
            expected[i, j] = expected[j, i] = w
    np.testing.assert_allclose(built.Phi.toarray(), expected, atol=1e-9)


@pytest.mark.parametrize("graph", [GaussianGraph(), KnnGraph(k=4), AnchorGraph(12, 3)])
def test_the_unit_of_x_does_not_matter_where_no_metric_was_given(graph):
    np.testing.assert_allclose(laplacian(graph.build(100 * X), 100 * X), laplacian(graph.build(X)), atol=1e-9)


@pytest.mark.parametrize("graph", [GRAPHS["gaussian"], GRAPHS["metric"]])
def test_ties_of_an_item_of_the_graph_are_its_own_edges(graph):
    """In units of the mean degree, and but for the tie to itself."""
    built = graph.build(X)
    ties = np.asarray(sp.csr_array(built.tie(X)).toarray())
    np.fill_diagonal(ties, 0.0)
    np.testing.assert_allclose(ties, phi(built), atol=1e-9)


@pytest.mark.parametrize("graph", [GRAPHS["gaussian"], GRAPHS["metric"], GRAPHS["knn"]])
def test_far_away_nothing_ties(graph):
    ties = np.asarray(graph.build(X).tie(X + 1e4).sum(axis=1)).ravel()
    assert np.all(ties < 1e-3)


@placing_graph
def test_far_away_nothing_is_near(graph):
    built = graph.build(X)
    assert np.all(built.nearness(X + 1e4) < 1e-6)
    np.testing.assert_allclose(built.nearness(X), 1)


@placing_graph
def test_nearness_never_rises_with_distance(graph):
    line = np.array([1.0, 0.5, -1.0])[None] * np.linspace(2, 60, 30)[:, None]
    nearness = graph.build(X).nearness(line)
    assert np.all(np.diff(nearness) <= 1e-15)
    assert nearness[-1] < 0.01


@every_graph
def test_the_same_seed_gives_the_same_graph(graph):
    np.testing.assert_array_equal(laplacian(graph.build(X, 3)), laplacian(graph.build(X, 3)))


def test_another_seed_gives_other_anchors():
    graph = AnchorGraph(anchors=12, nearest=3)
    assert not np.array_equal(graph.build(X, 3).anchors, graph.build(X, 4).anchors)


# --- hostile items --------------------------------------------------------------------------------

HOSTILE = {
    "one item": np.array([[1.0, 2.0]]),
    "two items": np.array([[1.0, 2.0], [3.0, 1.0]]),
    "all the same": np.full((12, 2), 7.0),
    "twins": np.repeat(RNG.normal(size=(4, 2)), 6, axis=0),
    "a constant feature": np.column_stack([RNG.normal(size=15), np.ones(15)]),
}


@pytest.mark.parametrize("items", HOSTILE.values(), ids=HOSTILE.keys())
@pytest.mark.parametrize("graph", [GaussianGraph(), KnnGraph(), AnchorGraph()], ids=lambda g: type(g).__name__)
def test_odd_items_make_a_sound_graph(graph, items):
    built = graph.build(items)
    Delta, A = laplacian(built, items), built.smoothness(items, items)
    np.testing.assert_allclose(Delta.sum(axis=1), 0, atol=1e-12)
    assert np.linalg.eigvalsh(Delta).min() > -1e-12
    assert np.all(np.isfinite(A))
    assert np.all(np.isfinite(built.nearness(items + 1)))
    if isinstance(built, WeightedGraph):
        assert np.all(np.isfinite(np.asarray(built.tie(items + 1).sum(axis=1))))


def test_two_items_are_joined():
    for graph in (GaussianGraph(), KnnGraph(), AnchorGraph()):
        Delta = laplacian(graph.build(HOSTILE["two items"]), HOSTILE["two items"])
        assert Delta[0, 1] < -0.1


# --- messages -------------------------------------------------------------------------------------


def test_precomputed_weights_must_belong_to_the_items():
    with pytest.raises(ValueError, match=r"weights of shape \(40, 40\); X has 39 items.*labelled or not"):
        PrecomputedGraph(W).build(X[:39])


@pytest.mark.parametrize("kind", [np.asarray, sp.csr_array])
def test_precomputed_weights_must_be_symmetric(kind):
    lopsided = W.copy()
    lopsided[0, 1] = 0.9
    with pytest.raises(ValueError, match=r"symmetric weights; use \(W \+ W.T\) / 2"):
        PrecomputedGraph(kind(lopsided)).build(X)


def test_precomputed_weights_cannot_place_new_items():
    built = PrecomputedGraph(W).build(X)
    with pytest.raises(NotCompatible, match=r"cannot extend to new ones. Use KnnGraph or GaussianGraph"):
        built.tie(X + 1)
    np.testing.assert_allclose(built.tie(X), W / W.sum(axis=1).mean())


@pytest.mark.parametrize(
    ("metric", "found"),
    [
        (np.eye(2), r"shape \(2, 2\)"),
        (-np.eye(3), "smallest eigenvalue -1"),
        (np.diag([1.0, 1.0, 0.0]), "smallest eigenvalue 0"),
    ],
)
def test_a_bad_metric_is_refused(metric, found):
    with pytest.raises(ValueError, match=rf"GaussianGraph needs .*positive definite.* \(3, 3\).*{found}"):
        GaussianGraph(metric=metric).build(X)


def test_a_metric_that_is_not_symmetric_is_refused():
    with pytest.raises(ValueError, match="symmetric"):
        GaussianGraph(metric=np.array([[1.0, 0.9, 0], [0, 1, 0], [0, 0, 1]])).build(X)


@pytest.mark.parametrize("bad", [-1.0, np.nan, np.inf])
def test_precomputed_weights_must_be_finite_and_not_negative(bad):
    weights = W.copy()
    weights[0, 1] = weights[1, 0] = bad
    with pytest.raises(ValueError, match="PrecomputedGraph"):
        PrecomputedGraph(weights).build(X)
