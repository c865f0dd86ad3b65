"""Corrected rates: estimates against brute force, intervals, groups, weights, pairs and bad input."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.optimize import minimize_scalar

from whoknows import Annotations, AutoCrowdClassifier, ConfusionAnnotators, CrowdClassifier, CrowdRegressor
from whoknows.data.errors import InputError
from whoknows.estimators.auto.members import Member
from whoknows.insight import rate, rate_of
from whoknows.insight.rates.hidden_gold import _settings, posterior_without_own_gold
from whoknows.insight.rates.prediction_powered import KnownItems, estimate_with_gold, imagined_items

LABELS = np.array(["bad", "good"])


def simulate(n=600, right=0.9, seed=0):
    """Truth and predictions that are right with this probability."""
    rng = np.random.default_rng(seed)
    truth = (rng.random(n) < 0.7).astype(int)
    says = np.where(rng.random(n) < right, truth, 1 - truth)
    return truth, np.eye(2)[says] * 0.9 + 0.05, rng


def known(truth, rows):
    return np.where(np.isin(np.arange(len(truth)), rows), truth, np.nan)


def test_power_minimises_the_variance_of_the_residuals():
    rng = np.random.default_rng(0)
    prediction = rng.dirichlet([1, 1, 1], 40)
    truth = np.eye(3)[[rng.choice(3, p=p) for p in prediction]]
    items = KnownItems(truth, prediction, rng.uniform(0.5, 2, 40))

    def spread(power):
        residual = truth - power * prediction
        return float(items.mean((residual - items.mean(residual)) ** 2).sum())

    best = minimize_scalar(spread, bounds=(0, 1), method="bounded", options={"xatol": 1e-10}).x
    assert items.power == pytest.approx(best, abs=1e-6)


def test_useless_predictions_leave_the_interval_of_agresti_and_coull():
    truth = np.eye(2)[[0] * 3 + [1] * 17]
    gold, reach = KnownItems(truth, np.full((20, 2), 0.5), np.ones(20)), 1.645
    uninformed = imagined_items(2)
    uninformed = KnownItems(uninformed.truth, np.full((4, 2), 0.5), uninformed.weight)
    found = estimate_with_gold(gold, uninformed, np.full(2, 0.5), 0.0, np.eye(2), reach)
    p = (17 + reach**2 / 2) / (20 + reach**2)
    assert found.value[1] == pytest.approx(17 / 20)
    assert found.centre[1] == pytest.approx(p)
    assert found.variance[1] == pytest.approx(p * (1 - p) / (20 + reach**2))


def test_predictions_that_are_all_right_still_have_an_interval():
    truth, _, rng = simulate()
    rates = rate_of(np.eye(2)[truth], known(truth, rng.permutation(600)[:10]), LABELS)
    assert rates.rate[1] == pytest.approx(truth.mean(), abs=0.05)
    assert rates.low[1] < truth.mean() < rates.high[1]
    assert rates.high[1] - rates.low[1] > 0.1


def test_gold_of_all_items_is_the_answer():
    truth, prob, _ = simulate()
    rates = rate_of(prob, truth.astype(float), LABELS)
    assert rates.rate[1] == pytest.approx(truth.mean())
    assert np.allclose([rates.low[1], rates.high[1]], truth.mean())


def test_shares_of_many_classes_add_up_to_one():
    rng = np.random.default_rng(0)
    prob = rng.dirichlet(np.ones(4), 300)
    truth = np.array([rng.choice(4, p=p) for p in prob])
    rates = rate_of(prob, known(truth, np.arange(40)), np.array(list("abcd")), by=["x", "y"] * 150)
    assert np.allclose(rates.rate.reshape(3, 4).sum(axis=1), 1)


def test_biased_predictions_are_corrected():
    """Judges who call a third of the bad items good: the plain mean is far off, the interval is not."""
    truth, _, rng = simulate(2000)
    says = np.where((truth == 0) & (rng.random(2000) < 1 / 3), 1, truth)
    rates = rate_of(np.eye(2)[says], known(truth, rng.permutation(2000)[:150]), LABELS)
    assert rates.low[1] < truth.mean() < rates.high[1] < says.mean()


def test_better_predictions_give_narrower_intervals():
    widths = []
    for right in (0.5, 0.8, 0.98):
        truth, prob, rng = simulate(2000, right)
        rates = rate_of(prob, known(truth, rng.permutation(2000)[:100]), LABELS)
        widths.append(rates.high[1] - rates.low[1])
    assert widths[0] > widths[1] > 2 * widths[2]


def test_groups_with_little_gold_borrow_the_correction_and_say_so():
    truth, prob, _ = simulate()
    by = np.repeat(["many", "none", "two"], 200)
    rates = rate_of(prob, known(truth, [*range(40), 400, 401]), LABELS, by=by)
    method = dict(zip(rates.group, rates.method, strict=True))
    width = dict(zip(rates.group, rates.high - rates.low, strict=True))
    assert method == {"all items": "gold", "many": "gold", "none": "gold of all", "two": "gold of all"}
    assert width["many"] < width["two"] < width["none"]
    assert "fewer than three gold items" in str(rates)


def test_uneven_gold_is_corrected_by_its_weights():
    truth, prob, rng = simulate(4000, 0.7)
    drawn = np.where(truth == 1, 0.04, 0.2)  # bad items are five times as likely to be checked
    gold = known(truth, np.flatnonzero(rng.random(4000) < drawn))
    plain = rate_of(prob, gold, LABELS)
    weighted = rate_of(prob, gold, LABELS, gold_weight=1 / drawn)
    assert plain.high[1] < truth.mean()
    assert weighted.low[1] < truth.mean() < weighted.high[1]


def test_differences_of_pairs_drawn_together_are_more_certain():
    """Two models answer the same questions, and people checked both answers of a question."""
    rng = np.random.default_rng(1)
    easy = rng.random(1000) < 0.6
    truth = np.concatenate([easy, np.where(rng.random(1000) < 0.9, easy, rng.random(1000) < 0.3)]).astype(int)
    prob, questions = np.full((2000, 2), 0.5), np.tile(np.arange(1000), 2)
    gold = known(truth, np.flatnonzero(questions < 80))
    by = np.repeat(["one", "two"], 1000)
    alone = rate_of(prob, gold, LABELS, by=by).difference("one", "two")
    paired = rate_of(prob, gold, LABELS, by=by, pair=questions).difference("one", "two")
    assert paired.value == alone.value
    assert paired.high - paired.low < 0.7 * (alone.high - alone.low)
    assert paired.low < truth[:1000].mean() - truth[1000:].mean() < paired.high
    assert paired.wins[0] == pytest.approx(0.5 + paired.value / 2)


def test_differences_list_the_higher_rate_first():
    truth, prob, _ = simulate()
    rates = rate_of(prob, known(truth, range(0, 600, 5)), LABELS, by=np.repeat([3, 1, 2], 200))
    found = rates.differences("bad")
    assert rates.groups == [1, 2, 3]
    assert len(found) == 3
    assert found[0].value >= found[1].value >= found[2].value >= 0
    assert "points" in str(found[0])


def test_a_score_counts_ties_half():
    labels, truth = np.array(["A", "B", "tie"]), np.repeat([0, 1, 2], [50, 30, 20])
    rates = rate_of(np.eye(3)[truth], truth.astype(float), labels, score={"A": 1, "tie": 0.5, "B": 0})
    assert rates.labels == ["A", "B", "tie", "score"]
    assert np.allclose(rates.rate, [0.5, 0.3, 0.2, 0.6])


def test_new_items_add_the_chance_of_the_sample():
    truth, prob, _ = simulate()
    gold = known(truth, range(300))
    these, others = (rate_of(prob, gold, LABELS, new_items=new) for new in (False, True))
    assert others.high[1] - others.low[1] > 1.3 * (these.high[1] - these.low[1])


# --- with a model ---------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def judged():
    """Labels of four judges, a model of them, and gold."""
    truth, _, rng = simulate(120)
    labels = np.where(rng.random((120, 4)) < 0.8, truth[:, None], 1 - truth[:, None])
    y = Annotations.from_matrix(LABELS[labels], items=[f"q{i}" for i in range(120)])
    gold = {f"q{i}": str(LABELS[truth[i]]) for i in range(12)}
    model = CrowdClassifier("id", ConfusionAnnotators(varies_with_x=False), "linear", max_iter=20, tol=1e-3)
    X = np.zeros((120, 1))
    return model.fit(X, y, gold=gold), X, y, gold


def test_a_posterior_has_not_seen_its_own_gold(judged):
    model, X, y, _ = judged
    gold = known(np.zeros(120), range(6))
    contradicted = gold.copy()
    contradicted[2] = 1
    one, other = (posterior_without_own_gold(model, X, y, each, 6, 0) for each in (gold, contradicted))
    assert np.allclose(one[2], other[2])
    assert not np.allclose(one[3], other[3])


def test_an_ensemble_is_fitted_again_with_its_best_members_only(judged):
    _, X, y, gold = judged
    X = np.random.default_rng(0).normal(size=(len(X), 2))
    members = [Member("linear", variance, varies_with_x=False) for variance in (0.1, 1.0, 10.0, 100.0)]
    model = AutoCrowdClassifier(selection=False, members=members, max_iter=5).fit(X, y, gold=gold)
    model.selection_ = replace(model.selection_, on_labelled=np.array([0.3, 0.1, 0.2, 0.4]))
    assert [member.variance for member in _settings(model).members] == [100.0, 0.1, 10.0]
    assert rate(model, X, y, gold=gold, folds=2).n_gold[0] == 12


def test_the_method_of_the_model_is_the_function(judged):
    model, X, y, gold = judged
    by = {f"q{i}": "even" if i % 2 == 0 else "odd" for i in range(120)}
    rates = model.rate(X, y, gold=gold, by=by, folds=2)
    assert rates.groups == ["even", "odd"]
    assert rates.n_gold.tolist() == [12, 12, 6, 6, 6, 6]
    assert np.array_equal(rates.rate, rate(model, X, y, gold=gold, by=by, folds=2).rate)
    assert str(rates).splitlines()[1].split()[:3] == ["all", "items", "bad"]
    assert list(rates.columns()) == ["group", "label", "n_items", "n_gold", "rate", "low", "high", "method"]


def test_without_gold_rates_are_those_of_the_model_and_say_so(judged):
    model, X, y, _ = judged
    rates = rate(model, X, y, by=["x", "y"] * 60)
    assert np.allclose(rates.rate[:2], model.posterior(X, y).mean(axis=0))
    assert set(rates.method) == {"model"}
    assert np.isnan(rates.power)
    assert (rates.low < rates.rate).all()
    assert (rates.rate < rates.high).all()
    assert "far too narrow" in str(rates)
    shared = rates.difference("x", "y")
    assert shared.high - shared.low < sum(rates.high[[3, 5]] - rates.low[[3, 5]])


def test_a_class_that_only_gold_has_is_a_class(judged):
    model, X, y, gold = judged
    rates = rate(model, X, y, gold=gold | {"q0": "ugly", "q50": "ugly"}, folds=2)
    assert rates.labels == ["bad", "good", "ugly"]


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"gold": {"nobody": "good"}}, "gold names 1 of 1 items that are not in y"),
        ({"by": {"nobody": "x"}}, "by= names 1 items that y does not have"),
        ({"by": ["x"]}, "by= needs one value for each of the 120 items"),
        ({"gold_weight": np.zeros(120)}, "gold_weight= needs positive numbers"),
        ({"score": {"good": 1}}, "score= needs a number between 0 and 1 for each"),
        ({"level": 2}, "level"),
    ],
)
def test_bad_input_is_named(judged, options, says):
    model, X, y, _ = judged
    with pytest.raises(InputError, match=says):
        rate(model, X, y, **options)


def test_unknown_groups_and_labels_are_named(judged):
    model, X, y, _ = judged
    rates = rate(model, X, y, by=["x", "y"] * 60)
    with pytest.raises(InputError, match="no group 'z'"):
        rates.difference("x", "z")
    with pytest.raises(InputError, match="no label 'fine'"):
        rates.difference("x", "y", "fine")


def test_a_regressor_has_no_rates():
    X, y = np.arange(6.0)[:, None], np.arange(12.0).reshape(6, 2)
    with pytest.raises(InputError, match="about classes"):
        rate(CrowdRegressor(map="linear").fit(X, y), X, y)
