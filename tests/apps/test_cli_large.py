"""Features larger than memory on the command line: the same answers, from files that are never read whole."""

import json
import shutil
import tomllib

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.apps.cli import ALL_FILES, LARGE_FILES, as_json, failure, run, table, write
from whoknows.apps.cli import inputs, models, source
from whoknows.apps.cli.console import Console
from whoknows.apps.cli.errors import CommandError
from whoknows.io import read_features
from whoknows.io.writing import write_blocks


def rows_of(path):
    return pq.read_table(path).to_pylist()


@pytest.fixture(scope="module")
def out_of_core(files, parts, tmp_path_factory):
    """Folder of a fit of the same crowd out of files, and what the fit said."""
    out = tmp_path_factory.mktemp("large") / "out"
    said = run("fit", files / "labels.csv", "--features", parts, "--model", "id", "--out", out)
    return out, said


@pytest.mark.parametrize("model", ["auto", "lgp", "gp", "ordered"])
def test_every_model_can_be_fitted_to_files(files, parts, tmp_path, model, few_members):
    more = ("--levels", "no,yes") if model == "ordered" else ()
    run("fit", files / "labels.csv", "--features", parts, "--model", model, "--out", tmp_path, *more, "--quiet")
    truth = {row["item"]: row["truth"] for row in table(files / "truth.csv")}
    found = rows_of(tmp_path / "consensus.parquet")
    assert np.mean([truth[row["item"]] == row["consensus"] for row in found]) > 0.8


def test_a_folder_of_parquet_gives_the_same_answers(fitted, out_of_core):
    out, said = out_of_core
    assert {path.name for path in out.iterdir()} == LARGE_FILES
    assert "parts: 3 features of 60 items, used out of core." in said.err
    assert "20 of 60 items have features but no label" in said.err
    assert "The following is based on a random sample: 40 of 40 labelled and 20 of 20 unlabelled items." in said.err
    found, expected = rows_of(out / "consensus.parquet"), table(fitted[0] / "consensus.csv")
    assert list(found[0]) == list(expected[0])
    assert [row["item"] for row in found] == [row["item"] for row in expected]
    assert [row["consensus"] for row in found] == [row["consensus"] for row in expected]
    assert [row["vote"] or "" for row in found] == [row["vote"] for row in expected]
    assert [row["n_labels"] for row in found] == [int(row["n_labels"]) for row in expected]
    np.testing.assert_allclose([row["p_yes"] for row in found], [float(row["p_yes"]) for row in expected], atol=2e-6)
    mine, theirs = (table(path / "annotators.csv") for path in (out, fitted[0]))
    assert [row["annotator"] for row in mine] == [row["annotator"] for row in theirs]
    assert [row["n_labels"] for row in mine] == [row["n_labels"] for row in theirs]


def test_the_report_shows_some_items_by_their_ids(files, parts, tmp_path, monkeypatch):
    monkeypatch.setattr(inputs, "N_LABELLED", 15)
    monkeypatch.setattr(inputs, "N_UNLABELLED", 4)
    out = tmp_path / "out"
    run("fit", files / "labels.csv", "--features", parts, "--model", "id", "--out", out)
    assert pq.read_metadata(out / "consensus.parquet").num_rows == 60
    summary = json.loads((out / "summary.json").read_text("utf-8"))
    assert summary["given"]["n_items"] == 19
    assert (
        "The following is based on a random sample: 15 of 40 labelled and 4 of 20 unlabelled"
        in summary["given"]["notes"][-1]
    )
    truth = {row["item"] for row in table(files / "truth.csv")}
    assert set(summary["consensus"]["item"]) <= truth


def test_settings_know_the_features_and_give_the_same_fit(out_of_core, parts, tmp_path):
    out, _ = out_of_core
    settings = tomllib.loads((out / "settings.toml").read_text("utf-8"))
    assert settings["found"]["features"] == ["size", "weight", "age"]
    assert "features" not in settings["found"]["sha256"]
    run("fit", "--config", out / "settings.toml", "--out", tmp_path / "again")
    again = tomllib.loads((tmp_path / "again" / "settings.toml").read_text("utf-8"))
    assert again == settings
    assert rows_of(tmp_path / "again" / "consensus.parquet") == rows_of(out / "consensus.parquet")


