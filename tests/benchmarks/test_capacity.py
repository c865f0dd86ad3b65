"""The benchmark of worlds whose truth is no smooth line."""

import numpy as np
import pytest

from benchmarks import capacity


@pytest.mark.parametrize("name", capacity.SIMULATED)
def test_worlds_repeat_and_have_two_classes(name):
    (X, z), (again, _) = (capacity.world(name, 500, seed=3) for _ in range(2))
    np.testing.assert_array_equal(X, again)
    assert set(np.unique(z)) == {0, 1}


def test_dawid_skene_is_better_than_single_labels():
    z = np.random.default_rng(0).integers(2, size=2_000)
    who, label = capacity.crowd(z, np.random.default_rng(1))
    assert np.mean((capacity.dawid_skene(None, who, label) > 0.5) == z) > np.mean(label == z[:, None]) + 0.05


def test_every_method_has_a_row(monkeypatch, few_members):
    monkeypatch.setattr(capacity, "N_TEST", 200)
    methods = capacity.installed()  # cleanlab may not be
    rows = capacity.work(("sin", 80, 0), methods)
    assert [row["method"] for row in rows] == methods
    assert len(methods) >= 8
    assert all(0.4 < row["classifier"] <= 1 for row in rows)
    assert {"method", *capacity.VALUES} == set(rows[0])
