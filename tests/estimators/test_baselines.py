"""Majority vote, single annotator and Dawid-Skene, each compared with a plain computation."""

import pickle
import re
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, KFold
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC
from sklearn.utils.estimator_checks import parametrize_with_checks

from tests.estimators.worlds import line_world, said_in
from whoknows import Annotations, BernoulliAnnotators, CrowdClassifier, DidNotConverge, GaussianAnnotators
from whoknows.estimators.baselines import DawidSkene, MajorityVoteClassifier, SingleAnnotatorClassifier, ml_original
from whoknows.estimators.baselines.two_step import dawid_skene, majority, votes
from whoknows.fit.monitor import Monitor

EVERYBODY = [MajorityVoteClassifier(), SingleAnnotatorClassifier(0), DawidSkene()]
every_baseline = pytest.mark.parametrize("model", EVERYBODY, ids=lambda model: type(model).__name__)


# The checks shorten fits to a few iterations; the warning is tested below.
@pytest.mark.filterwarnings("ignore::whoknows.fit.monitor.DidNotConverge")
@parametrize_with_checks(
    [
        MajorityVoteClassifier(),
        MajorityVoteClassifier(LinearSVC(), standardize=False),
        SingleAnnotatorClassifier(),
        DawidSkene(),
    ]
)
def test_scikit_learn_estimator_checks(estimator, check):
    check(estimator)


@every_baseline
def test_invalid_standardize_is_an_error(model):
    with pytest.raises(ValueError, match="standardize must be True or False; got 'roots'"):
        clone(model).set_params(standardize="roots").fit([[0.0], [1.0]], [[0], [1]])


def letters(*rows):
    """Return annotations: one string per item, one letter per annotator; a dot is a missing label."""
    return Annotations.from_matrix([[None if c == "." else c for c in row] for row in rows])


def test_votes_equal_a_loop():
    said = said_in(line_world(n_items=30)[1])
    counts = np.zeros((30, 2), dtype=int)
    for item, label in zip(said.item, said.label, strict=True):
        counts[item, label] += 1
    np.testing.assert_array_equal(votes(said), counts)


def test_ties_go_to_the_more_frequent_label_then_to_the_first():
    said = letters("ab", "cc", "bb", "ac", "bc")  # a twice, b and c four times each
    assert said.labels[majority(votes(said))].tolist() == ["b", "c", "b", "c", "b"]
    assert majority(votes(letters("ab", "ba"))).tolist() == [0, 0]


def test_votes_are_weighted_by_confidence():
    rng = np.random.default_rng(0)
    y, sure = rng.integers(2, size=(40, 3)), rng.integers(1, 4, size=(40, 3))
    twice = np.array([[(sure * (y == k))[:, who] for k in (0, 1)] for who in range(3)])
    said = Annotations.from_matrix(y, confidence=sure)
    for model, expected in (
        (MajorityVoteClassifier(), twice.sum(axis=0).T),
        (SingleAnnotatorClassifier(1), twice[1].T),
    ):
        found = model.fit(rng.normal(size=(40, 1)), said).posterior_
        np.testing.assert_allclose(found, expected / expected.sum(axis=1, keepdims=True))


def test_labels_with_zero_weight_are_ignored():
    X, y = [[0.0], [1.0], [2.0]], [[0, 1, 1], [1, 1, 0], [0, 0, 0]]
    said = Annotations.from_matrix(y, confidence=[[1, 0, 0], [1, 1, 1], [1, 1, 1]])
    nan = float("nan")
    for model in (MajorityVoteClassifier(), DawidSkene()):
        found = model.fit(X, said).posterior_
        np.testing.assert_array_equal(found, model.fit(X, [[0, nan, nan], *y[1:]]).posterior_)
        assert found[0].argmax() == 0
    with pytest.raises(ValueError, match="No label counts"):
        MajorityVoteClassifier().fit(X, Annotations.from_matrix(y, confidence=np.zeros((3, 3))))


