"""Features from every kind of file, and their meeting with labels."""

import json
import os
import re
from datetime import date

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.io.labels.samples import workbook
from whoknows import CrowdClassifier
from whoknows._array import LARGEST
from whoknows.data import Annotations
from whoknows.io import Features, FileError, LabelFile, impute_median, join, read_features

X = np.array([[0.5, 1.0], [2.0, -3.0], [0.0, 4.5]])


def written(tmp_path, name, content):
    path = tmp_path / name
    if isinstance(content, np.ndarray):
        np.save(path, content, allow_pickle=content.dtype == object)
    elif isinstance(content, dict):
        pq.write_table(pa.table(content), path)
    elif isinstance(content, bytes):
        path.write_bytes(content)
    else:
        path.write_text(content, encoding="utf-8")
    return path


def problem(path, **options):
    with pytest.raises(FileError) as caught:
        read_features(path, **options)
    return caught.value.problem


# --- tables ---------------------------------------------------------------------------------------------


def test_csv_with_an_id_and_numbers(tmp_path):
    found = read_features(written(tmp_path, "X.csv", "f0,Item,f1\n0.5,a,1\n2,b,-3\n0,c,4.5\n"))
    assert found.ids.tolist() == ["a", "b", "c"]
    assert found.X.tolist() == X.tolist()
    assert (found.X.dtype, found.names, found.notes) == (np.float64, ("f0", "f1"), ())


@pytest.mark.parametrize(("cells", "ids"), [(["7", "12"], [7, 12]), (["07", "12"], ["07", "12"])], ids=str)
def test_ids_of_csv_are_read_as_with_labels(tmp_path, cells, ids):
    path = written(tmp_path, "X.csv", "id;f\n" + "".join(f"{cell};1\n" for cell in cells))
    assert read_features(path).ids.tolist() == ids


def test_columns_without_numbers_are_left_out_and_missing_numbers_counted(tmp_path):
    path = written(tmp_path, "X.csv", "item,split,f,g,text\na,train,1,NA,hello\nb,test,,2,you\n")
    found = read_features(path)
    assert found.names == ("f", "g")
    np.testing.assert_array_equal(found.X, [[1, np.nan], [np.nan, 2]])
    assert found.notes == (
        "columns left out, as they hold no numbers: 'split' (such as 'train'), 'text' (such as 'hello'). "
        "For text, see TextFeatures.",
        "2 numbers are missing, the first in 'f'",
    )


def test_any_column_can_be_the_id_and_without_one_rows_are_counted(tmp_path):
    path = written(tmp_path, "X.csv", "img,f\nb,1\na,2\n")
    assert read_features(path, "img").ids.tolist() == ["b", "a"]
    found = read_features(path)
    assert found.ids.tolist() == [0, 1]
    assert found.notes[-1] == "the file has no ids: items are numbered 0, 1, 2, … by row"
    assert problem(path, id_column="photo") == "has no column for the item 'photo'. There are 'img', 'f'."


def test_the_index_of_pandas_is_the_id_and_columns_without_a_name_are_not_features(tmp_path):
    assert read_features(written(tmp_path, "X.csv", ",f\nb,1\na,2\n")).ids.tolist() == ["b", "a"]
    assert read_features(written(tmp_path, "X.csv", "item,f,,\nb,1,,\na,2,,\n")).names == ("f",)
    path = written(tmp_path, "X.csv", "item,f,\nb,1,2\n")
    assert problem(path) == "has no name for column 3. Write one in the first row."
    path = written(tmp_path, "X.csv", "Measured in May,\nitem,f\nb,1\n")
    assert problem(path).endswith("Line 2 seems to be the header: delete the lines above it.")
    assert read_features(written(tmp_path, "X.csv", "item,f,,\nb,1\na,2,,,\n")).names == ("f",)


