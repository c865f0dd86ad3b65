"""Label Studio's JSON, JSON-MIN and CSV, with every oddity its exports are known to have."""

import json

import pytest

from tests.io.labels.samples import MIN, TASK, TASK_2, rows
from whoknows.io import FileError, read_labels, write_predictions


def task(*annotations, id=1, **more):
    return {"id": id, "data": {"text": f"text {id}"}, "annotations": list(annotations), **more}


def annotation(label, who=10, kind="choices", question="grade", **more):
    value = [label] if kind == "choices" and not isinstance(label, list) else label
    answer = {"from_name": question, "to_name": "img", "type": kind, "value": {kind: value}}
    return {"id": 1, "completed_by": who, "result": [answer], **more}


def test_the_export_of_the_documentation_is_read(write):
    found = read_labels(write("export.json", [TASK, TASK_2]))
    assert found.format == "label-studio"
    assert rows(found) == {(1, 10, "benign"), (2, 10, "malignant"), (2, 12, "benign")}
    assert found.text == {1: "one", 2: "two"}
    assert "1 cancelled annotation left out" in found.notes


def test_a_single_task_and_a_task_a_line_are_read(write):
    assert rows(read_labels(write("one.json", TASK_2))) == {(2, 10, "malignant"), (2, 12, "benign")}
    lines = json.dumps(TASK) + "\n" + json.dumps(TASK_2) + "\n"
    assert read_labels(write("tasks.jsonl", lines)).annotations.n_annotations == 3


def test_people_are_numbers_or_objects_with_an_email(write):
    someone = {"id": 11, "email": "b@example.org", "first_name": "", "last_name": ""}
    path = write("e.json", [task(annotation("a", 10), annotation("b", someone))])
    assert rows(read_labels(path)) == {(1, "10", "a"), (1, "b@example.org", "b")}
    path = write("e.json", [task(annotation("a", 10), annotation("b", {"id": 11}))])
    assert rows(read_labels(path)) == {(1, 10, "a"), (1, 11, "b")}


def test_very_old_exports_say_completions_and_skipped(write):
    old = {"id": 1, "data": {}, "completions": [annotation("a"), annotation("b", 11, skipped=True)]}
    found = read_labels(write("old.json", [old]))
    assert rows(found) == {(1, 10, "a")}
    assert found.notes == ("1 cancelled annotation left out",)


def test_cancelled_annotations_do_not_count_whatever_they_say(write):
    path = write(
        "e.json",
        [task(annotation("a"), annotation("b", 11, was_cancelled=True), annotation("c", 12, was_cancelled=True))],
    )
    found = read_labels(path)
    assert rows(found) == {(1, 10, "a")}
    assert found.notes == ("2 cancelled annotations left out",)


def test_ground_truth_is_gold_and_nobodys_label(write):
    path = write("e.json", [task(annotation("a"), annotation("b", 99, ground_truth=True))])
    found = read_labels(path)
    assert rows(found) == {(1, 10, "a")}
    assert found.gold == {1: "b"}
    assert found.annotations.annotators.tolist() == [10]


def test_ground_truths_that_contradict_each_other_are_refused(write):
    path = write("e.json", [task(annotation("a", ground_truth=True), annotation("b", ground_truth=True))])
    with pytest.raises(FileError, match="two true labels of item 1: 'a' and 'b'"):
        read_labels(path)


def test_of_several_questions_one_must_be_named(write):
    both = annotation("a")
    both["result"] += annotation("x", question="colour")["result"]
    path = write("e.json", [task(both)])
    with pytest.raises(FileError, match=r"has 2 questions: 'grade', 'colour'. Choose one: columns="):
        read_labels(path)
    assert rows(read_labels(path, columns={"label": "colour"})) == {(1, 10, "x")}
    with pytest.raises(FileError, match=r"no question 'color'. Did you mean 'colour'\? There are 'grade', 'colour'"):
        read_labels(path, columns={"label": "color"})


def test_several_labels_in_one_answer_are_refused(write):
    path = write("e.json", [task(annotation(["a", "b"]))])
    with pytest.raises(FileError, match=r"several labels in one answer \('a', 'b' for item 1; 1 of 1 answers\)"):
        read_labels(path)