@pytest.mark.parametrize("kind", ["parquet", "npy"])
def test_one_file_stays_in_place_if_it_is_larger_than_memory(files, parts, fitted, tmp_path, kind):
    read = read_features(files / "features.csv")
    path = tmp_path / f"X.{kind}"
    if kind == "npy":
        np.save(path, read.X.astype(np.float32))
        write(tmp_path / "X.ids.txt", "\n".join(read.ids.tolist()))
    else:
        pq.write_table(pa.concat_tables(pq.read_table(each) for each in sorted(parts.iterdir())), path)
    given = "fit", files / "labels.csv", "--features", path, "--model", "id", "--out", tmp_path / "out"
    said = run(*given, "--memory", "1 KB")
    assert "60 items, used out of core." in said.err
    found, expected = rows_of(tmp_path / "out" / "consensus.parquet"), table(fitted[0] / "consensus.csv")
    assert [(row["item"], row["consensus"]) for row in found] == [(row["item"], row["consensus"]) for row in expected]
    said = run(*given, "--memory", "1MB")  # it fits: read as ever, and nothing is left of the large fit
    assert "out of core" not in said.err
    assert {each.name for each in (tmp_path / "out").iterdir()} == ALL_FILES


def test_predict_writes_block_after_block(out_of_core, fitted, files, parts, tmp_path, monkeypatch):
    monkeypatch.setattr("whoknows.apps.cli.output.BLOCK", 7)
    expected = tmp_path / "expected.csv"
    run("predict", fitted[0], files / "features.csv", "--out", expected)
    for suffix in (".csv", ".tsv", ".jsonl", ".parquet"):
        out = tmp_path / f"p{suffix}"
        said = run("predict", out_of_core[0], parts, "--out", out)
        assert said.out == f"{out}: the labels of 60 items.\n"
        assert [each.name for each in tmp_path.iterdir() if each.name.startswith(".")] == []
    rows = [json.loads(line) for line in (tmp_path / "p.jsonl").read_text("utf-8").splitlines()]
    assert rows == rows_of(tmp_path / "p.parquet")
    mine, theirs = table(tmp_path / "p.csv"), table(expected)
    assert [(row["item"], row["label"]) for row in mine] == [(row["item"], row["label"]) for row in theirs]
    np.testing.assert_allclose([float(r["p_yes"]) for r in mine], [float(r["p_yes"]) for r in theirs], atol=1e-6)
    assert (tmp_path / "p.tsv").read_text("utf-8").replace("\t", ",") == (tmp_path / "p.csv").read_text("utf-8")
    assert as_json("predict", out_of_core[0], parts, "--out", tmp_path / "q.csv")["items"] == 60


def test_a_fit_of_files_predicts_a_table_and_the_other_way_round(out_of_core, fitted, files, parts, tmp_path):
    run("predict", out_of_core[0], files / "features.csv", "--out", tmp_path / "a.csv")
    run("predict", fitted[0], parts, "--out", tmp_path / "b.csv")
    a, b = table(tmp_path / "a.csv"), table(tmp_path / "b.csv")
    assert [(row["item"], row["label"]) for row in a] == [(row["item"], row["label"]) for row in b]


def test_predict_finds_features_by_name(out_of_core, files, tmp_path):
    read = read_features(files / "features.csv")
    columns = {name: read.X[:, j] for j, name in enumerate(read.names)}
    folder = tmp_path / "other"
    folder.mkdir()
    path = folder / "x.parquet"
    more = {"age": columns["age"], "new": columns["age"], "size": columns["size"], "weight": columns["weight"]}
    pq.write_table(pa.table({"item": read.ids, **more, "text": ["?"] * 60}), path)
    said = run("predict", out_of_core[0], folder, "--out", tmp_path / "p.csv")
    assert "columns left out, as they hold no numbers: 'text' (string)" in said.err
    assert "columns that the fit did not have are left out: 'new'" in said.err
    run("predict", out_of_core[0], files / "features.csv", "--out", tmp_path / "q.csv")
    assert [row["label"] for row in table(tmp_path / "p.csv")] == [row["label"] for row in table(tmp_path / "q.csv")]
    pq.write_table(pa.table({"item": read.ids, "size": columns["size"]}), path)
    message = failure("predict", out_of_core[0], folder, "--out", tmp_path / "p.csv", "--quiet", code=3)
    assert "lacks 2 of the 3 features of the fit: 'weight', 'age'" in message


def test_predictions_of_many_items_are_not_printed(out_of_core, parts):
    message = failure("predict", out_of_core[0], parts, "--out", "-", "--quiet", code=2)
    assert "features out of core need a file: --out FILE." in message


