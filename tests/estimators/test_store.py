"""Model files: the same model after the round trip, in any process; saved whole or not at all."""

import copy
import io
import json
import pickle
import signal
import subprocess
import sys
import zipfile
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.exceptions import NotFittedError

from tests.estimators.store_models import (
    LATER,
    MODELS,
    NEAR,
    PEOPLE,
    TWO,
    UNSURE,
    X,
    answers,
    assert_same,
    expected,
    fitted,
)
from whoknows import (
    Annotations,
    AutoCrowdClassifier,
    BernoulliAnnotators,
    CrowdClassifier,
    CrowdRegressor,
    PrecomputedGraph,
    SpectralMap,
    load,
)
from whoknows.estimators.persistence import model_file as archive
from whoknows.estimators.persistence.model_file import save
from whoknows.io import FileError

ROOT = Path(__file__).parents[2]
every_model = pytest.mark.parametrize("name", MODELS)

# --- the same model ----------------------------------------------------------------------------------


@every_model
def test_round_trip_changes_nothing(name, tmp_path):
    model = fitted(name)
    model.save(tmp_path / "model.whoknows")
    again = load(tmp_path / "model.whoknows")
    assert type(again) is type(model)
    assert repr(again) == repr(model)
    assert_same(expected(name), answers(again, name))
    again.save(tmp_path / "again.whoknows")
    assert (tmp_path / "again.whoknows").read_bytes() == (tmp_path / "model.whoknows").read_bytes()


def test_a_model_of_many_classes_keeps_its_intervals(tmp_path):
    """Beyond some classes, distributions of wrong labels have no covariance."""
    z = np.arange(120) % 13
    said = np.where(np.random.default_rng(0).random((120, 3)) < 0.8, z[:, None], (z[:, None] + 1) % 13)
    model = CrowdClassifier().fit(np.eye(13)[z], said)
    n_columns = model._pair.solution.annotators.mean.shape[1]
    assert model._pair.covariances.annotators.shape[1] == n_columns - 13**2
    model.save(tmp_path / "model.whoknows")
    mine, theirs = (each.ranking() for each in (model, load(tmp_path / "model.whoknows")))
    np.testing.assert_array_equal(mine.low, theirs.low)


@pytest.mark.parametrize("name", [name for name in MODELS if MODELS[name][1] in (TWO, UNSURE)])
def test_update_goes_on_from_a_loaded_model(name, tmp_path):
    model = copy.deepcopy(fitted(name))
    model.save(tmp_path / "model.whoknows")
    again = load(tmp_path / "model.whoknows")
    assert_same(answers(model.update(X, LATER), name), answers(again.update(X, LATER), name))
    assert again.annotators_.tolist() == [*PEOPLE, "dora"]


IN_ANOTHER_PROCESS = """
import sys
import numpy as np
from tests.estimators.store_models import MODELS, answers
from whoknows import load
for number, name in enumerate(MODELS):
    model = load(f"{sys.argv[1]}/{number}.whoknows")
    np.savez(f"{sys.argv[1]}/{number}.npz", **answers(model, name))
"""


def test_another_process_gets_the_same_answers(tmp_path):
    for number, name in enumerate(MODELS):
        fitted(name).save(tmp_path / f"{number}.whoknows")
    subprocess.run([sys.executable, "-c", IN_ANOTHER_PROCESS, tmp_path], cwd=ROOT, check=True)
    for number, name in enumerate(MODELS):
        with np.load(tmp_path / f"{number}.npz") as theirs:
            assert_same(expected(name), dict(theirs))


def test_ids_of_every_kind_come_back_as_they_were(tmp_path):
    ids = [("a", 1), 10**30, "x" * 2000, "ends in zero\0", -0.5, "Ω", "naïve \U0001f600", "half \ud800"]
    names = Annotations.from_arrays(ids * 2, [("w", 0)] * 8 + [7] * 8, [0, 1] * 8, items=ids)
    frame = pd.DataFrame(X[:8], columns=["weight", "length", "größe"])
    model = CrowdClassifier("id", map="linear").fit(frame, names)
    model.save(tmp_path / "model.whoknows")
    again = load(tmp_path / "model.whoknows")
    assert again._training_data.annotations == model._training_data.annotations
    assert again.annotators_.tolist() == model.annotators_.tolist() == [("w", 0), 7]
    assert again.feature_names_in_.tolist() == list(frame.columns)
    assert again.feature_names_in_.dtype == model.feature_names_in_.dtype == object


def test_settings_that_are_sparse_matrices_come_back_row_by_row(tmp_path):
    model = copy.deepcopy(fitted("brought, gp"))
    model.truth.graph.weights = sp.coo_array(NEAR)
    model.save(tmp_path / "model.whoknows")
    weights = load(tmp_path / "model.whoknows").truth.graph.weights
    assert isinstance(weights, sp.csr_array)
    assert np.array_equal(weights.toarray(), NEAR)


def test_what_members_share_is_written_once(tmp_path):
    model = fitted("auto")
    model.save(tmp_path / "all.whoknows")
    for number, member in enumerate(model.members_):
        member.save(tmp_path / f"{number}.whoknows")
    alone = sum((tmp_path / f"{number}.whoknows").stat().st_size for number in range(len(model.members_)))
    assert (tmp_path / "all.whoknows").stat().st_size < alone
    again = load(tmp_path / "all.whoknows")
    assert again.members_[0]._training_data.annotations.items is again.members_[1]._training_data.annotations.items


def test_arrays_of_a_loaded_model_cannot_be_written_to(tmp_path):
    fitted().save(tmp_path / "model.whoknows")
    with pytest.raises(ValueError, match="read-only"):
        load(tmp_path / "model.whoknows").posterior_[0] = 1


