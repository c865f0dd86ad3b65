"""The speed benchmarks: simulated data, measurements and tables."""

import json
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from benchmarks.common import machine, timings
from benchmarks.common.cells import Table
from benchmarks.common.tables import read
from benchmarks.crowds.methods import METHODS
from benchmarks.speed import body, comparison, run, summary, worlds
from benchmarks.speed.worlds import WORLDS, World, subsets

SMALL = World(3_000, 1_000, n_annotators=40, n_features=6, per_item=3)


# --- data ---------------------------------------------------------------------------------------------------


def test_data_depend_on_sizes_and_seed_alone():
    one, again, other = SMALL, replace(SMALL), replace(SMALL, seed=1)
    X = one.features()
    assert (X.shape, X.dtype) == ((3_000, 6), np.float32)
    np.testing.assert_array_equal(X, again.features())
    assert not np.array_equal(X, other.features())
    (Y, z), (Y_again, z_again) = (world.crowd(X[world.labelled]) for world in (one, again))
    assert Y_again == Y
    np.testing.assert_array_equal(z, z_again)


def test_larger_data_sets_begin_with_the_items_of_smaller_ones(monkeypatch):
    monkeypatch.setattr(worlds, "BLOCK", 700)
    small, large = SMALL.features(), replace(SMALL, n_items=5_000).features()
    np.testing.assert_array_equal(small, large[:3_000])
    sizes = [len(block) for block in SMALL.blocks()]
    assert sizes == [700, 700, 700, 700, 200]
    assert len(sizes) == SMALL.n_blocks


def test_the_number_of_labels_is_as_specified():
    Y, z = SMALL.crowd(SMALL.features()[SMALL.labelled])
    assert (Y.n_items, Y.n_annotators, Y.n_classes) == (3_000, 40, 2)
    assert Y.n_annotations == SMALL.n_labels == 3_000
    np.testing.assert_array_equal(np.flatnonzero(Y.labelled), SMALL.labelled)
    assert set(Y.labels_per_item) == {0, 3}
    assert len({*zip(Y.item, Y.annotator, strict=True)}) == 3_000
    in_order = np.lexsort((Y.annotator, Y.item))
    np.testing.assert_array_equal(in_order, np.arange(3_000))
    assert len(z) == 1_000


def test_expertise_depends_on_the_cluster():
    world = World(20_000, 20_000, n_annotators=5, n_features=6)
    X = world.features()
    Y, z = world.crowd(X)
    right = (Y.label == np.repeat(z, 5)).reshape(-1, 5)  # all five label every item, in their order
    cluster = ((X[:, None, :] - world._centres) ** 2).sum(axis=2).argmin(axis=1)
    shares = np.array([right[cluster == c].mean(axis=0) for c in range(worlds.N_CLUSTERS)])
    assert (np.ptp(shares, axis=0) > 0.2).all()
    assert 0.6 < right.mean() < 0.9


@pytest.mark.parametrize("n_classes", [2, 4])
def test_a_classifier_can_learn_the_truth(n_classes):
    world = replace(SMALL, n_classes=n_classes)
    X, z = world.new()
    assert len(X) == worlds.N_NEW
    assert set(z) == set(range(n_classes))
    assert 0.75 < world.ceiling < 1
    assert not np.isin(X[:, 0], world.features()[:, 0]).any()


def test_all_subsets_are_equally_likely():
    drawn = subsets(np.random.default_rng(0), 20_000, 5, 3)
    assert (np.diff(drawn, axis=1) > 0).all()
    assert (drawn.min(), drawn.max()) == (0, 4)
    each, counts = np.unique(drawn, axis=0, return_counts=True)
    assert len(each) == 10
    np.testing.assert_allclose(counts, 2_000, rtol=0.1)
    np.testing.assert_array_equal(subsets(np.random.default_rng(0), 1, 4, 4), [[0, 1, 2, 3]])


def test_files_hold_the_same_items(tmp_path, monkeypatch):
    monkeypatch.setattr(worlds, "BLOCK", 700)
    monkeypatch.setattr(worlds, "BLOCKS_A_FILE", 2)
    SMALL.write(tmp_path)
    assert len(list(tmp_path.iterdir())) == 3
    groups = []
    X = run.opened(tmp_path, groups.append)
    np.testing.assert_array_equal(X[:], SMALL.features())
    assert len(groups) == SMALL.n_blocks


