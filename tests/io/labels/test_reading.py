"""Files as they come: encodings, delimiters, damage; long and wide tables."""

import gzip
import json
import pickle
import sys
from datetime import date
from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules

import pytest

from tests.io.labels.samples import LABELS, LONG, jsonl, npy, parquet, rows, workbook, zipped
from whoknows.data import Annotations
from whoknows.data.errors import InputError
from whoknows.io import FORMATS, FileError, delimited, encoding, read_gold, read_labels
from whoknows.io import labels as formats
from whoknows.io.labels.format import Format

CSV = "item,annotator,label\na,x,0\na,y,1\nb,x,1\n"
EXPECTED = Annotations.from_arrays(*LONG.values())


def problem(path, **options):
    with pytest.raises(FileError) as caught:
        read_labels(path, **options)
    assert str(caught.value).startswith(str(path))
    return caught.value.problem


# --- what is not there, or is no text -------------------------------------------------------------------


def test_a_file_that_is_not_there_empty_or_a_folder(write, tmp_path):
    assert problem(tmp_path / "no.csv") == "there is no such file."
    assert problem(write("empty.csv", b"")) == "is empty."
    assert problem(write("blank.csv", b" \n\r\n ")) == "is empty."
    assert problem(write("mark.csv", b"\xef\xbb\xbf\n")) == "is empty."
    (tmp_path / "folder").mkdir()
    assert problem(tmp_path / "folder") == "is a folder without a file of labels."
    assert problem("nul\0l.csv") == "cannot be read (embedded null byte)."


@pytest.mark.parametrize(("data", "message"), [
    (b"\x89PNG\r\n\x1a\n\0\0", "is binary (a zero byte at offset 8). Expected CSV, JSON, JSONL or Parquet."),
    (b"item,annotator\0,label\n", "is binary (a zero byte at offset 14)"),
    (gzip.compress(b"item"), "is compressed with gzip. Unpack it first."),
    (b"\xd0\xcf\x11\xe0\xa1\xb1", "is an Excel workbook of an old kind. Save it as .xlsx or CSV."),
    (b"%PDF-1.7", "is a PDF document."),
    (npy([[1.0]]), "is a NumPy array, which can hold features but no annotations."),
    (b"<!DOCTYPE html><html><body>Please log in", "is a web page, perhaps a login page"),
    (zipped({"[Content_Types].xml": "<x/>"}), "is an Office document, but no Excel workbook."),
    (zipped({"picture.png": b"\x89PNG\0"}), "is binary (a zero byte at offset 4)"),
    (LABELS["doccano.zip"][:60], "cannot be unpacked (File is not a zip file)"),
    (LABELS["long.parquet"][:-9], "is damaged, or is not a valid Parquet file"),
], ids=lambda value: value[:20] if isinstance(value, str) else "")  # fmt: skip
def test_what_is_no_table_is_called_what_it_is(write, data, message):
    path = write("labels.csv", data)
    with pytest.raises(FileError) as caught:
        read_labels(path)
    assert caught.value.problem.startswith(message)


def test_a_problem_can_be_pickled():
    again = pickle.loads(pickle.dumps(FileError("a.csv", "is empty.")))
    assert (str(again), again.path, again.problem) == ("a.csv: is empty.", "a.csv", "is empty.")


# --- encodings ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-16-be"])
def test_encodings_are_found(write, encoding):
    words = CSV.replace("x", "Žofie")
    assert ("a", "Žofie", 0) in rows(read_labels(write("l.csv", words.encode(encoding))))
    records = jsonl({"item": "ü", "annotator": "x", "label": "ß"}).decode()
    assert rows(read_labels(write("l.jsonl", records.encode(encoding)))) == {("ü", "x", "ß")}


def test_what_is_not_utf_8_is_windows_1252_with_a_note(write):
    path = write("l.csv", CSV.replace("x", "Zoë").encode("cp1252"))
    found = read_labels(path)
    assert ("a", "Zoë", 0) in rows(found)
    assert found.notes == (
        "the text is not UTF-8 and was read as Windows-1252, with 'ë'. If such characters are wrong, name "
        "its encoding: encoding=...",
    )
    assert ("a", "Zoл", 0) in rows(read_labels(path, encoding="cp1251"))
    assert read_labels(path, encoding="cp1251").notes == ()
    assert read_gold(write("g.csv", "item,truth\nä,1\n".encode("cp850")), encoding="cp850") == {"ä": 1}


