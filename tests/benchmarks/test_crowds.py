"""The benchmark of real crowds: input of the methods, measurements, and tables."""

import multiprocessing
import time
from dataclasses import replace
from functools import partial

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold
from sklearn.preprocessing import StandardScaler

from benchmarks.common.sets import DataSet
from benchmarks.common.tables import read
from benchmarks.crowds import charts, measure, methods, summary
from benchmarks.crowds.cases import KEY, Answer, make_case, read_given, score
from benchmarks.crowds.run import cells, compute, installed_since, table
from whoknows import Annotations


def small_set(n_classes=2, split=None):
    """120 items, 100 of them labelled by three of five annotators each, mostly correctly."""
    rng = np.random.default_rng(0)
    z = rng.integers(n_classes, size=120)
    X = 2 * z[:, None] + rng.normal(size=(120, 3))
    y = np.where(rng.random((120, 5)) < 0.85, z[:, None], (z[:, None] + 1) % n_classes).astype(float)
    y[np.arange(120)[:, None], np.argsort(rng.random((120, 5)), axis=1)[:, :2]] = np.nan
    y[100:] = np.nan
    columns = {} if split is None else {"split": np.array(split, dtype=object)}
    return DataSet("small", X, z, Annotations.from_matrix(y, labels=range(n_classes)), columns=columns)


# --- input of a method --------------------------------------------------------------------------------------


def used(case):
    return set(case.Y.items[case.Y.labelled])


def test_draws_are_fixed_and_nested():
    data = small_set()
    few, many, again = (make_case(data, share, 1) for share in (0.2, 0.5, 0.2))
    assert few.Y == again.Y
    assert used(few) < used(many)
    np.testing.assert_array_equal(few.X_new, many.X_new)
    assert used(few) != used(make_case(data, 0.2, 2))


@pytest.mark.parametrize("share", [0.1, 1.0])
def test_held_out_items_are_in_X_without_labels(share):
    data = small_set()
    case = make_case(data, share, 0)
    assert (len(case.truth), len(case.truth_new)) == (round(share * 70), 30)
    np.testing.assert_array_equal(case.X, data.X)
    places = [data.X.tolist().index(x) for x in case.X_new.tolist()]
    assert not set(places) & used(case)
    np.testing.assert_array_equal(case.truth_new, data.z[places])


def test_test_items_of_a_split_are_not_in_X():
    split = ["test"] * 3 + ["train"] * 97 + ["test"] * 4 + ["valid"] * 16
    data = small_set(split=split)
    data = replace(data, annotations=data.annotations[np.r_[100:103, 3:120]])  # the first items have no labels
    case = make_case(data, 1.0, 0)
    test = np.r_[0:3, 100:104]
    np.testing.assert_array_equal(case.X_new, data.X[test])
    np.testing.assert_array_equal(case.X, np.delete(data.X, test, axis=0))
    np.testing.assert_array_equal(case.truth_new, data.z[test])
    np.testing.assert_array_equal(case.truth, data.z[3:100])
    np.testing.assert_array_equal(case.Y.to_matrix(), np.delete(data.annotations.to_matrix(), test, axis=0))


def test_labels_are_those_of_the_data_set():
    data = small_set()
    Y = make_case(data, 0.1, 0).Y
    given, whole = Y.to_matrix(), data.annotations.to_matrix()
    rows = np.flatnonzero(Y.labelled)
    np.testing.assert_array_equal(given[rows], whole[rows][:, Y.annotators])
    assert (Y.labels_per_annotator > 0).all()


def test_the_file_for_a_method_does_not_hold_the_truth(tmp_path):
    case = make_case(small_set(), 0.5, 0)
    case.write(tmp_path / "given.npz")
    assert set(np.load(tmp_path / "given.npz")) == {"X", "Y", "sizes", "X_new"}
    X, Y, X_new = read_given(tmp_path / "given.npz")
    np.testing.assert_array_equal(X, case.X)
    np.testing.assert_array_equal(Y.to_matrix(), case.Y.to_matrix())
    np.testing.assert_array_equal(X_new, case.X_new)


def test_a_data_set_without_features_is_refused():
    with pytest.raises(ValueError, match="bare: expected features, annotations and a truth"):
        make_case(DataSet("bare", None, None), 1.0, 0)


# --- scores and methods -------------------------------------------------------------------------------------


def test_scores():
    case = make_case(small_set(), 1.0, 0)
    figures = score(case, Answer(case.truth, np.eye(2)[case.truth], np.eye(2)[1 - case.truth_new]))
    assert [figures[f"consensus_{name}"] for name in ("accuracy", "f1", "auc")] == [1, 1, 1]
    assert [figures[f"classifier_{name}"] for name in ("accuracy", "f1", "auc")] == [0, 0, 0]
    assert (figures["n_labelled"], figures["n_test"]) == (70, 30)


