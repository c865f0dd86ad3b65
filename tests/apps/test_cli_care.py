"""User files are not overwritten, features are matched by name, and messages use command-line options."""

import io
import json
import re
import shutil
import sys
import tomllib
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import whoknows
from tests.apps.cli import as_json, contents, failure, fit_small, run, table, write
from whoknows.apps.cli.console import Console
from whoknows.apps.cli.output import write_settings
from whoknows.io import read_features


@pytest.fixture(scope="module")
def results(fitted):
    return fitted[0]


# --- features by name ------------------------------------------------------------------------------------


def turned(path, to):
    """Write a table with its columns in another order."""
    rows = [line.split(",") for line in path.read_text("utf-8").splitlines()]
    return write(to, "\n".join(",".join([row[0], *row[:0:-1]]) for row in rows))


def test_a_model_file_without_settings_refuses_named_columns(files, results, tmp_path):
    model = shutil.copy(results / "model.whoknows", tmp_path)
    given = "predict", model, "--out", tmp_path / "p.csv"
    for name in ("features.csv", "turned.csv"):
        message = failure(*given, turned(files / "features.csv", tmp_path / name), code=3)
        assert f"{tmp_path / name}: its columns have names" in message
        assert f"{tmp_path} has no settings.toml" in message
    assert not (tmp_path / "p.csv").exists()
    X = read_features(files / "features.csv").X
    np.save(tmp_path / "X.npy", X)
    lists = "\n".join(json.dumps({"id": i, "emb": row}) for i, row in enumerate(X.tolist()))
    for arrays in ((tmp_path / "X.npy",), (write(tmp_path / "X.jsonl", lists), "--vector", "emb")):
        run(*given, *arrays)
        assert [row["label"] for row in table(tmp_path / "p.csv")] == whoknows.load(model).predict(X).tolist()
    assert "none.csv: there is no such file" in failure(*given, tmp_path / "none.csv", code=3)


def test_a_model_with_feature_names_matches_columns_by_name(files, tmp_path):
    X = pd.read_csv(files / "features.csv", index_col="item")
    model = whoknows.CrowdClassifier("id").fit(X, np.where(X["size"] > 0, "yes", "no"))
    model.save(tmp_path / "model.whoknows")
    run("predict", tmp_path / "model.whoknows", files / "features.csv", "--out", tmp_path / "features.csv")
    other = turned(files / "features.csv", tmp_path / "other.csv")
    said = run("predict", tmp_path / "model.whoknows", other, "--out", tmp_path / "turned.csv")
    assert "Warning" not in said.err
    assert table(tmp_path / "turned.csv") == table(tmp_path / "features.csv")
    assert [row["label"] for row in table(tmp_path / "turned.csv")] == model.predict(X).tolist()


def test_a_table_with_other_names_is_not_matched_by_position(files, results, tmp_path):
    text = (files / "features.csv").read_text("utf-8").replace("size,weight,age", "a,b,c")
    message = failure("predict", results, write(tmp_path / "other.csv", text), "--quiet", code=3)
    assert "lacks 3 of the 3 features of the fit: 'size', 'weight', 'age'. There are 'a', 'b', 'c'." in message
    assert "Only .npy, .npz" in message


def test_classes_that_print_alike_have_separate_columns(tmp_path):
    rows = [{"item": i, "annotator": who, "label": 1 if i % 2 else "1"} for i in range(20) for who in ("x", "y")]
    labels = write(tmp_path / "labels.jsonl", "\n".join(map(json.dumps, rows)))
    features = write(tmp_path / "f.csv", "item,size\n" + "".join(f"{i},{i % 2 + i / 99}\n" for i in range(20)))
    run("fit", labels, "--features", features, "--model", "id", "--out", tmp_path / "out")
    run("predict", tmp_path / "out", features, "--out", tmp_path / "p.csv")
    columns = list(table(tmp_path / "p.csv")[0])
    assert columns == ["item", "label", "confidence", "p_'1'", "p_1"]
    assert columns[3:] == list(table(tmp_path / "out" / "consensus.csv")[0])[-2:]


