"""Intervals of p(z | x), of expertise and of the ranking: what they are, and how often they hold the truth.

`benchmarks.intervals` measures the coverage by setting that docs/uncertainty.md shows.
"""

from functools import cache

import numpy as np
import pytest
from scipy.special import expit, logit
from scipy.stats import norm
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

from benchmarks import intervals as coverage
from tests.estimators.test_update import three_classes
from tests.estimators.worlds import line_world, without_doubt
from tests.reference.worlds import slope
from whoknows import Annotations, AutoCrowdClassifier, BernoulliAnnotators, CrowdClassifier
from whoknows.estimators.auto.members import Member
from whoknows.estimators.intervals import check_level, class_interval, mixture, sigma_points
from whoknows.fit.laplace import Covariances
from whoknows.model.settings import NotCompatible
from whoknows.model.truth import LogisticTruth

LINEAR = {"truth": "id", "map": "linear"}
MODELS = {
    "vb": CrowdClassifier(**LINEAR),
    "lgp, rbf": CrowdClassifier(),
    "spectral": CrowdClassifier("id", map="spectral"),
    "two-coin": CrowdClassifier(**LINEAR, annotators=BernoulliAnnotators(two_coin=True)),
    "constant": CrowdClassifier(**LINEAR, annotators=BernoulliAnnotators(varies_with_x=False)),
    "em": CrowdClassifier(**LINEAR, solver="em"),
    "lbfgs": CrowdClassifier(**LINEAR, solver="lbfgs"),
    "gaussian": CrowdClassifier(**LINEAR, annotators="gaussian"),
    "auto": AutoCrowdClassifier(members=[Member("linear", 3.0, True), Member("rbf 2", 10.0, False)]),
}
CLASSES = {
    "softmax": CrowdClassifier(**LINEAR, tol=1e-4),
    "auto": AutoCrowdClassifier(
        members=[Member("linear", 30.0, False), Member("linear", 3.0, True)], selection=False, tol=1e-3
    ),
}
X, Y, Z = line_world(n_items=150, share_labelled=0.5)
SAID = Annotations.from_matrix(Y, annotators=["anna", "bob", "cleo"])


@cache
def fitted(name):
    return MODELS[name].fit(X, SAID)


@cache
def fitted_to_classes(name):
    X3, y3 = three_classes()
    return CLASSES[name].fit(X3, y3), X3


every_model = pytest.mark.parametrize("name", MODELS)


def width(interval):
    """How far apart the limits are, in log-odds."""
    return logit(interval[2]) - logit(interval[1])


# --- every interval --------------------------------------------------------------------------------


def assert_holds(interval, estimate, shape):
    value, low, high = interval
    assert value.shape == low.shape == high.shape == shape
    np.testing.assert_allclose(value, estimate)
    assert (low <= value).all()
    assert (value <= high).all()
    assert low.min() >= 0
    assert high.max() <= 1
    assert (high - low).mean() > 0.02


@every_model
def test_the_interval_holds_the_estimate(name):
    model = fitted(name)
    assert_holds(model.predict_proba(X, return_interval=True), model.predict_proba(X), (150, 2))
    assert_holds(model.expertise(X, return_interval=True), model.expertise(X), (150, 3))


@pytest.mark.parametrize("name", CLASSES)
def test_the_interval_of_every_class_holds_the_estimate(name):
    model, X3 = fitted_to_classes(name)
    assert_holds(model.predict_proba(X3, return_interval=True), model.predict_proba(X3), (90, 3))
    assert_holds(model.expertise(X3, return_interval=True), model.expertise(X3), (90, 4))


@every_model
def test_two_classes_have_one_interval(name):
    """What class 1 may be at most, class 0 is at least."""
    _, low, high = fitted(name).predict_proba(X, return_interval=True)
    np.testing.assert_allclose(low[:, 0], 1 - high[:, 1], atol=1e-9)
    np.testing.assert_allclose(low[:, 1], 1 - high[:, 0], atol=1e-9)


