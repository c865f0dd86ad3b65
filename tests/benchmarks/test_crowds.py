"""The benchmark of real crowds: what methods are given, how they are measured, and what is said of them."""

import multiprocessing
import time
from dataclasses import replace
from functools import partial

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold
from sklearn.preprocessing import StandardScaler

from benchmarks.common.tables import read
from benchmarks.crowds import charts, measure, methods, summary
from benchmarks.crowds.cases import KEY, Answer, make_case, read_given, score
from benchmarks.crowds.run import cells, compute, installed_since, table
from whoknows import Annotations
from whoknows.io.benchmark_sets import DataSet


def small_set(n_classes=2, split=None):
    """120 items, 100 of them labelled by three of five annotators each, mostly rightly."""
    rng = np.random.default_rng(0)
    z = rng.integers(n_classes, size=120)
    X = 2 * z[:, None] + rng.normal(size=(120, 3))
    y = np.where(rng.random((120, 5)) < 0.85, z[:, None], (z[:, None] + 1) % n_classes).astype(float)
    y[np.arange(120)[:, None], np.argsort(rng.random((120, 5)), axis=1)[:, :2]] = np.nan
    y[100:] = np.nan
    columns = {} if split is None else {"split": np.array(split, dtype=object)}
    return DataSet("small", X, z, Annotations.from_matrix(y, labels=range(n_classes)), columns=columns)


# --- what a method is given ---------------------------------------------------------------------------------


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
def test_held_out_items_are_seen_without_labels(share):
    data = small_set()
    case = make_case(data, share, 0)
    assert (len(case.truth), len(case.truth_new)) == (round(share * 70), 30)
    np.testing.assert_array_equal(case.X, data.X)
    places = [data.X.tolist().index(x) for x in case.X_new.tolist()]
    assert not set(places) & used(case)
    np.testing.assert_array_equal(case.truth_new, data.z[places])


def test_test_items_of_a_split_are_not_seen():
    split = ["test"] * 3 + ["train"] * 97 + ["test"] * 4 + ["valid"] * 16
    data = small_set(split=split)
    data = replace(data, annotations=data.annotations[np.r_[100:103, 3:120]])  # those first have no labels
    case = make_case(data, 1.0, 0)
    test = np.r_[0:3, 100:104]
    np.testing.assert_array_equal(case.X_new, data.X[test])
    np.testing.assert_array_equal(case.X, np.delete(data.X, test, axis=0))
    np.testing.assert_array_equal(case.truth_new, data.z[test])
    np.testing.assert_array_equal(case.truth, data.z[3:100])
    np.testing.assert_array_equal(case.Y.to_matrix(), np.delete(data.annotations.to_matrix(), test, axis=0))


def test_labels_are_those_of_the_set():
    data = small_set()
    Y = make_case(data, 0.1, 0).Y
    given, whole = Y.to_matrix(), data.annotations.to_matrix()
    rows = np.flatnonzero(Y.labelled)
    np.testing.assert_array_equal(given[rows], whole[rows][:, Y.annotators])
    assert (Y.labels_per_annotator > 0).all()


def test_what_is_written_for_a_method_holds_no_truth(tmp_path):
    case = make_case(small_set(), 0.5, 0)
    case.write(tmp_path / "given.npz")
    assert set(np.load(tmp_path / "given.npz")) == {"X", "Y", "sizes", "X_new"}
    X, Y, X_new = read_given(tmp_path / "given.npz")
    np.testing.assert_array_equal(X, case.X)
    np.testing.assert_array_equal(Y.to_matrix(), case.Y.to_matrix())
    np.testing.assert_array_equal(X_new, case.X_new)


def test_a_set_without_features_is_refused():
    with pytest.raises(ValueError, match="bare: expected features, annotations and a truth"):
        make_case(DataSet("bare", None, None), 1.0, 0)


# --- scores and methods -------------------------------------------------------------------------------------


def test_scores():
    case = make_case(small_set(), 1.0, 0)
    figures = score(case, Answer(case.truth, np.eye(2)[case.truth], np.eye(2)[1 - case.truth_new]))
    assert [figures[f"consensus_{name}"] for name in ("accuracy", "f1", "auc")] == [1, 1, 1]
    assert [figures[f"classifier_{name}"] for name in ("accuracy", "f1", "auc")] == [0, 0, 0]
    assert (figures["n_labelled"], figures["n_test"]) == (70, 30)


def test_more_classes_have_accuracy_alone():
    case = make_case(small_set(3), 1.0, 0)
    figures = score(case, Answer(case.truth, np.eye(3)[case.truth], np.eye(3)[case.truth_new]))
    assert figures == {"n_labelled": 70, "n_test": 30, "consensus_accuracy": 1, "classifier_accuracy": 1}


def test_the_classifier_of_a_consensus_is_logistic_regression_on_scaled_items():
    case = make_case(small_set(3), 1.0, 0)
    rows = np.flatnonzero(case.Y.labelled)
    model = methods.trained(case.X, case.Y, rows, case.truth)
    scaler = StandardScaler().fit(case.X)
    by_hand = LogisticRegression(max_iter=1000).fit(scaler.transform(case.X[rows]), case.truth)
    expected = by_hand.predict_proba(scaler.transform(case.X_new))
    np.testing.assert_allclose(model.predict_proba(case.X_new), expected)