def test_a_wrong_encoding_is_named_with_its_place(write):
    data = CSV.replace("x", "Zoë").encode()
    assert problem(write("l.csv", data[:-4])).startswith("is not UTF-8 text: byte 0xc3 at offset")
    assert problem(write("l.csv", data), encoding="ascii").startswith("is not ASCII text: byte 0xc3 at")
    with pytest.raises(InputError, match="encoding= must be one that Python knows, such as 'cp1252'; got 'x'"):
        read_labels(write("l.csv", data), encoding="x")


# --- Excel ----------------------------------------------------------------------------------------------


def test_a_workbook_is_read_as_its_first_sheet_with_cells(write):
    text = [["item", "annotator", "label"], ["a", "x", 0], ["a", "y", 1], [None] * 3, ["b", "x", 1]]
    path = write("l.xlsx", workbook(Empty=[], Labels=text, Notes=[["see", date(2026, 1, 2)]]))
    found = read_labels(path)
    assert found.annotations == EXPECTED
    assert found.notes == ("sheet 'Labels' of the workbook is read; other sheets are not read: 'Notes'",)
    wide = [["item", "x", "y"], ["a", "no", "yes"], ["b", True, None]]
    assert rows(read_labels(write("w.xlsx", workbook(S=wide)))) == {
        ("a", "x", "no"), ("a", "y", "yes"), ("b", "x", "True"),
    }  # fmt: skip
    assert problem(write("e.xlsx", workbook(S=[]))) == "is an empty workbook."


def test_a_damaged_workbook_is_named_and_a_large_one_refused(write, monkeypatch):
    data = workbook(S=[["item", "annotator", "label"], ["a", "x", 0]])
    broken = data.replace(b"workbook.xml.rels", b"workbook.xml.rel_")
    assert problem(write("l.xlsx", broken)).startswith("is damaged, or is not an Excel workbook (")
    monkeypatch.setattr(encoding, "MAX_SIZE", 1000)
    monkeypatch.setattr(encoding, "MAX_RATIO", 0)
    assert problem(write("l.xlsx", data)).startswith("takes more than 1000 bytes once decompressed")
    monkeypatch.setitem(sys.modules, "openpyxl", None)
    assert problem(write("l.xlsx", data)) == "needs openpyxl. Run: pip install 'whoknows[excel]'"


# --- tables ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_delimiters_and_line_ends_are_found(write, delimiter, end):
    data = CSV.replace(",", delimiter).replace("\n", end)
    assert read_labels(write("l.csv", data)).annotations == EXPECTED


def test_delimiters_within_cells_do_not_mislead(write):
    path = write("l.csv", 'item;annotator;label;text\na;x;"1,5";"one, two, three"\nb;x;"2,5";"four|five"\n')
    found = read_labels(path)
    assert rows(found) == {("a", "x", 1.5), ("b", "x", 2.5)}
    assert found.notes == (
        "columns are separated by semicolons",
        "commas in numbers are read as decimal points: 'label'",
    )
    path = write("l.csv", 'item,annotator,label\n"a\nb","x ""the"" y",1\n\n')
    assert rows(read_labels(path)) == {("a\nb", 'x "the" y', 1)}


def test_blank_lines_and_columns_of_spreadsheets_are_left_out(write):
    assert read_labels(write("l.csv", "\n" + CSV.replace("\n", ",,\n\n"))).annotations == EXPECTED
    assert "several columns without a name" in problem(
        write("l.csv", CSV.replace("\n", ",1,2\n").replace("label,1,2", "label,,"))
    )


def test_ragged_rows_are_named(write):
    assert problem(write("l.csv", CSV + "b,y\n")) == "has 2 cells in the row that ends at line 5; expected 3."
    assert problem(write("l.csv", CSV + "b,y,1,2\n")).startswith("has 4 cells in the row that ends at line 5")