@every_model
def test_a_higher_level_is_wider(name):
    model = fitted(name)
    for ask in (model.predict_proba, model.expertise):
        narrow, wide = (ask(X, return_interval=True, level=level) for level in (0.5, 0.99))
        assert (width(wide) > width(narrow)).all()
    assert (width(limits(model.ranking(level=0.99))) > width(limits(model.ranking(level=0.5)))).all()


def limits(ranking):
    return ranking.expertise, ranking.low, ranking.high


@pytest.mark.parametrize("name", [n for n in MODELS if n != "spectral"])  # more labels, more of x is seen
def test_more_labels_are_narrower(name):
    few = np.where(np.cumsum(~np.isnan(Y).any(axis=1))[:, None] <= 20, Y, np.nan)
    said = Annotations.from_matrix(few, annotators=["anna", "bob", "cleo"], labels=[0, 1])
    rare = clone(MODELS[name]).fit(X, said)
    for method in ("predict_proba", "expertise"):
        less, more = (getattr(model, method)(X, return_interval=True) for model in (rare, fitted(name)))
        assert np.mean(less[2] - less[1]) > 1.2 * np.mean(more[2] - more[1])


def test_an_annotator_of_few_labels_is_less_well_known():
    y = Y.copy()
    y[np.flatnonzero(~np.isnan(Y[:, 0]))[8:], 0] = np.nan
    model = CrowdClassifier(**LINEAR).fit(X, y)
    wide = np.median(width(model.expertise(X, return_interval=True)), axis=0)
    assert wide[0] > 1.2 * max(wide[1], wide[2])
    ranking = model.ranking()
    assert width(limits(ranking))[ranking.annotator == 0] > 1.2 * width(limits(ranking)).min()


@pytest.mark.parametrize("name", ["vb", "em", "lgp, rbf", "gaussian"])
def test_far_from_the_data_less_is_known(name):
    model = without_doubt(fitted(name))
    far = X.mean(axis=0) + 3 * (X - X.mean(axis=0))
    here, there = (model.predict_proba(x, return_interval=True)[1] for x in (X, far))
    wide = [-logit(low).sum(axis=1) for low in (here, there)]  # 1 − high of a class is low of the other
    assert np.median(wide[1]) > 1.5 * np.median(wide[0])
    if name in ("vb", "em"):
        here, there = (width(model.expertise(x, return_interval=True)) for x in (X, far))
        assert np.median(there) > 1.5 * np.median(here)


# --- what is asked for wrongly --------------------------------------------------------------------


@pytest.mark.parametrize("level", [0, 1, -0.1, 1.5, 90, "0.9", None, True, np.nan])
@pytest.mark.parametrize("name", ["vb", "auto"])
def test_a_level_that_is_none_is_refused(name, level):
    model = fitted(name)
    for method, args in (("predict_proba", (X, True)), ("expertise", (X, None, True)), ("ranking", (X,))):
        with pytest.raises(ValueError, match=r"level must be a number between 0 and 1, such as 0\.9; got"):
            getattr(model, method)(*args, level=level)


def test_a_level_is_a_normal_quantile():
    assert check_level(0.95) == pytest.approx(1.959964, abs=1e-6)
    assert check_level(np.float64(0.5)) == pytest.approx(0.674490, abs=1e-6)


@pytest.mark.parametrize("estimator", [CrowdClassifier, AutoCrowdClassifier])
def test_before_a_fit_there_is_no_interval(estimator):
    for method, args in (("predict_proba", (X, True)), ("expertise", (X, None, True)), ("ranking", ())):
        with pytest.raises(NotFittedError):
            getattr(estimator(), method)(*args)


def test_gp_says_why_it_has_no_interval_and_still_knows_its_annotators():
    model = CrowdClassifier("gp").fit(X, SAID)
    with pytest.raises(NotCompatible, match=r"interval .*GraphTruth does not have .* Use truth='id' or 'lgp'"):
        model.predict_proba(X, return_interval=True)
    assert_holds(model.expertise(X, return_interval=True), model.expertise(X), (150, 3))
    assert len(model.ranking()) == 3