def test_gold_and_labels_of_other_items(files, parts, tmp_path):
    gold = write(tmp_path / "gold.csv", "item,truth\ni00,maybe\nelsewhere,yes\n")
    labels = write(tmp_path / "labels.csv", (files / "labels.csv").read_text("utf-8") + "x1,anna,yes\n")
    given = "fit", labels, "--features", parts, "--model", "id", "--out", tmp_path / "out", "--allow-missing"
    said = run(*given, "--gold", gold)
    assert "the true labels of 1 item are used; 1 more are of other items" in said.err
    rows = rows_of(tmp_path / "out" / "consensus.parquet")
    assert rows[0]["consensus"] == "maybe"
    assert [row["item"] for row in rows if row["gold"]] == ["i00"]
    write(gold, "item,truth\nelsewhere,yes\n")
    assert "holds no true label of any item; it is about 'elsewhere'" in failure(
        *given, "--gold", gold, "--quiet", code=3
    )


@pytest.fixture
def more_labels(files, tmp_path):
    """Labels of the crowd, and of five items that are in no file of features."""
    more = "".join(f"x{place},anna,yes\n" for place in range(5))
    return write(tmp_path / "more.csv", (files / "labels.csv").read_text("utf-8") + more)


LOST = "5 of 45 items with labels (11%) have no features"


def test_labels_of_items_in_no_file_are_refused_and_nothing_is_written(more_labels, parts, tmp_path):
    given = "fit", more_labels, "--features", parts, "--model", "id", "--out", tmp_path / "out"
    message = failure(*given, "--quiet", code=3)
    assert message.startswith(f"Error: {parts}: {LOST}: 'x0', 'x1', 'x2', …; there are features of 'i00'")
    assert message.endswith("leave these labels out: --allow-missing.")
    assert "Warning" not in message
    told = as_json(*given, code=3)
    assert (told["exit_code"], told["error"]) == (3, message.removeprefix("Error: "))
    assert [path.name for path in tmp_path.iterdir()] == ["more.csv"]


def test_labels_of_items_in_no_file_are_left_out_if_allowed(more_labels, out_of_core, parts, tmp_path):
    out = tmp_path / "out"
    given = "fit", more_labels, "--features", parts, "--model", "id", "--out", out, "--allow-missing"
    said = run(*given, "--quiet")
    assert said.err.startswith(f"Warning: {LOST}")
    assert "; their labels are left out: 'x0', 'x1', 'x2', …" in said.err
    assert rows_of(out / "consensus.parquet") == rows_of(out_of_core[0] / "consensus.parquet")
    again = run("fit", "--config", out / "settings.toml", "--out", tmp_path / "again", "--quiet")
    assert again.err == said.err
    assert run("ask", out, "--out", tmp_path / "ask.csv", "--quiet").err == said.err


def test_whom_to_ask_is_said_of_items_with_features(more_labels, out_of_core, tmp_path):
    asked = "ask", out_of_core[0], "--labels", more_labels, "--out", tmp_path / "ask.csv", "--quiet"
    assert "--allow-missing" in failure(*asked, code=3)
    assert run(*asked, "--allow-missing").err.startswith(f"Warning: {LOST}")


def test_labels_of_other_items_alone_are_refused_even_if_missing_ones_are_allowed(parts, tmp_path):
    labels = write(tmp_path / "none.csv", "item,annotator,label\nx0,anna,yes\nx1,anna,no\n")
    given = "fit", labels, "--features", parts, "--out", tmp_path / "out", "--allow-missing", "--quiet"
    assert "has no item in common with" in failure(*given, code=3)
    assert not (tmp_path / "out").exists()


def test_amounts_and_models_that_need_all_items_in_memory(files, parts, tmp_path):
    labels = write(
        tmp_path / "labels.csv",
        (files / "labels.csv").read_text("utf-8").replace(",yes", ",2.5").replace(",no", ",1.5"),
    )
    given = "--features", parts, "--out", tmp_path / "out"
    run("fit", labels, *given, "--model", "regression")
    found = rows_of(tmp_path / "out" / "consensus.parquet")
    assert [row["vote"] is None for row in found] == [row["n_labels"] == 0 for row in found]
    assert all(1 < row["consensus"] < 3 and row["std"] > 0 for row in found)
    run("predict", tmp_path / "out", parts, "--out", tmp_path / "p.parquet")
    assert list(rows_of(tmp_path / "p.parquet")[0]) == ["item", "value", "std"]
    message = failure("fit", files / "labels.csv", *given, "--model", "gp", "--memory", "1kB", "--quiet", code=2)
    assert "--model gp needs all features in memory: 1.44e-06 GB, but --memory allows 1e-06 GB." in message