# --- files of the user -------------------------------------------------------------------------------------


@pytest.mark.parametrize("settings", ["debug = true\n", "not TOML", '[found]\nwhoknows = "1"\n', "found = 3\n"])
def test_a_foreign_settings_file_does_not_allow_overwriting(settings, files, tmp_path):
    write(tmp_path / "settings.toml", settings)
    write(tmp_path / "report.html", "mine")
    before = contents(tmp_path)
    given = files / "labels.csv", "--features", files / "features.csv", "--model", "id"
    assert "Choose another --out" in failure("fit", *given, "--out", tmp_path, code=2)
    assert "already contains 'settings.toml'" in failure("simulate", "--out", tmp_path, code=2)
    assert contents(tmp_path) == before


def test_only_files_listed_in_the_settings_are_replaced(files, tmp_path):
    """The settings of a fit do not list labels in the same folder."""
    shutil.copytree(files, tmp_path, dirs_exist_ok=True)
    fit_small(tmp_path, tmp_path)
    fit_small(tmp_path, tmp_path)
    before = contents(tmp_path)
    assert "already contains 'labels.csv'" in failure("simulate", "--out", tmp_path, code=2)
    assert contents(tmp_path) == before


@pytest.mark.parametrize("name", ["data/labels.csv", "report.html"])
def test_demo_does_not_replace_files_of_the_user(name, tmp_path):
    (tmp_path / "data").mkdir()
    write(tmp_path / name, "mine")
    assert "already" in failure("demo", "--out", tmp_path, code=2)
    assert contents(tmp_path) == {name: b"mine"}


def test_a_report_replaces_neither_the_model_nor_an_input(files, results, tmp_path):
    before = contents(files), contents(results)
    for path in (files / "labels.csv", results / "model.whoknows", tmp_path / "report"):
        assert "ends in .html or .htm" in failure("report", results, "--out", path, code=2)
    model = tmp_path / "model.html"
    shutil.copy(results / "model.whoknows", model)
    shutil.copy(results / "summary.json", tmp_path)
    assert "is an input" in failure("report", model, "--out", model, code=2)
    shutil.copytree(files, tmp_path / "in")
    labels = (tmp_path / "in" / "labels.csv").rename(tmp_path / "in" / "labels.htm")
    given = labels, "--features", files / "features.csv", "--model", "id", "--out", tmp_path / "out"
    run("fit", *given)
    assert "is an input" in failure("report", tmp_path / "out", "--out", labels, code=2)
    assert (contents(files), contents(results)) == before


