"""Logs of evaluation tools.

The files in ``logs`` were written by the tools themselves (inspect_ai 0.3.285, promptfoo 0.121.20, MLflow 3.17,
DeepEval 4.3, evals 3.0.1) about three capitals, with mock models; what readers do not use (transcripts, token counts,
settings) was then removed. LangSmith and Langfuse export from servers: the file of LangSmith is what the langsmith
package makes of an evaluation without one (`evaluate(..., upload_results=False).to_pandas()`), that of Langfuse follows
the documented fields of scores, which the langfuse package has as well.
"""

import io
import json
import struct
import sys
import zipfile
import zlib

import pyarrow as pa
import pytest

from tests.io.labels.samples import LOGS, jsonl, rows, zipped
from whoknows.io import FileError, read_labels
from whoknows.io import encoding as text


@pytest.fixture
def log(write):
    """Read one of the logs, as it is or changed."""

    def read_log(name, change=None, **options):
        data = LOGS[name]
        if change is not None:
            content = json.loads(data)
            change(content)
            data = json.dumps(content).encode()
        return read_labels(write(name, data), **options)

    return read_log


# --- Inspect --------------------------------------------------------------------------------------------

GRADES = {
    "france / 1": "CCC", "japan / 1": "IIC", "france / 2": "CPC", "japan / 2": "CCC",
}  # fmt: skip
SCORERS = ("includes", "model_graded_qa", "model_graded_qa1")
INSPECT = {(item, who, grade) for item, grades in GRADES.items() for who, grade in zip(SCORERS, grades, strict=True)}
SKIPPED = ("2 samples with an error have no label", "4 scores of several values left out")


@pytest.mark.parametrize("name", ["inspect.json", "inspect.eval"])
def test_scorers_of_inspect_are_annotators_and_epochs_are_items(log, name):
    found = log(name, keep=["topic"])
    assert rows(found) == INSPECT
    assert set(found.notes) == set(SKIPPED)
    assert found.annotations.n_items == 6  # those with an error are items without labels
    assert found.item_columns["model"]["japan / 2"] == "mockllm/model"
    assert found.item_columns["topic"]["japan / 2"] == "asia"
    assert found.annotator_columns["judge_model"] == {
        "model_graded_qa": "mockllm/strict", "model_graded_qa1": "mockllm/kind",
    }  # fmt: skip
    assert found.text["peru / 1"] == "Capital of Peru?"


def test_one_value_of_a_score_can_be_chosen(log):
    found = log("inspect.json", columns={"label": "facts"})
    assert rows(found) == {
        ("france / 1", "rubric", 1), ("japan / 1", "rubric", 0),
        ("france / 2", "rubric", 1), ("japan / 2", "rubric", 0),
    }  # fmt: skip
    with pytest.raises(FileError, match=r"has no score value 'fact'. Did you mean 'facts'"):
        log("inspect.json", columns={"label": "fact"})


def only_rubric(content):
    for sample in content["samples"]:
        sample["scores"] = {name: score for name, score in sample["scores"].items() if name == "rubric"}


def test_scores_of_several_values_alone_are_several_questions(log):
    with pytest.raises(FileError, match=r"has 2 score values: 'tone', 'facts'. Choose one"):
        log("inspect.json", only_rubric)


def test_letters_next_to_numbers_count_as_inspect_counts_them(log):
    def change(content):
        for sample in content["samples"]:
            if sample["scores"]:
                sample["scores"] = {**sample["scores"], "number": {"value": 1}, "shy": {"value": float("nan")}}

    found = log("inspect.json", change)
    assert {label for *_, label in rows(found)} == {0.0, 0.5, 1.0}
    assert "4 scores have no value" in found.notes


def test_judges_can_be_chosen_or_left_out(log):
    graded = {row for row in INSPECT if row[1] != "includes"}
    assert rows(log("inspect.json", ignore=["includes"])) == graded
    assert rows(log("inspect.json", annotators=["model_graded_qa", "model_graded_qa1"])) == graded
    with pytest.raises(FileError, match=r"has no judge 'include'. Did you mean 'includes'"):
        log("inspect.json", ignore=["include"])


def test_the_entry_of_metadata_to_keep_must_exist(log):
    with pytest.raises(FileError, match=r"no column to keep called 'topics'. Did you mean 'topic'"):
        log("inspect.json", keep=["topics"])