def test_more_than_two_classes_have_accuracy_only():
    case = make_case(small_set(3), 1.0, 0)
    figures = score(case, Answer(case.truth, np.eye(3)[case.truth], np.eye(3)[case.truth_new]))
    assert figures == {"n_labelled": 70, "n_test": 30, "consensus_accuracy": 1, "classifier_accuracy": 1}


def test_the_classifier_of_a_consensus_is_logistic_regression_on_standardised_features():
    case = make_case(small_set(3), 1.0, 0)
    rows = np.flatnonzero(case.Y.labelled)
    model = methods.trained(case.X, case.Y, rows, case.truth)
    scaler = StandardScaler().fit(case.X)
    by_hand = LogisticRegression(max_iter=1000).fit(scaler.transform(case.X[rows]), case.truth)
    expected = by_hand.predict_proba(scaler.transform(case.X_new))
    np.testing.assert_allclose(model.predict_proba(case.X_new), expected)


@pytest.mark.filterwarnings("ignore:The least populated class")
def test_every_row_gets_a_cross_validated_prediction():
    """The larger class has four of seven items, so five folds are not possible."""
    case = make_case(small_set(), 0.1, 0)
    rows, classes = np.flatnonzero(case.Y.labelled), np.array([0, 1, 0, 1, 0, 1, 0])
    found = methods.cross_validated(case.X, case.Y, rows, classes)
    np.testing.assert_allclose(found.sum(axis=1), 1)
    for train, left_out in StratifiedKFold(4).split(rows, classes):
        model = methods.trained(case.X, case.Y, rows[train], classes[train])
        np.testing.assert_allclose(found[left_out], model.predict_proba(case.X[rows[left_out]]))


@pytest.mark.filterwarnings("ignore")  # as in the benchmark: other packages use deprecated functions
@pytest.mark.parametrize("name", [name for name, method in methods.METHODS.items() if method.is_installed])
def test_methods_return_valid_answers(name, few_members):
    case = make_case(small_set(), 1.0, 0)
    answer = methods.METHODS[name].answer(case.X, case.Y, case.X_new)
    assert answer.belief.shape == (70, 2)
    np.testing.assert_allclose(answer.belief.sum(axis=1), 1)
    figures = score(case, answer)
    assert figures["consensus_accuracy"] > 0.85
    assert figures["consensus_auc"] > 0.9
    assert figures["classifier_accuracy"] > 0.8


# --- measuring ----------------------------------------------------------------------------------------------


def waste(seconds):
    until = time.process_time() + seconds
    while time.process_time() < until:
        pass


def test_a_method_is_timed():
    outcome = measure.run(partial(waste, 0.1), (), limit=60.0)
    assert outcome.error == ""
    assert 0.1 <= outcome.cpu_seconds < 5
    assert outcome.peak_mb >= 0


def test_a_method_past_the_limit_is_stopped():
    outcome = measure.run(partial(waste, 60.0), (), limit=0.1)
    assert outcome.answer is None
    assert outcome.error == "past the limit: stopped after 0.1 CPU seconds"
    assert outcome.cpu_seconds < 10


def outcome_of_work(tmp_path, monkeypatch, answer):
    make_case(small_set(), 1.0, 0).write(tmp_path / "given.npz")
    monkeypatch.setitem(methods.METHODS, "new", methods.Method(answer))
    here, there = multiprocessing.Pipe(duplex=False)
    measure.work(there, tmp_path / "given.npz", "new", 60.0)
    return here.recv()


def test_an_error_becomes_its_first_line(tmp_path, monkeypatch):
    def fail(X, Y, X_new):
        raise ValueError("three labels\nat least")

    assert outcome_of_work(tmp_path, monkeypatch, fail).error == "ValueError: three labels"


def test_an_answer_is_returned(tmp_path, monkeypatch):
    outcome = outcome_of_work(tmp_path, monkeypatch, methods.majority_vote)
    assert outcome.error == ""
    assert outcome.answer.prob.shape == (30, 2)


def test_a_process_that_dies_is_an_error():
    here, there = multiprocessing.Pipe(duplex=False)
    there.close()
    assert "died" in measure._receive(here, 1.0).error


def test_a_method_that_is_not_installed_has_a_row(monkeypatch):
    monkeypatch.setitem(methods.METHODS, "new", methods.Method(print, "no-such-thing", "no_such_thing.at_all"))
    monkeypatch.setattr("benchmarks.crowds.run.load", lambda name: small_set())
    row = compute(("small", 0.1, 0, "new"), 60.0)
    assert row["error"] == "not installed: no-such-thing"
    assert row["version"] == ""


# --- tables -------------------------------------------------------------------------------------------------