def test_a_stray_quote_is_named(write):
    assert problem(write("l.csv", CSV + 'b,"y,1\n')).startswith("is not a valid table at line 5")
    assert problem(write("l.csv", CSV + 'b,"y"z,1\nc,y,0\n')).startswith("is not a valid table at line 5")


def test_names_of_columns_that_repeat_are_refused(write):
    path = write("l.csv", "item,annotator,label,label\na,x,1,2\n")
    assert problem(path) == "has several columns named 'label'. Rename all but one."


def test_a_missing_header_is_suspected(write):
    message = problem(write("l.csv", "a,x,0\na,y,1\n"))
    assert message.startswith("is CSV with the columns 'a', 'x', '0'. The first row seems to be data")


def test_a_misspelt_column_is_suspected(write):
    path = write("l.csv", "item,anotator,label\na,x,1\n")
    assert problem(path).endswith("Did you mean 'annotator' instead of 'anotator'?")
    message = problem(path, columns={"annotator": "annotator"})
    assert message == (
        "has no column for the annotator 'annotator'. Did you mean 'anotator'? There are 'item', 'anotator', 'label'."
    )
    assert read_labels(path, columns={"annotator": "anotator"}).annotations.n_annotations == 1


def test_what_fits_nothing_is_described_with_all_formats(write):
    message = problem(write("l.csv", "name,price\nx,1.5\n"))
    assert message.startswith("is CSV with the columns 'name', 'price', which matches none of the formats below.")
    assert all(f"\n  {name}: " in message for name in FORMATS)


def test_arguments_that_are_wrong_are_named(write):
    path = write("l.csv", CSV)
    with pytest.raises(ValueError, match=r"format= must be one of 'label-studio', .*; got 'csv'"):
        read_labels(path, format="csv")
    with pytest.raises(
        ValueError, match="columns= expects the keys 'item', 'annotator', 'label', 'text', 'confidence'; got 'task'"
    ):
        read_labels(path, columns={"task": "item"})
    with pytest.raises(ValueError, match="duplicates= must be one of"):
        read_labels(path, duplicates="mean")


def test_every_tool_with_a_file_is_known():
    modules = [import_module(f"{formats.__name__}.{module.name}") for module in iter_modules(formats.__path__)]
    found = {value for module in modules for value in vars(module).values() if isinstance(value, Format)}
    assert {format.name for format in found} == set(FORMATS)
    page = (Path(__file__).parents[3] / "docs" / "files.md").read_text("utf-8")
    assert [name for name in FORMATS if f"| `{name}` |" not in page] == []


@pytest.mark.parametrize("name", [n for n in FORMATS if n not in ("long", "crowdkit", "wide")])
def test_a_table_is_not_read_as_a_tools_file(write, name):
    problem(write("l.csv", "a,b\n1,2\n"), format=name)


@pytest.mark.parametrize("name", ["long", "wide", "crowdkit"])
def test_a_bundle_is_not_read_as_a_table(write, name):
    assert problem(write("d.zip", LABELS["doccano.zip"]), format=name).endswith("expected one table.")


# --- JSON -----------------------------------------------------------------------------------------------


def test_cut_off_json_is_named_with_its_place(write):
    data = LABELS["label-studio.json"]
    message = problem(write("l.json", data[:200]))
    assert message.startswith("is not valid JSON at line 1, character ")
    assert message.endswith("It seems to be cut off: export or download it again.")
    message = problem(write("l.jsonl", LABELS["long.jsonl"][:-20]))
    assert message.startswith("is not valid JSON at line 3, character ")
    assert "cut off" in message
    pretty = json.dumps(json.loads(data), indent=2)
    assert problem(write("l.json", pretty.replace('"project":', '"project"'))).startswith(
        "is not valid JSON at line 4,"
    )


