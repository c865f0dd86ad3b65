"""What counts more or less than once: a label, by its confidence, and an item, by its weight.

A count of two is the same thing twice and a count of zero is nothing, so the oracle is the unweighted model
on labels or items written down as often as they count. Gold is checked against brute force.
"""

from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from scipy.special import softmax

from tests.model.worlds import variance_without_item
from tests.reference import models
from tests.reference.worlds import slope, with_ones
from whoknows.data.annotations import Annotations
from whoknows.fit.engines import Serial
from whoknows.fit.items import Items
from whoknows.fit.lbfgs import maximize
from whoknows.fit.monitor import Monitor
from whoknows.fit.objective import Model, Parameters, e_step, marginal
from whoknows.fit.solve import solve
from whoknows.fit.starts import vote
from whoknows.fit.variational import expectation, has_bound
from whoknows.model.annotators import (
    BernoulliAnnotators,
    BiasedAnnotators,
    ConfusionAnnotators,
    GaussianAnnotators,
    OrderedAnnotators,
)
from whoknows.model.annotators.pairs import group_labels
from whoknows.model.evidence import GOLD_PRECISION, QuadraticEvidence, TableEvidence
from whoknows.model.gaussian import Belief, variance_along
from whoknows.model.graph import KnnGraph
from whoknows.model.posterior import CategoricalPosterior, GaussianPosterior
from whoknows.model.truth import GraphTruth, LinearTruth, LogisticTruth, OrderedTruth

N, T = 16, 4
RNG = np.random.default_rng(5)
X = RNG.normal(size=(N, 2))
FEATURES = with_ones(X)
QUIET = RNG.random((N, T)) < 0.35
QUIET[:T] = ~np.eye(T, dtype=bool) & QUIET[:T]  # everybody says something
QUIET[-2:] = True  # two items have no label
TIMES = RNG.integers(0, 4, (~QUIET).sum())  # how often each label counts
WEIGHT = RNG.integers(0, 4, N)  # how often each item counts
WEIGHT[:4] = [2, 0, 3, 1]
GOLD_ITEMS = [0, 2, 5, N - 1]  # the last of them has no label

ANNOTATORS = {
    "bernoulli": (BernoulliAnnotators(), 2),
    "two-coin": (BernoulliAnnotators(two_coin=True), 2),
    "confusion, 2": (ConfusionAnnotators(), 2),
    "confusion, 4": (ConfusionAnnotators(), 4),
    "bernoulli, 4": (BernoulliAnnotators(), 4),
    "gaussian": (GaussianAnnotators(), 2),
    "ordered": (OrderedAnnotators(), 4),
    "biased": (BiasedAnnotators(), None),
}
MODELS = {
    **{name: (piece, LogisticTruth(), n) for name, (piece, n) in ANNOTATORS.items() if n},
    "lgp": (BernoulliAnnotators(), LogisticTruth(KnnGraph(k=4), strength=3.0), 2),
    "levels": (OrderedAnnotators(), OrderedTruth(), 4),
    "gp": (GaussianAnnotators(), GraphTruth(KnnGraph(k=4)), 2),
    "linear": (BiasedAnnotators(), LinearTruth(), None),
}
ITEM_BY_ITEM = {name: case for name, case in MODELS.items() if name != "gp"}  # whose items can have copies
every_annotator = pytest.mark.parametrize("case", ANNOTATORS.values(), ids=ANNOTATORS.keys())
every_model = pytest.mark.parametrize("case", MODELS.values(), ids=MODELS.keys())
every_with_copies = pytest.mark.parametrize("case", ITEM_BY_ITEM.values(), ids=ITEM_BY_ITEM.keys())


# --- the world, and the same thing several times --------------------------------------------------


def said(n_classes):
    """Labels that follow the first feature, with mistakes; real numbers if there are no classes."""
    rng = np.random.default_rng(6)
    if n_classes is None:
        matrix = X[:, :1] + [0.5, -0.5, 0, 0] + rng.normal(size=(N, T))
    else:
        right = np.digitize(X[:, :1], np.quantile(X[:, 0], np.arange(1, n_classes) / n_classes))
        matrix = np.where(rng.random((N, T)) < 0.7, right, rng.integers(0, n_classes, (N, T))).astype(float)
    matrix[QUIET] = np.nan
    return Annotations.from_matrix(matrix, labels=None if n_classes is None else range(n_classes))