def test_a_column_that_is_mostly_numbers_is_kept_and_the_rest_is_missing(tmp_path):
    cells = [str(i) if i != 5 else "unknown" for i in range(200)]
    rows = "".join(f"{i},{i},{cell}\n" for i, cell in enumerate(cells))
    found = read_features(written(tmp_path, "X.csv", "item,x3,x4\n" + rows))
    assert found.names == ("x3", "x4")
    assert np.flatnonzero(np.isnan(found.X[:, 1])).tolist() == [5]
    assert found.X[6, 1] == 6
    assert found.notes == (
        "x4: 1 cell is not a number ('unknown', row 6): treated as missing",
        "1 number is missing, in 'x4'",
    )


def test_cells_far_down_that_are_no_numbers_are_counted_over_all_blocks(tmp_path):
    rows = [f"{i},{i},{i if i < 9000 else 'x'}\n" for i in range(9010)]
    found = read_features(written(tmp_path, "X.csv", "item,f,g\n" + "".join(rows)))
    assert np.isnan(found.X).sum(axis=0).tolist() == [0, 10]
    assert found.notes[0] == "g: 10 cells are not numbers (first 'x', row 9001): treated as missing"


@pytest.mark.parametrize(("cells", "kept"), [
    (["1", "x"], True), (["1", "x", "y"], False), (["1", "x", "y", "", "NA"], False), (["", ""], True),
    (["1", "x", "", "NA"], True), (["1.5", "2", "3", "2,5"], False),
], ids=str)  # fmt: skip
def test_half_of_what_a_column_holds_must_be_numbers_and_none_may_have_a_comma(tmp_path, cells, kept):
    rows = "".join(f"{place};0;{cell}\n" for place, cell in enumerate(cells))
    found = read_features(written(tmp_path, "X.csv", "item;f;g\n" + rows))
    assert found.names == (("f", "g") if kept else ("f",))
    comma = "'g' (such as '2,5'). For text, see TextFeatures. Use a decimal point in numbers."
    assert any(note.endswith(comma) for note in found.notes) == ("2,5" in cells)


@pytest.mark.parametrize(("cells", "numbers"), [
    ("1,5 2,25 3", [1.5, 2.25, 3]), ("1.234,5 -2,5 7", [1234.5, -2.5, 7]),
    ("1,234 2,345 ?", [1.234, 2.345, np.nan]),
])  # fmt: skip
def test_decimal_commas_are_read_with_a_note(tmp_path, cells, numbers):
    rows = "".join(f"{place};{cell}\n" for place, cell in enumerate(cells.split()))
    found = read_features(written(tmp_path, "X.csv", "item;f\n" + rows))
    np.testing.assert_array_equal(found.X[:, 0], numbers)
    assert found.notes[:2] == (
        "columns are separated by semicolons",
        "commas in numbers are read as decimal points: 'f'",
    )


def test_a_comma_between_thousands_is_no_decimal_comma(tmp_path):
    path = written(tmp_path, "X.csv", 'item,f,g\na,1,"1,234"\nb,2,"5,678"\n')
    assert read_features(path).names == ("f",)
    path = written(tmp_path, "X.csv", 'item,f,g\na,1,"1,23"\nb,2,"5,678"\n')
    assert read_features(path).X.tolist() == [[1, 1.23], [2, 5.678]]


def test_the_first_sheet_of_a_workbook_holds_features(tmp_path):
    rows = [["item", "f", "city", "day"], ["a", 1.5, "Rome", date(2026, 1, 2)], ["b", None, "Oslo", date(2026, 1, 3)]]
    found = read_features(
        written(tmp_path, "X.xlsx", workbook(S=[*rows, ["c", 2, "Oslo", None], ["d", 3, "Rome", None]]))
    )
    assert found.names == ("f", "city=Oslo", "city=Rome")
    np.testing.assert_array_equal(found.X, [[1.5, 0, 1], [np.nan, 1, 0], [2, 1, 0], [3, 0, 1]])
    assert found.notes[0].startswith("columns left out, as they hold no numbers: 'day' (such as '2026-01-02')")


# --- columns of texts -----------------------------------------------------------------------------------

CITIES = ["Rome", "Oslo", "", "Rome", "Oslo ", "Kiel", "Kiel", "Rome"]


