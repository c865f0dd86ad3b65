"""Whatever is wrong ends with one clear message and an exit code; inputs and earlier results stay whole."""

import errno
import json
import os
import re
import signal
import subprocess
import sys
from functools import partial
from pathlib import Path

import pytest

import whoknows
from tests.apps.cli import as_json, contents, failure, make_crowd, run, table, write
from whoknows.apps.cli.console import OPTIONS, in_flags
from whoknows.data.errors import Advice, Message

PROGRAM = Path(sys.executable).with_name("whoknows")
OK = "item,annotator,label\na,x,1\na,y,0\nb,x,0\nb,y,0\n"


@pytest.fixture
def files(tmp_path):
    folder = tmp_path / "files"
    folder.mkdir()
    return make_crowd(folder)


# --- files that are wrong --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"", "is empty"),
        (b"\x89PNG\r\n\x1a\n\0\0\0", "is binary (a zero byte at offset 8)"),
        (b"item,annotator,label\na,x,\0\n", "is binary"),
        (b"item,annotator,label\na,x,caf\x81\n", "Save it as UTF-8"),
        (b"\x1f\x8b\x08\0", "is compressed with gzip. Unpack it first"),
        (b'[{"id": 1, "data": {"text"', "It seems to be cut off"),
        (b"item,annotator,label\n" + b"x" * (17 << 20), "has more than 16 MiB in line 2"),
        (b"item,anotator,label\na,x,1\n", "Did you mean 'annotator' instead of 'anotator'?"),
        (b"one,two\n1,2\n", "--column item=NAME --column annotator=NAME --column label=NAME"),
        (b"item,annotator,label\na,x,1\na,x,0\n", "--duplicates 'first', 'last' or 'majority'"),
        (b"item,annotator,label\na,x,\n", "holds no labels"),
    ],
    ids=lambda value: None if isinstance(value, str) else "",
)
def test_labels_that_cannot_be_read(data, words, tmp_path):
    path = tmp_path / "labels.csv"
    path.write_bytes(data)
    message = failure("agreement", path, code=3)
    assert message.startswith(f"Error: {path}: ")
    assert words in message
    assert message.count("Error:") == 1
    assert path.read_bytes() == data


@pytest.mark.parametrize(
    "data",
    [
        OK.replace("\n", "\r\n").encode(),
        b"\xef\xbb\xbf" + OK.encode(),
        OK.replace(",", ";").encode(),
        OK.encode("utf-16"),
        OK.replace("a,", '"a\nb",').encode(),
    ],
    ids=["crlf", "bom", "semicolon", "utf-16", "quoted newline"],
)
def test_labels_that_can(data, tmp_path):
    path = tmp_path / "labels.csv"
    path.write_bytes(data)
    assert as_json("agreement", path)["labels"] == 4


def test_a_file_that_is_not_there(files, tmp_path):
    assert "there is no such file" in failure("agreement", tmp_path / "none.csv", code=3)
    message = failure("fit", files / "labels.csv", "--features", tmp_path / "none.npy", "--quiet", code=3)
    assert "none.npy: there is no such file" in message
    assert "is a folder without a file of labels" in failure("agreement", tmp_path, code=3)


def test_a_column_that_is_not_there(files):
    message = failure("agreement", files / "labels.csv", "--column", "label=lable", code=3)
    assert (
        "has no column for the label 'lable'. Did you mean 'label'? There are 'item', 'annotator', 'label'." in message
    )
    for more in ((), ("--features", files / "features.csv")):
        message = failure("fit", files / "labels.csv", "--text", "itm", *more, "--quiet", code=3)
        assert "has no column for the text 'itm'. Did you mean 'item'?" in message
    given = "--features", files / "features.csv", "--image", "picture", "--quiet"
    assert "There is no column 'picture' for the image" in failure("fit", files / "labels.csv", *given, code=3)
    message = failure("agreement", files / "labels.csv", "--column", "lable=label", code=2)
    assert "--column expects the roles 'item', 'annotator', 'label', 'text', 'confidence'; got 'lable'" in message
    assert "--column expects ROLE=NAME" in failure("agreement", files / "labels.csv", "--column", "label", code=2)