def some_posterior(n_classes):
    rng = np.random.default_rng(7)
    if n_classes is None:
        return GaussianPosterior(rng.normal(size=N), rng.uniform(0.1, 1, N))
    return CategoricalPosterior(softmax(2 * rng.normal(size=(N, n_classes)), axis=1))


def counted(Y, times):
    return replace(Y, confidence=np.asarray(times, dtype=float))


def written_out(Y, times):
    """Return the labels written down as often as they count."""
    taken = np.repeat(np.arange(Y.n_annotations), times)
    codes = Y.item[taken], Y.annotator[taken], Y.label[taken]
    return Annotations(*codes, Y.items, Y.annotators, Y.labels)


def for_classes(piece, n_classes):
    return piece if n_classes is None else piece.for_classes(n_classes)


def some_theta(piece):
    start = piece.init(3, T)
    return start + 0.5 * np.random.default_rng(8).normal(size=start.shape)


def built(case):
    """Model, parameters and items, which are neither weighted nor gold yet."""
    annotators, truth, n_classes = case
    annotators = for_classes(annotators, n_classes)
    truth = for_classes(truth, n_classes).prepare(X, FEATURES)
    start = truth.init(3)
    xi = start + 0.5 * np.random.default_rng(9).normal(size=start.shape)
    items = Items(X if isinstance(truth, GraphTruth) else FEATURES, FEATURES, said(n_classes))
    return Model(annotators, truth), Parameters(some_theta(annotators), xi), items


def gold_of(case):
    gold = np.full(N, np.nan)
    gold[GOLD_ITEMS] = [1, 0, 1, 0] if case[2] else X[GOLD_ITEMS, 0] + [0.3, -0.2, 0.1, -0.4]
    return gold


def weighted(items, weight=WEIGHT):
    return replace(items, weight=np.asarray(weight, dtype=float))


def copied(items, weight=WEIGHT):
    """Return the items as often as they count."""
    return items[np.repeat(np.arange(len(items.X_truth)), weight)]


def belief(mean):
    rng = np.random.default_rng(10)
    roots = 0.4 * rng.normal(size=(*mean.shape, mean.shape[-1]))
    return Belief(mean, roots @ np.swapaxes(roots, -1, -2))


def same(found, expected, **tolerance):
    for ours, theirs in zip(found, expected, strict=True):
        np.testing.assert_allclose(ours, theirs, **(tolerance or {"rtol": 1e-9, "atol": 1e-9}))


def parts(evidence):
    names = ("table",) if isinstance(evidence, TableEvidence) else ("precision", "pull", "constant")
    return [getattr(evidence, name) for name in names]


# --- confidence: a label several times ------------------------------------------------------------


