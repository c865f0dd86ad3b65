"""Long and wide tables of every dataframe library, and matrices, to Annotations and back."""

import sys

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_array

from tests.data.test_annotations import annotations, exactly
from whoknows.data import Annotations
from whoknows.data.dataframes import not_numbers

nan = np.nan
make_table = pytest.mark.parametrize("table", [pd.DataFrame, pl.DataFrame, pa.table])
LONG = {"item": ["b", "b", "a"], "annotator": ["x", "y", "x"], "label": [0, 1, 1]}


def matrix_of(y: Annotations, missing=None) -> list:
    return y.to_matrix(missing).tolist()


# --- long tables ----------------------------------------------------------------------------------------


@make_table
def test_a_long_table_of_any_library_reads_the_same(table):
    assert Annotations.from_frame(table(LONG)) == Annotations.from_arrays(*LONG.values())


@pytest.mark.parametrize("names", [
    ("task", "worker", "label"), ("example", "annotator", "value"), ("ID", "Coder", "Answer"),
    ("item_id", "user_id", "LABEL"), ("task_id", "rater", "value"),
])  # fmt: skip
def test_columns_are_found_by_alias_in_any_case(names):
    df = pl.DataFrame(dict(zip(names, LONG.values(), strict=True))).with_columns(extra=1)
    assert Annotations.from_frame(df) == Annotations.from_arrays(*LONG.values())


@make_table
def test_columns_are_found_with_a_byte_order_mark_and_spaces_around(table):
    df = table(dict(zip(["\ufeffitem", " Annotator ", "label\r"], LONG.values(), strict=True)))
    assert Annotations.from_frame(df) == Annotations.from_arrays(*LONG.values())


def test_a_long_table_with_row_numbers_shuffled_is_in_their_order():
    df = pd.DataFrame({"item": [0, 1, 2, 3], "annotator": "x", "label": [0, 1, 1, 0]})
    assert Annotations.from_frame(df.iloc[[3, 1, 0, 2]]) == Annotations.from_frame(df)
    assert Annotations.from_frame(df, items=[3, 1, 0, 2]).items.tolist() == [3, 1, 0, 2]


def test_the_name_of_the_role_goes_before_its_aliases():
    df = pd.DataFrame({"id": [1, 2, 3], **LONG, "user": ["u"] * 3, "value": [9.5] * 3})
    assert Annotations.from_frame(df) == Annotations.from_arrays(*LONG.values())


def test_columns_can_be_given_all_or_some():
    df = pd.DataFrame({"img": ["b", "b", "a"], "user": LONG["annotator"], "grade": [0, 1, 1], "label": [5, 5, 5]})
    y = Annotations.from_frame(df, columns={"item": "img", "label": "grade"})
    assert y == Annotations.from_arrays(*LONG.values())


def test_a_column_given_to_one_role_is_not_found_for_another():
    df = pd.DataFrame({"user": ["b", "b", "a"], "rater": LONG["annotator"], "label": LONG["label"]})
    assert Annotations.from_frame(df, columns={"item": "user"}).items.tolist() == ["b", "a"]


def test_a_role_without_a_column_is_an_error_that_lists_the_columns():
    message = (
        "Expected one column for the item (item, task, example, id, item_id, task_id, example_id), "
        "found none. The table has 'img', 'worker', 'label'. Name it: columns={'item': ...}."
    )
    with pytest.raises(ValueError, match=exactly(message)):
        Annotations.from_frame(pd.DataFrame({"img": [1], "worker": [2], "label": [3]}))


def test_a_role_with_several_columns_is_an_error_that_names_them():
    with pytest.raises(ValueError, match=r"found 2 \('worker', 'User'\).*columns=\{'annotator': \.\.\.\}"):
        Annotations.from_frame(pd.DataFrame({"item": [1], "worker": [2], "User": [2], "label": [3]}))


def test_columns_that_are_wrong_are_named():
    with pytest.raises(ValueError, match="columns= names 'imgs' for the item, but the table has 'img', 'who'"):
        Annotations.from_frame(pd.DataFrame({"img": [1], "who": [1]}), columns={"item": "imgs"})
    with pytest.raises(
        ValueError, match="columns= expects the keys 'item', 'annotator', 'label', 'confidence'; got 'task'"
    ):
        Annotations.from_frame(pd.DataFrame(LONG), columns={"task": "item"})


