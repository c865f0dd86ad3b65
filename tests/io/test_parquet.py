"""Features in Parquet files of any size: the same numbers as an array, read once, and what is refused."""

import os
import pickle
import re
import subprocess
import sys
import tracemalloc
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from whoknows._array import LARGEST
from whoknows.data import Annotations
from whoknows.io import Features, FileError, ParquetFeatures, join, read_features
from whoknows.io.parquet import Cursor

N, D = 60, 3
X = np.arange(N * D, dtype=np.float32).reshape(N, D) / 7
IDS = np.arange(N)[::-1] * 10 + 5  # in no order of their own


def table(rows=slice(None), ids=IDS, values=X, **more):
    columns = {f"f{j}": values[rows, j] for j in range(values.shape[1])}
    return pa.table({**({} if ids is None else {"item": ids[rows]}), **columns, **more})


def save(path, content, group=7):
    path.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(content, path, row_group_size=group)
    return path


@pytest.fixture
def folder(tmp_path):
    """Three files of 20 rows in row groups of 7, 7 and 6."""
    for place in range(3):
        save(tmp_path / f"part-{place}.parquet", table(slice(20 * place, 20 * place + 20)))
    return tmp_path


@pytest.fixture
def read_groups(monkeypatch):
    """Names and numbers of the row groups that were read, in order."""
    seen, start = [], Cursor._start

    def watched(self, group):
        seen.append(group)
        start(self, group)

    monkeypatch.setattr(Cursor, "_start", watched)
    return seen


def problem(path, *args, **options):
    with pytest.raises(FileError) as caught:
        ParquetFeatures(path, *args, **options)[:]
    assert isinstance(caught.value, ValueError)
    return caught.value.path, caught.value.problem


# --- rows -----------------------------------------------------------------------------------------------


def test_a_folder_is_one_array(folder):
    features = ParquetFeatures(folder)
    assert (features.shape, len(features), features.ndim) == ((N, D), N, 2)
    assert (features.dtype, features.columns, features.id_column) == (np.float32, ("f0", "f1", "f2"), "item")
    assert [os.path.basename(path) for path in features.files] == [f"part-{p}.parquet" for p in range(3)]
    np.testing.assert_array_equal(features[:], X)
    assert repr(features) == "ParquetFeatures(60 items, 3 features, 3 files)"


def test_a_file_a_list_of_files_and_folders_of_partitions(tmp_path):
    one = save(tmp_path / "year=2024" / "b.parquet", table(slice(0, 20)))
    two = save(tmp_path / "year=2025" / "a.pq", table(slice(20, 60)))
    save(tmp_path / "_temporary" / "0.parquet", table())
    save(tmp_path / ".hidden.parquet", table())
    (tmp_path / "_SUCCESS").write_text("")
    np.testing.assert_array_equal(ParquetFeatures(str(tmp_path))[:], X)
    np.testing.assert_array_equal(ParquetFeatures(one)[:], X[:20])
    np.testing.assert_array_equal(ParquetFeatures([two, one])[:], np.vstack([X[20:], X[:20]]))


@pytest.mark.parametrize("memory", [1, 100, 1 << 30])
@given(rows=st.lists(st.integers(-N, N - 1), max_size=80))
@settings(max_examples=25)
def test_any_rows_are_those_of_the_array(tmp_path_factory, memory, rows):
    path = tmp_path_factory.getbasetemp() / "any" / "X.parquet"
    if not path.exists():
        save(path, table(), group=13)
    features = ParquetFeatures(path, memory=memory)
    np.testing.assert_array_equal(features[rows], X[np.array(rows, dtype=int)])
    np.testing.assert_array_equal(features[np.sort(rows)], X[np.sort(np.array(rows, dtype=int))])


@given(st.slices(N))
@settings(max_examples=50)
def test_any_slice_is_that_of_the_array(tmp_path_factory, rows):
    path = tmp_path_factory.getbasetemp() / "slices" / "X.parquet"
    if not path.exists():
        save(path, table(), group=13)
    np.testing.assert_array_equal(ParquetFeatures(path)[rows], X[rows])


