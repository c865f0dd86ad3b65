"""Gold, sample_weight and confidence as a user gives them: what they do, and what is said of wrong ones."""

import re
from dataclasses import replace

import numpy as np
import pandas as pd
import polars as pl
import pytest
import sklearn
from sklearn.model_selection import KFold, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from tests.estimators.worlds import line_world, said_in
from whoknows import Annotations, AutoCrowdClassifier, CrowdClassifier, CrowdRegressor, load
from whoknows.estimators.auto.members import Member
from whoknows.estimators.gold_classifier import GoldClassifier
from whoknows.fit.engines import Serial
from whoknows.io.errors import FileError
from whoknows.model.gaussian import Belief

N = 70
X, Y, Z = line_world(N, accuracies=(0.9, 0.8, 0.65, 0.2), seed=3)  # the last says the opposite
LABELLED = ~np.isnan(Y).all(axis=1)
GOLD_ITEMS = [*np.flatnonzero(LABELLED)[:8], *np.flatnonzero(~LABELLED)[:4]]
GOLD = np.full(N, np.nan)
GOLD[GOLD_ITEMS] = Z[GOLD_ITEMS]
COUNTS = np.arange(N) % 3 > 0  # a weight of 0 for every third item, of 1 for the others
IDS = [f"img_{i:03d}" for i in range(N)]
SOLVERS = [
    *[(truth, solver) for truth in ("id", "lgp") for solver in ("vb", "em", "lbfgs", "crossfit")],
    ("gp", "em"),
    ("gp", "lbfgs"),
]
MEMBERS = [Member("linear", 10.0, True), Member("rbf 2", 30.0, False)]
QUICK = {"tol": 1e-3, "map": "linear"}  # where nothing hangs on how far a fit gets
every_solver = pytest.mark.parametrize(("truth", "solver"), SOLVERS)


def three_classes():
    """Labels of three classes along a line, and the truth."""
    z = np.digitize(X[:, 0], np.quantile(X[:, 0], [1 / 3, 2 / 3]))
    rng = np.random.default_rng(0)
    y = np.where(rng.random((N, 3)) < 0.7, z[:, None], rng.integers(0, 3, (N, 3))).astype(float)
    y[~LABELLED] = np.nan
    return y, z


def numbers(bias=(0.0, 0.0, 0.0)):
    """Real-valued labels, off by a bias each, and the truth."""
    rng = np.random.default_rng(1)
    z = 20 + 3 * (X[:, 0] - 3) + rng.normal(size=N)
    y = z[:, None] + bias + rng.normal(size=(N, 3)) * [0.5, 1, 2]
    y[~LABELLED] = np.nan
    return y, z


# --- what gold does -------------------------------------------------------------------------------