@pytest.mark.parametrize(("data", "message"), [
    ("[1, 2]", "expected a list of objects, got a number at position 1."),
    ("[]", "holds an empty list."),
    ('{"item": 1}\n[2]\n', "expected an object in line 2, got a list."),
    ("[" * 200_000, "is nested too deeply to be an export of labels."),
    ('[{"item": ' + "9" * 5000 + "}]", "holds a number that cannot be read"),
    ('{"item": {"a": 1}, "annotator": 1, "label": 2}', "expected 'item' of record 1 to be text or a number"),
], ids=lambda text: text[:20])  # fmt: skip
def test_json_of_another_kind_is_refused(write, data, message):
    assert problem(write("l.json", data)).startswith(message)


def test_other_line_ends_within_a_text_do_not_end_a_line(write):
    record = {"item": "a\u2028b\x85", "annotator": "x", "label": 1}
    data = json.dumps(record, ensure_ascii=False) + "\n"
    assert rows(read_labels(write("l.jsonl", data))) == {("a\u2028b\x85", "x", 1)}


# --- sizes ----------------------------------------------------------------------------------------------


def test_lines_files_and_tables_beyond_measure_are_refused(write, monkeypatch):
    monkeypatch.setattr(encoding, "MAX_LINE", 1 << 20)
    long_line = "x" * ((1 << 20) + 10)
    assert (
        problem(write("l.csv", CSV + long_line))
        == "has more than 1 MiB in line 5. Expected one row or record per line."
    )
    assert "1 MiB in line 2" in problem(
        write("l.jsonl", jsonl({"item": 1}) + b'{"item": "' + long_line.encode() + b'"}')
    )
    monkeypatch.setattr(delimited, "MAX_COLUMNS", 3)
    assert problem(write("l.csv", "a,b,c,d\n1,2,3,4\n")) == "has 4 columns; expected at most 3."


def test_a_file_that_is_too_large_is_refused(write, monkeypatch):
    monkeypatch.setattr(encoding.read_bytes, "__defaults__", (16,))
    assert problem(write("l.csv", CSV)).startswith("is larger than 16 bytes, which is the limit. Split it, or raise")


def test_an_archive_that_unpacks_to_too_much_is_refused(write, monkeypatch):
    monkeypatch.setattr(encoding, "MAX_SIZE", 1 << 20)
    bomb = zipped({f"{name}.jsonl": b" " * (1 << 20) for name in "ab"})
    assert len(bomb) < 10_000
    assert problem(write("d.zip", bomb)).startswith("takes more than 1 MiB once decompressed")


# --- pyarrow --------------------------------------------------------------------------------------------


def test_without_pyarrow_text_is_read_and_parquet_says_what_to_install(write, monkeypatch):
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    assert read_labels(write("l.csv", CSV)).annotations == EXPECTED
    assert read_labels(write("l.jsonl", LABELS["long.jsonl"])).annotations == EXPECTED
    assert problem(write("l.parquet", LABELS["long.parquet"])) == "needs pyarrow. Run: pip install 'whoknows[io]'"


# --- long tables ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["long.csv", "long.parquet", "long.jsonl", "wide.csv", "crowdkit.csv"])
def test_every_container_reads_the_same(write, name):
    assert read_labels(write("file", LABELS[name])).annotations == EXPECTED


@pytest.mark.parametrize(("cells", "labels"), [
    (["0", "1"], [0, 1]), (["0.0", "1.0"], [0, 1]), (["0.5", "1"], [0.5, 1.0]),
    (["-1", "1e3"], [-1, 1000]),
    (["01", "1"], ["01", "1"]), (["True", "False"], [False, True]), (["true", "false"], ["false", "true"]),
    (["no", "1"], ["1", "no"]), (["'=x", "y"], ["=x", "y"]), (["9" * 19, "1"], ["1", "9" * 19]),
], ids=str)  # fmt: skip
def test_labels_of_csv_are_what_they_look_like(write, cells, labels):
    data = "item,annotator,label\n" + "".join(f"i,{who},{cell}\n" for who, cell in zip("xy", cells, strict=True))
    found = read_labels(write("l.csv", data)).annotations.labels.tolist()
    assert found == sorted(labels)
    assert {type(label) for label in found} == {type(label) for label in labels}