def test_majority_vote_is_logistic_regression_scaled_over_all_items():
    X, y, _ = line_world()
    seen = ~np.isnan(y).all(axis=1)
    scaled = StandardScaler().fit(X).transform(X)
    by_hand = LogisticRegression(max_iter=1000).fit(scaled[seen], np.nanmean(y[seen], axis=1) > 0.5)
    model = MajorityVoteClassifier().fit(X, y)
    np.testing.assert_allclose(model.predict_proba(X), by_hand.predict_proba(scaled))
    np.testing.assert_array_equal(model.predict(X), by_hand.predict(scaled))


def test_vote_shares_of_labelled_and_unlabelled_items():
    model = MajorityVoteClassifier().fit([[0.0], [1.0], [2.0]], letters("aab", "b..", "..."))
    np.testing.assert_allclose(model.posterior_, [[2 / 3, 1 / 3], [0, 1], [0.5, 0.5]])


def test_any_classifier_can_be_fitted_to_the_vote():
    X, y, z = line_world()
    model = MajorityVoteClassifier(KNeighborsClassifier(3)).fit(X, y)
    assert isinstance(model.estimator_, KNeighborsClassifier)
    assert model.score(X, z) > 0.8
    assert not hasattr(MajorityVoteClassifier(LinearSVC()), "predict_proba")
    assert MajorityVoteClassifier(LinearSVC()).fit(X, y).score(X, z) > 0.8


def test_single_annotator_ignores_the_others():
    X, y, _ = line_world()
    own = ~np.isnan(y[:, 2])
    scaled = StandardScaler().fit(X).transform(X)
    by_hand = LogisticRegression(max_iter=1000).fit(scaled[own], y[own, 2])
    said = said_in(y, annotators=["anna", "bob", "cleo"])
    model = SingleAnnotatorClassifier("cleo").fit(X, said)
    np.testing.assert_allclose(model.predict_proba(X), by_hand.predict_proba(scaled))
    np.testing.assert_array_equal(model.posterior_[own, 1], y[own, 2])
    np.testing.assert_allclose(model.posterior_[~own, 1], y[own, 2].mean())


def test_the_single_annotator_must_have_labels():
    X, y, _ = line_world(n_items=20)
    y[:, 1] = np.nan
    said = said_in(y, annotators=["anna", "bob", "cleo"])
    with pytest.raises(ValueError, match=r"one of those with labels in y; got 'dan'. Known: .*'anna'.*'cleo'"):
        SingleAnnotatorClassifier("dan").fit(X, said)
    with pytest.raises(ValueError, match=r"one of those with labels in y; got None. Known: .*'anna'.*'cleo'"):
        SingleAnnotatorClassifier().fit(X, said)
    with pytest.raises(ValueError, match=r"one of those with labels in y; got 'bob'. Known: .*'anna'"):
        SingleAnnotatorClassifier("bob").fit(X, said)


def test_a_single_class_is_predicted_everywhere():
    X = [[0.0], [1.0], [2.0]]
    model = SingleAnnotatorClassifier(1).fit(X, [[0, 1], [0, 1], [1, 1]])
    assert model.predict(X).tolist() == [1, 1, 1]
    np.testing.assert_array_equal(model.predict_proba(X), [[0, 1]] * 3)


def test_an_unused_class_has_a_column():
    said = Annotations.from_matrix([["b", "b"], ["d", "d"], ["b", "d"]], labels=["a", "b", "d"])
    prob = MajorityVoteClassifier().fit([[0.0], [2.0], [1.0]], said).predict_proba([[0.0], [2.0]])
    np.testing.assert_array_equal(prob[:, 0], 0)
    assert prob[0, 1] > 0.5
    assert prob[1, 2] > 0.5


# --- Dawid and Skene ----------------------------------------------------------------------------------

CROWDED = letters("aabaa", "bbabb", "cc.c.", "aa.ba", "b.bb.", "ccac.", ".aba.", "ababa", "c.bc.", "bba..")


def steps(said, n):
    """Run exactly n iterations."""
    with pytest.warns(DidNotConverge):
        return dawid_skene(said, Monitor(n, 0.0, stop="parameters"))