def test_the_data_sets_have_the_planned_sizes():
    sizes = {name: (w.n_items, w.n_labels, w.n_annotators, w.n_classes) for name, w in WORLDS.items()}
    assert sizes["labelled-100k"] == (100_000, 500_000, 50, 2)
    assert sizes["annotators-2000"] == (100_000, 500_000, 2_000, 2)
    assert sizes["classes-10"] == (10_000, 50_000, 50, 10)
    assert sizes["all-10m"] == (10_000_000, 100_000, 50, 2)
    assert sizes["disk-10m"] == (10_000_000, 500_000, 50, 2)
    assert {name for name, world in WORLDS.items() if world.on_disk} == {summary.ON_DISK, "disk-10m"}
    assert {name for _, names in summary.GROWTH.values() for name in names} <= set(worlds.EVERY)
    assert {*worlds.COMPARED, *worlds.QUICK} <= {name for name, world in WORLDS.items() if not world.on_disk}
    assert set(comparison.METHODS) <= set(METHODS)


# --- measuring ----------------------------------------------------------------------------------------------

TINY = World(400, 150, n_annotators=5, n_features=3, per_item=3)


@pytest.fixture
def tiny(monkeypatch):
    monkeypatch.setitem(run.WORLDS, "tiny", TINY)


def test_a_cell_is_a_fit_with_default_settings(tiny):
    row = run.work(TINY, "", 60.0)
    assert row["error"] == ""
    assert 0 < row["cpu_seconds"] < 60
    assert row["consensus"] > 0.8
    assert row["classifier"] <= row["ceiling"] + 0.02
    assert row["iterations"] > 1
    assert row["product_seconds"] > 0
    assert "reads" not in row
    assert set(row) <= set(summary.VALUES)


def test_reads_from_disk_are_counted(tmp_path, monkeypatch):
    monkeypatch.setattr(worlds, "BLOCK", 100)
    world = replace(TINY, on_disk=True)
    world.write(tmp_path)
    row = run.work(world, tmp_path, 60.0)
    assert row["error"] == ""
    assert 1 <= row["reads"] < 10
    assert row["consensus"] > 0.8


def test_a_fit_past_the_limit_has_no_scores(tiny):
    row = run.work(TINY, "", 0.01)
    assert row["error"].startswith("past the limit")
    assert "consensus" not in row


def test_a_cell_that_fails_has_a_row(tiny, monkeypatch):
    monkeypatch.setattr(run, "work", len)  # takes other arguments
    row = run.measure("tiny", summary.METHOD, 60.0)
    assert row["error"].startswith("TypeError: len() takes exactly one argument")
    assert (row["world"], row["n_labels"], row["limit"]) == ("tiny", 450, 60.0)
    assert set(row) <= {*summary.KEY, *summary.VALUES}


def test_other_methods_get_the_same_data(tiny, monkeypatch):
    seen = []
    vote = METHODS["majority vote + LR"]
    monkeypatch.setitem(METHODS, "new", replace(vote, answer=lambda *given: seen.append(given) or vote.answer(*given)))
    row = run.work(TINY, "", 60.0, "new")
    ((X, Y, X_new),) = seen
    np.testing.assert_array_equal(X, TINY.features())
    assert TINY.crowd(X[TINY.labelled])[0] == Y
    np.testing.assert_array_equal(X_new, TINY.new()[0])
    assert row["error"] == ""
    assert 0.6 < row["consensus"] < 1
    assert set(row) <= set(summary.VALUES)


def test_a_row_of_another_method_carries_commit_machine_and_version(tiny, monkeypatch):
    monkeypatch.setattr(run, "work", len)  # takes other arguments
    row = run.measure("tiny", "majority vote + LR", 600.0)
    assert row["limit"] == run.LIMIT_OF_OTHERS
    assert row["version"].startswith("whoknows ")
    assert {name: row[name] for name in machine.STAMP} == machine.stamp()


def test_other_methods_run_on_some_data_sets_only():
    found = run.cells(["all-100k", "all-10m"], [summary.METHOD, "CROWDLAB"])
    ours, theirs = (name for name in (summary.METHOD, "CROWDLAB"))
    assert found == [("all-100k", ours), ("all-100k", theirs), ("all-10m", ours)]


