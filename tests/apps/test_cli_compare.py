"""`whoknows compare`: methods are compared on held-out labels, which none has seen in training."""

import numpy as np
import pytest

from tests.apps.cli import as_json, make_crowd, run, table
from whoknows import Annotations, CrowdClassifier
from whoknows.data.simulate import cluster_experts, hide
from whoknows.insight.compare import FREQUENT, OURS, SINGLE, VOTE, HeldOutAccuracy, best_annotator, compare


@pytest.fixture(scope="module")
def crowd():
    """Three annotators, each an expert on one of three clusters; the truth depends on x."""
    rng = np.random.default_rng(0)
    X = np.array([[0, 0], [5, 0], [0, 5]])[rng.integers(3, size=240)] + rng.normal(size=(240, 2))
    z = (X[:, 0] + X[:, 1] > 4).astype(int)
    return X, hide(cluster_experts(X, z, 3, error=0.4), items=0.7)


@pytest.fixture(scope="module")
def compared(crowd):
    X, said = crowd
    steps = []
    model = CrowdClassifier("id", map="linear", max_iter=30, tol=1e-3)
    found = compare(model, X, said, progress=lambda done, of: steps.append((done, of)))
    return found, steps


def test_expertise_by_item_improves_held_out_accuracy(crowd, compared):
    found, steps = compared
    place = {name: m for m, name in enumerate(found.methods)}
    assert found.methods[0] == OURS
    assert found.new.n_labels == crowd[1].n_annotations
    assert (found.new.share >= 0).all()
    assert (found.new.share <= 1).all()
    assert found.new.share[0] > found.new.share[place[FREQUENT]] + 0.05
    assert found.known.share[0] > found.known.share[place[VOTE]] + 0.02
    np.testing.assert_allclose(found.known.behind, found.known.share[0] - found.known.share)
    assert found.known.error[0] == 0
    assert (found.known.error[1:] > 0).all()
    assert steps == [(k, 6) for k in range(1, 7)]
    text = str(found)
    assert max(map(len, text.splitlines())) <= 96
    assert "Annotators make mistakes" in text


def test_held_out_labels_are_not_used_in_training(crowd):
    """Random labels cannot be predicted by any method."""
    X, said = crowd
    rng = np.random.default_rng(1)
    noise = Annotations(
        said.item, said.annotator, rng.integers(2, size=said.n_annotations), said.items, said.annotators, said.labels
    )
    model = CrowdClassifier("id", map="linear", max_iter=10, tol=1e-2)
    found = compare(model, X, noise, folds=4)
    assert np.abs(found.new.share - 0.5).max() < 0.1
    assert np.abs(found.known.share - 0.5).max() < 0.1


def test_standard_errors_are_over_items():
    """Ten labels of one item are one observation, and a method compared with itself has no error."""
    hits = np.array([[1.0] * 20, [1.0] * 10 + [0.0] * 10])
    item = np.repeat([0, 1], 10)
    judged = HeldOutAccuracy.of([(hits, item, np.ones(20))], n_items=2)
    np.testing.assert_allclose(judged.share, [1.0, 0.5])
    np.testing.assert_allclose(judged.behind, [0.0, 0.5])
    # Two items with leads 0 and 1, each half of the weight: sqrt(2 · (0.5 · 0.5)²).
    np.testing.assert_allclose(judged.error, [0.0, np.sqrt(2) / 4])


def test_the_best_annotator_is_not_one_with_few_labels():
    y = np.full((60, 3), np.nan)
    y[:, 0] = y[:, 1] = np.arange(60) % 2
    y[:6, 1] = 1 - y[:6, 1]  # right nine times in ten
    y[50:52, 2] = y[50:52, 0]  # right twice, of two
    y[:10, 0] = np.nan
    said = Annotations.from_matrix(y, annotators=["often", "good", "lucky"])
    assert best_annotator(said) != "lucky"


def test_without_second_labels_only_new_items_are_compared():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(30, 2))
    said = Annotations.from_arrays(np.arange(30), np.arange(30) % 2, (X[:, 0] > 0).astype(int))
    found = compare(CrowdClassifier("id", map="linear"), X, said)
    assert found.known is None
    assert "Labelled items" not in str(found)


def test_more_than_two_classes(crowd):
    X, _ = crowd
    z = np.digitize(X[:, 0], [1, 4])
    said = hide(cluster_experts(X, z, 3, error=0.3), items=0.5)
    found = compare(CrowdClassifier("id", map="linear", max_iter=5, tol=1e-2), X, said, folds=2)
    assert found.new.share[found.methods.index(SINGLE)] > 0.4


def test_the_command(tmp_path):
    files = make_crowd(tmp_path)
    given = "compare", files / "labels.csv", "--features", files / "features.csv", "--model", "id"
    said = run(*given, "--out", tmp_path / "table.csv", "--folds", 2)
    assert "majority vote + LR" in said.out
    rows = table(tmp_path / "table.csv")
    assert rows[0]["method"] == "whoknows"
    assert list(rows[0]) == [
        "method",
        *(f"{which}{what}" for which in ("new_items", "labelled_items") for what in ("", "_behind", "_error")),
    ]
    found = as_json(*given, "--folds", 2)
    assert found["methods"]["new_items"] == pytest.approx([float(row["new_items"]) for row in rows])
