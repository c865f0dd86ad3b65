"""The simulated judges of the benchmark of gold are what it says."""

import numpy as np
import pytest

from benchmarks import gold
from whoknows import CrowdClassifier


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
def test_one_world_is_run():
    results = gold.run("independent", 2, True, 30, 1, [CrowdClassifier])
    assert list(results) == ["vote", "best judge", "LR of votes", "LR of x", "CrowdClassifier"]
    consensus, classifier, error, seconds = results["CrowdClassifier"]
    assert consensus > 0.9
    assert classifier > 0.9
    assert error < 0.1
    assert seconds > 0