def test_data_that_do_not_fit_on_disk_are_skipped(monkeypatch, capsys):
    monkeypatch.setattr(run.shutil, "disk_usage", lambda place: type("Usage", (), {"free": 2**30}))
    assert [run.fits_on_disk(name) for name in ("all-1m", "all-10m")] == [True, False]
    assert "all-10m is skipped" in capsys.readouterr().out


@pytest.fixture
def table(tmp_path):
    return Table(tmp_path / "t.csv", ("world", "method"), ("seconds", "cpu_seconds", "peak_mb", "error"))


def test_cells_are_measured_once_on_one_machine(table, monkeypatch, capsys):
    calls = []

    def measure(world, method):
        calls.append(world)
        return {"world": world, "method": method, "error": "no"}

    cells = [("a", "m"), ("b", "m")]
    monkeypatch.setattr(timings.os, "environ", {})
    timings.fill(table, cells[:1], measure)
    timings.fill(table, cells, measure)
    assert calls == ["a", "b"]
    timings.fill(table, cells[:1], measure, again=True)
    assert calls == ["a", "b", "a"]
    assert timings.os.environ["OMP_NUM_THREADS"] == "1"
    monkeypatch.setattr(machine, "_processor", lambda: "Abacus")
    timings.fill(table, cells[:1], measure)
    assert calls[3:] == ["a"]
    assert "renamed to t.before.csv" in capsys.readouterr().out
    assert [row["world"] for row in table.rows()] == ["a"]
    (named,) = json.loads(table.path.with_suffix(".machine.json").read_text("utf-8"))
    assert named["processor"] == "Abacus"


# --- tables -------------------------------------------------------------------------------------------------


def row(name, cpu=2.0, mb=10.0, error="", **more):
    world = WORLDS[name]
    sizes = {column: getattr(world, column) for column in summary.SIZES}
    cost = {"seconds": cpu + 1, "cpu_seconds": cpu, "limit": 600.0, "peak_mb": mb, "product_seconds": 0.5}
    figures = {} if error else {"iterations": 12, "consensus": 0.95, "classifier": 0.9, "ceiling": 0.97}
    return {"world": name, "method": summary.METHOD, "error": error} | sizes | cost | figures | more


def rows_of(folder, *rows):
    run.table(folder).append(rows)
    return read(folder / "speed.csv", summary.KEY)


def test_exponents_are_slopes_of_logarithms():
    sizes = pd.Series([1e4, 1e5, 1e6])
    assert summary.exponent(sizes, 3 * sizes**0.9) == pytest.approx(0.9)
    assert summary.exponent(sizes, pd.Series([5.0, 5.0, 5.0])) == pytest.approx(0)


def test_growth_uses_finished_cells_only(tmp_path):
    rows = rows_of(
        tmp_path,
        *(row("labelled-10k", 1.0, 10), row("labelled-100k", 10.0, 20)),
        row("labelled-1m", 600.0, 900, error="past the limit: stopped after 600 s of the processor"),
        row("all-100k"),
    )
    grown = summary.growth(rows)
    assert grown.to_numpy().tolist() == [["50 000 to 500 000", "1.00", "0.30"]]
    assert grown.index.tolist() == ["labels, five per item"]


def test_the_table_has_one_row_per_data_set_in_order(tmp_path):
    rows = rows_of(
        tmp_path,
        row("all-100k", cpu=3.0),
        row("labelled-1m", error="past the limit: stopped after 600 s of the processor"),
        row("labelled-10k", cpu=1.25),
        row("classes-10", error="ValueError: x"),
    )
    shown = summary.table(rows)
    assert shown.index.tolist() == ["labelled-10k", "labelled-1m", "classes-10", "all-100k"]
    assert shown["CPU s"].tolist() == ["1.2", "> 600", "failed", "3.0"]
    assert shown["labels"].tolist() == ["50 000", "5 000 000", "50 000", "100 000"]
    assert shown["consensus"].tolist() == ["0.950", "–", "–", "0.950"]
    assert shown["× product"].tolist() == ["", "", "", "6"]