def test_a_log_without_samples_says_so(log):
    with pytest.raises(FileError, match=r"has no samples. Run the evaluation without --no-log-samples"):
        log("inspect.json", lambda content: content.pop("samples"))


def test_a_folder_of_logs_tells_models_apart(tmp_path):
    other = json.loads(LOGS["inspect.json"])
    other["eval"]["model"] = "mockllm/other"
    (tmp_path / "a.eval").write_bytes(LOGS["inspect.eval"])
    (tmp_path / "b.json").write_text(json.dumps(other))
    found = read_labels(tmp_path)
    assert found.annotations.n_annotations == 2 * len(INSPECT)
    assert found.item_columns["model"]["japan / 2 / mockllm/other"] == "mockllm/other"


def test_the_journal_of_an_interrupted_evaluation_is_read(write):
    content = json.loads(LOGS["inspect.json"])
    samples = content["samples"]
    start = {"_journal/start.json": json.dumps({"version": 2, "eval": content["eval"]})}
    parts = {f"_journal/summaries/{n}.json": json.dumps(samples[3 * n : 3 * n + 3]) for n in range(2)}
    transcript = {"samples/france_epoch_1.json": "not even JSON"}
    assert rows(read_labels(write("log.eval", zipped({**start, **parts, **transcript})))) == INSPECT
    with pytest.raises(FileError, match="has no summaries of samples"):
        read_labels(write("log.eval", zipped(start)))


# --- archives packed with zstd --------------------------------------------------------------------------


def zstd_zip(name, content, declared=None, checksum=None):
    """Zip archive of one member that is packed with zstd, and perhaps declares another size."""
    packed = pa.Codec("zstd").compress(content, asbytes=True)
    size = len(content) if declared is None else declared
    crc = zlib.crc32(content[:size]) if checksum is None else checksum
    about = (0, 93, 0, 0x21, crc, len(packed), size, len(name), 0)
    local = struct.pack("<4sHHHHHIIIHH", b"PK\x03\x04", 63, *about) + name + packed
    entry = struct.pack("<4sHHHHHHIIIHHHHHII", b"PK\x01\x02", 63, 63, *about, 0, 0, 0, 0, 0) + name
    return local + entry + struct.pack("<4sHHHHIIH", b"PK\x05\x06", 0, 0, 1, 1, len(entry), len(local), 0)


RECORDS = jsonl({"id": 1, "label": ["yes"]}, {"id": 2, "label": ["no"]})


def test_members_packed_with_zstd_are_read(write):
    assert rows(read_labels(write("d.zip", zstd_zip(b"anna.jsonl", RECORDS)))) == {
        (1, "anna", "yes"),
        (2, "anna", "no"),
    }


def test_no_more_of_a_zstd_member_is_read_than_it_declares(write, monkeypatch):
    monkeypatch.setattr(text, "MAX_SIZE", 1 << 20)
    with pytest.raises(FileError, match="takes more than 1 MiB once decompressed"):
        read_labels(write("d.zip", zstd_zip(b"anna.jsonl", b" " * (1 << 22))))
    lying = zstd_zip(b"anna.jsonl", RECORDS + b" " * (1 << 22), declared=len(RECORDS))
    assert len(read_labels(write("d.zip", lying)).annotations) == 2


@pytest.mark.parametrize("options", [{"checksum": 1}, {"declared": 1000}])
def test_damaged_zstd_members_are_refused(write, options):
    with pytest.raises(FileError, match="cannot be unpacked"):
        read_labels(write("d.zip", zstd_zip(b"anna.jsonl", RECORDS, **options)))
    assert zipfile.is_zipfile(io.BytesIO(zstd_zip(b"anna.jsonl", RECORDS, **options)))


def test_without_pyarrow_the_error_says_what_to_install(write, monkeypatch):
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(FileError, match=r"needs pyarrow. Run: pip install 'whoknows\[io\]'"):
        read_labels(write("log.eval", LOGS["inspect.eval"]))


# --- promptfoo ------------------------------------------------------------------------------------------


def test_judged_assertions_of_promptfoo_are_annotators(log):
    found = log("promptfoo.json", keep=["topic"])
    strict, kind = "correct / strict", "llm-rubric / kind"
    assert rows(found) == {
        ("0 / small", strict, True), ("0 / small", kind, True), ("0 / large", strict, True), ("0 / large", kind, True),
        ("1 / small", strict, False), ("1 / small", kind, True), ("1 / large", strict, True),
        ("1 / large", kind, False), ("2 / large", strict, True), ("2 / large", kind, False),
    }  # fmt: skip
    assert found.notes[0].startswith("assertions that no model or person judged left out: 'has-answer', 'javascript'")
    assert found.notes[1] == "1 result without a grade has no label"
    assert found.item_columns["model"]["2 / small"] == "small"
    assert found.item_columns["topic"]["1 / large"] == "asia"
    assert found.annotator_columns["judge_model"] == {strict: "strict", kind: "kind"}


