"""Prodigy, doccano, Argilla and crowd-kit, with every oddity their exports are known to have."""

import pyarrow as pa
import pytest

from tests.io.labels.samples import CHOICE, FLAT, LABELS, LOGS, RECORD, jsonl, parquet, rows, zipped
from whoknows.io import FileError, read_gold, read_labels
from whoknows.io.features import read_features


@pytest.mark.parametrize("name", [*LABELS, *LOGS])
def test_the_format_is_found_from_what_the_file_holds(write, name):
    data = (LABELS | LOGS)[name]
    found = read_labels(write("no_ending", data))
    assert found.format == name.partition(".")[0].removesuffix("-match")
    assert found.annotations.n_annotations >= 1
    again = read_labels(write("other_name.txt", data), format=found.format)
    assert again.annotations == found.annotations


# --- Prodigy --------------------------------------------------------------------------------------------


def answer(who="ds-alex", **more):
    return {**CHOICE, "_annotator_id": who, **more}


def test_choices_are_read_and_the_data_set_is_cut_from_names(write):
    found = read_labels(write("p.jsonl", jsonl(answer(), answer("ds-bo", accept=["B"]))))
    assert rows(found) == {(-91551573, "alex", "A"), (-91551573, "bo", "B")}
    assert found.text == {-91551573: "one"}


@pytest.mark.parametrize(("sessions", "names"), [
    (["ds-mary-ann", "ds-mary-sue"], ["ann", "sue"]),
    (["my-data-anna", "my-data-bob"], ["anna", "bob"]),
    (["anna", "bob"], ["anna", "bob"]),
    (["ds", "ds-bob"], ["ds", "ds-bob"]),
    (["ds-anna"], ["ds-anna"]),
], ids=str)  # fmt: skip
def test_what_all_names_begin_with_is_the_data_set(write, sessions, names):
    found = read_labels(write("p.jsonl", jsonl(*(answer(who) for who in sessions))))
    assert sorted(found.annotations.annotators) == sorted(names)


def test_the_session_stands_in_for_the_annotator(write):
    records = [{k: v for k, v in answer(_session_id=who).items() if k != "_annotator_id"} for who in ("d-a", "d-b")]
    assert sorted(read_labels(write("p.jsonl", jsonl(*records))).annotations.annotators) == ["a", "b"]


def test_a_session_that_is_a_time_is_said_aloud(write):
    records = [answer("ds-anna"), answer("2024-02-06_10-12-11"), answer("ds-bob")]
    found = read_labels(write("p.jsonl", jsonl(*records)))
    assert "session '2024-02-06_10-12-11' is a time and not a person" in found.notes[0]
    assert sorted(found.annotations.annotators) == ["2024-02-06_10-12-11", "anna", "bob"]


def test_without_a_session_nobody_can_be_told(write):
    record = {key: value for key, value in CHOICE.items() if key not in ("_annotator_id", "_session_id")}
    path = write("p.jsonl", jsonl({**record, "who": "anna"}))
    with pytest.raises(FileError, match="has no annotator in answer 1: no _annotator_id or _session_id"):
        read_labels(path)
    assert read_labels(path, columns={"annotator": "who"}).annotations.annotators.tolist() == ["anna"]


def test_yes_and_no_are_the_label_and_not_the_label(write):
    binary = {"_input_hash": 1, "label": "SPAM", "_annotator_id": "x-a"}
    records = [{**binary, "answer": "accept"}, {**binary, "answer": "reject", "_annotator_id": "x-b"}]
    assert rows(read_labels(write("p.jsonl", jsonl(*records)))) == {(1, "a", "SPAM"), (1, "b", "not SPAM")}


def test_several_yes_no_labels_are_several_questions(write):
    binary = {"_input_hash": 1, "_annotator_id": "a", "answer": "accept"}
    path = write("p.jsonl", jsonl({**binary, "label": "SPAM"}, {**binary, "label": "NEWS"}))
    with pytest.raises(FileError, match="has 2 labels: 'SPAM', 'NEWS'"):
        read_labels(path)
    found = read_labels(path, columns={"label": "NEWS"})
    assert rows(found) == {(1, "a", "NEWS")}
    assert found.notes == ("1 answer has no label",)