def test_settings_of_a_copied_folder_do_not_write_to_the_original(results, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    copy, before = shutil.copytree(results, tmp_path / "copy"), contents(results)
    assert "out" not in tomllib.loads((copy / "settings.toml").read_text("utf-8"))
    run("fit", "--config", copy / "settings.toml", "--seed", 1)
    assert (tmp_path / "whoknows-out" / "report.html").exists()
    assert contents(results) == before


def test_ask_without_suggestions_keeps_an_earlier_table(results, tmp_path):
    out = tmp_path / "ask.csv"
    run("ask", results, "--out", out)
    before = out.read_bytes()
    nothing = "ask", results, "--min-gain", 5, "--out", out, "--overwrite"
    assert run(*nothing).out.splitlines()[-1] == "Nothing was written."
    answer = as_json(*nothing)
    assert (answer["out"], answer["labels"]) == (None, 0)
    assert answer["why"]
    assert out.read_bytes() == before


# --- convert ---------------------------------------------------------------------------------------------


def test_convert_to_standard_output(files, results, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert run("convert", files / "labels.csv", "-").out == (files / "labels.csv").read_text("utf-8")
    assert run("convert", files / "labels.csv", "-", "--to", "wide").out.startswith("item,anna,bob,cleo\n")
    assert run("convert", results, "-").out == (results / "consensus.csv").read_text("utf-8")
    assert as_json("convert", results, "-", code=2)["error"].startswith("OUT is -")
    for name in ("p.csv", "-"):
        message = failure("convert", results, name, "--to", "label-studio", code=2)
        assert "ends in .json" in message
    assert list(tmp_path.iterdir()) == []


# --- messages --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("args", "words"),
    [
        (("fit",), "Missing argument 'LABELS'."),
        (("fti", "x"), "Did you mean 'fit'?"),
        (("fit", "x", "--model", "best"), "best"),
        (("fit", "x", "--wrong"), "--wrong"),
        (("fit", "x", "--config", "none.toml"), "none.toml: cannot be read"),
    ],
    ids=lambda value: value[-1] if isinstance(value, tuple) else "",
)
def test_usage_errors_are_json_with_json(args, words):
    answer = as_json(*args, code=2)
    assert words in answer["error"]
    assert answer.keys() == {"error", "exit_code"}
    assert answer["exit_code"] == 2


def test_errors_are_one_json_object(files, tmp_path):
    assert as_json("agreement", tmp_path / "none.csv", code=3)["exit_code"] == 3
    assert "error" not in as_json("agreement", files / "labels.csv")
    assert "Usage" in run("fit", "--json", "--help").out


def test_fit_of_a_regression_does_not_mention_ask(files, tmp_path):
    X = read_features(files / "features.csv")
    rows = [f"{i},{who},{x:.2f}" for i, x in zip(X.ids.tolist(), X.X[:, 0], strict=True) for who in "ab"]
    labels = write(tmp_path / "labels.csv", "\n".join(["item,annotator,label", *rows]))
    given = labels, "--features", files / "features.csv", "--model", "regression"
    said = run("fit", *given, "--out", tmp_path / "amounts")
    assert "model.whoknows" in said.out
    assert "whoknows ask" not in said.out
    assert not re.search(r"\bask\b", said.out)


def test_messages_name_options_not_python_arguments(files, results, tmp_path):
    features = files / "features.csv"
    one = write(tmp_path / "one.csv", "item,annotator,label\ni00,x,1\ni01,x,1\n")
    numbers = (files / "labels.csv").read_text("utf-8").replace(",yes", ",1").replace(",no", ",0")
    numbers = write(tmp_path / "numbers.csv", numbers)
    given = files / "labels.csv", "--features", features, "--model", "id"
    gold = write(tmp_path / "gold.csv", "item,truth\ni05,2\n")
    for args, code, words in (
        (("fit", one, "--features", features), 3, "name an item of it with --gold FILE"),
        (("ask", results, "--cost", "anna=-2"), 2, "--cost expects a number above 0; got 'anna=-2'"),
        (("ask", results, "--cost", "anna=nan"), 2, "name those who may be asked with --annotator"),
        (("compare", *given, "--folds", 1000), 3, "--folds 1000 needs as many labelled items; there are 40 ("),
        (("ask", results, "--labels", numbers), 3, "are not among the known labels: 0, 1."),
        (("predict", features, features), 3, "are written by whoknows fit, as model.whoknows."),
        (("predict", results, files / "labels.csv"), 3, "Expected the features of the fit: 'size', 'weight', 'age'."),
    ):
        message = failure(*args, "--quiet", code=code)
        assert words in message
        assert re.search(r"Annotations|annotators=|labels=|n_splits|save\(|--text", message) is None
    run("fit", one, "--features", features, "--model", "id", "--gold", gold, "--out", tmp_path / "out")


# --- progress --------------------------------------------------------------------------------------------


@pytest.fixture
def clock(monkeypatch):
    now = [100.0]
    monkeypatch.setattr("whoknows.apps.cli.console.time.monotonic", lambda: now[0])
    return now


def test_remaining_time_is_printed_from_the_second_update(clock, capsys):
    with Console().progress("Fitting") as update:
        clock[0] += 4.0  # before the first update
        update(1, 100)
        for done in range(2, 41):
            clock[0] += 0.5
            update(done, 100)
    first, *rest = capsys.readouterr().err.splitlines()
    assert first == "Fitting: 1% after 4 s"
    assert rest[0] == "Fitting: 11% after 9 s, about 44 s left"


def test_progress_never_goes_back_and_never_exceeds_what_there_is_to_do(clock, capsys):
    with Console().progress("Fitting") as update:
        for done, of in ((1, 10), (8, 10), (5, 10), (9, 10), (12, 10), (3, 10), (0, 0)):
            clock[0] += 6.0
            update(done, of)
    assert capsys.readouterr().err.splitlines() == [
        "Fitting: 10% after 6 s",
        "Fitting: 80% after 12 s, about 2 s left",
        "Fitting: 80% after 18 s, about 2 s left",
        "Fitting: 90% after 24 s, about 2 s left",
    ]


class Terminal(io.StringIO):
    def isatty(self):
        return True


def test_a_bar_on_a_terminal_shows_the_time_left(clock, monkeypatch):
    """The file name in it is text, whatever brackets or control characters it holds."""
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("NO_COLOR", "1")
    with Console().progress("Reading [red]a\x1b[2J.csv") as update:
        for done in range(1, 5):
            clock[0] += 100.0
            update(done, 10)
    drawn = terminal.getvalue()
    assert "Reading [red]a\\x1b[2J.csv" in drawn
    assert "0:10:00" in drawn
    assert "40%" in drawn
    assert "\x1b[2J" not in drawn


# --- characters ------------------------------------------------------------------------------------------


def test_control_characters_are_shown_and_not_obeyed(capsys):
    console = Console()
    console.show("a\x1b[2Jb\rc\x9bd\ud800")
    console.show("\u202egpj.exe\u2069 and \u0645\u06cc\u200c\u062e")  # a joiner within a word stays
    console.warn("x\x07y")
    printed = capsys.readouterr()
    assert printed.out.splitlines() == [
        "a\\x1b[2Jb\\rc\\x9bd\\ud800",
        "\\u202egpj.exe\\u2069 and \u0645\u06cc\u200c\u062e",
    ]
    assert printed.err == "Warning: x\\x07y\n"


def test_characters_that_the_terminal_lacks_are_replaced(monkeypatch):
    buffer = io.BytesIO()
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(buffer, encoding="ascii"))
    Console().show("1\u202f000 ± 2 — …, é")
    sys.stdout.flush()
    assert buffer.getvalue() == b"1 000 +- 2 - ..., ?\n"