def test_marks_in_a_picture_are_no_labels_of_it(write):
    box = {"from_name": "tag", "type": "rectanglelabels", "value": {"x": 1, "rectanglelabels": ["Car"]}}
    with pytest.raises(FileError, match="has no question with one answer that could be a label"):
        read_labels(write("e.json", [task({"completed_by": 1, "result": [box]})]))
    with pytest.raises(FileError, match=r"several labels in one answer \('a', 'a' for item 1"):
        read_labels(write("e.json", [task({"completed_by": 1, "result": annotation("a")["result"] * 2})]))


def test_who_labels_a_task_twice_means_the_last_by_time(write):
    last = annotation("second", updated_at="2026-03-10T00:00:00Z")
    first = annotation("first", updated_at="2026-03-09T00:00:00Z")
    path = write("e.json", [task(last, first)])
    found = read_labels(path)
    assert rows(found) == {(1, 10, "second")}
    assert found.notes == ("1 label left out, as the annotator labelled the item repeatedly",)
    assert rows(read_labels(path, duplicates="first")) == {(1, 10, "first")}
    with pytest.raises(FileError, match="labelled item 1 twice"):
        read_labels(path, duplicates="error")


@pytest.mark.parametrize(("kind", "value", "label"), [
    ("rating", 4, 4), ("number", 2.5, 2.5), ("taxonomy", [["Animal", "Cat"]], "Animal / Cat"),
    ("choices", ["a"], "a"),
])  # fmt: skip
def test_every_kind_of_question_with_one_answer_is_read(write, kind, value, label):
    assert rows(read_labels(write("e.json", [task(annotation(value, kind=kind))]))) == {(1, 10, label)}


def test_models_are_annotators_if_asked_for(write):
    guess = {"model_version": "m1", "score": 0.9, "result": annotation("b")["result"]}
    path = write("e.json", [task(annotation("a", "anna"), predictions=[guess])])
    found = read_labels(path)
    assert rows(found) == {(1, "anna", "a")}
    assert "1 prediction of models left out; use predictions=True to treat models as annotators" in found.notes
    assert rows(read_labels(path, predictions=True)) == {(1, "anna", "a"), (1, "m1", "b")}


def test_tasks_nobody_annotated_are_items(write):
    found = read_labels(write("e.json", [task(annotation("a")), task(id=2)]))
    assert found.annotations.items.tolist() == [1, 2]
    assert found.annotations.labels_per_item.tolist() == [1, 0]


def test_annotations_without_an_answer_are_counted(write):
    found = read_labels(write("e.json", [task(annotation("a"), {"completed_by": 11, "result": []})]))
    assert found.notes == ("1 annotation has no answer",)


def test_labels_of_a_deleted_account_are_left_out(write):
    found = read_labels(write("e.json", [task(annotation("a"), annotation("b", None))]))
    assert rows(found) == {(1, 10, "a")}
    assert found.notes == ("1 label left out, as the annotator or the item is missing",)


def test_an_entry_of_the_data_can_be_the_item(write):
    path = write("e.json", [TASK, TASK_2])
    items = read_labels(path, columns={"item": "image"}).annotations.items
    assert items.tolist() == ["s3://b/1.png", "s3://b/2.png"]
    with pytest.raises(FileError, match=r"no entry in the data of task 1 called 'img'. .*'image', 'text'"):
        read_labels(path, columns={"item": "img"})


@pytest.mark.parametrize("broken", [
    {"annotations": "none"}, {"annotations": ["x"]}, {"data": 3}, {"id": [1]}, {"predictions": {}},
    {"annotations": [{"result": 3}]}, {"annotations": [{"result": [3]}]},
    {"annotations": [{**annotation("a"), "completed_by": [1]}]},
], ids=str)  # fmt: skip
def test_what_is_not_where_it_should_be_is_named(write, broken):
    with pytest.raises(FileError, match=r"expected .* of record 2 to be"):
        read_labels(write("e.json", [task(annotation("a")), {**task(id=2), **broken}]))


# --- JSON-MIN and CSV -----------------------------------------------------------------------------------


def test_json_min_is_read(write):
    found = read_labels(write("min.json", [MIN, {**MIN, "annotator": 11, "grade": "malignant", "agreement": 50}]))
    assert found.format == "label-studio-min"
    assert rows(found) == {(1, 10, "benign"), (1, 11, "malignant")}


