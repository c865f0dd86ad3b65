"""update(): labels that come in later lead to the answer of a new fit, sooner."""

import pickle
from dataclasses import replace
from functools import cache

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

from tests.estimators.worlds import line_world, without_doubt
from whoknows import Annotations, AutoCrowdClassifier, BernoulliAnnotators, CrowdClassifier
from whoknows.estimators.auto.members import Member
from whoknows.estimators.auto.reading import labels_of
from whoknows.estimators.prepared_model import DIRECTIONS, directions_of

LINEAR = {"truth": "id", "map": "linear"}
TIGHT = {"tol": 1e-10, "max_iter": 5000}
MODELS = {
    "vb": CrowdClassifier(**LINEAR),
    "lgp, rbf": CrowdClassifier(),
    "two-coin": CrowdClassifier(**LINEAR, annotators=BernoulliAnnotators(two_coin=True)),
    "em": CrowdClassifier(**LINEAR, solver="em"),
    "lbfgs": CrowdClassifier(**LINEAR, solver="lbfgs"),
    "gaussian": CrowdClassifier(**LINEAR, annotators="gaussian"),
    "gp": CrowdClassifier("gp"),
    "crossfit": CrowdClassifier(**LINEAR, solver="crossfit"),
}
every_model = pytest.mark.parametrize("name", MODELS)
some_models = pytest.mark.parametrize("name", ["vb", "em", "gp", "crossfit"])
X, Y, Z = line_world(n_items=100, share_labelled=0.8)
KNOWN = np.flatnonzero(np.isnan(Y).any(axis=1) | (Z[:, None] == Y).any(axis=1))[[0, 1, 2, -1]]
GOLD = {int(i): int(Z[i]) for i in KNOWN}  # nobody is contradicted by all
LATER = np.random.default_rng(1).random(Y.shape) < 0.1  # one label in ten


def some(mask, y=Y, **vocabularies):
    """Only these labels."""
    return Annotations.from_matrix(np.where(mask, y, np.nan), **{"labels": [0, 1], **vocabularies})


FIRST, NEW, ALL = some(~LATER), some(LATER), some(True)


def tight(name, **settings):
    return clone(MODELS[name]).set_params(**TIGHT, **settings)


@cache
def whole(name):
    """All labels at once, for others to be compared with."""
    return tight(name).fit(X, ALL)


def assert_same_answer(mine, theirs, X=X, atol=1e-3):
    assert mine.classes_.tolist() == theirs.classes_.tolist()
    assert mine.annotators_.tolist() == theirs.annotators_.tolist()
    np.testing.assert_allclose(mine.posterior_, theirs.posterior_, atol=atol)
    np.testing.assert_allclose(mine.predict_proba(X), theirs.predict_proba(X), atol=atol)
    for one, other in zip(
        mine.expertise(X, return_interval=True), theirs.expertise(X, return_interval=True), strict=True
    ):
        np.testing.assert_allclose(one, other, atol=atol)