def test_results_of_promptfoo_may_be_lines(log, write):
    results = json.loads(LOGS["promptfoo.json"])["results"]["results"]
    found = read_labels(write("out.jsonl", jsonl(*results)))
    assert found.format == "promptfoo"
    assert rows(found) == rows(log("promptfoo.json"))


def test_other_assertions_and_scores_of_promptfoo_can_be_chosen(log):
    options = {"annotators": ["javascript"], "columns": {"label": "score", "item": "answer"}}
    assert ("Tokyo / large", "javascript", 0.5) in rows(log("promptfoo.json", **options))
    with pytest.raises(FileError, match="has no label 'passed'"):
        log("promptfoo.json", columns={"label": "passed"})


def test_assertions_of_one_name_are_told_apart_and_old_results_have_no_number(log):
    def change(content):
        for result in content["results"]["results"]:
            del result["testIdx"]
            for grade in (result.get("gradingResult") or {}).get("componentResults", ()):
                grade["assertion"] = {"type": "llm-rubric"}

    found = log("promptfoo.json", change)
    names = ["llm-rubric", "llm-rubric #2", "llm-rubric #3", "llm-rubric #4"]
    assert found.annotations.annotators.tolist() == names
    assert "2 / large" in found.annotations.items.tolist()


# --- MLflow, DeepEval, OpenAI evals ---------------------------------------------------------------------


def test_scores_in_a_table_of_mlflow_are_labels(log):
    found = log("mlflow.json", keep=["topic"])
    assert rows(found) == {
        (0, "judge_a", 5), (1, "judge_a", 1), (2, "judge_a", 5),
        (0, "judge_b", 5), (1, "judge_b", 5), (2, "judge_b", 2),
    }  # fmt: skip
    assert found.item_columns == {"topic": {0: "europe", 1: "asia", 2: "america"}}
    assert found.text[1] == "Capital of Japan?\nKyoto"
    with pytest.raises(FileError, match="expected 8 values in row 1 of 'data', as in 'columns'"):
        log("mlflow.json", lambda content: content["data"][0].pop())


def test_assessments_of_mlflow_tell_judges_from_expectations(write):
    judge = {"assessment_name": "safe", "source": {"source_type": "LLM_JUDGE", "source_id": "gpt"}, "feedback": {}}
    human = {"assessment_name": "answer", "source": {"source_type": "HUMAN"}, "expectation": {}}
    row = {"trace_id": "t1", "safe/value": "yes", "answer/value": "Paris", "assessments": [judge, human]}
    path = write("t.json", [row, {**row, "trace_id": "t2", "safe/value": None}])
    found = read_labels(path)
    assert found.format == "mlflow"
    assert rows(found) == {("t1", "safe", "yes")}
    assert found.annotator_columns["judge_model"] == {"safe": "gpt"}
    assert found.notes == ("1 score is missing",)


def test_metrics_of_deepeval_are_annotators(log):
    found = log("deepeval.json", keep=["topic"])
    who = "Correctness [GEval]"
    assert rows(found) == {
        ("france", who, True), ("japan", who, False), ("test_case_2", who, True),
        ("france", "Relevance", True), ("japan", "Relevance", True), ("test_case_2", "Relevance", False),
        ("france", "Flaky", False), ("japan", "Flaky", False),
    }  # fmt: skip
    assert found.notes == ("1 metric with an error left out",)
    assert found.annotator_columns["judge_model"][who] == "judge-one"
    assert ("japan", who, 0.1) in rows(log("deepeval.json", columns={"label": "score"}))


def test_metrics_of_deepeval_of_one_name_are_told_apart_by_their_model(log):
    def change(content):
        for case in content["testCases"]:
            case["name"] = "same"
            case["metricsData"] = [{**metric, "name": "G-Eval"} for metric in case["metricsData"][:2]]

    assert (0, "G-Eval / judge-one", True) in rows(log("deepeval.json", change))