class TestConfidence:
    @every_annotator
    def test_evidence_is_that_of_labels_written_as_often_as_they_count(self, case):
        piece, Y = for_classes(*case), said(case[1])
        theta = some_theta(piece)
        ways = [lambda y: piece.evidence(theta, FEATURES, y)]
        for known in (Belief(theta), *([belief(theta)] if case[1] == 2 else [])):
            ways.append(lambda y, known=known: piece.evidence_at(known, FEATURES, y))
            if hasattr(piece, "predictive"):
                ways.append(lambda y, known=known: piece.predictive(known, FEATURES, y))
        for evidence in ways:
            same(parts(evidence(counted(Y, TIMES))), parts(evidence(written_out(Y, TIMES))))

    @every_annotator
    def test_a_confidence_of_a_third_is_a_third_of_the_evidence(self, case):
        piece, Y = for_classes(*case), said(case[1])
        theta, third = some_theta(piece), counted(Y, np.full(Y.n_annotations, 1 / 3))
        whole = parts(piece.evidence(theta, FEATURES, Y))
        same(parts(piece.evidence(theta, FEATURES, third)), [part / 3 for part in whole])

    @every_annotator
    def test_expected_log_likelihood_and_gradient_are_those_of_labels_written_out(self, case):
        piece, Y, q = for_classes(*case), said(case[1]), some_posterior(case[1])
        theta = some_theta(piece)
        found = piece.expected_log_lik(theta, FEATURES, counted(Y, TIMES), q)
        same(found, piece.expected_log_lik(theta, FEATURES, written_out(Y, TIMES), q))
        uneven, heavy = counted(Y, TIMES / 2), replace(q, weight=WEIGHT / 3)
        _, gradient = piece.expected_log_lik(theta, FEATURES, uneven, heavy)
        by_differences = slope(lambda at: piece.expected_log_lik(at, FEATURES, uneven, heavy)[0], theta)
        np.testing.assert_allclose(gradient, by_differences, atol=1e-6)

    @pytest.mark.parametrize("name", ["bernoulli", "two-coin", "confusion, 2"])
    def test_sums_for_the_variational_solver_are_those_of_labels_written_out(self, name):
        piece, Y, q = ANNOTATORS[name][0], said(2), some_posterior(2)
        known = belief(some_theta(piece))

        def answers(Y):
            pairs = group_labels(FEATURES, Y)
            moments = piece.moments(known, pairs)
            return piece.bounded_evidence(moments, pairs).table, *piece.statistics(moments, pairs, q)

        same(answers(counted(Y, TIMES)), answers(written_out(Y, TIMES)))

    @every_model
    def test_a_confidence_of_zero_is_no_label(self, case):
        model, at, items = built(case)
        kept = TIMES > 0
        muted = replace(items, Y=counted(items.Y, kept))
        absent = replace(items, Y=items.Y.only(kept))
        same(marginal(muted, model, at), marginal(absent, model, at))

    def test_the_vote_counts_ballots_by_confidence(self):
        Y = Annotations.from_matrix([[0, 1, 1]], labels=[0, 1])
        blank = np.ones((1, 1))
        for times, winner in (([1, 1, 1], 1), ([3, 1, 1], 0)):
            assert vote(Items(blank, blank, counted(Y, times))).prob.argmax() == winner
        np.testing.assert_allclose(vote(Items(blank, blank, counted(Y, [2, 1, 1]))).prob, 0.5)


# --- weight: an item several times ----------------------------------------------------------------


class TestWeight:
    @every_with_copies
    def test_the_marginal_and_its_gradients_are_those_of_items_repeated(self, case):
        model, at, items = built(case)
        found = marginal(weighted(items), model, at)
        same(found, marginal(copied(items), model, at))
        assert abs(found[0] - marginal(items, model, at)[0]) > 1

    @every_model
    def test_gradients_of_the_marginal_match_differences_with_everything_on(self, case):
        """Confidence, weight and gold together: Fisher's identity holds only if all sums weigh alike."""
        model, at, items = built(case)
        items = weighted(replace(items, Y=counted(items.Y, TIMES / 2), gold=gold_of(case)), WEIGHT / 3)
        _, d_theta, d_xi = marginal(items, model, at)
        by_differences = slope(lambda flat: marginal(items, model, at.unflatten(flat))[0], at.flatten(), 1e-5)
        found = np.concatenate([d_theta.ravel(), d_xi.ravel()])
        np.testing.assert_allclose(found, by_differences, atol=2e-5)

    def test_in_a_graph_a_weight_is_the_confidence_of_all_the_items_labels(self):
        """Items have one joint truth there, and none has a copy."""
        model, at, items = built(MODELS["gp"])
        sure = replace(items, Y=counted(items.Y, WEIGHT[items.Y.item]))
        same(marginal(weighted(items), model, at), marginal(sure, model, at))

    @pytest.mark.parametrize("name", [name for name in ITEM_BY_ITEM if name != "linear"])
    def test_chunks_add_up_with_weights_and_gold(self, name):
        model, at, items = built(MODELS[name])
        items = weighted(replace(items, Y=counted(items.Y, TIMES), gold=gold_of(MODELS[name])))
        for n_chunks in (2, 7):
            chunks = list(items.chunks(n_chunks))
            same(Serial().sum(marginal, chunks, model, at), marginal(items, model, at))

    @pytest.mark.parametrize("name", ["bernoulli", "two-coin", "confusion, 2", "lgp"])
    def test_the_variational_bound_and_sums_are_those_of_items_repeated_in_any_chunks(self, name):
        model, at, items = built(MODELS[name])
        items = replace(items, Y=counted(items.Y, TIMES), gold=gold_of(MODELS[name]))
        beliefs = belief(at.theta), replace(belief(at.xi[:, 0]), mean=at.xi)
        expected = expectation(copied(items), model, *beliefs)
        for n_chunks in (1, 2, 7):
            chunks = list(weighted(items).chunks(n_chunks))
            same(Serial().sum(expectation, chunks, model, *beliefs), expected)