@make_table
def test_missing_labels_in_a_long_table_are_dropped_with_a_warning(table):
    df = table({"item": ["a", "b", "c"], "annotator": ["x"] * 3, "label": [1, None, 0]})
    with pytest.warns(UserWarning, match="Dropped 1 of 3 rows without a label") as w:
        y = Annotations.from_frame(df)
    assert w[0].filename == __file__
    assert y.labels.dtype == np.int64
    assert y.labels.tolist() == [0, 1]


@make_table
def test_missing_ids_in_a_long_table_are_an_error(table):
    with pytest.raises(ValueError, match="annotator id in every row, got none in row 2"):
        Annotations.from_frame(table({"item": [1, 2, 3], "annotator": [5, 6, None], "label": [0, 1, 1]}))


@pytest.mark.parametrize("dtype", [
    "category", "Int64", "boolean", "string", "string[pyarrow]", "int64[pyarrow]", "Float64", "object",
    "float32", "uint8", "bool",
])  # fmt: skip
def test_every_column_type_of_pandas_works(dtype):
    text = "str" in dtype
    values = ["0", "1"] if text else [0, 1]
    df = pd.DataFrame({"item": pd.Series([7, 8]), "annotator": ["x", "x"], "label": pd.Series(values).astype(dtype)})
    y = Annotations.from_frame(df)
    expected = ["0", "1"] if text else [False, True] if dtype in ("boolean", "bool") else [0, 1]
    assert y.labels.tolist() == expected
    assert list(map(type, y.labels.tolist())) == list(map(type, expected))


@pytest.mark.parametrize("dtype", ["category", "Int64", "boolean", "string", "string[pyarrow]", "Float64", "object"])
def test_missing_values_of_every_pandas_type_are_missing(dtype):
    values = ["0", None] if "str" in dtype else [False, None] if dtype == "boolean" else [0, None]
    label = pd.Series(values, dtype=object).astype(dtype)
    with pytest.warns(UserWarning, match="Dropped 1 of 2 rows"):
        y = Annotations.from_frame(pd.DataFrame({"item": [7, 8], "annotator": [1, 1], "label": label}))
    assert y.labels.tolist() == values[:1]


@pytest.mark.parametrize("dtype", [pl.Categorical, pl.Enum(["no", "yes"]), pl.String])
def test_every_text_column_of_polars_works(dtype):
    df = pl.DataFrame({"item": [1, 2], "annotator": [1, 1], "label": pl.Series(["yes", "no"], dtype=dtype)})
    assert Annotations.from_frame(df).labels.tolist() == ["no", "yes"]


def test_dictionary_columns_of_arrow_work():
    label = pa.array(["yes", "no"]).dictionary_encode()
    assert Annotations.from_frame(pa.table({"item": [1, 2], "annotator": [1, 1], "label": label})).n_classes == 2


def test_series_and_arrow_arrays_work_as_columns_and_vocabularies():
    y = Annotations.from_arrays(
        pd.Series(["b", "b", "a"], dtype="string"), pl.Series(["x", "y", "x"]), pa.array([0, 1, 1]),
        items=pd.Index(["a", "b"]), annotators=pl.Series(["x", "y"]), labels=pa.array([0, 1]),
    )  # fmt: skip
    assert matrix_of(y, -1) == [[1, -1], [0, 1]]


def test_what_is_not_a_table_is_refused_with_advice():
    with pytest.raises(TypeError, match="Expected a pandas, polars or pyarrow table, got dict"):
        Annotations.from_frame(LONG)
    with pytest.raises(TypeError, match=r"got a LazyFrame. Call .collect\(\) first"):
        Annotations.from_frame(pl.LazyFrame(LONG))


@make_table
def test_an_empty_long_table_is_valid_with_items(table):
    df = table({"item": [], "annotator": [], "label": []})
    assert Annotations.from_frame(df, items=["a", "b"]).shape == (2, 0)
    with pytest.raises(ValueError, match="Expected at least one row, got an empty table"):
        Annotations.from_frame(df)


def test_duplicates_in_a_frame_can_be_resolved():
    df = pd.DataFrame({"item": ["a", "a"], "annotator": ["x", "x"], "label": [0, 1]})
    with pytest.raises(ValueError, match=r"Annotator 'x' labelled item 'a' twice \(0 and 1\)"):
        Annotations.from_frame(df)
    assert matrix_of(Annotations.from_frame(df, duplicates="last")) == [[1.0]]


