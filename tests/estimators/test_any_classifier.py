"""Any scikit-learn classifier as the truth: every container of X, every answer, and no self-confirmation."""

from dataclasses import replace
from functools import cache

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
import sklearn
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.ensemble import BaggingClassifier, HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.exceptions import NotFittedError
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, KFold
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, LinearSVC
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils.fixes import parse_version
from sklearn.utils.validation import check_is_fitted

from whoknows import Annotations, BernoulliAnnotators, CrowdClassifier, load
from whoknows.data.errors import InputError
from whoknows.estimators import with_classifier
from whoknows.estimators.inputs.any_classifier import cross_fit
from whoknows.estimators.inputs.encoding import TableEncoding, fit_encoding
from whoknows.estimators.inputs.raw_rows import RawRows, row_keys
from whoknows.estimators.with_classifier import fold_of
from whoknows.fit import engines
from whoknows.insight.summary import summarize
from whoknows.model.settings import NotCompatible

N, LABELLED = 240, 200  # items, and those with labels
TREES = HistGradientBoostingClassifier(max_iter=25, min_samples_leaf=5, early_stopping=False)
CONSTANT = BernoulliAnnotators(varies_with_x=False)


def board(seed=0, n=N, labelled=LABELLED, n_classes=2):
    """A board of 3 × 3 fields in two of three columns, which no line separates, and four annotators."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(size=(n, 3))
    z = (3 * X[:, :2]).astype(int).sum(axis=1) % n_classes
    wrong = (z[:, None] + rng.integers(1, n_classes, size=(n, 4))) % n_classes
    y = np.where(rng.random((n, 4)) < [0.9, 0.8, 0.75, 0.85], z[:, None], wrong).astype(float)
    y[rng.random((n, 4)) < 0.2] = np.nan
    y[labelled:] = np.nan
    return X, y, z


X, Y, Z = board()
MISSING = np.where(np.random.default_rng(1).random(X.shape) < 0.05, np.nan, X)
FRAME = pd.DataFrame(
    {
        "place": MISSING[:, 0],
        "field": pd.Categorical(np.array(["left", "middle", "right"])[(3 * X[:, 1]).astype(int)]),
        "noise": X[:, 2],
    }
)
FILLERS = np.random.default_rng(2).choice(["one", "two", "six"], size=(N, 4))
TEXTS = [" ".join(["good fine" if z else "bad poor", *words]) for z, words in zip(Z, FILLERS, strict=True)]
SPARSE = TfidfVectorizer().fit_transform(TEXTS)
BY_DTYPE = clone(TREES).set_params(categorical_features="from_dtype")
CASES = {
    "trees": (TREES, X),
    "forest": (RandomForestClassifier(20), X),
    "bagging": (BaggingClassifier(KNeighborsClassifier(), 5), X),
    "pipeline": (make_pipeline(StandardScaler(), LogisticRegression()), X),
    "calibrated": (CalibratedClassifierCV(SVC(), ensemble=False), X),
    "bayes": (GaussianNB(), X),
    "trees, NaN": (TREES, MISSING),
    "trees, pandas": (BY_DTYPE, FRAME),
    "trees, polars": (BY_DTYPE, pl.from_pandas(FRAME)),
    "linear, sparse": (LogisticRegression(), SPARSE),
    "linear, sparse array": (LogisticRegression(), sp.coo_array(SPARSE)),
    "text pipeline": (make_pipeline(TfidfVectorizer(), LogisticRegression()), TEXTS),
    "text pipeline, array": (make_pipeline(TfidfVectorizer(), LogisticRegression()), np.array(TEXTS)),
}
PREDICTOR = "sklearn.ensemble._hist_gradient_boosting.predictor.TreePredictor"
OF_TABLES = [PREDICTOR, "functools.partial", "sklearn.utils.validation.check_array"]
TRUSTED = {  # types that skops must be told to load
    "trees": [PREDICTOR],
    "trees, NaN": [PREDICTOR],
    **dict.fromkeys(["trees, pandas", "trees, polars"], OF_TABLES),
    "forest": ["sklearn.tree._tree.Tree"],
    "bagging": ["sklearn.metrics._dist_metrics.EuclideanDistance64", "sklearn.neighbors._kd_tree.KDTree"],
    "calibrated": ["sklearn.calibration._CalibratedClassifier", "sklearn.calibration._SigmoidCalibration"],
}
NEW = ("bagging", "trees, polars")  # scikit-learn takes these weights and categories since 1.8
if parse_version(sklearn.__version__) < parse_version("1.8"):
    CASES = {name: case for name, case in CASES.items() if name not in NEW}
every_case = pytest.mark.parametrize("name", CASES)


@cache
def fitted(name):
    truth, X = CASES[name]
    return CrowdClassifier(truth).fit(X, Y)


def rows(X, some):
    return RawRows(X.tocsr() if sp.issparse(X) else X)[some].raw


# --- every classifier, every container -----------------------------------------------------------------


@every_case
class TestContract:
    def test_answers_are_probabilities(self, name):
        model, X = fitted(name), CASES[name][1]
        for prob in (model.predict_proba(X), model.posterior(X, Y), model.posterior_):
            assert prob.shape == (N, 2)
            np.testing.assert_allclose(prob.sum(axis=1), 1)
        assert model.expertise(X).shape == (N, 4)
        assert model.score(X, Z) > 0.4
        assert -0.7 < model.score(X, Y) < 0

    def test_the_posterior_of_the_fit_is_that_of_the_same_labels(self, name):
        model = fitted(name)
        np.testing.assert_allclose(model.posterior(CASES[name][1], Y), model.posterior_, atol=1e-12)

    def test_rows_are_answered_one_by_one(self, name):
        model, X = fitted(name), CASES[name][1]
        some = np.array([3, 230, 7])
        np.testing.assert_allclose(model.predict_proba(rows(X, some)), model.predict_proba(X)[some], atol=1e-12)
        np.testing.assert_allclose(model.posterior(rows(X, some), Y[some]), model.posterior_[some], atol=1e-12)

    def test_intervals_hold_the_estimate(self, name):
        model, X = fitted(name), CASES[name][1]
        for estimate, low, high in (
            model.predict_proba(X, return_interval=True),
            model.expertise(X, return_interval=True),
        ):
            assert np.all((low <= estimate) & (estimate <= high))
            assert np.all(low < high)

    def test_suggestions_ranking_confusion_and_frames(self, name):
        model, X = fitted(name), CASES[name][1]
        assert len(model.to_frame(X, Y, backend="pandas")) == N
        asked = model.suggest(X, Y, 3)
        assert len(asked) == 3
        assert sorted(model.ranking().annotator) == [0, 1, 2, 3]
        np.testing.assert_allclose(model.confusion(0).sum(axis=1), 1)

    def test_the_users_classifier_is_not_fitted(self, name):
        model = fitted(name)
        check_is_fitted(model.truth_classifier_)
        with pytest.raises(NotFittedError):
            check_is_fitted(CASES[name][0])
        assert clone(model).get_params(deep=False).keys() == model.get_params(deep=False).keys()

    def test_a_loaded_model_answers_as_the_saved_one_did(self, name, tmp_path):
        model, X, path = fitted(name), CASES[name][1], tmp_path / "model.whoknows"
        model.save(path)
        again = load(path, trusted=TRUSTED.get(name, ()))
        np.testing.assert_array_equal(again.posterior(X, Y), model.posterior(X, Y))
        np.testing.assert_array_equal(again.expertise(X), model.expertise(X))
        ours, theirs = (each.predict_proba(X, return_interval=True) for each in (again, model))
        np.testing.assert_array_equal(np.array(ours), np.array(theirs))
        assert type(again.truth_classifier_) is type(model.truth_classifier_)


# --- statistics ---------------------------------------------------------------------------------------


def test_trees_see_what_no_line_does():
    X, Y, Z = board(2, n=900, labelled=600)
    model, smooth = CrowdClassifier(TREES).fit(X, Y), CrowdClassifier().fit(X, Y)
    new = slice(600, None)
    assert model.score(X[new], Z[new]) > 0.93
    assert model.score(X[new], Z[new]) > smooth.score(X[new], Z[new]) + 0.05
    right = [np.mean(m.posterior_[:600].argmax(axis=1) == Z[:600]) for m in (model, smooth)]
    assert right[0] > max(right[1], 0.95)


def test_a_classifier_of_noise_is_not_believed():
    """A full-grown tree fits any labels; held-out labels say that it knows nothing."""
    rng = np.random.default_rng(3)
    z = rng.integers(2, size=300)
    y = np.where(rng.random((300, 4)) < [0.9, 0.8, 0.75, 0.85], z[:, None], 1 - z[:, None])
    noise = rng.normal(size=(300, 3))
    model = CrowdClassifier(DecisionTreeClassifier(), CONSTANT).fit(noise, y)
    alone = CrowdClassifier("id", CONSTANT, map="linear").fit(np.zeros((300, 1)), y)
    assert model.truth_classifier_.score(noise, z) > 0.9
    assert model.predict_proba(noise)[:, 1].std() < 0.1
    np.testing.assert_allclose(model.posterior_, alone.posterior_, atol=0.15)


def test_the_labels_of_an_item_do_not_reach_its_own_log_odds():
    raw, prob = RawRows(X), np.random.default_rng(0).dirichlet([1, 1], N)
    folds = fold_of(row_keys(raw), 0)
    changed = prob.copy()
    changed[5] = changed[5, ::-1]
    before, after = (cross_fit(TREES, raw, q, None, folds)[0] for q in (prob, changed))
    mine = folds == folds[5]
    np.testing.assert_array_equal(before[mine], after[mine])
    assert np.abs(before - after).max() > 0


def test_duplicates_share_a_fold():
    folds = fold_of(row_keys(RawRows(np.vstack([X, X]))), 0)
    np.testing.assert_array_equal(folds[:N], folds[N:])
    assert np.bincount(folds).tolist() == [96, 96, 96, 96, 96]


def test_few_distinct_rows_are_in_every_fold():
    kind = np.random.default_rng(5).integers(2, size=300)
    labels = np.where(np.random.default_rng(6).random((300, 3)) < 0.8, kind[:, None], 1 - kind[:, None])
    model = CrowdClassifier(TREES).fit(kind[:, None], labels)
    assert model.predict([[0], [1]]).tolist() == [0, 1]
    assert np.mean(model.posterior_.argmax(axis=1) == kind) > 0.99


def test_the_order_of_the_rows_does_not_matter():
    order = np.random.default_rng(4).permutation(N)
    there, back = fitted("trees"), CrowdClassifier(TREES).fit(X[order], Y[order])
    np.testing.assert_allclose(back.posterior_, there.posterior_[order], atol=1e-6)
    np.testing.assert_allclose(back.predict_proba(X), there.predict_proba(X), atol=1e-6)


def test_an_integer_as_random_state_makes_it_repeat():
    one, other = (CrowdClassifier(RandomForestClassifier(10)).fit(X, Y) for _ in range(2))
    np.testing.assert_array_equal(one.predict_proba(X), other.predict_proba(X))


def test_three_classes_with_names():
    X, Y, Z = board(5, n=500, labelled=400, n_classes=3)
    names = np.array(["ash", "elm", "oak"], dtype=object)
    named = [[None if np.isnan(label) else names[int(label)] for label in row] for row in Y]
    model = CrowdClassifier(TREES).fit(X, named)
    assert model.classes_.tolist() == names.tolist()
    assert np.mean(model.predict(X[400:]) == names[Z[400:]]) > 0.85
    assert np.mean(model.posterior_[:400].argmax(axis=1) == Z[:400]) > 0.95
    estimate, low, high = model.predict_proba(X, return_interval=True)
    assert np.all((low <= estimate) & (estimate <= high))


def test_gold_is_known_and_teaches():
    gold = np.full(N, np.nan)
    gold[LABELLED:] = Z[LABELLED:]  # items without labels
    wrong = next(i for i in range(N) if np.nanmax(Y[i]) != np.nanmin(Y[i]))
    gold[wrong] = Z[wrong]
    model = CrowdClassifier(TREES).fit(X, Y, gold=gold)
    known = np.isfinite(gold)
    np.testing.assert_allclose(model.posterior_[known, Z[known]], 1)
    assert model.score(X[LABELLED:], Z[LABELLED:]) > 0.95


def test_a_weight_of_two_is_the_item_twice():
    twice = np.arange(N) % 3 == 0
    copies = np.repeat(np.arange(N), 1 + twice)
    settings = {"truth": LogisticRegression(), "annotators": CONSTANT, "map": "linear"}
    weighted = CrowdClassifier(**settings).fit(X, Y, sample_weight=1 + twice)
    copied = CrowdClassifier(**settings).fit(X[copies], Y[copies])
    # What an item's own labels are left out of, the other copy is in: so up to a hundredth apart, and read alike.
    for model in (weighted, copied):
        model._pair = replace(model._pair, reading=None)
    np.testing.assert_allclose(weighted.posterior(X, Y)[copies], copied.posterior(X[copies], Y[copies]), atol=1e-2)
    np.testing.assert_allclose(weighted.predict_proba(X), copied.predict_proba(X), atol=1e-3)


def test_expertise_follows_the_map():
    """One annotator is right where x > 0 only; the classifier sees another column."""
    rng = np.random.default_rng(6)
    X = rng.normal(size=(600, 2))
    z = (np.sin(3 * X[:, 1]) > 0).astype(int)
    accuracy = np.column_stack([np.where(X[:, 0] > 0, 0.97, 0.55), *(np.full(600, 0.8),) * 3])
    y = np.where(rng.random((600, 4)) < accuracy, z[:, None], 1 - z[:, None])
    model = CrowdClassifier(TREES, map="linear").fit(X, y)
    low, high = model.expertise([[-1.5, 0.0], [1.5, 0.0]])[:, 0]
    assert high - low > 0.2


# --- what else a fit does -------------------------------------------------------------------------------


def test_settings_of_the_classifier_are_searched_by_held_out_labels():
    X, Y, _ = board(7, n=300, labelled=300)
    search = GridSearchCV(CrowdClassifier(TREES), {"truth__max_depth": [1, 4]}, cv=KFold(2))
    search.fit(X, Annotations.from_matrix(Y))
    assert search.best_params_ == {"truth__max_depth": 4}
    assert search.best_estimator_.truth_classifier_.max_depth == 4
    assert TREES.max_depth is None


def test_an_update_is_a_new_fit():
    """Started from the posterior before, it would confirm itself a little more each time."""
    first = Y.copy()
    first[::7, 0] = np.nan
    model = CrowdClassifier(TREES).fit(X, first).update(X, Y)
    np.testing.assert_allclose(model.posterior_, fitted("trees").posterior_, atol=1e-9)
    np.testing.assert_allclose(model.predict_proba(X), fitted("trees").predict_proba(X), atol=1e-9)


def test_a_warm_start_needs_fewer_rounds(monkeypatch):
    calls = []
    monkeypatch.setattr(with_classifier, "cross_fit", lambda *a: calls.append(a) or cross_fit(*a))
    model = CrowdClassifier(TREES, warm_start=True).fit(X, Y)
    cold = len(calls)
    model.fit(X, Y)
    assert len(calls) - cold <= cold
    assert np.mean(model.predict(X) == fitted("trees").predict(X)) > 0.9


def test_many_items_are_fitted_in_chunks(monkeypatch):
    whole = fitted("trees")
    monkeypatch.setattr(engines, "ITEMS_A_CHUNK", 50)
    parts = CrowdClassifier(TREES).fit(X, Y)
    np.testing.assert_allclose(parts.posterior_, whole.posterior_, atol=1e-6)


def test_the_callback_hears_every_iteration():
    heard = []
    CrowdClassifier(TREES).fit(X, Y, callback=lambda *about: heard.append(about))
    assert [iteration for iteration, _, _ in heard[:3]] == [1, 2, 3]
    model = CrowdClassifier(TREES).fit(X, Y, callback=lambda *about: True)
    assert model.n_iter_ == 1
    assert len(heard) > 2


def test_items_that_are_not_of_the_fit_are_classified_by_the_final_classifier():
    model, new = fitted("trees"), board(8)[0]
    none = np.full((N, 4), np.nan)
    np.testing.assert_allclose(model.posterior(new, none), model.predict_proba(new), atol=1e-12)


@pytest.mark.parametrize("name", ["trees", "trees, pandas", "linear, sparse", "text pipeline"])
def test_a_summary_for_the_report(name):
    summary = summarize(fitted(name), CASES[name][1], Y)
    classifier = type(CASES[name][0]).__name__
    assert f"predicted by {classifier}: each item by a copy" in summary.to_json()


def test_new_labels_of_a_known_item_count_once():
    """Its own labels taught the final classifier; next to labels, the one without them is asked."""
    model = fitted("trees")
    learned = model._pair.prepared.preprocessing.learned
    labelled = learned.transform_labelled(RawRows(X))
    assert np.abs(labelled - learned.transform(RawRows(X)))[:LABELLED].max() > 0
    np.testing.assert_array_equal(labelled[LABELLED:], learned.transform(RawRows(X))[LABELLED:])


# --- refusals -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("truth", "message"),
    [
        (KNeighborsClassifier(), r"KNeighborsClassifier.fit takes no sample_weight.*BaggingClassifier\("),
        (make_pipeline(StandardScaler(), KNeighborsClassifier()), "KNeighborsClassifier.fit takes no sample"),
        (LinearSVC(), r"LinearSVC\(\) has no predict_proba.*CalibratedClassifierCV\(LinearSVC"),
    ],
)
def test_what_is_missing_is_named_with_a_way_out(truth, message):
    with pytest.raises(NotCompatible, match=message):
        CrowdClassifier(truth).fit(X, Y)


def test_settings_that_cannot_work_are_refused(tmp_path):
    with pytest.raises(InputError, match="Leave device=None"):
        CrowdClassifier(TREES, device="cpu").fit(X, Y)
    with pytest.raises(InputError, match="checkpoint= does not work"):
        CrowdClassifier(TREES).fit(X, Y, checkpoint=tmp_path)
    with pytest.raises(InputError, match="two different items"):
        CrowdClassifier(TREES).fit(np.ones((4, 2)), [[0, 1], [0, 0], [1, 1], [0, 1]])
    with pytest.raises(InputError, match="truth must be"):
        CrowdClassifier(HistGradientBoostingClassifier).fit(X, Y)


def test_other_columns_than_in_the_fit_are_refused():
    with pytest.raises(ValueError, match="feature names"):
        fitted("trees, pandas").predict(FRAME.rename(columns={"place": "other"}))
    with pytest.raises(ValueError, match="3 features"):
        fitted("trees").predict(X[:, :2])
    with pytest.raises(InputError, match="X holds texts"):
        fitted("trees").predict(TEXTS)


def test_a_classifier_that_cannot_take_missing_numbers_says_so_itself():
    with pytest.raises(ValueError, match="contains NaN"):
        CrowdClassifier(LogisticRegression()).fit(MISSING, Y)


# --- keys and encodings ---------------------------------------------------------------------------------


def test_equal_rows_have_equal_keys_in_every_container():
    dense = np.array([[1.0, -0.0, np.nan], [1.0, 0.0, np.nan], [0.0, 1.0, 2.0]])
    first, second, third = row_keys(RawRows(dense))
    assert first == second != third
    np.testing.assert_array_equal(row_keys(RawRows(dense.astype(np.float32))), [first, second, third])
    frame = pd.DataFrame({"a": ["x", "x", None], "b": [1, 1, 2]})
    for raw in (frame, pl.from_pandas(frame)):
        first, second, third = row_keys(RawRows(raw))
        assert first == second != third
    unsorted = sp.csr_array((np.array([1.0, 2.0, 0.0]), np.array([2, 0, 1]), np.array([0, 3])), shape=(1, 4))
    tidy = sp.csr_array([[2.0, 0.0, 1.0, 0.0]])
    assert row_keys(RawRows(unsorted)) == row_keys(RawRows(tidy))
    assert unsorted.nnz == 3  # X is the user's


def test_tables_are_encoded_as_numbers():
    frame = pd.DataFrame({"n": [1.0, np.nan, 3.0, 9.0], "c": ["b", "a", "b", None], "d": [True, False, True, True]})
    encoding = fit_encoding(RawRows(frame))
    assert isinstance(encoding, TableEncoding)
    np.testing.assert_array_equal(
        encoding.transform(RawRows(frame)), [[1, 1, 0, 1], [3, 0, 1, 0], [3, 1, 0, 1], [9, 0, 0, 1]]
    )
    other = pd.DataFrame({"n": [np.inf], "c": ["new"], "d": [False]})
    np.testing.assert_array_equal(encoding.transform(RawRows(other)), [[3, 0, 0, 0]])
    many = pd.DataFrame({"c": [f"c{i % 30}" for i in range(100)]})
    assert fit_encoding(RawRows(many)).transform(RawRows(many)).shape == (100, 20)
