"""Slips of people and habits of spreadsheets: spaces, rows that are there twice, names further down."""

import pytest

from tests.io.labels.samples import LONG, jsonl, rows
from whoknows.data import Annotations
from whoknows.io import FileError, read_labels

CSV = "item,annotator,label\na,x,0\na,y,1\nb,x,1\n"
EXPECTED = Annotations.from_arrays(*LONG.values())


def problem(path, **options):
    with pytest.raises(FileError) as caught:
        read_labels(path, **options)
    return caught.value.problem


# --- blank cells and names further down -----------------------------------------------------------------


def test_blank_cells_at_the_end_of_rows_do_not_count(write):
    assert read_labels(write("l.csv", CSV.replace("label\n", "label,,\n"))).annotations == EXPECTED
    assert read_labels(write("l.csv", CSV.replace("1\n", "1,, \n"))).annotations == EXPECTED
    assert problem(write("l.csv", CSV + "b,y,1,,2\n")).startswith("has 5 cells in the row that ends at line 5")


@pytest.mark.parametrize("above", ["My survey", "My survey,,", ",,", "Exported,2026,"])
@pytest.mark.parametrize("delimiter", [",", ";"])
def test_names_further_down_are_suspected(write, above, delimiter):
    message = problem(write("l.csv", f"{above}\n\n{CSV}".replace(",", delimiter)))
    assert message.endswith("Line 3 seems to be the header: delete the lines above it.")


def test_names_in_the_first_row_are_not_suspected_further_down(write):
    assert problem(write("l.csv", CSV + "item,label\n")).endswith("ends at line 5; expected 3.")
    assert problem(write("l.csv", "\n\n" + CSV + "b,y\n")).endswith("ends at line 7; expected 3.")


# --- spaces ---------------------------------------------------------------------------------------------


def test_spaces_around_labels_of_text_tables_are_taken_away_and_case_is_kept(write):
    found = read_labels(write("l.csv", "item,annotator,label\na,x,A\na,y,A \nb,x, B\nb,y,a\n"))
    assert rows(found) == {("a", "x", "A"), ("a", "y", "A"), ("b", "x", "B"), ("b", "y", "a")}
    assert found.notes == (
        "spaces around labels removed: 'A ', ' B'",
        "2 labels differ only in case: 'A', 'a'; they are kept apart. Correct the file if they are the same",
    )
    wide = read_labels(write("w.csv", "item,x,y\na,A,A \nb,B,B\n"))
    assert wide.annotations.labels.tolist() == ["A", "B"]
    assert wide.notes == ("spaces around labels removed: 'A '",)
    assert rows(read_labels(found.path, missing_label="A ")) == {("b", "x", "B"), ("b", "y", "a")}


def test_spaces_around_numbers_are_no_news_and_json_keeps_its_spaces(write):
    assert read_labels(write("l.csv", "item, annotator, label\na, x, 1\nb, x, 0\n")).notes == ()
    records = [{"item": i, "annotator": "x", "label": label} for i, label in enumerate(["A", "A "])]
    found = read_labels(write("l.jsonl", jsonl(*records)))
    assert found.annotations.labels.tolist() == ["A", "A "]
    assert found.notes[0].startswith("2 labels differ only in case, spaces or type: 'A', 'A '; they are kept apart.")


# --- rows that are there twice --------------------------------------------------------------------------


def test_rows_that_say_the_same_are_dropped_and_contradictions_refused(write):
    found = read_labels(write("l.csv", CSV + "a,y,1\na,y,1\n"))
    assert found.annotations == EXPECTED
    assert found.notes == ("2 identical rows left out",)
    assert read_labels(write("l.csv", CSV + "b,x,1\n")).notes == ("1 identical row left out",)
    assert "Annotator 'y' labelled item 'a' twice (1 and 0)" in problem(write("l.csv", CSV + "a,y,1\na,y,0\n"))
    spaced = read_labels(write("l.csv", "item,annotator,label\na,x,yes\na,x,yes \n"))
    assert rows(spaced) == {("a", "x", "yes")}


def test_repeated_rows_are_votes_where_the_majority_counts_and_must_be_equally_sure(write):
    path = write("l.csv", "item,annotator,label\na,x,0\na,x,1\na,x,1\n")
    assert rows(read_labels(path, duplicates="majority")) == {("a", "x", 1)}
    sure = {"confidence": "sure"}
    path = write("l.csv", "item,annotator,label,sure\nb,x,0,1\na,x,1,0.5\na,x,1,0.5\n")
    found = read_labels(path, columns=sure).annotations
    assert (found.items.tolist(), found.confidence.tolist()) == (["b", "a"], [1, 0.5])
    path = write("l.csv", "item,annotator,label,sure\na,x,1,0.5\na,x,1,0.9\n")
    assert "labelled item 'a' twice (1 and 1)" in problem(path, columns=sure)


# --- numbers in other spellings, and columns that are no annotators --------------------------------------


def test_a_sign_for_no_label_is_found_however_the_number_is_written(write):
    amounts = write("l.csv", "item,annotator,label\na,x,2.5\na,y,-1\nb,x,0.5\n")
    for sign in (-1, "-1", "-1.0", " -1 "):
        assert rows(read_labels(amounts, missing_label=sign)) == {("a", "x", 2.5), ("b", "x", 0.5)}
    assert len(rows(read_labels(amounts, missing_label="1"))) == 3
    codes = write("c.csv", "item,annotator,label\na,x,01\na,y,1\nb,x,none\n")
    assert rows(read_labels(codes, missing_label=1)) == {("a", "x", "01"), ("b", "x", "none")}


def test_numbers_written_in_two_ways_beside_a_word_are_noted(write):
    found = read_labels(write("l.csv", "item,annotator,label\na,x,1\na,y,1.0\nb,x,unsure\nb,y,2\n"))
    assert "2 labels differ only in how they are written: '1', '1.0'" in " ".join(found.notes)


WIDE = "item,{},x,y\na,{},cat,dog\nb,{},dog,dog\nc,{},cat,cat\n"


@pytest.mark.parametrize("name", ["truth", "True_Label", "gold_label"])
def test_in_a_wide_table_truth_is_no_annotator(write, name):
    found = read_labels(write("w.csv", WIDE.format(name, "cat", "dog", "")))
    assert found.annotations.annotators.tolist() == ["x", "y"]
    assert found.gold == {"a": "cat", "b": "dog"}


@pytest.mark.parametrize("name", ["Text", "image"])
def test_nor_is_what_is_known_about_the_item(write, name):
    found = read_labels(write("w.csv", WIDE.format(name, "one", "two", "three")), format="wide")
    assert found.annotations.annotators.tolist() == ["x", "y"]
    assert found.annotations.labels.tolist() == ["cat", "dog"]
    assert bool(found.text) == (name == "Text")


def test_a_column_that_shares_no_label_with_any_other_is_noted(write):
    found = read_labels(write("w.csv", WIDE.format("notes", "unsure", "", "check")))
    assert "column 'notes' shares no label with any other" in " ".join(found.notes)
    assert "shares no label" not in " ".join(read_labels(write("w.csv", WIDE.format("z", *["cat"] * 3))).notes)