@pytest.mark.parametrize("kind", ["csv", "parquet", "categorical", "jsonl"])
def test_few_texts_are_encoded_with_one_feature_each(tmp_path, kind):
    if kind == "csv":
        content = "item,f,city\n" + "".join(f"{place},1,{city}\n" for place, city in enumerate(CITIES))
    elif kind == "jsonl":
        content = "\n".join(json.dumps({"item": n, "f": 1, "city": city or None}) for n, city in enumerate(CITIES))
    else:
        texts = pa.array([city or None for city in CITIES])
        texts = texts.cast(pa.dictionary(pa.uint32(), pa.string())) if kind == "categorical" else texts
        content = {"item": range(8), "f": [1.0] * 8, "city": texts}
    path = written(tmp_path, f"X.{'parquet' if kind == 'categorical' else kind}", content)
    found = read_features(path)
    assert found.names == ("f", "city=Kiel", "city=Oslo", "city=Rome")
    assert found.X[:, 1:].argmax(axis=1).tolist() == [2, 1, 0, 2, 1, 0, 0, 2]
    assert found.X[:, 1:].sum(axis=1).tolist() == [1, 1, 0, 1, 1, 1, 1, 1]
    assert found.categories == {"city": ("Kiel", "Oslo", "Rome")}
    assert found.notes == ("columns of texts encoded with one feature per text: 'city' ('Kiel', 'Oslo', 'Rome')",)
    other = read_features(path, categories={"city": ("Rome", "Bonn")})
    assert other.names == ("f", "city=Rome", "city=Bonn")
    assert other.X[:, 1].tolist() == [1, 0, 0, 1, 0, 0, 0, 1]
    assert other.notes == ("city: 'Kiel', 'Oslo' did not occur in the fit: all its features are 0",)
    assert read_features(path, ignore=["city"]).names == ("f",)
    assert read_features(path, categories={}).names == ("f",)


def test_many_texts_dates_constants_and_true_labels_are_left_out(tmp_path):
    lines = [f"{n},{n},text {n},2026-01-{n % 9 + 1:02},same,{'yn'[n % 2]}\n" for n in range(60)]
    found = read_features(written(tmp_path, "X.csv", "item,f,note,day,unit,truth\n" + "".join(lines)))
    assert (found.names, found.categories) == (("f",), {})
    assert "'note' (such as 'text 0'), 'day' (such as '2026-01-01'), 'unit'" in found.notes[0]
    assert found.notes[0].endswith("'truth' (such as 'y'). For text, see TextFeatures.")


def test_json_that_is_mostly_numbers_is_kept(tmp_path):
    lines = [{"id": i, "f": v, "g": w} for i, (v, w) in enumerate([(1, "a"), ("?", "b"), (2.5, 3)])]
    found = read_features(written(tmp_path, "X.jsonl", "\n".join(map(json.dumps, lines))))
    np.testing.assert_array_equal(found.X, [[1], [np.nan], [2.5]])
    assert found.notes[:2] == (
        "columns left out, as they hold no numbers: 'g' (such as 'a'). For text, see TextFeatures.",
        "f: 1 cell is not a number ('?', row 2): treated as missing",
    )


def test_tables_that_cannot_be_features_say_why(tmp_path):
    assert problem(written(tmp_path, "X.csv", "item,text\na,hello\n")) == (
        "has no column of numbers. Column 'text' holds 'hello'. For text, see TextFeatures."
    )
    assert problem(written(tmp_path, "X.csv", "item;f\na;1,5\nb;1.5\n")).endswith("Use a decimal point.")
    assert problem(written(tmp_path, "X.csv", "item\na\n")) == "has no column of numbers."
    assert problem(written(tmp_path, "X.csv", "item,f\na,1\na,2\n")) == (
        "has item 'a' more than once; expected one row per item."
    )
    assert problem(written(tmp_path, "X.csv", "item,f\na,1\n,2\n")) == (
        "has no id in row 2, not counting a header; expected one in every row."
    )
    assert problem(written(tmp_path, "X.csv", "item,f\na\n")).startswith("has 1 cell in the row that ends at line 2")
    assert problem(tmp_path / "no.csv") == "there is no such file."