# --- the arithmetic --------------------------------------------------------------------------------


def test_two_classes_go_as_far_as_the_log_odds_do():
    """Low and high are the logistic of f ± k · sd, with f = ξᵀφ and sd² = φᵀ S φ."""
    model = without_doubt(fitted("vb"))
    Phi, S = model._pair.prepared.items(X).X_truth, model._pair.covariances.truth[0]
    f, sd = Phi @ model._pair.solution.truth.mean[:, 0], np.sqrt(np.einsum("ij,jk,ik->i", Phi, S, Phi))
    _, low, high = model.predict_proba(X, return_interval=True, level=0.8)
    reach = norm.ppf(0.9)
    np.testing.assert_allclose(low[:, 1], expit(f - reach * sd), rtol=1e-7)
    np.testing.assert_allclose(high[:, 1], expit(f + reach * sd), rtol=1e-7)


@pytest.mark.parametrize(("size", "doubt"), [(0.5, 0.3), (3.0, 0.3), (10.0, 1.0), (200.0, 20.0)])
def test_more_classes_go_as_far_as_each_against_all_others(size, doubt):
    """Variance of log p_k / (1 − p_k) by differences, also where a class is all but certain."""
    rng = np.random.default_rng(0)
    K, D, n = 3, 2, 40
    Phi = np.column_stack([rng.normal(size=(n, D)), np.ones(n)])
    truth = LogisticTruth().for_classes(K).prepare(Phi[:, :-1], Phi)
    xi, root = size * rng.normal(size=(D + 1, K)), doubt * rng.normal(size=(K, D + 1, D + 1))
    spread = Covariances(root @ root.swapaxes(1, 2), np.zeros((0, 0, 0)))
    prob = np.exp(truth.log_prob(xi, Phi @ xi))
    _, low, high = class_interval(truth, xi, spread, Phi, prob, level=0.683)

    def odds(at, i, k):
        f = Phi[i] @ at
        return f[k] - np.logaddexp.reduce(np.delete(f, k))

    for i, k in np.ndindex(n, K):
        g = slope(lambda at, i=i, k=k: odds(at, i, k), xi)
        sd = np.sqrt(sum(g[:, j] @ spread.truth[j] @ g[:, j] for j in range(K)))
        reach = check_level(0.683) * sd
        expected = expit(odds(xi, i, k) - reach), expit(odds(xi, i, k) + reach)
        np.testing.assert_allclose((low[i, k], high[i, k]), expected, rtol=1e-4, atol=1e-14)


def test_sigma_points_are_exact_for_linear_log_odds():
    rng = np.random.default_rng(0)
    A, mean, root = rng.normal(size=(5, 4)), rng.normal(size=4), rng.normal(size=(4, 4))
    S = root @ root.T
    centre, sd = sigma_points(lambda points: expit(A @ points.T), mean, S)
    np.testing.assert_allclose(centre, A @ mean)
    np.testing.assert_allclose(sd, np.sqrt(np.einsum("ij,jk,ik->i", A, S, A)))


@pytest.mark.parametrize("name", ["vb", "em"])
def test_expertise_of_one_coin_goes_as_far_as_its_log_odds(name):
    model = fitted(name)
    X_annotators, theta = model._pair.prepared.items(X).X_annotators, model._pair.solution.annotators.mean
    _, low, high = model.expertise(X, return_interval=True, level=0.8)
    for t in range(3):
        S = model._pair.covariances.annotators[t]
        eta, reach = (
            X_annotators @ theta[t],
            norm.ppf(0.9) * np.sqrt(np.einsum("ij,jk,ik->i", X_annotators, S, X_annotators)),
        )
        np.testing.assert_allclose(low[:, t], expit(eta - reach), rtol=1e-7)
        np.testing.assert_allclose(high[:, t], expit(eta + reach), rtol=1e-7)