def test_dawid_skene_equals_crowd_kit():
    """crowdkit.aggregation.DawidSkene(n_iter=3, tol=-inf) of crowd-kit 1.4.2 on the same labels, six digits.

    Both start at the vote shares and smooth nothing, so every iteration agrees, not only the end.
    """
    posterior, prior, confusion = steps(CROWDED, 3)
    first = [0.999998, 0, 0, 0.997794, 0.080281, 0, 0.999974, 0.131576, 0, 0.001601]
    np.testing.assert_allclose(posterior[:, 0], first, atol=1e-6)
    np.testing.assert_allclose(posterior[:, 2], [0, 0, 1, 0, 0, 1, 0, 0, 1, 0], atol=1e-6)
    np.testing.assert_allclose(prior, [0.321122, 0.378878, 0.3], atol=1e-6)
    anna = [[0.96297, 0.03703, 0], [0.229794, 0.770206, 0], [0, 0, 1]]
    cleo = [[0.060168, 0.939832, 0], [0.757103, 0.242897, 0], [0.5, 0.5, 0]]
    ella = [[1, 0, 0], [0.465421, 0.534579, 0], [0.5, 0.5, 0]]  # never used c, and labelled no item of class c
    for position, expected in ((0, anna), (2, cleo), (4, ella)):
        np.testing.assert_allclose(confusion[position], expected, atol=1e-6)


def plain_dawid_skene(said, n):
    """EM in loops over items and annotators."""
    N, T, K = said.n_items, said.n_annotators, said.n_classes
    triples = list(zip(said.item, said.annotator, said.label, strict=True))
    q = votes(said) / votes(said).sum(axis=1, keepdims=True)
    for step in range(n + 1):
        prior = [sum(q[i, k] for i in range(N)) / N for k in range(K)]
        pi = np.zeros((T, K, K))
        for i, t, label in triples:
            for k in range(K):
                pi[t, k, label] += q[i, k]
        pi /= pi.sum(axis=2, keepdims=True)
        if step == n:
            return q, prior, pi
        for i in range(N):
            joint = np.array(prior)
            for j, t, label in triples:
                if i == j:
                    joint = joint * pi[t, :, label]
            q[i] = joint / joint.sum()


def test_dawid_skene_equals_plain_loops():
    rng = np.random.default_rng(0)
    z = rng.integers(3, size=60)
    y = np.where(rng.random((60, 4)) < [0.9, 0.8, 0.6, 0.4], z[:, None], rng.integers(3, size=(60, 4)))
    y = np.where(rng.random(y.shape) < 0.7, y, np.nan)
    y[np.isnan(y).all(axis=1), 0] = 0
    said = Annotations.from_matrix(y)
    for ours, plain in zip(steps(said, 8), plain_dawid_skene(said, 8), strict=True):
        np.testing.assert_allclose(ours, plain, atol=1e-8)


def test_confidence_two_equals_the_label_twice_in_dawid_skene():
    """The log-likelihood of a label is multiplied by its confidence."""
    rng = np.random.default_rng(1)
    y = rng.integers(2, size=(30, 3)).astype(float)
    said = Annotations.from_matrix(y)
    counts = rng.integers(1, 4, said.n_annotations)
    sure = replace(said, confidence=counts.astype(float))
    often = replace(said, **{name: np.repeat(getattr(said, name), counts) for name in ("item", "annotator", "label")})
    for ours, plain in zip(steps(sure, 5), plain_dawid_skene(often, 5), strict=True):
        np.testing.assert_allclose(ours, plain, atol=1e-8)


@pytest.mark.parametrize("seed", range(8))
def test_an_unused_class_has_probability_zero(seed):
    rng = np.random.default_rng(seed)
    z = rng.integers(0, 2, 200)
    y = np.where(rng.random((200, 10)) < 0.7, z[:, None], 1 - z[:, None])
    model = DawidSkene().fit(rng.normal(size=(200, 1)), Annotations.from_matrix(y, labels=[0, 1, 2]))
    assert model.prior_[2] == 0
    assert not model.posterior_[:, 2].any()


