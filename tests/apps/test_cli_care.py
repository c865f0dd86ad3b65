"""Nothing that a user has is lost, features are never taken for others, and a shell is spoken to as one."""

import json
import re
import shutil
import tomllib
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

import whoknows
from tests.apps.cli import as_json, contents, failure, fit_small, run, table, write
from whoknows.apps.cli.bar import Clock
from whoknows.apps.cli.console import Pace, Say
from whoknows.io import read_features


@pytest.fixture(scope="module")
def results(fitted):
    return fitted[0]


# --- features by name ------------------------------------------------------------------------------------


def turned(path, to):
    """Write a table with its columns in another order."""
    rows = [line.split(",") for line in path.read_text("utf-8").splitlines()]
    return write(to, "\n".join(",".join([row[0], *row[:0:-1]]) for row in rows))


def test_a_model_file_alone_does_not_guess_which_column_is_which(files, results, tmp_path):
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


def test_a_model_that_knows_its_features_finds_them(files, tmp_path):
    X = pd.read_csv(files / "features.csv", index_col="item")
    model = whoknows.CrowdClassifier("id").fit(X, np.where(X["size"] > 0, "yes", "no"))
    model.save(tmp_path / "model.whoknows")
    run("predict", tmp_path / "model.whoknows", files / "features.csv", "--out", tmp_path / "features.csv")
    other = turned(files / "features.csv", tmp_path / "other.csv")
    said = run("predict", tmp_path / "model.whoknows", other, "--out", tmp_path / "turned.csv")
    assert "Warning" not in said.err
    assert table(tmp_path / "turned.csv") == table(tmp_path / "features.csv")
    assert [row["label"] for row in table(tmp_path / "turned.csv")] == model.predict(X).tolist()


def test_a_table_with_other_names_is_not_taken_by_place(files, results, tmp_path):
    text = (files / "features.csv").read_text("utf-8").replace("size,weight,age", "a,b,c")
    message = failure("predict", results, write(tmp_path / "other.csv", text), "--quiet", code=3)
    assert (
        "lacks 3 of the 3 features of the fit: 'size', 'weight', 'age'. There are 'a', 'b', 'c'." in message
    )
    assert "Only .npy, .npz" in message


def test_every_class_has_its_column(tmp_path):
    rows = [
        {"item": i, "annotator": who, "label": 1 if i % 2 else "1"} for i in range(20) for who in ("x", "y")
    ]
    labels = write(tmp_path / "labels.jsonl", "\n".join(map(json.dumps, rows)))
    features = write(
        tmp_path / "f.csv", "item,size\n" + "".join(f"{i},{i % 2 + i / 99}\n" for i in range(20))
    )
    run("fit", labels, "--features", features, "--model", "id", "--out", tmp_path / "out")
    run("predict", tmp_path / "out", features, "--out", tmp_path / "p.csv")
    columns = list(table(tmp_path / "p.csv")[0])
    assert columns == ["item", "label", "confidence", "p_'1'", "p_1"]
    assert columns[3:] == list(table(tmp_path / "out" / "consensus.csv")[0])[-2:]


# --- files of others -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "settings", ["debug = true\n", "not TOML", '[found]\nwhoknows = "1"\n', "found = 3\n"]
)
def test_settings_of_others_do_not_make_a_folder_ours(settings, files, tmp_path):
    write(tmp_path / "settings.toml", settings)
    write(tmp_path / "report.html", "mine")
    before = contents(tmp_path)
    given = files / "labels.csv", "--features", files / "features.csv", "--model", "id"
    assert "Choose another --out" in failure("fit", *given, "--out", tmp_path, code=2)
    assert "has 'settings.toml' already" in failure("simulate", "--out", tmp_path, code=2)
    assert contents(tmp_path) == before


def test_a_fit_beside_the_labels_does_not_give_them_away(files, tmp_path):
    """The settings of a fit list what it wrote: labels of the same folder are not among it."""
    shutil.copytree(files, tmp_path, dirs_exist_ok=True)
    fit_small(tmp_path, tmp_path)
    fit_small(tmp_path, tmp_path)
    before = contents(tmp_path)
    assert "has 'labels.csv' already" in failure("simulate", "--out", tmp_path, code=2)
    assert contents(tmp_path) == before


@pytest.mark.parametrize("name", ["data/labels.csv", "report.html"])
def test_a_demo_leaves_files_of_others_alone(name, tmp_path):
    (tmp_path / "data").mkdir()
    write(tmp_path / name, "mine")
    assert "already" in failure("demo", "--out", tmp_path, code=2)
    assert contents(tmp_path) == {name: b"mine"}