def test_no_item_in_common_shows_three_of_each(files, tmp_path):
    text = (files / "features.csv").read_text("utf-8").replace("\ni", "\nx")
    features = write(tmp_path / "others.csv", text)
    message = failure("fit", files / "labels.csv", "--features", features, "--quiet", code=3)
    assert "has no item in common with" in message
    assert "'x00', 'x01', 'x02', … here and 'i00', 'i01', 'i02', … there" in message


def test_features_that_are_no_numbers(files, tmp_path):
    words = write(tmp_path / "words.csv", "item,body\ni00,hello\n")
    message = failure("fit", files / "labels.csv", "--features", words, "--quiet", code=3)
    assert "has no column of numbers" in message
    assert "--text" in message
    endless = write(tmp_path / "inf.csv", "item,size\ni00,1\ni01,inf\n")
    message = failure("fit", files / "labels.csv", "--features", endless, "--quiet", code=3)
    assert "got inf in 'size' of item" in message
    assert "Leave such cells blank" in message


def test_gold_of_other_items(files, tmp_path):
    gold = write(tmp_path / "gold.csv", "item,truth\nelsewhere,yes\n")
    given = files / "labels.csv", "--features", files / "features.csv", "--gold", gold
    assert "holds no true label of any item; it is about 'elsewhere'" in failure("fit", *given, "--quiet", code=3)


def test_nothing_known_about_the_items(files, tmp_path):
    """Labels alone are enough for a consensus, but not for more."""
    out = tmp_path / "out"
    said = run("fit", files / "labels.csv", "--out", out, "--quiet")
    assert said.err.startswith("Warning: There are no features of the items, so only the labels are used.")
    assert len(table(out / "consensus.csv")) == 40
    assert json.loads((out / "summary.json").read_text("utf-8"))["given"]["n_features"] == 0
    assert "nothing to predict from" in failure("predict", out, files / "features.csv", code=3)
    run("ask", out, "--out", tmp_path / "ask.csv")
    assert "--features" in failure("compare", files / "labels.csv", code=2)
    assert "--features" in failure("fit", files / "labels.csv", "--model", "gp", "--out", out, code=2)


def test_labels_a_model_cannot_take(files, tmp_path):
    labels = write(tmp_path / "labels.csv", "item,annotator,label\ni00,x,1\ni01,x,1\n")
    given = labels, "--features", files / "features.csv", "--out", tmp_path / "out", "--quiet"
    message = failure("fit", *given, "--model", "id", code=3)
    assert "class" in message
    assert not (tmp_path / "out").exists()


def test_a_model_that_is_none(files, tmp_path):
    features = files / "features.csv"
    assert "there is no such folder or file" in failure("predict", tmp_path / "none", features, code=3)
    assert "it has no model.whoknows" in failure("predict", files, features, code=3)
    message = failure("predict", features, features, code=3)
    assert message.startswith(f"Error: {features}: ")
    assert "Traceback" not in message
    (tmp_path / "model.whoknows").touch()
    assert "it has no settings.toml" in failure("report", tmp_path, code=3)
    (tmp_path / "settings.toml").touch()
    assert "model.whoknows" in failure("predict", tmp_path, features, code=3)
    assert "summary.json: there is no such file" in failure("report", tmp_path, code=3)
    write(tmp_path / "summary.json", '{"cut off')
    assert "summary.json: cannot be read" in failure("report", tmp_path, code=3)


