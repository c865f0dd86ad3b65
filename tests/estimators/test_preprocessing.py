"""Scale and map of the items: standardised, with square roots of skewed amounts, or left alone."""

import numpy as np
import pytest
from sklearn.preprocessing import StandardScaler

from whoknows import (
    AnchorGraph,
    Annotations,
    AutoCrowdClassifier,
    CrowdClassifier,
    LogisticTruth,
    NotCompatible,
    PrecomputedGraph,
    SpectralMap,
    load,
)
from whoknows.estimators.inputs.preprocessing import (
    MOST_AXES,
    fit_preprocessing,
    fit_scale,
    scaled,
    skewed_amounts,
    with_roots,
)
from whoknows.estimators.inputs.rows import TransformedRows
from whoknows.estimators.prepared_model import prepare_classifier
from whoknows.model import distances

RNG = np.random.default_rng(0)
N = 300
AMOUNT = RNG.exponential(size=N)  # skewness 2
X = np.column_stack([AMOUNT, AMOUNT - 1, RNG.uniform(size=N), -AMOUNT, np.full(N, 3.0), RNG.poisson(0.3, N)])
Y = np.column_stack([(AMOUNT > 1).astype(float)] * 2)


def seen(standardize, X=X):
    return fit_preprocessing(CrowdClassifier("id", map="linear", standardize=standardize), X, X.shape[1])


def test_skewed_amounts_are_long_tailed_and_never_below_zero():
    assert skewed_amounts(X).tolist() == [True, False, False, False, False, True]


def test_roots_are_taken_before_columns_are_standardised():
    scaled = seen("roots").scaled(X)
    root = np.sqrt(X[:, 0])
    np.testing.assert_allclose(scaled[:, 0], (root - root.mean()) / root.std())
    np.testing.assert_allclose(scaled[:, 1:5], seen(True).scaled(X)[:, 1:5])
    np.testing.assert_array_equal(seen(False).scaled(X), X)


def test_a_new_item_below_zero_is_placed_at_zero():
    below, zero = X[:2].copy(), X[:2].copy()
    below[:, 0], zero[:, 0] = -5.0, 0.0
    known = seen("roots")
    np.testing.assert_array_equal(known.scaled(below), known.scaled(zero))
    np.testing.assert_array_equal(below[:, 0], -5.0)  # the user's numbers stay as they are


def test_without_roots_to_take_nothing_is_copied():
    assert with_roots(X, np.zeros(6, dtype=bool)) is X


def test_coefficients_of_roots_are_none_of_x():
    model = CrowdClassifier("id", map="linear", standardize="roots", tol=1e-3).fit(X, Y)
    with pytest.raises(AttributeError, match=r"coef_ exists only with map='linear' and no square roots"):
        _ = model.coef_
    assert CrowdClassifier("id", map="linear", standardize="roots", tol=1e-3).fit(X[:, 1:5], Y).coef_.shape == (1, 4)


def test_other_words_are_refused():
    with pytest.raises(ValueError, match=r"standardize must be True, False, 'roots' or 'units'; got 'log'\."):
        CrowdClassifier(standardize="log").fit(X, Y)


def test_the_units_of_an_amount_do_not_matter_to_auto():
    """The square root of c·x is √c·√x, which standardising undoes."""
    one = AutoCrowdClassifier(selection=False, tol=1e-3).fit(X, Y)
    other = AutoCrowdClassifier(selection=False, tol=1e-3).fit(X * [1000, 1, 1, 1, 1, 7], Y)
    np.testing.assert_allclose(one.posterior_, other.posterior_, atol=1e-6)


def test_a_graph_that_knows_only_its_items_serves_a_fit_with_few_labels():
    weights = np.exp(-((AMOUNT[:, None] - AMOUNT) ** 2))
    y = np.where(np.arange(N)[:, None] % 5 == 0, Y, np.nan)
    model = CrowdClassifier("id", map=SpectralMap(PrecomputedGraph(weights)), tol=1e-3).fit(X, y)
    assert model.score(X, Y[:, 0]) > 0.9
    with pytest.raises(NotCompatible, match="has weights for the training items only"):
        model.predict(X[:5])


def test_columns_in_one_unit_keep_it_and_are_changed_all_or_none():
    pixels = RNG.exponential(size=(N, 5))
    np.testing.assert_allclose(seen("units", pixels).scaled(pixels), np.sqrt(pixels))
    mixed = np.column_stack([pixels[:, :2], RNG.uniform(0, 5, (N, 3))])  # most are not skewed
    np.testing.assert_array_equal(seen("units", mixed).scaled(mixed), mixed)
    np.testing.assert_allclose(seen("roots", mixed).scaled(mixed), seen(True, mixed).scaled(mixed))
    apart = X * [1, 1, 1, 1, 1, 100]
    np.testing.assert_allclose(seen("units", apart).scaled(apart), seen("roots", apart).scaled(apart))


# --- many items -----------------------------------------------------------------------------------


def test_columns_are_standardised_as_scikit_learn_does():
    odd = np.column_stack([X, np.full(N, 0.1), 1e9 + RNG.normal(size=N), np.full(N, 1e8 / 3), np.zeros(N)])
    np.testing.assert_allclose(scaled(fit_scale(odd, True), odd), StandardScaler().fit_transform(odd), atol=1e-7)


