"""Stronger rivals: the same draws and preprocessing for everybody, and tables."""

import numpy as np
import pandas as pd
import pytest

from benchmarks.common import judges, sets
from benchmarks.common.command import RESULTS
from benchmarks.common.preprocessing import with_roots
from benchmarks.common.sets import DataSet
from benchmarks.common.tables import read
from benchmarks.crowds.cases import Case, make_case, score
from benchmarks.crowds.methods import Method
from benchmarks.paper import figure3
from benchmarks.paper.protocol import split
from benchmarks.rivals import cases, run, summary
from benchmarks.rivals.methods import METHODS, OURS, PLAIN, TWO_CLASSES, WITH_ROOTS, methods_for
from tests.benchmarks.test_crowds import small_set
from whoknows import Annotations, CrowdClassifier

rng = np.random.default_rng(0)


# --- draws and preprocessing --------------------------------------------------------------------------------


def test_skewed_amounts_become_square_roots_and_all_columns_are_standardised():
    X = np.column_stack([rng.exponential(size=200), 100 * rng.normal(size=200)])
    found, new = with_roots(X, X[:7])
    roots = np.column_stack([np.sqrt(X[:, 0]), X[:, 1]])
    np.testing.assert_allclose(found, (roots - roots.mean(axis=0)) / roots.std(axis=0))
    np.testing.assert_allclose(new, found[:7])


def test_equal_preprocessing_is_that_of_the_library():
    """A model given prepared features equals one that prepares them itself."""
    X = np.column_stack([rng.exponential(size=80), rng.normal(size=80)])
    y = np.where(rng.random((80, 4)) < 0.8, (X[:, :1] > 0.7), (X[:, :1] <= 0.7)).astype(float)
    prepared, new = with_roots(X, X[:9])
    inside, outside = CrowdClassifier(standardize="roots").fit(X, y), CrowdClassifier().fit(prepared, y)
    np.testing.assert_allclose(inside.predict_proba(X[:9]), outside.predict_proba(new), atol=1e-8)


def test_draws_of_the_papers_data_sets_are_those_of_figure_3(monkeypatch):
    X, z = rng.normal(size=(60, 3)), np.arange(60) % 2
    labels = np.where(rng.random((60, 5)) < 0.8, z[:, None], 1 - z[:, None])
    data = DataSet("bupa", X, z, Annotations.from_matrix(labels, labels=[0, 1]))
    monkeypatch.setattr(cases, "load", lambda name, repeat: data)
    case, held_out = cases.draw("bupa", 0.3, 6, 2)
    expected = split(X, z, labels, 6, 2, 0.3)
    np.testing.assert_array_equal(case.X, expected.X)
    np.testing.assert_array_equal(case.Y.to_matrix(), expected.Y.to_matrix())
    np.testing.assert_array_equal(case.X_new, expected.X_test)
    np.testing.assert_array_equal(case.truth_new, expected.z_test)
    rows = [X.tolist().index(x) for x in case.X[case.Y.labelled].tolist()]
    np.testing.assert_array_equal(case.truth, z[rows])
    test = [X.tolist().index(x) for x in case.X_new.tolist()]
    np.testing.assert_array_equal(held_out.to_matrix(), labels[test])


def test_draws_of_a_crowd_are_those_of_the_other_benchmark(monkeypatch):
    data = small_set()
    monkeypatch.setattr(cases, "load", lambda name, repeat: data)
    case, held_out = cases.draw("small", 0.5, 3, 0)
    expected = make_case(data, 0.5, 3)
    assert case.Y == expected.Y
    np.testing.assert_array_equal(case.X_new, expected.X_new)
    rows = [data.X.tolist().index(x) for x in case.X_new.tolist()]
    whole = data.annotations.to_matrix()[rows][:, case.Y.annotators]
    np.testing.assert_array_equal(held_out.to_matrix(), whole)


