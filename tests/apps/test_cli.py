"""The commands other than fit, the help, docs/command_line.md and progress."""

import json
import os
import re
import shlex
import subprocess
import sys
import tomllib
from datetime import date
from pathlib import Path

import numpy as np
import pytest

import whoknows
from tests.apps.cli import ALL_FILES, as_json, contents, failure, make_crowd, run, table, write
from whoknows.apps.cli.console import Console
from whoknows.apps.cli.errors import BAD_INPUT, BROKEN_PIPE, CANNOT_WRITE, FAILED, INTERRUPTED, USAGE
from whoknows.io import read_features, read_labels

COMMANDS = ("demo", "fit", "predict", "report", "ask", "agreement", "compare", "convert", "simulate")


# --- predict, report, ask --------------------------------------------------------------------------------


def test_predict_writes_the_predictions_of_the_model(files, fitted, tmp_path):
    out, _ = fitted
    model = whoknows.load(out / "model.whoknows")
    X = read_features(files / "features.csv").X
    for given in (out, out / "model.whoknows"):
        run("predict", given, files / "features.csv", "--out", tmp_path / "p.csv")
        rows = table(tmp_path / "p.csv")
        assert [row["label"] for row in rows] == model.predict(X).tolist()
        p = np.array([[float(row["p_no"]), float(row["p_yes"])] for row in rows])
        np.testing.assert_array_equal(p, model.predict_proba(X))


def test_predict_matches_columns_by_name(files, fitted, tmp_path):
    out, _ = fitted
    rows = [line.split(",") for line in (files / "features.csv").read_text("utf-8").splitlines()]
    mixed = write(
        tmp_path / "mixed.csv",
        "\n".join(
            f"{age},{i},9,{size},{weight}" if i != "item" else f"{age},{i},more,{size},{weight}"
            for i, size, weight, age in rows
        ),
    )
    said = run("predict", out, mixed, "--out", tmp_path / "p.csv")
    assert "columns that the fit did not have are left out: 'more'" in said.err
    run("predict", out, files / "features.csv", "--out", tmp_path / "q.csv")
    assert table(tmp_path / "p.csv") == table(tmp_path / "q.csv")
    less = write(tmp_path / "less.csv", "item,size,weight\na,1,2\n")
    message = failure("predict", out, less, "--quiet", code=3)
    assert "lacks 1 of the 3 features of the fit: 'age'. There are 'size', 'weight'." in message
    np.save(tmp_path / "X.npy", read_features(files / "features.csv").X)
    said = run("predict", out, tmp_path / "X.npy", "--out", tmp_path / "r.csv")
    assert "used by position" in said.err
    assert [row["p_yes"] for row in table(tmp_path / "r.csv")] == [row["p_yes"] for row in table(tmp_path / "q.csv")]


