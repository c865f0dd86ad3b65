"""Files that nobody expects: odd types, huge names and numbers, keys twice, tables with very many columns."""

import csv
import datetime
import decimal
import io
import json
import time
import zipfile

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.io.labels.samples import npz, parquet, rows
from whoknows.data import Annotations
from whoknows.io import FileError, ParquetFeatures, delimited, read_features, read_gold, read_labels, write_labels

DAY = datetime.date(2021, 3, 4)


def written(tmp_path, name, data):
    (tmp_path / name).write_bytes(data if isinstance(data, bytes) else data.encode("utf-8", "surrogatepass"))
    return tmp_path / name


def problem(read, *args, **options):
    with pytest.raises(FileError) as caught:
        read(*args, **options)
    return caught.value.problem


# --- types of Arrow -------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", [pl.Categorical, pl.Enum(["no", "yes"]), pl.String])
@pytest.mark.parametrize("suffix", ["parquet", "arrow"])
def test_categories_of_polars_are_labels_and_features(tmp_path, kind, suffix):
    texts = pl.Series("label", ["yes", "no", None, "yes"], dtype=kind)
    frame = pl.DataFrame({"item": ["a", "a", "b", "b"], "annotator": ["x", "y", "x", "y"], "label": texts})
    path = tmp_path / f"f.{suffix}"
    (frame.write_parquet if suffix == "parquet" else frame.write_ipc)(path)
    assert rows(read_labels(path)) == {("a", "x", "yes"), ("a", "y", "no"), ("b", "y", "yes")}
    frame = pl.DataFrame({"item": ["a", "b", "c", "d"], "f": [1.0, 2.0, 3.0, 4.0], "label": texts})
    (frame.write_parquet if suffix == "parquet" else frame.write_ipc)(path)
    assert read_features(path).names == ("f", "label=no", "label=yes")


@pytest.mark.parametrize("kind", [pl.List(pl.Float32), pl.Array(pl.Float64, 2), pl.List(pl.Int8)])
@pytest.mark.parametrize("suffix", ["parquet", "arrow"])
def test_lists_of_polars_are_features(tmp_path, kind, suffix):
    frame = pl.DataFrame({"item": ["a", "b"], "v": pl.Series([[1, 2], [3, 4]], dtype=kind)})
    path = tmp_path / f"f.{suffix}"
    (frame.write_parquet if suffix == "parquet" else frame.write_ipc)(path)
    assert read_features(path).X.tolist() == [[1, 2], [3, 4]]
    if suffix == "parquet":
        assert ParquetFeatures(path)[:].tolist() == [[1, 2], [3, 4]]


@pytest.mark.parametrize(("values", "expected"), [
    ([DAY, None], "2021-03-04"), ([datetime.datetime(2021, 3, 4, 5), None], "2021-03-04 05:00:00.000000"),
    ([decimal.Decimal("1.50"), None], 1.5), ([decimal.Decimal("2"), None], 2), ([b"yes", None], "yes"),
    ([datetime.time(1, 2), None], "01:02:00.000000"),
])  # fmt: skip
def test_dates_decimals_and_bytes_are_text_or_numbers(tmp_path, values, expected):
    long = {"item": ["a", "b"], "annotator": ["x", "x"], "label": values}
    assert rows(read_labels(written(tmp_path, "l.parquet", parquet(long)))) == {("a", "x", expected)}
    ids = {"item": values[:1], "annotator": ["x"], "label": ["yes"]}
    assert rows(read_labels(written(tmp_path, "l.parquet", parquet(ids)))) == {(expected, "x", "yes")}


@pytest.mark.parametrize(("value", "kind"), [
    (b"\xff\x00", "binary"), ((1, 2, 3), "month_day_nano_interval"),
])  # fmt: skip
def test_other_types_are_refused_where_they_are_used_and_not_elsewhere(tmp_path, value, kind):
    odd = pa.array([value], pa.month_day_nano_interval()) if isinstance(value, tuple) else pa.array([value])
    table = pa.table({"item": ["a"], "annotator": ["x"], "label": ["yes"], "odd": odd})
    file = io.BytesIO()
    with pa.ipc.new_file(file, table.schema) as writer:
        writer.write_table(table)
    path = written(tmp_path, "l.arrow", file.getvalue())
    assert rows(read_labels(path)) == {("a", "x", "yes")}
    with pytest.raises(FileError, match=f"holds {kind} in column 'odd'; expected numbers or text"):
        read_labels(path, columns={"label": "odd"})


