"""Who is right where: scores by hand, methods, and tables."""

import numpy as np
import pytest

from benchmarks.common.tables import read
from benchmarks.crowds.cases import make_case
from benchmarks.rivals.cases import KEY, labels_of
from benchmarks.who_is_right import run, summary
from benchmarks.who_is_right.methods import METHODS, OURS, REFERENCE, Rightness
from benchmarks.who_is_right.scores import LEAST, score
from tests.benchmarks.test_crowds import small_set

RIGHT = np.array([True, False, True, True, False, True])
WHO = np.array([0, 0, 0, 1, 1, 1])


def test_constants_know_who_but_not_where():
    figures = score(np.array([0.6, 0.6, 0.6, 0.9, 0.9, 0.9]), RIGHT, WHO)
    assert figures["auc_within"] == 0.5
    assert figures["auc"] == 0.5  # both annotators are right on two of three
    expected = -np.mean(np.log([0.6, 0.4, 0.6, 0.9, 0.1, 0.9]))
    assert figures["log_loss"] == pytest.approx(expected)
    assert (figures["n"], figures["right"]) == (6, pytest.approx(4 / 6))


def test_within_annotators_only_labels_of_the_same_annotator_are_compared():
    prob = np.where(RIGHT, 0.7, 0.6) + 0.2 * WHO  # annotator 1 is overrated on all items
    figures = score(prob, RIGHT, WHO)
    assert figures["auc_within"] == 1.0
    assert figures["auc"] == pytest.approx(6 / 8)


def test_an_annotator_counts_by_pairs_of_a_right_and_a_wrong_label():
    right = np.array([True, False, True, True, False, False, True])
    who = np.array([0, 0, 1, 1, 1, 1, 2])
    prob = np.array([0.9, 0.1, 0.1, 0.1, 0.9, 0.9, 0.5])
    assert score(prob, right, who)["auc_within"] == pytest.approx(1 / 5)  # 1 pair at 1.0, 4 pairs at 0.0


def test_a_certain_error_has_a_finite_price():
    assert score(np.array([1.0, 0.0]), np.array([False, False]), WHO[:2])["log_loss"] < -np.log(LEAST)
    assert np.isnan(score(np.array([0.9, 0.8]), np.array([True, True]), WHO[:2])["auc"])


@pytest.fixture
def drawn():
    data = small_set()
    case = make_case(data, 1.0, 0)
    test = [data.X.tolist().index(x) for x in case.X_new.tolist()]
    return case, labels_of(data.annotations, np.array(test), case.Y.annotators)


@pytest.mark.filterwarnings("ignore")  # as in the benchmark: other packages use deprecated functions
@pytest.mark.parametrize("name", [name for name, method in METHODS.items() if method.is_installed])
def test_methods_return_probabilities_of_being_right(name, drawn, few_members):
    case, held_out = drawn
    answer = METHODS[name].answer(case.X, case.Y, case.X_new)
    assert answer.before.shape == (30, 5)
    assert ((answer.before >= 0) & (answer.before <= 1)).all()
    figures = run.figures(case, held_out, answer)
    assert figures["before_n"] == held_out.n_annotations
    assert figures["before_log_loss"] < 0.7
    if answer.after is not None:
        assert figures["after_n"] == case.Y.n_annotations
        assert figures["after_auc"] > 0.8


def test_labels_are_compared_with_the_truth(drawn):
    case, held_out = drawn
    right = run.right_labels(case)
    matrix = case.Y.to_matrix()
    rows = np.flatnonzero(case.Y.labelled)
    by_hand = [
        matrix[i, t] == case.truth[rows.tolist().index(i)] for i, t in zip(case.Y.item, case.Y.annotator, strict=True)
    ]
    assert right.tolist() == by_hand
    knows = Rightness(np.zeros((30, 5)), right.astype(float))
    figures = run.figures(case, held_out, knows)
    assert figures["after_auc"] == figures["after_auc_within"] == 1.0


def test_the_reference_is_the_share_of_right_labels(drawn):
    case, held_out = drawn
    row = run.compute(case, held_out, REFERENCE)
    assert row["error"] == ""
    assert row["before_auc_within"] == 0.5
    own = case.Y.annotator == 0
    hits = run.right_labels(case)[own]
    assert run.reference(case).before[3, 0] == pytest.approx((hits.sum() + 1) / (own.sum() + 2))


def rows(folder, losses, name, repeat=0):
    table = [
        {"set": name, "share": 1.0, "repeat": repeat, "fold": 0, "method": method, "version": "x 1", "error": ""}
        | {"before_log_loss": loss, "before_auc": 0.7, "before_auc_within": 0.6, "before_right": 0.75}
        for method, loss in losses.items()
    ]
    run.table(folder).append(table)
    return read(folder / "who_is_right.csv", KEY)


def test_the_best_method_is_bold_and_the_reference_never_is(tmp_path):
    rows(tmp_path, {REFERENCE: 0.4, OURS: 0.5, "CrowdClassifier": 0.45, "Dawid-Skene": 0.6}, "bupa")
    found = rows(tmp_path, {REFERENCE: 0.6, OURS: 0.5, "CrowdClassifier": 0.55, "Dawid-Skene": 0.3}, "wpbc24")
    shown = summary.shown(found, "before_log_loss")
    assert shown["bupa"].tolist() == ["0.400", "0.500", "**0.450**", "0.600"]
    assert shown["wpbc24"].tolist() == ["0.600", "0.500", "0.550", "**0.300**"]
    told = summary.headline(found)
    assert "lower log-loss than all methods outside this library on 1 of 2 data sets" in told
    assert "than the true constant accuracies on 1." in told
    assert "exceeds 0.55 on 2 (bupa, wpbc24)" in told
    assert "On the other data sets another method is better (wpbc24: Dawid-Skene)." in told
    assert "Share of held-out labels that are right: bupa 0.75, wpbc24 0.75." in summary.body(tmp_path)


def test_differences_are_paired_over_draws(tmp_path):
    rows(tmp_path, {OURS: 0.5, "Dawid-Skene": 0.6}, "bupa")
    found = rows(tmp_path, {OURS: 0.3, "Dawid-Skene": 0.6}, "bupa", repeat=1)
    assert summary.differences(found).loc["Dawid-Skene", "bupa"] == "-0.200 ± 0.100"
    assert "-0.200 ± 0.100" in summary.body(tmp_path)