def test_out_dash_prints_the_table(files, fitted, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    out, _ = fitted
    said = run("predict", out, files / "features.csv", "--out", "-")
    assert said.out.splitlines()[0] == "item,label,confidence,p_no,p_yes"
    assert len(said.out.splitlines()) == 61
    answer = as_json("predict", out, files / "features.csv", "--out", "-")
    assert len(answer["table"]["label"]) == 60
    assert list(tmp_path.iterdir()) == []


def test_report_is_written_again(fitted, tmp_path):
    out, _ = fitted
    run("report", out, "--out", tmp_path / "mine.html", "--title", "My <i>title</i>")
    page = (tmp_path / "mine.html").read_text("utf-8")
    assert "My &lt;i&gt;title&lt;/i&gt;" in page
    assert "<i>title</i>" not in page


def test_reports_are_named_after_the_labels_and_the_day(files, fitted, tmp_path):
    run("report", fitted[0], "--out", tmp_path / "again.html")
    for path in (fitted[0] / "report.html", tmp_path / "again.html"):
        text = path.read_text("utf-8")
        assert f"<h1>Who knows what: {files.name}/labels.csv</h1>" in text
        assert f"{date.today():%B %Y}</p>" in text


def test_ask_lists_whom_to_ask(fitted, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    out, _ = fitted
    said = run("ask", out, "-n", 5, "--cost", "anna=4", "--annotator", "anna", "--annotator", "bob")
    rows = table("ask.csv")
    assert list(rows[0]) == ["item", "annotator", "information", "cost", "per_cost"]
    assert len(rows) == 5
    assert {row["annotator"]: row["cost"] for row in rows}.items() <= {"anna": "4.0", "bob": "1.0"}.items()
    assert "5 labels to ask for" in said.out
    assert as_json("ask", out, "-n", 5, "--out", "-")["labels"] == 5
    assert "Did you mean 'anna'?" in failure("ask", out, "--cost", "ana=4", code=2)
    assert "such as anna=5; got 'anna=x'" in failure("ask", out, "--cost", "anna=x", code=2)
    assert "at least one annotator" not in failure("ask", out, "--annotator", "zoe", code=2)


def test_annotators_with_numbers_as_names_are_found(tmp_path):
    make_crowd(tmp_path)
    labels = (tmp_path / "labels.csv").read_text("utf-8")
    for number, name in enumerate(("anna", "bob", "cleo"), 1):
        labels = labels.replace(f",{name},", f",{number},")
    write(tmp_path / "labels.csv", labels)
    run("fit", tmp_path / "labels.csv", "--model", "id", "--out", tmp_path / "out")
    run("ask", tmp_path / "out", "-n", 2, "--annotator", "1", "--cost", "1=2", "--out", tmp_path / "ask.csv")
    assert {(row["annotator"], row["cost"]) for row in table(tmp_path / "ask.csv")} == {("1", "2.0")}
    assert "There are 1, 2, 3." in failure("ask", tmp_path / "out", "--cost", "x=2", code=2)


def test_ask_never_replaces_a_file_silently(fitted, tmp_path):
    mine = write(tmp_path / "ask.csv", "item,annotator\nmy notes\n")
    message = failure("ask", fitted[0], "--out", mine, code=2)
    assert "exists already. Use --overwrite to replace it, or choose another --out." in message
    assert mine.read_text("utf-8") == "item,annotator\nmy notes\n"
    run("ask", fitted[0], "-n", 3, "--out", mine, "--overwrite")
    assert len(table(mine)) == 3


def test_ask_finds_files_that_moved(tmp_path):
    make_crowd(tmp_path)
    out, labels, features = tmp_path / "out", tmp_path / "labels.csv", tmp_path / "features.csv"
    run("fit", labels, "--features", features, "--model", "id", "--out", out)
    moved = labels.rename(tmp_path / "moved.csv")
    message = failure("ask", out, "--quiet", code=3)
    assert f"{labels}: there is no such file" in message
    assert "--labels" in message
    run("ask", out, "--labels", moved, "--out", tmp_path / "ask.csv")
    assert len(table(tmp_path / "ask.csv")) == 20


# --- agreement, convert, simulate, compare ---------------------------------------------------------------


def test_agreement_needs_labels_only(files, tmp_path):
    pairs = tmp_path / "pairs.csv"
    said = run("agreement", files / "labels.csv", "--out", pairs, "--quiet")
    assert "Krippendorff's alpha" in said.out
    assert said.err == ""
    assert {(row["first"], row["second"]) for row in table(pairs)} == {
        ("anna", "bob"),
        ("anna", "cleo"),
        ("bob", "cleo"),
    }
    found = as_json("agreement", files / "labels.csv")
    assert found["with_others"].keys() == {"anna", "bob", "cleo"}
    assert found["items"] == 40
    scores = write(tmp_path / "scores.csv", "item,annotator,label\na,x,1\na,y,2\nb,x,5\nb,y,5\n")
    nominal, ordinal = (as_json("agreement", scores, "--scale", s)["alpha"] for s in ("nominal", "ordinal"))
    assert ordinal > nominal


def test_converted_labels_can_be_read_back(files, tmp_path):
    old = read_labels(files / "labels.csv").annotations
    for name, to in (("a.csv", "wide"), ("b.tsv", "crowdkit"), ("c.parquet", "long"), ("d.jsonl", "long")):
        run("convert", files / "labels.csv", tmp_path / name, "--to", to)
        assert read_labels(tmp_path / name).annotations == old
    assert "expected a name that ends in" in failure("convert", files / "labels.csv", tmp_path / "x.xlsx", code=2)


def test_convert_the_consensus_of_a_fit(fitted, tmp_path):
    out, _ = fitted
    run("convert", out, tmp_path / "c.jsonl")
    lines = [json.loads(line) for line in (tmp_path / "c.jsonl").read_text("utf-8").splitlines()]
    assert [row["consensus"] for row in lines] == [row["consensus"] for row in table(out / "consensus.csv")]
    assert "did not come from Label Studio" in failure(
        "convert", out, tmp_path / "p.json", "--to", "label-studio", code=3
    )
    assert "one label per item" in failure("convert", out, tmp_path / "p.csv", "--to", "wide", code=2)


def test_label_studio_export_to_predictions(files, tmp_path):
    said = read_labels(files / "labels.csv").annotations
    tasks = [
        {"id": i, "data": {"name": item, "text": f"about {item}"}, "annotations": []}
        for i, item in enumerate(said.items.tolist())
    ]
    for item, who, label in zip(said.item, said.annotator, said.labels[said.label].tolist(), strict=True):
        answer = {"from_name": "grade", "to_name": "text", "type": "choices", "value": {"choices": [label]}}
        tasks[item]["annotations"].append({"completed_by": int(who), "result": [answer]})
    export, out = write(tmp_path / "export.json", json.dumps(tasks)), tmp_path / "out"
    features = "--features", files / "features.csv", "--column", "item=name"
    said = run("fit", export, *features, "--model", "id", "--out", out)
    assert "label-studio format (detected)" in said.err
    run("convert", out, tmp_path / "predictions.json", "--to", "label-studio")
    back = json.loads((tmp_path / "predictions.json").read_text("utf-8"))
    consensus = {row["item"]: row for row in table(out / "consensus.csv")}
    assert len(back) == len(tasks)
    for task in back:
        [guess] = task["predictions"]
        row = consensus[task["data"]["name"]]
        assert guess["result"][0]["value"]["choices"] == [row["consensus"]]
        assert guess["score"] == pytest.approx(float(row["confidence"]), abs=1e-5)


def test_simulate_is_deterministic_given_the_seed(tmp_path):
    options = "--items", 40, "--spammers", 1, "--adversaries", 1, "--per-item", 2, "--classes", 3
    run("simulate", "--out", tmp_path / "a", *options)
    said = run("simulate", "--config", tmp_path / "a" / "settings.toml", "--out", tmp_path / "b")
    assert f"whoknows fit {tmp_path / 'b' / 'labels.csv'} --features" in said.out
    a, b = contents(tmp_path / "a"), contents(tmp_path / "b")
    assert a.keys() == {"labels.csv", "features.csv", "truth.csv", "settings.toml"}
    assert all(a[name] == b[name] for name in a.keys() - {"settings.toml"})
    rows = table(tmp_path / "a" / "labels.csv")
    assert len(rows) == 24  # 30 % of 40 items, two labels each
    assert {row["annotator"] for row in rows} <= {*(f"expert{t}" for t in range(1, 6)), "spammer1", "adversary1"}
    truth = {row["item"]: row["truth"] for row in table(tmp_path / "a" / "truth.csv")}
    assert set(truth.values()) == {"A", "B", "C"}


# --- the command itself ----------------------------------------------------------------------------------


@pytest.mark.parametrize("command", COMMANDS)
def test_help_has_examples(command):
    said = run(command, "--help")
    assert f"whoknows {command}" in said.out.split("For example:")[1]
    for option in ("--quiet", "--json", "--config", "--debug"):
        assert option in said.out


def test_help_imports_nothing_heavy():
    """What `whoknows --help` imports decides how fast it is; the time itself depends on the machine."""
    program = Path(sys.executable).with_name("whoknows")
    shown = subprocess.run(
        [sys.executable, "-X", "importtime", program, "--help"], capture_output=True, text=True, check=True
    )
    assert all(command in shown.stdout for command in COMMANDS)
    imported = {line.split("|")[-1].strip().split(".")[0] for line in shown.stderr.splitlines()}
    assert {"whoknows", "typer"} <= imported
    assert not imported & {"numpy", "scipy", "sklearn", "pandas", "pyarrow", "torch"}


def test_demo_ends_with_a_report(tmp_path):
    out = tmp_path / "demo"
    said = run("demo", "--out", out)
    assert {path.name for path in out.iterdir()} == ALL_FILES | {"data"}
    assert f"Open {out / 'report.html'} in a browser." in said.out
    right = as_json("demo", "--out", out)["right"]
    assert right["consensus_labelled"] > right["vote_labelled"] + 0.05
    assert right["consensus_unlabelled"] > 0.9
    readme = (Path(__file__).parents[2] / "README.md").read_text("utf-8")
    for what, share in right.items():
        line = f"  {what.replace('_', ', ')} items: "
        assert f"{line}{share:.1%}" in said.out
        shown = float(readme.partition(line)[2].partition("%")[0]) / 100
        assert shown == pytest.approx(share, abs=0.01), "README shows other numbers"


def test_version():
    expected = f"whoknows {whoknows.__version__}\n"
    assert run("--version").out == expected
    assert (
        subprocess.run([sys.executable, "-m", "whoknows", "--version"], capture_output=True, text=True).stdout
        == expected
    )


def test_shell_completion():
    program = Path(sys.executable).with_name("whoknows")
    env = {**os.environ, "_WHOKNOWS_COMPLETE": "complete_bash", "COMP_WORDS": "whoknows agr", "COMP_CWORD": "1"}
    done = subprocess.run([sys.executable, program], env=env, capture_output=True, text=True, check=False)
    assert done.stdout.split() == ["agreement"]


# --- the page --------------------------------------------------------------------------------------------

PAGE = (Path(__file__).parents[2] / "docs" / "command_line.md").read_text("utf-8")
NUMBER = re.compile(r"[+-]?\d+(?:\.\d+)?")


def test_commands_of_the_page_print_what_it_shows(tmp_path, monkeypatch):
    """Runs every command of the page, except for the demo, in order."""
    monkeypatch.chdir(tmp_path)
    said = None
    for language, code in re.findall(r"```(sh|text)\n(.*?)```", PAGE, re.DOTALL):
        if language == "text":
            shown = [line for line in code.splitlines() if line != "..."]
            printed = said.out.strip("\n").splitlines()[: len(shown)]
            assert [NUMBER.sub("#", line).split() for line in printed] == [
                NUMBER.sub("#", line).split() for line in shown
            ]
            for was, now in zip(NUMBER.findall("".join(shown)), NUMBER.findall("".join(printed)), strict=True):
                assert float(now) == pytest.approx(float(was), abs=5 if "." in was else 0)
        for line in code.splitlines() if language == "sh" else ():
            if line.startswith("whoknows ") and line != "whoknows demo":
                said = run(*shlex.split(line)[1:])
    assert tomllib.loads(re.search(r"```toml\n(.*?)```", PAGE, re.DOTALL)[1])["column"] == {"label": "severity"}


def test_the_page_lists_the_exit_codes():
    codes = {FAILED, USAGE, BAD_INPUT, CANNOT_WRITE, INTERRUPTED, BROKEN_PIPE}
    listed = re.findall(r"(?m)^\| ([\d, ]+) \|", PAGE)
    assert {int(code) for codes in listed for code in codes.split(",")} == codes | {0, 143}


# --- progress --------------------------------------------------------------------------------------------


def test_progress_without_a_terminal_is_a_line_every_few_seconds(capsys, monkeypatch):
    now = [100.0]
    monkeypatch.setattr("whoknows.apps.cli.console.time.monotonic", lambda: now[0])
    with Console().progress("Fitting") as update:
        for done in range(1, 21):
            now[0] += 0.6
            update(done, 20)
    assert capsys.readouterr().err.splitlines() == [
        "Fitting: 10% after 1 s, about 11 s left",
        "Fitting: 55% after 7 s, about 5 s left",
    ]
    with Console(quiet=True).progress("Fitting") as update:
        update(1, 2)
    assert capsys.readouterr().err == ""


def test_progress_without_a_known_end_counts_iterations_and_claims_no_share(capsys, monkeypatch):
    now = [100.0]
    monkeypatch.setattr("whoknows.apps.cli.console.time.monotonic", lambda: now[0])
    with Console().progress("Fitting") as update:
        for iteration in range(12):
            now[0] += 1.0
            update(iteration, None)
    assert capsys.readouterr().err.splitlines() == [
        "Fitting: iteration 1 after 2 s",
        "Fitting: iteration 6 after 7 s",
        "Fitting: iteration 11 after 12 s",
    ]


@pytest.mark.skipif(sys.platform == "win32", reason="pseudo-terminals are POSIX")
@pytest.mark.parametrize("colour", [True, False])
def test_terminal_output_is_wrapped_and_coloured_unless_no_color(colour, tmp_path):
    import pty

    path = write(tmp_path / ("a rather long name " * 6 + ".csv"), "item,annotator,label\na,x,1\n")
    mine, theirs = pty.openpty()
    env = {**os.environ, "TERM": "xterm", "COLUMNS": "60"}
    env = {**env, "NO_COLOR": "1"} if not colour else {k: v for k, v in env.items() if k != "NO_COLOR"}
    program = Path(sys.executable).with_name("whoknows")
    done = subprocess.run(
        [sys.executable, program, "agreement", path], stdout=theirs, stderr=theirs, env=env, check=False
    )
    os.close(theirs)
    seen = b""
    while not seen.endswith(b"together.\r\n"):
        seen += os.read(mine, 10_000)
    os.close(mine)
    assert done.returncode == 3
    text = seen.decode()
    assert ("\x1b[1;31m" in text) == colour  # bold red
    last = re.sub(r"\x1b\[[^a-zA-Z]*[a-zA-Z]", "", text).split("Error: ")[1].splitlines()
    assert len(last) > 1
    assert max(map(len, last)) <= 60


def test_ordinal_scale_of_words_requires_levels(tmp_path):
    scores = "item,annotator,label\na,x,1\na,y,2\nb,x,3\nb,y,3\nc,x,1\nc,y,1\n"
    numbers = write(tmp_path / "numbers.csv", scores)
    words = write(
        tmp_path / "words.csv",
        re.sub(r"(\d)", lambda n: ["low", "mid, or so", "high"][int(n[0]) - 1].join('""'), scores),
    )
    message = failure("agreement", words, "--scale", "ordinal", "--quiet", code=2)
    assert "--scale ordinal needs numbers, or words in order (--levels low,medium,high)" in message
    assert "labels are 'high', 'low', 'mid, or so'" in message
    assert "needs numbers; labels are 'high'" in failure("agreement", words, "--scale", "interval", "--quiet", code=2)
    order = "--scale", "ordinal", "--levels", "low", "--levels", "mid, or so", "--levels", "high"
    found = as_json("agreement", words, *order)["alpha"]
    assert found == as_json("agreement", numbers, "--scale", "ordinal")["alpha"]
    assert found != as_json("agreement", words)["alpha"]
    assert "got 'mid, or so'" in failure("agreement", words, *order[:2], "--levels", "low,high", "-q", code=2)
    assert "--levels requires --scale ordinal" in failure("agreement", words, *order[2:], "-q", code=2)