class TestGold:
    @every_solver
    def test_the_posterior_of_gold_items_is_gold_exactly(self, truth, solver):
        wrong = np.where(np.isnan(GOLD), np.nan, 1 - GOLD)  # whatever classifier and annotators say
        with pytest.warns(UserWarning, match="contradicts"):
            model = CrowdClassifier(truth, solver=solver, **QUICK).fit(X, Y, gold=wrong)
        np.testing.assert_array_equal(model.posterior_[GOLD_ITEMS], np.eye(2)[1 - Z[GOLD_ITEMS]])
        others = np.delete(model.posterior_, GOLD_ITEMS, axis=0)
        assert np.all((others > 0) & (others < 1))

    @pytest.mark.parametrize("solver", ["crossfit", "em", "lbfgs"])
    def test_so_it_is_of_more_classes(self, solver):
        y, z = three_classes()
        gold = {i: int(z[i]) for i in GOLD_ITEMS}
        model = CrowdClassifier("id", solver=solver, **QUICK).fit(X, y, gold=gold)
        np.testing.assert_array_equal(model.posterior_[GOLD_ITEMS], np.eye(3)[z[GOLD_ITEMS]])

    @every_solver
    def test_gold_items_that_nobody_labelled_teach_the_classifier(self, truth, solver):
        """A far cluster without labels, of the class one would not expect there."""
        rng = np.random.default_rng(2)
        far = rng.normal(size=(30, 2)) * 0.5 + [9, 0]
        near = rng.normal(size=(60, 2))
        items, z = np.vstack([near, far]), np.concatenate([near[:, 0] > 0, np.zeros(30)]).astype(int)
        y = np.vstack([np.where(rng.random((60, 3)) < 0.85, z[:60, None], 1 - z[:60, None]), np.full((30, 3), np.nan)])
        known = {60 + i: 0 for i in range(6)}
        without, with_gold = (
            CrowdClassifier(truth, solver=solver, tol=1e-3).fit(items, y, gold=gold).predict_proba(items)[66:, 0]
            for gold in (None, known)
        )
        assert without.mean() < 0.6
        assert with_gold.mean() > 0.7

    @pytest.mark.filterwarnings("ignore:gold contradicts every annotator")
    @pytest.mark.parametrize(("truth", "solver"), [case for case in SOLVERS if case[0] != "gp"])
    def test_annotators_are_measured_on_gold(self, truth, solver):
        """Two of three mostly say the opposite, and no feature tells: labels cannot show who is right."""
        rng = np.random.default_rng(4)
        items, z = rng.normal(size=(90, 2)), rng.integers(0, 2, 90)
        accuracy = np.array([0.9, 0.15, 0.1])
        y = np.where(rng.random((90, 3)) < accuracy, z[:, None], 1 - z[:, None])
        without, with_gold = (
            CrowdClassifier(truth, solver=solver, **QUICK).fit(items, y, gold=gold)
            for gold in (None, {i: int(z[i]) for i in range(30)})
        )
        off = [np.abs(m.expertise(items).mean(axis=0) - accuracy).mean() for m in (without, with_gold)]
        assert off[1] < 0.15 < 0.5 < off[0]
        assert np.all(with_gold.expertise(items)[:, 1:].mean(axis=0) < 0.35)  # adversaries, seen as such
        right = [np.mean(m.posterior_[30:].argmax(axis=1) == z[30:]) for m in (without, with_gold)]
        assert right[0] < 0.2 < 0.8 < right[1]

    def test_a_class_that_only_gold_knows_is_a_class(self):
        y, z = three_classes()
        y[y == 2] = np.nan
        silent = np.isnan(y).all(axis=1)
        gold = {int(i): 2 for i in np.flatnonzero((z == 2) & silent)}
        model = CrowdClassifier("id", **QUICK).fit(X, y, gold=gold)
        assert model.classes_.tolist() == [0, 1, 2]
        assert np.mean(model.predict(X)[z == 2] == 2) > 0.8
        assert CrowdClassifier("id").fit(X, y).classes_.tolist() == [0, 1]

    def test_gold_keeps_the_order_of_levels(self):
        y, z = three_classes()
        levels = ["low", "mid", "high"]
        text = [[None if np.isnan(v) else levels[int(v)] for v in row] for row in y]
        model = CrowdClassifier("ordered", levels=levels, **QUICK)
        model.fit(X, text, gold={i: levels[z[i]] for i in GOLD_ITEMS})
        assert model.classes_.tolist() == levels
        np.testing.assert_array_equal(model.posterior_[GOLD_ITEMS], np.eye(3)[z[GOLD_ITEMS]])
        with pytest.raises(ValueError, match=r"one of levels='low', 'mid', 'high', but got 'huge'"):
            model.fit(X, text, gold={0: "huge"})

    def test_gold_can_bring_the_second_class(self):
        model = CrowdClassifier("id").fit(X, np.where(Y == 1, 1, np.nan), gold={int(LABELLED.argmin()): 0})
        assert model.classes_.tolist() == [0, 1]

    def test_a_warm_start_ends_where_a_cold_one_does(self):
        warm = CrowdClassifier("id", warm_start=True, map="linear", tol=1e-8).fit(X, Y).fit(X, Y, gold=GOLD)
        cold = CrowdClassifier("id", map="linear", tol=1e-8).fit(X, Y, gold=GOLD)
        np.testing.assert_allclose(warm.posterior_, cold.posterior_, atol=1e-3)
        np.testing.assert_array_equal(warm.posterior_[GOLD_ITEMS], np.eye(2)[Z[GOLD_ITEMS]])


