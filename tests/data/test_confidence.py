"""Confidence travels with its label: through every door, and whatever is taken, dropped or sorted."""

import pickle

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.model_selection import train_test_split

from whoknows.data import Annotations

ITEM = ["d", "a", "c", "a", "d"]
ANNOTATOR = ["bob", "bob", "anna", "anna", "cleo"]
LABEL = ["no", "yes", "yes", "no", "no"]
SURE = [0.1, 0.2, 0.3, 0.4, 0.0]
TABLE = {"item": ITEM, "annotator": ANNOTATOR, "label": LABEL, "sure": SURE}
EACH = {(item, who): (label, sure) for item, who, label, sure in zip(ITEM, ANNOTATOR, LABEL, SURE, strict=True)}


def crowd(**kwargs):
    """Four items, three annotators, one item nobody labelled; no row is where sorting puts it."""
    settings = {"items": ["a", "b", "c", "d"], "confidence": SURE, **kwargs}
    return Annotations.from_arrays(ITEM, ANNOTATOR, LABEL, **settings)


def each(Y):
    """Label and confidence by item and annotator."""
    people = [*Y.annotators.tolist(), None]  # code -1: outside the vocabulary
    return {
        (Y.items[i], people[t]): (Y.labels[label], sure)
        for i, t, label, sure in zip(Y.item, Y.annotator, Y.label, Y.counts, strict=True)
    }


# --- through the doors ----------------------------------------------------------------------------


def test_each_label_keeps_its_own():
    assert each(crowd()) == EACH
    assert crowd().confidence.dtype == float


def test_without_confidence_every_label_counts_one():
    Y = crowd(confidence=None)
    assert Y.confidence is None
    np.testing.assert_array_equal(Y.counts, np.ones(5))


def test_rows_without_a_label_take_theirs_along():
    with pytest.warns(UserWarning, match="Dropped 2 of 7 rows without a label"):
        Y = Annotations.from_arrays(
            ["d", *ITEM, "c"],
            ["anna", *ANNOTATOR, "bob"],
            [None, *LABEL, ""],
            items=["a", "b", "c", "d"],
            confidence=[0.8, *SURE, 0.9],
        )
    assert each(Y) == EACH


def test_whoever_gave_no_label_need_not_say_how_sure():
    with pytest.warns(UserWarning, match="Dropped 1 of 6 rows"):
        Y = Annotations.from_arrays([*ITEM, "b"], [*ANNOTATOR, "bob"], [*LABEL, None], confidence=[*SURE, np.nan])
    assert each(Y) == EACH


def test_a_matrix_and_its_confidences_are_read_cell_by_cell():
    labels = [[None, "x"], ["y", "x"], [None, None]]
    sure = [[-1, 0.5], [2, 0.25], [np.nan, np.inf]]  # where there is no label anything may stand
    Y = Annotations.from_matrix(labels, annotators=["u", "v"], confidence=sure)
    assert each(Y) == {(0, "v"): ("x", 0.5), (1, "u"): ("y", 2.0), (1, "v"): ("x", 0.25)}


def test_a_matrix_whose_axes_are_reordered_keeps_them_together():
    frame = pd.DataFrame([[1, 0], [np.nan, 1]], index=["q", "p"], columns=["v", "u"])
    Y = Annotations.from_matrix(frame, items=["p", "q"], annotators=["u", "v"], confidence=[[0.1, 0.2], [0, 0.3]])
    assert each(Y) == {("q", "v"): (1, 0.1), ("q", "u"): (0, 0.2), ("p", "u"): (1, 0.3)}


def test_one_dimension_of_labels_takes_one_of_confidences():
    Y = Annotations.from_matrix([1, 0, np.nan], confidence=[0.5, 2, 9])
    np.testing.assert_array_equal(Y.confidence, [0.5, 2])


@pytest.mark.parametrize("table", [pd.DataFrame, pl.DataFrame, lambda t: pl.DataFrame(t).to_arrow()])
def test_a_frame_is_read_only_if_the_column_is_named(table):
    named = Annotations.from_frame(table(TABLE), columns={"confidence": "sure"}, items=["a", "b", "c", "d"])
    assert each(named) == EACH
    same_name = {**TABLE, "confidence": SURE}
    assert Annotations.from_frame(table(same_name)).confidence is None
    assert each(Annotations.from_frame(table(same_name), columns={"confidence": "confidence"})) == EACH


def test_a_column_named_for_confidence_is_no_other_role():
    table = pd.DataFrame({"item": ITEM, "user": ANNOTATOR, "answer": LABEL, "value": SURE})
    Y = Annotations.from_frame(table, columns={"confidence": "value"})
    assert each(Y) == EACH


def test_whole_numbers_are_confidences_too():
    Y = Annotations.from_frame(pd.DataFrame({**TABLE, "sure": [1, 2, 3, 4, 0]}), columns={"confidence": "sure"})
    assert Y.confidence.dtype == float
    assert each(Y)["c", "anna"] == ("yes", 3.0)


@pytest.mark.parametrize("backend", ["pandas", "polars", "pyarrow"])
def test_to_frame_and_back(backend):
    frame = crowd().to_frame(backend)
    again = Annotations.from_frame(frame, columns={"confidence": "confidence"}, items=["a", "b", "c", "d"])
    assert again == crowd()
    assert each(again) == EACH


def test_to_frame_has_no_such_column_where_nobody_said():
    assert list(crowd(confidence=None).to_frame("pandas").columns) == ["item", "annotator", "label"]
    assert list(crowd().to_frame("pandas").columns) == ["item", "annotator", "label", "confidence"]