def test_rows_made_of_others_are_made_when_they_are_taken():
    taken = []
    rows = TransformedRows(X, lambda part: (taken.append(len(part)), part[:, :2] * 2)[1])
    assert len(rows) == N
    assert taken == []
    assert rows.shape == (N, 2)
    np.testing.assert_array_equal(rows[10:13], X[10:13, :2] * 2)
    np.testing.assert_array_equal(rows[np.array([5, 7])], X[[5, 7], :2] * 2)
    assert taken == [1, 3, 2]


@pytest.mark.parametrize("standardize", [True, "roots", "units"])
@pytest.mark.parametrize("map", ["linear", "rbf"])
def test_of_many_items_scale_and_map_are_learnt_from_a_sample(monkeypatch, map, standardize):
    settings = CrowdClassifier("id", map=map, standardize=standardize, random_state=3)
    monkeypatch.setattr(distances, "ENOUGH", 120)
    many = fit_preprocessing(settings, X, 2)
    few = fit_preprocessing(settings, distances.enough_of(X, many.seed), 2)
    given = fit_preprocessing(settings, X, 2, sample=distances.enough_of(X, many.seed))
    np.testing.assert_array_equal(many.truth_features(X), few.truth_features(X))
    np.testing.assert_array_equal(many.truth_features(X), given.truth_features(X))
    monkeypatch.setattr(distances, "ENOUGH", N)
    assert not np.allclose(fit_preprocessing(settings, X, 2).scale.mean, many.scale.mean)


@pytest.mark.parametrize("truth", ["id", LogisticTruth(AnchorGraph(anchors=20))], ids=["id", "lgp"])
def test_many_items_are_never_taken_into_memory_at_once(monkeypatch, truth):
    """What is learnt from rows taken a block at a time is what is learnt from an array."""
    settings = CrowdClassifier(truth, map=SpectralMap(AnchorGraph(anchors=20)), random_state=3)
    said = Annotations.from_matrix(Y)
    monkeypatch.setattr(distances, "ENOUGH", 120)
    largest = []

    def taken(part):
        largest.append(len(part))
        return part

    lazy = prepare_classifier(settings, TransformedRows(X, taken), said)
    assert max(largest) <= 120
    eager = prepare_classifier(settings, X, said)
    np.testing.assert_allclose(lazy.model.truth.precision, eager.model.truth.precision, rtol=1e-9)
    np.testing.assert_allclose(lazy.preprocessing.truth_features(X), eager.preprocessing.truth_features(X), rtol=1e-9)
    assert lazy.preprocessing.features.graph.sums.n_items == N


def test_items_of_less_precision_are_seen_in_double():
    known = seen(True)
    assert known.truth_features(X.astype(np.float32)).dtype == np.float64
    assert scaled(known.scale, X.astype(np.float32)).dtype == np.float32
    np.testing.assert_allclose(known.truth_features(X.astype(np.float32)), known.truth_features(X), atol=1e-5)


@pytest.mark.parametrize("settings", [{}, {"truth": "id", "standardize": False}, {"solver": "em"}], ids=str)
def test_constant_columns_change_nothing(settings):
    def with_constants(X):
        constant = np.ones((len(X), 1))
        return np.hstack([7.3 * constant] * 50 + [X] + [-0.1 * constant] * 47)

    few, new = X[:, [0, 2, 5]], np.random.default_rng(1).normal(size=(40, 3))
    alone = CrowdClassifier(map="linear", **settings).fit(few, Y)
    beside = CrowdClassifier(map="linear", **settings).fit(with_constants(few), Y)
    np.testing.assert_allclose(beside.predict_proba(with_constants(new)), alone.predict_proba(new), rtol=0, atol=1e-12)
    np.testing.assert_allclose(beside.expertise(with_constants(new)), alone.expertise(new), rtol=0, atol=1e-12)
    np.testing.assert_allclose(beside.coef_[:, 50:53], alone.coef_, atol=1e-12)
    assert not beside.coef_[:, :50].any()


def test_constant_columns_alone_are_no_features():
    model = CrowdClassifier(map="linear").fit(np.ones((N, 3)), Y)
    assert len(np.unique(model.predict_proba(np.ones((4, 3))), axis=0)) == 1


def test_many_columns_are_measured_along_their_principal_axes():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, MOST_AXES + 26)) + 5 * rng.integers(2, size=(300, 1))
    scale = fit_scale(X, True, for_distances=True)
    assert fit_scale(X, True).axes is None
    assert fit_scale(X[:, :MOST_AXES], True, for_distances=True).axes is None
    np.testing.assert_allclose(scale.axes.T @ scale.axes, np.eye(MOST_AXES), atol=1e-10)
    spread = scaled(scale, X).var(axis=0)
    assert (np.diff(spread) <= 1e-9).all()
    assert spread[0] > 20 * spread[1]  # both clusters are told apart along the first axis


@pytest.mark.parametrize("map", ["rbf", "spectral", "clusters"])
def test_a_model_in_principal_axes_finds_clusters_amid_columns_of_noise_and_is_stored(map, tmp_path):
    rng = np.random.default_rng(1)
    X = rng.normal(size=(240, MOST_AXES + 26))
    z = rng.integers(2, size=240)
    X += 0.6 * (2 * z - 1)[:, None] * rng.choice([-1, 1], size=MOST_AXES + 26)
    y = np.where(rng.random((240, 3)) < 0.8, z[:, None], 1 - z[:, None])
    model = CrowdClassifier(map=map, max_iter=30, tol=1e-3).fit(X, y)
    assert np.mean(model.predict(X) == z) > 0.97
    model.save(tmp_path / "model.zip")
    np.testing.assert_allclose(load(tmp_path / "model.zip").predict_proba(X), model.predict_proba(X), atol=1e-12)