# --- calls that are wrong --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("args", "words"),
    [
        (("fti",), "Did you mean 'fit'?"),
        (("fit",), "Missing argument"),
        (("agreement", "x", "--featurs", "y"), "No such option"),
        (("fit", "x", "--model", "gpp"), "gpp"),
        (("fit", "x", "--seed", "-1"), "--seed"),
        (("agreement", "x", "--format", "excel"), "--format must be one of label-studio"),
        (("fit", "x", "--features", "y", "--levels", "a,b", "--model", "gp"), "--levels requires --model ordered"),
        (("simulate", "--labelled", "0"), "leaves none of 500 items with a label"),
    ],
    ids=lambda value: "-".join(value[:2]) if isinstance(value, tuple) else "",
)
def test_calls_that_mean_nothing(args, words, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write("x", OK)
    write("y", "item,size\na,1\nb,2\n")
    assert words in failure(*args, code=2)


def test_a_config_file_that_is_wrong(files, tmp_path):
    config = tmp_path / "fit.toml"
    for text, words in (
        ('feature = "x"\n', "'feature' is not an option. Did you mean 'features'?"),
        ("labels = \n", "is not TOML"),
        ('model = "best"\n', "best"),
        ("seed = -3\n", "--seed"),
    ):
        write(config, text)
        assert words in failure("fit", files / "labels.csv", "--config", config, code=2)
    assert "cannot be read" in failure("fit", "x", "--config", tmp_path / "none.toml", code=2)


# --- places that cannot be written to --------------------------------------------------------------------


def test_a_folder_that_cannot_be_written(files, tmp_path):
    given = files / "labels.csv", "--features", files / "features.csv", "--model", "id"
    blocked = write(tmp_path / "file", "")
    said = run("fit", *given, "--out", blocked / "out", code=4)
    assert "cannot be written" in said.err
    assert "features.csv" not in said.err  # known before the work begins
    assert "cannot be written" in failure("fit", *given, "--out", blocked, code=4)
    assert blocked.read_bytes() == b""
    message = failure("convert", files / "labels.csv", blocked / "x.csv", "--quiet", code=4)
    assert "cannot be written" in message


def test_inputs_and_strangers_are_not_replaced(files, tmp_path):
    before = contents(files)
    labels = files / "labels.csv"
    assert "is an input, so it cannot be an output too" in failure("convert", labels, labels, code=2)
    link = tmp_path / "link.csv"
    link.symlink_to(labels)
    assert "is an input" in failure("convert", labels, link, code=2)
    features = labels.rename(files / "consensus.csv")
    given = features, "--features", files / "features.csv", "--model", "id"
    assert "is an input" in failure("fit", *given, "--out", files, code=2)
    features.rename(labels)
    assert contents(files) == before
    out = tmp_path / "out"
    out.mkdir()
    write(out / "report.html", "mine")
    message = failure("fit", labels, *given[1:], "--out", out, code=2)
    assert "already contains 'report.html'" in message
    assert (out / "report.html").read_text("utf-8") == "mine"


def test_a_disk_that_is_full(files, tmp_path, monkeypatch):
    """The model file is the largest; when there is no room for it, the earlier fit is still whole."""
    out = tmp_path / "out"
    given = files / "labels.csv", "--features", files / "features.csv", "--model", "id", "--out", out
    run("fit", *given)
    before = contents(out)

    def no_room(*args):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr("whoknows.CrowdClassifier.save", no_room)
    message = failure("fit", *given, "--seed", 1, "--quiet", code=4)
    assert message == f"Error: {out}: cannot be written (the disk is full)."
    assert contents(out) == before


@pytest.mark.skipif(sys.platform == "win32", reason="limits of processes are POSIX")
def test_a_real_limit_on_files(files, tmp_path):
    out = tmp_path / "out"
    limit = """
import resource
from whoknows.apps.cli import main

resource.setrlimit(resource.RLIMIT_FSIZE, (3000, 3000))
main()
"""
    given = "fit", files / "labels.csv", "--features", files / "features.csv", "--model", "id", "--out", out
    done = subprocess.run([sys.executable, "-c", limit, *given], capture_output=True, text=True, check=False)
    assert done.returncode == 4, done.stderr
    assert "cannot be written" in done.stderr
    assert "Traceback" not in done.stderr
    assert not out.exists()


# --- interruptions and bugs ------------------------------------------------------------------------------


@pytest.mark.skipif(sys.platform == "win32", reason="signals are POSIX")
@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_an_interrupted_fit_leaves_nothing_behind(number, code, tmp_path):
    make_crowd(tmp_path, n=2000)
    before = contents(tmp_path)
    out = tmp_path / "out"
    command = [sys.executable, PROGRAM, "fit", tmp_path / "labels.csv", "--features", tmp_path / "features.csv"]
    heard = partial(signal.signal, signal.SIGINT, signal.SIG_DFL)  # tests in the background do not hear it
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    with subprocess.Popen([*command, "--out", out], preexec_fn=heard, **pipes) as run:
        while "no label" not in (line := run.stderr.readline()):  # the last note before the fit
            assert line, "the fit ended too soon"
        assert [path.suffix for path in out.iterdir()] == [".part"]
        run.send_signal(number)
        stdout, stderr = run.communicate(timeout=60)
    assert run.returncode == code
    assert stdout == ""
    assert "Traceback" not in stderr
    if number == signal.SIGINT:
        assert "Interrupted. No results were written." in stderr
    assert contents(tmp_path) == before
    assert not out.exists()


@pytest.mark.skipif(sys.platform == "win32", reason="pipes are POSIX")
def test_nobody_reads_the_output(files):
    command = [sys.executable, PROGRAM, "agreement", files / "labels.csv", "--quiet"]
    read, written = os.pipe()
    os.close(read)
    done = subprocess.run(command, stdout=written, stderr=subprocess.PIPE, text=True, check=False)
    os.close(written)
    assert (done.returncode, done.stderr) == (141, "")


def test_a_bug_is_said_to_be_one(files, monkeypatch):
    def wrong(*args, **options):
        raise error

    monkeypatch.setattr("whoknows.io.read_labels", wrong)
    error = KeyError("oops")
    message = failure("agreement", files / "labels.csv", code=1)
    assert message == "Error: This should not have happened (KeyError: 'oops'). Run it again with --debug to see where."
    with pytest.raises(KeyError):
        run("agreement", files / "labels.csv", "--debug")
    error = MemoryError()
    assert "not enough memory" in failure("agreement", files / "labels.csv", code=1)
    said = run("agreement", files / "labels.csv", "--json", code=1)
    assert json.loads(said.out) == {"error": error_text(said.err), "exit_code": 1}


def error_text(err):
    return err.removeprefix("Error: ").strip()


def test_warnings_are_lines_without_code(files, tmp_path):
    given = files / "labels.csv", "--features", files / "features.csv", "--model", "id", "--max-iter", 2
    said = run("fit", *given, "--out", tmp_path / "out", "--quiet")
    assert said.err.startswith("Warning: The fit did not converge in 2 iterations")
    assert said.err.strip().endswith("Increase --max-iter if that matters.")
    assert as_json("fit", *given, "--out", tmp_path / "out")["warnings"] == [said.err.removeprefix("Warning: ").strip()]


def test_every_option_in_a_message_exists():
    """Advice is worded with options; each of them is an option of some command."""
    text = " ".join(OPTIONS.values())
    named = set(re.findall(r"--[a-z-]+", text))
    helps = run("fit", "--help").out + run("compare", "--help").out
    assert named <= set(re.findall(r"--[a-z-]+", helps))


def test_advice_is_worded_with_options():
    message = Message("Choose one: ", Advice("columns", "columns={'label': 'a'}", role="label", name="a"), ".")
    assert message == "Choose one: columns={'label': 'a'}."
    assert in_flags(message) == "Choose one: --column label=a."
    assert in_flags("plain text") == "plain text"
    unknown = Message(Advice("nowhere", "{as it is}"))
    assert in_flags(unknown) == "{as it is}"


def test_every_advice_of_the_library_is_in_the_table():
    used = set()
    for path in Path(whoknows.__file__).parent.rglob("*.py"):
        used |= set(re.findall(r'Advice\(\s*"(\w+)"', path.read_text("utf-8")))
    assert used == set(OPTIONS)
