"""The simulated judges of the benchmark of gold are what it says."""

import numpy as np
import pytest

from benchmarks import gold


def test_judges_of_each_world():
    _, labels, z = gold.draw("trap", 2, True, 0)
    right = np.mean(labels == z[:, None], axis=0)
    assert right[0] > 0.8
    assert np.all(right[1:] < 0.65)
    _, labels, z = gold.draw("blocks", 3, False, 0)
    right = np.mean(labels == z[:, None], axis=0)
    assert right[:4].min() > 0.7 > 0.6 > right[4:].max()
    assert gold.draw("groups", 2, False, 0)[1].shape[1] == 25


@pytest.mark.filterwarnings("ignore:gold contradicts every annotator")
def test_one_draw_has_a_row_of_each_method():
    methods = [method for method in gold.METHODS if method != "AutoCrowdClassifier"]
    rows = gold.work(("independent", 2, "telling", 0), methods)
    assert [row["method"] for row in rows] == methods
    assert all(set(row) <= {"method", *gold.VALUES} for row in rows)
    (ours,) = (row for row in rows if row["method"] == "CrowdClassifier")
    assert ours["consensus"] > 0.9
    assert ours["classifier"] > 0.9
    assert ours["expertise_error"] < 0.1
    assert ours["cpu_seconds"] > 0