def test_files_without_rows_are_refused(tmp_path):
    table = pa.table({"item": pa.array([], pa.string()), "v": pa.array([], pa.list_(pa.float64()))})
    pq.write_table(table, tmp_path / "X.parquet")
    assert problem(read_features, tmp_path / "X.parquet") == "holds no rows; expected one per item."
    long = pa.table({name: pa.array([], pa.string()) for name in ("item", "annotator", "label", "is_gold")})
    pq.write_table(long, tmp_path / "l.parquet")
    assert problem(read_labels, tmp_path / "l.parquet") == "holds no labels (0 rows were read)."


# --- many columns, in time that grows with them ---------------------------------------------------------


def seconds(action):
    start = time.process_time()
    action()
    return time.process_time() - start


def test_thousands_of_columns_are_read_in_seconds(tmp_path):
    columns = {f"f{place}": [0.5, place] for place in range(5000)}
    path = written(tmp_path, "X.parquet", parquet({"item": ["a", "b"], **columns}))
    assert seconds(lambda: read_features(path)) < 10
    texts = {f"t{place}": ["u", "v"] for place in range(5000)}
    path = written(tmp_path, "t.parquet", parquet({"item": ["a", "b"], "f": [1, 2], **texts}))
    assert seconds(lambda: read_features(path)) < 10


def test_thousands_of_annotators_are_read_in_seconds(tmp_path):
    people = [f"w{place}" for place in range(20_000)]
    lines = [",".join(["ab"[(row + t) % 2] if (row * t) % 7 == 1 else "" for t in range(20_000)]) for row in range(9)]
    text = f"item,{','.join(people)}\n" + "".join(f"{row},{line}\n" for row, line in enumerate(lines))
    path = written(tmp_path, "w.csv", text)
    assert seconds(lambda: read_labels(path)) < 15


def test_records_without_a_key_in_common_are_refused_at_once(tmp_path):
    lines = [json.dumps({"item": n, "annotator": "a", "label": 1, f"k{n}": 1}) for n in range(20_000)]
    path = written(tmp_path, "l.jsonl", "\n".join(lines))
    told = "has 20003 different keys in 20000 records; expected about the same in each."
    assert seconds(lambda: problem(read_features, path)) < 5
    assert problem(read_features, path) == problem(read_labels, path) == told


# --- JSON -----------------------------------------------------------------------------------------------


def test_a_key_that_occurs_twice_is_refused(tmp_path):
    path = written(tmp_path, "l.json", '[{"item": 1, "annotator": "x", "label": "a", "label": "b"}]')
    assert problem(read_labels, path) == "has the key 'label' twice in one object. Keep one."
    path = written(tmp_path, "l.jsonl", '{"item": 1, "f": 1}\n{"item": 2, "f": {"a": 1, "a": 2}}\n')
    assert problem(read_features, path) == "has the key 'a' twice in one object in line 2. Keep one."


def test_huge_integers_are_labels_and_ids(tmp_path):
    huge = 10**400
    lines = [{"item": huge, "annotator": "x", "label": huge}, {"item": 1, "annotator": "x", "label": "b"}]
    path = written(tmp_path, "l.jsonl", "\n".join(map(json.dumps, lines)))
    assert (huge, "x", huge) in rows(read_labels(path, missing_label=-1))
    path = written(tmp_path, "l.json", '[{"item": 1, "annotator": "x", "label": ' + "9" * 5000 + "}]")
    assert problem(read_labels, path).startswith("holds a number that cannot be read (")


def test_lone_surrogates_are_read_and_refused_where_they_cannot_be_written(tmp_path):
    found = read_labels(written(tmp_path, "l.jsonl", '{"item": "\\ud800", "annotator": "x", "label": "b"}\n'))
    assert rows(found) == {("\ud800", "x", "b")}
    assert "is a lone surrogate" in problem(write_labels, found.annotations, tmp_path / "out.csv")


# --- text tables ----------------------------------------------------------------------------------------


