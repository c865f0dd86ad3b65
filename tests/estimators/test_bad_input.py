"""What a user gets wrong: the message says what was expected, what came, and what to do."""

import re
import time
from datetime import datetime

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import KFold, cross_val_score

from tests.estimators.worlds import line_world, said_in
from whoknows import (
    Annotations,
    AutoCrowdClassifier,
    BernoulliAnnotators,
    CrowdClassifier,
    GaussianAnnotators,
    GraphTruth,
    KnnGraph,
    LogisticTruth,
    NotCompatible,
    PrecomputedGraph,
)
from whoknows.estimators.baselines import MajorityVoteClassifier
from whoknows.estimators.inputs.validation import check_annotations, check_classes, check_features, row_ids
from whoknows.insight import cohen_kappa
from whoknows.io import TextFeatures, read_labels


@pytest.fixture
def world():
    return line_world(n_items=40)


class TestX:
    def test_nan_in_x_names_the_column(self, world):
        X, y, _ = world
        X[7, 1] = np.nan
        with pytest.raises(ValueError, match=r"X contains NaN in column 1 \(first in row 7\)"):
            CrowdClassifier().fit(X, y)
        frame = pd.DataFrame(X, columns=["age", "dose"])
        with pytest.raises(ValueError, match=r"in column 'dose' \(first in row 7\).*SimpleImputer"):
            CrowdClassifier().fit(frame, y)

    def test_infinity_in_x_names_the_column(self, world):
        X, y, _ = world
        model = CrowdClassifier().fit(X, y)
        X[3, 0] = np.inf
        with pytest.raises(ValueError, match=r"X contains infinity in column 0 \(first in row 3\)"):
            model.predict(X)

    def test_nan_beside_infinity_names_both(self, world):
        X, y, _ = world
        X[3, 0], X[4, 1] = np.inf, np.nan
        with pytest.raises(ValueError, match=r"X contains NaN and infinity in column 0, 1 \(first in row 3\)"):
            CrowdClassifier().fit(X, y)

    @pytest.mark.parametrize("table", [pd.DataFrame, pl.DataFrame])
    def test_text_and_dates_in_a_frame_are_named(self, table, world):
        X, y, _ = world
        day = datetime(2020, 1, 31)
        frame = table({"age": X[:, 0], "city": ["3"] * 39 + ["Paris"], "when": [day] * 40, "ok": [True] * 40})
        message = (
            r"numbers in every column of X, got 'Paris' in column 'city', .*2020.* in column 'when'\."
            r" Encode such columns, e\.g\. with sklearn\.preprocessing\.OneHotEncoder, or drop them"
        )
        with pytest.raises(ValueError, match=message):
            CrowdClassifier().fit(frame, y)

    def test_long_text_is_cut_and_many_columns_are_counted(self, world):
        _, y, _ = world
        frame = pd.DataFrame({f"c{k}": ["x" * 100] * 40 for k in range(7)})
        with pytest.raises(ValueError, match=r"got 'x{39}… in column 'c0', .* and in 2 more columns\. Encode"):
            CrowdClassifier().fit(frame, y)

    @pytest.mark.parametrize("dtype", [object, str])
    def test_text_in_an_array_is_named_by_column_number(self, dtype, world):
        X, y, _ = world
        X = X.astype(dtype)
        X[5, 1] = "n/a"
        with pytest.raises(ValueError, match=r"got 'n/a' in column 1\. Encode"):
            CrowdClassifier().fit(X, y)

    @pytest.mark.parametrize("dtype", [object, "datetime64[ns]", "datetime64[D]"])
    def test_dates_in_an_array_are_named_by_column_number(self, dtype, world):
        days = np.full((40, 2), np.datetime64("2020-01-31", "us")).astype(dtype)
        with pytest.raises(ValueError, match=r"got .*2020.* in column 0, .*2020.* in column 1\. Encode"):
            CrowdClassifier().fit(days, world[1])

    def test_numbers_in_any_clothes_are_numbers(self, world):
        X, _, _ = world
        clothes = {
            "float": X[:, 0],
            "object": X[:, 0].astype(object),
            "text": X[:, 0].astype(str),
            "bool": X[:, 0] > 3,
            "whole": pd.array([1] * 40, dtype="Int64"),
            "category": pd.Categorical([1, 2] * 20),
        }
        got = check_features(CrowdClassifier(), pd.DataFrame(clothes), reset=True)
        np.testing.assert_array_equal(got[:, 1], X[:, 0])
        np.testing.assert_array_equal(got[:, 2], X[:, 0])
        assert got[:, 3:].max() == 2

    def test_sparse_x_says_to_reduce_it(self, world):
        X, y, _ = world
        with pytest.raises(TypeError, match=r"X is sparse.*TruncatedSVD"):
            CrowdClassifier().fit(sp.csr_array(X), y)

    @pytest.mark.parametrize("kind", [list, tuple, np.array, pd.Series, pl.Series])
    def test_texts_as_x_say_how_to_compute_features(self, kind):
        texts = ["a good film", "a bad film", "good", "bad"]
        with pytest.raises(ValueError, match=r"X holds texts, such as 'a good film'.*TextFeatures.*--text"):
            CrowdClassifier().fit(kind(texts), [1, 0, 1, 0])
        by_item = dict(enumerate(texts))
        X = TextFeatures.of(by_item).transform(by_item).X  # as the message says
        assert CrowdClassifier().fit(X, [1, 0, 1, 0]).predict(X).tolist() == [1, 0, 1, 0]

    def test_very_wide_x_says_to_reduce_it(self, world):
        _, y, _ = world
        with pytest.raises(ValueError, match=r"X has 5001 features; at most 5000 .*PCA"):
            CrowdClassifier().fit(np.zeros((len(y), 5001)), y)