@pytest.mark.parametrize(("cells", "items"), [
    (["7", "12"], [7, 12]), (["007", "12"], ["007", "12"]), (["1.0", "2.0"], [1, 2]),
    (["1.10", "1.1"], ["1.10", "1.1"]), (["a", "1"], ["a", "1"]), (["1", "NA"], ["1", "NA"]),
    (["1", "1.0"], ["1", "1.0"]), (["01", "1"], ["01", "1"]), (["1e3", "2"], ["1e3", "2"]), ([" 7", "7"], [7]),
], ids=str)  # fmt: skip
def test_ids_of_csv_are_numbers_only_if_all_of_them_are(write, cells, items):
    data = "item,annotator,label\n" + "".join(f"{cell},x,1\n" for cell in cells)
    assert read_labels(write("l.csv", data)).annotations.items.tolist() == items


def test_blank_and_missing_labels(write):
    found = read_labels(write("l.csv", "item,annotator,label\na,x,1\nb,y,\nc,x,nan\n"))
    assert rows(found) == {("a", "x", 1)}
    assert found.notes == ("2 rows have no label",)
    assert found.annotations.items.tolist() == ["a", "b", "c"]
    assert found.annotations.annotators.tolist() == ["x", "y"]
    found = read_labels(write("l.csv", "item,annotator,label\na,x,none\nb,x,spam\n"))
    assert found.notes == ("'none' is treated as a label; use missing_label='none' if it stands for a missing label",)
    assert rows(read_labels(found.path, missing_label="none")) == {("b", "x", "spam")}
    found = read_labels(write("l.csv", "item,annotator,label\na,x,-1\nb,x,1\n"), missing_label=-1)
    assert rows(found) == {("b", "x", 1)}
    assert problem(write("l.csv", "item,annotator,label\na,x,\n")) == "holds no labels (1 rows were read)."


def test_labels_without_an_item_or_an_annotator_are_named(write):
    message = problem(write("l.csv", CSV + ",x,1\n,y,1\n"))
    where = "in row 4 below the header."
    assert message == f"has a label without an item {where} There are 2 such rows. Fill in the item, or delete the row."
    message = problem(write("l.csv", CSV + "b,,1\n"))
    assert message == f"has a label without an annotator {where} Fill in the annotator, or delete the row."


def test_names_that_differ_by_a_slip_are_said_aloud(write):
    found = read_labels(write("l.csv", "item,annotator,label\na,anna,Yes\nb,Anna ,yes\n"))
    assert found.notes == (
        "2 annotators differ only in case, spaces or type: 'Anna ', 'anna'; they are kept apart. "
        "Correct the file if they are the same",
        "2 labels differ only in case: 'Yes', 'yes'; they are kept apart. Correct the file if they are the same",
    )


def test_text_gold_and_confidence_ride_along(write):
    data = "item,annotator,label,text,truth,sure\na,x,0,hello,1,0.5\na,y,1,hello,1,1\nb,x,1,,,0\n"
    found = read_labels(write("l.csv", data), columns={"confidence": "sure"})
    assert found.text == {"a": "hello"}
    assert found.gold == {"a": 1}
    assert found.notes == ("1 true label read from 'truth'",)
    assert found.annotations.confidence.tolist() == [0.5, 1, 0]
    assert read_labels(found.path).annotations.confidence is None
    assert "expected a number in every row of 'text'" in problem(found.path, columns={"confidence": "text"})
    other = read_labels(write("l.csv", data.replace("text", "words")), columns={"text": "words"})
    assert other.text == {"a": "hello"}
    assert "no column for the text 'word'. Did you mean 'words'?" in problem(other.path, columns={"text": "word"})


def test_rows_marked_as_gold_are_nobodys_labels(write):
    data = "item_id,annotator_id,label,is_gold\na,x,0,false\na,boss,1,true\nb,x,1,\n"
    found = read_labels(write("l.csv", data))
    assert rows(found) == {("a", "x", 0), ("b", "x", 1)}
    assert found.gold == {"a": 1}
    assert found.annotations.annotators.tolist() == ["x"]
    assert found.notes[0] == "1 row is marked as gold"


