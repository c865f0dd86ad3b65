"""Summaries of small tables, compared with values computed by hand."""

import numpy as np
import pandas as pd
import pytest

from benchmarks.common.tables import markdown, read
from benchmarks.paper import figure3, summary

GROUP = figure3.KEY[:-1]


def table(**by_method):
    """Cells of pima, one repeat, two folds, proportions 0.1 and 1.0: four accuracies per method."""
    places = [("pima", 0, fold, share) for share in (0.1, 1.0) for fold in (0, 1)]
    rows = [
        (*place, method.replace("_", "-"), accuracy, accuracy, "")
        for method, accuracies in by_method.items()
        for place, accuracy in zip(places, accuracies, strict=True)
    ]
    return pd.DataFrame(rows, columns=[*figure3.KEY, "accuracy", "auc", "error"])


def wide(**by_method):
    return summary.side_by_side(table(**by_method), GROUP)


def test_single_annotators_are_replaced_by_their_mean_and_their_best():
    cells = table(vote=[0.9] * 4, annotator_1=[0.5, 0.6, 0.7, 0.9], annotator_2=[0.6, 0.8, 0.8, 0.7])
    told = summary.side_by_side(summary.with_annotators(cells, GROUP), GROUP)
    assert told.columns.tolist() == ["vote", "annotator", "annotator-best"]
    by_place = told.sort_index(level=["proportion", "fold"])
    assert by_place["annotator"].tolist() == pytest.approx([0.55, 0.7, 0.75, 0.8])
    # At 0.1 the second is better over both folds; at 1.0 the first is, though not on its first fold.
    assert by_place["annotator-best"].tolist() == pytest.approx([0.6, 0.8, 0.7, 0.9])


def test_a_cell_is_the_mean_over_folds():
    means = summary.cell_means(wide(vote=[0.5, 0.7, 0.8, 0.9]))
    assert means["vote"].tolist() == pytest.approx([0.6, 0.85])


def test_ties_are_won_and_near_misses_are_not():
    means = summary.cell_means(wide(auto=[0.6, 0.7, 0.8, 0.9], vote=[0.7, 0.6, 0.8, 0.9001], tsvm=[0.1, 0.1, 0.2, 0.2]))
    assert summary.won(means, "auto", ["vote", "tsvm"]).tolist() == [True, False]
    assert summary.won(means, "vote", ["vote", "tsvm"]).tolist() == [True, True]


def test_a_cell_where_a_baseline_has_no_result_is_not_counted():
    means = summary.cell_means(wide(auto=[0.6, 0.7, 0.8, 0.9], vote=[np.nan, np.nan, 0.7, 0.7]))
    assert summary.won(means, "auto", ["vote"]).tolist() == [True]


def test_a_cell_is_clear_beyond_two_standard_errors_of_the_best_baseline():
    index = pd.MultiIndex.from_product(
        [["bupa"], range(2), range(2), [0.1, 0.5, 1.0]], names=["set", "repeat", "fold", "proportion"]
    )
    folds = np.tile([0.0, 0.02, 0.0, 0.02], (3, 1)).T  # paired differences have a standard error of 0.0058
    wide = pd.DataFrame({"auto": (0.5 + folds + [0.01, 0.0, -0.05]).ravel(), "vote": 0.5}, index)
    wide["tsvm"] = 0.4
    found = summary.against_best(wide, "auto", ["vote", "tsvm"])
    assert found["best"].tolist() == ["vote"] * 3
    assert found["sem"].tolist() == pytest.approx([0.02 / np.sqrt(12)] * 3)
    assert found["won"].tolist() == [True, False, False]
    assert found["lost"].tolist() == [False, False, True]


def test_the_bootstrap_gives_the_cells_won_if_folds_do_not_differ():
    index = pd.MultiIndex.from_product(
        [["bupa", "pima"], range(2), range(5), [0.1, 0.5, 1.0]], names=["set", "repeat", "fold", "proportion"]
    )
    wide = pd.DataFrame({name: 0.5 for name in ("auto", *summary.BASELINES)}, index)
    wide["auto"] += np.where(index.get_level_values("proportion") > 0.1, 0.1, 0.0)
    wide.loc["bupa", summary.BASELINES[-1]] = 0.7
    assert summary.won_by_chance(wide, "auto") == (3, 3, 3)
    assert summary.won(summary.cell_means(wide), "auto").sum() == 3
    wide.loc["bupa", summary.BASELINES[-1]] = np.random.default_rng(0).choice([0.5, 0.7], 30)
    _, low, high = summary.won_by_chance(wide, "auto")
    assert 3 <= low < high <= 6


def test_ties_share_their_rank():
    means = summary.cell_means(wide(auto=[0.9] * 4, vote=[0.5, 0.5, 0.9, 0.9], tsvm=[0.1] * 4))
    assert summary.average_rank(means, ["auto", "vote", "tsvm"]).to_dict() == {
        "auto": 1.25, "vote": 1.75, "tsvm": 3.0
    }  # fmt: skip