@pytest.mark.parametrize(("answer", "label"), [
    ([{"rating": 4}], 4), ([{"number": 2}], 2), ([{"taxonomy": [["A", "B"]]}], "A / B"),
    ({"choices": ["x"]}, "x"),
])  # fmt: skip
def test_answers_with_structure_are_read(write, answer, label):
    assert rows(read_labels(write("min.json", [{**MIN, "grade": answer}]))) == {(1, 10, label)}


def test_several_choices_and_marks_in_json_min_are_refused(write):
    with pytest.raises(FileError, match="several labels in one answer"):
        read_labels(write("min.json", [{**MIN, "grade": {"choices": ["a", "b"]}}]))
    with pytest.raises(FileError, match=r"answers with \['rectanglelabels', 'x'\] in record 1"):
        read_labels(write("min.json", [{**MIN, "grade": [{"x": 1, "rectanglelabels": ["Car"]}]}]))


def test_the_last_record_of_an_annotator_counts(write):
    again = {**MIN, "grade": "malignant", "updated_at": "2026-03-10T00:00:00Z", "annotation_id": 5}
    assert rows(read_labels(write("min.json", [again, MIN]))) == {(1, 10, "malignant")}


def test_a_task_without_an_annotation_is_an_item(write):
    empty = {"image": "s3://b/2.png", "id": 2, "annotator": None, "annotation_id": None, "lead_time": None}
    found = read_labels(write("min.json", [MIN, empty]))
    assert found.annotations.items.tolist() == [1, 2]
    assert found.notes == ()


def test_several_questions_of_json_min_must_be_named(write):
    record = {"image": "a", "id": 1, "grade": "x", "colour": "red", "annotator": 1, "annotation_id": 1, "lead_time": 1}
    path = write("min.json", [record])
    with pytest.raises(FileError, match="has 2 questions: 'grade', 'colour'"):
        read_labels(path)
    assert rows(read_labels(path, columns={"label": "colour", "item": "image"})) == {("a", 1, "red")}


def test_the_csv_export_is_read(write):
    text = (
        '"annotation_id","annotator","created_at","grade","id","image","lead_time","updated_at"\n'
        '1001,"b@example.org","2026","benign",1,"s3://b/1.png",4.288,"2026"\n'
        '1002,"c@example.org","2026","[{""rating"": 4}]",1,"s3://b/1.png",4.288,"2026"\n'
    )
    path = write("export.csv", text)
    found = read_labels(path)
    assert found.format == "label-studio-min"
    assert rows(found) == {(1, "b@example.org", "benign"), (1, "c@example.org", 4)}
    assert rows(read_labels(path, columns={"label": "grade"})) == rows(found)


def test_the_question_of_a_csv_export_is_the_column_that_differs_within_tasks_or_repeats(write):
    head = "annotation_id,annotator,created_at,id,lead_time,mood,text,updated_at\n"
    agreed = [
        f'{n},{n % 2},"2026",{n // 2},2.0,"{"good" if n < 4 else "bad"}","text {n // 2}","2026"' for n in range(6)
    ]
    found = read_labels(write("agreed.csv", head + "\n".join(agreed)))
    assert found.annotations.labels.tolist() == ["bad", "good"]
    assert found.text == {0: "text 0", 1: "text 1", 2: "text 2"}
    differ = [line.replace('"bad"', '"good"') if line.startswith("5") else line for line in agreed]
    assert read_labels(write("differ.csv", head + "\n".join(differ))).annotations.n_annotations == 6
    one = 'annotation_id,annotator,id,lead_time,a,b\n1,1,1,2,"x","y"\n2,1,2,2,"z","u"\n'
    with pytest.raises(FileError, match="has 2 questions: 'a', 'b'"):
        read_labels(write("one.csv", one))


# --- exports as the server of version 1.23 writes them --------------------------------------------------

