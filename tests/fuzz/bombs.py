"""Small files that ask for much memory or time, and files that are not files."""

from __future__ import annotations

import io
import json
import random
import struct
import zipfile
import zlib
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow as pa
from pyarrow import ipc, parquet

from whoknows.io import impute_median, read_features, read_labels
from whoknows.io.features import read_ids

BLOCK = b"\0" * (1 << 20)


def lying_zip(name: str, blocks: int, claim: int) -> bytes:
    """Return an archive whose member is larger than its header claims."""
    packer = zlib.compressobj(1, zlib.DEFLATED, -15)
    data = b"".join([packer.compress(BLOCK) for _ in range(blocks)]) + packer.flush()
    checksum, path = zlib.crc32(b"\0" * claim), name.encode()
    sizes = checksum, len(data), claim, len(path), 0
    local = struct.pack("<4sHHHHHIIIHH", b"PK\x03\x04", 20, 0, 8, 0, 0x21, *sizes) + path + data
    entry = struct.pack("<4sHHHHHHIIIHHHHHII", b"PK\x01\x02", 20, 20, 0, 8, 0, 0x21, *sizes, 0, 0, 0, 0, 0) + path
    return local + entry + struct.pack("<4sHHHHIIH", b"PK\x05\x06", 0, 0, 1, 1, len(entry), len(local), 0)


def zstd_zip(name: str, blocks: int, claim: int) -> bytes:
    """Return an archive whose member is packed with zstd, and larger than its header claims."""
    packed = pa.BufferOutputStream()
    with pa.CompressedOutputStream(packed, "zstd") as stream:
        for _ in range(blocks):
            stream.write(BLOCK)
    data, path = packed.getvalue().to_pybytes(), name.encode()
    sizes = zlib.crc32(BLOCK[:claim]), len(data), claim, len(path), 0
    local = struct.pack("<4sHHHHHIIIHH", b"PK\x03\x04", 63, 0, 93, 0, 0x21, *sizes) + path + data
    entry = struct.pack("<4sHHHHHHIIIHHHHHII", b"PK\x01\x02", 63, 63, 0, 93, 0, 0x21, *sizes, 0, 0, 0, 0, 0) + path
    return local + entry + struct.pack("<4sHHHHIIH", b"PK\x05\x06", 0, 0, 1, 1, len(entry), len(local), 0)


def big_zip(name: str, first: bytes, block: bytes, times: int) -> bytes:
    """Return an archive with one member that repeats a block."""
    file = io.BytesIO()
    with (
        zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive,
        archive.open(name, "w") as member,
    ):
        member.write(first)
        for _ in range(times):
            member.write(block)
    return file.getvalue()


def header(description: str, shape: str) -> bytes:
    """Return a .npy file of this type and shape without data."""
    text = f"{{'descr': {description}, 'fortran_order': False, 'shape': {shape}, }}".encode()
    text += b" " * ((64 - (11 + len(text)) % 64) % 64) + b"\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(text)) + text


def zeros(n: int) -> pa.Table:
    """Return a long table of zeros."""
    return pa.table(dict.fromkeys(("item", "annotator", "label"), pa.array(np.zeros(n, np.int64))))


def zeros_in_arrow(n: int) -> bytes:
    """Return a compressed Arrow file of zeros."""
    file, table = io.BytesIO(), zeros(n)
    with ipc.new_file(file, table.schema, options=ipc.IpcWriteOptions(compression="zstd")) as writer:
        writer.write_table(table)
    return file.getvalue()


def zeros_in_parquet(n: int, times: int) -> bytes:
    """Return a compressed Parquet file of zeros."""
    file, table = io.BytesIO(), zeros(n)
    with parquet.ParquetWriter(file, table.schema, compression="zstd") as writer:
        for _ in range(times):
            writer.write_table(table)
    return file.getvalue()


def wide_parquet(n_columns: int) -> bytes:
    """Return a Parquet file of many columns."""
    file = io.BytesIO()
    parquet.write_table(pa.table({"item": ["a", "b"], **{f"f{j}": [0.5, j] for j in range(n_columns)}}), file)
    return file.getvalue()


def wide_csv(n_annotators: int) -> bytes:
    """Return a wide table of many annotators."""
    names = ",".join(f"w{t}" for t in range(n_annotators))
    rows = [
        f"i{i}," + ",".join("ab"[(i + t) % 2] if (i * t) % 7 == 1 else "" for t in range(n_annotators))
        for i in range(20)
    ]
    return f"item,{names}\n{chr(10).join(rows)}\n".encode()


def long_csv(*cells: str) -> bytes:
    """Return a long table with one row."""
    return f"item,annotator,label\n{','.join(cells)}\n".encode()


