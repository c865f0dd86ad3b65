"""Small files that expand to gigabytes are refused before they are decompressed."""

import io
import struct
import subprocess
import sys
import zipfile
import zlib

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import ipc, parquet
from typer.testing import CliRunner

from tests.io.labels.samples import zipped
from whoknows.apps.cli import app
from whoknows.io import FileError, read_labels, size_limit
from whoknows.io import encoding as text
from whoknows.io.binary import read_arrow
from whoknows.io.features import read_features, read_ids

LIMIT = 1 << 20
N = 200_000  # int64 values: more than the limit


@pytest.fixture
def small_limit(monkeypatch):
    monkeypatch.setattr(text, "MAX_SIZE", LIMIT)


def zeros(n=N):
    column = pa.array(np.zeros(n, np.int64))
    return pa.table({"item": column, "annotator": column, "label": column})


def as_parquet(table, **options):
    file = io.BytesIO()
    parquet.write_table(table, file, compression="zstd", **options)
    return file.getvalue()


def as_arrow(table, new=ipc.new_file, compression="zstd"):
    file = io.BytesIO()
    with new(file, table.schema, options=ipc.IpcWriteOptions(compression=compression)) as writer:
        writer.write_table(table)
    return file.getvalue()


def npy(header, body=b""):
    """Bytes of a .npy file with any header."""
    head = header.encode().ljust(117) + b"\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(head)) + head + body


def npz(**arrays):
    file = io.BytesIO()
    np.savez_compressed(file, **arrays)
    return file.getvalue()


def lying_zip(name, real, declared):
    """Zip archive of one member of ``real`` zeros whose headers declare fewer, with the checksum of those."""
    deflate = zlib.compressobj(9, zlib.DEFLATED, -15)
    data = deflate.compress(bytes(real)) + deflate.flush()
    about = (0, 8, 0, 0x21, zlib.crc32(bytes(declared)), len(data), declared, len(name), 0)
    local = struct.pack("<4sHHHHHIIIHH", b"PK\x03\x04", 20, *about) + name + data
    entry = struct.pack("<4sHHHHHHIIIHHHHHII", b"PK\x01\x02", 20, 20, *about, 0, 0, 0, 0, 0) + name
    return local + entry + struct.pack("<4sHHHHIIH", b"PK\x05\x06", 0, 0, 1, 1, len(entry), len(local), 0)


REPEATED = pa.DictionaryArray.from_arrays(np.zeros(1000, np.int32), ["x" * 10_000])
BOMBS = {
    "parquet of runs": as_parquet(zeros()),
    "parquet of one long text": as_parquet(pa.table({"item": ["x" * 10_000] * 1000})),
    "arrow file": as_arrow(zeros()),
    "arrow stream": as_arrow(zeros(), ipc.new_stream),
    "arrow lz4": as_arrow(zeros(), compression="lz4"),
    "arrow nulls": as_arrow(pa.table({"item": pa.nulls(10**9)}), compression=None),
    "arrow dictionary": as_arrow(pa.table({"item": REPEATED.dictionary.take(REPEATED.indices)})),
    "arrow repeated text": as_arrow(pa.table({"item": REPEATED})),
    "arrow views of one text": as_arrow(pa.table({"item": REPEATED.cast(pa.string()).cast(pa.string_view())})),
}


@pytest.mark.parametrize("name", BOMBS)
def test_tables_that_expand_are_refused(name, small_limit, tmp_path):
    assert len(BOMBS[name]) < LIMIT // 16
    (tmp_path / "bomb").write_bytes(BOMBS[name])
    for read in (read_labels, read_features, read_ids):
        with pytest.raises(FileError, match=r"takes more than 1 MiB.*raise the limit: with size_limit\(bytes\)"):
            read(tmp_path / "bomb")


@pytest.mark.parametrize("new", [ipc.new_file, ipc.new_stream])
@pytest.mark.parametrize("compression", [None, "zstd", "lz4"])
def test_arrow_files_of_every_kind_are_read_as_before(new, compression):
    table = pa.table(
        {
            "n": [1, 2, None],
            "text": ["a", None, "b"],
            "kind": pa.array(["u", "v", "u"]).dictionary_encode(),
            "list": [[1.0], [], None],
            "large": pa.array(["a", "b", None], pa.large_string()),
        }
    )
    assert read_arrow(as_arrow(table, new, compression), "t").to_pylist() == table.to_pylist()
    assert read_arrow(as_parquet(table), "t").to_pylist() == table.to_pylist()
    assert read_arrow(as_parquet(table[:0]), "t").num_rows == 0


@pytest.mark.parametrize("write", [as_arrow, as_parquet])
def test_columns_of_one_name_are_refused(write):
    table = pa.Table.from_arrays([pa.array(["a"]), pa.array(["b"])], names=["item", "item"])
    with pytest.raises(FileError, match="has several columns named 'item'"):
        read_arrow(write(table), "t")