def test_ignored_rejected_and_empty_answers_are_counted(write):
    records = [answer(), answer(answer="ignore"), answer(answer="ignore"), answer(answer="reject"), answer(accept=[])]
    found = read_labels(write("p.jsonl", jsonl(*records)))
    assert rows(found) == {(-91551573, "ds-alex", "A")}
    assert found.notes == ("2 ignored answers left out", "1 rejected task left out", "1 answer has no label")


def test_the_last_answer_by_time_counts_and_several_options_are_refused(write):
    later = answer(accept=["B"], _timestamp=CHOICE["_timestamp"] + 1)
    assert rows(read_labels(write("p.jsonl", jsonl(later, answer())))) == {(-91551573, "ds-alex", "B")}
    with pytest.raises(FileError, match="several labels in one answer"):
        read_labels(write("p.jsonl", jsonl(answer(accept=["A", "B"]))))


def test_marks_in_a_text_are_refused(write):
    record = {"_input_hash": 1, "answer": "accept", "spans": [{"start": 0, "label": "ORG"}], "_session_id": "a"}
    with pytest.raises(FileError, match="neither accepted options nor a label"):
        read_labels(write("p.jsonl", jsonl(record)))


# --- doccano --------------------------------------------------------------------------------------------


def text(id, *labels, **more):
    return {"id": id, "text": f"text {id}", "label": list(labels), "Comments": [], **more}


def test_the_name_of_a_file_is_the_annotator(write):
    path = write("d.zip", zipped({"anna.jsonl": jsonl(text(1, "pos"), text(2)), "bob.jsonl": jsonl(text(1, "neg"))}))
    found = read_labels(path)
    assert rows(found) == {(1, "anna", "pos"), (1, "bob", "neg")}
    assert found.annotations.items.tolist() == [1, 2]
    assert found.text == {1: "text 1", 2: "text 2"}


def test_a_folder_is_as_good_as_a_zip(tmp_path):
    folder = tmp_path / "export"
    folder.mkdir()
    (folder / "anna.jsonl").write_bytes(jsonl(text(1, "pos")))
    (folder / "bob.json").write_text('[{"id": 1, "text": "t", "label": ["neg"]}]')
    (folder / ".DS_Store").write_bytes(b"\0\1")
    assert rows(read_labels(folder)) == {(1, "anna", "pos"), (1, "bob", "neg")}


def test_merged_labels_are_refused_in_and_out_of_a_zip(write):
    message = "holds the merged labels of all members, without their annotators"
    for name, data in (("all.jsonl", jsonl(text(1, "pos"))), ("d.zip", zipped({"all.jsonl": jsonl(text(1, "pos"))}))):
        with pytest.raises(FileError, match=message):
            read_labels(write(name, data))


def test_one_members_file_is_that_members(write):
    found = read_labels(write("anna.jsonl", jsonl(text(1, "pos"), text(2, "neg"))))
    assert rows(found) == {(1, "anna", "pos"), (2, "anna", "neg")}
    assert found.notes == ("doccano does not write annotators: 'anna' is the name of the file",)


def test_items_of_nobody_are_items(write):
    path = write("d.zip", zipped({"anna.jsonl": jsonl(text(1, "pos")), "unknown.jsonl": jsonl(text(2))}))
    found = read_labels(path)
    assert found.annotations.items.tolist() == [1, 2]
    assert found.annotations.annotators.tolist() == ["anna"]


def test_rubbish_that_systems_put_into_zips_is_left_out(write):
    files = {"anna.jsonl": jsonl(text(1, "pos")), "__MACOSX/._anna.jsonl": b"\0\5\x16\7", "bob.jsonl": b""}
    assert rows(read_labels(write("d.zip", zipped(files)))) == {(1, "anna", "pos")}