def row(method, consensus, classifier, share=1.0, repeat=0, name="labelme", error=""):
    figures = {"consensus_accuracy": consensus, "classifier_accuracy": classifier, "n_labelled": 9, "n_test": 5}
    done = {} if error else figures | {"cpu_seconds": 1.25, "peak_mb": 10.0}
    key = {"set": name, "share": share, "repeat": repeat, "method": method}
    return key | done | {"version": "x 1", "error": error}


def results(folder, *rows):
    table(folder).append(rows)
    return read(folder / "crowds.csv", KEY)


def test_a_data_set_with_its_own_test_items_has_one_draw_with_all_labels():
    assert cells(["labelme"], [0.1, 1.0], 2, ["m", "n"]) == [
        *(("labelme", 0.1, repeat, method) for repeat in (0, 1) for method in "mn"),
        *(("labelme", 1.0, 0, method) for method in "mn"),
    ]
    assert [cell[2] for cell in cells(["a"], [1.0], 2, ["m"])] == [0, 1]


def test_a_small_data_set_has_more_draws():
    assert len(cells(["colposcopy_green"], [0.1, 1.0], 2, ["m"])) == 8


def test_a_row_is_identified_by_its_key(tmp_path):
    results(tmp_path, row("CROWDLAB", 0.9, 0.8, share=0.1), row("CROWDLAB", 0, 0, error="KeyError: x"))
    done, answered = table(tmp_path).done(), table(tmp_path).done(failed_too=False)
    every = cells(["labelme"], [0.1, 1.0], 1, ["CROWDLAB"])
    assert [tuple(map(str, cell)) in done for cell in every] == [True, True]
    assert [tuple(map(str, cell)) in answered for cell in every] == [True, False]


def test_a_package_installed_later_is_run(tmp_path):
    """The package of CrowdClassifier is installed; that of CROWDLAB may not be."""
    since, still = (row(method, 0, 0, error="not installed: x") for method in ("CrowdClassifier", "CROWDLAB"))
    results(tmp_path, since, still, row("AutoCrowdClassifier", 0.9, 0.8))
    keys = {key[-1] for key in installed_since(tmp_path)}
    assert keys == {method for method in ("CrowdClassifier", "CROWDLAB") if methods.METHODS[method].is_installed}
    assert "CrowdClassifier" in keys
    table(tmp_path).forget(installed_since(tmp_path))
    every = cells(["labelme"], [1.0], 1, ["AutoCrowdClassifier", "CrowdClassifier"])
    assert table(tmp_path).missing(every) == every[1:]


def test_ours_comes_first_and_the_best_is_bold(tmp_path):
    rows = results(tmp_path, row("CROWDLAB", 0.9, 0.8), row("AutoCrowdClassifier", 0.85, 0.8))
    shown = summary.set_table(rows, "accuracy", costs=True)
    assert shown.index.tolist() == ["AutoCrowdClassifier", "CROWDLAB", "majority class"]
    assert shown["consensus 100%"].tolist() == ["0.850", "**0.900**", "–"]
    assert shown["classifier 100%"].tolist() == ["**0.800**", "**0.800**", "0.153"]  # 410 of 2 688 images
    assert shown["MB at 100%"].tolist() == ["10.0", "10.0", "–"]


@pytest.mark.parametrize(
    ("error", "word"),
    [
        ("past the limit: stopped after 300 s", "past the limit"),
        ("not installed: cleanlab", "not installed"),
        ("KeyError: 'x'", "failed"),
    ],
)
def test_a_missing_draw_replaces_the_mean_by_its_reason(tmp_path, error, word):
    rows = results(
        tmp_path,
        *(row("AutoCrowdClassifier", 0.9, 0.8, 0.1, repeat) for repeat in (0, 1)),
        *(row("CROWDLAB", 0.95, 0.9, 0.1, 0), row("CROWDLAB", 0, 0, 0.1, 1, error=error)),
        row("crowd-kit GLAD", 0.95, 0.9, 0.1, 1),
    )
    shown = summary.set_table(rows, "accuracy")
    assert shown["consensus 10%"].tolist() == ["**0.900**", "not run", word, "–"]
    assert summary.verdict(rows).startswith("No comparison")


def test_the_verdict_counts_comparisons_won_or_tied(tmp_path):
    rows = results(
        tmp_path,
        *(
            row("AutoCrowdClassifier", 0.9, 0.8),
            row("CrowdClassifier", 1.0, 1.0),
        ),  # our own models do not count as other methods
        *(row("CROWDLAB", 0.9, 0.7), row("crowd-kit MACE", 0.8, 0.8)),
    )
    assert "in 2 of 2 comparisons (consensus 1 of 1, classifier 1 of 1)" in summary.verdict(rows)
    assert summary.behind(rows) == ""