class TestGoldOfRealLabels:
    @pytest.mark.parametrize("truth", ["id", "lgp"])
    @pytest.mark.parametrize("solver", ["em", "lbfgs"])
    def test_the_truth_of_gold_items_is_gold(self, truth, solver):
        y, z = numbers()
        gold = np.where(np.isnan(GOLD), np.nan, z + 2)
        model = CrowdRegressor(truth, solver=solver, max_iter=1000).fit(X, y, gold=gold)
        np.testing.assert_allclose(model.posterior_mean_[GOLD_ITEMS], gold[GOLD_ITEMS], atol=1e-2)
        assert model.posterior_std_[GOLD_ITEMS].max() < 0.01
        assert np.delete(model.posterior_std_, GOLD_ITEMS).min() > 0.1

    def test_a_bias_that_all_annotators_share_shows_on_gold(self):
        """From labels alone the crowd's bias is 0 by definition."""
        y, z = numbers(bias=(5.0, 6.0, 4.0))
        gold = dict(enumerate(z[:30].tolist()))
        without, with_gold = (CrowdRegressor().fit(X, y, gold=g) for g in (None, gold))
        assert np.abs(without.annotator_bias_).max() < 2
        assert np.abs(with_gold.annotator_bias_ - [5, 6, 4]).max() < 1.2
        assert np.abs(with_gold.predict(X) - z).mean() < 1.5 < 3 < np.abs(without.predict(X) - z).mean()

    def test_gold_in_every_form_is_the_same(self):
        y, z = numbers()
        vector = np.where(np.isnan(GOLD), np.nan, z)
        forms = [
            vector,
            [None if np.isnan(v) else v for v in vector],
            pd.Series(vector),
            pd.Series(vector).astype("Float64"),
            pl.Series(vector),
            {i: z[i] for i in GOLD_ITEMS},
            pd.Series(z[GOLD_ITEMS], index=GOLD_ITEMS),
        ]
        means = [CrowdRegressor(max_iter=5, tol=1.0).fit(X, y, gold=gold).posterior_mean_ for gold in forms]
        for mean in means[1:]:
            np.testing.assert_array_equal(mean, means[0])

    @pytest.mark.parametrize("bad", ["tall", np.inf, [1.0]])
    def test_what_is_no_number_is_refused(self, bad):
        with pytest.raises((ValueError, TypeError), match=re.escape(f"{bad!r}")):
            CrowdRegressor().fit(X, numbers()[0], gold={3: bad})


# --- how gold is given ----------------------------------------------------------------------------

NAMES = np.where(Z == 1, "yes", "no").tolist()
TEXT = [[None if np.isnan(v) else ("no", "yes")[int(v)] for v in row] for row in Y]
TEXT_GOLD = [None if np.isnan(v) else ("no", "yes")[int(v)] for v in GOLD]
BY_ID = {IDS[i]: NAMES[i] for i in GOLD_ITEMS}
FORMS = {
    "mapping by id": BY_ID,
    "list": TEXT_GOLD,
    "list with NaN": [np.nan if v is None else v for v in TEXT_GOLD],
    "tuple with NaN": tuple(np.nan if v is None else v for v in TEXT_GOLD),
    "array of objects": np.array(TEXT_GOLD, dtype=object),
    "array of text, blanks": np.array(["" if v is None else v for v in TEXT_GOLD]),
    "series by id": pd.Series(BY_ID),
    "series by id, with all items in another order": pd.Series(TEXT_GOLD, index=IDS)[::-1],
    "series that counts rows": pd.Series(TEXT_GOLD),
    "categorical": pd.Series(TEXT_GOLD, dtype="category"),
    "polars": pl.Series(TEXT_GOLD),
}