def test_csv_in_a_zip_and_old_names_of_the_label_are_read(write):
    path = write(
        "d.zip", zipped({"anna.csv": "id,text,label\n1,hello,pos\n2,you,\n", "bob.csv": "id,text,label\n1,hello,C#\n"})
    )
    assert rows(read_labels(path)) == {(1, "anna", "pos"), (1, "bob", "C#")}
    path = write("d.zip", zipped({"anna.jsonl": jsonl({"id": 1, "text": "t", "labels": ["pos"]})}))
    assert rows(read_labels(path)) == {(1, "anna", "pos")}


def test_several_labels_and_marks_are_refused(write):
    with pytest.raises(FileError, match=r"several labels in one answer \('a', 'b' for item 1; 1 of 1"):
        read_labels(write("d.zip", zipped({"anna.jsonl": jsonl(text(1, "a", "b"))})))
    with pytest.raises(FileError, match="several labels in one answer"):
        read_labels(write("d.zip", zipped({"anna.csv": "id,text,label\n1,hello,pos#neg\n"})))
    with pytest.raises(FileError, match=r"marks parts of the text \(\[0, 2, 'ORG'\]"):
        read_labels(write("d.zip", zipped({"anna.jsonl": jsonl(text(1, [0, 2, "ORG"]))})))


def test_versions_that_named_users_are_read(write):
    first = {"doc_id": 20, "text": "t", "labels": ["a"], "username": "admin"}
    assert rows(read_labels(write("all.jsonl", jsonl(first)))) == {(20, "admin", "a")}
    second = {"id": 2, "text": "t", "annotations": [{"label": 10, "user": 1}, {"label": 13, "user": 2}]}
    assert rows(read_labels(write("file.json", jsonl(second)))) == {(2, 1, 10), (2, 2, 13)}
    third = {"id": 2, "annotations": [{"label": 10, "user": 1, "label_name": "a", "user_name": "admin"}]}
    assert rows(read_labels(write("file.json", jsonl(third)))) == {(2, "admin", "a")}


# --- Argilla --------------------------------------------------------------------------------------------


def test_nested_records_are_read_and_the_lost_status_is_said_aloud(write):
    found = read_labels(write("records.json", [RECORD, {**RECORD, "id": "r2", "responses": {}}]))
    assert found.format == "argilla"
    assert rows(found) == {("r1", "u1", "positive"), ("r1", "u2", "negative")}
    assert found.annotations.items.tolist() == ["r1", "r2"]
    assert found.text == {"r1": "one", "r2": "one"}
    assert any("this export has no status" in note for note in found.notes)
    assert any("vectors: the same file can be read as features" in note for note in found.notes)


def test_vectors_ride_along_as_features(write):
    path = write("records.json", [RECORD, {**RECORD, "id": "r2", "vectors": {"emb": [3, 4]}}])
    features = read_features(path)
    assert features.ids.tolist() == ["r1", "r2"]
    assert features.X.tolist() == [[0.1, 0.2], [3, 4]]
    assert features.names == ("emb0", "emb1")


@pytest.mark.parametrize("data", [jsonl(FLAT), parquet({key: [value] for key, value in FLAT.items()})], ids=len)
def test_flat_records_and_data_sets_keep_the_status(write, data):
    found = read_labels(write("records", data))
    assert found.format == "argilla"
    assert rows(found) == {("r1", "u1", "positive")}
    assert found.notes == ("1 draft response left out",)


def test_the_folder_of_a_saved_data_set_is_read(tmp_path):
    table = pa.table({key: [value] for key, value in FLAT.items()})
    with (
        pa.OSFile(str(tmp_path / "data-00000-of-00001.arrow"), "wb") as file,
        pa.ipc.new_stream(file, table.schema) as w,
    ):
        w.write_table(table)
    (tmp_path / "state.json").write_text('{"_format": null}')
    assert rows(read_labels(tmp_path)) == {("r1", "u1", "positive")}


