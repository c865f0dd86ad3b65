"""Parquet and Arrow files with columns of any type under any name, given to every reader."""

from __future__ import annotations

import datetime
import decimal
import io
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from pyarrow import ipc, parquet

from tests.fuzz.mutations import mutate_bytes
from whoknows.io import FORMATS, ParquetFeatures, impute_median, read_features, read_gold, read_labels, read_texts
from whoknows.io.features import read_ids

ROLES = ("item", "annotator", "label")
NAMES = (
    *("text", "truth", "is_gold", "id", "label.responses", "label.responses.users", "label.responses.status"),
    *("responses", "fields", "f0", "f1", "emb", "", "data", "annotations", "_input_hash", "answer", "accept"),
    *("_session_id", "lead_time", "annotation_id", "__index_level_0__", "confidence", "vectors"),
)
DAY = datetime.datetime(2020, 1, 1)


def _repeat(value: Any, kind: Any = None) -> Callable[[int, random.Random], Any]:
    """Return a function that makes a column of one value, with some nulls."""
    return lambda n, rng: pa.array([None if rng.random() < 0.1 else value for _ in range(n)], kind)


COLUMNS: tuple[Callable[[int, random.Random], Any], ...] = (
    lambda n, rng: pa.array([rng.choice("abc") for _ in range(n)]),
    lambda n, rng: pa.array([rng.randrange(3) for _ in range(n)]),
    lambda n, rng: pa.array([rng.random() for _ in range(n)]),
    lambda n, rng: pa.array([f"i{row}" for row in range(n)]),
    lambda n, rng: pa.array(range(n), pa.int64()),
    lambda n, rng: pa.array([rng.choice("xy") for _ in range(n)]).dictionary_encode(),
    lambda n, rng: pa.array([rng.choice("xy") for _ in range(n)]).cast(pa.dictionary(pa.uint32(), pa.string())),
    lambda n, rng: pa.DictionaryArray.from_arrays(pa.array([0] * n, pa.int32()), pa.array([None, "b"])),
    lambda n, rng: pa.array([0] * n, pa.int8()).dictionary_encode(),
    lambda n, rng: pa.array(np.ones(n, np.float16)),
    lambda n, rng: pa.RunEndEncodedArray.from_arrays([n], ["x"]) if n else pa.array([], pa.string()),
    lambda n, rng: pa.array([None] * n),
    *map(_repeat, (True, decimal.Decimal("1.50"), DAY, DAY.date(), datetime.timedelta(1), b"\xff\0", [1.0, 2.0])),
    *map(_repeat, ([1.0, None], [[1.0]], {"a": 1, "label": "x"}, datetime.time(1, 2), float("nan"), float("inf"))),
    *map(_repeat, (1e300, "\u202e", ["p", "n"], "x" * 100_000)),
    _repeat([1.0, 2.0], pa.large_list(pa.float32())),
    _repeat([1.0, 2.0], pa.list_(pa.float32(), 2)),
    _repeat([1.0, 2.0], pa.list_view(pa.float64())),
    _repeat([], pa.list_(pa.float64())),
    _repeat([("k", 1)], pa.map_(pa.string(), pa.int32())),
    _repeat(2**63 + 5, pa.uint64()),
    _repeat("x", pa.large_string()),
    _repeat("x", pa.string_view()),
    _repeat(b"abcd", pa.binary(4)),
    _repeat((1, 2, 3), pa.month_day_nano_interval()),
    lambda n, rng: pa.array([1577836800000000001] * n, pa.int64()).cast(pa.timestamp("ns")),
)


def draw(rng: random.Random, folder: Path) -> Path:
    """Write a table of a few rows."""
    n = rng.choice([0, 1, 2, 3, 5])
    usual = rng.random() < 0.6
    names = [*(ROLES if usual else ()), *rng.sample(NAMES, rng.randrange(1, 4))]
    plain = {"item": COLUMNS[3], "id": COLUMNS[3], "annotator": COLUMNS[0], "label": COLUMNS[0]}
    makers = [plain[name] if name in plain and rng.random() < 0.5 else rng.choice(COLUMNS) for name in names]
    table = pa.Table.from_arrays([make(n, rng) for make in makers], names=names)
    path, file = folder / "in.parquet", io.BytesIO()
    try:
        _write(table, file, rng)
    except (pa.ArrowException, TypeError):  # a type that the format does not have
        return draw(rng, folder)
    data = file.getvalue()
    path.write_bytes(mutate_bytes(data, rng) if rng.random() < 0.1 else data)
    return path


def _write(table: Any, file: io.BytesIO, rng: random.Random) -> None:
    kind = rng.choice(["parquet", "parquet", "file", "stream"])
    if kind == "parquet":
        parquet.write_table(table, file)
        return
    options = ipc.IpcWriteOptions(compression=rng.choice([None, "zstd", "lz4"]))
    with (ipc.new_stream if kind == "stream" else ipc.new_file)(file, table.schema, options=options) as writer:
        writer.write_table(table)


def labels(rng: random.Random, folder: Path) -> None:
    """Read labels in the format that is recognised, or in any other."""
    path = draw(rng, folder)
    str(read_labels(path, rng.choice([None, None, *FORMATS])).notes)


def features(rng: random.Random, folder: Path) -> None:
    """Read features into memory."""
    impute_median(read_features(draw(rng, folder)))


def out_of_core(rng: random.Random, folder: Path) -> None:
    """Read features when they are used."""
    X = ParquetFeatures(draw(rng, folder))
    assert len(X.ids) == len(X[:]) == len(X)


def others(rng: random.Random, folder: Path) -> None:
    """Read true labels, texts or ids."""
    rng.choice([read_gold, read_texts, read_ids])(draw(rng, folder))


TARGETS = {run.__name__: run for run in (labels, features, out_of_core, others)}