class TestForms:
    said = Annotations.from_matrix(TEXT, items=IDS)
    expected = CrowdClassifier("id", **QUICK).fit(X, said, gold=TEXT_GOLD).posterior_

    @pytest.mark.parametrize("gold", FORMS.values(), ids=FORMS.keys())
    def test_every_form_is_the_same_gold(self, gold):
        model = CrowdClassifier("id", **QUICK).fit(X, self.said, gold=gold)
        assert model.classes_.tolist() == ["no", "yes"]
        np.testing.assert_array_equal(model.posterior_, self.expected)

    def test_floats_with_nan_are_integer_classes(self):
        for gold in (GOLD, pd.Series(GOLD), GOLD.tolist(), {i: float(Z[i]) for i in GOLD_ITEMS}):
            model = CrowdClassifier("id", **QUICK).fit(X, Y, gold=gold)
            assert model.classes_.tolist() == [0, 1]
            np.testing.assert_allclose(model.posterior_, self.expected, atol=1e-12)

    @pytest.mark.parametrize("ids", [IDS, np.random.default_rng(0).permutation(N)], ids=["text", "shuffled"])
    @pytest.mark.parametrize("some", [slice(None), GOLD_ITEMS, GOLD_ITEMS[::-1]], ids=["all", "some", "turned"])
    def test_ids_that_only_x_knows_are_as_good(self, ids, some):
        frame, series = pd.DataFrame(X, index=ids), pd.Series(GOLD, index=ids)
        for model in (CrowdClassifier("id", **QUICK), AutoCrowdClassifier(members=MEMBERS[:1], tol=1e-3)):
            expected = model.fit(frame, Y, gold=GOLD).posterior_
            np.testing.assert_array_equal(model.fit(frame, Y, gold=series.iloc[some]).posterior_, expected)

    def test_so_are_places_where_x_has_ids(self):
        model, frame = CrowdClassifier("id", **QUICK), pd.DataFrame(X, index=IDS)
        expected = model.fit(frame, Y, gold=GOLD).posterior_
        by_place = {i: Z[i] for i in GOLD_ITEMS}
        np.testing.assert_array_equal(model.fit(frame, Y, gold=by_place).posterior_, expected)

    def test_numbers_by_ids_of_x(self):
        y, z = numbers()
        ids = np.random.default_rng(0).permutation(N)
        frame, last = pd.DataFrame(X, index=ids), pd.Series(z, index=ids)[::-1].iloc[:20]
        found = CrowdRegressor().fit(frame, y, gold=last).predict(X)
        by_place = np.where(np.arange(N) >= N - 20, z, np.nan)
        np.testing.assert_array_equal(found, CrowdRegressor().fit(frame, y, gold=by_place).predict(X))

    def test_no_gold_at_all_changes_nothing(self):
        model = CrowdClassifier("id", **QUICK)
        plain = model.fit(X, Y).posterior_
        for gold in (None, {}, [None] * N, np.full(N, np.nan)):
            np.testing.assert_array_equal(model.fit(X, Y, gold=gold).posterior_, plain)

    @pytest.mark.parametrize(
        ("gold", "message"),
        [
            (
                {"img_003": "yes", "img_900": "no", 7: "no"},
                r"gold names 2 of 3 items that are not in y, such as 'img_900', 7; "
                r"y has 'img_000', 'img_001', 'img_002', …\. Use the ids of y's items\.",
            ),
            (["yes"] * 5, r"one label for each of the 70 items, None or NaN .*got an array of shape \(5,\)"),
            (pd.Series(["yes"] * 5), r"one label for each of the 70 items.* got an array of shape \(5,\)"),
            ("yes", r"or be a mapping from item ids to labels; got 'yes'\."),
            (1, r"or be a mapping from item ids to labels; got 1\."),
            (np.zeros((N, 2)), r"got an array of shape \(70, 2\)"),
            (pd.DataFrame({"gold": ["yes"]}, index=["img_003"]), r"got an array of shape \(1, 1\)"),
            (pd.Series(["yes", "no"], index=["img_003"] * 2), r"gold names item 'img_003' more than once"),
            ({"img_003": 1}, r"gold holds 1 and y the labels 'no', 'yes': text and numbers are different"),
        ],
    )
    def test_what_cannot_be_gold_is_refused_in_words(self, gold, message):
        with pytest.raises(ValueError, match=message):
            CrowdClassifier().fit(X, self.said, gold=gold)

    def test_a_new_class_is_refused_by_a_truth_of_two(self):
        with pytest.raises(ValueError, match="Only binary classification is supported"):
            CrowdClassifier("gp").fit(X, self.said, gold={"img_003": "maybe"})