@make_table
def test_columns_that_hold_no_numbers_are_found_with_their_first_such_value(table):
    columns = {"x": [0.5, 1], "flag": [True, False], "written": ["1", "2e3"], "city": ["7", "Rome"]}
    assert not_numbers(table(columns)) == {"city": "Rome"}
    assert not_numbers(table({"gap": [None, 1.5], "text": [None, "a"]})) == {"text": "a"}


def test_columns_whose_names_repeat_are_left_to_the_next_reader():
    assert not_numbers(pd.DataFrame([["a", 1]], columns=["x", "x"])) == {}


# --- writing --------------------------------------------------------------------------------------------


@given(annotations(), st.sampled_from(["pandas", "polars"]))
@settings(deadline=None)
def test_a_frame_reads_back_as_what_was_written(y, backend):
    frame = y.to_frame(backend)
    assert Annotations.from_frame(frame, items=y.items, annotators=y.annotators, labels=y.labels) == y


@pytest.mark.parametrize("labels", [[0, 1], ["no", "yes"], [False, True], [0.5, 1.5]])
@pytest.mark.parametrize("backend", [None, "pandas", "polars", "pyarrow"])
def test_frames_of_every_library_read_back(labels, backend):
    y = Annotations.from_arrays([3, 1, 3], ["x", "y", "y"], [labels[0], labels[1], labels[1]], items=[1, 2, 3])
    frame = y.to_frame(backend)
    assert type(frame).__module__.startswith(backend or "pandas")
    assert Annotations.from_frame(frame, items=y.items) == y


def test_arrow_refuses_tuples_and_mixed_ids_with_advice():
    y = Annotations.from_arrays([1, "a"], ["x", "x"], [0, 1])
    with pytest.raises(TypeError, match=r"the item column holds int, str. Use to_frame\(backend='pandas'\)"):
        y.to_frame("pyarrow")


def test_an_unknown_backend_is_named():
    with pytest.raises(ValueError, match="backend= must be one of 'pandas', 'polars', 'pyarrow' or None; got 'dask'"):
        Annotations.from_arrays([1], [1], [1]).to_frame("dask")


def test_a_missing_library_says_what_to_install(monkeypatch):
    y = Annotations.from_arrays([1], [1], [1])
    monkeypatch.setitem(sys.modules, "pandas", None)
    assert isinstance(y.to_frame(), pl.DataFrame)
    with pytest.raises(ImportError, match=r"to_frame\(backend='pandas'\) needs pandas. Run: pip install pandas"):
        y.to_frame("pandas")
    monkeypatch.setitem(sys.modules, "polars", None)
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(ImportError, match=r"needs pandas, polars or pyarrow; none is installed\. Run: pip install"):
        y.to_frame()


@given(annotations())
def test_a_matrix_reads_back_as_what_was_written(y):
    matrix = y.to_matrix()
    assert Annotations.from_matrix(matrix, items=y.items, annotators=y.annotators, labels=y.labels) == y


def test_a_matrix_of_numbers_is_float_with_nan_and_any_other_is_object_with_none():
    def written(labels, **kwargs):
        return Annotations.from_arrays([0, 1], [0, 1], labels).to_matrix(**kwargs)

    assert written([0, 1]).dtype == float
    assert written([0.5, 1]).dtype == float
    assert np.isnan(written([0, 1])[0, 1])
    assert written([True, False]).tolist() == [[True, None], [None, False]]
    assert written(["a", "b"]).tolist() == [["a", None], [None, "b"]]
    assert written([0, 1], missing=-1).tolist() == [[0, -1], [-1, 1]]
    assert written([0, 1], missing=-1).dtype == np.int64
    assert written([0, 1], missing="?").tolist() == [[0, "?"], ["?", 1]]
    assert written([0.5, 1.5], missing=-1).tolist() == [[0.5, -1], [-1, 1.5]]
    assert written([0, 2**62 + 1]).tolist() == [[0, None], [None, 2**62 + 1]]


def test_the_marker_for_missing_is_no_label():
    with pytest.raises(ValueError, match="missing= must not be a label; 0 is one of 0, 1"):
        Annotations.from_arrays([0, 1], [0, 1], [0, 1]).to_matrix(missing=0)