class TestY:
    @pytest.mark.parametrize("estimator", [CrowdClassifier, AutoCrowdClassifier, MajorityVoteClassifier])
    def test_more_classes_than_labels_can_carry_are_refused_at_once(self, estimator):
        X, rng = np.zeros((60, 2)), np.random.default_rng(0)
        started = time.monotonic()
        with pytest.raises(ValueError, match=r"There are 59 classes \(0, 1, .*\) and only 180 labels; .* 5 labels"):
            estimator().fit(X, rng.integers(60, size=(60, 3)))
        y = pd.DataFrame({"id": [f"q{row}" for row in range(60)], "ann": ["yes", "no"] * 30})
        with pytest.raises(ValueError, match=r"62 classes.*another column.*'id' differs in every row"):
            estimator().fit(X, y)
        assert time.monotonic() - started < 5

    def test_labels_that_are_notes_on_the_items_do_not_make_annotators_ids(self):
        notes = Annotations.from_matrix([[f"note {i}"] * 2 for i in range(60)], annotators=["anna", "bob"])
        with pytest.raises(ValueError, match=r"60 classes .* use CrowdRegressor\.$"):
            check_classes(notes)

    def test_a_few_labels_of_a_few_classes_are_enough(self):
        rng = np.random.default_rng(0)
        check_classes(Annotations.from_matrix(rng.permutation(20)))
        check_classes(Annotations.from_matrix(np.repeat(np.arange(50), 5)))

    def test_lengths_that_differ(self, world):
        X, y, _ = world
        with pytest.raises(ValueError, match=r"X has 40 rows and y has 39 items.*from_frame"):
            CrowdClassifier().fit(X, y[:-1])

    def test_no_labels_at_all(self, world):
        X, y, _ = world
        with pytest.raises(ValueError, match="None of the 40 items has a label"):
            CrowdClassifier().fit(X, np.full_like(y, np.nan))

    def test_one_class_only(self, world):
        X, y, _ = world
        with pytest.raises(ValueError, match=r"one class, 1; two are needed.*labels="):
            CrowdClassifier().fit(X, np.where(np.isnan(y), np.nan, 1))

    def test_a_class_that_was_declared_but_never_given_is_allowed(self, world):
        X, y, _ = world
        model = CrowdClassifier().fit(X, said_in(np.where(np.isnan(y), np.nan, 1)))
        assert model.classes_.tolist() == [0, 1]
        assert set(model.predict(X)) == {1}

    def test_minus_one_may_mean_no_label(self, world):
        X, y, _ = world
        hint = r"3 classes: -1, 0, 1\. If -1 means no label, use Annotations\.from_matrix\(y, missing_label=-1"
        with pytest.warns(UserWarning, match=hint):
            CrowdClassifier().fit(X, np.where(np.isnan(y), -1, y))

    @pytest.mark.parametrize(
        ("labels", "pair"), [([" yes", "Yes", "yes"], "'yes' and ' yes'"), (["no", "Yes", "yes"], "'yes' and 'Yes'")]
    )
    def test_labels_that_differ_only_by_spaces_or_case(self, labels, pair):
        said = Annotations.from_arrays(range(3), ["x"] * 3, labels)
        with pytest.warns(UserWarning, match=f"{pair} differ only by spaces or case; clean them first"):
            check_classes(said)

    def test_an_id_column_in_a_wide_table(self, world):
        _, y, _ = world
        frame = pd.DataFrame(y, columns=["anna", "bob", "cleo"])
        frame.insert(0, "img", [f"img_{row}" for row in range(40)])
        hint = r"Column 'img' differs in every row: if it names the items, use y\.set_index\('img'\)\."
        with pytest.raises(ValueError, match=hint):
            check_classes(Annotations.from_matrix(frame))
        with pytest.warns(UserWarning, match=hint):
            check_classes(Annotations.from_matrix(frame[:15]))

    def test_gp_and_gaussian_annotators_refuse_a_third_class(self, world):
        X, y, _ = world
        y[0] = 2
        with pytest.raises(NotCompatible, match=r"GraphTruth .*there are 3.*map='spectral'"):
            CrowdClassifier(truth="gp").fit(X, y)
        with pytest.raises(NotCompatible, match=r"GaussianAnnotators .*3 classes.*'confusion'"):
            CrowdClassifier(annotators="gaussian").fit(X, y)
        with pytest.raises(NotCompatible, match=r"'vb' needs .*ConfusionAnnotators .*has_bound"):
            CrowdClassifier(solver="vb").fit(X, y)

    def test_expertise_of_somebody_unknown(self, world):
        X, y, _ = world
        y = Annotations.from_matrix(y, annotators=["Ann1", "Ann2", "Bob"])
        model = CrowdClassifier().fit(X, y)
        with pytest.raises(ValueError, match=r"of the fit; got 'Ann1x'\. The closest are 'Ann1', 'Ann2'"):
            model.expertise(X, annotators=["Bob", "Ann1x"])
        _, population = model.expertise(X, annotators=["Bob", "Ann1x"], unknown="population").T
        assert population.shape == (40,)
        with pytest.raises(ValueError, match="unknown must be 'error' or 'population'; got 'crowd'"):
            model.expertise(X, unknown="crowd")

    def test_confusion_of_somebody_unknown(self, world):
        X, y, _ = world
        with pytest.raises(ValueError, match=r"of the fit; got 'zoe'\. There are 0, 1, 2\."):
            CrowdClassifier().fit(X, y).confusion("zoe")

    def test_annotators_are_found_by_their_text(self, world, tmp_path):
        """The cells of a CSV file have no type: who wrote "1" there asks for "1"."""
        X, y, _ = world
        y = np.where(np.isnan(y), 1.0, y)
        y[:5, 1] = np.nan
        cells = [f"{i},{t + 1},{int(y[i, t])}" for i, t in np.argwhere(~np.isnan(y))]
        (tmp_path / "labels.csv").write_text("item,annotator,label\n" + "\n".join(cells))
        model = CrowdClassifier().fit(X, Y := read_labels(tmp_path / "labels.csv").annotations)
        assert model.annotators_.tolist() == [1, 2, 3]
        np.testing.assert_array_equal(model.expertise(X, annotators=["3", 1]), model.expertise(X)[:, [2, 0]])
        np.testing.assert_array_equal(model.confusion("2"), model.confusion(2))
        asked = model.suggest(X, Y, 1, annotators=["2"], costs={"2": 4})
        assert (asked.annotator.tolist(), asked.cost.tolist()) == ([2], [4.0])
        assert cohen_kappa(Y, "1", "2") == cohen_kappa(Y, 1, 2)
        with pytest.raises(ValueError, match=r"of the fit; got '01'\."):
            model.confusion("01")

    def test_an_annotator_of_this_very_id_comes_before_one_of_the_same_text(self, world):
        X, y, _ = world
        model = CrowdClassifier().fit(X, Annotations.from_matrix(y, annotators=[1, "1", "2"]))
        one, text = model.expertise(X, annotators=[1, "1"]).T
        np.testing.assert_array_equal(np.column_stack([one, text]), model.expertise(X)[:, :2])

    def test_rows_of_different_lengths(self, world):
        X, _, _ = world
        with pytest.raises(ValueError, match=r"Expected 2 labels in every row, as in row 0, got 1 in row 1"):
            CrowdClassifier().fit(X, [[0, 1], [0]] * 20)

    def test_a_long_table(self, world):
        X, y, _ = world
        message = r"got a long table with the columns 'item', 'annotator', 'label'\. Use Annotations\.from_frame"
        with pytest.raises(ValueError, match=message):
            CrowdClassifier().fit(X, said_in(y).to_frame())

    def test_a_matrix_of_another_width_than_the_model_knows(self, world):
        X, y, _ = world
        model = CrowdClassifier(map="linear").fit(X, y)
        message = (
            "y has {}; the model knows 3 annotators. Use Annotations or a DataFrame to say whose labels these are."
        )
        for given, width in [(y[:, :2], "2 columns"), (y[:, 0], "one column"), (y[:, :1], "one column")]:
            with pytest.raises(ValueError, match=message.format(width)):
                model.posterior(X, given)
        named = pd.DataFrame(y[:, 1:], columns=[1, 2])
        assert model.posterior(X, named).shape == (40, 2)

    def test_one_dimension_is_about_the_one_annotator_the_model_knows(self, world):
        _, y, _ = world
        assert check_annotations(y[:, 0], 40, annotators=["anna"]).annotators.tolist() == ["anna"]
        with pytest.raises(ValueError, match="y has 3 columns; the model knows 1 annotator\\."):
            check_annotations(y, 40, annotators=["anna"])

    def test_real_valued_labels(self, world):
        X, y, _ = world
        with pytest.raises(ValueError, match="Unknown label type: continuous"):
            CrowdClassifier().fit(X, y + 0.5)

    def test_an_annotator_the_fit_did_not_see(self, world):
        X, y, _ = world
        model = CrowdClassifier().fit(X, said_in(y, annotators=["a", "b", "c"]))
        with pytest.raises(ValueError, match="'zoe'"):
            model.posterior(X, said_in(y, annotators=["a", "b", "zoe"]))

    def test_a_matrix_at_posterior_is_about_the_annotators_of_the_fit(self, world):
        X, y, _ = world
        said = said_in(y, annotators=["a", "b", "c"])
        model = CrowdClassifier().fit(X, said)
        np.testing.assert_array_equal(model.posterior(X, y), model.posterior(X, said))

    def test_a_label_the_fit_did_not_see(self, world):
        X, y, _ = world
        model = CrowdClassifier().fit(X, y)
        with pytest.raises(ValueError, match="label"):
            model.posterior(X, y + 5)

    def test_score_without_labels(self, world):
        X, y, _ = world
        model = CrowdClassifier().fit(X, y)
        with pytest.raises(ValueError, match="needs at least one label"):
            model.score(X, said_in(np.full_like(y, np.nan)))


