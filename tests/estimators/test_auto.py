"""AutoCrowdClassifier: weights without truth, words that fit them, and one estimator to the outside."""

import numpy as np
import pytest
from scipy.optimize import minimize
from sklearn.datasets import make_moons

from tests.estimators.worlds import line_world, said_in
from whoknows import Annotations, AutoCrowdClassifier, CrowdClassifier
from whoknows.estimators.members import Member, default_members
from whoknows.estimators.selection import Selection
from whoknows.estimators.stacking import PRIOR_ITEMS, stack, weigh

pytestmark = pytest.mark.filterwarnings("ignore::whoknows.fit.monitor.DidNotConverge")


@pytest.fixture(scope="module")
def line():
    """A straight boundary, constant expertise."""
    X, y, z = line_world(n_items=150, accuracies=(0.9, 0.75, 0.6), share_labelled=0.5)
    return X, y, z, AutoCrowdClassifier().fit(X, y)


@pytest.fixture(scope="module")
def moons():
    """Two moons, 40 of 300 items labelled: the graph knows what the labels do not."""
    X, z = make_moons(300, noise=0.06, random_state=0)
    rng = np.random.default_rng(0)
    y = np.where(rng.random((300, 4)) < 0.8, z[:, None], 1 - z[:, None]).astype(float)
    y[rng.permutation(300)[40:]] = np.nan
    return X, y, z, AutoCrowdClassifier().fit(X, y)


def test_it_behaves_like_one_estimator(line):
    X, y, z, model = line
    assert np.mean(model.predict(X) == z) > 0.85
    for prob in (model.predict_proba(X), model.posterior(X, y), model.posterior_):
        assert prob.shape == (150, 2)
        np.testing.assert_allclose(prob.sum(axis=1), 1)
    np.testing.assert_allclose(model.posterior(X, y), model.posterior_)
    expertise = model.expertise(X)
    assert expertise.shape == (150, 3)
    assert expertise[:, 0].mean() > expertise[:, 2].mean()
    np.testing.assert_allclose(model.confusion(0).sum(axis=1), 1)
    assert model.score(X, z) == np.mean(model.predict(X) == z)
    assert model.score(X, said_in(y)) < 0


def test_predictions_are_the_weighted_average_of_the_members(line):
    X, _, _, model = line
    by_hand = sum(w * m.predict_proba(X) for w, m in zip(model.weights_, model.members_, strict=True))
    np.testing.assert_allclose(model.predict_proba(X), by_hand)
    assert model.weights_.sum() == pytest.approx(1)
    assert len(model.members_) == len(model.selection_.members)


def test_the_graph_gets_the_weight_where_items_lie_in_clusters(line, moons):
    def graph(model):
        return model.selection_.share(map="spectral")

    assert graph(moons[3]) > 0.4 > graph(line[3])  # a quarter if all counted alike
    assert "unlabelled items matter here" in str(moons[3].selection_)
    X, _, z, model = moons
    plain = CrowdClassifier(map="linear").fit(X, moons[1])
    assert np.mean(model.predict(X) == z) > np.mean(plain.predict(X) == z) + 0.03


def test_no_sign_of_expertise_that_varies_where_it_does_not(line):
    assert "no sign that expertise varies with x" in str(line[3].selection_)


def test_expertise_that_varies_is_seen():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(250, 2))
    z = (X @ [1.0, 0.2] > 0).astype(int)
    left = X[:, 1] < 0
    accuracy = np.column_stack(
        [np.where(left, 0.97, 0.5), np.where(left, 0.5, 0.97), np.where(left, 0.97, 0.5)]
    )
    y = np.where(rng.random((250, 3)) < accuracy, z[:, None], 1 - z[:, None])
    model = AutoCrowdClassifier().fit(X, y)
    assert model.selection_.share(varies_with_x=True) > 0.8
    assert "expertise varies with x." in str(model.selection_)


def test_without_selection_all_members_count_alike():
    X, y, _ = line_world(n_items=40)
    model = AutoCrowdClassifier(selection=False).fit(X, y)
    np.testing.assert_allclose(model.weights_, 1 / len(model.members_))
    assert "No selection: every member has the same weight." in str(model.selection_)


def test_too_few_labels_are_admitted():
    few = Selection(default_members(2), np.full(16, 1 / 16), np.zeros((2, 16)))
    assert "Not enough labels to tell the members apart" in str(few)


def test_stacking_maximises_the_held_out_likelihood_with_its_prior():
    lik, prior = np.random.default_rng(0).normal(size=(60, 3)), PRIOR_ITEMS + 0.2 * 60

    def negative(free):
        w = np.exp(free) / np.exp(free).sum()
        return -(np.log(np.exp(lik) @ w).sum() + prior / 3 * np.log(w).sum())

    best = np.exp(minimize(negative, np.zeros(3)).x)
    np.testing.assert_allclose(stack(lik, even=0.2), best / best.sum(), atol=1e-3)


def test_members_with_a_graph_count_only_if_they_foretell_better():
    lik = np.random.default_rng(2).normal(size=(100, 4))
    lik[:, 2:] -= 0.3
    spectral = np.array([False, False, True, True])
    assert weigh(lik, spectral)[2:].sum() == 0
    assert weigh(lik[:, ::-1], spectral)[2:].sum() > 0.5
    np.testing.assert_allclose(weigh(lik[:0], spectral), 0.25)


def test_three_classes_and_any_labels():
    rng = np.random.default_rng(1)
    X = rng.normal(size=(90, 2))
    z = (X @ rng.normal(size=(2, 3))).argmax(axis=1)
    said = np.array(["a", "b", "c"], dtype=object)[
        np.where(rng.random((90, 3)) < 0.8, z[:, None], 2 - z[:, None])
    ]
    said[45:] = None
    model = AutoCrowdClassifier(selection=False, tol=1e-3).fit(X, Annotations.from_matrix(said))
    assert model.predict_proba(X).shape == (90, 3)
    assert np.mean(model.predict(X) == np.array(["a", "b", "c"])[z]) > 0.7


def test_the_same_seed_gives_the_same_model():
    X, y, _ = line_world(n_items=30)
    one, other = (AutoCrowdClassifier(random_state=3, tol=1e-2).fit(X, y).predict_proba(X) for _ in range(2))
    np.testing.assert_array_equal(one, other)


def test_members_can_be_named():
    X, y, z = line_world(n_items=60)
    chosen = [Member("linear", 10.0, varies_with_x=True), Member("rbf 2", 3.0, varies_with_x=False)]
    model = AutoCrowdClassifier(members=chosen).fit(X, y)
    assert len(model.members_) == 2
    assert np.mean(model.predict(X) == z) > 0.85