# --- whole fits -----------------------------------------------------------------------------------

LONG_ENOUGH = 25  # iterations: the same steps from the same start do not have to end to be the same


def fit(model, items, solver, **settings):
    """Return θ and ξ (or what stands for them), and the history of the bound."""
    monitor = Monitor(5000, 1e-11, callback=lambda iteration, *_: iteration == LONG_ENOUGH)
    fitted = solve(model, items, None, monitor, solver, **settings)
    graph = isinstance(model.truth, GraphTruth)
    truth = fitted.truth.posterior.mean if graph else model.truth.parameters(fitted.truth)
    return fitted.annotators.mean, truth, monitor.history


FITS = {
    f"{name}, {solver}": (case, solver)
    for name, case in MODELS.items()
    if name not in ("bernoulli, 4", "confusion, 2", "ordered")  # nothing in the solvers is their own
    for solver in ("em", "lbfgs", *(["vb"] if has_bound(built(case)[0]) else []))
}
WITH_COPIES = {name: case for name, case in FITS.items() if not name.startswith("gp")}
every_fit = pytest.mark.parametrize(("case", "solver"), FITS.values(), ids=FITS.keys())


class TestWholeFit:
    @pytest.mark.parametrize(("case", "solver"), WITH_COPIES.values(), ids=WITH_COPIES.keys())
    def test_a_fit_to_weighted_items_is_the_fit_to_items_repeated(self, case, solver):
        model, _, items = built(case)
        items = replace(items, Y=counted(items.Y, TIMES + 1), gold=gold_of(case))
        ours = fit(model, weighted(items).labelled(), solver)
        theirs = fit(model, copied(items).labelled(), solver)
        assert ours[2][-1] == pytest.approx(theirs[2][-1], rel=1e-7)
        same(ours[:2], theirs[:2], atol=1e-8 if solver == "vb" else 1e-3)  # line searches look at last digits
        plain = fit(model, items.labelled(), solver)
        assert max(np.abs(a - b).max() for a, b in zip(plain[:2], ours[:2], strict=True)) > 0.05

    @pytest.mark.parametrize("solver", ["em", "lbfgs"])
    def test_a_graph_fit_to_weighted_items_is_the_fit_to_surer_labels(self, solver):
        model, _, items = built(MODELS["gp"])
        sure = replace(items, Y=counted(items.Y, WEIGHT[items.Y.item]))
        same(fit(model, weighted(items), solver)[:2], fit(model, sure, solver)[:2], atol=1e-4)

    @every_fit
    def test_the_bound_never_falls_with_confidence_weights_and_gold(self, case, solver):
        model, _, items = built(case)
        items = weighted(replace(items, Y=counted(items.Y, TIMES / 2 + 0.1), gold=gold_of(case)), WEIGHT / 2)
        history = np.array(fit(model, items, solver)[2])
        assert len(history) > 3
        assert np.diff(history).min() >= -1e-9 * max(abs(history[-1]), 1)
        assert history[-1] > history[0]

    @pytest.mark.parametrize("solver", ["vb", "em", "crossfit"])
    def test_what_does_not_count_leaves_no_trace(self, solver):
        model, _, items = built(MODELS["bernoulli"])
        Y, here = items.Y, np.arange(N) % 4 > 0
        heard = (Y.annotator != 3) | here[Y.item]  # everybody still says something, of every item
        for muted, absent in (
            (replace(items, Y=counted(Y, heard)), replace(items, Y=Y.only(heard))),
            (weighted(items, here), items[here]),
        ):
            ours, theirs = (fit(model, some.labelled(), solver) for some in (muted, absent))
            same(ours[:2], theirs[:2], atol=1e-8)


# --- left out with all its copies -----------------------------------------------------------------