class TestContradictions:
    def test_gold_that_contradicts_everybody_warns_with_counts_and_ids_and_works(self):
        y = np.tile(Z[:, None].astype(float), 3)
        gold = {IDS[i]: int(1 - Z[i]) for i in (4, 9)} | {IDS[i]: int(Z[i]) for i in (20, 21, 22)}
        said = said_in(y, items=IDS)
        message = (
            r"gold contradicts every annotator on 2 of the 5 gold items that have labels "
            r"\(such as 'img_004', 'img_009'\)\. It is taken as true; check that its labels mean the same"
        )
        with pytest.warns(UserWarning, match=message):
            model = CrowdClassifier("id").fit(X, said, gold=gold)
        np.testing.assert_array_equal(model.posterior_[[4, 9], 1 - Z[[4, 9]]], 1)

    def test_one_label_that_is_wrong_is_no_news(self):
        """Warnings are errors here: that there is none is the test."""
        y = np.tile(Z.astype(float)[:, None], 2)
        y[:, 1] = np.nan
        gold = {0: int(1 - Z[0]), 1: int(Z[1]), 2: int(Z[2])}
        CrowdClassifier("id").fit(X, said_in(y), gold=gold)
        with pytest.warns(UserWarning, match="on 2 of the 3 gold items that have labels"):
            CrowdClassifier("id").fit(X, said_in(y), gold={**gold, 1: int(1 - Z[1])})

    def test_items_without_labels_contradict_nobody(self):
        silent = int(np.flatnonzero(~LABELLED)[0])
        CrowdClassifier("id").fit(X, Y, gold={silent: int(1 - Z[silent])})


# --- sample_weight --------------------------------------------------------------------------------


