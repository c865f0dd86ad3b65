"""What is written can be read, appears whole, and runs in no spreadsheet."""

import csv
import json
import os
import stat

import numpy as np
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.io.labels.samples import TASK, TASK_2
from whoknows.data import Annotations
from whoknows.io import FileError, read_labels, write_labels, write_predictions, write_table

SAID = Annotations.from_arrays(["b", "b", "a"], ["x", "y", "x"], ["no", "yes", "yes"])


# --- round trips ----------------------------------------------------------------------------------------

words = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), min_size=1, max_size=8)
names = st.one_of(words, st.sampled_from(["=1+1", "+x", "-x", "@x", "\tx", "\rx", "\nx", "'=x", "''-", 'a"b', "a,b"]))
texts = names.filter(lambda word: word.strip() and not word.strip()[0].isdigit() and not _is_number(word))
whole = st.integers(-(10**17), 10**17)


def _is_number(word):
    try:
        float(word)
    except ValueError:
        return word.strip().lower() in ("na", "n/a", "<na>", "null", "none", "true", "false")
    return True


@st.composite
def tables(draw):
    """Annotations as a file can give them: ids text or whole numbers, labels of one kind."""
    items = draw(
        st.one_of(
            st.lists(texts, min_size=1, max_size=5, unique=True), st.lists(whole, min_size=1, max_size=5, unique=True)
        )
    )
    people = draw(
        st.one_of(
            st.lists(texts, min_size=1, max_size=4, unique=True), st.lists(whole, min_size=1, max_size=4, unique=True)
        )
    )
    labels = draw(st.sampled_from([["no", "yes"], [0, 1, 7], [False, True], [0.5, 1.25], ["=a", "-1x", "b\r\nc"]]))
    cells = [[draw(st.sampled_from([None, *labels])) for _ in people] for _ in items]
    rows = [
        (i, p, v)
        for i, row in zip(items, cells, strict=True)
        for p, v in zip(people, row, strict=True)
        if v is not None
    ]
    rows = rows or [(items[0], people[0], labels[0])]
    return Annotations.from_arrays(*zip(*rows, strict=True))


@pytest.mark.parametrize("suffix", [".csv", ".tsv", ".parquet", ".jsonl"])
@pytest.mark.parametrize("format", ["long", "crowdkit"])
@given(said=tables())
@settings(max_examples=30)
def test_a_long_table_reads_back_as_what_was_written(tmp_path_factory, suffix, format, said):
    path = tmp_path_factory.getbasetemp() / f"labels{suffix}"
    assert write_labels(said, path, format) == ()
    again = read_labels(path)
    assert again.annotations == said
    assert again.format == format


@pytest.mark.parametrize("suffix", [".csv", ".tsv", ".parquet"])
@given(said=tables())
@settings(max_examples=30)
def test_a_wide_table_reads_back_as_what_was_written(tmp_path_factory, suffix, said):
    path = tmp_path_factory.getbasetemp() / f"wide{suffix}"
    people = [str(name).strip().lower() for name in said.annotators.tolist()]
    if {"item", "text"} & set(people):
        return
    assert write_labels(said, path, "wide") == ()
    again = read_labels(path, format="wide").annotations
    assert Annotations.from_frame(again.to_frame("pandas"), items=said.items) == said


def test_a_wide_table_keeps_who_and_what_has_no_label(tmp_path):
    said = Annotations.from_arrays(["a"], ["x"], [1], items=["b", "a"], annotators=["x", "y"])
    assert write_labels(said, tmp_path / "w.csv", "wide") == ()
    assert (tmp_path / "w.csv").read_text() == "item,x,y\nb,,\na,1,\n"
    assert read_labels(tmp_path / "w.csv").annotations == said
    assert write_labels(said, tmp_path / "l.csv") == (
        "1 items without a label are not in a long table; a wide table holds them",
    )