def test_repeats_start_after_those_evaluated_during_development():
    groups = run.groups("bupa")
    assert {group[2] for group in groups} == {5}
    assert len(groups) == 3 * 5
    assert run.groups("labelme") == [("labelme", share, draw, 0) for share in (0.1, 0.3) for draw in (0, 1)]


def test_judges_are_read_from_their_folder(tmp_path, monkeypatch):
    folder = tmp_path / "judges" / "judge_pairs"
    folder.mkdir(parents=True)
    (folder / "annotations.csv").write_text("item,annotator,label\np,a,A>B\np,b,B>A\nq,a,A>B\n")
    (folder / "items.csv").write_text("item\nq\np\n")
    (folder / "truth.csv").write_text("item,label\np,A>B\nq,B>A\n")
    np.save(folder / "embeddings.npy", np.array([[1.0, 2.0], [3.0, 4.0]], dtype=np.float16))
    monkeypatch.setenv("WHOKNOWS_DATA", str(tmp_path))
    monkeypatch.setitem(judges.EXPECTED, "judge_pairs", (2, 2, 2, 3))
    data = judges.load("judge_pairs")
    assert data.z.tolist() == ["B>A", "A>B"]
    assert data.annotations.labels.tolist() == ["A>B", "B>A"]
    assert data.annotations.labelled.tolist() == [True, True]
    monkeypatch.setitem(judges.EXPECTED, "judge_pairs", (2, 2, 2, 4))
    with pytest.raises(ValueError, match=r"expected \(2, 2, 2, 4\) items, features, annotators and labels"):
        judges.load("judge_pairs")


# --- methods ------------------------------------------------------------------------------------------------


@pytest.mark.filterwarnings("ignore")  # as in the benchmark: other packages use deprecated functions
@pytest.mark.parametrize("name", [name for name, method in METHODS.items() if method.is_installed])
def test_methods_return_valid_answers(name, few_members):
    case = make_case(small_set(), 1.0, 0)
    answer = METHODS[name].answer(case.X, case.Y, case.X_new)
    assert answer.belief.shape == (70, 2)
    assert answer.prob.shape == (30, 2)
    np.testing.assert_allclose(answer.prob.sum(axis=1), 1, atol=1e-6)
    figures = score(case, answer)
    assert figures["consensus_accuracy"] > 0.8
    assert figures["classifier_accuracy"] > 0.75


def test_more_than_two_classes_leave_out_what_cannot_take_them():
    assert set(methods_for(2)) - set(methods_for(3)) == set(TWO_CLASSES)
    case = make_case(small_set(3), 1.0, 0)
    for name in ("vote + tuned SVM", "vote shares + random forest"):
        assert METHODS[name].answer(case.X, case.Y, case.X_new).prob.shape == (30, 3)


def test_a_failure_is_a_row(monkeypatch):
    def fail(X, Y, X_new):
        raise ValueError("no luck")

    monkeypatch.setitem(METHODS, "new", Method(fail))
    row = run.compute(make_case(small_set(), 1.0, 0), "new", 60.0)
    assert row["error"] == "ValueError: no luck"
    assert set(row) <= {*cases.KEY, *run.VALUES}


def test_a_method_sees_no_truth(monkeypatch):
    seen = []
    monkeypatch.setitem(METHODS, "new", Method(lambda *given: seen.extend(given) or 1 / 0))
    run.compute(make_case(small_set(), 1.0, 0), "new", 60.0)
    assert [type(each) for each in seen] == [np.ndarray, Annotations, np.ndarray]
    assert not isinstance(seen[0], Case)


# --- tables -------------------------------------------------------------------------------------------------


def write(folder, accuracies, name="bupa", error=""):
    """Rows of two folds for each method, with these accuracies of the classifier."""
    rows = [
        {"set": name, "share": 0.3, "repeat": 5, "fold": fold, "method": method, "version": "x 1"}
        | {"commit": "abc1234", "machine": "Abacus", "cpu_seconds": 1.0, "error": error}
        | {"consensus_accuracy": 0.5, "classifier_accuracy": None if error else accuracy}
        for method, both in accuracies.items()
        for fold, accuracy in enumerate(both)
    ]
    run.table(folder).append(rows)
    return read(folder / "rivals.csv", cases.KEY)