def test_the_likelihood_increases_to_a_maximum():
    X, y, z = line_world(n_items=300, accuracies=(0.9, 0.8, 0.7, 0.3), share_labelled=0.8)
    model = DawidSkene(tol=1e-10, max_iter=1000).fit(X, y)
    assert np.diff(model.bound_history_).min() > -1e-6
    assert model.n_iter_ == len(model.bound_history_)
    right = model.confusion_[:, [0, 1], [0, 1]]
    np.testing.assert_allclose(right, np.transpose([[0.9, 0.8, 0.7, 0.3]] * 2), atol=0.12)
    labelled = ~np.isnan(y).all(axis=1)
    assert np.mean(model.posterior_[labelled].argmax(axis=1) == z[labelled]) > 0.9
    np.testing.assert_allclose(model.posterior_[~labelled], np.tile(model.prior_, (sum(~labelled), 1)))


def test_smoothing_adds_pseudo_counts_and_its_bound_increases():
    X, y, _ = line_world(n_items=40, accuracies=(0.9, 0.8, 0.7))
    model = DawidSkene(smoothing=2.0, tol=1e-12, max_iter=2000).fit(X, y)
    assert np.diff(model.bound_history_).min() > -1e-9
    labelled = ~np.isnan(y).all(axis=1)
    counts = np.array([model.posterior_[labelled & (y[:, 0] == label)].sum(axis=0) for label in (0, 1)]).T + 2
    np.testing.assert_allclose(model.confusion_[0], counts / counts.sum(axis=1, keepdims=True))
    with pytest.raises(ValueError, match="smoothing must be a number of 0 or more; got -1"):
        DawidSkene(smoothing=-1).fit(X, y)


def test_reaching_max_iter_warns():
    X, y, _ = line_world()
    with pytest.warns(DidNotConverge, match="max_iter=1 "):
        DawidSkene(max_iter=1).fit(X, y)


def test_confusion_of_an_annotator_without_labels_is_uniform():
    X, y, _ = line_world()
    y[:, 1] = np.nan
    model = DawidSkene().fit(X, y)
    np.testing.assert_array_equal(model.confusion_[1], [[0.5, 0.5], [0.5, 0.5]])


def test_many_labels_per_item_do_not_underflow():
    rng = np.random.default_rng(0)
    z = np.array([0, 1] * 4)
    y = np.where(rng.random((8, 3000)) < 0.6, z[:, None], 1 - z[:, None])
    model = DawidSkene().fit(z[:, None].astype(float), y)
    assert np.isfinite(model.posterior_).all()
    np.testing.assert_array_equal(model.posterior_.argmax(axis=1), z)


def test_the_classifier_is_fitted_to_classes_weighted_by_probability():
    X, y, _ = line_world()
    model = DawidSkene().fit(X, y)
    seen = ~np.isnan(y).all(axis=1)
    scaled = StandardScaler().fit(X).transform(X)
    twice, weight = np.vstack([scaled[seen]] * 2), model.posterior_[seen].T.ravel()
    by_hand = LogisticRegression(max_iter=1000).fit(twice, np.repeat([0, 1], sum(seen)), sample_weight=weight)
    np.testing.assert_allclose(model.predict_proba(X), by_hand.predict_proba(scaled), atol=1e-4)


def test_weights_reach_the_last_step_of_a_pipeline():
    X, y, _ = line_world()
    piped = make_pipeline(StandardScaler(), make_pipeline(LogisticRegression()))
    plain = DawidSkene(LogisticRegression()).fit(X, y).predict(X)
    assert np.mean(DawidSkene(piped).fit(X, y).predict(X) == plain) > 0.95
    with pytest.raises(ValueError, match=r"KNeighborsClassifier.fit takes no sample_weight. Use one that does"):
        DawidSkene(make_pipeline(StandardScaler(), KNeighborsClassifier())).fit(X, y)


# --- all baselines -----------------------------------------------------------------------------------


@every_baseline
def test_label_types_and_item_order_do_not_matter(model):
    X, y, z = line_world()
    words = np.array(["no", "yes"], dtype=object)
    named = Annotations.from_matrix(np.where(np.isnan(y), None, words[np.nan_to_num(y).astype(int)]))
    expected = words[clone(model).fit(X, y).predict(X)]
    np.testing.assert_array_equal(clone(model).fit(X, named).predict(X), expected)
    order = np.random.default_rng(0).permutation(len(X))
    shuffled = clone(model).fit(X[order], named[order])
    np.testing.assert_allclose(shuffled.posterior_, clone(model).fit(X, named).posterior_[order])
    assert np.mean(expected == words[z]) > 0.8