def test_masks_single_items_and_rows_that_are_not_there(folder):
    features = ParquetFeatures(folder)
    np.testing.assert_array_equal(features[X[:, 0] > 10], X[X[:, 0] > 10])
    np.testing.assert_array_equal(features[-1], X[-1])
    assert features[np.array([], dtype=int)].shape == (0, D)
    for rows, message in (
        ([0, 60], "index 60 is out of bounds for axis 0 with size 60"),
        (-61, "index -61 is out of bounds for axis 0 with size 60"),
        (np.ones(3, dtype=bool), "boolean index did not match"),
        ([0.5], "Expected row numbers, a mask or a slice of items, got [0.5]."),
    ):
        with pytest.raises(IndexError, match=re.escape(message)):
            features[rows]


def test_rows_are_the_callers_own(folder):
    features = ParquetFeatures(folder)
    features[:5][:] = 0
    features[[0, 1]][:] = 0
    np.testing.assert_array_equal(features[:5], X[:5])


def test_it_is_no_array_unasked(folder):
    with pytest.raises(TypeError, match=r"these 60 × 3 numbers may not fit into memory. Take some rows, X\["):
        np.asarray(ParquetFeatures(folder))


def test_slices_in_order_read_each_row_group_once(folder, read_groups):
    features = ParquetFeatures(folder)
    for start in range(0, N, 4):
        features[start : start + 4]
    assert read_groups == list(range(9))


def test_an_index_array_reads_only_the_row_groups_it_touches(folder, read_groups):
    features = ParquetFeatures(folder)
    np.testing.assert_array_equal(features[[59, 0, 58, 21, 3]], X[[59, 0, 58, 21, 3]])
    assert read_groups == [0, 3, 8]


def test_a_row_group_larger_than_the_memory_is_read_in_pieces_once(tmp_path, read_groups):
    features = ParquetFeatures(save(tmp_path / "X.parquet", table(), group=N), memory=4 * 4 * D * 8)
    assert features.at_once == 8
    assert [rows.stop - rows.start for rows in features.blocks()] == [8] * 7 + [4]
    np.testing.assert_array_equal(np.vstack([features[rows] for rows in features.blocks()]), X)
    assert read_groups == [0]
    np.testing.assert_array_equal(features[:9], X[:9])  # back to the start
    assert read_groups == [0, 0]


def test_progress_tells_how_far_reading_is(folder):
    seen = []
    features = ParquetFeatures(folder, progress=lambda done, of: seen.append((done, of)))
    features[:30], features[30:]
    assert seen == [(row, N) for row in (7, 14, 20, 27, 34, 40, 47, 54, 60)]


# --- parts and pickles ----------------------------------------------------------------------------------


@pytest.mark.parametrize(("start", "stop"), [(0, 60), (0, 1), (22, 45), (27, 34), (59, 60)])
def test_a_part_is_a_slice_with_its_own_files(folder, start, stop):
    whole = ParquetFeatures(folder)
    part = pickle.loads(pickle.dumps(whole.part(start, stop)))
    np.testing.assert_array_equal(part[:], X[start:stop])
    np.testing.assert_array_equal(part[[-1, 0]], X[start:stop][[-1, 0]])
    np.testing.assert_array_equal(np.vstack([part[rows] for rows in part.blocks()]), X[start:stop])
    np.testing.assert_array_equal(part.ids, IDS[start:stop])
    assert len(part.files) == len(range(start // 20, (stop - 1) // 20 + 1))
    nested = part.part(0, len(part))
    np.testing.assert_array_equal(nested[:], X[start:stop])


def test_parts_that_mean_nothing(folder):
    for start, stop in ((5, 5), (-1, 3), (0, 61)):
        with pytest.raises(
            ValueError, match=f"Expected a part of at least one row between 0 and 60, got {start} to {stop}"
        ):
            ParquetFeatures(folder).part(start, stop)


def test_a_pickle_is_small_and_reads_on(folder):
    features = ParquetFeatures(folder, progress=print)
    features[:], features.ids
    pickled = pickle.dumps(features)
    assert len(pickled) < 2_500
    again = pickle.loads(pickled)
    np.testing.assert_array_equal(again[5:50], X[5:50])
    assert again.progress is None


def test_threads_may_read_at_once(folder):
    features = ParquetFeatures(folder, memory=1)
    rows = [np.random.default_rng(seed).permutation(N) for seed in range(8)]
    with ThreadPoolExecutor(4) as pool:
        for taken, read in zip(rows, pool.map(features.__getitem__, rows), strict=True):
            np.testing.assert_array_equal(read, X[taken])


# --- columns --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("kinds", "dtype"), [
    (["float32", "float16"], "float32"), (["float32", "int8", "uint16", "bool"], "float32"),
    (["float32", "float64"], "float64"), (["float32", "int32"], "float64"), (["int64"], "float64"),
], ids=str)  # fmt: skip
def test_the_type_is_single_precision_if_that_holds_every_number(tmp_path, kinds, dtype):
    columns = {f"c{place}": np.array([0, 1, 1]).astype(kind) for place, kind in enumerate(kinds)}
    features = ParquetFeatures(save(tmp_path / "X.parquet", pa.table(columns)))
    assert features.dtype == features[:].dtype == dtype
    np.testing.assert_array_equal(features[:], np.column_stack(list(columns.values())))