def test_the_cost_of_an_unlabelled_item_is_given_in_matrix_products(tmp_path):
    rows = rows_of(
        tmp_path,
        row("all-100k", cpu=10.0, product_seconds=1.0),
        row("all-1m", cpu=40.0, product_seconds=11.0, pass_seconds=27.5),
        row("all-10m", cpu=300.0, reads=2.04),
    )
    assert summary.passes(rows) == (
        "One more unlabelled item costs as much as 3.0 matrix products. "
        "The pass of an anchor graph over all items of all-1m costs as much as 2.5 products. "
        "Each row of the features on disk is read 2.04 times."
    )
    assert summary.passes(rows[:1]) == ""
    fewer = rows_of(tmp_path, row("all-100k", cpu=10.0), row("all-1m", cpu=9.0), row("all-10m", cpu=9.5))
    assert summary.passes(fewer).startswith("A fit to")


def compared_row(world, method, cpu=1.0, error="", commit="abc1234"):
    figures = {} if error else {"consensus": 0.9, "classifier": 0.8}
    cost = {"seconds": cpu, "cpu_seconds": cpu, "peak_mb": 5.0, "limit": 180.0, "version": "x 1"}
    return {"world": world, "method": method, "error": error, "commit": commit} | cost | figures


def test_times_of_other_methods_are_given_relative_to_ours(tmp_path):
    late = "past the limit: stopped after 180 s of the processor"
    rows = rows_of(
        tmp_path,
        *[
            compared_row("labelled-10k", "AutoCrowdClassifier", 20.0),
            compared_row("labelled-10k", "majority vote + LR", 0.1),
            compared_row("labelled-10k", "CROWDLAB", 90.0),
            compared_row("labelled-10k", "AnnotatorLogisticRegression", 180.4, late),
            compared_row("classes-10", "CROWDLAB", 3.0),
            compared_row("classes-10", "majority vote + LR", 1.0, "ValueError: x"),
        ],
    )
    shown = comparison.across(rows, comparison.seconds)
    assert shown.index[0] == "AutoCrowdClassifier"
    assert shown["labelled-10k"].tolist() == ["20.0", "0.1 (< 0.01×)", "90.0 (4.5×)", "> 180 (> 9.0×)"]
    assert shown["classes-10"].tolist() == ["not run", "failed", "3.0", "not run"]
    assert comparison.across(rows, comparison.right)["labelled-10k"].tolist()[::3] == ["0.900 / 0.800", "–"]
    assert comparison.across(rows, comparison.memory)["labelled-10k"].tolist()[2:] == ["5", "> 5"]


@pytest.mark.parametrize(("ratio", "text"), [(0.004, "< 0.01"), (0.52, "0.52"), (5.23, "5.2"), (52.3, "52")])
def test_ratios_have_two_significant_digits(ratio, text):
    assert comparison.times(ratio) == text


def test_rows_of_several_commits_are_told(tmp_path):
    rows_of(tmp_path, row("labelled-10k", commit="abc1234"), compared_row("labelled-10k", "CROWDLAB"))
    assert "All rows were measured in one run, at commit abc1234." in body.body(tmp_path)
    rows_of(tmp_path, compared_row("labelled-10k", "CROWDLAB", commit=comparison.EARLIER[0]))
    text = body.body(tmp_path)
    assert f"was measured at commit abc1234, the other methods in earlier runs at {comparison.EARLIER[0]}" in text
    assert "on top of the data" in text


def test_without_other_methods_there_is_no_comparison(tmp_path):
    rows_of(tmp_path, row("labelled-10k", commit="abc1234"))
    assert "Other packages" not in body.body(tmp_path)


def test_another_commit_begins_a_new_file(tmp_path, monkeypatch, capsys):
    table = Table(tmp_path / "t.csv", ("world", "method"), ("seconds", "commit", "error"))
    monkeypatch.setattr(timings.os, "environ", {})

    def measure(world, method):
        return {"world": world, "method": method, "error": "no", **{"commit": machine.stamp()["commit"]}}

    timings.fill(table, [("a", "m")], measure)
    monkeypatch.setattr(machine, "stamp", lambda: {"commit": "1234567", "machine": "x"})
    timings.fill(table, [("b", "m")], measure)
    assert "of another machine, version or commit: renamed to t.before.csv" in capsys.readouterr().out
    assert [row["world"] for row in table.rows()] == ["b"]
