"""Annotations: construction from arrays, vocabularies, slicing, recoding."""

import pickle
import re
from datetime import datetime

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from whoknows.data import Annotations


def crowd() -> Annotations:
    """Four items, three annotators, one item nobody labelled."""
    return Annotations.from_arrays(
        ["d", "a", "c", "a", "d"],
        ["bob", "bob", "anna", "anna", "cleo"],
        ["no", "yes", "yes", "no", "no"],
        items=["a", "b", "c", "d"],
    )


ids = st.one_of(st.integers(), st.text(min_size=1).filter(str.strip), st.tuples(st.integers(), st.text()), st.dates())
homogeneous_labels = st.sampled_from(
    [[0, 1], [3, 7, 11], ["no", "yes"], [False, True], [0.5, 1.5], [("a", 1), ("b", 2)], [1, "a"], ["a\0", "a"]]
)


@st.composite
def annotations(draw: st.DrawFn) -> Annotations:
    """Any small Annotations: all kinds of ids and labels, items and annotators without labels."""
    items = draw(st.lists(ids, min_size=1, max_size=6, unique=True))
    annotators = draw(st.lists(ids, min_size=1, max_size=4, unique=True))
    labels = draw(homogeneous_labels)
    cells = st.sampled_from([None, *range(len(labels))])
    table = [[draw(cells) for _ in annotators] for _ in items]
    rows = [
        (i, a, labels[c])
        for i, row in zip(items, table, strict=True)
        for a, c in zip(annotators, row, strict=True)
        if c is not None
    ]
    columns = list(zip(*rows, strict=True)) or [[], [], []]
    return Annotations.from_arrays(*columns, items=items, annotators=annotators, labels=labels)


def exactly(message: str) -> str:
    return f"^{re.escape(message)}$"


def same_matrix(left: np.ndarray, right: np.ndarray) -> bool:
    return left.shape == right.shape and all(
        a is b or a == b or (a != a and b != b) for a, b in zip(left.flat, right.flat, strict=True)
    )


# --- what is stored -------------------------------------------------------------------------------------


def test_triples_are_sorted_int32_codes():
    y = crowd()
    assert [c.dtype for c in (y.item, y.annotator, y.label)] == [np.int32] * 3
    np.testing.assert_array_equal(y.item, [0, 0, 2, 3, 3])
    np.testing.assert_array_equal(y.annotator, [0, 1, 0, 1, 2])
    np.testing.assert_array_equal(y.label, [0, 1, 1, 0, 0])


def test_counts_and_shape():
    y = crowd()
    assert (y.n_items, y.n_annotators, y.n_classes, y.n_annotations) == (4, 3, 2, 5)
    assert (y.shape, y.ndim, len(y)) == ((4, 3), 2, 4)
    np.testing.assert_array_equal(y.labels_per_item, [2, 0, 1, 2])
    np.testing.assert_array_equal(y.labels_per_annotator, [2, 2, 1])
    np.testing.assert_array_equal(y.labelled, [True, False, True, True])


def test_repr_gives_counts_not_arrays():
    assert repr(crowd()) == "Annotations(n_items=4, n_annotators=3, n_classes=2, n_annotations=5)"


def test_label_zero_is_not_missing():
    y = Annotations.from_arrays(["a", "b"], ["x", "x"], [0, 0])
    assert y.n_annotations == 2
    np.testing.assert_array_equal(y.to_matrix(), [[0.0], [0.0]])


@pytest.mark.parametrize("item", [[2, 0, 1, 2], np.array([2, 0, 1, 2]), [2.0, 0.0, 1.0, 2.0]], ids=str)
def test_items_that_are_row_numbers_default_to_their_order(item):
    y = Annotations.from_arrays(item, ["p", "p", "p", "q"], ["c", "a", "b", "d"])
    assert y.items.tolist() == [0, 1, 2]
    assert y.to_matrix().tolist() == [["a", None], ["b", None], ["c", "d"]]


@pytest.mark.parametrize("item", [[2, 1], [3, 0, 1], [1, 0, "2"], [True, False], ["1", "0"], [0.5, 0]], ids=str)
def test_items_that_are_not_exactly_the_row_numbers_stay_in_order_of_appearance(item):
    assert Annotations.from_arrays(item, ["p"] * len(item), [0] * len(item)).items.tolist() == item