def test_the_limit_grows_with_the_file_and_with_what_the_user_says(small_limit, tmp_path):
    path = tmp_path / "f.npy"
    np.save(path, np.ones((N, 1)))
    assert read_features(path).X.shape == (N, 1)  # not compressed
    path.write_bytes(npz(X=np.ones((N, 1))))
    with pytest.raises(FileError, match="takes more than 1 MiB"):
        read_features(path)
    with size_limit(4 << 20):
        assert read_features(path).X.shape == (N, 1)
    with size_limit(1000), pytest.raises(FileError, match="is larger than 1000 bytes"):
        read_features(path)
    with pytest.raises(ValueError, match="max_size must be a number of bytes"), size_limit(0):
        pass
    path.write_bytes(npz(X=np.random.default_rng(0).normal(size=(N, 1))))
    assert read_features(path).X.shape == (N, 1)  # it compresses as data do


def test_the_command_line_says_how_to_raise_the_limit(small_limit, tmp_path):
    labels, out = tmp_path / "labels.parquet", tmp_path / "labels.csv"
    rows = [f"i{row}" for row in range(2)] * (N // 2)
    table = pa.table({"item": rows, "annotator": ["x"] * N, "label": ["yes"] * N})
    labels.write_bytes(as_parquet(table))
    refused = CliRunner().invoke(app, ["convert", str(labels), str(out)])
    assert refused.exit_code == 3
    assert "raise the limit: --max-size 8GB" in " ".join(refused.output.split())
    read = CliRunner().invoke(app, ["convert", str(labels), str(out), "--max-size", "1GB"])
    assert read.exit_code == 0, read.output
    wrong = CliRunner().invoke(app, ["convert", str(labels), str(out), "--max-size", "much"])
    assert "--max-size expects a size such as 500MB" in " ".join(wrong.output.split())


@pytest.mark.parametrize("descr", ["'<U0'", "'|V0'", "'|S0'", "[]", "('<f8', (0,))"])
def test_values_without_bytes_are_refused(descr, tmp_path):
    path = tmp_path / "a.npy"
    path.write_bytes(npy(f"{{'descr': {descr}, 'fortran_order': False, 'shape': (2000000000,), }}"))
    for read in (read_features, read_ids):
        with pytest.raises(FileError, match=r"2,000,000,000 values of .*, which have no bytes"):
            read(path)


def test_small_integers_of_an_archive_count_as_the_floats_they_become(small_limit, tmp_path):
    (tmp_path / "a.npz").write_bytes(npz(X=np.zeros((N, 1), np.int8)))
    with pytest.raises(FileError, match="takes more than 1 MiB"):
        read_features(tmp_path / "a.npz")


def test_characters_that_do_not_exist_are_refused(tmp_path):
    data = io.BytesIO()
    np.save(data, np.array(["a", "b"]))
    path = tmp_path / "a.npy"
    path.write_bytes(data.getvalue()[:-4] + struct.pack("<I", 0x200000))
    with pytest.raises(FileError, match="characters that do not exist"):
        read_ids(path)


@pytest.mark.parametrize(("name", "read"), [(b"anna.jsonl", read_labels), (b"X.npy", read_features)])
def test_no_more_is_decompressed_than_an_archive_declares(name, read, tmp_path):
    (tmp_path / "a.zip").write_bytes(lying_zip(name, 1 << 28, 100))
    code = f"""
import resource, sys
from whoknows.io.features import read_features
from whoknows.io import FileError, read_labels
resource.setrlimit(resource.RLIMIT_DATA, (1 << 28, 1 << 28))
try:
    {read.__name__}(sys.argv[1])
except FileError:
    print("refused")
"""
    ran = subprocess.run([sys.executable, "-c", code, tmp_path / "a.zip"], capture_output=True, text=True)
    assert ran.stdout == "refused\n", ran.stderr


def test_json_of_many_values_is_refused(small_limit, tmp_path):
    (tmp_path / "a.json").write_text("[" + "[]," * 100_000 + "{}]")
    with pytest.raises(FileError, match="takes more than"):
        read_labels(tmp_path / "a.json")
    with zipfile.ZipFile(tmp_path / "a.zip", "w", zipfile.ZIP_DEFLATED) as file:
        file.writestr("anna.jsonl", '{"id": 1, "label": ["a"]}\n' * 5000)
    with pytest.raises(FileError, match=r"a.zip.anna.jsonl: takes more than 1 MiB"):
        read_labels(tmp_path / "a.zip")


def test_a_table_of_very_many_cells_in_an_archive_is_refused_before_it_is_parsed(small_limit, tmp_path):
    data = zipped({"anna.csv": b"id,text,label\n" + b"1,1,1\n" * 50_000})
    assert 6 * 50_000 < LIMIT < 30 * 3 * 50_000
    (tmp_path / "d.zip").write_bytes(data)
    with pytest.raises(FileError, match="takes more than 1 MiB once decompressed or parsed"):
        read_labels(tmp_path / "d.zip")
