"""scikit-learn's own checks; one-dimensional y is one annotator."""

import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.utils.estimator_checks import parametrize_with_checks

from tests.estimators.worlds import not_ours
from whoknows import AutoCrowdClassifier, CrowdClassifier
from whoknows.estimators.auto.members import Member

ESTIMATORS = [
    AutoCrowdClassifier(members=[Member("linear", 10.0, True), Member("spectral", 10.0, False)]),
    CrowdClassifier(truth="id"),
    CrowdClassifier(truth="lgp"),
    CrowdClassifier(truth="gp"),
    CrowdClassifier(truth="ordered"),
    CrowdClassifier(truth="id", map="spectral"),
    CrowdClassifier(truth="lgp", map="linear", solver="em"),
    CrowdClassifier(truth="id", annotators="bernoulli", map="linear", solver="lbfgs"),
    CrowdClassifier(truth=LogisticRegression(max_iter=1000)),
]


# The checks shorten fits to a few iterations; that such a fit says so is tested elsewhere.
@pytest.mark.filterwarnings("ignore::whoknows.fit.monitor.DidNotConverge")
@parametrize_with_checks(ESTIMATORS, expected_failed_checks=not_ours)
def test_scikit_learn_finds_nothing_to_object_to(estimator, check):
    check(estimator)
