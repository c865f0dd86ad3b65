"""Tables of votes: names of their columns, models under test, prompts, swapped pairs, columns to group by."""

import pytest

from tests.io.labels.samples import jsonl, rows
from whoknows.io import FileError, read_gold, read_labels


@pytest.fixture
def read(write):
    def read_file(text, **options):
        return read_labels(write("votes.csv", text), **options)

    return read_file


@pytest.mark.parametrize("who", ["judge", "Judge_ID", "rater"])
@pytest.mark.parametrize("what", ["vote", "verdict", "score", "preference"])
def test_usual_names_of_judges_and_votes_are_known(read, who, what):
    found = read(f"item,{who},{what}\na,j1,1\na,j2,0\n")
    assert found.format == "long"
    assert rows(found) == {("a", "j1", 1), ("a", "j2", 0)}


def test_two_columns_that_could_be_the_label_are_asked_about(read):
    with pytest.raises(FileError, match=r"Expected one column for the label .* found 2 \('verdict', 'score'\)"):
        read("item,judge,verdict,score\na,j1,yes,0.9\n")
    assert rows(read("item,judge,verdict,score\na,j1,yes,0.9\n", columns={"label": "verdict"})) == {("a", "j1", "yes")}


def test_a_prompt_is_the_item_if_nothing_else_is(read):
    assert rows(read("prompt,judge,vote\nhello,j1,1\nbye,j2,0\n")) == {("hello", "j1", 1), ("bye", "j2", 0)}


@pytest.mark.parametrize("label", ["score", "verdict"])
def test_a_model_without_a_judge_is_asked_about(read, label):
    table = f"item,model,{label}\na,m1,1\nb,m2,0\n"
    with pytest.raises(FileError, match=r"'model' may be the judge or the model under test.*add a column 'judge'"):
        read(table)
    assert rows(read(table, columns={"annotator": "model"})) == {("a", "m1", 1), ("b", "m2", 0)}


def test_answers_of_several_models_to_one_question_are_items(read, write):
    found = read("item,model,judge,score\nq,m1,j1,1\nq,m2,j1,0\nq,m1,j2,1\nq,m2,j2,1\n")
    assert rows(found) == {("q / m1", "j1", 1), ("q / m2", "j1", 0), ("q / m1", "j2", 1), ("q / m2", "j2", 1)}
    assert found.item_columns == {"model": {"q / m1": "m1", "q / m2": "m2"}}
    assert "items are answers, such as 'q / m1'" in found.notes[0]
    gold = write("gold.csv", "item,model,truth\nq,m1,1\nq,m2,0\n")
    assert read_gold(gold, annotations=found.annotations) == {"q / m1": 1, "q / m2": 0}


def test_the_model_of_an_item_and_the_model_of_a_judge_are_told_apart(read):
    of_item = read("item,model,judge,score\na,m1,j1,1\na,m1,j2,0\nb,m2,j1,1\n")
    assert of_item.item_columns == {"model": {"a": "m1", "b": "m2"}}
    assert of_item.annotator_columns == {}
    of_judge = read("item,model,judge,score\na,m1,j1,1\na,m2,j2,0\nb,m1,j1,1\n")
    assert of_judge.annotator_columns == {"model": {"j1": "m1", "j2": "m2"}}
    assert of_judge.notes == ("column 'model' has one value per annotator and is taken for the model of the judge",)


def test_people_who_used_a_model_do_not_split_items(read):
    found = read("item,annotator,label,model\na,x,1,m1\na,y,0,m2\nb,x,1,m2\n")
    assert found.annotations.items.tolist() == ["a", "b"]


def test_every_prompt_of_a_judge_is_an_annotator(read):
    found = read("item,judge,prompt,vote\na,j,short,1\na,j,long,0\nb,j,short,1\n")
    assert rows(found) == {("a", "j / short", 1), ("a", "j / long", 0), ("b", "j / short", 1)}
    assert found.annotator_columns["judge"] == {"j / short": "j", "j / long": "j"}


def test_prompts_that_are_messages_are_no_obstacle(write):
    record = {"item": "a", "judge": "j", "vote": 1, "prompt": [{"role": "user"}], "model": {"name": "m"}}
    found = read_labels(write("votes.jsonl", jsonl(record, {**record, "vote": 0})), duplicates="last")
    assert rows(found) == {("a", "j", 0)}


# --- pairs in reverse order -----------------------------------------------------------------------------


@pytest.mark.parametrize(("first", "second", "tie"), [
    ("A", "B", "tie"), ("a", "b", "Tie"), ("1", "2", "0"), ("0", "1", "0.5"), ("-1", "1", "0"),
    ("first", "second", "both"), ("Left", "Right", "draw"), ("A>B", "B>A", "A=B"),
])  # fmt: skip
def test_labels_of_swapped_pairs_are_exchanged_and_ties_stay(read, first, second, tie):
    table = f"item,judge,vote,swapped\na,x,{first},false\na,y,{first},true\nb,x,{second},True\nb,y,{tie},1\n"
    found = read(table)
    labels = {str(label) for *_, label in rows(found)}
    by_pair = {(item, who): label for item, who, label in rows(found)}
    assert by_pair["a", "x"] == by_pair["b", "x"] != by_pair["a", "y"]
    assert len(labels) == 3
    assert str(by_pair["b", "y"]) in (tie, f"{tie}.0")
    assert found.notes == ("labels exchanged where the pair was in reverse order: 3 of 4",)