def test_many_items_are_looked_at_in_parts(monkeypatch):
    model = fitted("two-coin")
    whole = model.expertise(X, return_interval=True)
    monkeypatch.setattr("whoknows.estimators.intervals.AT_ONCE", 100)
    np.testing.assert_array_equal(model.expertise(X, return_interval=True), whole)


def test_a_mixture_of_one_and_the_same_is_that():
    rng = np.random.default_rng(0)
    low, value, high = np.sort(rng.random((3, 20)), axis=0)
    mixed = mixture(np.array([0.2, 0.5, 0.3]), [(value, low, high)] * 3, 0.9)
    np.testing.assert_allclose(mixed, (value, low, high))


def test_a_mixture_knows_that_its_members_differ():
    """Variance of a mixture: the mean of the variances, and the variance of the means."""
    reach = check_level(0.9)
    members = [(expit(m), expit(m - reach * s), expit(m + reach * s)) for m, s in ((-1.0, 0.5), (2.0, 1.0))]
    value, low, high = mixture(np.array([0.25, 0.75]), members, 0.9)
    sd = np.sqrt(0.25 * 0.25 + 0.75 * 1.0 + 0.25 * 0.75 * 3.0**2)
    assert value == pytest.approx(0.25 * expit(-1.0) + 0.75 * expit(2.0))
    assert low == pytest.approx(expit(1.25 - reach * sd))
    assert high == pytest.approx(expit(1.25 + reach * sd))


def test_auto_of_one_member_answers_as_the_member():
    model = AutoCrowdClassifier(members=[Member("linear", 10.0, True, two_coin=False)], tol=1e-6).fit(X, SAID)
    alone = CrowdClassifier("id", map="linear").fit(X, SAID)
    for method in ("predict_proba", "expertise"):
        mine, theirs = (getattr(m, method)(X, return_interval=True) for m in (model, alone))
        np.testing.assert_allclose(mine, theirs, atol=1e-6)
    np.testing.assert_allclose(limits(model.ranking()), limits(alone.ranking()), atol=1e-6)


# --- strangers ---------------------------------------------------------------------------------------


@every_model
def test_one_never_seen_is_one_of_the_crowd(name):
    model = fitted(name)
    known, other, anna = model.expertise(X, annotators=["zoe", "yan", "anna"], unknown="population").T
    np.testing.assert_allclose(known, other)
    np.testing.assert_allclose(anna, model.expertise(X)[:, 0])
    if name != "auto":
        items = model._pair.prepared.items(X)
        crowd = model._pair.prepared.model.annotators.expertise(
            model._pair.solution.annotators, items.X_annotators, model._pair.prob(items)
        )[:, -1]
        np.testing.assert_array_equal(known, crowd)


@every_model
def test_one_never_seen_is_the_least_known(name):
    model = fitted(name)
    wide = width(
        model.expertise(X, annotators=["zoe", "anna", "bob", "cleo"], return_interval=True, unknown="population")
    )
    assert (np.median(wide[:, :1] / wide[:, 1:], axis=0) > 1.05).all()


def test_annotators_come_in_the_order_they_are_asked_for():
    mine = np.array(fitted("vb").expertise(X, annotators=["cleo", "anna"], return_interval=True))
    theirs = np.array(fitted("vb").expertise(X, return_interval=True))
    np.testing.assert_array_equal(mine, theirs[:, :, [2, 0]])


def test_a_name_is_no_list_of_names():
    with pytest.raises(TypeError, match="Expected a list or array for annotators=, got str"):
        fitted("vb").expertise(X, annotators="anna")


# --- ranking ------------------------------------------------------------------------------------------