@every_baseline
def test_score_is_accuracy_or_agreement_with_the_majority_vote(model):
    X, y, z = line_world()
    said = said_in(y)
    fitted = clone(model).fit(X, said)
    predicted = fitted.predict(X)
    assert fitted.score(X, z) == np.mean(predicted == z)
    vote = said.labels[majority(votes(said))]
    assert fitted.score(X, said) == np.mean((predicted == vote)[said.labelled])
    assert fitted.score(X, y) == fitted.score(X, said)
    with pytest.raises(ValueError, match="sample_weight requires true labels"):
        fitted.score(X, said, sample_weight=np.ones(len(X)))
    with pytest.raises(ValueError, match="y has 2 columns; the model knows 3 annotators"):
        fitted.score(X, y[:, :2])
    with pytest.raises(ValueError, match="needs at least one label"):
        fitted.score(X, np.full_like(y, np.nan))


def test_parameters_can_be_chosen_without_true_labels():
    X, y, z = line_world()
    search = GridSearchCV(MajorityVoteClassifier(LogisticRegression()), {"estimator__C": [1e-6, 1.0]}, cv=KFold(3))
    assert search.fit(X, said_in(y)).best_params_ == {"estimator__C": 1.0}
    assert np.mean(search.predict(X) == z) > 0.8


@every_baseline
def test_input_errors_equal_those_of_crowd_classifier(model):
    X, y, _ = line_world(n_items=20)
    holed = X.copy()
    holed[7, 1] = np.nan
    for bad in ((holed, y), (X, y[:-1]), (X, np.full_like(y, np.nan)), (X, np.where(np.isnan(y), np.nan, 1))):
        with pytest.raises(ValueError, match=r"\w") as by_crowd:
            CrowdClassifier().fit(*bad)
        with pytest.raises(ValueError, match=f"^{re.escape(str(by_crowd.value))}$"):
            clone(model).fit(*bad)


@every_baseline
def test_feature_names_are_stored_and_a_fitted_model_can_be_pickled(model):
    X, y, _ = line_world()
    frame = pd.DataFrame(X, columns=["age", "dose"])
    fitted = clone(model).fit(frame, y)
    assert fitted.feature_names_in_.tolist() == ["age", "dose"]
    assert fitted.annotators_.tolist() == [0, 1, 2]
    again = pickle.loads(pickle.dumps(fitted))
    np.testing.assert_array_equal(again.predict_proba(frame), fitted.predict_proba(frame))


@every_baseline
def test_a_failed_fit_keeps_the_previous_one(model):
    X, y, _ = line_world()
    fitted = clone(model).fit(X, y)
    before = fitted.predict_proba(X)
    silent = replace(said_in(y), item=np.zeros(0, int), annotator=np.zeros(0, int), label=np.zeros(0, int))
    with pytest.raises(ValueError, match="has a label"):
        fitted.fit(X, silent)
    np.testing.assert_array_equal(fitted.predict_proba(X), before)


@pytest.mark.parametrize(("kind", "annotators"), [("bernoulli", BernoulliAnnotators), ("gaussian", GaussianAnnotators)])
def test_ml_original_has_constant_expertise(kind, annotators):
    X, y, z = line_world(accuracies=(0.95, 0.8, 0.55))
    model = ml_original(kind)
    assert isinstance(model.annotators, annotators)
    fitted = model.fit(X, y)
    assert fitted.score(X, z) > 0.85
    expertise = fitted.expertise(X)
    np.testing.assert_allclose(expertise, np.tile(expertise[0], (len(X), 1)))
    assert expertise[0, 0] > expertise[0, 2]


def test_ml_original_refuses_other_kinds():
    with pytest.raises(ValueError, match=r"kind must be one of \('bernoulli', 'gaussian'\); got 'probit'"):
        ml_original("probit")