def test_parquet_with_columns_of_numbers(tmp_path):
    columns = {"item": [3, 1], "f": pa.array([1.5, None], pa.float32()), "g": [True, False], "s": ["x", "y"]}
    found = read_features(written(tmp_path, "X.parquet", columns))
    np.testing.assert_array_equal(found.X, [[1.5, 1], [np.nan, 0]])
    assert (found.ids.tolist(), found.names) == ([3, 1], ("f", "g"))
    single = {"id": ["a"], "f": pa.array([1.5], pa.float32()), "g": pa.array([2.0], pa.float32())}
    assert read_features(written(tmp_path, "X.parquet", single)).X.dtype == np.float32


@pytest.mark.parametrize("kind", [pa.list_(pa.float32()), pa.list_(pa.float32(), 2), pa.list_(pa.float64())], ids=str)
def test_parquet_with_a_column_of_lists(tmp_path, kind):
    columns = {"item": ["a", "b", "c"], "emb": pa.array(X.tolist(), kind), "n": [1, 2, 3]}
    found = read_features(written(tmp_path, "X.parquet", columns))
    assert found.X.tolist() == X.tolist()
    assert found.X.dtype == (np.float64 if "double" in str(kind) else np.float32)
    assert (found.names, found.notes) == (("emb0", "emb1"), ("columns left out: 'n'",))
    path = written(tmp_path, "X.parquet", {"item": ["a", "b"], "emb": [[0.5], [2]], "city": ["Rome", "Oslo"]})
    assert read_features(path).notes[0].startswith("columns left out, as they hold no numbers: 'city' (such as")


def test_lists_of_several_lengths_and_several_lists(tmp_path):
    path = written(tmp_path, "X.parquet", {"item": ["a", "b"], "emb": [[1.0, 2.0], [1.0]]})
    assert problem(path) == "expected lists of equal length in 'emb', got 2 numbers in row 1 and 1 in row 2."
    path = written(tmp_path, "X.parquet", {"item": ["a", "b"], "emb": [[1.0, 2.0], None]})
    assert problem(path).endswith("got 2 numbers in row 1 and 0 in row 2.")
    path = written(tmp_path, "X.parquet", {"item": ["a"], "u": [[1.0]], "v": [[2.0]], "w": [["text"]]})
    assert problem(path) == "has several columns of lists: 'u', 'v'. Choose one: vector=..."
    assert read_features(path, vector="v").X.tolist() == [[2.0]]
    assert problem(path, vector="x") == "has no column of lists 'x'. There are 'u', 'v'."


def test_json_with_numbers_or_lists(tmp_path):
    lines = [{"id": "a", "f": 1, "g": None}, {"id": "b", "f": 2.5, "g": 3, "note": "x"}]
    found = read_features(written(tmp_path, "X.jsonl", "\n".join(map(json.dumps, lines))))
    np.testing.assert_array_equal(found.X, [[1, np.nan], [2.5, 3]])
    assert found.notes[0] == (
        "columns left out, as they hold no numbers: 'note' (such as 'x'). For text, see TextFeatures."
    )
    lists = [{"id": "a", "emb": [1, 2]}, {"id": "b", "emb": [3, 4]}]
    assert read_features(written(tmp_path, "X.json", json.dumps(lists))).X.tolist() == [[1, 2], [3, 4]]
    lists[1]["emb"] = [3]
    assert problem(written(tmp_path, "X.json", json.dumps(lists))) == "expected 2 numbers in 'emb' of record 2, got 1."
    lists[1]["emb"] = [3, "x"]
    assert problem(written(tmp_path, "X.json", json.dumps(lists))) == "expected numbers in 'emb' of record 2, got 'x'."


# --- arrays ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("dtype", "kept"), [("f4", "f4"), ("f2", "f4"), ("f8", "f8"), ("i8", "f8"), ("?", "f8"), (">f8", "f8")]
)
def test_npy_keeps_single_precision(tmp_path, dtype, kept):
    found = read_features(written(tmp_path, "X.npy", np.ones((3, 2)).astype(dtype)))
    assert found.X.dtype == np.dtype(kept)
    assert found.X.tolist() == [[1, 1]] * 3
    assert found.ids.tolist() == [0, 1, 2]