def test_large_whole_numbers_stay_what_they_are(tmp_path):
    features = ParquetFeatures(save(tmp_path / "X.parquet", pa.table({"f": [2**24 + 1, -3]})))
    assert features[:].ravel().tolist() == [2**24 + 1, -3]


@pytest.mark.parametrize("kind", [pa.list_(pa.float32(), D), pa.list_(pa.float32()), pa.large_list(pa.float32())])
def test_lists_of_equal_length_are_features(tmp_path, kind):
    lists = pa.array(X.tolist(), kind)
    path = save(tmp_path / "X.parquet", pa.table({"item": IDS, "emb": lists, "size": X[:, 0]}))
    features = ParquetFeatures(path)
    assert features.columns == ("emb0", "emb1", "emb2", "size")
    np.testing.assert_array_equal(features[:], np.column_stack([X, X[:, 0]]))
    np.testing.assert_array_equal(ParquetFeatures(path, columns=["emb"])[[50, 3]], X[[50, 3]])


def test_columns_are_taken_in_the_order_asked_for_whatever_else_there_is(tmp_path):
    path = save(tmp_path / "X.parquet", table(name=["x"] * N, **{"f0.1": np.zeros(N)}))
    features = ParquetFeatures(path, columns=["f2", "f0"])
    np.testing.assert_array_equal(features[:], X[:, [2, 0]])
    assert features.columns == ("f2", "f0")


def test_what_pandas_leaves_as_its_index_is_the_id(tmp_path):
    path = save(tmp_path / "X.parquet", pa.table({"f": [1.0, 2.0], "__index_level_0__": ["b", "a"]}))
    features = ParquetFeatures(path)
    assert (features.columns, features.ids.to_pylist()) == (("f",), ["b", "a"])
    in_memory = read_features(path)
    assert (in_memory.names, in_memory.ids.tolist()) == (("f",), ["b", "a"])


# --- ids ------------------------------------------------------------------------------------------------


def test_ids_are_numbers_text_or_row_numbers(folder, tmp_path):
    features = ParquetFeatures(folder)
    assert features.ids.dtype == np.int64
    np.testing.assert_array_equal(features.ids, IDS)
    np.testing.assert_array_equal(features.rows_of([5, 595, 7, "15", 25.0, 25]), [59, 0, -1, 58, 57, 57])
    names = np.array([f"i{n}" for n in IDS])
    for kind in (pa.string(), pa.large_string(), pa.dictionary(pa.int32(), pa.string())):
        content = table(ids=None, name=pa.array(names, pa.string()).cast(kind))
        text = ParquetFeatures(save(tmp_path / "text.parquet", content), "name")
        assert text.ids.to_pylist() == names.tolist()
        assert text.ids[3:5].to_pylist() == names[3:5].tolist()
        np.testing.assert_array_equal(text.rows_of(["i5", "i595", "5", 5]), [59, 0, -1, -1])
    bare = ParquetFeatures(save(tmp_path / "bare.parquet", table(ids=None)))
    assert bare.id_column is None
    np.testing.assert_array_equal(bare.ids, np.arange(N))
    np.testing.assert_array_equal(bare.rows_of(np.array([59, 60, -1])), [59, -1, -1])