def three_classes(n_items=90, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_items, 2))
    z = (X @ np.array([[2.0, 0.0], [-2.0, 0.0], [0.0, 2.0]]).T).argmax(axis=1)
    guess = rng.integers(0, 3, size=(n_items, 4))
    y = np.where(rng.random((n_items, 4)) < 0.75, z[:, None], guess).astype(float)
    y[2 * n_items // 3 :] = np.nan
    return X, y


# --- the same answer as a new fit ---------------------------------------------------------------


@every_model
def test_new_labels_lead_to_the_answer_of_a_new_fit(name):
    model = tight(name).fit(X, FIRST)
    assert np.abs(model.posterior_ - whole(name).posterior_).max() > 0.05  # the new labels matter
    assert model.update(X, NEW) is model
    assert_same_answer(model, whole(name))


def test_new_labels_of_many_classes_lead_to_the_answer_of_a_new_fit():
    X3, y3 = three_classes()
    later = np.random.default_rng(0).random(y3.shape) < 0.1
    first, new = (some(mask, y3, labels=[0, 1, 2]) for mask in (~later, later))
    model = CrowdClassifier(**LINEAR, tol=1e-9, max_iter=3000).fit(X3, first)
    once = CrowdClassifier(**LINEAR, tol=1e-9, max_iter=3000).fit(X3, y3)
    assert model.solver_ == "crossfit"
    assert np.abs(model.posterior_ - once.posterior_).max() > 0.05
    assert_same_answer(model.update(X3, new), once, X3)


@pytest.mark.parametrize("name", [n for n in MODELS if n != "gaussian"])  # where EM creeps near its peak
def test_an_update_takes_fewer_iterations(name):
    once = clone(MODELS[name]).fit(X, ALL)
    model = clone(MODELS[name]).fit(X, FIRST)
    learnt = model._pair.prepared
    model.update(X, NEW)
    assert model._pair.prepared is learnt  # map and graph are not made again
    assert model.n_iter_ < once.n_iter_
    assert len(model.bound_history_) == model.n_iter_


@pytest.mark.parametrize("name", ["vb", "em"])
def test_many_small_updates_are_one_fit(name):
    model = tight(name).fit(X, FIRST)
    for item, annotator in np.argwhere(LATER & ~np.isnan(Y))[:6]:
        one = np.zeros(Y.shape, dtype=bool)
        one[item, annotator] = True
        model.update(X, some(one))
    rest = np.argwhere(LATER & ~np.isnan(Y))[6:]
    mask = np.zeros(Y.shape, dtype=bool)
    mask[tuple(rest.T)] = True
    assert_same_answer(model.update(X, some(mask)), whole(name))


@some_models
def test_nothing_new_changes_nothing(name):
    model = tight(name).fit(X, ALL)
    before = model.posterior_
    model.update(X, np.full(Y.shape, np.nan))
    np.testing.assert_allclose(model.posterior_, before, atol=1e-4)
    assert model.classes_.tolist() == [0, 1]


# --- what may be new ---------------------------------------------------------------------------------


@every_model
def test_new_annotators_are_welcome(name):
    """«anna» sorts before all others: every annotator moves to another place."""
    names = ["bob", "cleo", "dora"]
    hers = np.where(np.arange(100) < 40, Y[:, 0], np.nan)
    newcomer = some(True, hers[:, None], annotators=["anna"])
    model = tight(name).fit(X, some(True, annotators=names)).update(X, newcomer)
    assert model.annotators_.tolist() == ["anna", *names]
    together = np.column_stack([hers, Y])
    assert_same_answer(model, tight(name).fit(X, some(True, together, annotators=["anna", *names])))


def test_one_newcomer_may_come_as_a_table():
    said = some(True, annotators=["bob", "cleo", "dora"])
    model = CrowdClassifier(**LINEAR).fit(X, said).update(X, pd.DataFrame({"anna": Y[:, 0]}))
    assert model.annotators_.tolist() == ["anna", "bob", "cleo", "dora"]


@pytest.mark.parametrize("name", ["vb", "em"])
def test_an_annotator_who_was_silent_may_speak(name):
    silent = np.where([True, True, False], Y, np.nan)
    model = tight(name).fit(X, some(True, silent)).update(X, some(True))
    assert_same_answer(model, whole(name))


@some_models
def test_a_label_may_be_replaced(name):
    turned = Y.copy()
    rows = np.flatnonzero(~np.isnan(Y[:, 0]))[:3]
    turned[rows, 0] = 1 - turned[rows, 0]
    model = tight(name).fit(X, some(True, turned)).update(X, some(np.isin(np.arange(100), rows)[:, None]))
    assert_same_answer(model, whole(name))


@pytest.mark.parametrize("name", ["vb", "lgp, rbf", "gp"])
def test_new_items_may_follow(name):
    model = tight(name).fit(X[:80], some(True, Y[:80]))
    model.update(X, some(np.arange(100)[:, None] >= 80))
    assert model.posterior_.shape == (100, 2)
    assert_same_answer(model, whole(name))


def test_other_features_of_the_same_items_are_learnt_from_the_beginning():
    moved = X + np.random.default_rng(0).normal(size=X.shape)
    model = tight("lgp, rbf").fit(X, FIRST)
    learnt = model._pair.prepared
    model.update(moved, NEW)
    assert model._pair.prepared is not learnt
    assert_same_answer(model, tight("lgp, rbf").fit(moved, ALL), moved)


@pytest.mark.filterwarnings("ignore::whoknows.DidNotConverge")  # of three classes, this tight, it takes long
def test_a_new_class_is_learnt_from_the_beginning():
    X3, y3 = three_classes()
    two = np.where(y3 < 2, y3, np.nan)
    model = CrowdClassifier(**LINEAR).fit(X3, two).update(X3, np.where(y3 == 2, y3, np.nan))
    assert model.classes_.tolist() == [0, 1, 2]
    assert model.predict_proba(X3).shape == (90, 3)
    assert_same_answer(model, CrowdClassifier(**LINEAR).fit(X3, y3), X3, atol=1e-9)


def test_more_labels_may_let_expertise_depend_on_more():
    """Then it is another model, learnt from the beginning."""
    few = np.cumsum(~np.isnan(Y).any(axis=1))[:, None] <= 12
    model = tight("lgp, rbf").fit(X, some(few))
    before = model._pair.prepared.preprocessing.directions
    model.update(X, some(~few))
    assert model._pair.prepared.preprocessing.directions > before
    assert_same_answer(model, whole("lgp, rbf"))


def test_confidence_is_kept():
    sure = np.random.default_rng(0).uniform(0.1, 1, Y.shape)
    model = tight("vb").fit(X, some(~LATER, confidence=sure)).update(X, some(LATER, confidence=sure))
    assert_same_answer(model, tight("vb").fit(X, some(True, confidence=sure)))


# --- what was known besides ----------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["vb", "em", "gp"])
def test_gold_and_weights_are_kept(name):
    besides = {"gold": GOLD, "sample_weight": np.linspace(0.5, 2, 100)}
    model = tight(name).fit(X, FIRST, **besides).update(X, NEW)
    assert (model.posterior_[list(GOLD), list(GOLD.values())] > 0.9).all()
    assert_same_answer(model, tight(name).fit(X, ALL, **besides))


def test_of_new_items_nothing_is_known_besides():
    gold = {item: label for item, label in GOLD.items() if item < 80}
    weight = np.linspace(0.5, 2, 80)
    model = tight("vb").fit(X[:80], some(True, Y[:80]), gold=gold, sample_weight=weight)
    model.update(X, some(np.arange(100)[:, None] >= 80))
    besides = {"gold": gold, "sample_weight": np.append(weight, np.ones(20))}
    assert_same_answer(model, tight("vb").fit(X, ALL, **besides))


def test_gold_keeps_its_class_when_a_new_one_sorts_before_it():
    words = np.array(["maybe", "yes"], dtype=object)
    said = Annotations.from_matrix(np.where(np.isnan(Y), None, words[np.nan_to_num(Y).astype(int)]))
    gold = {item: words[label] for item, label in GOLD.items()}
    model = CrowdClassifier(**LINEAR, tol=1e-3).fit(X, said, gold=gold)
    new = Annotations.from_arrays([50, 51, 52], [0, 1, 2], ["absent"] * 3, items=range(100))
    model.update(X, new)
    assert model.classes_.tolist() == ["absent", "maybe", "yes"]
    np.testing.assert_allclose(model.posterior_[list(GOLD), np.array(list(GOLD.values())) + 1], 1.0)


# --- ids -----------------------------------------------------------------------------------------------

NAMED = [f"item {i}" for i in range(100)]


def test_items_go_by_their_names():
    frame = pd.DataFrame(X, index=NAMED)
    model = tight("vb").fit(frame, some(~LATER, items=NAMED)).update(frame, some(LATER, items=NAMED))
    assert_same_answer(model, whole("vb"), frame)


def test_rows_without_names_are_the_rows_of_the_fit():
    model = tight("vb").fit(X, some(~LATER, items=NAMED)).update(X, NEW)
    assert_same_answer(model, whole("vb"))


def test_fewer_items_are_refused():
    model = CrowdClassifier(**LINEAR).fit(X, FIRST)
    with pytest.raises(ValueError, match=r"update\(\) needs all items of the fit.*it had 100, X has 60"):
        model.update(X[:60], NEW[:60])


@pytest.mark.parametrize("names", [NAMED, list(range(100, 200))])
def test_items_in_another_order_are_refused(names):
    model = CrowdClassifier(**LINEAR).fit(X, some(~LATER, items=names))
    turned = [names[1], names[0], *names[2:]]
    with pytest.raises(ValueError, match=rf"item 0 was {names[0]!r} and is {names[1]!r}"):
        model.update(X, some(LATER, items=turned))


def test_numbers_in_another_order_are_refused():
    """Items 0, 1, 2 … of the new labels are not rows if the fit's items were 1, 0, 2 …."""
    model = CrowdClassifier(**LINEAR).fit(X, some(~LATER, items=[1, 0, *range(2, 100)]))
    with pytest.raises(ValueError, match="item 0 was 1 and is 0"):
        model.update(X, NEW)


def test_columns_of_a_bare_matrix_are_the_annotators_of_the_fit():
    names = ["anna", "bob", "cleo"]
    model = tight("vb").fit(X, some(~LATER, annotators=names)).update(X, np.where(LATER, Y, np.nan))
    assert_same_answer(model, tight("vb").fit(X, some(True, annotators=names)))
    with pytest.raises(ValueError, match="y has 4 columns; the model knows 3 annotators"):
        model.update(X, np.column_stack([Y, Y[:, 0]]))


def test_a_bare_matrix_may_have_more_columns_than_one_before():
    model = tight("vb").fit(X, Y[:, :2]).update(X, Y)
    assert_same_answer(model, tight("vb").fit(X, Y))


@pytest.mark.parametrize("estimator", [CrowdClassifier, AutoCrowdClassifier])
def test_before_a_fit_there_is_nothing_to_update(estimator):
    with pytest.raises(NotFittedError):
        estimator().update(X, NEW)


def test_other_columns_are_refused():
    model = CrowdClassifier(**LINEAR).fit(X, FIRST)
    with pytest.raises(ValueError, match="X has 3 features, but CrowdClassifier is expecting 2"):
        model.update(np.column_stack([X, X[:, 0]]), NEW)


# --- a fit that fails, a fit that is stored ---------------------------------------------------------------


class Stop(Exception):
    pass


def stop(iteration, bound, seconds):
    raise Stop


@pytest.mark.parametrize("name", ["vb", "em", "gp"])
def test_an_update_that_fails_leaves_the_fit_whole(name):
    newcomer = some(True, Y[:, :1], annotators=["zoe"])
    model, same = (tight(name).fit(X, FIRST) for _ in range(2))
    with pytest.raises(Stop):
        model.update(X, newcomer, callback=stop)
    assert_same_answer(model, same, atol=0)
    assert_same_answer(model.update(X, NEW), same.update(X, NEW), atol=0)  # zoe was not kept either


def test_an_update_tells_how_far_it_is():
    seen = []
    model = CrowdClassifier(**LINEAR).fit(X, FIRST)
    model.update(X, NEW, lambda *step: seen.append(step[:2]))
    assert seen == list(enumerate(model.bound_history_, start=1))


@some_models
def test_a_model_can_be_stored_between_updates(name):
    model = clone(MODELS[name]).fit(X, FIRST)
    stored = pickle.loads(pickle.dumps(model))
    assert_same_answer(stored.update(X, NEW), model.update(X, NEW), atol=0)
    assert_same_answer(pickle.loads(pickle.dumps(model)), model, atol=0)


# --- AutoCrowdClassifier ------------------------------------------------------------------------------------

MEMBERS = [Member("linear", 10.0, True, two_coin=False), Member("rbf 2", 3.0, True), Member("linear", 3.0, False)]


def auto(**settings):
    return AutoCrowdClassifier(members=MEMBERS, **settings)


def test_auto_updates_its_members_and_keeps_their_weights():
    model = auto(**TIGHT).fit(X, FIRST)
    weights, held_out = model.weights_.copy(), model.selection_.log_lik.copy()
    assert np.ptp(weights) > 0.01
    model.update(X, NEW)
    np.testing.assert_array_equal(model.weights_, weights)
    np.testing.assert_array_equal(model.selection_.log_lik, held_out)
    fits = [member.build(model, 2).fit(X, ALL) for member in MEMBERS]
    for fit in fits:  # the ensemble reads the average, and no member by itself
        fit._pair = replace(fit._pair, reading=None)
    for mine, theirs in zip(model.members_, fits, strict=True):
        np.testing.assert_allclose(mine.posterior(X, ALL), theirs.posterior(X, ALL), atol=1e-3)
        np.testing.assert_allclose(mine.expertise(X), theirs.expertise(X), atol=1e-3)
    answers = [fit.posterior(X, ALL) for fit in fits]
    says = model.selection_.on_labelled, model.selection_.on_truth
    heard, unheard = (np.tensordot(say, answers, axes=1) for say in says)
    read, unread = model._reading.posterior(heard, labels_of(model._training_data)), model._reading.doubted(unheard)
    np.testing.assert_allclose(model.posterior_, np.where(ALL.labelled[:, None], read, unread), atol=1e-3)


def test_auto_takes_new_annotators_items_and_gold():
    item, label = next(iter(GOLD.items()))
    model = auto().fit(X[:80], some(True, Y[:80, :2]), gold={item: label}).update(X, Y)
    assert model.annotators_.tolist() == [0, 1, 2]
    assert model.posterior_.shape == (100, 2)
    assert model.posterior_[item, label] == pytest.approx(1)
    assert model.expertise(X).shape == (100, 3)
    assert len(model.ranking()) == 3


def test_auto_members_see_of_x_what_all_labels_allow():
    """Not what those of two folds in three do: an update would otherwise start from another model."""
    few = np.cumsum(~np.isnan(Y).any(axis=1))[:, None] <= 16
    model = auto().fit(X, some(few))
    learnt = [member._pair.prepared for member in model.members_]
    assert {seen.preprocessing.directions for seen in learnt} == {directions_of(BernoulliAnnotators(), some(few))}
    one = np.cumsum(~np.isnan(Y).any(axis=1))[:, None] <= 17
    model.update(X, some(one & ~few))
    for member, before in zip(model.members_, learnt, strict=True):
        assert member._pair.prepared is before


def test_auto_that_fails_halfway_leaves_every_member_whole(monkeypatch):
    model = auto().fit(X, FIRST)
    same = pickle.loads(pickle.dumps(model))
    fit, calls = CrowdClassifier._fit_pair, []

    def fail_at_the_second(*args, **named):
        calls.append(args)
        if len(calls) == 2:
            raise Stop
        return fit(*args, **named)

    with monkeypatch.context() as patched:
        patched.setattr(CrowdClassifier, "_fit_pair", fail_at_the_second)
        with pytest.raises(Stop):
            model.update(X, some(True, Y[:, :1], annotators=["zoe"]))
    assert_same_answer(model, same, atol=0)
    for mine, theirs in zip(model.members_, same.members_, strict=True):
        assert np.array_equal(mine.posterior(X, FIRST), theirs.posterior(X, FIRST))
        assert np.array_equal(mine.expertise(X), theirs.expertise(X))


# --- how much of x expertise may depend on --------------------------------------------------------------


def labels_each(*n_labels):
    """Annotators with so many labels each."""
    y = np.full((max(n_labels), len(n_labels)), np.nan)
    for t, n in enumerate(n_labels):
        y[:n, t] = np.arange(n) % 2
    return Annotations.from_matrix(y, labels=[0, 1])


def test_few_labels_few_directions():
    chosen = [directions_of(BernoulliAnnotators(), labels_each(n)) for n in (1, 5, 6, 14, 15, 30, 60, 120, 999)]
    assert chosen == [2, 2, 2, 2, 5, 10, 20, 20, 20]
    assert set(chosen) == set(DIRECTIONS)


def test_directions_are_of_the_typical_annotator_who_said_something():
    assert directions_of(BernoulliAnnotators(), labels_each(30, 30)) == 10
    assert directions_of(BernoulliAnnotators(), labels_each(30, 30, 0, 0)) == 10
    assert directions_of(BernoulliAnnotators(), labels_each(30, 1, 1)) == 2
    assert directions_of(BernoulliAnnotators(), labels_each(3, 0).only(np.zeros(3, dtype=bool))) == 2


@pytest.mark.parametrize("n", [1, 7, 33])
def test_directions_that_are_set_hold(n):
    assert directions_of(BernoulliAnnotators(directions=n), labels_each(3)) == n
    assert directions_of(BernoulliAnnotators(directions=n), labels_each(500)) == n


def test_the_fit_takes_the_directions_its_labels_allow():
    """FIRST has some 70 labels an annotator."""
    assert CrowdClassifier().fit(X, FIRST)._pair.prepared.preprocessing.directions == 20
    assert CrowdClassifier(annotators=BernoulliAnnotators(directions=3)).fit(X, FIRST)._pair.prepared.items(
        X
    ).X_annotators.shape == (100, 4)


def test_auto_members_that_were_fitted_anew_share_no_features_with_the_others():
    """More labels let some depend on more directions; a linear map then has other axes. Clusters stay."""
    rng = np.random.default_rng(1)
    wide, few = rng.normal(size=(100, 8)) @ rng.normal(size=(8, 8)), np.arange(100) < 20
    y = np.where(rng.random((100, 4)) < 0.85, Z[:, None], 1 - Z[:, None]).astype(float)
    members = [Member("linear", 10.0, True, False), Member("linear", 10.0, True, False, clusters=4)]
    model = AutoCrowdClassifier(members=members, selection=False)
    model.fit(wide, np.where(few[:, None], y, np.nan)).update(wide, np.where(few[:, None], np.nan, y))
    directions = [member._pair.prepared.preprocessing.directions for member in model.members_]
    assert len(set(directions)) == 2
    each = [member._pair.prob(member._pair.prepared.items(wide)) for member in model.members_]
    np.testing.assert_allclose(without_doubt(model).predict_proba(wide), np.mean(each, axis=0))


def test_who_turns_out_to_say_one_thing_always_is_modelled_as_in_a_new_fit():
    always = np.column_stack([Y, np.ones(100)])
    later = np.zeros(always.shape, dtype=bool)
    later[8:, -1] = True
    first, rest = (np.where(part, always, np.nan) for part in (~later, later))
    updated, fresh = CrowdClassifier(**LINEAR).fit(X, first).update(X, rest), CrowdClassifier(**LINEAR)
    assert type(CrowdClassifier(**LINEAR).fit(X, first)._pair.prepared.model.annotators) is BernoulliAnnotators
    np.testing.assert_allclose(updated.posterior_, fresh.fit(X, always).posterior_)


def test_new_labels_that_do_not_count_are_as_if_never_given():
    first, rest = some(~LATER), some(LATER)
    stranger = np.full((100, 1), 1.0)
    wider = np.column_stack([rest.to_matrix(), stranger])
    names = [*range(Y.shape[1]), "new"]
    sure = np.column_stack([np.ones(Y.shape), np.zeros(100)])
    silent = Annotations.from_matrix(wider, annotators=names, labels=[0, 1], confidence=sure)
    absent = Annotations.from_matrix(
        np.column_stack([rest.to_matrix(), stranger * np.nan]), annotators=names, labels=[0, 1]
    )
    found = [CrowdClassifier(**LINEAR).fit(X, first).update(X, new) for new in (silent, absent)]
    np.testing.assert_array_equal(found[0].posterior_, found[1].posterior_)
    np.testing.assert_array_equal(found[0].expertise(X), found[1].expertise(X))
