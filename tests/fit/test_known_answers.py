"""Worlds whose answer is known: who is right, where, and what unlabelled items change."""

import numpy as np
import pytest

from tests.fit.worlds import crowd
from whoknows import (
    BernoulliAnnotators,
    CrowdClassifier,
    GaussianAnnotators,
    GaussianGraph,
    GraphTruth,
    KnnGraph,
    LogisticTruth,
    SpectralMap,
)

LINEAR = {"truth": "id", "map": "linear"}
MODELS = {
    "id, vb": {**LINEAR, "solver": "vb"},
    "id, em": {**LINEAR, "solver": "em"},
    "id, lbfgs": {**LINEAR, "solver": "lbfgs"},
    "lgp, vb": {"truth": "lgp", "map": "linear", "solver": "vb"},
    "lgp, gaussian": {"truth": "lgp", "map": "linear", "annotators": "gaussian", "solver": "em"},
    "id, two-coin": {**LINEAR, "annotators": BernoulliAnnotators(two_coin=True)},
    "id, constant": {**LINEAR, "annotators": BernoulliAnnotators(varies_with_x=False)},
    "rbf": {"truth": "id", "map": "rbf"},
    "spectral": {"truth": "id", "map": "spectral"},
    "gp": {"truth": "gp", "map": "linear"},
}
NOT_DRAWN = {name: s for name, s in MODELS.items() if s.get("map") != "spectral"}  # anchors are drawn
every_model = pytest.mark.parametrize("settings", MODELS.values(), ids=MODELS.keys())


def blobs(n_items, rng, apart=1.5):
    z = rng.integers(0, 2, n_items)
    return rng.normal(size=(n_items, 2)) + apart * (2 * z[:, None] - 1) * [1.0, 0.3], z


# --- who is right ---------------------------------------------------------------------------------


@every_model
def test_two_experts_are_believed_where_a_liar_disagrees(settings):
    rng = np.random.default_rng(0)
    X, z = blobs(120, rng, apart=0.5)  # x alone tells little
    y = crowd(z, [0.95, 0.95, 0.1], rng)
    model = CrowdClassifier(**settings).fit(X, y)
    believed = model.posterior_.argmax(axis=1)
    disputed = (y[:, 0] == y[:, 1]) & (y[:, 2] != y[:, 0])
    assert disputed.sum() > 60
    assert np.mean(believed[disputed] == z[disputed]) > 0.97
    expertise = model.expertise(X).mean(axis=0)
    assert expertise[:2].min() > expertise[2] + 0.1


def test_an_adversary_is_evidence_to_bernoulli_annotators_and_not_to_gaussian_ones():
    """Where one good annotator and two liars speak, Bernoulli turns the liars round; σ ≤ 1 cannot."""
    rng = np.random.default_rng(1)
    X, z = blobs(300, rng, apart=0.2)
    y = crowd(z, [0.9, 0.9, 0.9, 0.05, 0.05], rng)
    alone = np.arange(300) >= 200
    y[np.ix_(alone, [0, 1, 2])] = np.nan  # these items only the liars saw
    both_liars = alone & (y[:, 3] == y[:, 4])
    wrong = np.mean(y[both_liars, 3] != z[both_liars])
    bernoulli, gaussian = (
        CrowdClassifier(**LINEAR, annotators=pieces).fit(X, y)
        for pieces in (BernoulliAnnotators(varies_with_x=False), GaussianAnnotators(varies_with_x=False))
    )
    right = {m: np.mean(m.posterior_.argmax(axis=1)[both_liars] == z[both_liars]) for m in (bernoulli, gaussian)}
    assert wrong > 0.95
    assert right[bernoulli] > 0.95
    assert right[gaussian] < 0.5
    assert bernoulli.expertise(X)[:, 3:].max() < 0.25
    assert gaussian.expertise(X)[:, 3:].min() > 1 / (1 + np.exp(-0.5)) - 1e-9  # 0.62, at σ = 1