class TestRowOrder:
    """X and y that both bring ids."""

    @pytest.fixture
    def wide(self):
        return pd.DataFrame({"anna": [0, 1, 1], "bob": [1, 1, 0]}, index=["a", "b", "c"])

    def test_only_a_pandas_index_that_says_something_is_ids(self, wide):
        assert row_ids(wide) == ["a", "b", "c"]
        assert row_ids(wide["anna"]) == ["a", "b", "c"]
        assert row_ids(wide.reset_index(drop=True).iloc[[2, 0]]) == [2, 0]
        for X in (wide.reset_index(), wide.to_numpy(), [[0]], ((0,),), pl.DataFrame({"x": [0]}), "abc", None):
            assert row_ids(X) is None

    def test_another_order_is_refused_whatever_brings_the_ids(self, wide):
        message = re.escape(
            "y's items are X's rows in another order (row 0 of X is 'b', the first item of y is 'a'). "
            "Pass items=X.index to Annotations.from_frame, or reorder one of them."
        )
        for y in (Annotations.from_matrix(wide), wide, wide["anna"]):
            with pytest.raises(ValueError, match=message):
                check_annotations(y, 3, index=["b", "a", "c"])
            assert check_annotations(y, 3, index=pd.Index(["a", "b", "c"])).n_items == 3
        with pytest.raises(ValueError, match="row 1 of X is 'c', item 1 of y is 'b'"):
            check_annotations(wide, 3, index=["a", "c", "b"])

    def test_numbers_in_another_order_are_refused(self, wide):
        with pytest.raises(ValueError, match="row 0 of X is 7, the first item of y is 5"):
            check_annotations(wide.set_axis([5, 7, 9]), 3, index=[7, 5, 9])

    def test_other_ids_are_named(self, wide):
        with pytest.raises(ValueError, match="X and y name different items: 'd' only in X; 'a' only in y"):
            check_annotations(wide, 3, index=["b", "c", "d"])
        with pytest.raises(ValueError, match=r"'x1', 'x2', 'x3' only in X; 'a', 'b', 'c' only in y.*reset_index"):
            check_annotations(wide, 3, index=["x1", "x2", "x3"])
        long = Annotations.from_arrays(list("abcdx"), ["anna"] * 5, [0, 1, 0, 1, 0])
        with pytest.raises(ValueError, match="'f', 'g', 'h', … only in X; 'a', 'b', 'c', … only in y"):
            check_annotations(long, 5, index=list("fghix"))

    def test_items_that_count_rows_are_no_ids(self, wide):
        for index in (["a", "b", "c"], [2, 0, 1]):
            for y in (wide.to_numpy(), wide.to_numpy().tolist(), wide.reset_index(drop=True)):
                assert check_annotations(y, 3, index=index).n_items == 3
                assert check_annotations(Annotations.from_matrix(y), 3, index=index).n_items == 3

    @pytest.mark.parametrize("x_has_ids", [True, False])
    @pytest.mark.parametrize("y_has_ids", [True, False])
    def test_cross_validation_takes_ids_apart_from_row_numbers(self, x_has_ids, y_has_ids, world):
        X, y, _ = world
        ids = [f"img_{row}" for row in range(40)]
        frame = pd.DataFrame(X, columns=["u", "v"], index=ids if x_has_ids else None)
        said = said_in(y, items=ids if y_has_ids else None)
        cv = KFold(2, shuffle=True, random_state=0)
        scores = cross_val_score(CrowdClassifier(map="linear"), frame, said, cv=cv, error_score="raise")
        assert np.isfinite(scores).all()

    def test_a_shuffled_long_table_meets_the_rows_of_x(self, world):
        X, y, _ = world
        y[:, 0] = np.where(np.isnan(y[:, 0]), 0, y[:, 0])
        said = said_in(y)
        shuffled = Annotations.from_frame(said.to_frame().sample(frac=1, random_state=0))
        np.testing.assert_array_equal(shuffled.to_matrix(), y)
        named = pd.DataFrame(X, columns=["u", "v"], index=[f"img_{row}" for row in range(40)])
        table = said.to_frame().assign(item=lambda t: "img_" + t["item"].astype(str))
        backwards = Annotations.from_frame(table[::-1])
        with pytest.raises(ValueError, match="row 0 of X is 'img_0', the first item of y is 'img_39'"):
            CrowdClassifier().fit(named, backwards)