def test_items_default_to_first_appearance_annotators_and_labels_to_sorted():
    y = Annotations.from_arrays(["z", "a", "z"], ["q", "p", "p"], [2, 10, 2])
    assert y.items.tolist() == ["z", "a"]
    assert y.annotators.tolist() == ["p", "q"]
    assert y.labels.tolist() == [2, 10]


def test_values_that_cannot_be_sorted_keep_order_of_appearance():
    y = Annotations.from_arrays([0, 1], ["b", 1], ["x", 3])
    assert y.annotators.tolist() == ["b", 1]
    assert y.labels.tolist() == ["x", 3]


def test_mixed_ids_are_not_coerced_and_tuples_stay_tuples():
    y = Annotations.from_arrays([1, "1", (1, 2), (3, 4)], [("x", 1)] * 4, [True] * 4)
    assert y.items.tolist() == [1, "1", (1, 2), (3, 4)]
    assert y.annotators.shape == (1,)
    assert y.labels.dtype == bool


def test_given_vocabularies_keep_their_order_and_unused_entries():
    y = Annotations.from_arrays(["b"], ["x"], [1], items=["c", "b"], annotators=["y", "x"], labels=[2, 1, 0])
    assert (y.items.tolist(), y.annotators.tolist(), y.labels.tolist()) == (["c", "b"], ["y", "x"], [2, 1, 0])
    assert (y.item[0], y.annotator[0], y.label[0]) == (1, 1, 1)


@pytest.mark.parametrize("labels", [[3, 7, 11], ["no", "yes"], [False, True], [-5, 2**40]])
def test_labels_need_not_be_counts(labels):
    y = Annotations.from_arrays(range(len(labels)), [0] * len(labels), labels)
    assert y.labels.tolist() == labels
    assert y.labels.dtype != object


def test_whole_float_labels_become_integers_and_others_stay_floats():
    assert Annotations.from_arrays([0, 1], [0, 0], [0.0, 1.0]).labels.dtype == np.int64
    assert Annotations.from_arrays([0, 1], [0, 0], [0, 0.5]).labels.tolist() == [0.0, 0.5]
    assert Annotations.from_arrays([0], [0], [1], labels=[0.0, 1.0]).labels.dtype == np.int64


def test_a_single_class_annotator_and_item_are_enough():
    y = Annotations.from_arrays(["i"], ["a"], ["only"])
    assert (y.shape, y.n_classes) == ((1, 1), 1)


def test_nobody_labelled_anything_yet():
    y = Annotations.from_arrays([], [], [], items=["a", "b"])
    assert (y.shape, y.n_classes, y.n_annotations) == ((2, 0), 0, 0)
    assert not y.labelled.any()
    assert len(y[[1]]) == 1
    assert y.to_matrix().shape == (2, 0)


def test_ids_may_be_dates_of_numpy():
    day = np.array(["2010-05-13", "2010-05-14"], dtype="datetime64[D]")
    y = Annotations.from_arrays(day, [0, 0], [0, 1], items=day[::-1])
    assert y.items.tolist() == [datetime(2010, 5, 14), datetime(2010, 5, 13)]


def test_very_long_and_nul_ended_strings_are_kept_whole():
    names = ["x" * 5000, "a\0", "a"]
    y = Annotations.from_arrays(names, [0, 0, 0], [0, 0, 0])
    assert y.items.tolist() == names


def test_booleans_and_numbers_do_not_meet_in_one_column():
    with pytest.raises(ValueError, match=r"label column must hold either booleans or numbers.*True and 1 would"):
        Annotations.from_arrays([0, 1], [0, 0], [True, 1])
    with pytest.raises(ValueError, match="True and 1 would become one"):
        Annotations.from_arrays([0, 1], [0, 0], [True, False], labels=[0, 1])


def test_a_boolean_column_with_nan_is_boolean():
    with pytest.warns(UserWarning, match="Dropped 1 of 3 rows"):
        y = Annotations.from_arrays([0, 1, 2], [0, 0, 0], [True, np.nan, False])
    assert y.labels.dtype == bool


def test_equality_tells_true_from_one_and_sees_every_part():
    a = Annotations.from_arrays([0, 1], [0, 0], [0, 1])
    assert a == Annotations.from_arrays([0, 1], [0, 0], [0, 1])
    assert a != Annotations.from_arrays([0, 1], [0, 0], [False, True])
    assert a != Annotations.from_arrays([0, 1], [0, 0], [1, 0])
    assert a != Annotations.from_arrays([0, 2], [0, 0], [0, 1])
    assert a != "something else"


def test_pickle_keeps_everything():
    y = crowd()
    assert pickle.loads(pickle.dumps(y)) == y


