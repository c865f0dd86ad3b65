"""Model files with a classifier as truth that are refused, or need what is not there."""

import io
import json
import sys
import zipfile

import numpy as np
import pytest
from sklearn.naive_bayes import GaussianNB

import whoknows
from tests.estimators.test_any_classifier import board, fitted
from whoknows import CrowdClassifier
from whoknows.estimators.persistence.objects import digest
from whoknows.io.errors import FileError


def test_types_that_nobody_trusts_are_refused_by_name(tmp_path):
    path = tmp_path / "model.whoknows"
    fitted("forest").save(path)
    with pytest.raises(FileError, match=r"skops does not trust.*trusted=\['sklearn.tree._tree.Tree'\]"):
        whoknows.load(path)


def test_three_classes_and_gold_are_saved(tmp_path):
    X, Y, Z = board(5, n=120, labelled=100, n_classes=3)
    model = CrowdClassifier(GaussianNB()).fit(X, Y, gold={101: int(Z[101])})
    model.save(tmp_path / "model.whoknows")
    again = whoknows.load(tmp_path / "model.whoknows")
    np.testing.assert_array_equal(again.predict_proba(X), model.predict_proba(X))
    np.testing.assert_array_equal(again.posterior_, model.posterior_)
    again.update(X, Y)


def test_without_skops_the_error_says_what_to_install(monkeypatch, tmp_path):
    monkeypatch.setitem(sys.modules, "skops", None)
    monkeypatch.setitem(sys.modules, "skops.io", None)
    with pytest.raises(FileError, match=r"pip install 'whoknows\[skops\]'"):
        fitted("bayes").save(tmp_path / "model.whoknows")
    assert not list(tmp_path.iterdir())


def test_what_skops_cannot_hold_is_refused_by_name(tmp_path):
    X, Y, _ = board(6, n=60, labelled=60)
    model = CrowdClassifier(GaussianNB()).fit(X, Y)
    model.truth_classifier_.extra_ = (number for number in [1.0])
    with pytest.raises(FileError, match="cannot hold GaussianNB"):
        model.save(tmp_path / "model.whoknows")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("content", ["no archive", "Python objects", "an array that is too short"])
def test_a_forged_classifier_with_the_right_checksum_is_refused(content, tmp_path):
    path = tmp_path / "model.whoknows"
    fitted("bayes").save(path)
    members = read_zip(path.read_bytes())
    name = max(name for name in members if name.startswith("classifiers/"))
    members[name] = b"PK no archive" if content == "no archive" else forged(members[name], content)
    path.write_bytes(write_zip(with_checksums(members)))
    with pytest.raises(FileError, match=r"model\.whoknows: "):
        whoknows.load(path)


def forged(classifier, content):
    """An archive of skops with another array in place of its first."""
    members, file = read_zip(classifier), io.BytesIO()
    np.save(file, np.array([None]) if content == "Python objects" else np.zeros(40), allow_pickle=True)
    array = min(name for name in members if name.endswith(".npy"))
    members[array] = file.getvalue() if content == "Python objects" else file.getvalue()[:-8]
    return write_zip(members)


def with_checksums(members):
    content = json.loads(members["model.json"])
    names = [f"classifiers/{number}.skops" for number in range(len(content["classifiers"]))]
    content["classifiers"] = [digest(members[name]) for name in names]
    text = json.dumps(content).encode()
    return members | {"model.json": text, "model.sha256": digest(text).encode()}


def read_zip(data):
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def write_zip(members):
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        for name, data in members.items():
            archive.writestr(name, data)
    return file.getvalue()