def test_a_long_cell_in_a_ragged_row_is_named_by_its_row(tmp_path):
    path = written(tmp_path, "l.csv", f"item,annotator,label\na,b,{'x' * 200_000},d\n")
    message = "has 4 cells in the row that ends at line 2; expected 3. Put a cell that contains ',' in quotes."
    assert problem(read_labels, path) == problem(read_features, path) == message


def test_the_limit_of_the_csv_module_is_left_as_it_was(tmp_path):
    before = csv.field_size_limit()
    path = written(tmp_path, "l.csv", "item,annotator,label\na,b,c\n")
    read_labels(path)
    read_features(written(tmp_path, "X.csv", "item,f\na,1\n"))
    assert csv.field_size_limit() == before


def test_underscores_make_no_number(tmp_path):
    found = read_features(written(tmp_path, "X.csv", "item,f,month\na,1,2021_05\nb,2,2021_06\n"))
    assert found.names == ("f",)
    assert "'month' (such as '2021_05')" in found.notes[0]
    ids = written(tmp_path, "l.csv", "item,annotator,label\n2021_05,x,1_0\n")
    assert rows(read_labels(ids)) == {("2021_05", "x", "1_0")}


def test_names_of_millions_of_characters_are_cut_in_messages(tmp_path):
    path = written(tmp_path, "l.csv", f"item,annotator,{'x' * (3 << 20)}\na,b,c\n")
    assert len(problem(read_labels, path)) < 20_000
    path = written(tmp_path, "X.csv", f"item,f,{'y' * (3 << 20)}\na,1,z\n")
    assert all(len(note) < 20_000 for note in read_features(path).notes)


def test_cells_with_any_separator_are_quoted(tmp_path):
    Y = Annotations.from_arrays(["b;=1+1", "a|=1+1", "c"], ["x"] * 3, [0, 1, 0])
    write_labels(Y, tmp_path / "out.csv")
    assert (tmp_path / "out.csv").read_text().splitlines()[1:] == ['"b;=1+1",x,0', '"a|=1+1",x,1', "c,x,0"]
    assert rows(read_labels(tmp_path / "out.csv")) == {("b;=1+1", "x", 0), ("a|=1+1", "x", 1), ("c", "x", 0)}


# --- archives and devices -------------------------------------------------------------------------------


def test_a_member_without_a_name_and_characters_that_do_not_exist(tmp_path):
    data = npz(X=np.eye(2)).replace(b"X.npy", b"\0.npy")
    assert problem(read_features, written(tmp_path, "X.npz", data))
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr("x", b'{"id": 1, "label": ["a"]}')
    data = file.getvalue().replace(b"\x01\x00\x00\x00x", b"\x00\x00\x00\x00x")
    assert problem(read_labels, written(tmp_path, "d.zip", data))
    ids = npz(X=np.eye(2), ids=np.array(["a", "b"])).replace(b"b\0\0\0", b"\0\0\x20\0")
    assert problem(read_features, written(tmp_path, "X.npz", ids))


@pytest.mark.parametrize("read", [read_labels, read_features, read_gold])
def test_a_device_is_not_read(read):
    assert problem(read, "/dev/zero") == "is a device; expected a file."


@settings(max_examples=60)
@given(
    st.lists(st.lists(st.text("ab ,\t1\v\f\x85\u2028\0", max_size=4), min_size=2, max_size=4), max_size=8), st.data()
)
def test_a_table_without_quotes_is_split_as_the_csv_module_reads_it(rows, data):
    """Cells are split all at once; blank lines, line ends and cells at the end of a row are as in any table."""
    ends = [data.draw(st.sampled_from(["\n", "\r\n", "\r", "\n\n"])) for _ in rows]
    text = "x;y\n" + "".join(";".join(row) + end for row, end in zip(rows, ends, strict=True))
    expected = [row for row in csv.reader(io.StringIO(text, newline=""), delimiter=";", strict=True) if row][1:]
    if any("".join(row[2:]).strip() for row in expected):
        with pytest.raises(FileError, match="cells in the row that ends at line"):
            list(delimited.blocks(text, ";", "x.csv"))
        return
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(delimited, "_CHARACTERS", data.draw(st.integers(1, 30)))
        patched.setattr(delimited, "_BLOCK", 3)
        found = [row for block in delimited.blocks(text, ";", "x.csv") for row in zip(*block, strict=True)]
    assert found == [tuple(row[:2]) for row in expected]
