"""Small files and a fit of them, made once for each file of tests."""

import pytest

from tests.apps.cli import fit_small, make_crowd


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    return make_crowd(tmp_path_factory.mktemp("files"))


@pytest.fixture(scope="module")
def fitted(files, tmp_path_factory):
    """Folder of a fit, and what the fit said."""
    out = tmp_path_factory.mktemp("fitted") / "out"
    return out, fit_small(files, out)
