"""Every method gets the same folds and labels; errors of a method are recorded."""

from itertools import pairwise

import numpy as np
import pytest

from benchmarks.common.command import choice
from benchmarks.paper import figure3, figures45, protocol, simulated_study, unlabelled
from benchmarks.paper.methods import KINDS, METHODS, methods_for
from benchmarks.paper.protocol import PROPORTIONS, evaluate, split

rng = np.random.default_rng(0)
X = rng.normal(size=(60, 3))
z = (X[:, 0] + 0.3 * rng.normal(size=60) > 0).astype(int)
LABELS = np.where(rng.random((60, 5)) < 0.8, z[:, None], 1 - z[:, None])
COLUMNS = {"method", *protocol.VALUES}


def test_folds_partition_the_items_and_are_stratified():
    tests = [split(X, z, LABELS, 0, fold, 1.0) for fold in range(5)]
    rows = np.vstack([draw.X_test for draw in tests])
    assert sorted(map(tuple, rows)) == sorted(map(tuple, X))
    assert all(abs(draw.z_test.mean() - z.mean()) < 0.05 for draw in tests)


def test_larger_shares_contain_smaller_ones():
    seen = [split(X, z, LABELS, 1, 2, share).Y.labelled for share in PROPORTIONS]
    assert [int(each.sum()) for each in seen] == [5, 10, 14, 19, 24, 29, 34, 38, 43, 48]
    assert all((more | less == more).all() for less, more in pairwise(seen))


def test_labels_stay_with_their_items():
    draw = split(X, z, LABELS, 0, 0, 1.0)
    place = {tuple(row): labels for row, labels in zip(X, LABELS, strict=True)}
    assert np.array_equal(draw.Y.to_matrix(), [place[tuple(row)] for row in draw.X])


def test_repeats_differ():
    first, second = (split(X, z, LABELS, repeat, 0, 0.5) for repeat in (0, 1))
    assert not np.array_equal(first.X_test, second.X_test)


def test_every_method_returns_a_row():
    builders = {key: METHODS[key].build for key in methods_for(5, KINDS) if key != "auto"}  # auto takes long
    rows = evaluate(split(X, z, LABELS, 0, 0, 0.5), builders, with_order=True)
    assert [row["method"] for row in rows] == list(builders)
    assert all("error" not in row and 0.5 < row["auc"] <= 1 and len(row["order"]) >= 12 for row in rows)
    assert all(set(row) <= COLUMNS | {"order"} and row["n_labelled"] == 24 for row in rows)


def test_a_vote_of_a_single_class_is_not_an_error():
    everyone_says_one = np.ones_like(LABELS)
    builders = {key: METHODS[key].build for key in methods_for(5, KINDS) if key != "auto"}
    rows = evaluate(split(X, z, everyone_says_one, 0, 0, 0.1), builders)
    assert {row["method"]: row["error"] for row in rows if "error" in row} == {}
    assert rows[0]["accuracy"] == pytest.approx(np.mean(split(X, z, LABELS, 0, 0, 0.1).z_test == 1), abs=1e-6)


def test_an_error_is_recorded_and_the_other_methods_still_run():
    def broken(Y):
        raise ValueError("no luck")

    rows = evaluate(split(X, z, LABELS, 0, 0, 0.5), {"broken": broken, "vote": METHODS["vote"].build})
    assert rows[0]["error"] == "ValueError: no luck"
    assert "accuracy" not in rows[0]
    assert rows[1]["accuracy"] > 0.5


def test_a_fit_past_the_limit_is_stopped_and_recorded(monkeypatch):
    monkeypatch.setattr(protocol, "LONGEST", 0.0)
    (row,) = evaluate(split(X, z, LABELS, 0, 0, 0.5), {"gp": METHODS["gp"].build})
    assert row["error"].startswith("TookTooLong: skipped after 0 s")


def test_there_is_one_method_per_annotator():
    assert [key for key in methods_for(5, ["vote", "annotator"])] == [
        "vote", *(f"annotator-{t}" for t in range(1, 6))
    ]  # fmt: skip
    assert "annotator-6" in methods_for(6, KINDS)


def test_repeats_of_all_sets_are_run_in_turn_and_dim_comes_last():
    tasks = figure3.groups(["dim", "pima", "wpbc60"], 2, (0.1, 1.0))
    assert len(tasks) == 3 * 2 * 5 * 2
    repeats = [task[1] for task in tasks]
    assert repeats == sorted(repeats)
    assert list(dict.fromkeys(task[0] for task in tasks)) == ["wpbc60", "pima", "dim"]


def test_the_quick_run_is_a_subset_of_the_full_run():
    whole = set(figure3.groups(figure3.CHEAP_FIRST, 5, PROPORTIONS))
    assert len(whole) == 7 * 5 * 5 * 10
    assert set(figure3.groups(figure3.QUICK_SETS, 1, figure3.QUICK_PROPORTIONS)) <= whole
    assert set(figures45.ROC_AT) <= set(PROPORTIONS)


def test_simulated_study_has_the_shape_of_the_cardiac_data():
    problems = [simulated_study.problem(number) for number in range(1, 17)]
    assert {(X.shape, z.shape, y.shape) for X, z, y in problems} == {((220, 24), (220,), (220, 5))}
    right = np.array([(y == z[:, None]).mean(axis=0) for _, z, y in problems])
    assert right.min() > 0.62
    assert right.max() < 0.9
    assert all(0.2 < z.mean() < 0.5 for _, z, _ in problems)
    assert np.array_equal(simulated_study.problem(3)[2], problems[2][2])


def test_errors_of_simulated_readers_are_correlated():
    wrong = np.vstack([y != z[:, None] for _, z, y in map(simulated_study.problem, range(1, 17))])
    off_diagonal = np.corrcoef(wrong.T)[np.triu_indices(5, 1)]
    assert off_diagonal.mean() > 0.05  # by chance, within 0.006 of 0


def test_without_unlabelled_items_only_labelled_ones_remain():
    draw = unlabelled.draw("two-moons", 0, 20)
    alone = unlabelled.without_unlabelled(draw)
    assert (len(draw.X), len(alone.X), alone.Y.n_items) == (300, 20, 20)
    assert np.array_equal(alone.Y.to_matrix(), draw.Y.to_matrix()[draw.Y.labelled])
    assert np.array_equal(alone.X, draw.X[draw.Y.labelled])


def test_an_unknown_choice_is_refused_with_the_allowed_ones():
    some = choice(["a", "b", "c"])
    assert some("c,a") == ["a", "c"]
    with pytest.raises(Exception, match="expected some of a, b, c; got d"):
        some("a,d")