def test_settings_hold_any_characters_and_can_be_read_as_toml(tmp_path):
    settings = {
        "labels": Path("/data/caf\udce9.csv"),
        "text": 'a\x7f"\n\\',
        "image_folder": [Path("/data/a b")],
        "gold": None,
    }
    write_settings(tmp_path, settings, {"medians": {"size, cm": 1e-07}, "texts": None}, "heading")
    found = tomllib.loads((tmp_path / "settings.toml").read_text("utf-8"))
    assert found.pop("found").keys() == {"whoknows", "files", "medians"}
    assert found == {"labels": "/data/caf?.csv", "text": 'a\x7f"\n\\', "image_folder": ["/data/a b"]}


def test_json_has_neither_arrays_nor_nan(capsys):
    found = {"a": np.array([1.5, np.nan, np.inf]), "n": np.int64(3), "path": Path("x"), "l": [float("nan")]}
    Console(as_json=True).answer(found)
    answer = json.loads(capsys.readouterr().out, parse_constant=pytest.fail)
    assert answer == {"a": [1.5, None, None], "n": 3, "path": "x", "l": [None], "notes": [], "warnings": []}


def test_dropping_many_labelled_items_warns(tmp_path):
    labels, features = tmp_path / "labels.csv", tmp_path / "features.csv"
    rows = [f"i{i},{who},{i % 2}" for i in range(40) for who in ("ann", "bob")]
    labels.write_text("item,annotator,label\n" + "\n".join(rows) + "\n")
    features.write_text("item,x\n" + "\n".join(f"i{i},{i % 2}.{i}" for i in range(20)) + "\n")
    said = run("fit", labels, "--features", features, "--model", "id", "--out", tmp_path / "o", "--quiet")
    assert "20 of 40 items with labels (50%) have no features" in " ".join(said.err.split())


