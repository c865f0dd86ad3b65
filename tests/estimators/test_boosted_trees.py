"""Boosted trees as arrays: the numbers of scikit-learn, in model files without pickle."""

import numpy as np
import pytest
from sklearn.ensemble import HistGradientBoostingClassifier

from whoknows import CrowdClassifier, load
from whoknows.estimators.boosted_trees import BoostedTrees, Trees, averaged
from whoknows.estimators.persistence.checks import check_object

rng = np.random.default_rng(0)
X = rng.normal(size=(300, 4)).round(1)  # rounded, so that many values lie on a threshold
Z = ((X[:, 0] * X[:, 1] > 0) + 2 * (X[:, 2] > 0.5)).astype(int)
SETTINGS = {"max_iter": 12, "learning_rate": 0.2, "early_stopping": False, "random_state": 0}


@pytest.mark.parametrize("n_classes", [2, 4])
def test_probabilities_are_those_of_scikit_learn(n_classes):
    y, weight = Z % n_classes, rng.random(300)
    ours = BoostedTrees(rounds=12, learning_rate=0.2, random_state=0).fit(X, y, weight)
    theirs = HistGradientBoostingClassifier(**SETTINGS).fit(X, y, weight)
    new = np.vstack([X, 100 * X[:5], np.nextafter(X[:5], 9), np.nextafter(X[:5], -9)])
    np.testing.assert_allclose(ours.predict_proba(new), theirs.predict_proba(new), rtol=1e-12)
    np.testing.assert_array_equal(ours.predict(new), theirs.predict(new))


def test_a_tree_by_hand():
    """x0 ≤ 1: leaf 10; otherwise x1 ≤ 5: leaf 20, else leaf 30."""
    values = np.zeros((1, 32))
    values[0, :3] = 10, 20, 30
    node = [np.array(column) for column in ([0, 0], [0, 1], [1.0, 5.0], [0, 1], [1, 2])]
    trees = Trees(*node, values, np.array([0.5]))
    x = np.array([[1.0, 9.0], [1.1, 5.0], [2.0, 5.1]])
    assert trees(x)[:, 0].tolist() == [10.5, 20.5, 30.5]
    check_object(trees)


def test_nothing_to_split_on():
    constant = BoostedTrees(rounds=3).fit(np.ones((50, 2)), [0, 1] * 25)
    np.testing.assert_allclose(constant.predict_proba(np.zeros((2, 2))), 0.5)


def test_the_average_is_that_of_the_sums():
    parts = [BoostedTrees(rounds=5, random_state=0).fit(X[i::3], Z[i::3]) for i in range(3)]
    mean = np.mean([part.trees_(X) for part in parts], axis=0)
    np.testing.assert_allclose(averaged(parts).trees_(X), mean)
    other = BoostedTrees(rounds=2).fit(X, Z % 2)
    assert averaged([*parts, other]) is None


@pytest.mark.parametrize(("field", "value"), [("tree", 7), ("feature", -1), ("first", 31), ("last", 40), ("last", 0)])
def test_forged_nodes_are_refused(field, value):
    trees = BoostedTrees(rounds=1).fit(X, Z % 2).trees_
    getattr(trees, field)[0] = value
    with pytest.raises(ValueError, match="nodes of no tree"):
        check_object(trees)


def test_a_model_file_needs_no_trusted_types(tmp_path):
    y = np.column_stack([Z % 2, np.where(rng.random(300) < 0.8, Z % 2, 1 - Z % 2)])
    model = CrowdClassifier(BoostedTrees(rounds=10), map="linear").fit(X, y)
    model.save(tmp_path / "model")
    again = load(tmp_path / "model")
    np.testing.assert_array_equal(again.predict_proba(X), model.predict_proba(X))
    np.testing.assert_array_equal(again.posterior(X, y), model.posterior(X, y))
    assert isinstance(again.truth_classifier_, BoostedTrees)