class TestSampleWeight:
    @pytest.mark.parametrize("solver", ["vb", "em", "lbfgs"])
    def test_every_item_twice_is_every_weight_two(self, solver):
        """All of them, so that scale and map are the same too."""
        settings = {"truth": "id", "map": "linear", "solver": solver, "tol": 1e-8}
        heavy = CrowdClassifier(**settings).fit(X, Y, sample_weight=np.full(N, 2.0))
        twice = CrowdClassifier(**settings).fit(np.repeat(X, 2, axis=0), np.repeat(Y, 2, axis=0))
        for name in ("coef_", "intercept_", "annotator_coef_", "annotator_intercept_"):
            np.testing.assert_allclose(getattr(heavy, name), getattr(twice, name), rtol=1e-3, atol=1e-4)
        assert heavy.bound_history_[-1] == pytest.approx(twice.bound_history_[-1], rel=1e-8)

    @every_solver
    def test_no_weight_is_no_label(self, truth, solver):
        """The items stay where they are in map and graph; what was said of them, and by whom, is gone."""
        y, quiet = Y.copy(), np.where(COUNTS[:, None], Y, np.nan)
        y[COUNTS, 3] = quiet[:, 3] = np.nan  # all that the last one labelled has no weight
        nothing = CrowdClassifier(truth, solver=solver, **QUICK).fit(X, said_in(y), sample_weight=COUNTS)
        absent = CrowdClassifier(truth, solver=solver, **QUICK).fit(X, said_in(quiet))
        np.testing.assert_allclose(nothing.predict_proba(X), absent.predict_proba(X), atol=1e-6)
        np.testing.assert_allclose(nothing.expertise(X), absent.expertise(X), atol=1e-6)
        np.testing.assert_allclose(nothing.posterior_[COUNTS], absent.posterior_[COUNTS], atol=1e-6)

    def test_nor_is_it_a_known_truth(self):
        nothing = CrowdClassifier("id", **QUICK).fit(X, said_in(Y), gold=GOLD, sample_weight=COUNTS)
        known, quiet = (np.where(at, what, np.nan) for at, what in ((COUNTS, GOLD), (COUNTS[:, None], Y)))
        absent = CrowdClassifier("id", **QUICK).fit(X, said_in(quiet), gold=known)
        np.testing.assert_allclose(nothing.predict_proba(X), absent.predict_proba(X), atol=1e-6)

    @pytest.mark.parametrize("solver", ["em", "lbfgs"])
    def test_nor_is_it_one_of_a_number(self, solver):
        """Not even for the mean and the spread that numbers are measured in."""
        y, _ = numbers()
        y[~COUNTS] += 1000
        quiet = np.where(COUNTS[:, None], y, np.nan)
        nothing = CrowdRegressor(solver=solver).fit(X, y, sample_weight=COUNTS)
        absent = CrowdRegressor(solver=solver).fit(X, quiet)
        np.testing.assert_allclose(nothing.predict(X), absent.predict(X), atol=1e-4)
        np.testing.assert_allclose(nothing.annotator_bias_, absent.annotator_bias_, atol=1e-4)

    def test_numbers_twice_are_weights_of_two(self):
        y, _ = numbers()
        settings = {"map": "linear", "tol": 1e-10, "max_iter": 2000, "solver": "lbfgs"}
        heavy = CrowdRegressor(**settings).fit(X, y, sample_weight=np.full(N, 2.0))
        twice = CrowdRegressor(**settings).fit(np.repeat(X, 2, axis=0), np.repeat(y, 2, axis=0))
        np.testing.assert_allclose(heavy.predict(X), twice.predict(X), atol=1e-3)
        np.testing.assert_allclose(heavy.noise_, twice.noise_, rtol=1e-3)

    def test_weights_decide_between_groups_that_differ(self):
        """One half of the items by someone reliable, the other by someone who says the opposite of him."""
        y = np.where(np.arange(N)[:, None] % 2 == [0, 1], np.column_stack([Z, 1 - Z]), np.nan)
        for favoured, right in ((0, True), (1, False)):
            weight = np.where(np.arange(N) % 2 == favoured, 1.0, 0.05)
            model = CrowdClassifier("id", map="linear").fit(X, y, sample_weight=weight)
            assert (np.mean(model.predict(X) == Z) > 0.5) == right

    @pytest.mark.parametrize("kind", [CrowdClassifier, AutoCrowdClassifier, CrowdRegressor])
    @pytest.mark.parametrize(
        ("weight", "message"),
        [
            (-np.ones(N), r"Negative values .*sample_weight"),
            (np.ones(5), r"sample_weight.shape == \(5,\), expected \(70,\)"),
            (np.zeros(N), "at least one non-zero|Every sample_weight is 0"),
            (np.full(N, np.nan), "sample_weight contains NaN"),
            (np.where(LABELLED, 0.0, 1.0), r"No label counts: every item with a label has sample_weight 0"),
        ],
    )
    def test_weights_that_make_no_sense_are_refused(self, kind, weight, message):
        with pytest.raises(ValueError, match=message):
            kind().fit(X, Y, sample_weight=weight)

    def test_weights_and_gold_go_through_a_pipeline(self):
        weight = np.linspace(0.1, 3, N)
        direct = CrowdClassifier("id", **QUICK).fit(X, Y, sample_weight=weight, gold=GOLD)
        pipe = make_pipeline(StandardScaler(), CrowdClassifier("id", **QUICK))
        pipe.fit(X, Y, crowdclassifier__sample_weight=weight, crowdclassifier__gold=GOLD)
        np.testing.assert_allclose(pipe[-1].posterior_, direct.posterior_, atol=1e-8)
        plain = CrowdClassifier("id", **QUICK).fit(X, Y, gold=GOLD)
        assert np.abs(direct.posterior_ - plain.posterior_).max() > 0.01

    def test_cross_validation_cuts_weights_and_gold_with_the_items(self):
        model, said, seen = CrowdClassifier("id", **QUICK), said_in(Y, items=IDS), []
        params = {"sample_weight": np.arange(N) + 1.0, "gold": GOLD}

        def score(fitted, items, held_out):
            seen.append(fitted.posterior_)
            return fitted.score(items, held_out)

        cross_val_score(model, X, said, cv=KFold(3), params=params, scoring=score)
        for posterior, (train, _) in zip(seen, KFold(3).split(X), strict=True):
            by_hand = CrowdClassifier("id", **QUICK).fit(
                X[train], said[train], sample_weight=train + 1.0, gold=GOLD[train]
            )
            np.testing.assert_array_equal(posterior, by_hand.posterior_)

    def test_metadata_routing_brings_them_too(self):
        weight = np.linspace(0.1, 3, N)
        direct = CrowdClassifier("id", **QUICK).fit(X, Y, sample_weight=weight, gold=GOLD)
        with sklearn.config_context(enable_metadata_routing=True):
            asked = CrowdClassifier("id", **QUICK).set_fit_request(sample_weight=True, gold=True)
            scaler = StandardScaler().set_fit_request(sample_weight=False)
            pipe = make_pipeline(scaler, asked).fit(X, Y, sample_weight=weight, gold=GOLD)
        np.testing.assert_allclose(pipe[-1].posterior_, direct.posterior_, atol=1e-8)


