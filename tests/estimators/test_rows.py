"""Features that are no plain array of doubles: single precision, in files, on another device."""

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet

from whoknows import AutoCrowdClassifier, CrowdClassifier
from whoknows.estimators.auto import cross_validation
from whoknows.estimators.auto.members import Member
from whoknows.estimators.inputs.rows import with_cache
from whoknows.estimators.inputs.training_data import fingerprint
from whoknows.io.parquet import ParquetFeatures
from whoknows.model import distances

MEMBERS = [
    *(Member("linear", 3.0, True), Member("rbf 2", 10.0, False), Member("spectral", 10.0, True, False)),
    Member("rbf 2", 3.0, True, False, clusters=4),
]


def world(n_items=600, n_labelled=200, seed=0):
    rng = np.random.default_rng(seed)
    centres = 3 * rng.normal(size=(4, 3))
    cluster = rng.integers(4, size=n_items)
    X = np.round(centres[cluster] + rng.normal(size=(n_items, 3)), 3).astype(np.float32)
    z = cluster % 2
    y = np.full((n_items, 4), np.nan)
    known = rng.permutation(n_items)[:n_labelled]
    y[known] = np.where(rng.random((n_labelled, 4)) < [0.1, 0.2, 0.3, 0.4], 1 - z[known, None], z[known, None])
    return X, y, z


X, Y, Z = world()
NEW = (X[:40] + 0.125).astype(np.float32)


def in_files(folder, X, rows_a_file=250):
    for start in range(0, len(X), rows_a_file):
        columns = {f"x{i}": column for i, column in enumerate(X[start : start + rows_a_file].T)}
        parquet.write_table(pa.table(columns), folder / f"part-{start:05}.parquet", row_group_size=70)
    return ParquetFeatures(folder)


def answers(model, X, new):
    return model.posterior_, model.predict_proba(new), model.expertise(new), model.ranking().expertise


def assert_alike(found, expected, atol):
    for ours, theirs in zip(found, expected, strict=True):
        assert isinstance(ours, np.ndarray)
        np.testing.assert_allclose(ours, theirs, atol=atol)


MODELS = {
    "auto": lambda **how: AutoCrowdClassifier(members=MEMBERS, **how),
    "linear": lambda **how: CrowdClassifier(truth="id", map="linear", **how),
    "lgp": lambda **how: CrowdClassifier(**how),
    "spectral": lambda **how: CrowdClassifier(truth="id", map="spectral", **how),
}
every_model = pytest.mark.parametrize("make", MODELS.values(), ids=MODELS.keys())


@every_model
def test_single_precision_is_turned_into_doubles(make):
    expected = answers(make().fit(X.astype(float), Y), X, NEW.astype(float))
    assert_alike(answers(make().fit(X, Y), X, NEW), expected, 1e-12)


@every_model
def test_features_in_files_are_those_in_memory(make, tmp_path):
    expected = answers(make().fit(X, Y), X, NEW)
    assert_alike(answers(make().fit(in_files(tmp_path, X), Y), X, NEW), expected, 1e-12)


@every_model
def test_a_memory_map_is_read_block_by_block(make, tmp_path):
    np.save(tmp_path / "x.npy", X)
    mapped = np.load(tmp_path / "x.npy", mmap_mode="r")
    assert_alike(answers(make().fit(mapped, Y), X, NEW), answers(make().fit(X, Y), X, NEW), 1e-12)


@pytest.mark.parametrize("make", [MODELS["auto"], MODELS["spectral"]], ids=["auto", "spectral"])
def test_very_many_items_are_known_by_some_and_one_pass_in_memory_and_in_files(make, tmp_path, monkeypatch):
    monkeypatch.setattr(distances, "ENOUGH", 150)
    monkeypatch.setattr(cross_validation, "MOST_SCORED", 60)
    expected = answers(make().fit(X, Y), X, NEW)
    assert_alike(answers(make().fit(in_files(tmp_path, X), Y), X, NEW), expected, 1e-12)
    right = expected[0].argmax(axis=1) == Z
    assert right.mean() > 0.85


def test_what_is_no_number_in_a_later_block_is_named_by_its_row(monkeypatch):
    monkeypatch.setattr(distances, "ENOUGH", 100)
    bad = X.copy()
    bad[437, 1] = np.nan
    with pytest.raises(ValueError, match=r"contains NaN in column 1 \(first in row 437\)"):
        CrowdClassifier().fit(bad, Y)
    bad[437, 1] = 1.0
    huge = bad.astype(float)
    huge[519, 2] = -1e200
    with pytest.raises(ValueError, match="-1e\\+200 in column 2, item of row 519"):
        CrowdClassifier().fit(huge, Y)