def test_a_million_triples_by_nearly_as_many_annotators():
    rng = np.random.default_rng(0)
    item = rng.permutation(np.repeat(np.arange(200_000), 5))
    annotator, label = np.arange(1_000_000) % 999_983, rng.integers(0, 3, 1_000_000)
    assert Annotations.from_arrays(item, annotator, label).n_annotations == 1_000_000


# --- rows without a label, ids that are missing ---------------------------------------------------------


@pytest.mark.parametrize("nothing", [None, np.nan, float("nan"), "", "  "])
def test_a_missing_label_is_dropped_with_a_warning_and_is_no_class(nothing):
    message = "Dropped 1 of 3 rows without a label (first: item 'b', annotator 'x')."
    with pytest.warns(UserWarning, match=exactly(message)) as caught:
        y = Annotations.from_arrays(["a", "b", "c"], ["x", "x", "x"], ["yes", nothing, "no"])
    assert caught[0].filename == __file__
    assert y.labels.tolist() == ["no", "yes"]
    assert y.items.tolist() == ["a", "b", "c"]
    assert y.labels_per_item.tolist() == [1, 0, 1]


def test_a_row_with_neither_annotator_nor_label_names_an_unlabelled_item():
    with pytest.warns(UserWarning, match=re.escape("(first: item 'b', annotator None)")):
        y = Annotations.from_arrays(["a", "b"], ["x", None], [1, None])
    assert y.shape == (2, 1)


@pytest.mark.parametrize(
    ("item", "annotator", "role"), [(["a", None], ["x", "x"], "item"), (["a", "b"], ["x", ""], "annotator")]
)
def test_a_missing_id_is_an_error_that_names_the_row(item, annotator, role):
    message = (
        f"Expected an {role} id in every row, got none in row 1 (counting from 0; 1 in total). "
        "Fill in the id, or drop the row."
    )
    with pytest.raises(ValueError, match=exactly(message)):
        Annotations.from_arrays(item, annotator, [0, 1])


# --- duplicates -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("said", "shown"), [([0, 1], "twice (0 and 1)"), ([1, 1], "twice (1 and 1)"), ([0, 1, 0], "3 times (0, 1 and 0)")]
)
def test_two_labels_of_one_annotator_on_one_item_are_an_error(said, shown):
    n = len(said)
    message = (
        f"Annotator 'anna' labelled item 'img_7' {shown}. "
        "Keep one row, or pass duplicates='first', 'last' or 'majority'."
    )
    with pytest.raises(ValueError, match=exactly(message)):
        Annotations.from_arrays(["img_7"] * n + ["img_8"], ["anna"] * (n + 1), [*said, 1])


def test_the_duplicate_error_counts_the_other_pairs():
    with pytest.raises(ValueError, match=r"Annotator 'x' labelled item 'b' twice .* Further such pairs: 1\."):
        Annotations.from_arrays(["a", "b", "b", "a"], ["x"] * 4, [0, 0, 1, 1])


@pytest.mark.parametrize(
    ("duplicates", "expected"), [("first", ["p", "r"]), ("last", ["r", "r"]), ("majority", ["q", "r"])]
)
def test_duplicates_can_be_resolved(duplicates, expected):
    y = Annotations.from_arrays(["a", "a", "b", "a", "a"], ["x"] * 5, ["p", "q", "r", "q", "r"], duplicates=duplicates)
    assert y.to_matrix()[:, 0].tolist() == expected
    assert y.labels.tolist() == ["p", "q", "r"]


def test_a_tie_of_the_majority_goes_to_the_label_that_came_first():
    y = Annotations.from_arrays([0] * 4, [0] * 4, ["z", "a", "a", "z"], duplicates="majority")
    assert y.to_matrix().tolist() == [["z"]]


def test_an_unknown_way_with_duplicates_is_an_error():
    with pytest.raises(ValueError, match="duplicates= must be one of 'error', 'first', 'last', 'majority'; got 'mean'"):
        Annotations.from_arrays([0], [0], [0], duplicates="mean")


# --- other errors ---------------------------------------------------------------------------------------


def test_items_not_in_items_are_named_and_counted():
    message = "6 items are not among the known items: 'b', 'c', 'd', 'e', 'f', …. Add to items=, or drop the rows."
    with pytest.raises(ValueError, match=exactly(message)):
        Annotations.from_arrays(list("abcdefg"), ["x"] * 7, [0] * 7, items=["a"])