def test_ids_of_an_array_lie_beside_it_or_are_named(tmp_path):
    path = written(tmp_path, "X.npy", X)
    items = written(tmp_path, "items.csv", "item,text\np,one\nq,two\nr,three\n")
    assert read_features(path, ids=items).ids.tolist() == ["p", "q", "r"]
    array = written(tmp_path, "ids.npy", np.array([7, 8, 9]))
    assert read_features(path, ids=array).ids.tolist() == [7, 8, 9]
    written(tmp_path, "X.ids.csv", "name\nx\ny\nz\n")
    assert read_features(path).ids.tolist() == ["x", "y", "z"]
    written(tmp_path, "X.ids.txt", "a\nb\nc\n")
    assert read_features(path).ids.tolist() == ["a", "b", "c"]
    assert read_features(path).notes == ()
    short = written(tmp_path, "short.txt", "a\nb\n")
    assert problem(path, ids=short) == "lists 2 ids for 3 rows of features."
    with pytest.raises(FileError, match=r"short\.txt: lists 2 ids"):
        read_features(path, ids=short)
    labels = written(tmp_path, "labels.csv", "item,who\na,x\na,y\nb,x\n")
    assert problem(path, ids=labels) == "has item 'a' more than once; expected one row per item."
    odd = written(tmp_path, "odd.csv", "who,photo\na,x\nb,y\na,z\n")
    assert problem(path, ids=odd) == "has no column of ids; there are 'who', 'photo'. Name it: id_column=..."
    assert read_features(path, "photo", ids=odd).ids.tolist() == ["x", "y", "z"]


def test_npz_with_x_and_ids(tmp_path):
    np.savez(tmp_path / "X.npz", X=X, ids=np.array(["a", "b", "c"]))
    assert read_features(tmp_path / "X.npz").ids.tolist() == ["a", "b", "c"]
    np.savez_compressed(tmp_path / "X.npz", X=X, ids=np.array([b"a", b"b", b"c"]))
    assert read_features(tmp_path / "X.npz").ids.tolist() == ["a", "b", "c"]
    np.savez(tmp_path / "X.npz", X=X)
    assert read_features(tmp_path / "X.npz").ids.tolist() == [0, 1, 2]
    np.savez(tmp_path / "X.npz", features=X)
    assert problem(tmp_path / "X.npz") == "has no array 'X'. There are 'features'."


def test_pickles_are_never_loaded(tmp_path):
    class Trap:
        def __reduce__(self):
            return os.mkdir, (str(tmp_path / "sprung"),)

    trap = np.array([[Trap()]], dtype=object)
    assert "Python objects, which are not loaded" in problem(written(tmp_path, "X.npy", trap))
    np.savez(tmp_path / "X.npz", X=X, ids=trap)
    assert problem(tmp_path / "X.npz").startswith("holds 'ids.npy' as Python objects")
    assert not (tmp_path / "sprung").exists()


@pytest.mark.parametrize("array", [
    np.ones(3), np.ones((2, 2, 2)), np.array([["a"]]), np.ones((2, 2), complex), np.ones((0, 2)),
    np.float64(3),
], ids=lambda a: f"{a.shape}{a.dtype}")  # fmt: skip
def test_arrays_that_are_no_matrix_of_numbers_are_refused(tmp_path, array):
    assert problem(written(tmp_path, "X.npy", np.asarray(array))).startswith(f"holds an array of shape {array.shape}")


def test_an_array_that_claims_to_be_larger_than_its_file_takes_no_memory(tmp_path):
    path = written(tmp_path, "X.npy", np.ones((3, 2)))
    path.write_bytes(path.read_bytes().replace(b"(3, 2), }       ", b"(3, 99999999), }"))
    assert problem(path).startswith(
        "is damaged, or is not a NumPy file (too short for an array of shape (3, 99999999))"
    )
    for header in (b"", b"(" * 9000, b"{'descr': '<f8', 'fortran_order': False, 'shape': (-1, 2)}"):
        path.write_bytes(b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header)
        assert problem(path).startswith("is damaged, or is not a NumPy file")