@pytest.mark.filterwarnings("ignore::whoknows.DidNotConverge")
def test_with_many_classes_mistakes_have_no_covariance():
    """Each of 30 classes is mistaken for 29 others, in a covariance of 900 columns per annotator."""
    rng = np.random.default_rng(0)
    z = np.arange(240) % 30
    X = rng.normal(size=(30, 6))[z] + 0.3 * rng.normal(size=(240, 6))
    y = np.where(rng.random((240, 4)) < [0.95, 0.9, 0.6, 0.5], z[:, None], rng.integers(30, size=(240, 4)))
    model = CrowdClassifier(max_iter=5, tol=0.01).fit(X, y)
    assert model._pair.solution.annotators.mean.shape[1] > 900
    assert model._pair.covariances.annotators.shape[1] < 60
    ranking = model.ranking()
    assert np.all((ranking.low < ranking.expertise) & (ranking.expertise < ranking.high))
    assert set(ranking.annotator[:2]) == {0, 1}
    value, low, high = model.expertise(X[:5], return_interval=True)
    assert np.all((low <= value) & (value <= high) & (high - low < 0.55))


@pytest.mark.filterwarnings("ignore::whoknows.DidNotConverge")
def test_intervals_without_a_covariance_of_mistakes_are_about_the_same(monkeypatch):
    rng = np.random.default_rng(1)
    z = np.arange(150) % 3
    X = rng.normal(size=(3, 4))[z] + 0.5 * rng.normal(size=(150, 4))
    y = np.where(rng.random((150, 4)) < [0.95, 0.85, 0.7, 0.6], z[:, None], rng.integers(3, size=(150, 4)))
    whole = CrowdClassifier("id", map="linear").fit(X, y).ranking()
    monkeypatch.setattr("whoknows.fit.laplace.MOST_COLUMNS", 5)
    part = CrowdClassifier("id", map="linear").fit(X, y).ranking()
    np.testing.assert_allclose(part.expertise, whole.expertise, atol=1e-12)
    np.testing.assert_allclose(part.high - part.low, whole.high - whole.low, rtol=0.1)


@every_model
def test_the_ranking_has_the_best_first(name):
    ranking = fitted(name).ranking()
    assert ranking.annotator.tolist() == ["anna", "bob", "cleo"]  # right 90, 80 and 70 times in a hundred
    assert (np.diff(ranking.expertise) <= 0).all()
    assert (ranking.low <= ranking.expertise).all()
    assert (ranking.expertise <= ranking.high).all()
    assert ranking.n_labels.tolist() == (~np.isnan(Y)).sum(axis=0).tolist()


@pytest.mark.parametrize("name", ["vb", "auto"])
def test_the_ranking_is_of_expertise_averaged_over_items(name):
    model = fitted(name)
    some = X[:20]
    ranking = model.ranking(some)
    place = [SAID.annotators.tolist().index(a) for a in ranking.annotator]
    np.testing.assert_allclose(ranking.expertise, model.expertise(some).mean(axis=0)[place])
    assert not np.allclose(ranking.expertise, model.ranking().expertise)


def test_of_constant_expertise_the_ranking_has_its_interval():
    model = fitted("constant")
    ranking = model.ranking()
    for mine, theirs in zip(limits(ranking), model.expertise(X[:1], return_interval=True), strict=True):
        np.testing.assert_allclose(mine, theirs[0])  # anna, bob and cleo, who rank in this order


def test_the_ranking_prints_as_a_table():
    ranking = fitted("vb").ranking(level=0.8)
    head, first, *_ = str(ranking).splitlines()
    assert head.split() == ["annotator", "right", "80%", "interval", "labels"]
    assert first.split()[0] == "anna"
    assert first.split()[-1] == str(ranking.n_labels[0])
    assert list(ranking.to_frame("pandas").columns) == ["annotator", "expertise", "low", "high", "n_labels"]


# --- coverage: worlds drawn from the model's own prior --------------------------------------------------


@pytest.mark.parametrize(("map", "setting"), [("linear", (150, 6, 6)), ("rbf", (60, 6, 6))])
def test_nine_intervals_of_ten_hold_what_they_should(map, setting):
    rows = (coverage.row(map, *setting, seed) for seed in range(24))
    found = [row for row in rows if row["mostly_right"]]
    assert len(found) > 12
    truth, expertise, ranking = (np.mean([row[what] for row in found]) for what in ("truth", "expertise", "ranking"))
    assert 0.85 < truth < 0.95
    assert 0.85 < expertise < 0.95
    assert 0.8 < ranking < 1.0