def test_annotators_and_labels_outside_their_vocabulary_are_named():
    with pytest.raises(ValueError, match="One annotator is not among the known annotators: 'x'"):
        Annotations.from_arrays([0], ["x"], [0], annotators=["y"])
    with pytest.raises(ValueError, match="One label is not among the known labels: 2"):
        Annotations.from_arrays([0, 1], [0, 0], [0, 2], labels=[0, 1])


def test_ids_of_another_kind_than_their_vocabulary_are_told_so():
    message = (
        "2 items are not among the known items: 1, 2. They are of type int, those of the vocabulary str. "
        "Convert both to the same type."
    )
    with pytest.raises(ValueError, match=exactly(message)):
        Annotations.from_arrays([1, 2], ["x", "x"], [0, 1], items=["2", "1", "0"])
    with pytest.raises(ValueError, match="They are of type str, those of the vocabulary int"):
        Annotations.from_arrays([1, 2], ["0", "1"], [0, 1]).recode([0, 1, 2], [0, 1])
    with pytest.raises(ValueError, match="They are of type int, those of the vocabulary str"):
        Annotations.from_arrays([1, 2], ["x", "x"], [0, 1], labels=["0", "1"])
    with pytest.raises(ValueError, match=r"2 items are not among the known items: 1, 2\. Add to items="):
        Annotations.from_arrays([1, 2], ["x", "x"], [0, 1], items=["1", "3"])


@pytest.mark.parametrize("name", ["items", "annotators", "labels"])
def test_a_vocabulary_repeats_nothing_and_misses_nothing(name):
    with pytest.raises(ValueError, match=f"{name}= must not repeat ids; 'b' occurs more than once"):
        Annotations.from_arrays(["a"], ["a"], ["a"], **{name: ["a", "b", "b"]})
    with pytest.raises(ValueError, match=rf"{name}= must not hold missing values; position 1 \(counting from 0\)"):
        Annotations.from_arrays(["a"], ["a"], ["a"], **{name: ["a", None]})


@pytest.mark.parametrize("unordered", [{"a", "b"}, "ab", {"a": 1}, 3])
def test_a_vocabulary_has_an_order(unordered):
    with pytest.raises(TypeError, match="Expected a list or array for items=, got"):
        Annotations.from_arrays(["a"], ["a"], ["a"], items=unordered)


def test_columns_have_one_length():
    with pytest.raises(ValueError, match="item, annotator and label of one length, got 2, 1 and 3"):
        Annotations.from_arrays([0, 1], [0], [0, 1, 1])


def test_an_empty_table_needs_items():
    with pytest.raises(ValueError, match=r"at least one row, got an empty table.*pass the ids of the items as items="):
        Annotations.from_arrays([], [], [])


def test_an_unhashable_id_is_named_with_its_row():
    with pytest.raises(TypeError, match=r"hashable item .* got the list \[1\] in row 1 \(counting from 0\)"):
        Annotations.from_arrays(["a", [1]], ["x", "x"], [0, 1])
    with pytest.raises(TypeError, match=r"hashable label .* in row 0"):
        Annotations.from_arrays(["a"], ["x"], [([1], 2)])


def test_columns_are_one_dimensional_and_not_masked():
    with pytest.raises(ValueError, match=r"Expected one dimension for item, got an array of shape \(1, 2\)"):
        Annotations.from_arrays(np.zeros((1, 2)), [0], [0])
    with pytest.raises(TypeError, match="got a masked array"):
        Annotations.from_arrays(np.ma.masked_array([1]), [0], [0])


def test_infinite_labels_are_an_error():
    with pytest.raises(ValueError, match="Expected finite labels, got inf"):
        Annotations.from_arrays([0, 1], [0, 0], [0.0, np.inf])


# --- slicing --------------------------------------------------------------------------------------------


@given(annotations(), st.data())
def test_a_slice_is_the_slice_of_the_matrix(y, data):
    rows = data.draw(st.lists(st.integers(-len(y), len(y) - 1), max_size=10))
    part = y[rows]
    assert same_matrix(part.to_matrix(), y.to_matrix()[np.array(rows, dtype=int)])
    assert (part.annotators is y.annotators, part.labels is y.labels) == (True, True)
    assert part.item.dtype == np.int32


