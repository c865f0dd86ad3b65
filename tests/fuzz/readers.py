"""Files of every kind with something wrong in them, given to every reader and to the command line's own."""

from __future__ import annotations

import csv
import io
import json
import random
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pyarrow as pa
from pyarrow import ipc

from tests.fuzz.mutations import mutate, mutate_bytes
from tests.io.labels.samples import FEATURES, LABELS, LOGS, LONG, jsonl, npy, npz, parquet, workbook, zipped
from whoknows.apps.cli.errors import CommandError
from whoknows.apps.cli.output import read_toml
from whoknows.data.errors import LONGEST, InputError
from whoknows.io import (
    FORMATS,
    TextFeatures,
    impute_median,
    read_features,
    read_gold,
    read_labels,
    read_texts,
    write_labels,
)
from whoknows.io.encoding import MAX_LINE
from whoknows.io.features import read_ids

csv.field_size_limit(MAX_LINE)  # cells may be as long as a line


def arrow(columns: Mapping[str, list], stream: bool) -> bytes:
    """Return a table in Arrow's own format."""
    table, file = pa.table(columns), io.BytesIO()
    with (ipc.new_stream if stream else ipc.new_file)(file, table.schema) as writer:
        writer.write_table(table)
    return file.getvalue()


def tasks(kind: str, *values: object) -> bytes:
    """Return tasks of Label Studio, each answered by two people."""
    answers = [{"from_name": "q", "type": kind, "value": {kind: value}} for value in values]
    entries = [{"completed_by": who, "result": [answer]} for who, answer in enumerate(answers)]
    return json.dumps([{"id": i, "data": {"text": "t"}, "annotations": entries} for i in (1, 2)]).encode()


BINARY = {"text": "a", "_input_hash": 1, "label": "SPAM", "answer": "accept", "_session_id": "ds-x", "_timestamp": 1}
RESPONSES = [
    {"user_id": who, "status": status, "values": {"label": {"value": "yes"}}}
    for who, status in (("u1", "submitted"), ("u2", "draft"))
]
SUMMARIES = json.loads(LOGS["inspect.json"])
LABEL_FILES = {
    **LABELS,
    **{name: data for name, data in LOGS.items() if name != "inspect.json"},
    "inspect.jsonl": jsonl(SUMMARIES),
    "inspect.zip": zipped(
        {"header.json": jsonl({"eval": SUMMARIES["eval"]}), "summaries.json": jsonl(*SUMMARIES["samples"])}
    ),
    "long2.csv": b"item,annotator,label,text,truth,is_gold,sure\n1,x,cat,hi,cat,no,0.5\n2,y,dog,,,yes,1\n",
    "wide2.csv": b",anna,bob,text,truth,Datum\n1,cat,dog,one,cat,2021-01-01\n2,dog,,two,,2021-01-02\n",
    "min.csv": (
        b"annotation_id,annotator,created_at,grade,id,lead_time,updated_at\n1,10,2026,good,1,1.5,2026\n"
        b'2,11,2026,"{""choices"":[""bad""]}",1,1.5,2026\n'
    ),
    "votes.csv": b"item,judge,model,prompt,vote,swapped,topic\na,x,m,p,A,no,t\na,x,m,q,B,yes,t\nb,y,n,p,tie,,u\n",
    "pairs.jsonl": jsonl(
        {"item": 1, "judge": "x", "verdict": "A", "model_a": "m", "model_b": "n", "judge_model": "j"},
        {"item": 1, "judge": "x", "verdict": "B", "model_a": "n", "model_b": "m", "judge_model": "j"},
    ),
    "binary.jsonl": jsonl(BINARY, {**BINARY, "answer": "reject", "_session_id": "ds-y"}),
    "old.jsonl": jsonl({"id": 1, "text": "x", "annotations": [{"label": 1, "user": 3}, {"label": 2, "user": 4}]}),
    "doccano2.zip": zipped({"anna.csv": b"id,text,label\n1,one,pos\n", "bob.csv": b"id,text,label\n1,one,neg\n"}),
    "server.json": json.dumps([{"id": "1", "fields": {"text": "t"}, "responses": RESPONSES}]).encode(),
    "flat.parquet": parquet({"id": ["r1"], "l.responses": [["p", "n"]], "l.responses.users": [["u1", "u2"]]}),
    "taxonomy.json": tasks("taxonomy", [["a", "b"]], [["a"]]),
    "rating.json": tasks("rating", 1, 5),
    "long.xlsx": workbook(S=[["item", "annotator", "label"], ["a", "x", 0], ["b", "y", 1.5]]),
    "long.arrow": arrow(LONG, stream=False),
    "long.arrows": arrow(LONG, stream=True),
}
FEATURE_FILES = {
    **FEATURES,
    "X2.parquet": parquet({"item": ["a", "b"], "f": [1.0, 2.0], "g": [True, False], "t": ["x", "y"]}),
    "X2.jsonl": jsonl({"id": "a", "vectors": {"e": [1.0, 2.0]}}, {"id": "b", "vectors": {"e": [1.0, 3.0]}}),
    "X.xlsx": workbook(S=[["item", "f", "c"], ["a", 1, "u"], ["b", 2.5, "v"], ["c", 3, "u"], ["d", 4, "v"]]),
    "X2.npz": npz(X=np.zeros((2, 3)), ids=np.array([b"a", b"b"])),
    "X2.csv": b"id;a;b;c\n1;0,5;1e3;red\n2;;nan;blue\n3;1;2;\n",
}
GOLD_FILES = {
    "g.csv": b"item,truth\na,0\nb,1\n",
    "g.jsonl": jsonl({"item": "a", "label": 0}, {"item": "b", "label": 1}),
    "g.parquet": parquet({"item": ["a", "b"], "gold_label": [0, 1]}),
}
TEXT_FILES = {
    "t.csv": b"item,text\na,hello world\nb,two dogs\n",
    "t.jsonl": jsonl({"item": "a", "text": "hello"}, {"item": "b", "text": "two dogs"}),
}
ID_FILES = {"i.txt": b"a\nb\nc\n", "i.csv": b"item\na\nb\n", "i.npy": npy(np.array(["a", "b"]))}
OPTIONS = (
    {},
    {"columns": {"item": "text"}},
    {"columns": {"label": "grade"}},
    {"columns": {"annotator": "id", "text": "id"}},
    {"columns": {"confidence": "sure"}},
    {"missing_label": "-1"},
    {"duplicates": "majority"},
    {"duplicates": "last", "predictions": True},
    {"keep": ["topic"]},
    {"keep": ["model", "text"], "duplicates": "last"},
)
SETTINGS = b'labels = "l.csv"\nfeatures = "f.csv"\nseed = 3\ncolumn = ["label=x"]\n\n[found]\nitems = 3\n'
VALUES = ("[[[[", "1" * 5000, "inf", "1979-05-27", "{a=1}", '"a\\u0000b"', "0x10", "1e400", '"""x"""', '"\\ud800"')
DEEP = ("[" * 3000 + "]" * 3000, "{a=" * 2000 + "1" + "}" * 2000, "[" * 100_000)


