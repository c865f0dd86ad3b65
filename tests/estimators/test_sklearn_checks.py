"""scikit-learn's own checks; one-dimensional y is one annotator."""

import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.utils.estimator_checks import parametrize_with_checks

from tests.estimators.worlds import not_ours
from whoknows import AutoCrowdClassifier, CrowdClassifier
from whoknows.estimators.auto.members import Member

# Few iterations: the checks are of the interface, and of a classifier that is better than guessing.
ESTIMATORS = [
    AutoCrowdClassifier(members=[Member("linear", 10.0, True), Member("spectral", 10.0, False)], folds=2, max_iter=2),
    CrowdClassifier(truth="id", max_iter=2),
    CrowdClassifier(truth="lgp", max_iter=2),
    CrowdClassifier(truth="gp", max_iter=2),
    CrowdClassifier(truth="ordered", max_iter=20),
    CrowdClassifier(truth="id", map="spectral", max_iter=2),
    CrowdClassifier(truth="lgp", map="linear", solver="em", max_iter=2),
    CrowdClassifier(truth="id", annotators="bernoulli", map="linear", solver="lbfgs", max_iter=2),
    CrowdClassifier(truth=LogisticRegression(C=0.1, tol=0.1, max_iter=1000), max_iter=2),
]


# The checks shorten fits to a few iterations; that such a fit says so is tested elsewhere.
@pytest.mark.filterwarnings("ignore::whoknows.fit.monitor.DidNotConverge")
@parametrize_with_checks(ESTIMATORS, expected_failed_checks=not_ours)
def test_scikit_learn_finds_nothing_to_object_to(estimator, check):
    check(estimator)
