"""Small files and a fit to them, and a browser, once per test module."""

import shutil

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.apps.cli import fit_small, make_crowd
from whoknows.io import read_features

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")


@pytest.fixture(scope="module")
def browser():
    """A Chromium that is on the machine."""
    sync_api = pytest.importorskip("playwright.sync_api", reason="a browser is driven by it: pip install playwright")
    if CHROMIUM is None:
        pytest.skip("there is no Chromium on this machine")
    with sync_api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox", "--disable-gpu"])
        yield browser
        browser.close()


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