def draw(files: Mapping[str, bytes], rng: random.Random, folder: Path) -> Path:
    """Write one of the files with something wrong in it."""
    name = rng.choice(list(files))
    path = folder / f"in.{name.rpartition('.')[2]}"
    path.write_bytes(mutate(name, files[name], rng))
    return path


def labels(rng: random.Random, folder: Path) -> None:
    """Read labels; what was read is consistent and can be written and read again."""
    path = draw(rng.choice([LABEL_FILES, LABEL_FILES, FEATURE_FILES]), rng, folder)
    format = None if rng.random() < 0.7 else rng.choice(list(FORMATS))
    found = read_labels(path, format, **rng.choice(OPTIONS))
    Y = found.annotations
    assert Y.n_annotations == len(Y.label) > 0
    assert Y.item.max() < Y.n_items
    assert all(isinstance(note, str) and len(note) < 3 * LONGEST for note in found.notes)
    out = folder / f"out.{rng.choice(['csv', 'jsonl', 'parquet'])}"
    write_labels(Y, out, rng.choice(["long", "wide"]))
    if out.suffix == ".csv":
        with out.open(encoding="utf-8", newline="") as file:
            cells = [cell for row in csv.reader(file) for cell in row]
        assert not any(cell.startswith(("=", "@", "\t", "\r")) for cell in cells), "a formula"


def features(rng: random.Random, folder: Path) -> None:
    """Read features; missing numbers can be replaced."""
    path = draw(rng.choice([FEATURE_FILES, FEATURE_FILES, LABEL_FILES]), rng, folder)
    (folder / "ids.txt").write_text("a\nb\nc\n")
    options = rng.choice([{}, {}, {"id_column": "id"}, {"vector": "emb"}, {"ids": folder / "ids.txt"}])
    found = read_features(path, **options)
    assert found.X.shape == (len(set(found.ids.tolist())), len(found.names))
    impute_median(found)


def gold(rng: random.Random, folder: Path) -> None:
    """Read true labels."""
    read_gold(draw(rng.choice([GOLD_FILES, LABEL_FILES]), rng, folder))


def texts(rng: random.Random, folder: Path) -> None:
    """Read texts and compute their features."""
    found = read_texts(draw(TEXT_FILES, rng, folder))
    assert np.isfinite(TextFeatures.of(found, n=2).transform(found).X).all()


def vocabulary(rng: random.Random, folder: Path) -> None:
    """Load the vocabulary of text features."""
    path = folder / "words.npz"
    TextFeatures.of({"a": "hello world of cats", "b": "two dogs and cats"}, n=2).save(path)
    path.write_bytes(mutate("words.npz", path.read_bytes(), rng))
    assert np.isfinite(TextFeatures.load(path).transform({"a": "hello cats"}).X).all()


def ids(rng: random.Random, folder: Path) -> None:
    """Read ids of rows."""
    read_ids(draw(ID_FILES, rng, folder))


def settings(rng: random.Random, folder: Path) -> None:
    """Read settings of the command line."""
    lines = SETTINGS.decode().splitlines()
    place = rng.randrange(len(lines))
    value = rng.choice([*VALUES, *DEEP])
    lines[place] = f"{lines[place].partition('=')[0]} = {value}" if "=" in lines[place] else f"x = {value}"
    data = "\n".join(lines).encode("utf-8", "surrogatepass")
    path = folder / "settings.toml"
    path.write_bytes(data if rng.random() < 0.7 else mutate_bytes(SETTINGS, rng))
    try:
        read_toml(path)
    except CommandError as error:
        raise InputError(str(error)) from None


TARGETS = {run.__name__: run for run in (labels, features, gold, texts, vocabulary, ids, settings)}