def test_numbers_meet_ids_that_are_text(tmp_path):
    path = save(tmp_path / "X.parquet", table(ids=np.array([str(n) for n in IDS])))
    np.testing.assert_array_equal(ParquetFeatures(path).rows_of([5, 15, "5", 1]), [59, 58, 59, -1])


@pytest.mark.parametrize("text", [False, True])
def test_an_id_that_is_there_twice_is_refused(folder, tmp_path, text):
    ids = np.arange(20) + 1000
    ids[[3, 8]] = IDS[22], 1002
    here, there = tmp_path / "part-9.parquet", tmp_path / "part-1.parquet"
    save(here, table(slice(20), ids=ids))
    if text:
        for path in (*tmp_path.glob("part-?.parquet"),):
            content = pq.read_table(path)
            save(path, content.set_column(0, "item", content["item"].cast(pa.string())))
    with pytest.raises(FileError) as caught:
        ParquetFeatures(folder).ids  # noqa: B018
    twice = "'375'" if text else "375"
    assert str(caught.value) == (
        f"{here}: expected one row per item, got item {twice} in row 3 and in row 2 of {there} "
        "(counting from 0). Keep one of them."
    )
    with pytest.raises(FileError, match=r"got item '?1002'? in row 8 and in row 2 "):
        ParquetFeatures(here).ids  # noqa: B018


def test_texts_of_one_hash_are_two_ids(tmp_path, monkeypatch):
    monkeypatch.setattr("whoknows.io.parquet.hash", lambda text: 7, raising=False)
    features = ParquetFeatures(save(tmp_path / "X.parquet", table(ids=np.array([f"i{n}" for n in IDS]))))
    assert len(features.ids) == N


def test_ids_that_are_missing_or_of_no_kind(tmp_path):
    path = save(tmp_path / "X.parquet", pa.table({"item": pa.array([1, None, 3]), "f": [1.0, 2.0, 3.0]}))
    with pytest.raises(FileError, match="an id in every row of 'item', got none in row 1 "):
        ParquetFeatures(path).ids  # noqa: B018
    save(path, pa.table({"item": [0.5, 1.5], "f": [1.0, 2.0]}))
    with pytest.raises(FileError, match=r"integers or text as ids in 'item', got double. Write them as"):
        ParquetFeatures(path).ids  # noqa: B018
    save(path, pa.table({"item": pa.array([1, 2**64 - 1], pa.uint64()), "f": [1.0, 2.0]}))
    with pytest.raises(FileError, match="got Integer value 18446744073709551615 not in range"):
        ParquetFeatures(path).ids  # noqa: B018
    assert problem(path, "photo")[1] == "has no column for the item 'photo'. There are 'item', 'f'."


# --- what is refused ------------------------------------------------------------------------------------


@pytest.mark.parametrize(("value", "got"), [
    (np.nan, "a finite number in every feature, got none (null or NaN)"),
    (None, "a finite number in every feature, got none (null or NaN)"),
    (-np.inf, "a finite number in every feature, got -inf"),
    (LARGEST * 10, f"a number up to {LARGEST:g} in every feature, got 1e+151"),
], ids=str)  # fmt: skip
def test_a_number_that_is_none_is_found_where_it_is_read(folder, value, got):
    values = X.astype(float)[20:40].tolist()
    values[16][1] = value
    columns = {f"f{j}": pa.array([row[j] for row in values], pa.float64()) for j in range(D)}
    for place in (0, 2):
        content = pq.read_table(folder / f"part-{place}.parquet")
        schema = pa.schema([("item", pa.int64()), *((f"f{j}", pa.float64()) for j in range(D))])
        save(folder / f"part-{place}.parquet", content.cast(schema))
    path = save(folder / "part-1.parquet", pa.table({"item": IDS[20:40], **columns}))
    features = ParquetFeatures(folder)
    features[:34]  # up to the row group before
    where, message = problem(folder)
    advice = "Fill it in" if "finite" in got else "Use another unit"
    assert where == str(path)
    assert message == (
        f"expected {got} in column 'f1', row 16 of the file (counting from 0; row group 2), item {IDS[36]}. "
        f"{advice}, or leave the item or the column out."
    )
    with pytest.raises(FileError, match=r"row 16 of the file .*, item 235"):
        features.part(30, 40)[[8, 2]]