def test_a_file_is_plain_json_and_arrays_packed_where_it_pays(tmp_path):
    path = tmp_path / "model.whoknows"
    fitted("auto").save(path)
    with zipfile.ZipFile(path) as file:
        infos = {info.filename: info for info in file.infolist()}
        content = json.loads(file.read("model.json"), parse_constant=pytest.fail)
        arrays = [np.load(io.BytesIO(file.read(f"arrays/{n}.npy"))) for n in range(len(content["arrays"]))]
    assert list(content) == ["format", "version", "whoknows", "arrays", "objects"]
    assert content["objects"][-1]["class"] == "AutoCrowdClassifier"
    assert {info.date_time for info in infos.values()} == {(1980, 1, 1, 0, 0, 0)}
    ways = {array.dtype.kind: set() for array in arrays}
    for number, array in enumerate(arrays):
        info = infos[f"arrays/{number}.npy"]
        assert info.compress_size <= info.file_size <= archive.MOST_PACKED * info.compress_size
        ways[array.dtype.kind].add(info.compress_type)
    assert zipfile.ZIP_DEFLATED in ways["i"]
    assert zipfile.ZIP_STORED in ways["f"]


def test_what_packs_suspiciously_well_is_not_packed(tmp_path):
    model = copy.deepcopy(fitted())
    model.bound_history_ = [0.0] * 200_000
    model._pair = replace(model._pair, history=model.bound_history_)
    model.save(tmp_path / "model.whoknows")
    assert (tmp_path / "model.whoknows").stat().st_size > 1_000_000
    assert load(tmp_path / "model.whoknows").bound_history_ == model.bound_history_


def test_where_a_model_was_fitted_and_what_a_user_added_is_not_saved(tmp_path):
    model = copy.deepcopy(fitted()).set_params(engine="tcp://here:8786", device="cuda")
    model.mine = 3
    model.save(tmp_path / "model.whoknows")
    again = load(tmp_path / "model.whoknows")
    assert (again.engine, again.device, hasattr(again, "mine")) == (None, None, False)


# --- writing -----------------------------------------------------------------------------------------


class OwnAnnotators(BernoulliAnnotators):
    """A piece of the user's."""


def test_only_a_fitted_model_can_be_saved(tmp_path):
    for model in (CrowdClassifier(), CrowdRegressor(), AutoCrowdClassifier()):
        with pytest.raises(NotFittedError, match=f"This {type(model).__name__} is not fitted yet, so there is"):
            model.save(tmp_path / "model.whoknows")
    with pytest.raises(TypeError, match="one of CrowdClassifier, CrowdRegressor, AutoCrowdClassifier; got str"):
        save("model", tmp_path / "model.whoknows")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("setting", "words"),
    [
        ({"annotators": OwnAnnotators()}, "CrowdClassifier.annotators, a OwnAnnotators"),
        ({"random_state": np.random.RandomState(0)}, "random_state, a RandomState.*an int as random_state"),
        ({"map": SpectralMap(PrecomputedGraph(NEAR.astype(complex)))}, "weights, an array of complex128"),
        ({"levels": pd.Index(["a"])}, "CrowdClassifier.levels, a Index"),
        ({"levels": [[pickle]]}, r"CrowdClassifier.levels\[0\]\[0\], a module"),
    ],
)
def test_what_a_file_cannot_hold_is_named_and_the_old_file_stays(setting, words, tmp_path):
    path = tmp_path / "model.whoknows"
    path.write_text("old")
    with pytest.raises(FileError, match=words):
        copy.deepcopy(fitted()).set_params(**setting).save(path)
    assert path.read_text() == "old"
    assert len(list(tmp_path.iterdir())) == 1


def test_settings_that_hold_themselves_are_refused(tmp_path):
    levels = []
    levels.append(levels)
    with pytest.raises(FileError, match="nested so deep"):
        copy.deepcopy(fitted()).set_params(levels=levels).save(tmp_path / "model.whoknows")


def test_a_folder_that_is_not_there_is_a_file_problem(tmp_path):
    with pytest.raises(FileError, match="cannot be written"):
        fitted().save(tmp_path / "nowhere" / "model.whoknows")


def test_a_model_too_large_to_be_loaded_is_not_saved(tmp_path, monkeypatch):
    monkeypatch.setattr(archive, "LIMIT", 10_000)
    with pytest.raises(FileError, match="cannot hold a model of this size"):
        fitted().save(tmp_path / "model.whoknows")
    assert list(tmp_path.iterdir()) == []


KILLED_WHILE_WRITING = """
import os, signal, sys, zipfile
from whoknows import load
model = load(sys.argv[1])
model.graph_ = "newer"
write = zipfile.ZipFile.writestr
def killed_at_the_third(archive, info, data):
    write(archive, info, data)
    archive.fp.flush()
    if len(archive.namelist()) == 3:
        os.kill(os.getpid(), signal.SIGKILL)
zipfile.ZipFile.writestr = killed_at_the_third
model.save(sys.argv[1])
"""


def test_a_killed_run_leaves_the_old_file_whole(tmp_path):
    path = tmp_path / "model.whoknows"
    fitted().save(path)
    before = path.read_bytes()
    run = subprocess.run([sys.executable, "-c", KILLED_WHILE_WRITING, path], cwd=ROOT, check=False)
    assert run.returncode == -signal.SIGKILL
    assert [left.suffix for left in tmp_path.iterdir() if left != path] == [".part"]
    assert path.read_bytes() == before
    assert load(path).graph_ != "newer"