def test_confidence_is_written_and_read(tmp_path):
    said = Annotations.from_arrays(["a", "b"], ["x", "x"], [1, 0], confidence=[0.5, 1])
    write_labels(said, tmp_path / "l.csv")
    assert read_labels(tmp_path / "l.csv", columns={"confidence": "confidence"}).annotations == said


def test_what_csv_does_not_keep_is_said_aloud(tmp_path):
    said = Annotations.from_arrays(["1", "2"], ["x", "x"], ["True", "no"])
    assert write_labels(said, tmp_path / "l.csv") == (
        "items such as '1' are read back as 1; Parquet and JSONL preserve them",
    )
    assert write_labels(said, tmp_path / "l.jsonl") == ()
    assert read_labels(tmp_path / "l.jsonl").annotations == said


def test_what_a_file_cannot_hold_is_refused(tmp_path):
    mixed = Annotations.from_arrays([1, "a"], ["x", "x"], [0, 1])
    with pytest.raises(FileError, match="cannot be written as Parquet, in which a column holds one type"):
        write_labels(mixed, tmp_path / "l.parquet")
    pairs = Annotations.from_arrays([(1, 2)], ["x"], [frozenset([1])])
    with pytest.raises(FileError, match=r"cannot be written as JSON .* Convert ids to text"):
        write_labels(pairs, tmp_path / "l.jsonl")
    half = Annotations.from_arrays(["\ud800"], ["x"], [1])
    with pytest.raises(FileError, match=r"cannot be written as UTF-8: '\\ud800' is a lone surrogate"):
        write_labels(half, tmp_path / "l.csv")
    odd = Annotations.from_arrays(["a", "a"], ["Item", "x"], [1, 0])
    with pytest.raises(FileError, match=r"Expected annotators of distinct names.*\['Item'\]. Write a long table"):
        write_labels(odd, tmp_path / "w.csv", "wide")
    assert os.listdir(tmp_path) == []


def test_labels_of_annotators_without_a_name_are_refused(tmp_path):
    unknown = SAID.recode(["x"], SAID.labels, unknown="population")
    with pytest.raises(ValueError, match="1 labels are by annotators outside the vocabulary"):
        write_labels(unknown, tmp_path / "l.csv")


def test_names_and_formats_that_cannot_be_written_are_named(tmp_path):
    with pytest.raises(FileError, match=r"expected a name that ends in .csv, .tsv, .parquet, .jsonl"):
        write_labels(SAID, tmp_path / "l.xlsx")
    with pytest.raises(
        ValueError, match="format= must be one of 'crowdkit', 'long', 'wide' to be written; got 'prodigy'"
    ):
        write_labels(SAID, tmp_path / "l.csv", "prodigy")


# --- whole or not at all --------------------------------------------------------------------------------


def test_a_file_is_replaced_in_one_step_and_keeps_its_mode(tmp_path, monkeypatch):
    path = tmp_path / "l.csv"
    path.write_text("old")
    path.chmod(0o640)
    seen = []
    replace = os.replace
    monkeypatch.setattr(os, "replace", lambda a, b: (seen.append(path.read_text()), replace(a, b)))
    write_labels(SAID, path)
    assert seen == ["old"]
    assert stat.S_IMODE(path.stat().st_mode) == 0o640
    assert os.listdir(tmp_path) == ["l.csv"]


def test_the_old_file_stays_if_writing_fails(tmp_path):
    path = tmp_path / "l.csv"
    path.write_text("old")

    def broken():
        yield "a"
        raise OSError(28, "No space left on device")

    from whoknows.io.writing import write_lines

    with pytest.raises(FileError, match=r"cannot be written \(No space left on device\)"):
        write_lines(broken(), path)
    assert path.read_text() == "old"
    assert os.listdir(tmp_path) == ["l.csv"]


def test_a_link_stays_a_link_and_folders_are_refused(tmp_path):
    (tmp_path / "link.csv").symlink_to(tmp_path / "real.csv")
    write_labels(SAID, tmp_path / "link.csv")
    assert (tmp_path / "link.csv").is_symlink()
    assert read_labels(tmp_path / "real.csv").annotations == SAID
    (tmp_path / "folder.csv").mkdir()
    with pytest.raises(FileError, match="is not a file that can be replaced"):
        write_labels(SAID, tmp_path / "folder.csv")
    with pytest.raises(FileError, match=r"cannot be written \(No such file or directory\)"):
        write_labels(SAID, tmp_path / "nowhere" / "l.csv")