# --- items by name ---------------------------------------------------------------------------------------


def renamed(files, folder, name="image_id"):
    """Copy the files with another name for the item column, and ids 1, 2, ...."""
    for each in ("labels.csv", "features.csv", "truth.csv"):
        text = (files / each).read_text("utf-8").replace("item", name, 1)
        write(folder / each, re.sub(r"^i(\d+)", lambda found: str(int(found[1]) + 1), text, flags=re.M))
    return folder / "labels.csv", "--column", f"item={name}", "--model", "id", "--quiet"


def test_the_item_column_of_the_labels_applies_to_other_files(files, results, tmp_path):
    given, out = renamed(files, tmp_path), tmp_path / "out"
    more = "--features", tmp_path / "features.csv", "--gold", tmp_path / "truth.csv"
    run("fit", *given, *more, "--out", out)
    found = table(out / "consensus.csv")
    assert [row["item"] for row in found] == [str(i + 1) for i in range(60)]
    assert whoknows.load(out / "model.whoknows").n_features_in_ == 3  # not the ids
    truth = {row["image_id"]: row["truth"] for row in table(tmp_path / "truth.csv")}
    assert all(row["consensus"] == truth[row["item"]] for row in found)  # all items have gold labels


@pytest.mark.parametrize("name", ["nameless.csv", "nameless.npy"])
def test_rows_without_ids_must_match_the_labelled_items(files, tmp_path, name):
    given, path = renamed(files, tmp_path), tmp_path / name
    X = read_features(files / "features.csv").X
    if name.endswith("npy"):
        np.save(path, X[:40])
    else:
        write(path, "\n".join(["size,weight,age", *(",".join(map(str, row)) for row in X[:40])]))
    given = "fit", *given, "--features", path, "--out", tmp_path / "out"
    message = failure(*given, code=3)
    assert f"{path}: 1 of 40 items with labels (2%) have no features" in message
    assert "The file has no ids: row numbers are used as ids." in message
    assert "--id-column" in message
    run(*given, "--allow-missing")


def test_predictions_replace_neither_an_input_nor_a_file_of_the_fit(files, results, tmp_path):
    X = read_features(files / "features.csv")
    np.save(tmp_path / "X.npy", X.X)
    ids = write(tmp_path / "ids.csv", "\n".join(["item", *X.ids.tolist()]))
    before = contents(tmp_path), contents(results)
    given = "predict", results, tmp_path / "X.npy", "--items", ids, "--out"
    assert f"{ids}: is an input, so it cannot be an output too." in failure(*given, ids, "--quiet", code=2)
    consensus = results / "consensus.csv"
    assert f"{consensus}: is a file of the fit." in failure(*given, consensus, "--quiet", code=2)
    assert (contents(tmp_path), contents(results)) == before


def test_a_missing_text_or_image_column_is_reported_before_the_fit(files, tmp_path, monkeypatch):
    monkeypatch.setattr("whoknows.apps.cli.models.fit", None)  # not reached
    given = "fit", files / "labels.csv", "--features", files / "features.csv", "--out", tmp_path / "out"
    for option in ("--text", "--image"):
        assert "nowhere" in failure(*given, option, "nowhere", "--quiet", code=3)


def test_a_repeatable_option_can_be_a_single_value_in_a_config(tmp_path):
    labels = write(tmp_path / "l.csv", "item,annotator,grade\na,x,low\na,y,high\nb,x,mid\nb,y,mid\n")
    once = write(tmp_path / "once.toml", 'column = "label=grade"\nlevels = "low,mid,high"\nscale = "ordinal"\n')
    often = write(
        tmp_path / "often.toml", 'column = ["label=grade"]\nlevels = ["low", "mid", "high"]\nscale = "ordinal"\n'
    )
    assert as_json("agreement", labels, "--config", once) == as_json("agreement", labels, "--config", often)
