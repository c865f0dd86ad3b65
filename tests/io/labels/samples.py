"""One small valid file of every format, as bytes; a name and an id for each."""

import io
import json
import zipfile
from pathlib import Path

import numpy as np
import openpyxl
import pyarrow as pa
import pyarrow.parquet as pq

TASK = {
    "id": 1,
    "project": 83,
    "data": {"image": "s3://b/1.png", "text": "one"},
    "annotations": [
        {
            "id": 1001, "completed_by": 10, "was_cancelled": False, "ground_truth": False, "lead_time": 4.288,
            "created_at": "2026-03-09T22:16:08Z", "updated_at": "2026-03-09T22:16:08Z", "task": 1,
            "result": [{
                "id": "Dx_aB91ISN", "from_name": "grade", "to_name": "img", "type": "choices",
                "origin": "manual", "value": {"choices": ["benign"]},
            }],
        },
        {
            "id": 1002,
            "completed_by": {"id": 11, "email": "b@example.org", "first_name": "", "last_name": ""},
            "was_cancelled": True, "result": [],
        },
    ],
    "drafts": [],
    "predictions": [{"model_version": "m1", "score": 0.9, "result": []}],
}  # fmt: skip
TASK_2 = {
    "id": 2,
    "data": {"image": "s3://b/2.png", "text": "two"},
    "annotations": [
        {"id": "2001", "completed_by": 10, "result": [
            {"from_name": "grade", "to_name": "img", "type": "choices", "value": {"choices": ["malignant"]}},
        ]},
        {"id": "2002", "completed_by": 12, "result": [
            {"from_name": "grade", "to_name": "img", "type": "choices", "value": {"choices": ["benign"]}},
        ]},
    ],
}  # fmt: skip
MIN = {
    "image": "s3://b/1.png", "id": 1, "grade": "benign", "annotator": 10, "annotation_id": 1001,
    "created_at": "2026-03-09T22:16:08Z", "updated_at": "2026-03-09T22:16:08Z", "lead_time": 4.288,
}  # fmt: skip
CHOICE = {
    "text": "one", "_input_hash": -91551573, "_task_hash": -1162253049,
    "options": [{"id": "A", "text": "A"}, {"id": "B", "text": "B"}], "accept": ["A"], "answer": "accept",
    "_view_id": "choice", "_timestamp": 1707211049, "_annotator_id": "ds-alex", "_session_id": "ds-alex",
}  # fmt: skip
RECORD = {
    "id": "r1", "_server_id": "s1", "status": "pending", "fields": {"text": "one"}, "metadata": {},
    "suggestions": {"label": {"value": "positive", "score": 0.9, "agent": "gpt"}},
    "responses": {"label": [{"value": "positive", "user_id": "u1"}, {"value": "negative", "user_id": "u2"}]},
    "vectors": {"emb": [0.1, 0.2]},
}  # fmt: skip
FLAT = {
    "id": "r1", "text": "one", "label.responses": ["positive", "negative"],
    "label.responses.users": ["u1", "u2"], "label.responses.status": ["submitted", "draft"],
}  # fmt: skip
LONG = {"item": ["a", "a", "b"], "annotator": ["x", "y", "x"], "label": [0, 1, 1]}


def rows(found):
    """Triples as a set, for comparison."""
    said = found.annotations
    triples = zip(said.items[said.item], said.annotators[said.annotator], said.labels[said.label], strict=True)
    return {tuple(value.item() if hasattr(value, "item") else value for value in row) for row in triples}


def jsonl(*records) -> bytes:
    return "".join(json.dumps(record) + "\n" for record in records).encode()


def parquet(columns) -> bytes:
    file = io.BytesIO()
    pq.write_table(pa.table(columns), file)
    return file.getvalue()


def zipped(files) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in files.items():
            archive.writestr(name, data)
    return file.getvalue()


def npy(array) -> bytes:
    file = io.BytesIO()
    np.save(file, array, allow_pickle=False)
    return file.getvalue()


def npz(**arrays) -> bytes:
    file = io.BytesIO()
    np.savez(file, **arrays)
    return file.getvalue()


def workbook(**sheets) -> bytes:
    """An Excel workbook with these rows in its sheets."""
    book, file = openpyxl.Workbook(), io.BytesIO()
    book.remove(book.active)
    for title, content in sheets.items():
        sheet = book.create_sheet(title)
        for row in content:
            sheet.append(row)
    book.save(file)
    return file.getvalue()


LABELS = {
    "long.csv": b"item,annotator,label\na,x,0\na,y,1\nb,x,1\n",
    "long.parquet": parquet(LONG),
    "long.jsonl": jsonl(*({"item": i, "annotator": a, "label": v} for i, a, v in zip(*LONG.values(), strict=True))),
    "wide.csv": b"item,x,y\na,0,1\nb,1,\n",
    "crowdkit.csv": b"task,worker,label\na,x,0\na,y,1\nb,x,1\n",
    "label-studio.json": json.dumps([TASK, TASK_2]).encode(),
    "label-studio-min.json": json.dumps([MIN, {**MIN, "annotator": 11, "grade": "malignant"}]).encode(),
    "prodigy.jsonl": jsonl(CHOICE, {**CHOICE, "_annotator_id": "ds-bo", "accept": ["B"]}),
    "doccano.zip": zipped(
        {
            "anna.jsonl": jsonl({"id": 1, "text": "one", "label": ["pos"], "Comments": []}),
            "bob.jsonl": jsonl({"id": 1, "text": "one", "label": ["neg"], "Comments": []}),
        }
    ),
    "doccano.jsonl": jsonl({"id": 1, "text": "one", "label": ["pos"], "username": "anna"}),
    "argilla.json": json.dumps([RECORD]).encode(),
    "argilla.jsonl": jsonl(FLAT),
}
FEATURES = {
    "X.csv": b"item,f0,f1\na,0.5,1\nb,,2\n",
    "X.parquet": parquet({"item": ["a", "b"], "emb": [[0.5, 1.0], [0.1, 2.0]]}),
    "X.jsonl": jsonl({"id": "a", "f": 1.5}, {"id": "b", "f": 2}),
    "X.npy": npy(np.arange(6.0).reshape(3, 2)),
    "X.npz": npz(X=np.eye(2, dtype=np.float32), ids=np.array(["a", "b"])),
}
LOGS = {path.name: path.read_bytes() for path in sorted((Path(__file__).parent / "logs").iterdir())}
