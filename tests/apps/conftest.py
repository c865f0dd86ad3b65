"""Small files and a fit to them, once per test module."""

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.apps.cli import fit_small, make_crowd
from whoknows.io import read_features


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    return make_crowd(tmp_path_factory.mktemp("files"))


@pytest.fixture(scope="module")
def fitted(files, tmp_path_factory):
    """Folder of a fit, and its output."""
    out = tmp_path_factory.mktemp("fitted") / "out"
    return out, fit_small(files, out)


@pytest.fixture(scope="module")
def parts(files):
    """The features as a folder of two Parquet files."""
    read = read_features(files / "features.csv")
    folder = files / "parts"
    folder.mkdir()
    for place, rows in enumerate((slice(0, 25), slice(25, 60))):
        columns = {"item": read.ids[rows]} | {n: read.X[rows, j] for j, n in enumerate(read.names)}
        pq.write_table(pa.table(columns), folder / f"part-{place}.parquet", row_group_size=10)
    return folder