class TestLeftOut:
    @pytest.mark.parametrize(("kind", "n_classes"), [(LogisticTruth, 2), (LogisticTruth, 4), (OrderedTruth, 4)])
    def test_an_item_of_weight_two_is_left_out_with_both_copies(self, kind, n_classes):
        truth = kind(variance=2.0).for_classes(n_classes).prepare(X, FEATURES)
        prob, weight = some_posterior(n_classes).prob, np.where(np.arange(N) % 3, 1.0, 2.0)
        q = CategoricalPosterior(prob, weight=weight)

        def fitted(weight):
            def height(xi):
                value, gradient = truth.expected_log_truth(xi, FEATURES, CategoricalPosterior(prob, 0, weight))
                prior, prior_gradient = truth.log_prior(xi)
                return value + prior, gradient + prior_gradient

            return maximize(height, truth.init(3), 500)

        xi = fitted(weight)
        found = truth.leave_one_out(xi, FEATURES, q, variance_without_item(truth, xi, FEATURES, q))
        gaps = []
        for i in np.flatnonzero(weight == 2):
            neither, one = (
                truth.log_predict(Belief(fitted(np.where(np.arange(N) == i, left, weight))), FEATURES[[i]])[0]
                for left in (0.0, 1.0)
            )
            gaps.append((np.abs(found[i] - neither).max(), np.abs(one - neither).max()))
        ours, with_a_copy_left = np.mean(gaps, axis=0)
        assert ours < with_a_copy_left / 1.5

    def test_a_real_truth_at_an_item_of_weight_two_rests_on_the_others_and_its_own_labels_once(self):
        model, at, items = built(MODELS["linear"])
        evidence = weighted(items).complete(model.annotators.evidence(at.theta, FEATURES, items.Y))
        truth, xi = model.truth, at.xi
        known = truth.state(xi, truth.posterior(xi, FEATURES, evidence), evidence, FEATURES)
        found = truth.posterior_at(known, FEATURES, evidence)
        for i in np.flatnonzero(items.Y.labelled):
            others = QuadraticEvidence(*parts(evidence), weight=np.where(np.arange(N) == i, 0.0, WEIGHT))
            alone = truth.state(xi, truth.posterior(xi, FEATURES, others), others, FEATURES[:0])
            prior = GaussianPosterior(
                FEATURES[i] @ alone.mean, variance_along(FEATURES[[i]], alone.covariance)[0] + alone.noise
            )
            precision = 1 / prior.variance + evidence.precision[i]
            mean = (prior.mean / prior.variance + evidence.pull[i]) / precision
            np.testing.assert_allclose([found.mean[i], found.variance[i]], [mean, 1 / precision], rtol=1e-8)

    def test_on_a_graph_the_posterior_after_a_fit_is_the_one_of_the_fit(self):
        """Labels of an item without weight say nothing of its neighbours, neither in the fit nor after it."""
        model, at, items = built(MODELS["gp"])
        evidence = weighted(items).complete(model.annotators.evidence(at.theta, FEATURES, items.Y))
        posterior = model.truth.posterior(at.xi, X, evidence)
        known = model.truth.state(at.xi, posterior, evidence, X)
        found = model.truth.posterior_at(known, X, evidence)
        np.testing.assert_allclose(found, np.exp(model.truth.log_predict(known, X)), atol=1e-10)
        rows = np.array([0, 2, 6])
        some = QuadraticEvidence(*(part[rows] for part in (*parts(evidence), evidence.weight)))
        np.testing.assert_allclose(model.truth.posterior_at(known, X[rows], some), found[rows], atol=1e-10)


# --- gold -----------------------------------------------------------------------------------------


