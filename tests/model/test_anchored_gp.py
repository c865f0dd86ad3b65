"""Model GP on anchors: the answer of matrices over all items, to the last digits, for any number of items."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import norm

from tests.estimators.worlds import said_in
from tests.model.worlds import with_row
from whoknows import AnchorGraph, CrowdClassifier, GaussianAnnotators, GraphTruth, KnnGraph
from whoknows.fit.items import Items
from whoknows.fit.monitor import Monitor
from whoknows.fit.objective import Model
from whoknows.fit.solve import solve
from whoknows.model.evidence import QuadraticEvidence
from whoknows.model.graph.anchors import AnchoredGraph, sums_over
from whoknows.model.settings import NotCompatible
from whoknows.model.truth.graph import AnchorField

RNG = np.random.default_rng(0)
N, LAM, JITTER = 300, 0.3, 0.02
X = np.vstack([RNG.normal(size=(N // 2, 3)), RNG.normal(size=(N // 2, 3)) + 2])
NEW = RNG.normal(size=(40, 3)) + 1
LABELLED = np.sort(RNG.choice(N, 70, replace=False))
REST = np.setdiff1d(np.arange(N), LABELLED)
PIECE = GraphTruth(AnchorGraph(anchors=25, nearest=4), lam=LAM, jitter=JITTER)
TRUTH, GRAPH, NO_XI = PIECE.prepare(X), PIECE.graph.build(X), np.zeros(0)
Z = GRAPH.attach(X).toarray()
LAPLACIAN = np.eye(N) - Z @ np.diag(1 / Z.sum(axis=0)) @ Z.T
COVARIANCE = LAM * np.linalg.inv(LAPLACIAN + JITTER * np.eye(N))


def labels_on(rows, n=N, seed=1):
    """Evidence as of labels 0 or 1 of unequal annotators on some rows."""
    rng = np.random.default_rng(seed)
    precision, label = np.zeros(n), np.zeros(n)
    precision[rows], label[rows] = rng.uniform(0.5, 20, len(rows)), rng.integers(2, size=len(rows))
    return QuadraticEvidence(precision, precision * label, -0.5 * precision * label**2 - 0.1 * (precision > 0))


def some(evidence, rows):
    return QuadraticEvidence(*(getattr(evidence, name)[rows] for name in ("precision", "pull", "constant")))


def dense(covariance, evidence):
    """Mean, variance and log marginal by plain inversion of matrices over all items."""
    half = np.full(len(covariance), 0.5)
    prior = np.linalg.inv(covariance)
    posterior = np.linalg.inv(prior + np.diag(evidence.precision))
    pull = prior @ half + evidence.pull
    log_marginal = (
        evidence.constant.sum()
        + 0.5 * (pull @ posterior @ pull - half @ prior @ half)
        + 0.5 * (np.linalg.slogdet(posterior)[1] - np.linalg.slogdet(covariance)[1])
    )
    return posterior @ pull, np.diag(posterior), log_marginal


def with_new(x):
    """Covariance of the items and of further ones: those with a part of their own, the rest through z(x)."""
    Z_all = np.vstack([Z, GRAPH.attach(x).toarray() * GRAPH.nearness(x)[:, None]])
    M = (1 + JITTER) * np.diag(Z.sum(axis=0)) - Z.T @ Z
    return LAM / (1 + JITTER) * (np.eye(len(Z_all)) + Z_all @ np.linalg.solve(M, Z_all.T))


def normal(mean, variance):
    """P(z ≤ ½) and P(z > ½)."""
    above = norm.cdf((mean - 0.5) / np.sqrt(variance))
    return np.column_stack([1 - above, above])


EVIDENCE = labels_on(LABELLED)
KNOWN = TRUTH.state(
    NO_XI, TRUTH.posterior(NO_XI, X[LABELLED], some(EVIDENCE, LABELLED)), some(EVIDENCE, LABELLED), X[LABELLED]
)


class TestAlgebra:
    def test_woodburys_identity(self):
        """λ (cI − ZΛ⁻¹Zᵀ)⁻¹ = λ/c (I + Z (cΛ − ZᵀZ)⁻¹ Zᵀ), c = 1 + jitter."""
        np.testing.assert_allclose(with_new(X[:0]), COVARIANCE, rtol=1e-9, atol=1e-12)

    def test_the_prior_is_that_of_the_laplacian(self):
        field = AnchorField.of(GRAPH, LAM, JITTER)
        H = Z / np.sqrt(Z.sum(axis=0))
        built = H @ np.linalg.solve(field.precision, H.T) + field.noise * np.eye(N)
        np.testing.assert_allclose(built, COVARIANCE, rtol=1e-9, atol=1e-12)

    def test_anchors_nobody_is_tied_to_change_nothing(self):
        anchors = np.vstack([GRAPH.anchors, np.full((3, 3), 1e3)])
        graph = AnchoredGraph(anchors, GRAPH.n_nearest, sums_over(X, X, anchors, GRAPH.n_nearest))
        mine = AnchorField.of(graph, LAM, JITTER).condition(X, EVIDENCE)
        theirs = AnchorField.of(GRAPH, LAM, JITTER).condition(X, EVIDENCE)
        np.testing.assert_allclose(mine.mean, theirs.mean, atol=1e-12)
        np.testing.assert_allclose(mine.variance, theirs.variance, atol=1e-12)
        assert mine.log_marginal == pytest.approx(theirs.log_marginal, abs=1e-9)


class TestPosterior:
    CASES = (("labels", EVIDENCE), ("none", labels_on([])), ("all", labels_on(np.arange(N))), ("one", labels_on([7])))

    @pytest.mark.parametrize(("name", "evidence"), CASES)
    def test_it_is_that_of_matrices_over_all_items(self, name, evidence):
        mean, variance, log_marginal = dense(COVARIANCE, evidence)
        found = TRUTH.posterior(NO_XI, X, evidence)
        np.testing.assert_allclose(found.mean, mean, atol=1e-9)
        np.testing.assert_allclose(found.variance, variance, atol=1e-9)
        assert found.log_marginal == pytest.approx(log_marginal, abs=1e-9)

    def test_items_without_labels_need_not_be_there(self):
        whole = TRUTH.posterior(NO_XI, X, EVIDENCE)
        found = TRUTH.posterior(NO_XI, X[LABELLED], some(EVIDENCE, LABELLED))
        np.testing.assert_allclose(found.mean, whole.mean[LABELLED], atol=1e-12)
        np.testing.assert_allclose(found.variance, whole.variance[LABELLED], atol=1e-12)
        assert found.log_marginal == pytest.approx(whole.log_marginal, abs=1e-10)
        assert not TRUTH.needs_all

    def test_gold_and_weights_are_as_with_matrices(self):
        weight = RNG.uniform(0.2, 3, size=N)
        evidence = EVIDENCE.with_gold(np.where(np.arange(N) % 30 == 0, 1.0, np.nan), weight)
        parts = (weight * getattr(evidence, name) for name in ("precision", "pull", "constant"))
        mean, variance, log_marginal = dense(COVARIANCE, QuadraticEvidence(*parts))
        found = TRUTH.posterior(NO_XI, X, evidence)
        np.testing.assert_allclose(found.mean, mean, atol=1e-8)
        np.testing.assert_allclose(found.variance, variance, atol=1e-8)
        assert found.log_marginal == pytest.approx(log_marginal, abs=1e-4)  # of gold: some 1e5 that cancel

    @pytest.mark.parametrize(("lam", "jitter"), [(1e-3, 0.01), (30.0, 1e-6), (0.05, 10.0)])
    def test_whatever_the_settings(self, lam, jitter):
        covariance = lam * np.linalg.inv(LAPLACIAN + jitter * np.eye(N))
        mean, variance, _ = dense(covariance, EVIDENCE)
        found = replace(PIECE, lam=lam, jitter=jitter).prepare(X).posterior(NO_XI, X, EVIDENCE)
        np.testing.assert_allclose(found.mean, mean, atol=1e-7)
        np.testing.assert_allclose(found.variance, variance, rtol=1e-6)


class TestNewItems:
    def test_predictions_are_exact_for_labelled_unlabelled_and_new_ones(self):
        everything = np.vstack([X, NEW, NEW + 1e3])
        joined = QuadraticEvidence(
            *(np.append(getattr(EVIDENCE, name), np.zeros(80)) for name in ("precision", "pull", "constant"))
        )
        mean, variance, _ = dense(with_new(everything[N:]), joined)
        np.testing.assert_allclose(np.exp(TRUTH.log_predict(KNOWN, everything)), normal(mean, variance), atol=1e-9)

    def test_far_from_every_anchor_nothing_is_known(self):
        np.testing.assert_allclose(np.exp(TRUTH.log_predict(KNOWN, NEW + 1e6)), 0.5, atol=1e-6)

    def test_labels_of_a_new_item_come_on_top(self):
        fresh = labels_on(np.arange(40), n=40, seed=5)
        found = TRUTH.posterior_at(KNOWN, NEW, fresh)
        for i in (0, 17, 39):
            one = some(fresh, [i])
            joined = QuadraticEvidence(
                *(np.append(getattr(EVIDENCE, n), getattr(one, n)) for n in ("precision", "pull", "constant"))
            )
            mean, variance, _ = dense(with_new(NEW[[i]]), joined)
            np.testing.assert_allclose(found[i], normal(mean[-1:], variance[-1:])[0], atol=1e-9)

    def test_labels_of_an_item_of_the_fit_replace_those_it_had(self):
        fresh = labels_on(np.arange(N), seed=6)
        found = TRUTH.posterior_at(KNOWN, X, fresh)
        for i in (LABELLED[0], LABELLED[30], REST[0], REST[50]):
            changed = with_row(EVIDENCE, i, fresh, i)
            mean, variance, _ = dense(COVARIANCE, changed)
            np.testing.assert_allclose(found[i], normal(mean, variance)[i], atol=1e-9)

    def test_the_same_labels_change_nothing(self):
        mean, variance, _ = dense(COVARIANCE, EVIDENCE)
        np.testing.assert_allclose(TRUTH.posterior_at(KNOWN, X, EVIDENCE), normal(mean, variance), atol=1e-9)


@pytest.mark.parametrize("piece", [PIECE, replace(PIECE, graph=KnnGraph())], ids=["anchors", "matrix"])
def test_a_copy_of_a_labelled_item_has_its_own_labels_or_none(piece):
    """Items 0, 1, 2 are one place: the first labelled 0, the second labelled 1, the third not at all."""
    items = X.copy()
    items[[1, 2]] = items[0]
    evidence = labels_on([0, 1, *LABELLED[3:]])
    evidence.pull[:2] = evidence.precision[:2] * [0, 1]
    truth = piece.prepare(items)
    rows = np.arange(N) if truth.needs_all else np.flatnonzero(evidence.precision)
    whole = truth.posterior(NO_XI, items, evidence)
    posterior = truth.posterior(NO_XI, items[rows], some(evidence, rows))
    state = truth.state(NO_XI, posterior, some(evidence, rows), items[rows])
    found = truth.posterior_at(state, items, evidence)
    np.testing.assert_allclose(found, normal(whole.mean, whole.variance), atol=1e-9)
    assert found[0, 1] < found[2, 1] < found[1, 1]


# --- whole fits -----------------------------------------------------------------------------------


def world(n, n_features=3, share=0.3, seed=2):
    """Two clouds, three annotators."""
    rng = np.random.default_rng(seed)
    z = rng.integers(2, size=n)
    items = rng.normal(size=(n, n_features)) + 2.5 * z[:, None]
    right = rng.random((n, 3)) < [0.9, 0.8, 0.6]
    y = np.where(right, z[:, None], 1 - z[:, None]).astype(float)
    y[rng.random(n) > share] = np.nan
    return items, y, z


@pytest.mark.parametrize("solver", ["em", "lbfgs"])
def test_the_bound_never_falls(solver):
    items, y, z = world(200)
    model = CrowdClassifier(PIECE, solver=solver, max_iter=500, tol=1e-9).fit(items, y)
    bound = np.array(model.bound_history_)
    assert len(bound) > 5
    assert np.diff(bound).min() >= -1e-9 * np.abs(bound).max()
    assert np.mean(model.predict(items) == z) > 0.95


def test_a_fit_to_labelled_items_is_the_fit_to_all():
    items, y, _ = world(150)
    said = said_in(y)
    features = np.column_stack([items, np.ones(150)])
    model = Model(GaussianAnnotators(), PIECE.prepare(items))
    everything = Items(items, features, said)
    whole, few = (solve(model, part, None, Monitor(300, 1e-10), "em") for part in (everything, everything.labelled()))
    np.testing.assert_allclose(few.annotators.mean, whole.annotators.mean, atol=1e-6)
    informed = everything.informed
    np.testing.assert_allclose(few.truth.posterior.mean, whole.truth.posterior.mean[informed], atol=1e-6)


def test_items_can_be_asked_about_in_any_portions():
    items, y, _ = world(150)
    model = CrowdClassifier(PIECE).fit(items, y)
    np.testing.assert_allclose(model.posterior(items, y), model.posterior_, atol=1e-12)
    np.testing.assert_allclose(model.posterior(items[40:90], y[40:90]), model.posterior_[40:90], atol=1e-12)
    np.testing.assert_allclose(model.predict_proba(items), model.posterior_, atol=1e-9)


def test_more_items_than_a_matrix_could_hold():
    items, y, z = world(12_000, share=0.05)
    model = CrowdClassifier(GraphTruth("auto"), map="linear").fit(items, y)
    assert model.graph_ == "truth on 400 anchors for 12 000 items"
    assert np.mean(model.posterior_.argmax(axis=1) == z) > 0.97
    fresh, _, truth = world(500, seed=9)
    assert np.mean(model.predict(fresh) == truth) > 0.97
    assert len(model._pair.solution.truth.posterior.mean) < 1000  # only what has a label


# --- what it refuses ------------------------------------------------------------------------------


def test_there_is_no_matrix_over_items():
    with pytest.raises(NotCompatible, match="over anchors, not over all items"):
        _ = TRUTH.covariance