def test_gold_is_spelt_as_the_labels_are(write):
    found = read_labels(write("l.csv", "item,annotator,label,truth\na,x,1,1.0\nb,x,unsure,\n"))
    assert found.gold == {"a": "1"}


def test_labels_that_are_both_true_and_one_are_refused(write):
    path = write("l.jsonl", jsonl({"item": 1, "annotator": 1, "label": True}, {"item": 2, "annotator": 1, "label": 1}))
    assert "must hold either booleans or numbers" in problem(path)


def test_parquet_of_every_kind_of_column(write):
    columns = {**LONG, "label": [0.0, 1.0, None], "emb": [[1.0], [2.0], [3.0]]}
    found = read_labels(write("l.parquet", parquet(columns)))
    assert rows(found) == {("a", "x", 0), ("a", "y", 1)}
    assert "holds lists or objects in column 'emb'" in problem(found.path, columns={"label": "emb"})


# --- wide tables ----------------------------------------------------------------------------------------


def test_wide_tables_keep_items_and_annotators_without_labels(write):
    found = read_labels(write("w.csv", "id,text,7,8,9\nb,one,1,,\na,two,,,\nc,,0,1,\n"))
    said = found.annotations
    assert found.format == "wide"
    assert (said.items.tolist(), said.annotators.tolist(), said.labels.tolist()) == (["b", "a", "c"], [7, 8, 9], [0, 1])
    assert said.to_matrix(-1).tolist() == [[1, -1, -1], [-1, -1, -1], [0, 1, -1]]
    assert found.text == {"b": "one", "a": "two"}
    assert found.notes == ()


def test_labels_of_a_wide_table_are_of_one_kind_over_all_columns(write):
    assert read_labels(write("w.csv", "item,x,y\na,1,yes\nb,0,no\n")).annotations.labels.tolist() == [
        "0",
        "1",
        "no",
        "yes",
    ]


def test_the_index_of_pandas_is_the_item_and_without_one_rows_are_counted(write):
    assert read_labels(write("w.csv", ",x,y\na,1,0\nb,1,1\n")).annotations.items.tolist() == ["a", "b"]
    path = write("w.csv", "x,y\n1,0\n1,1\n")
    assert "matches none" in problem(path)
    found = read_labels(path, format="wide")
    assert found.annotations.items.tolist() == [0, 1]
    assert found.notes == ("no column for the item: items are numbered 0, 1, 2, … by row",)


def test_any_column_can_be_the_item_of_a_wide_table(write):
    path = write("w.csv", "img,x,y\na,1,0\nb,1,1\n")
    assert read_labels(path, columns={"item": "img"}).annotations.shape == (2, 2)
    assert "no column for the item 'image'" in problem(path, format="wide", columns={"item": "image"})


def test_features_are_not_taken_for_labels(write):
    data = "item,f0,f1,f2\n" + "".join(f"{i},{i / 7},{i / 11},{i / 13}\n" for i in range(30))
    assert "matches none" in problem(write("w.csv", data))
    assert "matches none" in problem(write("w.parquet", parquet({"item": ["a"], "x": [[1.0]], "y": [[2.0]]})))


def test_wide_tables_name_repeated_and_missing_items(write):
    assert (
        problem(write("w.csv", "item,x,y\na,1,0\na,1,1\n"), format="wide")
        == "has item 'a' more than once; expected one row per item."
    )
    assert problem(write("w.csv", "item,x,y\na,1,0\n,1,1\n")).startswith("has no id in row 2, not counting")
    assert "has no column besides the item" in problem(write("w.csv", "item\na\n"), format="wide")


def test_a_long_table_with_odd_names_is_not_taken_for_a_wide_one(write):
    assert "matches none" in problem(write("l.csv", "item,who,grade\na,x,1\na,y,0\n"))
    message = problem(write("l.csv", "item,who,label\na,x,1\nb,y,0\n"))
    assert message.startswith("Expected one column for the annotator (annotator, worker, ")
    assert "found none. The table has 'item', 'who', 'label'. Name it: columns=" in message