@pytest.mark.parametrize("odd", [[1.0], None, [1.0, None, 2.0]], ids=str)
def test_lists_of_other_lengths_are_refused(tmp_path, odd):
    lists = pa.array([[1.0, 2.0, 3.0], [1.0, 2.0, 3.0], odd])
    _, message = problem(save(tmp_path / "X.parquet", pa.table({"id": ["a", "b", "c"], "v": lists})))
    if odd is not None and len(odd) == 3:
        assert "got none (null or NaN) in column 'v1', row 2 of the file" in message
    else:
        assert message == (
            f"expected 3 numbers in every list, got {len(odd or ())} in column 'v', row 2 of the file "
            "(counting from 0; row group 0), item 'c'. Write lists of one length in 'v'."
        )
    _, message = problem(save(tmp_path / "X.parquet", pa.table({"v": pa.array([[]], pa.list_(pa.float32()))})))
    assert message == "expected lists of numbers in 'v', got an empty one in row 0."


def test_a_file_with_other_columns_is_named_with_them(folder):
    first = folder / "part-0.parquet"
    other = save(folder / "part-1.parquet", pa.table({"item": [1], "f0": [1.0], "f2": [1.0], "g": [2]}))
    path, message = problem(folder)
    assert path == str(other)
    assert message == (
        f"expected the same columns as in the first file, {first}; it lacks 'f1'; it has 'g' in addition; "
        "'f0' is double and not float; 'f2' is double and not float. Write all files with one schema, or "
        "leave this one out."
    )
    save(other, table(slice(3), g=["x"] * 3))
    np.testing.assert_array_equal(ParquetFeatures(folder, columns=["f0"])[18:23].ravel(), X[[18, 19, 0, 1, 2], 0])


def test_text_is_named_and_refused(tmp_path):
    path = save(tmp_path / "X.parquet", table(slice(2), city=["Rome", "Oslo"], day=pa.array([1, 2], pa.date32())))
    assert problem(path)[1] == (
        "expected numbers, or lists of numbers, in every column of features, got 'city' (string), 'day' "
        "(date32[day]). Name the columns of features: columns=[...]."
    )
    assert problem(path, columns=["f0", "city"])[1].startswith("expected numbers, or lists of numbers, in every")
    assert problem(path, columns=["f7"])[1].startswith("has no column of features 'f7'. There are 'item', 'f0'")
    assert problem(path, columns=[])[1].startswith("has no column of features; there are 'item', 'f0'")


def test_folders_without_parquet_and_data_sets_without_rows(tmp_path):
    assert problem(tmp_path)[1] == (
        "is a folder without Parquet files; expected names that end in .parquet or .pq, it is empty. "
        "Pass the folder that holds them."
    )
    (tmp_path / "X.csv").write_text("f\n1\n")
    assert "in .parquet or .pq, there are 'X.csv'." in problem(tmp_path)[1]
    one, two = (save(tmp_path / name, table(slice(0))) for name in ("a.parquet", "b.parquet"))
    assert problem(one) == (str(one), "holds no rows; expected one per item.")
    assert problem([one, two])[1].endswith("expected one per item. The other 1 files hold none either.")
    save(two, table())
    np.testing.assert_array_equal(ParquetFeatures(tmp_path)[:], X)  # an empty file among others is none
    assert problem(tmp_path / "no.parquet")[1] == "there is no such file."
    with pytest.raises(ValueError, match="got an empty list"):
        ParquetFeatures([])
    with pytest.raises(ValueError, match="memory must be a number of bytes of 1 or more; got 0"):
        ParquetFeatures(two, memory=0)