def test_difference_is_paired_and_a_fold_counts_once():
    difference = summary.paired_difference(wide(auto=[0.8, 0.6, 0.9, 0.9], vote=[0.7, 0.6, 0.7, 0.8]), "auto", "vote")
    folds = [(0.1 + 0.2) / 2, (0.0 + 0.1) / 2]
    assert difference.loc["pima", "mean"] == pytest.approx(np.mean(folds))
    assert difference.loc["pima", "sem"] == pytest.approx(np.std(folds, ddof=1) / np.sqrt(2))


def test_data_sets_have_equal_weight_in_the_mean():
    small = table(auto=[0.8, 0.6, 0.9, 0.9], vote=[0.7, 0.6, 0.7, 0.8])
    large = small.assign(set="bupa", accuracy=small["accuracy"] / 2)
    both = summary.side_by_side(pd.concat([small, large[large["proportion"] == 0.1]]), GROUP)
    assert summary.set_means(both)["auto"].to_dict() == pytest.approx({"pima": 0.8, "bupa": 0.35, "mean": 0.575})
    difference = summary.paired_difference(both, "auto", "vote")
    assert difference.loc["mean", "mean"] == pytest.approx((0.1 + 0.025) / 2)
    assert difference.loc["mean", "sem"] == pytest.approx(
        np.hypot(difference.loc["pima", "sem"], difference.loc["bupa", "sem"]) / 2
    )


def test_the_deviation_of_a_study_is_over_problems_not_folds():
    rows = [
        ("simulated", problem, 0, fold, 0.2, "auto", accuracy, accuracy)
        for problem, fold, accuracy in [(1, 0, 0.5), (1, 1, 0.7), (2, 0, 0.7), (2, 1, 0.9)]
    ]
    columns = ["study", "problem", "repeat", "fold", "proportion", "method", "accuracy", "auc"]
    (row,) = summary.study_curves(pd.DataFrame(rows, columns=columns)).to_dict("records")
    assert row["accuracy_mean"] == pytest.approx(0.7)
    assert row["accuracy_std"] == pytest.approx(np.std([0.6, 0.8], ddof=1))


def test_the_gain_is_with_minus_without_paired_by_repeat():
    rows = [
        ("digits", repeat, 30, which, "auto", accuracy)
        for repeat, which, accuracy in [
            (0, "with", 0.9), (0, "without", 0.7), (1, "without", 0.7), (1, "with", 0.8), (2, "with", 0.1)
        ]
    ]  # fmt: skip
    cells = pd.DataFrame(rows, columns=["set", "repeat", "labelled", "unlabelled", "method", "accuracy"])
    (row,) = summary.gains(cells).to_dict("records")
    assert row["gain"] == pytest.approx(0.15)
    assert row["error"] == pytest.approx(np.std([0.2, 0.1], ddof=1) / np.sqrt(2))
    assert row["pairs"] == 2  # the third repeat has no fit without unlabelled items


def test_the_last_row_of_a_cell_counts_and_text_stays_text(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("set,method,accuracy,error,order\na,vote,,broken,\na,vote,0.5,,0011\n")
    assert read(path, ["set", "method"]).to_dict("records") == [
        {"set": "a", "method": "vote", "accuracy": 0.5, "error": "", "order": "0011"}
    ]
    with pytest.raises(FileNotFoundError, match=r"no other\.csv"):
        read(tmp_path / "other.csv", ["set"])


def test_markdown_columns_are_aligned():
    frame = pd.DataFrame({"accuracy": ["0.5", "0.75"]}, index=pd.Index(["a", "long"], name="set"))
    assert markdown(frame).splitlines() == [
        "| set  | accuracy |",
        "|------|---------:|",
        "| a    |      0.5 |",
        "| long |     0.75 |",
    ]


def test_the_page_shows_wins_and_failures(tmp_path):
    methods = {"vote": 0.7, "annotator_1": 0.6, "annotator_2": 0.5, "ml_gaussian": 0.75, "tsvm": 0.7}
    cells = table(**{name: [value, value + 0.01] * 2 for name, value in (methods | {"auto": 0.8}).items()})
    failed = cells[cells["method"] == "vote"].assign(method="gp", accuracy=np.nan, auc=np.nan, error="slow")
    pd.concat([cells, failed]).to_csv(tmp_path / "figure3.csv", index=False)
    page = summary.page(tmp_path)
    auto = next(line for line in page.splitlines() if line.startswith("| whoknows (auto)"))
    assert [cell.strip() for cell in auto.split("|")[2:5]] == ["0.8050", "1.0", "2 of 2"]
    assert "+10.0 ± 0.0" in page
    assert "| pima |     gp |  slow |     4 |" in page


def test_no_results_no_page(tmp_path):
    assert summary.page(tmp_path) == ""