def test_the_verdict_names_comparisons_that_are_lost(tmp_path):
    rows = results(
        tmp_path,
        *(row("AutoCrowdClassifier", a, 0.8, 0.1, repeat) for repeat, a in enumerate((0.9, 0.8))),
        *(row("CROWDLAB", a, 0.7, 0.1, repeat) for repeat, a in enumerate((0.7, 0.9))),
        *(row("majority vote + LR", a, 0.9, 0.1, repeat) for repeat, a in enumerate((0.84, 0.84))),
    )
    assert "in 1 of 2 comparisons (consensus 1 of 1, classifier 0 of 1)" in summary.verdict(rows)
    assert summary.behind(rows) == " Less accurate, in points: classifier 10% -10.0 ± 0.0 (majority vote + LR)."


def test_a_failure_of_ours_counts_as_lost(tmp_path):
    rows = results(tmp_path, row("AutoCrowdClassifier", 0, 0, error="past the limit: x"), row("CROWDLAB", 0.9, 0.7))
    assert "in 0 of 2 comparisons (consensus 0 of 1, classifier 0 of 1)" in summary.verdict(rows)
    assert "consensus 100% past the limit (CROWDLAB)" in summary.behind(rows)


def test_a_consensus_whose_reference_is_the_vote_is_not_compared(tmp_path):
    rows = results(
        tmp_path,
        row("AutoCrowdClassifier", 0.9, 0.8, name=summary.BY_VOTE),
        row("majority vote + LR", 1.0, 0.7, name=summary.BY_VOTE),
    )
    assert "in 1 of 1 comparisons (classifier 1 of 1)" in summary.verdict(rows)
    assert "not compared" in summary.page(tmp_path)


def test_the_best_other_method_over_all_shares_is_a_single_method(tmp_path):
    told = {"AutoCrowdClassifier": (0.8, 0.8), "CROWDLAB": (0.9, 0.6), "crowd-kit MACE": (0.7, 0.85)}
    rows = results(
        tmp_path,
        *(row(m, 0.5, each, share) for m, both in told.items() for share, each in zip((0.1, 1.0), both, strict=True)),
    )
    assert (summary.compared(rows)["points"] < 0).sum() == 2  # a different method is better at each share
    table = summary.over_shares(rows)
    assert table.loc["labelme, classifier"].tolist() == ["0.8000", "crowd-kit MACE", "0.7750", "+2.5"]
    assert "0.7750" in summary.page(tmp_path)


def test_the_standard_error_is_of_paired_differences_over_draws(tmp_path):
    """Also for the mean over shares, where all labels have a single draw."""
    ours, theirs = {0.1: (0.9, 0.7, 0.8), 1.0: (0.9,)}, {0.1: (0.8, 0.7, 0.6), 1.0: (0.9,)}
    rows = results(
        tmp_path,
        *(
            row(method, each, 0.5, share, repeat)
            for method, told in (("AutoCrowdClassifier", ours), ("CROWDLAB", theirs))
            for share, accuracies in told.items()
            for repeat, each in enumerate(accuracies)
        ),
    )
    figures = summary.compared(rows).set_index(["what", "share"])["error"]
    assert figures["consensus", 0.1] == pytest.approx(10 / np.sqrt(3))  # gaps of 10, 0 and 20 points
    assert np.isnan(figures["consensus", 1.0])
    over = summary.compared(rows, whole=True).set_index("what")["error"]
    assert over["consensus"] == pytest.approx(5 / np.sqrt(3))
    assert summary.over_shares(rows)["points"].tolist() == ["+5.0 ± 2.9", "+0.0 ± 0.0"]


def test_the_page_has_one_section_per_data_set_and_more_scores_if_a_class_is_rare(tmp_path):
    results(tmp_path, *(row(m, 0.9, 0.8, name=n) for m in ("CROWDLAB", "AutoCrowdClassifier") for n in summary.SETS))
    page = summary.page(tmp_path)
    assert page.startswith("**AutoCrowdClassifier is at least as accurate as the best other method in 7 of 7")
    assert [line[4:] for line in page.splitlines() if line.startswith("### ")] == list(summary.SETS)
    assert page.count("F1:") == page.count("AUC:") == 1
    assert "100%: 9 labelled, 5 test, 1 draw." in page


def test_the_chart_has_one_panel_per_data_set_for_consensus_and_classifier(tmp_path):
    assert [look.name for look in charts.LOOKS] == list(methods.METHODS)
    assert len({(look.colour, look.shape, look.dash) for look in charts.LOOKS}) == len(charts.LOOKS)
    rows = results(tmp_path, *(row("CROWDLAB", 0.9, 0.8, name=name) for name in summary.SETS[:2]))
    assert len(charts.chart(rows).to_dict()["hconcat"][0]["concat"]) == 4
