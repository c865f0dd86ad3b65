"""ROC curves from the order of the test items."""

import numpy as np
import pytest
from sklearn.metrics import roc_auc_score

from benchmarks.paper import roc


def test_order_is_highest_first_with_ties_in_brackets():
    positive, score = np.array([1, 0, 1, 0, 1]), np.array([0.9, 0.1, 0.5, 0.5, 0.7])
    assert roc.order(positive == 1, score) == "11(01)0"


def test_curve_goes_up_on_positives_and_right_on_negatives():
    false, true = roc.curve("1(01)0")
    assert false.tolist() == [0, 0, 0.5, 1]
    assert true.tolist() == [0, 0.5, 1, 1]


@pytest.mark.parametrize("seed", range(5))
def test_area_is_the_auc(seed):
    rng = np.random.default_rng(seed)
    positive, score = rng.random(30) < 0.4, rng.integers(8, size=30) / 8  # many ties
    assert roc.area(roc.order(positive, score)) == pytest.approx(roc_auc_score(positive, score))


def test_a_constant_score_gives_the_diagonal():
    assert roc.average(["(0011)"]) == pytest.approx(roc.GRID, abs=1e-6)


def test_curves_are_averaged_through_the_midpoints_of_their_steps():
    assert roc.average(["10", "01"])[[0, 50, 100]].tolist() == [0, 0.5, 1]
    # Steps at heights 1/2 and 1, with midpoints at 1/4 and 3/4.
    assert roc.average(["1010"])[[0, 25, 50, 75, 100]].tolist() == pytest.approx([0, 0.5, 0.75, 1, 1])