def test_texts_of_the_labels_are_shown_and_others_are_not(files, parts, tmp_path):
    lines = (files / "labels.csv").read_text("utf-8").splitlines()
    told = [f"{line},{'text' if place == 0 else 'about ' + line[:3]}" for place, line in enumerate(lines)]
    labels = write(tmp_path / "labels.csv", "\n".join(told))
    given = "fit", labels, "--features", parts, "--model", "id", "--out", tmp_path / "out"
    assert "shows no images" not in run(*given).err
    assert "about i0" in (tmp_path / "out" / "summary.json").read_text("utf-8")
    assert "With features out of core, the report shows no images" in run(*given, "--image", "pic").err


def test_ask_chooses_among_some_items(out_of_core, tmp_path):
    said = run("ask", out_of_core[0], "-n", 5, "--out", tmp_path / "ask.csv")
    assert "The following is based on a random sample: 40 of 40 labelled and 20 of 20 unlabelled" in said.err
    asked = table(tmp_path / "ask.csv")
    assert len(asked) == 5
    assert all(row["item"].startswith("i") for row in asked)


def test_bad_features_are_named_and_nothing_is_written(files, parts, tmp_path):
    folder = shutil.copytree(parts, tmp_path / "parts")
    content = pq.read_table(folder / "part-1.parquet")
    ages = content["age"].to_pylist()
    ages[12] = float("nan")
    pq.write_table(content.set_column(3, "age", pa.array(ages)), folder / "part-1.parquet", row_group_size=10)
    given = "fit", files / "labels.csv", "--features", folder, "--model", "id", "--quiet"
    message = failure(*given, "--out", tmp_path / "out", code=3)
    assert "part-1.parquet: expected a finite number in every feature, got none (null or NaN) in column 'age', " in (
        message
    )
    assert "row 12 of the file (counting from 0; row group 1), item 'i37'." in message
    assert not (tmp_path / "out").exists()
    empty = tmp_path / "empty"
    empty.mkdir()
    given = "fit", files / "labels.csv", "--features", empty, "--out", tmp_path / "out", "--quiet"
    assert "is a folder without Parquet files" in failure(*given, code=3)
    given = "fit", files / "labels.csv", "--features", parts, "--quiet"
    assert "is inside the folder of the features" in failure(*given, "--out", parts / "out", code=2)
    message = failure(*given, "--out", tmp_path / "out", "--memory", "lots", code=2)
    assert "--memory expects a size such as 500MB or 8GB; got 'lots'." in message


def test_sizes():
    assert [source.bytes_of(size) for size in ("1", "2kb", "1.5M", "3 GiB", "1TB")] == [
        *(1, 2_000, 1_500_000, 3 << 30, 10**12)
    ]
    assert 1 << 26 < source.bytes_of(None) < 1 << 46
    for size in ("", "GB", "0", "-1GB", "1PB"):
        with pytest.raises(CommandError, match="--memory expects a size"):
            source.bytes_of(size)


def test_progress_of_passes_and_fits(monkeypatch):
    told = []

    class Voice(Console):
        def progress(self, what):
            told.append(what)
            return super().progress(what)

    with models.Stages(Voice(quiet=True), 100) as stages:
        for step in ((stages.reading, 50), (stages.reading, 100), (stages.fitting, 1), (stages.fitting, 2)):
            step[0](step[1], 100)
        stages.reading(30, 100)
        stages.reading(20, 100)
    assert told == ["Pass 1 over 100 items"] + ["Fitting 100 items"] + [f"Pass {n} over 100 items" for n in (2, 3)]


def test_blocks_with_empty_columns_and_odd_names(tmp_path):
    blocks = [{"a\nb": [1, 2], "vote": [None, None]}, {"a\nb": [3], "vote": ["=yes"]}]
    write_blocks(blocks, tmp_path / "t.csv")
    assert [tuple(row.values()) for row in table(tmp_path / "t.csv")] == [("1", ""), ("2", ""), ("3", "'=yes")]
    write_blocks(blocks, tmp_path / "t.parquet", {"vote": ["yes"]})
    assert pq.read_table(tmp_path / "t.parquet")["vote"].to_pylist() == [None, None, "=yes"]


def test_the_consensus_of_every_item_is_converted(out_of_core, tmp_path, monkeypatch):
    out, _ = out_of_core
    summary = json.loads((out / "summary.json").read_text("utf-8"))
    for name in summary["consensus"]:
        summary["consensus"][name] = summary["consensus"][name][:7]  # as of more items than are summed up
    copy = shutil.copytree(out, tmp_path / "copy")
    write(copy / "summary.json", json.dumps(summary))
    assert as_json("convert", copy, tmp_path / "all.csv")["written"] == 60
    found = [(row["item"], row["consensus"]) for row in table(tmp_path / "all.csv")]
    assert found == [(row["item"], row["consensus"]) for row in rows_of(out / "consensus.parquet")]