# --- wide tables ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("y", [
    [[0, nan], [None, 1], [nan, nan]],
    ((0.0, nan), (nan, 1.0), (nan, nan)),
    np.array([[0, nan], [nan, 1], [nan, nan]]),
    np.array([[0, nan], [nan, 1], [nan, nan]], dtype=np.float32),
    np.array([[0, None], [nan, 1.0], ["", " "]], dtype=object),
    [np.array([0, nan]), np.array([nan, 1]), np.array([nan, nan])],
], ids=str)  # fmt: skip
def test_nan_none_and_blanks_are_missing_and_whole_floats_are_integers(y):
    got = Annotations.from_matrix(y)
    assert matrix_of(got, -1) == [[0, -1], [-1, 1], [-1, -1]]
    assert got.labels.dtype == np.int64
    assert (got.items.tolist(), got.annotators.tolist()) == ([0, 1, 2], [0, 1])


@pytest.mark.parametrize(("y", "missing_label"), [
    (np.array([[0, -1], [-1, 1]]), -1),
    (np.array([[0.0, -1], [-1, 1]]), -1),
    ([[0, "?"], ["?", 1]], "?"),
    ([[0, ""], [None, 1]], ""),
    ([[0, None], [nan, 1]], None),
], ids=str)  # fmt: skip
def test_missing_label_can_be_any_value(y, missing_label):
    assert matrix_of(Annotations.from_matrix(y, missing_label=missing_label), -1) == [[0, -1], [-1, 1]]


def test_minus_one_is_an_ordinary_label_unless_said_otherwise():
    assert Annotations.from_matrix(np.array([[-1, 1], [0, -1]])).labels.tolist() == [-1, 0, 1]


def test_a_boolean_false_is_not_the_missing_label_zero():
    flags = np.array([[True, False]])
    assert Annotations.from_matrix(flags, missing_label=0).n_annotations == 2
    assert Annotations.from_matrix(flags.astype(object), missing_label=0).n_annotations == 2
    assert Annotations.from_matrix(flags, missing_label=False).n_annotations == 1


@pytest.mark.parametrize("y", [np.array([["a", "b"], ["b", "b"]]), [["a", "b"], ["b", "b"]]], ids=type)
def test_matrices_of_strings_work(y):
    assert Annotations.from_matrix(y).to_matrix().tolist() == [["a", "b"], ["b", "b"]]


@pytest.mark.parametrize(
    "y", [[0, 1, 1], np.array([0, 1, 1]), pd.Series([0, 1, 1], name="y"), pl.Series([0, 1, 1])], ids=type
)
def test_one_dimension_is_one_annotator(y):
    got = Annotations.from_matrix(y)
    assert (got.shape, got.annotators.tolist(), matrix_of(got)) == ((3, 1), [0], [[0.0], [1.0], [1.0]])


@make_table
def test_columns_of_a_wide_frame_are_the_annotators(table):
    y = Annotations.from_matrix(table({"zoe": [0, None, 1], "anna": [None, None, 2]}))
    assert y.annotators.tolist() == ["zoe", "anna"]
    assert y.items.tolist() == [0, 1, 2]
    assert matrix_of(y, -1) == [[0, -1], [-1, -1], [1, 2]]


@make_table
def test_wide_frames_of_strings_and_booleans_work(table):
    assert Annotations.from_matrix(table({"a": ["u", None], "b": [None, ""]})).n_annotations == 1
    y = Annotations.from_matrix(table({"a": [True, None], "b": [False, True]}))
    assert y.labels.tolist() == [False, True]
    assert y.n_annotations == 3
    with pytest.raises(ValueError, match="booleans or numbers, got both"):
        Annotations.from_matrix(table({"a": [True, False], "b": [0, 1]}))


@make_table
def test_a_long_table_is_no_matrix(table):
    message = (
        "Expected one row per item and one column per annotator, got a long table with the columns "
        "'item', 'annotator', 'label'. Use Annotations.from_frame(table, items=ids_of_the_rows_of_X)."
    )
    with pytest.raises(ValueError, match=exactly(message)):
        Annotations.from_matrix(table(LONG))
    with pytest.raises(ValueError, match="long table with the columns 'Worker', 'value', 'task_id'"):
        Annotations.from_matrix(table({"Worker": [1], "value": [0], "task_id": [1]}))
    assert Annotations.from_matrix(table({"rater": [0], "item": [1], "anna": [1]})).shape == (1, 3)


def test_a_pandas_index_is_the_items_unless_it_counts_rows():
    df = pd.DataFrame({"x": [0, 1]}, index=["b", "a"])
    assert Annotations.from_matrix(df).items.tolist() == ["b", "a"]
    assert Annotations.from_matrix(df.reset_index(drop=True)).items.tolist() == [0, 1]
    assert Annotations.from_matrix(df.reset_index(drop=True)[1:]).items.tolist() == [1]