def test_runs_of_openai_evals_are_annotators(log, tmp_path):
    who = "capitals-graded.test.v1"
    found = log("openai-evals.jsonl")
    assert rows(found) == {("capitals.test.0", who, "Y"), ("capitals.test.1", who, "Y")}
    assert found.notes == ("1 sample with an error has no label",)
    assert found.annotations.n_items == 3
    assert found.annotator_columns["judge_model"] == {who: "judge-one"}
    for name in ("openai-evals.jsonl", "openai-evals-match.jsonl"):
        (tmp_path / name).write_bytes(LOGS[name])
    both = read_labels(tmp_path, columns={"label": "score"})
    assert {label for *_, label in rows(both)} == {0, 1}
    assert both.annotations.n_annotators == 2
    assert both.item_columns["model"]["capitals.test.2"] == "small"


# --- LangSmith, Langfuse --------------------------------------------------------------------------------


def test_feedback_of_langsmith_is_read(log):
    found = log("langsmith.csv", ignore=["tone"])
    first = "00000000-0000-0000-0000-000000000001"
    assert {(who, label) for item, who, label in rows(found) if item == first} == {("exact", 1), ("strict", 1)}
    assert found.annotations.n_annotations == 6
    assert found.text[first] == "Capital of France?\nParis"
    assert "no other judge gives the labels of 'tone'" in log("langsmith.csv").notes[0]


def test_repeated_runs_of_an_example_are_items_and_errors_are_left_out(write):
    table = "inputs.q,outputs.a,error,feedback.ok,feedback.nice,example_id\nq,a,,1,1,e\nq,b,,0,1,e\nq,,quota,,,e\n"
    found = read_labels(write("results.csv", table))
    assert rows(found) == {("e / 1", "ok", 1), ("e / 1", "nice", 1), ("e / 2", "ok", 0), ("e / 2", "nice", 1)}
    assert found.notes == ("1 run with an error has no label",)


def test_scores_of_langfuse_are_told_apart_by_source_and_author(log):
    found = log("langfuse.csv", columns={"label": "correctness"})
    judge, anna = "correctness / EVAL", "correctness / ANNOTATION / anna"
    assert rows(found) == {("t1", judge, 1), ("t1", anna, 0), ("t2", judge, 0), ("t2", anna, 0)}
    assert found.notes == ("1 score has no value", "1 score of free text left out")
    assert ("t2", "tone / EVAL", "warm") in rows(log("langfuse.csv"))
    with pytest.raises(FileError, match=r"has no score 'tones'. Did you mean 'tone'"):
        log("langfuse.csv", columns={"label": "tones"})


def test_scores_in_blob_storage_have_names_with_underscores(write):
    score = {"trace_id": "t1", "observation_id": "o1", "name": "correct", "value": 1.0, "source": "EVAL",
             "data_type": "BOOLEAN", "string_value": "True"}  # fmt: skip
    path = write("scores.jsonl", jsonl(score, {**score, "observation_id": None, "value": 0.0}))
    assert rows(read_labels(path)) == {("o1", "correct", 1), ("t1", "correct", 0)}


@pytest.mark.parametrize(
    "names", ["item,judge,vote,x/score", "traceId,name,value,source", "inputs.q,feedback.a,who,what"]
)
def test_a_long_table_is_no_log(write, names):
    item, *who = names.split(",")
    columns = {"item": item, "annotator": who[0], "label": who[1]}
    found = read_labels(write("table.csv", f"{names}\na,b,c,d\n"), columns=columns)
    assert found.format == "long"
    assert rows(found) == {("a", "b", "c")}


def test_names_of_judges_are_text(write):
    score = {"trace_id": "t1", "name": 7, "value": 1, "source": "EVAL"}
    path = write("scores.jsonl", jsonl(score, {**score, "name": True, "value": 0}))
    assert rows(read_labels(path, ignore=["True"])) == {("t1", "7", 1)}
    with pytest.raises(FileError, match=r"has no judge '8'. There are '7', 'True'"):
        read_labels(path, ignore=["8"])


# --- all of them ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "name", ["inspect", "promptfoo", "mlflow", "deepeval", "openai-evals", "langsmith", "langfuse"]
)
def test_what_is_not_a_log_is_refused_with_what_was_expected(write, name):
    for data in (b"item,annotator,label\na,x,1\n", b'{"item": 1, "results": 3}\n', zipped({"a.json": "{}"})):
        with pytest.raises(FileError, match="; expected"):
            read_labels(write("other", data), format=name)