class TestGold:
    @pytest.mark.parametrize("name", [name for name, case in MODELS.items() if case[2] and name != "gp"])
    def test_marginal_and_posterior_are_those_of_the_model_given_gold_by_brute_force(self, name):
        """Σ of Π p(z | x) Π p(y | x, z) over every Z that agrees with gold."""
        model, at, items = built(MODELS[name])
        few, K = items[[0, 2, 5, 6, N - 1]], MODELS[name][2]
        gold = np.array([1.0, np.nan, 0.0, np.nan, K - 1.0])  # the last has no label
        assert few.Y.labels_per_item[-1] == 0
        log_truth = model.truth.log_predict(Belief(at.xi), few.X_truth)
        log_said = model.annotators.evidence(at.theta, few.X_annotators, few.Y).table
        mass = np.zeros((5, K))
        for Z in product(range(K), repeat=5):
            if all(np.isnan(g) or g == z for g, z in zip(gold, Z, strict=True)):
                p = np.exp(sum(log_truth[i, z] + log_said[i, z] for i, z in enumerate(Z)))
                mass[np.arange(5), Z] += p
        posterior = e_step(replace(few, gold=gold), model, at)
        assert posterior.log_marginal == pytest.approx(np.log(mass.sum(axis=1)[0]), abs=1e-8)
        np.testing.assert_allclose(posterior.prob, mass / mass.sum(axis=1, keepdims=True), atol=1e-9)
        np.testing.assert_array_equal(posterior.prob[[0, 2, 4]], np.eye(K)[[1, 0, K - 1]])

    def test_on_a_graph_gold_is_a_label_nobody_doubts(self):
        """Against the reference, with gold as one more annotator, whose σ is a thousandth."""
        model, at, items = built((GaussianAnnotators(sigma_floor=0.0), GraphTruth(KnnGraph(k=4)), 2))
        gold, Y, sure = gold_of(MODELS["gp"]), items.Y, GOLD_PRECISION**-0.5
        found = e_step(replace(items, gold=gold), model, at)
        theta = np.vstack([at.theta[:-1], [0, 0, np.log(sure / (1 - sure))]])
        labels = np.column_stack([Y.item, Y.annotator, Y.label]).tolist()
        labels += [(i, T, gold[i]) for i in GOLD_ITEMS]
        prior = np.full(N, 0.5), model.truth.covariance
        mean, covariance, log_marginal = models.gp(prior, FEATURES, labels, theta)
        np.testing.assert_allclose(found.mean, mean, atol=1e-6)
        np.testing.assert_allclose(found.variance, np.diag(covariance), atol=1e-6)
        density = len(GOLD_ITEMS) * np.log(np.sqrt(2 * np.pi) * sure)  # which gold, being no label, leaves out
        assert found.log_marginal == pytest.approx(log_marginal + density, abs=1e-5)

    def test_of_a_real_truth_gold_is_conditioned_on(self):
        """Against all of z, y and gold as one Gaussian vector."""
        model, at, items = built(MODELS["linear"])
        gold = gold_of(MODELS["linear"])
        found = e_step(replace(items, gold=gold), model, at)
        of_z = FEATURES @ np.linalg.inv(model.truth.precision) @ FEATURES.T + np.exp(at.xi[0]) * np.eye(N)
        H = np.eye(N)[[*items.Y.item, *GOLD_ITEMS]]
        sigma = model.annotators.scale(at.theta, FEATURES)[items.Y.item, items.Y.annotator]
        y = items.Y.labels[items.Y.label] - at.theta[items.Y.annotator, -1]
        y = np.concatenate([y, gold[GOLD_ITEMS]])
        noise = np.concatenate([sigma**2, np.full(len(GOLD_ITEMS), 1 / GOLD_PRECISION)])
        gain = of_z @ H.T @ np.linalg.inv(H @ of_z @ H.T + np.diag(noise))
        np.testing.assert_allclose(found.mean, gain @ y, atol=1e-7)
        np.testing.assert_allclose(found.variance, np.diag(of_z - gain @ H @ of_z), atol=1e-7)
        np.testing.assert_allclose(found.mean[GOLD_ITEMS], gold[GOLD_ITEMS], atol=1e-3)
        assert np.sqrt(found.variance[GOLD_ITEMS]).max() < 2e-3

    def test_the_vote_starts_at_gold_whatever_was_said(self):
        _, _, items = built(MODELS["confusion, 4"])
        gold = gold_of(MODELS["confusion, 4"])
        prob = vote(replace(items, gold=gold)).prob
        np.testing.assert_array_equal(prob[GOLD_ITEMS], np.eye(4)[gold[GOLD_ITEMS].astype(int)])
        assert prob[N - 2].max() == pytest.approx(0.25)