def test_damaged_files_are_named(tmp_path):
    path = save(tmp_path / "X.parquet", table())
    whole = path.read_bytes()
    for content in (whole[:-30], whole[:100], b"item,f\n1,2\n", b""):
        path.write_bytes(content)
        assert problem(path)[1].startswith("is cut off or damaged, or is not a Parquet file (")
    pq.write_table(table(), path, write_page_checksum=True)
    rotten = bytearray(path.read_bytes())
    column = pq.read_metadata(path).row_group(0).column(2)
    rotten[column.data_page_offset + column.total_compressed_size // 2] ^= 1  # a single bit
    path.write_bytes(rotten)
    assert ParquetFeatures(path).shape == (N, D)
    assert problem(path)[1].endswith("). Write or download it again.")


def test_files_that_change_or_vanish_meanwhile(tmp_path):
    path = save(tmp_path / "X.parquet", table())
    features = ParquetFeatures(path)
    save(path, table(slice(10)))
    with pytest.raises(FileError, match="has changed since it was opened"):
        features[30:]
    path.unlink()
    with pytest.raises(FileError, match="there is no such file"):
        ParquetFeatures.part(features, 3, 4)[:]


# --- opened by name -------------------------------------------------------------------------------------


def out_of_core(path, **options):
    """Open features so that none is in memory."""
    return read_features(path, memory=1, **options)


def test_a_matrix_is_opened_through_a_memory_map(tmp_path):
    np.save(tmp_path / "X.npy", X)
    opened = out_of_core(tmp_path / "X.npy")
    assert isinstance(opened.X, np.memmap)
    assert not opened.in_memory
    np.testing.assert_array_equal(opened.X, X)
    for content, message in (
        (np.array(["a"]), r"array of shape \(1,\) and type <U1; expected numbers, one row per item"),
        (np.array([[None]]), "holds the array as Python objects, which are not loaded"),
        (np.zeros((0, 3)), r"shape \(0, 3\)"),
    ):
        np.save(tmp_path / "X.npy", content, allow_pickle=True)
        with pytest.raises(FileError, match=message):
            out_of_core(tmp_path / "X.npy")
    with pytest.raises(FileError, match="there is no such file"):
        out_of_core(tmp_path / "no.npy")


def test_what_is_opened_is_what_is_read(tmp_path):
    lists = pa.array(X.tolist(), pa.list_(pa.float32()))
    path = save(tmp_path / "X.parquet", table(city=["Rome"] * N))
    small, large = read_features(path), out_of_core(path)
    assert (small.in_memory, large.in_memory) == (True, False)
    np.testing.assert_array_equal(large.X[:], small.X)
    assert (large.names, large.ids.tolist()) == (small.names, small.ids.tolist())
    assert large.notes == ("columns left out, as they hold no numbers: 'city' (string). For text, see TextFeatures.",)
    save(path, table(v=lists))
    small, large = read_features(path), out_of_core(path)
    np.testing.assert_array_equal(large.X[:], small.X)
    assert (large.names, large.notes) == (small.names, ("columns left out: 'f0', 'f1', 'f2'",))
    save(path, table(v=lists, w=lists))
    with pytest.raises(FileError, match=r"has several columns of lists: 'v', 'w'. Choose one: vector="):
        out_of_core(path)
    np.testing.assert_array_equal(out_of_core(path, vector="w").X[:], X)
    with pytest.raises(FileError, match="has no column of lists 'f0'"):
        out_of_core(path, vector="f0")
    save(path, pa.table({"item": ["a"], "city": ["Rome"]}))
    with pytest.raises(FileError, match="has no column of numbers; there are 'item', 'city'"):
        out_of_core(path)


@pytest.mark.parametrize("kind", ["memory", "npy", "parquet", "folder"])
def test_features_have_one_interface_wherever_they_are(folder, tmp_path, kind):
    small = read_features(folder).take(slice(None))
    if kind == "npy":
        np.save(tmp_path / "X.npy", small.X)
        (tmp_path / "X.ids.txt").write_text("\n".join(map(str, small.ids.tolist())))
        features = out_of_core(tmp_path / "X.npy")
        features = replace(features, names=small.names)
    elif kind == "parquet":
        columns = {name: small.X[:, place] for place, name in enumerate(small.names)}
        features = out_of_core(save(tmp_path / "X.parquet", pa.table({"item": small.ids, **columns})))
    else:
        features = read_features(folder) if kind == "folder" else small
    assert features.in_memory == (kind == "memory")
    assert (len(features), features.names) == (N, small.names)
    for rows in (slice(3, 7), np.array([50, 2, 7])):
        assert features.ids_at(rows) == small.ids[rows].tolist()
        taken = features.take(rows)
        assert taken.in_memory
        assert taken.ids.tolist() == small.ids[rows].tolist()
        np.testing.assert_array_equal(taken.X, small.X[rows])
    some = features.select(["f2", "f0"])
    assert some.names == ("f2", "f0")
    np.testing.assert_array_equal(some.take(slice(None)).X, small.X[:, [2, 0]])
    (tmp_path / "ids.txt").write_text("\n".join(f"i{row}" for row in range(N)))
    named = replace(features, numbered=True).with_ids(tmp_path / "ids.txt")
    assert (named.ids_at([4]), named.numbered) == (["i4"], False)


# --- labels ---------------------------------------------------------------------------------------------


def test_labels_meet_rows_by_id(folder):
    features = ParquetFeatures(folder)
    said = Annotations.from_arrays(
        [5, 5, 595, 15], ["bob", "anna", "anna", "bob"], ["x", "y", "x", "y"], confidence=[1, 0.5, 0.2, 1]
    )
    joined = join(said, features).annotations
    assert (joined.n_items, joined.items.dtype) == (N, np.int64)
    assert joined.item.tolist() == [0, 58, 59, 59]
    assert joined.item.dtype == np.int32
    assert [joined.annotators[code] for code in joined.annotator] == ["anna", "bob", "anna", "bob"]
    assert [joined.labels[code] for code in joined.label] == ["x", "y", "y", "x"]
    assert joined.confidence.tolist() == [0.2, 1, 0.5, 1]
    assert features.ids[joined.items[joined.labelled]].tolist() == [595, 15, 5]


def test_labels_of_items_in_no_file(folder):
    features = ParquetFeatures(folder)
    items = [5, 1, 2, 3, 4]
    said = Annotations.from_arrays(items, ["anna"] * 5, [0, 1, 0, 1, 0])
    told = "4 of 5 items with labels (80%) have no features"
    message = f"{told}: 1, 2, 3, …; there are features of 595, 585, 575, …."
    with pytest.raises(FileError, match=re.escape(message) + ".*leave these labels out: allow_missing=True"):
        join(said, features, allow_missing=False)
    joined = join(said, features)
    assert joined.notes[0] == f"{told}; their labels are left out: 1, 2, 3, …"
    assert joined.lost == 0.8
    Y = joined.annotations
    assert (Y.item.tolist(), Y.n_items, Y.n_classes) == ([59], N, 2)
    with pytest.raises(FileError, match="has no item in common with labels: ids are 595, 585, 575, … here"):
        join(said[1:], features)


def test_labels_of_items_that_would_become_one_are_not_mixed(folder):
    said = Annotations.from_arrays(["5", "05", "15"], ["anna"] * 3, [0, 1, 0])
    with pytest.raises(FileError, match=r"1 of 3 items with labels \(33%\) have no features: '05'"):
        join(said, ParquetFeatures(folder), allow_missing=False)
    said = Annotations.from_arrays(["05", "005"], ["anna"] * 2, [0, 1])
    with pytest.raises(FileError, match=r"The ids '05' and '005' are the same as numbers. Rename one"):
        join(said, ParquetFeatures(folder))


def test_ids_of_a_matrix_come_from_a_file_beside_it(tmp_path):
    np.save(tmp_path / "X.npy", X[:3])
    said = Annotations.from_arrays(["b", "a", "7"], ["anna"] * 3, [0, 1, 0])
    assert out_of_core(tmp_path / "X.npy").ids.tolist() == [0, 1, 2]
    assert out_of_core(tmp_path / "X.npy").numbered
    (tmp_path / "X.ids.txt").write_text("a\n7\nb\n")
    features = out_of_core(tmp_path / "X.npy")
    assert not features.numbered
    joined = join(said, features).annotations
    assert (joined.item.tolist(), joined.label.tolist()) == ([0, 1, 2], [1, 0, 0])
    (tmp_path / "ids.txt").write_text("a\nb\n")
    with pytest.raises(FileError, match=r"lists 2 ids for 3 rows of features"):
        out_of_core(tmp_path / "X.npy", ids=tmp_path / "ids.txt")


def test_labels_meet_text_ids_in_chunks():
    said = Annotations.from_arrays(["b", "a"], ["anna", "anna"], [0, 1])
    large = np.lib.stride_tricks.as_strided(X[:3]).view(np.memmap)
    features = Features(pa.chunked_array([["a", "b"], ["c"]]), large, ("f0", "f1", "f2"))
    joined = join(said, features).annotations
    assert (joined.item.tolist(), joined.label.tolist(), joined.n_items) == ([0, 1], [1, 0], 3)
    padded = Features(pa.chunked_array([["a ", "01"], ["c"]]), large, ("f0", "f1", "f2"))
    said = Annotations.from_arrays([1, "a"], ["anna", "anna"], [0, 1])
    assert join(said, padded).annotations.item.tolist() == [0, 1]
    twins = Features(pa.chunked_array([["b "], [" b", "c"]]), large, ("f0", "f1", "f2"))
    with pytest.raises(FileError, match="The ids 'b ' and ' b' are the same as text"):
        join(Annotations.from_arrays(["b"], ["anna"], [0]), twins)


def test_values_by_id_are_found_by_item_in_memory_and_out_of_core(folder):
    said = Annotations.from_arrays([5, 15], ["anna", "anna"], [0, 1])
    large = join(said, read_features(folder))
    small = join(said, read_features(folder).take(slice(None)))
    known = {"5": "five", "25": "twenty-five", "x": "none"}
    assert large.by_item(known) == {59: "five", 57: "twenty-five"}
    assert small.by_item(known) == {5: "five", 25: "twenty-five"}
    assert large.in_order(known) == small.in_order(known)
    assert large.in_order({"x": 1}) is None
    rows, sample = large.sample(1, 4)
    assert len(rows) == 5
    assert sample.features.in_memory
    assert sample.annotations.items.tolist() == large.features.ids_at(rows)
    np.testing.assert_array_equal(sample.X, large.X[rows])


def test_millions_of_items_cost_little():
    n = 2_000_000
    tracemalloc.start()
    said = Annotations.from_arrays([7, n - 1, 9], ["a", "b", "a"], [0, 1, 0], items=np.arange(n))
    blocks = [said[start : start + 50_000] for start in range(0, n, 50_000)]
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 8 * n * 6  # a few arrays of them, never lists
    assert sum(block.n_annotations for block in blocks) == 3
    assert [said.item.tolist(), said[[n - 1, -1, 7]].item.tolist()] == [[7, 9, n - 1], [0, 1, 2]]


# --- memory ---------------------------------------------------------------------------------------------


STREAM = """
import sys, tracemalloc
import pyarrow
from whoknows.io.parquet import ParquetFeatures
features = ParquetFeatures(sys.argv[1], memory=4 << 20)
features[:1]  # whatever that imports
tracemalloc.start()
total = sum(features[rows].sum(dtype=float) for rows in features.blocks())
print(total, tracemalloc.get_traced_memory()[1] + pyarrow.default_memory_pool().max_memory())
"""  # in a process of its own: what Arrow's pool has seen at most is counted from its start
QUIET = {**os.environ, "OMP_NUM_THREADS": "1"}


@pytest.mark.parametrize("group", [40_000, 800_000])
def test_a_file_is_streamed_in_little_memory(tmp_path, group):
    """51 MB, in small row groups and in one that alone is larger than what reading may take."""
    values = np.random.default_rng(0).standard_normal((16, 800_000), dtype=np.float32)
    total = float(values.sum(dtype=float))
    content = pa.table({f"f{j}": column for j, column in enumerate(values)})
    path = tmp_path / "X.parquet"
    pq.write_table(content, path, row_group_size=group, data_page_size=1 << 16, use_dictionary=False)
    result = subprocess.run([sys.executable, "-c", STREAM, path], capture_output=True, text=True, check=True, env=QUIET)
    found, peak = map(float, result.stdout.split())
    assert found == pytest.approx(total)
    assert peak < 16 << 20