@pytest.mark.filterwarnings("ignore:The least populated class")
def test_a_classifier_says_something_of_every_row_it_was_not_taught_by():
    """Seven items, the larger class with four of them: there cannot be five folds."""
    case = make_case(small_set(), 0.1, 0)
    rows, classes = np.flatnonzero(case.Y.labelled), np.array([0, 1, 0, 1, 0, 1, 0])
    found = methods.cross_validated(case.X, case.Y, rows, classes)
    np.testing.assert_allclose(found.sum(axis=1), 1)
    for train, left_out in StratifiedKFold(4).split(rows, classes):
        model = methods.trained(case.X, case.Y, rows[train], classes[train])
        np.testing.assert_allclose(found[left_out], model.predict_proba(case.X[rows[left_out]]))


@pytest.mark.filterwarnings("ignore")  # as in the benchmark: others use what pandas or scikit-learn warn of
@pytest.mark.parametrize("name", [name for name, method in methods.METHODS.items() if method.is_installed])
def test_methods_answer(name):
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
    assert outcome.error == "past the limit: stopped after 0.1 s of the processor"
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


def test_an_answer_comes_back(tmp_path, monkeypatch):
    outcome = outcome_of_work(tmp_path, monkeypatch, methods.majority_vote)
    assert outcome.error == ""
    assert outcome.answer.prob.shape == (30, 2)


def test_a_process_that_dies_is_an_error():
    here, there = multiprocessing.Pipe(duplex=False)
    there.close()
    assert "died" in measure._receive(here, 1.0).error


def test_what_is_not_installed_has_a_row(monkeypatch):
    monkeypatch.setitem(
        methods.METHODS, "new", methods.Method(print, "no-such-thing", "no_such_thing.at_all")
    )
    monkeypatch.setattr("benchmarks.crowds.run.load", lambda name: small_set())
    row = compute(("small", 0.1, 0, "new"), 60.0)
    assert row["error"] == "not installed: no-such-thing"
    assert row["version"] == ""


# --- what is said of it -------------------------------------------------------------------------------------


def row(method, consensus, classifier, share=1.0, repeat=0, name="labelme", error=""):
    figures = {
        "consensus_accuracy": consensus,
        "classifier_accuracy": classifier,
        "n_labelled": 9,
        "n_test": 5,
    }
    done = {} if error else figures | {"cpu_seconds": 1.25, "peak_mb": 10.0}
    key = {"set": name, "share": share, "repeat": repeat, "method": method}
    return key | done | {"version": "x 1", "error": error}


def results(folder, *rows):
    table(folder).append(rows)
    return read(folder / "crowds.csv", KEY)


def test_the_whole_of_a_set_with_test_items_of_its_own_is_drawn_once():
    assert cells(["labelme"], [0.1, 1.0], 2, ["m", "n"]) == [
        *(("labelme", 0.1, repeat, method) for repeat in (0, 1) for method in "mn"),
        *(("labelme", 1.0, 0, method) for method in "mn"),
    ]
    assert [cell[2] for cell in cells(["a"], [1.0], 2, ["m"])] == [0, 1]


def test_a_set_with_few_items_is_drawn_more_often():
    assert len(cells(["colposcopy_green"], [0.1, 1.0], 2, ["m"])) == 8


def test_a_row_is_known_again_by_its_key(tmp_path):
    results(tmp_path, row("CROWDLAB", 0.9, 0.8, share=0.1), row("CROWDLAB", 0, 0, error="KeyError: x"))
    done, answered = table(tmp_path).done(), table(tmp_path).done(failed_too=False)
    every = cells(["labelme"], [0.1, 1.0], 1, ["CROWDLAB"])
    assert [tuple(map(str, cell)) in done for cell in every] == [True, True]
    assert [tuple(map(str, cell)) in answered for cell in every] == [True, False]


def test_a_package_installed_since_is_run(tmp_path):
    """Of packages that are there one comes from this project, the other from nowhere."""
    since, still = (row(method, 0, 0, error="not installed: x") for method in ("CrowdClassifier", "CROWDLAB"))
    results(tmp_path, since, still, row("AutoCrowdClassifier", 0.9, 0.8))
    keys = {key[-1] for key in installed_since(tmp_path)}
    assert keys == {
        method for method in ("CrowdClassifier", "CROWDLAB") if methods.METHODS[method].is_installed
    }
    assert "CrowdClassifier" in keys
    table(tmp_path).forget(installed_since(tmp_path))
    every = cells(["labelme"], [1.0], 1, ["AutoCrowdClassifier", "CrowdClassifier"])
    assert table(tmp_path).missing(every) == every[1:]