def test_integer_columns_of_pandas_are_annotators():
    assert Annotations.from_matrix(pd.DataFrame([[0, 1]], columns=[7, 5])).annotators.tolist() == [7, 5]


def test_ids_given_beside_a_frame_that_has_ids_fix_the_order_by_id():
    df = pd.DataFrame({"x": [0, 1], "y": [1, 1]}, index=["b", "a"])
    y = Annotations.from_matrix(df, items=["a", "b", "c"], annotators=["y", "z", "x"])
    assert matrix_of(y, -1) == [[1, -1, 1], [1, -1, 0], [-1, -1, -1]]
    with pytest.raises(ValueError, match="One item is not among the known items: 'b'"):
        Annotations.from_matrix(df, items=["a"])


def test_ids_given_beside_an_array_name_its_rows_and_columns():
    y = Annotations.from_matrix([[0, 1], [1, 1]], items=["b", "a"], annotators=["y", "x"], labels=[1, 0, 2])
    assert (y.items.tolist(), y.annotators.tolist(), y.labels.tolist()) == (["b", "a"], ["y", "x"], [1, 0, 2])
    with pytest.raises(ValueError, match=r"Expected 2 ids in items=, one for each row of y; got 3\."):
        Annotations.from_matrix([[0, 1], [1, 1]], items=["b", "a", "c"])
    with pytest.raises(ValueError, match="Expected 2 ids in annotators=, one for each column of y; got 1"):
        Annotations.from_matrix([[0, 1], [1, 1]], annotators=["b"])


def test_repeated_names_in_a_frame_are_an_error():
    with pytest.raises(ValueError, match="The items of y must not repeat ids; 'a' occurs more than once"):
        Annotations.from_matrix(pd.DataFrame({"x": [0, 1]}, index=["a", "a"]))
    with pytest.raises(ValueError, match=r"(?i)unique|duplicate|repeat"):
        Annotations.from_matrix(pd.DataFrame([[0, 1]], columns=["x", "x"]))


def test_annotators_and_items_without_labels_stay():
    y = Annotations.from_matrix([[0, nan, 1], [nan, nan, nan]])
    assert (y.shape, y.labels_per_annotator.tolist()) == ((2, 3), [1, 0, 1])
    assert Annotations.from_matrix([[nan, nan]]).n_classes == 0


def test_sparse_masked_and_deep_arrays_are_refused():
    with pytest.raises(
        TypeError, match=r"scipy sparse one, where label 0 and a missing label are the same.*from_arrays"
    ):
        Annotations.from_matrix(csr_array(np.eye(2)))
    with pytest.raises(TypeError, match=r"got a masked array. Pass y.astype\(float\).filled\(numpy.nan\)"):
        Annotations.from_matrix(np.ma.masked_array([[1, 2]], mask=[[0, 1]]))
    with pytest.raises(ValueError, match=r"shape \(n_items, n_annotators\), got shape \(1, 1, 1\)"):
        Annotations.from_matrix(np.zeros((1, 1, 1)))
    with pytest.raises(ValueError, match=r"shape \(n_items, n_annotators\), got shape \(\)"):
        Annotations.from_matrix(np.array(3.0))


@pytest.mark.parametrize("y", [np.array([[0, np.inf]]), [[0, -np.inf]]], ids=type)
def test_infinity_is_an_error(y):
    with pytest.raises(ValueError, match=r"Expected finite labels, got -?inf"):
        Annotations.from_matrix(y)


def test_ragged_and_unhashable_rows_are_named():
    with pytest.raises(ValueError, match=r"Expected 2 labels in every row, as in row 0, got 1 in row 1"):
        Annotations.from_matrix([[0, 1], [0]])
    with pytest.raises(TypeError, match=r"got the list \[2\] in row 1"):
        Annotations.from_matrix([[0, 1], [0, [2]]])


def test_lazy_frames_are_refused_as_matrices():
    with pytest.raises(TypeError, match=r"Call \.collect\(\) first"):
        Annotations.from_matrix(pl.LazyFrame({"a": [1]}))


def test_an_empty_matrix_is_refused():
    with pytest.raises(ValueError, match="got an empty matrix"):
        Annotations.from_matrix(np.empty((0, 2)))