def objects(n: int) -> bytes:
    """Return objects each of which has a key of its own."""
    return "\n".join(json.dumps({"item": i, "annotator": "a", "label": 1, f"k{i}": 1}) for i in range(n)).encode()


def sessions(n: int) -> bytes:
    """Return answers by annotators whose names have many parts."""
    answer = {"_input_hash": 1, "answer": "accept", "accept": ["a"]}
    return "\n".join(json.dumps({**answer, "_session_id": "d-" * 2000 + str(i)}) for i in range(n)).encode()


FILES: dict[str, tuple[str, Callable[[], bytes]]] = {
    "lying_zip": ("labels", lambda: lying_zip("anna.jsonl", 800, 100)),
    "zstd_zip": ("labels", lambda: zstd_zip("summaries.json", 800, 100)),
    "zstd_claim": ("labels", lambda: zstd_zip("summaries.json", 800, 800 << 20)),
    "lying_npz": ("features", lambda: lying_zip("X.npy", 800, 100)),
    "npz": ("features", lambda: big_zip("X.npy", header("'<f8'", "(8192, 16384)"), BLOCK, 1024)),
    "json_in_zip": ("labels", lambda: big_zip("a.jsonl", b"", b'{"id":1,"label":["a"]}\n' * 40_000, 130)),
    "csv_in_zip": ("labels", lambda: big_zip("a.csv", b"id,text,label\n", b"1,1,1\n" * 170_000, 400)),
    "no_characters": ("ids", lambda: header("'<U0'", "(2000000000,)")),
    "no_bytes": ("ids", lambda: header("'|V0'", "(2000000000,)")),
    "empty_text": ("features", lambda: header("'|S0'", "(2000000000, 2)")),
    "no_fields": ("ids", lambda: header("[]", "(2000000000,)")),
    "empty_parts": ("ids", lambda: header("('<f8', (0,))", "(2000000000,)")),
    "shape_of_booleans": ("features", lambda: header("'<f8'", "(True, True)") + b"\0" * 8),
    "no_rows": ("features", lambda: header("'<f8'", "(0, 9223372036854775807)")),
    "parquet": ("labels", lambda: zeros_in_parquet(2_000_000, 30)),
    "arrow": ("labels", lambda: zeros_in_arrow(30_000_000)),
    "parquet_columns": ("features", lambda: wide_parquet(5000)),
    "annotators": ("labels", lambda: wide_csv(20_000)),
    "long_name": ("labels", lambda: f"item,annotator,{'x' * (15 << 20)}\na,b,c\n".encode()),
    "long_cell": ("labels", lambda: long_csv("a", "b", "x" * (20 << 20))),
    "long_ragged_row": ("labels", lambda: long_csv("a", "b", "x" * 200_000, "d")),
    "open_quote": ("labels", lambda: long_csv("a", "b", '"c\n' + "a,b,c\n" * 3_000_000)),
    "same_rows": ("labels", lambda: b"item,annotator,label\n" + b"a,b,c\n" * 1_000_000),
    "many_keys": ("labels", lambda: json.dumps([dict.fromkeys(map(str, range(500_000)), 1)]).encode()),
    "new_keys_labels": ("labels", lambda: objects(20_000)),
    "new_keys": ("features", lambda: objects(20_000)),
    "deep_value": ("labels", lambda: b'[{"item":' + b"[" * 900 + b"]" * 900 + b',"annotator":1,"label":2}]'),
    "long_sessions": ("labels", lambda: sessions(3000)),
    "utf_16": ("labels", lambda: ("item,annotator,label\n" + "a,b,c\n" * 500_000).encode("utf-16-le")),
}


def small_file(rng: random.Random, folder: Path) -> None:
    """Read a small file that asks for much."""
    kind, make = FILES[rng.choice(list(FILES))]
    path = folder / "in"
    path.write_bytes(make())
    _read(kind, path)


def no_file(rng: random.Random, folder: Path) -> None:
    """Read what is not a plain file."""
    path = folder / "in"
    kind = rng.choice(["folder", "folders", "loop", "device"])
    if kind == "device":
        path = Path("/dev/zero")
    elif kind == "loop":
        path.symlink_to(path)
    else:
        (path / "x" if kind == "folders" else path).mkdir(parents=True)
    _read(rng.choice(["labels", "features"]), path)


def _read(kind: str, path: Path) -> None:
    if kind == "labels":
        read_labels(path)
    elif kind == "ids":
        read_ids(path)
    else:
        impute_median(read_features(path))


TARGETS = {run.__name__: run for run in (small_file, no_file)}