# --- together -------------------------------------------------------------------------------------------


def features(*ids):
    return Features(np.array(ids), np.arange(len(ids), dtype=float).reshape(-1, 1), ("f",), path="X.csv")


def said(*items):
    return Annotations.from_arrays(items, ["x"] * len(items), [0, 1, 1][: len(items)])


def test_every_item_with_features_is_kept_in_their_order():
    labels = Annotations.from_arrays(
        ["b", "b", "a"], ["y", "x", "x"], [0, 1, 1], labels=[0, 1, 2], confidence=[1, 0.5, 0]
    )
    joined = join(labels, features("a", "c", "b"))
    assert joined.annotations.items.tolist() == ["a", "c", "b"]
    assert joined.annotations.to_matrix(-1).tolist() == [[1, -1], [-1, -1], [1, 0]]
    assert joined.annotations.labels.tolist() == [0, 1, 2]
    assert joined.annotations.counts.tolist() == [0, 0.5, 1]
    assert joined.X.tolist() == [[0], [1], [2]]
    assert joined.notes == ("1 of 3 items have features but no label: 'c'",)


def test_labels_without_features_are_counted_and_named():
    joined = join(said("a", "b", "c"), features("a", "d"))
    assert joined.annotations.n_annotations == 1
    assert joined.notes[0] == "2 of 3 items with labels (67%) have no features; their labels are left out: 'b', 'c'"
    assert joined.lost == pytest.approx(2 / 3)
    assert join(said("a"), features("a", "d")).lost == 0


def test_items_without_a_label_are_not_lost():
    labels = Annotations.from_arrays(["a", "b"], ["x", "x"], [0, 1], items=["a", "b", "c", "d"])
    joined = join(labels, features("a", "e"))
    assert joined.lost == 0.5
    assert joined.notes[0] == "1 of 2 items with labels (50%) have no features; their labels are left out: 'b'"


@pytest.mark.parametrize(("mine", "theirs", "how", "items"), [
    ([1, 2], [2, 1, 3], "", [2, 1, 3]),
    ([1, 2], ["2", "1", "3"], "as text", [2, 1, 3]),
    (["1", "2"], [2, 1, 3], "as text", ["2", "1", "3"]),
    (["01", "02"], [2, 1, 3], "as numbers", ["02", "01", "3"]),
    (["01", "02"], ["2", "1", "3"], "as numbers", ["02", "01", "3"]),
    (["007", "100"], [100, 7, 200], "as numbers", ["100", "007", "200"]),
    (["007", "cat"], ["cat", "7", "dog"], "as numbers", ["cat", "007", "dog"]),
    ([1, 2], ["002", " 001 ", "x"], "as numbers", ["002", " 001 ", "x"]),
], ids=str)  # fmt: skip
def test_ids_meet_as_they_are_then_as_text_then_as_numbers(mine, theirs, how, items):
    joined = join(said(*mine), features(*theirs))
    assert joined.annotations.items.tolist() == items
    assert joined.annotations.labelled.tolist() == [True, True, False]
    assert joined.annotations.labels[joined.annotations.label].tolist() == [1, 0]
    assert any(note.startswith("ids matched") for note in joined.notes) == bool(how)
    assert not how or joined.notes[0].startswith(f"ids matched {how}: ")


def test_an_exact_match_is_not_mixed_with_any_other():
    joined = join(said("1", "01"), features("01", "2"))
    assert joined.annotations.n_annotations == 1
    assert joined.notes[0] == "1 of 2 items with labels (50%) have no features; their labels are left out: '1'"


def test_ids_with_leading_zeros_meet_numbers_though_some_are_the_same_as_text():
    labels = Annotations.from_arrays([f"{i:03}" for i in range(3, 201)], ["x"] * 198, [0, 1] * 99)
    joined = join(labels, features(*range(3, 201)))
    assert joined.annotations == labels
    assert joined.lost == 0
    assert joined.notes == ("ids matched as numbers: '003' is 3",)


def test_a_way_in_which_ids_are_the_same_is_not_taken_where_another_finds_some():
    joined = join(said("1", "01", "02"), features("1", "2"))
    assert joined.annotations.n_annotations == 1
    assert joined.lost == pytest.approx(2 / 3)