SERVER = {
    "drafts": [], "meta": {}, "created_at": "2026-11-16T15:37:45Z", "updated_at": "2026-11-16T15:37:46Z",
    "allow_skip": True, "inner_id": 1, "total_annotations": 2, "cancelled_annotations": 0, "project": 2,
    "total_predictions": 1, "comment_count": 0, "unresolved_comment_count": 0, "updated_by": 1,
    "last_comment_updated_at": None, "comment_authors": [],
}  # fmt: skip
ENTRY = {
    "was_cancelled": False, "ground_truth": False, "created_at": "2026-11-16T15:37:45.650687Z",
    "updated_at": "2026-11-16T15:37:45.650737Z", "draft_created_at": None, "lead_time": 2.0, "prediction": {},
    "result_count": 1, "unique_id": "99ffb45b", "import_id": None, "last_action": None, "bulk_created": False,
    "project": 2, "updated_by": 1, "parent_prediction": None, "parent_annotation": None,
    "last_created_by": None,
}  # fmt: skip
PREDICTION = {
    "model_version": "m", "created_ago": "0\xa0minutes", "score": 0.5, "cluster": None, "neighbors": None,
    "mislabeling": 0.0, "model": None, "model_run": None, "project": 2,
}  # fmt: skip


def server_task(number, labels, predictions, **more):
    """A task of an export of the server, answered by annotators 1, 2, …."""
    entries = [
        {**ENTRY, **annotation(label, who), "id": 10 * number + who, "task": number}
        for who, label in enumerate(labels, 1)
    ]
    data = {"text": f"text {number}"}
    return {"id": number, "annotations": entries, "predictions": predictions, "data": data, **SERVER, **more}


def test_an_export_with_predictions_gives_them_by_id(write):
    path = write("export.json", [server_task(13, ["good", "bad"], [26]), server_task(14, ["bad", "bad"], [27])])
    told = "2 predictions left out: the file has only their ids; export a snapshot of the project to have their answers"
    for predictions in (False, True):
        found = read_labels(path, predictions=predictions)
        assert rows(found) == {(13, 1, "good"), (13, 2, "bad"), (14, 1, "bad"), (14, 2, "bad")}
        assert found.notes == (told,)


def test_a_snapshot_holds_predictions_and_people(write):
    people = [{"id": 1, "email": "lead@example.org"}, {"id": 2, "email": "anna@example.org"}]
    guess = {**PREDICTION, "id": 26, "task": 13, "result": annotation("good")["result"]}
    task = server_task(13, ["good", "bad"], [guess])
    for entry, who in zip(task["annotations"], people, strict=True):
        entry["completed_by"] = {**who, "first_name": "", "last_name": ""}
    path = write("snapshot.json", [task, server_task(17, [], [])])
    found = read_labels(path)
    assert rows(found) == {(13, "lead@example.org", "good"), (13, "anna@example.org", "bad")}
    assert len(found.notes) == 1  # no annotation is without an answer
    assert (13, "m", "good") in rows(read_labels(path, predictions=True))


def test_predictions_to_import_are_read_again_as_those_of_an_annotator(write, tmp_path):
    export = write("export.json", [server_task(13, ["good", "bad"], []), server_task(14, ["bad"], [])])
    write_predictions(export, tmp_path / "p.json", [13, 14], ["good", "bad"], [0.9, 0.8])
    found = read_labels(tmp_path / "p.json", predictions=True)
    assert rows(found) == {(13, "whoknows", "good"), (14, "whoknows", "bad")}
    with pytest.raises(FileError, match=r"holds no labels \(2 rows were read\)\. 2 predictions .* predictions=True"):
        read_labels(tmp_path / "p.json")


def test_one_unclear_answer_of_many_is_left_out_and_named_by_its_task(write):
    tasks = [server_task(number, ["good", "bad"], []) for number in range(100, 110)]
    tasks[3]["annotations"][1]["result"][0]["value"]["choices"] = ["good", "bad"]
    path = write("export.json", tasks)
    found = read_labels(path)
    assert found.annotations.n_annotations == 19
    assert found.notes == ("1 answer with several labels left out, of item 103; use strict=True to refuse the file",)
    with pytest.raises(FileError, match=r"\('good', 'bad' for item 103; 1 of 20 answers\)"):
        read_labels(path, strict=True)
    for task in tasks[4:8]:
        task["annotations"][1]["result"] *= 2
    with pytest.raises(FileError, match=r"'good', 'bad' for item 103; 5 of 20 answers"):
        read_labels(write("export.json", tasks))