@pytest.mark.parametrize(
    "rows",
    [slice(1, 3), slice(None, None, -2), [True, False, False, True], np.array([3, 3, -1]), [], 2, np.int64(1),
     np.array([0, 2], dtype=np.uint8)],
    ids=str,
)  # fmt: skip
def test_every_index_of_scikit_learn_works_in_every_form(rows):
    y = crowd()
    expected = y.to_matrix()[rows].reshape(-1, 3)
    assert same_matrix(y[rows].to_matrix(), expected)
    assert y[rows, ...] == y[rows] == y[rows, :]


@pytest.mark.parametrize("rows", [4, [-5], [0, 9]])
def test_rows_out_of_range_are_an_index_error(rows):
    with pytest.raises(IndexError, match="out of bounds"):
        crowd()[rows]


@pytest.mark.parametrize("rows", [[0.5], "a", True, [[0, 1]], None, [True, False]], ids=str)
def test_other_indices_are_an_index_error(rows):
    with pytest.raises(IndexError):
        crowd()[rows]


@pytest.mark.parametrize("index", [(0, 1), (slice(None), [0]), (0, slice(None), 0)], ids=str)
def test_columns_cannot_be_indexed(index):
    with pytest.raises(IndexError, match=r"indexed by items: expected Y\[rows\] or Y\[rows, :\]"):
        crowd()[index]


@given(annotations(), st.randoms())
def test_the_order_of_rows_does_not_matter(y, random):
    order = list(range(y.n_annotations))
    random.shuffle(order)
    columns = [ids[code][order] for ids, code in
               ((y.items, y.item), (y.annotators, y.annotator), (y.labels, y.label))]  # fmt: skip
    assert Annotations.from_arrays(*columns, items=y.items, annotators=y.annotators, labels=y.labels) == y


@given(annotations(), st.integers(1, 9))
def test_chunks_cover_the_items_in_order(y, n_chunks):
    chunks = list(y.chunks(n_chunks))
    assert len(chunks) == min(n_chunks, len(y))
    assert np.concatenate([np.arange(len(y))[chunk] for chunk in chunks]).tolist() == list(range(len(y)))
    assert sum(y[chunk].n_annotations for chunk in chunks) == y.n_annotations
    assert all(len(y[chunk]) for chunk in chunks)


def test_no_chunks_is_an_error():
    with pytest.raises(ValueError, match="at least one chunk, got n_chunks=0"):
        crowd().chunks(0)


# --- recoding -------------------------------------------------------------------------------------------


def test_recode_keeps_the_triples_under_other_vocabularies():
    y = crowd()
    other = y.recode(["cleo", "dora", "bob", "anna"], ["maybe", "yes", "no"])
    assert same_matrix(other.to_matrix()[:, [3, 2, 0]], y.to_matrix())
    assert other.labels_per_annotator.tolist() == [1, 0, 2, 2]
    assert np.all(np.diff(other.item * 10 + other.annotator) > 0)


def test_recode_names_unknown_annotators_and_says_what_to_do():
    message = (
        "2 annotators are not among the known annotators: 'anna', 'cleo'. Pass unknown='population' to treat "
        "them as drawn from the population, or drop their labels."
    )
    with pytest.raises(ValueError, match=exactly(message)):
        crowd().recode(["bob"], ["no", "yes"])


def test_recode_to_the_population_gives_minus_one():
    y = crowd().recode(["bob"], ["no", "yes"], unknown="population")
    assert y.annotator.tolist() == [-1, 0, -1, -1, 0]
    assert y.labels_per_annotator.tolist() == [2]
    assert y[[3]].annotator.tolist() == [-1, 0]
    assert y.recode(["bob", "anna"], ["yes", "no"]).annotator.tolist() == [-1, 0, -1, -1, 0]


@pytest.mark.parametrize("method", ["to_matrix", "to_frame"])
def test_annotators_of_the_population_cannot_be_written_down(method):
    y = crowd().recode(["bob"], ["no", "yes"], unknown="population")
    with pytest.raises(ValueError, match=rf"3 labels are by annotators outside the vocabulary, so {method}\(\) cannot"):
        getattr(y, method)()


def test_recode_always_refuses_unknown_labels():
    with pytest.raises(ValueError, match="One label is not among the known labels: 'no'"):
        crowd().recode(["bob"], ["yes"], unknown="population")
    with pytest.raises(ValueError, match="unknown= must be 'error' or 'population'; got 'drop'"):
        crowd().recode(["bob"], ["yes"], unknown="drop")


def test_recode_ignores_annotators_and_labels_nobody_used():
    y = Annotations.from_arrays([0], ["a"], [1], annotators=["a", "b"], labels=[0, 1])
    assert y.recode(["a"], [1]).shape == (1, 1)