def test_the_servers_records_are_read(write):
    said = [
        {"user_id": "u1", "status": "submitted", "values": {"label": {"value": "a"}}},
        {"user_id": "u2", "status": "discarded", "values": {"label": {"value": "b"}}},
    ]
    found = read_labels(write("records.json", [{"id": "r1", "fields": {"text": "t"}, "responses": said}]))
    assert rows(found) == {("r1", "u1", "a")}
    assert found.notes == ("1 discarded response left out",)


def test_of_several_questions_of_argilla_one_must_be_named(write):
    responses = {"label": [{"value": "a", "user_id": "u"}], "rating": [{"value": 4, "user_id": "u"}]}
    path = write("records.json", [{**RECORD, "responses": responses}])
    with pytest.raises(FileError, match="has 2 questions: 'label', 'rating'"):
        read_labels(path)
    assert rows(read_labels(path, columns={"label": "rating"})) == {("r1", "u", 4)}


def test_suggestions_are_labels_if_asked_for(write):
    path = write("records.json", [RECORD])
    assert any(note.startswith("suggestions of models left out") for note in read_labels(path).notes)
    assert ("r1", "gpt", "positive") in rows(read_labels(path, predictions=True))


def test_several_labels_and_uneven_columns_of_argilla_are_refused(write):
    several = {**RECORD, "responses": {"label": [{"value": ["a", "b"], "user_id": "u"}]}}
    with pytest.raises(FileError, match="several labels in one answer"):
        read_labels(write("records.json", [several]))
    with pytest.raises(FileError, match=r"has 2 responses by 1 users in 'label.responses' of record 1"):
        read_labels(write("records.jsonl", jsonl({**FLAT, "label.responses.users": ["u1"]})))


# --- crowd-kit ------------------------------------------------------------------------------------------


def test_the_three_columns_of_crowd_kit_are_read_whatever_their_order(write):
    found = read_labels(write("crowd_labels.csv", "worker\ttask\tlabel\nw1\tt1\t1\nw2\tt1\t0\n"))
    assert found.format == "crowdkit"
    assert rows(found) == {("t1", "w1", 1), ("t1", "w2", 0)}


def test_a_none_label_and_a_label_given_twice_are_not_taken_in_silence(write):
    found = read_labels(write("labels.csv", "task,worker,label\nt1,w1,1\nt1,w2,\n"))
    assert rows(found) == {("t1", "w1", 1)}
    assert found.notes == ("1 row has no label",)
    path = write("labels.csv", "task,worker,label\nt1,w1,1\nt1,w1,0\n")
    with pytest.raises(FileError, match=r"Annotator 'w1' labelled item 't1' twice \(1 and 0\)"):
        read_labels(path)
    assert rows(read_labels(path, duplicates="last")) == {("t1", "w1", 0)}


def test_the_truth_of_crowd_kit_is_gold(write):
    assert read_gold(write("gt.csv", "task,true_label\nt1,1\nt2,0\n")) == {"t1": 1, "t2": 0}
    assert read_gold(write("gt.csv", "task,label\nt1,yes\n")) == {"t1": "yes"}
    assert read_gold(write("gt.csv", "img,is\nt1,yes\n"), {"item": "img", "label": "is"}) == {"t1": "yes"}
    with pytest.raises(FileError, match=r"no column for the label 'label'. There are 'task', 'is'"):
        read_gold(write("gt.csv", "task,is\nt1,yes\n"))
    with pytest.raises(FileError, match="two true labels of item 't1': 1 and 0"):
        read_gold(write("gt.csv", "task,label\nt1,1\nt1,0\n"))


def test_gold_is_spelt_as_the_annotations_spell_it(write):
    said = read_labels(write("l.csv", "task,worker,label\n1,w,0\n2,w,unsure\n")).annotations
    assert read_gold(write("gt.csv", "task,label\n01,0\n02,0\n3,1\n"), annotations=said) == {1: "0", 2: "0", "3": 1}
