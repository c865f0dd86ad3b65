"""A fit that fails leaves its estimator as it was."""

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone

from tests.estimators.worlds import line_world
from whoknows import AutoCrowdClassifier, CrowdClassifier, CrowdRegressor
from whoknows.estimators.auto.members import Member
from whoknows.estimators.baselines import MajorityVoteClassifier


@pytest.mark.parametrize(
    "model",
    [
        CrowdClassifier("id"),
        CrowdRegressor(),
        AutoCrowdClassifier(members=[Member("linear", 1.0, False)]),
        MajorityVoteClassifier(),
    ],
    ids=lambda model: type(model).__name__,
)
def test_a_fit_that_fails_leaves_the_columns_of_the_one_before(model):
    X, y, _ = line_world(40)
    frame = pd.DataFrame(X, columns=[f"column {i}" for i in range(X.shape[1])])
    before = model.fit(frame, y).predict(frame)
    with pytest.raises((ValueError, TypeError), match=r"two are needed|numbers"):
        model.fit(np.ones((40, 1)), np.full((40, 3), "yes"))
    np.testing.assert_array_equal(model.predict(frame), before)
    assert model.feature_names_in_.tolist() == frame.columns.tolist()
    assert "n_features_in_" in vars(model)
    fresh = clone(model)
    with pytest.raises((ValueError, TypeError), match=r"two are needed|numbers"):
        fresh.fit(np.ones((40, 1)), np.full((40, 3), "yes"))
    assert "n_features_in_" not in vars(fresh)