EVERY = {OURS: (0.8, 0.82), PLAIN: (0.7, 0.72), WITH_ROOTS: (0.71, 0.73), "vote + tuned LR": (0.72, 0.74)}
EVERY |= {"vote + tuned SVM": (0.79, 0.81), "vote shares + random forest": (0.7, 0.7)}


def test_the_headline_names_the_best_classifier_on_the_vote_and_the_worth_of_roots(tmp_path):
    told = summary.headline(write(tmp_path, EVERY))
    assert "is 10.0 ± 0.0 points more accurate than default logistic regression" in told
    assert "9.0 ± 0.0 points with them" in told
    assert " 1.0 ± 0.0 points more accurate than the best classifier on the vote (vote + tuned SVM," in told
    assert "Square roots alone are worth 1.0 ± 0.0 points" in told


def test_cells_are_counted_where_every_rival_was_run(tmp_path):
    write(tmp_path, EVERY)  # classifiers on the vote only
    told = summary.headline(write(tmp_path, EVERY | {"ML original": (0.79, 0.78)}, name="wpbc24"))
    assert told.startswith("On the mean of bupa and wpbc24, ")
    assert "in each of 1 cells of wpbc24, chosen with the true labels" in told
    assert "clearly more accurate in 1, tied in 0 and clearly less accurate in 0" in told


def test_the_best_classifier_on_the_vote_may_differ_between_data_sets(tmp_path):
    write(tmp_path, EVERY)
    told = summary.headline(write(tmp_path, EVERY | {WITH_ROOTS: (0.8, 0.82)}, name="wpbc24"))
    assert " 1.0 ± 0.0 points more accurate than the best classifier on the vote (vote + tuned SVM, " in told
    assert "or 0.5 ± 0.0 if it is chosen for each data set" in told


def test_a_rival_that_failed_on_a_draw_has_no_mean(tmp_path):
    write(tmp_path, EVERY)
    rows = write(tmp_path, {"AnnotMixClassifier": (0, 0)}, error="ValueError: x")
    table = summary.table(rows)
    assert table["bupa, classifier"][OURS] == "**0.810**"
    assert table["bupa, classifier"]["AnnotMixClassifier"] == "–"
    assert "bupa, AnnotMixClassifier: ValueError: x (2 draws)" in summary.failed(rows)
    assert summary.differences(rows).loc["vote + tuned SVM", "bupa"] == "+1.0 ± 0.0"


def test_a_crowd_has_a_consensus_and_a_paper_set_has_not(tmp_path):
    write(tmp_path, EVERY)
    rows = write(tmp_path, EVERY, name="labelme")
    assert list(summary.table(rows)) == ["labelme, consensus", "bupa, classifier", "labelme, classifier"]
    text = summary.body(tmp_path)
    assert "bupa: 2 draws of 30% labelled; labelme: 2 draws of 30% labelled. x 1." in text
    assert isinstance(summary.sides(rows), pd.DataFrame)


def test_published_rows_agree_with_those_of_figure_3():
    """Ours and the vote without roots are the same methods on the same draws."""
    rows = read(RESULTS / "rivals.csv", cases.KEY).rename(columns={"share": "proportion"})
    known = read(RESULTS / "paper" / "figure3.csv", figure3.KEY).set_index(list(figure3.KEY))["accuracy"]
    compared = 0
    for method, key in {OURS: "auto", PLAIN: "vote"}.items():
        for row in rows[(rows["method"] == method) & rows["set"].isin(sets.PAPER)].itertuples():
            place = (row.set, row.repeat, row.fold, row.proportion, key)
            assert known[place] == pytest.approx(row.classifier_accuracy, abs=1e-6)
            compared += 1
    assert compared == 2 * sum(len(run.groups(name)) for name in run.FIRST if name in sets.PAPER)