def test_ours_comes_first_and_the_best_is_bold(tmp_path):
    rows = results(tmp_path, row("CROWDLAB", 0.9, 0.8), row("AutoCrowdClassifier", 0.85, 0.8))
    shown = summary.set_table(rows, "accuracy", costs=True)
    assert shown.index.tolist() == ["AutoCrowdClassifier", "CROWDLAB", "always the larger class"]
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
def test_one_draw_without_an_answer_is_said_instead_of_a_mean(tmp_path, error, word):
    rows = results(
        tmp_path,
        *(row("AutoCrowdClassifier", 0.9, 0.8, 0.1, repeat) for repeat in (0, 1)),
        *(row("CROWDLAB", 0.95, 0.9, 0.1, 0), row("CROWDLAB", 0, 0, 0.1, 1, error=error)),
        row("crowd-kit GLAD", 0.95, 0.9, 0.1, 1),
    )
    shown = summary.set_table(rows, "accuracy")
    assert shown["consensus 10%"].tolist() == ["**0.900**", "not run", word, "–"]
    assert summary.verdict(rows).startswith("No verdict")


def test_the_verdict_says_yes_if_no_other_is_better(tmp_path):
    rows = results(
        tmp_path,
        *(row("AutoCrowdClassifier", 0.9, 0.8), row("CrowdClassifier", 1.0, 1.0)),  # ours is no rival of ours
        *(row("CROWDLAB", 0.9, 0.7), row("crowd-kit MACE", 0.8, 0.8)),
    )
    assert (
        "equal to the best of the others: yes (consensus at 1 of 1, classifier at 1 of 1)"
        in summary.verdict(rows)
    )
    assert summary.behind(rows) == ""


def test_the_verdict_says_no_and_where(tmp_path):
    rows = results(
        tmp_path,
        *(row("AutoCrowdClassifier", a, 0.8, 0.1, repeat) for repeat, a in enumerate((0.9, 0.8))),
        *(row("CROWDLAB", a, 0.7, 0.1, repeat) for repeat, a in enumerate((0.7, 0.9))),
        *(row("majority vote + LR", a, 0.9, 0.1, repeat) for repeat, a in enumerate((0.84, 0.84))),
    )
    assert "no (consensus at 1 of 1, classifier at 0 of 1)" in summary.verdict(rows)
    assert summary.behind(rows) == " Behind, in points: classifier 10% -10.0 ± 0.0 (majority vote + LR)."


def test_without_an_answer_ours_is_behind(tmp_path):
    rows = results(
        tmp_path, row("AutoCrowdClassifier", 0, 0, error="past the limit: x"), row("CROWDLAB", 0.9, 0.7)
    )
    assert "no (consensus at 0 of 1, classifier at 0 of 1)" in summary.verdict(rows)
    assert "consensus 100% past the limit (CROWDLAB)" in summary.behind(rows)


def test_the_consensus_of_a_set_whose_reference_is_the_vote_is_not_judged(tmp_path):
    rows = results(
        tmp_path,
        row("AutoCrowdClassifier", 0.9, 0.8, name=summary.BY_VOTE),
        row("majority vote + LR", 1.0, 0.7, name=summary.BY_VOTE),
    )
    assert "yes (classifier at 1 of 1)" in summary.verdict(rows)
    assert "not judged" in summary.page(tmp_path)


def test_over_shares_the_best_of_the_others_is_one_method(tmp_path):
    told = {"AutoCrowdClassifier": (0.8, 0.8), "CROWDLAB": (0.9, 0.6), "crowd-kit MACE": (0.7, 0.85)}
    rows = results(
        tmp_path,
        *(
            row(m, 0.5, each, share)
            for m, both in told.items()
            for share, each in zip((0.1, 1.0), both, strict=True)
        ),
    )
    assert (summary.compared(rows)["points"] < 0).sum() == 2  # behind another one at each share
    table = summary.over_shares(rows)
    assert table.loc["labelme, classifier"].tolist() == ["0.8000", "crowd-kit MACE", "0.7750", "+2.5"]
    assert "0.7750" in summary.page(tmp_path)


def test_the_error_of_a_difference_is_over_draws_of_the_same_items(tmp_path):
    """Of the mean over shares too, where all labels are one draw."""
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


def test_the_page_has_a_section_a_set_and_more_figures_where_a_class_is_rare(tmp_path):
    results(
        tmp_path,
        *(row(m, 0.9, 0.8, name=n) for m in ("CROWDLAB", "AutoCrowdClassifier") for n in summary.SETS),
    )
    page = summary.page(tmp_path)
    assert page.startswith("**AutoCrowdClassifier at least equal to the best of the others: yes")
    assert [line[4:] for line in page.splitlines() if line.startswith("### ")] == list(summary.SETS)
    assert page.count("F1:") == page.count("AUC:") == 1
    assert "100%: 9 labelled items, 5 test, draws: 1." in page


def test_the_chart_has_a_panel_a_set_for_consensus_and_classifier(tmp_path):
    assert [look.name for look in charts.LOOKS] == list(methods.METHODS)
    assert len({(look.colour, look.shape, look.dash) for look in charts.LOOKS}) == len(charts.LOOKS)
    rows = results(tmp_path, *(row("CROWDLAB", 0.9, 0.8, name=name) for name in summary.SETS[:2]))
    assert len(charts.chart(rows).to_dict()["hconcat"][0]["concat"]) == 4