@pytest.mark.parametrize("solver", ["vb", "em", "lbfgs"])
@pytest.mark.parametrize("annotators", ["bernoulli", "gaussian"])
def test_expertise_is_higher_where_the_annotator_is_an_expert(annotators, solver):
    if (annotators, solver) == ("gaussian", "vb"):
        solver = "auto"
    rng = np.random.default_rng(2)
    X = rng.uniform(-1, 1, size=(600, 2))
    z = (X[:, 1] > 0).astype(int)
    left, right = np.where(X[:, 0] < 0, 0.97, 0.6), np.where(X[:, 0] > 0, 0.97, 0.6)
    y = np.column_stack([np.where(rng.random(600) < p, z, 1 - z) for p in (left, right, left, right)])
    model = CrowdClassifier(**LINEAR, annotators=annotators, solver=solver).fit(X, y.astype(float))
    west, east = model.expertise(np.array([[-0.8, 0.1], [0.8, 0.1]]))
    assert np.all(west[[0, 2]] > east[[0, 2]] + 0.08)
    assert np.all(east[[1, 3]] > west[[1, 3]] + 0.08)
    disputed = (y[:, 0] == y[:, 2]) & (y[:, 1] == y[:, 3]) & (y[:, 0] != y[:, 1])
    believed = model.posterior_.argmax(axis=1)
    assert np.mean((believed == z)[disputed & (np.abs(X[:, 0]) > 0.3)]) > 0.9


def test_two_coins_see_a_bias_that_one_coin_cannot():
    """An annotator who nearly always says 1: right on ones, wrong on zeros."""
    rng = np.random.default_rng(3)
    X, z = blobs(400, rng)
    y = crowd(z, [0.85, 0.85, 0.85], rng)
    y = np.column_stack([y, np.where(rng.random(400) < 0.95, 1.0, 0.0)])
    one, two = (
        CrowdClassifier(**LINEAR, annotators=BernoulliAnnotators(varies_with_x=False, two_coin=coins)).fit(X, y)
        for coins in (False, True)
    )
    where = np.array([[-4.0, -1.2], [4.0, 1.2]])  # surely 0, surely 1
    assert np.ptp(one.expertise(where)[:, 3]) < 1e-9
    zero, right_on_one = two.expertise(where)[:, 3]
    assert zero < 0.25
    assert right_on_one > 0.85


def test_a_rare_annotator_falls_back_on_the_crowd():
    rng = np.random.default_rng(4)
    X, z = blobs(200, rng)
    good, bad = (np.column_stack([crowd(z, [a] * 4, rng), np.full(200, np.nan)]) for a in (0.95, 0.65))
    for y in (good, bad):
        y[0, 4] = z[0]
    rare_among_good, rare_among_bad = (
        CrowdClassifier(**LINEAR).fit(X, y).expertise(X)[:, 4].mean() for y in (good, bad)
    )
    assert rare_among_good > rare_among_bad + 0.1


# --- unlabelled items -----------------------------------------------------------------------------

USES_UNLABELLED = {
    "lgp": {"truth": LogisticTruth(KnnGraph(k=5), strength=20.0), "map": "linear"},
    "lgp, gaussian": {
        "truth": LogisticTruth(GaussianGraph(), strength=20.0),
        "map": "linear",
        "annotators": "gaussian",
    },
    "rbf": {"truth": "id", "map": "rbf"},
    "gp": {"truth": "gp", "map": "linear"},
    "spectral": {"truth": "id", "map": "spectral"},
    "spectral, kNN": {"truth": "id", "map": SpectralMap(KnnGraph(k=5), rank=10)},
}


def half_labelled():
    rng = np.random.default_rng(5)
    X, z = blobs(120, rng)
    y = crowd(z, [0.8, 0.8, 0.7], rng, asked=0.8)
    y[40:] = np.nan
    return X, y, z


@pytest.mark.parametrize("settings", USES_UNLABELLED.values(), ids=USES_UNLABELLED.keys())
def test_unlabelled_items_change_what_a_graph_or_a_learnt_map_gives(settings):
    X, y, _ = half_labelled()
    seen, every = (
        CrowdClassifier(**settings, standardize=False).fit(X[:n], y[:n]).predict_proba(X[:40]) for n in (40, 120)
    )
    assert np.abs(seen - every).max() > 1e-3