def test_a_long_table_with_confidences_is_not_taken_for_a_matrix():
    with pytest.raises(ValueError, match=r"got a long table with the columns .*'confidence'.*from_frame"):
        Annotations.from_matrix(crowd().to_frame("pandas"))


# --- one label an annotator and item --------------------------------------------------------------


@pytest.mark.parametrize(("duplicates", "label", "sure"), [("first", 1, 0.1), ("last", 1, 0.4), ("majority", 0, 0.2)])
def test_of_duplicates_the_label_kept_keeps_its_own(duplicates, label, sure):
    """Of the most frequent label, that of the row where it came first; confidences are no votes."""
    Y = Annotations.from_arrays(
        ["a", "b", "a", "a", "a", "a"],
        ["u"] * 6,
        [1, 1, 0, 0, 0, 1],
        duplicates=duplicates,
        confidence=[0.1, 0.9, 0.2, 0.01, 0.02, 0.4],
    )
    assert each(Y) == {("a", "u"): (label, sure), ("b", "u"): (1, 0.9)}


# --- taken, dropped, sorted -----------------------------------------------------------------------


def test_items_taken_bring_theirs():
    Y = crowd()
    for rows in ([3, 0], slice(1, None), np.array([True, False, False, True])):
        taken = Y[rows]
        kept = set(taken.items.tolist())
        assert each(taken) == {key: value for key, value in EACH.items() if key[0] in kept}
    twice = Y[[3, 3]]
    np.testing.assert_array_equal(twice.confidence, [0.1, 0.0, 0.1, 0.0])
    assert Y[[1]].confidence.shape == (0,)
    assert crowd(confidence=None)[[3]].confidence is None


def test_labels_taken_bring_theirs():
    Y = crowd()
    kept = Y.counts > 0.15
    some = Y.only(kept)
    assert each(some) == {key: value for key, value in EACH.items() if value[1] > 0.15}
    assert some.items.tolist() == Y.items.tolist()
    assert some.annotators.tolist() == Y.annotators.tolist()


def test_other_vocabularies_sort_labels_and_confidences_alike():
    Y = crowd()
    moved = Y.recode(["cleo", "bob", "anna"], ["yes", "maybe", "no"])
    assert moved.annotator.tolist() != Y.annotator.tolist()
    assert each(moved) == EACH
    strangers = Y.recode(["bob"], ["no", "yes"], unknown="population")
    assert each(strangers)["d", "bob"] == ("no", 0.1)
    assert each(strangers)["d", None] == ("no", 0.0)


def test_a_split_and_a_pickle_keep_them():
    Y = crowd()
    left, right = train_test_split(Y, random_state=0)
    assert {**each(left), **each(right)} == EACH
    assert pickle.loads(pickle.dumps(Y)) == Y


@given(st.data())
def test_any_order_of_rows_gives_the_same(data):
    order = data.draw(st.permutations(range(5)))
    columns = ([column[i] for i in order] for column in (ITEM, ANNOTATOR, LABEL))
    Y = Annotations.from_arrays(*columns, items=["a", "b", "c", "d"], confidence=[SURE[i] for i in order])
    assert crowd() == Y


def test_equality_asks_how_much_labels_count():
    assert crowd() != crowd(confidence=[*SURE[:-1], 0.5])
    assert crowd() != crowd(confidence=None)
    assert crowd(confidence=[1] * 5) == crowd(confidence=None)


# --- what a user gets wrong -----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("confidence", "message"),
    [
        ([1, 1, -0.5, 1, 1], r"a number of 0 or more, got -0\.5 .*Use 1 for a label with full weight"),
        ([1, 1, 1, np.nan, 1], "number of 0 or more, got nan"),
        ([1, np.inf, 1, 1, 1], "number of 0 or more, got inf"),
        ([1, None, 1, 1, 1], "number of 0 or more, got nan"),
        ([1, 1, 1], r"a confidence for each of the 5 labels, got an array of shape \(3,\)"),
        (0.5, r"a confidence for each of the 5 labels, got an array of shape \(\)"),
        (["high"] * 5, "could not convert string to float: 'high'"),
    ],
)
def test_bad_confidences_are_refused(confidence, message):
    with pytest.raises(ValueError, match=message):
        crowd(confidence=confidence)


def test_the_cell_of_a_matrix_is_named_and_the_shape():
    labels = [[np.nan, 1], [np.nan, 0], [1, 0]]
    with pytest.raises(ValueError, match=r"got -2\.0 for item 2, annotator 0\."):
        Annotations.from_matrix(labels, confidence=[[-1, 1], [-1, 1], [-2, 1]])
    with pytest.raises(ValueError, match=r"confidence in the shape of y, \(3, 2\); got \(2, 3\)"):
        Annotations.from_matrix(labels, confidence=np.ones((2, 3)))


def test_a_column_that_is_not_there_is_named_with_those_that_are():
    with pytest.raises(ValueError, match=r"columns= names 'certain' for the confidence, but the table has 'item'"):
        Annotations.from_frame(pd.DataFrame(TABLE), columns={"confidence": "certain"})
    with pytest.raises(ValueError, match=r"keys 'item', 'annotator', 'label', 'confidence'; got 'sure'"):
        Annotations.from_frame(pd.DataFrame(TABLE), columns={"sure": "sure"})


@pytest.mark.parametrize("table", [pd.DataFrame, pl.DataFrame])
def test_a_gap_in_the_column_is_refused(table):
    with pytest.raises(ValueError, match="number of 0 or more, got nan"):
        Annotations.from_frame(table({**TABLE, "sure": [1.0, 1.0, None, 1.0, 1.0]}), columns={"confidence": "sure"})