# --- confidence -----------------------------------------------------------------------------------


class TestConfidence:
    def test_a_wild_number_that_does_not_count_changes_nothing(self):
        y, _ = numbers()
        wild, sure = y.copy(), np.ones_like(y)
        wild[5, 2], sure[5, 2], y[5, 2] = 1e6, 0.0, np.nan
        ours = CrowdRegressor().fit(X, Annotations.from_matrix(wild, confidence=sure))
        theirs = CrowdRegressor().fit(X, y)
        np.testing.assert_allclose(ours.predict(X), theirs.predict(X), atol=1e-4)

    def test_an_annotator_none_of_whose_labels_counts_is_one_never_asked(self):
        sure, quiet = np.ones_like(Y), Y.copy()
        sure[:, 3], quiet[:, 3] = 0, np.nan
        ours = CrowdClassifier("id", **QUICK).fit(X, said_in(Y, confidence=sure))
        theirs = CrowdClassifier("id", **QUICK).fit(X, said_in(quiet))
        np.testing.assert_allclose(ours.posterior_, theirs.posterior_, atol=1e-8)
        np.testing.assert_allclose(ours.expertise(X), theirs.expertise(X), atol=1e-8)

    def test_less_sure_labels_move_the_posterior_less(self):
        item, odds = LABELLED.argmax(), []
        for sure in (0.0, 0.3, 1.0):
            confidence = np.ones_like(Y)
            confidence[item, 0] = sure
            model = CrowdClassifier("id").fit(X, said_in(Y, confidence=confidence))
            odds.append(model.posterior_[item, int(Y[item, 0])])
        assert odds[0] < odds[1] < odds[2]

    @pytest.mark.parametrize("kind", [CrowdClassifier, CrowdRegressor])
    def test_labels_that_do_not_count_are_not_scored(self, kind):
        sure = np.where(np.arange(Y.size).reshape(Y.shape) % 3, 1.0, 0.0)
        said = Annotations.from_matrix(Y, confidence=sure)
        model = kind().fit(X, said)
        assert model.score(X, said) == pytest.approx(model.score(X, said.only(said.counts > 0)), rel=1e-12)

    @pytest.mark.parametrize("kind", [CrowdClassifier, CrowdRegressor])
    def test_if_no_label_counts_nothing_can_be_learnt(self, kind):
        with pytest.raises(ValueError, match=r"No label counts: .* or every label has confidence 0"):
            kind().fit(X, Annotations.from_matrix(Y, confidence=np.zeros_like(Y)))


# --- the average of several models ----------------------------------------------------------------


class TestAuto:
    def auto(self, **settings):
        return AutoCrowdClassifier(folds=2, members=MEMBERS, **settings)

    def test_every_member_gets_gold_and_weights(self):
        weight = np.linspace(0.1, 3, N)
        model = self.auto().fit(X, Y, gold=GOLD, sample_weight=weight)
        np.testing.assert_allclose(model.posterior_[GOLD_ITEMS], np.eye(2)[Z[GOLD_ITEMS]], atol=1e-12)
        for member, fitted in zip(MEMBERS, model.members_, strict=True):
            alone = member.build(self.auto(), 2).fit(X, Y, gold=GOLD, sample_weight=weight)
            # The ensemble reads the average of its members.
            alone._pair = alone._fit_pair(X, alone._training_data, Serial(), is_member=True)
            by_member, by_itself = (each.posterior(X, Y)[LABELLED] for each in (fitted, alone))
            np.testing.assert_allclose(by_member, by_itself, atol=1e-8)

    def test_the_choice_of_members_does_not_look_at_gold_it_holds_out(self):
        """Features say nothing, so held-out labels cannot be predicted, unless gold of the item helps."""
        rng = np.random.default_rng(5)
        z = rng.integers(0, 2, N)
        y = np.where(rng.random((N, 2)) < 0.97, z[:, None], 1 - z[:, None])
        model = AutoCrowdClassifier(folds=2, members=[Member("rbf 0.5", 1000.0, False)])
        found = model.fit(rng.normal(size=(N, 2)), y, gold={i: int(y[i, 0]) for i in range(N)})
        assert found.selection_.held_out[0] < -0.9  # with that help it is -0.5

    def test_no_weight_is_no_label_for_the_choice_of_members_either(self):
        quiet = np.where(COUNTS[:, None], Y, np.nan)
        nothing = self.auto().fit(X, said_in(Y), sample_weight=COUNTS)
        absent = self.auto().fit(X, said_in(quiet))
        np.testing.assert_allclose(nothing.weights_, absent.weights_, atol=1e-6)
        np.testing.assert_allclose(nothing.predict_proba(X), absent.predict_proba(X), atol=1e-6)