@pytest.mark.parametrize("annotators", ["bernoulli", "gaussian"])
@pytest.mark.parametrize("solver", ["auto", "em", "lbfgs"])
def test_unlabelled_items_leave_linear_id_bit_for_bit_as_it_was(solver, annotators):
    X, y, _ = half_labelled()
    order = np.random.default_rng(0).permutation(120)  # unlabelled ones in between
    kept = order[order < 40]
    settings = {**LINEAR, "annotators": annotators, "solver": solver, "standardize": False}
    seen = CrowdClassifier(**settings).fit(X[kept], y[kept])
    every = CrowdClassifier(**settings).fit(X[order], y[order])
    assert seen.bound_history_ == every.bound_history_
    np.testing.assert_array_equal(seen.coef_, every.coef_)
    np.testing.assert_array_equal(seen.annotator_coef_, every.annotator_coef_)
    np.testing.assert_array_equal(seen.predict_proba(X), every.predict_proba(X))


def test_unlabelled_items_help_where_classes_are_curved_clumps():
    """Two moons, ten items labelled: a straight line gets three in four; the graph nearly all."""
    rng = np.random.default_rng(6)
    angle, z = rng.uniform(0, np.pi, 400), np.repeat([0, 1], 200)
    X = np.column_stack([np.cos(angle), np.sin(angle)])
    X[z == 1] = [1, 0.5] - X[z == 1]
    X += 0.06 * rng.normal(size=X.shape)
    y = np.full((400, 3), np.nan)
    asked = np.concatenate([rng.choice(200, 5, replace=False), 200 + rng.choice(200, 5, replace=False)])
    y[asked] = crowd(z[asked], [0.9, 0.9, 0.9], rng)
    accuracy = {
        name: CrowdClassifier(**settings).fit(X, y).score(X, z)
        for name, settings in {
            "line": LINEAR,
            "spectral": {"truth": "id", "map": "spectral"},
            "gp": {"truth": GraphTruth(KnnGraph(k=8)), "map": "linear"},
        }.items()
    }
    assert accuracy["spectral"] > max(accuracy["line"] + 0.05, 0.9)
    assert accuracy["gp"] > max(accuracy["line"] + 0.05, 0.9)


# --- what labels mean -----------------------------------------------------------------------------


@every_model
def test_label_zero_is_not_missing(settings):
    rng = np.random.default_rng(7)
    X, z = blobs(60, rng, apart=0.8)
    y = crowd(z, [0.9, 0.9, 0.6], rng)
    without = np.where(y == 0, np.nan, y)
    without[0, 0] = 0  # both classes must occur
    with_zeros = CrowdClassifier(**settings).fit(X, y).posterior_[:, 1]
    with_few = CrowdClassifier(**settings).fit(X, without).posterior_[:, 1]
    three_zeros = (y == 0).all(axis=1)
    assert with_zeros[three_zeros].max() < 0.3
    assert np.abs(with_zeros - with_few).max() > 0.2


@every_model
def test_swapping_the_two_labels_swaps_the_probabilities(settings):
    rng = np.random.default_rng(8)
    X, z = blobs(80, rng, apart=0.8)
    y = crowd(z, [0.9, 0.75, 0.6], rng, asked=0.8)
    y[60:] = np.nan
    there = CrowdClassifier(**settings, tol=1e-9, max_iter=2000).fit(X, y)
    back = CrowdClassifier(**settings, tol=1e-9, max_iter=2000).fit(X, 1 - y)
    tolerance = 1e-8 if there.solver_ == "vb" else 2e-3
    np.testing.assert_allclose(back.predict_proba(X)[:, ::-1], there.predict_proba(X), atol=tolerance)
    np.testing.assert_allclose(back.posterior_[:, ::-1], there.posterior_, atol=tolerance)
    np.testing.assert_allclose(back.expertise(X), there.expertise(X), atol=tolerance)


@pytest.mark.parametrize("settings", NOT_DRAWN.values(), ids=NOT_DRAWN.keys())
def test_the_order_of_items_and_annotators_does_not_matter(settings):
    rng = np.random.default_rng(9)
    X, z = blobs(60, rng)
    y = crowd(z, [0.9, 0.8, 0.7], rng, asked=0.7)
    y[0] = z[0]
    items, people = rng.permutation(60), np.array([2, 0, 1])
    here = CrowdClassifier(**settings, tol=1e-9, max_iter=2000).fit(X, y)
    there = CrowdClassifier(**settings, tol=1e-9, max_iter=2000).fit(X[items], y[items][:, people])
    np.testing.assert_allclose(there.posterior_, here.posterior_[items], atol=2e-3)
    np.testing.assert_allclose(there.expertise(X), here.expertise(X)[:, people], atol=2e-3)