def test_files_of_another_width_are_refused(tmp_path):
    model = CrowdClassifier(truth="id", map="linear").fit(X, Y)
    with pytest.raises(ValueError, match="X has 2 features, but CrowdClassifier is expecting 3"):
        model.predict(in_files(tmp_path, X[:, :2]))


def test_rows_held_in_memory_are_not_read_again(tmp_path):
    files = in_files(tmp_path, X)
    held = with_cache(files, np.array([3, 77, 400]))
    for file in files.files:
        (tmp_path / file).unlink()
    np.testing.assert_array_equal(held[np.array([77, 3])], X[[77, 3]])
    assert held.shape == X.shape
    assert with_cache(X, np.array([3])) is X


# --- tensors ---------------------------------------------------------------------------------------


@pytest.fixture
def torch():
    return pytest.importorskip("torch", reason="torch is not installed: pip install 'whoknows[gpu]'")


@every_model
@pytest.mark.parametrize(("precision", "atol"), [("float64", 1e-8), ("float32", 1e-4)])
def test_tensors_give_the_answers_of_arrays(make, precision, atol, torch):
    expected = answers(make().fit(X.astype(float), Y), X, NEW.astype(float))
    x, new = (torch.as_tensor(part, dtype=getattr(torch, precision)) for part in (X, NEW))
    assert_alike(answers(make().fit(x, Y), x, new), expected, atol)
    assert_alike(answers(make(device="cpu").fit(X.astype(float), Y), X, NEW.astype(float)), expected, 1e-8)


THREE = np.where(np.isnan(Y), np.nan, np.where(X[:, :1] > np.median(X[:, 0]), 2.0, Y))
ON_THE_PROCESSOR = {
    "three classes": (lambda: CrowdClassifier("id", map="linear", tol=1e-4), THREE),
    "auto, three classes": (lambda: AutoCrowdClassifier(members=MEMBERS[:2], tol=1e-4), THREE),
    "em": (lambda: CrowdClassifier("id", map="linear", solver="em"), Y),
    "crossfit": (lambda: CrowdClassifier("id", map="linear", solver="crossfit", tol=1e-4), Y),
    "gp": (lambda: CrowdClassifier("gp", tol=1e-3), np.where(np.arange(len(X))[:, None] < 80, Y, np.nan)),
    "ordered": (lambda: CrowdClassifier("ordered", map="linear", tol=1e-4), THREE),
}


@pytest.mark.parametrize("which", ON_THE_PROCESSOR)
def test_tensors_are_welcome_where_fits_are_computed_on_the_processor(which, torch):
    make, said = ON_THE_PROCESSOR[which]
    expected = answers(make().fit(X.astype(float), said), X, NEW.astype(float))
    x, new = (torch.as_tensor(part, dtype=torch.float64) for part in (X, NEW))
    model = make().fit(x, said)
    assert_alike(answers(model, x, new), expected, 1e-6)
    np.testing.assert_allclose(model.posterior(x, said), expected[0], atol=1e-6)


def test_weighted_items_on_tensors_are_fitted_again_from_where_the_fit_ended(torch):
    x, weight = torch.as_tensor(X, dtype=torch.float64), np.where(np.arange(len(X)) % 3, 1.0, 2.0)
    model = CrowdClassifier("id", map="linear", warm_start=True, tol=1e-12, max_iter=500)
    first = model.fit(x, Y, sample_weight=weight).posterior_
    np.testing.assert_allclose(model.fit(x, Y, sample_weight=weight).posterior_, first, atol=1e-4)


def test_a_tensor_is_checked_as_an_array_is(torch):
    x = torch.as_tensor(X.copy())
    x[3, 2] = float("nan")
    with pytest.raises(ValueError, match=r"NaN in column 2 \(first in row 3\)"):
        CrowdClassifier().fit(x, Y)
    with pytest.raises(ValueError, match="two dimensions"):
        CrowdClassifier().fit(x[:, 0], Y)


def test_a_gpu_that_is_not_there_is_said_to_be_missing(torch):
    if torch.cuda.is_available():
        assert CrowdClassifier(truth="id", device="cuda").fit(X, Y).posterior_.shape == (len(X), 2)
        return
    with pytest.raises(ValueError, match=r"finds no CUDA device\..*device=None"):
        CrowdClassifier(device="cuda").fit(X, Y)


def test_files_have_one_fingerprint_however_their_folder_is_written(tmp_path, monkeypatch):
    (tmp_path / "X").mkdir()
    parquet.write_table(pa.table({"f": [1.0, 2.0]}), tmp_path / "X" / "a.parquet")
    (tmp_path / "link").symlink_to(tmp_path / "X")
    monkeypatch.chdir(tmp_path)
    found = {fingerprint(ParquetFeatures(path)) for path in ("X", "./X", str(tmp_path / "X"), "link")}
    assert len(found) == 1