def test_numbers_that_hardly_count_do_not_set_the_scale():
    y, _ = numbers()
    y[0] = 1e4
    hardly, none = np.ones(N), np.ones(N)
    hardly[0], none[0] = 1e-12, 0.0
    found, wanted = (CrowdRegressor().fit(X, y, sample_weight=w) for w in (hardly, none))
    np.testing.assert_allclose(found.noise_, wanted.noise_, rtol=0.01)
    np.testing.assert_allclose(found.predict(X), wanted.predict(X), rtol=0.01)


def test_confidence_counts_in_intervals_as_weight_does():
    """Where the truth is known, four labels of the same kind, or one that counts four times."""
    confidence = np.full(Y.shape, 4.0)
    sure = CrowdClassifier("id", **QUICK).fit(X, Annotations.from_matrix(Y, confidence=confidence), gold=Z)
    often = CrowdClassifier("id", **QUICK).fit(X, Y, gold=Z, sample_weight=np.full(N, 4.0))
    for limit in ("expertise", "low", "high"):
        of_sure, of_often = (getattr(model.ranking(), limit) for model in (sure, often))
        np.testing.assert_allclose(of_sure, of_often, atol=2e-3)


def judged():
    """Return features, votes of one good judge and six that err together, truth, and 30 gold items."""
    rng = np.random.default_rng(0)
    truth = rng.integers(0, 2, 150)
    fooled = rng.random(150) < 0.5
    good = np.where(rng.random(150) < 0.92, truth, 1 - truth)
    others = np.where(fooled[:, None] ^ (rng.random((150, 6)) < 0.08), 1 - truth[:, None], truth[:, None])
    return rng.normal(size=(150, 2)), np.column_stack([good, others]).astype(float), truth, dict(enumerate(truth[:30]))


def test_gold_corrects_judges_who_err_together(tmp_path):
    X, votes, truth, gold = judged()
    model = CrowdClassifier("id", map="linear")
    alone = np.mean(model.fit(X, votes).posterior_.argmax(axis=1)[30:] == truth[30:])
    model.fit(X, votes, gold=gold)
    assert alone < 0.6 < 0.8 < np.mean(model.posterior_.argmax(axis=1)[30:] == truth[30:])
    np.testing.assert_allclose(model.posterior(X[30:], votes[30:]), model.posterior_[30:])
    assert (model.posterior_[np.arange(30), truth[:30]] == 1).all()
    model.save(tmp_path / "judges.whoknows")
    np.testing.assert_array_equal(load(tmp_path / "judges.whoknows").posterior(X, votes), model.posterior(X, votes))


def test_a_correction_of_other_annotators_is_refused(tmp_path):
    X, votes, _, gold = judged()
    model = CrowdClassifier("id", map="linear").fit(X, votes, gold=gold)
    pair, reading = model._pair, model._pair.reading
    correction, source = reading.correction, reading.source
    fewer = replace(source.solution, annotators=Belief(source.solution.annotators.mean[1:]), crowd=None)
    wrong = {
        "a correction of other annotators": {"correction": replace(correction, of_votes=correction.of_votes[:, 1:])},
        "of other classes": {"correction": replace(correction, bias=np.repeat(correction.bias, 2, axis=1))},
        "wrong weights": {"correction": replace(correction, weight=-correction.weight)},
        "read by other annotators": {"source": replace(source, solution=fewer)},
        "a probability": {"doubt": 2.0},
        "of other features": {"classifier": GoldClassifier(np.zeros((9, 2)))},
        "a classifier of other classes": {"classifier": GoldClassifier(np.zeros((3, 5)))},
    }
    for words, forged in wrong.items():
        model._pair = replace(pair, reading=replace(reading, **forged))
        model.save(tmp_path / "forged.whoknows")
        with pytest.raises(FileError, match=words):
            load(tmp_path / "forged.whoknows")