def test_a_report_goes_to_a_page_of_its_own(files, results, tmp_path):
    before = contents(files), contents(results)
    for path in (files / "labels.csv", results / "model.whoknows", tmp_path / "report"):
        assert "ends in .html or .htm" in failure("report", results, "--out", path, code=2)
    model = tmp_path / "model.html"
    shutil.copy(results / "model.whoknows", model)
    shutil.copy(results / "summary.json", tmp_path)
    assert "is read" in failure("report", model, "--out", model, code=2)
    shutil.copytree(files, tmp_path / "in")
    labels = (tmp_path / "in" / "labels.csv").rename(tmp_path / "in" / "labels.htm")
    given = labels, "--features", files / "features.csv", "--model", "id", "--out", tmp_path / "out"
    run("fit", *given)
    assert "is read" in failure("report", tmp_path / "out", "--out", labels, code=2)
    assert (contents(files), contents(results)) == before


def test_a_copy_of_a_fit_does_not_write_to_the_first(results, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    copy, before = shutil.copytree(results, tmp_path / "copy"), contents(results)
    assert "out" not in tomllib.loads((copy / "settings.toml").read_text("utf-8"))
    run("fit", "--config", copy / "settings.toml", "--seed", 1)
    assert (tmp_path / "whoknows-out" / "report.html").exists()
    assert contents(results) == before


def test_nothing_to_ask_leaves_an_earlier_list(results, tmp_path):
    out = tmp_path / "ask.csv"
    run("ask", results, "--out", out)
    before = out.read_bytes()
    nothing = "ask", results, "--min-gain", 5, "--out", out
    assert run(*nothing).out.splitlines()[-1] == "Nothing was written."
    answer = as_json(*nothing)
    assert (answer["out"], answer["labels"]) == (None, 0)
    assert answer["why"]
    assert out.read_bytes() == before


# --- convert ---------------------------------------------------------------------------------------------


def test_convert_prints(files, results, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert run("convert", files / "labels.csv", "-").out == (files / "labels.csv").read_text("utf-8")
    assert run("convert", files / "labels.csv", "-", "--to", "wide").out.startswith("item,anna,bob,cleo\n")
    assert run("convert", results, "-").out == (results / "consensus.csv").read_text("utf-8")
    assert as_json("convert", results, "-", code=2)["error"].startswith("OUT is -")
    for name in ("p.csv", "-"):
        message = failure("convert", results, name, "--to", "label-studio", code=2)
        assert "ends in .json" in message
    assert list(tmp_path.iterdir()) == []


# --- words -----------------------------------------------------------------------------------------------


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
def test_calls_that_mean_nothing_are_json_too(args, words):
    answer = as_json(*args, code=2)
    assert words in answer["error"]
    assert answer.keys() == {"error", "exit_code"}
    assert answer["exit_code"] == 2


def test_json_of_other_exit_codes_is_one_object(files, tmp_path):
    assert as_json("agreement", tmp_path / "none.csv", code=3)["exit_code"] == 3
    assert "error" not in as_json("agreement", files / "labels.csv")
    assert "Usage" in run("fit", "--json", "--help").out


def test_a_regression_promises_no_ask(files, tmp_path):
    X = read_features(files / "features.csv")
    rows = [f"{i},{who},{x:.2f}" for i, x in zip(X.ids.tolist(), X.X[:, 0], strict=True) for who in "ab"]
    labels = write(tmp_path / "labels.csv", "\n".join(["item,annotator,label", *rows]))
    given = labels, "--features", files / "features.csv", "--model", "regression"
    said = run("fit", *given, "--out", tmp_path / "amounts")
    assert "for whoknows predict and report\n" in said.out
    assert "predict, report and ask" not in said.out
    assert "predict, report and ask" in fit_small(files, tmp_path / "out").out


def test_messages_are_for_a_shell(files, results, tmp_path):
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
        (
            ("compare", *given, "--folds", 1000),
            3,
            "--folds 1000 needs as many labelled items; there are 40 (",
        ),
        (("ask", results, "--labels", numbers), 3, "are not among the known labels: 0, 1."),
        (("predict", features, features), 3, "are written by whoknows fit, as model.whoknows."),
        (
            ("predict", results, files / "labels.csv"),
            3,
            "Expected the features of the fit: 'size', 'weight', 'age'.",
        ),
    ):
        message = failure(*args, "--quiet", code=code)
        assert words in message
        assert re.search(r"Annotations|annotators=|labels=|n_splits|save\(|--text", message) is None
    run("fit", one, "--features", features, "--model", "id", "--gold", gold, "--out", tmp_path / "out")


# --- the time left ---------------------------------------------------------------------------------------


@pytest.fixture
def clock(monkeypatch):
    now = [100.0]
    monkeypatch.setattr("whoknows.apps.cli.console.time.monotonic", lambda: now[0])
    return now


def test_the_time_left_is_told_once_it_can_be(clock, capsys):
    with Say().progress("Fitting") as update:
        clock[0] += 4.0  # before the first part is done
        update(1, 100)
        for done in range(2, 41):
            clock[0] += 0.5
            update(done, 100)
    first, *rest = capsys.readouterr().err.splitlines()
    assert first == "Fitting: 1% after 4 s"
    assert rest[0] == "Fitting: 11% after 9 s, about 44 s left"


def test_less_to_do_than_was_said(clock):
    pace = Pace()
    for done, of, share in ((1, 10, 0.1), (8, 10, 0.8), (5, 10, 0.8), (9, 6, 1.0), (3, 10, 1.0), (0, 0, 1.0)):
        clock[0] += 1
        left = pace.at(done, of)
        assert pace.share == share
        assert left is None or left >= 0
    assert left == 0


def test_a_bar_says_the_time_left_if_it_is_known():
    for left, words in ((None, "3 s"), (200.0, "3 s, about 3 min left")):
        assert str(Clock().render(SimpleNamespace(elapsed=3.0, fields={"left": left}))) == words


def test_losing_many_labelled_items_is_a_warning(tmp_path):
    labels, features = tmp_path / "labels.csv", tmp_path / "features.csv"
    rows = [f"i{i},{who},{i % 2}" for i in range(40) for who in ("ann", "bob")]
    labels.write_text("item,annotator,label\n" + "\n".join(rows) + "\n")
    features.write_text("item,x\n" + "\n".join(f"i{i},{i % 2}.{i}" for i in range(20)) + "\n")
    said = run("fit", labels, "--features", features, "--model", "id", "--out", tmp_path / "o", "--quiet")
    assert "20 of 40 items with labels (50%) have no features" in " ".join(said.err.split())


# --- items by name ---------------------------------------------------------------------------------------


def renamed(files, folder, name="image_id"):
    """The crowd's files with another word for the item, and numbers from 1 for its ids."""
    for each in ("labels.csv", "features.csv", "truth.csv"):
        text = (files / each).read_text("utf-8").replace("item", name, 1)
        write(folder / each, re.sub(r"^i(\d+)", lambda found: str(int(found[1]) + 1), text, flags=re.M))
    return folder / "labels.csv", "--column", f"item={name}", "--model", "id", "--quiet"


def test_the_labels_word_for_the_item_is_looked_for_in_other_files(files, results, tmp_path):
    given, out = renamed(files, tmp_path), tmp_path / "out"
    more = "--features", tmp_path / "features.csv", "--gold", tmp_path / "truth.csv"
    run("fit", *given, *more, "--out", out)
    found = table(out / "consensus.csv")
    assert [row["item"] for row in found] == [str(i + 1) for i in range(60)]
    assert whoknows.load(out / "model.whoknows").n_features_in_ == 3  # not the ids
    truth = {row["image_id"]: row["truth"] for row in table(tmp_path / "truth.csv")}
    assert all(row["consensus"] == truth[row["item"]] for row in found)  # which gold tells of all


@pytest.mark.parametrize("name", ["nameless.csv", "nameless.npy"])
def test_rows_without_ids_are_not_taken_for_the_items_next_to_them(files, tmp_path, name):
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


def test_predictions_replace_neither_what_is_read_nor_a_file_of_the_fit(files, results, tmp_path):
    X = read_features(files / "features.csv")
    np.save(tmp_path / "X.npy", X.X)
    ids = write(tmp_path / "ids.csv", "\n".join(["item", *X.ids.tolist()]))
    before = contents(tmp_path), contents(results)
    given = "predict", results, tmp_path / "X.npy", "--items", ids, "--out"
    assert f"{ids}: is read, so it cannot be written too." in failure(*given, ids, "--quiet", code=2)
    consensus = results / "consensus.csv"
    assert f"{consensus}: is a file of the fit." in failure(*given, consensus, "--quiet", code=2)
    assert (contents(tmp_path), contents(results)) == before


def test_what_a_report_cannot_show_is_missed_before_the_fit(files, tmp_path, monkeypatch):
    monkeypatch.setattr("whoknows.apps.cli.models.fit", None)  # not reached
    given = "fit", files / "labels.csv", "--features", files / "features.csv", "--out", tmp_path / "out"
    for option in ("--text", "--image"):
        assert "nowhere" in failure(*given, option, "nowhere", "--quiet", code=3)


def test_an_option_that_may_be_repeated_may_be_said_once_in_a_file(tmp_path):
    labels = write(tmp_path / "l.csv", "item,annotator,grade\na,x,low\na,y,high\nb,x,mid\nb,y,mid\n")
    once = write(
        tmp_path / "once.toml", 'column = "label=grade"\nlevels = "low,mid,high"\nscale = "ordinal"\n'
    )
    often = write(
        tmp_path / "often.toml",
        'column = ["label=grade"]\nlevels = ["low", "mid", "high"]\nscale = "ordinal"\n',
    )
    assert as_json("agreement", labels, "--config", once) == as_json("agreement", labels, "--config", often)