def test_the_other_label_of_a_pair_need_not_occur(read):
    assert rows(read("item,judge,vote,swapped\na,x,A,yes\n")) == {("a", "x", "B")}
    assert rows(read("item,judge,vote,swapped\na,x,tie,yes\n")) == {("a", "x", "tie")}


@pytest.mark.parametrize("labels", ["good,bad", "1,1"])
def test_labels_that_are_no_comparison_cannot_be_exchanged(read, labels):
    one, two = labels.split(",")
    with pytest.raises(FileError, match=r"pairs in reverse order \('swapped'\) and the labels .* such as A and B"):
        read(f"item,judge,vote,swapped\na,x,{one},true\nb,x,{two},false\n")


def test_what_is_neither_true_nor_false_is_refused(read):
    with pytest.raises(FileError, match="expected true or false in 'swapped', got 'maybe'"):
        read("item,judge,vote,swapped\na,x,A,maybe\n")


def test_a_judge_who_saw_both_orders_is_two_annotators(read):
    found = read("item,judge,vote,swapped\na,j,A,no\na,j,A,yes\nb,j,B,no\nb,j,A,yes\n")
    assert rows(found) == {("a", "j", "A"), ("a", "j / swapped", "B"), ("b", "j", "B"), ("b", "j / swapped", "B")}
    assert found.annotator_columns["judge"] == {"j": "j", "j / swapped": "j"}


def test_a_pair_asked_in_both_orders_is_seen_from_its_answers(read):
    marked = read("item,judge,vote,swapped\na,j,A,no\na,j,A,yes\nb,j,B,no\nb,j,A,yes\n")
    table = "item,judge,vote,model_a,model_b\na,j,A,m,n\na,j,A,n,m\nb,j,B,n,m\nb,j,A,m,n\n"
    assert rows(read(table)) == rows(marked)
    winners = "item,judge,vote,model_a,model_b\na,j,m,m,n\na,k,m,n,m\n"
    assert rows(read(winners)) == {("a", "j", "m"), ("a", "k", "m")}  # names need no exchange


def test_rows_of_a_wide_table_can_be_swapped(read):
    found = read("item,x,y,swapped\na,A,A,0\nb,A,tie,1\n")
    assert rows(found) == {("a", "x", "A"), ("a", "y", "A"), ("b", "x", "B"), ("b", "y", "tie")}
    assert found.notes == ("labels exchanged where the pair was in reverse order: 2 of 4",)
    assert rows(read("item,x,y,swapped\na,good,bad,no\nb,bad,good,no\n")) == {
        ("a", "x", "good"), ("a", "y", "bad"), ("b", "x", "bad"), ("b", "y", "good"),
    }  # fmt: skip


# --- columns to group by --------------------------------------------------------------------------------

TABLE = "item,judge,judge_model,vote,topic,when\na,j1,m,1,math,1\na,j2,m,0,math,2\nb,j1,m,1,law,3\nb,j3,n,1,law,4\n"


def test_columns_are_kept_by_item_or_by_annotator(read):
    assert read(TABLE).item_columns == {}
    found = read(TABLE, keep=["topic"])
    assert found.item_columns == {"topic": {"a": "math", "b": "law"}}
    assert found.annotator_columns == {"judge_model": {"j1": "m", "j2": "m", "j3": "n"}}


def test_a_column_that_says_nothing_of_items_or_annotators_cannot_be_kept(read):
    with pytest.raises(FileError, match=r"has 1, 2 in 'when' for item 'a', and several values for an annotator"):
        read(TABLE, keep=["when"])
    with pytest.raises(FileError, match=r"no column to keep called 'topics'. Did you mean 'topic'"):
        read(TABLE, keep=["topics"])


def test_columns_of_a_wide_table_are_kept_by_item(read):
    found = read("item,model,x,y,topic\na,m1,1,0,math\na,m2,0,,\nb,m1,1,1,law\n", keep=["topic"])
    assert rows(found) == {
        ("a / m1", "x", 1), ("a / m1", "y", 0), ("a / m2", "x", 0), ("b / m1", "x", 1), ("b / m1", "y", 1),
    }  # fmt: skip
    assert found.item_columns["model"] == {"a / m1": "m1", "a / m2": "m2", "b / m1": "m1"}
    assert found.item_columns["topic"] == {"a / m1": "math", "b / m1": "law"}


def test_a_model_that_labels_as_people_do_is_an_annotator_of_a_wide_table(read):
    found = read("item,anna,model\na,yes,no\nb,no,yes\n")
    assert found.annotations.annotators.tolist() == ["anna", "model"]