class TestBeforeFit:
    @pytest.mark.parametrize("method", ["predict", "predict_proba", "expertise", "annotator_scale"])
    def test_methods_say_to_fit_first(self, method, world):
        with pytest.raises(NotFittedError, match="not fitted yet"):
            getattr(CrowdClassifier(), method)(world[0])

    def test_posterior_and_score_say_to_fit_first(self, world):
        X, y, z = world
        for method in ("posterior", "score"):
            with pytest.raises(NotFittedError, match="not fitted yet"):
                getattr(CrowdClassifier(), method)(X, y)
        with pytest.raises(NotFittedError, match="not fitted yet"):
            CrowdClassifier().score(X, z)


class TestPieces:
    def test_pieces_that_do_not_fit_each_other(self, world):
        X, y, _ = world
        message = r"GraphTruth needs quadratic evidence; BernoulliAnnotators gives a table.*GaussianAnnotators"
        with pytest.raises(NotCompatible, match=message):
            CrowdClassifier(truth="gp", annotators="bernoulli").fit(X, y)

    @pytest.mark.parametrize(
        ("settings", "named"),
        [({"annotators": "gaussian"}, "GaussianAnnotators"), ({"truth": "gp"}, "GaussianAnnotators")],
    )
    def test_vb_refuses_pieces_it_has_no_bound_for_by_name(self, settings, named, world):
        X, y, _ = world
        with pytest.raises(NotCompatible, match=f"'vb' needs .*{named} does not have .*Use solver='em'"):
            CrowdClassifier(solver="vb", **settings).fit(X, y)

    @pytest.mark.parametrize(
        ("settings", "message"),
        [
            (
                {"truth": "lgbt"},
                r"truth must be 'id', 'lgp', 'gp', 'ordered' or a piece .*LogisticTruth\(\); got 'lgbt'",
            ),
            ({"truth": LogisticTruth}, r"truth must be .*got <class"),
            ({"truth": KnnGraph()}, r"truth must be .*got KnnGraph"),
            (
                {"annotators": 3},
                "annotators must be 'auto', 'bernoulli', 'confusion', 'gaussian', 'ordered' or a piece",
            ),
            ({"map": "cubic"}, "map must be 'rbf', 'linear', 'spectral', 'clusters' or a piece"),
            ({"solver": "sgd"}, "solver must be one of .*got 'sgd'"),
            ({"stop": "never"}, "stop must be one of .*got 'never'"),
        ],
    )
    def test_words_that_mean_nothing(self, settings, message, world):
        X, y, _ = world
        with pytest.raises(ValueError, match=message):
            CrowdClassifier(**settings).fit(X, y)

    def test_gp_has_a_size_limit_and_says_what_to_use(self):
        X = np.zeros((10_001, 1))
        y = np.full(10_001, np.nan)
        y[:2] = [0, 1]
        with pytest.raises(ValueError, match=r"at most 10000 items; X has 10001.*map='spectral'"):
            CrowdClassifier(truth="gp", map="linear").fit(X, y)

    def test_a_precomputed_graph_cannot_place_new_items(self, world):
        X, y, _ = world
        weights = np.exp(-((X[:, None, 0] - X[None, :, 0]) ** 2))
        model = CrowdClassifier(truth=GraphTruth(graph=PrecomputedGraph(weights))).fit(X, y)
        assert model.posterior(X, y).shape == (40, 2)
        with pytest.raises(NotCompatible, match=r"cannot extend to new ones. Use KnnGraph"):
            model.predict(X + 1)
        np.testing.assert_allclose(model.predict_proba(X), model.posterior_)


