"""Rows of engines.csv: run times on a GPU and on a Dask cluster, each with its commit and machine.

They are written by benchmarks.speed.gpu and benchmarks.speed.dask, on machines that may have no pandas.
"""

from pathlib import Path

from benchmarks.common import machine
from benchmarks.common.cells import Row, Table

KEY = ("engine", "measurement")
VALUES = ("items", "labels", "workers", "seconds", "note", *machine.STAMP, "error")
GPU, DASK = "gpu", "dask"
PER_ITEM, PER_CHUNK, PER_SUM = "cost per item", "cost per chunk", "overhead per iteration"


def table(folder: Path) -> Table:
    return Table(folder / "engines.csv", KEY, VALUES)


def row(engine: str, measurement: str, seconds: float, **more: object) -> Row:
    """One measurement, with commit and machine."""
    return {"engine": engine, "measurement": measurement, "seconds": seconds, **machine.stamp(), **more}