# --- spreadsheets ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("start", ["=", "+", "-", "@", "\t", "\r", "\n"])
def test_text_that_a_spreadsheet_would_run_is_escaped(tmp_path, start):
    write_table({f"{start}head": [f"{start}cmd|x"]}, tmp_path / "t.csv")
    with open(tmp_path / "t.csv", newline="") as file:
        assert list(csv.reader(file)) == [[f"'{start}head"], [f"'{start}cmd|x"]]


def test_numbers_are_not_escaped_and_nothing_is_blank(tmp_path):
    write_table({"n": [-1, -0.5, None], "t": ["a", "1", "b"], "f": np.array([np.nan, 1e-9, 2])}, tmp_path / "t.csv")
    assert (tmp_path / "t.csv").read_text() == "n,t,f\n-1,a,\n-0.5,1,1e-09\n,b,2.0\n"


# --- tables and predictions ---------------------------------------------------------------------------


@pytest.mark.parametrize("suffix", [".csv", ".parquet", ".jsonl"])
def test_a_table_is_written_with_its_types_and_without_formulas(tmp_path, suffix):
    path = tmp_path / f"consensus{suffix}"
    columns = {"item": ["a", "=b"], "label": np.array(["no", "yes"]), "p": np.array([0.75, 0.875]), "n": [3, 0]}
    write_table(columns, path)
    expected = [{"item": "a", "label": "no", "p": 0.75, "n": 3}, {"item": "=b", "label": "yes", "p": 0.875, "n": 0}]
    if suffix == ".csv":
        with open(path, newline="") as file:
            assert [list(row.values()) for row in csv.DictReader(file)] == [
                [str(value).replace("=b", "'=b") for value in row.values()] for row in expected
            ]
    elif suffix == ".jsonl":
        assert [json.loads(line) for line in path.read_text().splitlines()] == expected
    else:
        assert pq.read_table(path).to_pylist() == expected


def test_predictions_go_back_to_label_studio(write, tmp_path):
    export, path = write("export.json", [TASK, TASK_2]), tmp_path / "predictions.json"
    assert write_predictions(export, path, [2, 7], np.array(["benign", "benign"]), [0.9, 0.8]) == 1
    assert json.loads(path.read_text()) == [{
        "id": 2, "data": TASK_2["data"],
        "predictions": [{"model_version": "whoknows", "score": 0.9, "result": [
            {"from_name": "grade", "to_name": "img", "type": "choices", "value": {"choices": ["benign"]}}]}],
    }]  # fmt: skip
    images = {"item": "image"}
    assert write_predictions(export, path, ["s3://b/1.png"], ["benign"], [1], columns=images) == 1
    tasks = [TASK, json.loads(path.read_text())[0]]
    assert read_labels(write("back.json", tasks), predictions=True).annotations.annotators.tolist() == [
        "10",
        "whoknows",
    ]
    with pytest.raises(FileError, match="has no task for any of the 1 items"):
        write_predictions(export, path, ["x"], ["benign"], [1])


@pytest.mark.parametrize(("kind", "value", "label"), [("rating", 4, 4), ("taxonomy", [["A", "B"]], "A / B")])
def test_predictions_answer_in_the_kind_of_the_question(write, tmp_path, kind, value, label):
    answer = {"from_name": "q", "to_name": "t", "type": kind, "value": {kind: value}}
    task = {"id": 1, "data": {}, "annotations": [{"completed_by": 1, "result": [answer]}]}
    write_predictions(write("e.json", [task]), tmp_path / "p.json", [1], [label], [0.5])
    written = json.loads((tmp_path / "p.json").read_text())
    assert written[0]["predictions"][0]["result"] == [answer]