class TestOddButRight:
    """Input that looks like a mistake and is not."""

    @pytest.mark.parametrize("truth", ["id", "lgp", "gp"])
    @pytest.mark.parametrize("map_", ["linear", "rbf", "spectral"])
    def test_degenerate_shapes_work(self, truth, map_):
        rng = np.random.default_rng(0)
        wide = rng.normal(size=(8, 30))
        worlds = {
            "one item": (np.array([[1.0, 2.0]]), [[0, 1]]),
            "one annotator": (rng.normal(size=(20, 2)), rng.integers(0, 2, 20)),
            "constant column": (np.column_stack([rng.normal(size=20), np.ones(20)]), rng.integers(0, 2, (20, 3))),
            "duplicate columns": (np.repeat(rng.normal(size=(20, 1)), 3, axis=1), rng.integers(0, 2, (20, 3))),
            "all items alike": (np.ones((20, 2)), rng.integers(0, 2, (20, 3))),
            "more features than items": (wide, np.tile([[0, 1], [1, 0]], (4, 1))),
        }
        for name, (X, y) in worlds.items():
            model = CrowdClassifier(truth=truth, map=map_).fit(X, y)
            assert np.isfinite(model.predict_proba(X)).all(), name
            assert np.isfinite(model.posterior_).all(), name
            assert np.isfinite(model.expertise(X)).all(), name

    def test_an_annotator_with_one_label(self, world):
        X, y, _ = world
        newcomer = np.full(len(y), np.nan)
        newcomer[np.flatnonzero(~np.isnan(y[:, 0]))[0]] = 1
        model = CrowdClassifier().fit(X, np.column_stack([y, newcomer]))
        assert 0.5 < model.expertise(X)[:, 3].mean() < 0.95

    def test_an_annotator_without_labels_is_one_of_the_crowd(self, world):
        X, y, _ = world
        with_her = said_in(np.column_stack([y, np.full(len(y), np.nan)]))
        model, without = CrowdClassifier().fit(X, with_her), CrowdClassifier().fit(X, y)
        np.testing.assert_allclose(model.predict_proba(X), without.predict_proba(X), atol=1e-12)
        assert np.all(model.expertise(X)[:, 3] > 0.5)

    def test_three_hundred_labels_on_one_item_do_not_underflow(self):
        rng = np.random.default_rng(0)
        X = rng.normal(size=(30, 2))
        y = np.full((30, 300), np.nan)
        y[0] = rng.random(300) < 0.7
        y[1:, :3] = (X[1:, :1] > 0) ^ (rng.random((29, 3)) < 0.2)
        for settings in ({}, {"solver": "em"}, {"annotators": GaussianAnnotators()}, {"truth": "gp"}):
            model = CrowdClassifier(**settings).fit(X, y)
            assert np.isfinite(model.bound_history_).all()
            np.testing.assert_allclose(model.posterior_.sum(axis=1), 1)
            assert model.posterior_[0, 1] > 0.9  # a doubt is left: all may be misled

    def test_label_zero_is_not_missing(self):
        X, y, z = line_world()
        silent = np.where(y == 0, np.nan, y)
        silent[z == 0, 0] = 0
        model = CrowdClassifier().fit(X, said_in(silent))
        assert model.predict_proba(X)[z == 0, 0].mean() > 0.6

    def test_labels_of_any_type_come_back(self):
        X, y, _ = line_world(n_items=40)
        for zero, one in [("no", "yes"), (False, True), (-1, 1), (3, 7)]:
            labels = np.where(np.isnan(y), None, np.where(y == 1, one, zero).astype(object))
            model = CrowdClassifier(annotators=BernoulliAnnotators()).fit(X, Annotations.from_matrix(labels))
            assert set(model.predict(X).tolist()) == {zero, one}
            assert type(model.predict(X).tolist()[0]) is type(zero)