def test_ids_that_cannot_be_told_apart_are_refused():
    with pytest.raises(FileError, match=r"The ids '1' and '01' are the same as numbers. Rename one"):
        join(said("1", "01"), features("001", "2"))


def test_without_an_item_in_common_three_of_each_are_shown():
    labels = LabelFile(said("a", "b", "c"), "long", path="labels.csv")
    message = (
        r"X.csv: has no item in common with labels.csv: ids are 0, 1, 2, … here and 'a', 'b', 'c' there\. "
        "Use the same ids in both"
    )
    with pytest.raises(FileError, match=message):
        join(labels, features(0, 1, 2, 3))


# --- gaps -----------------------------------------------------------------------------------------------

NAN = np.nan


def test_gaps_are_filled_with_the_median_of_their_column():
    X = np.array([[1, NAN, NAN], [NAN, 5, NAN], [3, 7, NAN], [9, 9, NAN]], dtype=np.float32)
    given = Features(np.arange(4), X, ("f", "g", "none"), ("said before",), "X.csv")
    found, medians = impute_median(given)
    assert found.X.tolist() == [[1, 7], [3, 5], [3, 7], [9, 9]]
    assert found.X.dtype == np.float32
    assert medians == {"f": 3, "g": 7}
    assert found.names == ("f", "g")
    assert found.notes == (
        "said before",
        "columns without any number left out: 'none'",
        "missing numbers replaced by the median of their column: 'f', 'g'",
    )
    assert np.isnan(given.X).sum() == 6


def test_gaps_are_filled_with_the_medians_of_an_earlier_fit():
    given = Features(np.arange(2), np.array([[NAN, NAN], [NAN, 5.0]]), ("f", "g"), path="X.csv")
    found, medians = impute_median(given, {"g": -1.0, "f": 2.5, "h": 0.0})
    assert found.X.tolist() == [[2.5, -1.0], [2.5, 5.0]]
    assert medians == {"g": -1.0, "f": 2.5, "h": 0.0}


def test_features_without_gaps_stay_as_they_are():
    given = features("a", "b", "c")
    found, medians = impute_median(given)
    assert found is given
    assert medians == {"f": 1.0}


def test_what_no_median_can_mend_is_refused():
    for X, words in (
        (
            [[1, np.inf], [NAN, 2]],
            "expected numbers up to 1e+150, got inf in 'g' of item 0. Leave such cells blank, or use another unit.",
        ),
        ([[NAN, NAN]], "holds no numbers; expected some for each item."),
        (
            [[1, 2], [NAN, -1e308]],
            "expected numbers up to 1e+150, got -1e+308 in 'g' of item 1. Leave such cells blank, or use another unit.",
        ),
    ):
        with pytest.raises(FileError, match=rf"^X\.csv: {re.escape(words)}$"):
            impute_median(Features(np.arange(len(X)), np.array(X, dtype=float), ("f", "g"), path="X.csv"))


def test_estimators_take_numbers_as_large_as_files_may_hold_and_refuse_larger_ones():
    rng = np.random.default_rng(0)
    X, y = rng.uniform(-LARGEST, LARGEST, (30, 2)), rng.integers(0, 2, (30, 3))
    assert np.isfinite(CrowdClassifier().fit(X, y).predict_proba(X)).all()
    X[4, 1] = -1e308
    with pytest.raises(ValueError, match=r"up to 1e\+150 in X, got -1e\+308 in column 1, item of row 4"):
        CrowdClassifier().fit(X, y)


def test_true_and_false_are_numbers_in_every_kind_of_file(tmp_path):
    text = "item,large,size\na,True,1\nb,FALSE,2\nc,true,\n"
    table = {"item": ["a", "b", "c"], "large": [True, False, True], "size": [1.0, 2.0, None]}
    for path in (written(tmp_path, "f.csv", text), written(tmp_path, "f.parquet", table)):
        found = read_features(path)
        assert found.names == ("large", "size")
        np.testing.assert_array_equal(found.X[:, 0], [1, 0, 1])
