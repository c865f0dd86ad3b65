"""Bytes, JSON, CSV and zip archives with something wrong in them."""

from __future__ import annotations

import contextlib
import csv
import io
import json
import random
import struct
import warnings
import zipfile
from typing import Any

ODD_VALUES = (
    *(None, True, False, 0, -1, 1, 2**31, 2**63, -(2**63) - 1, 2**64, 10**30, 10**400),
    *(1.5, -0.0, 1e308, 1e-320, float("inf"), float("-inf"), float("nan")),
    *("", " ", "a", "=1+1", "\0", "\ufeff", "\ud800", "x" * 5000, "é", "\u202e", "0", "01", "1.0", "nan", "NA"),
    *("true", "\n", "'", "''=1", "2021_05", "1,5"),
)
ODD_KEYS = ("id", "item", "label", "annotator", "data", "responses", "vectors", "text", "", "\ud800", "choices")
ODD_CELLS = (
    *("", "  ", "a", "0", "1", "-1", "01", "1.0", "1e5", "1e999", "nan", "NA", "inf", "-inf", "=1+1", "+1"),
    *("-x", "@x", "\t=x", "'=x", "'", '"', '""', 'a"b', "x" * 3000, "9" * 400, "1_000", "2,5", "\ufeff"),
    *("\u202e", "é", "True", "False", "true", "٣", "0x10", "1;2", "a\nb", "a\rb", "\x0b", "\x1c", "\u2028"),
    *("\x85", "null", "None", "<script>", "x" * 200_000, "2021-03-04", "04.03.2021", "1.234,5"),
)
ODD_NAMES = ("item", "label", "annotator", "id", "task", "worker", "text", "truth", "is_gold", "image", "", "sure",
             "model", "prompt", "judge", "swapped", "judge_model", "model_a", "model_b", "score")  # fmt: skip
ODD_BYTES = (
    *(b"\0", b"\xff\xfe", b"\xef\xbb\xbf", b"\xfe\xff", b'"', b"'", b"\r", b"\n", b",", b";", b"{", b"}", b"["),
    *(b"]", b"\\u0000", b"\\ud800", b"1e999", b"NaN", b"-Infinity", b"9" * 500, b"\x1f\x8b", b"PK\x03\x04"),
    *(b"PAR1", b"\x93NUMPY", b"%PDF", b"<html>", b"\xc3\x28", b"\xed\xa0\x80", b"\x80" * 10, b"A" * 70_000),
)
MEMBERS = ("../../x.jsonl", "/x", "a/", "\u202ee.jsonl", "x" * 300, "all.jsonl", "unknown.jsonl", "C:\\x", ".h", "")
ENCODINGS = ("utf-16", "utf-16-le", "utf-16-be", "utf-8-sig", "utf-32", "latin-1", "cp1252", "utf-7", "cp037")


def mutate(name: str, data: bytes, rng: random.Random) -> bytes:
    """Return a file with changes that fit its kind, or any bytes changed."""
    chance = rng.random()
    if chance < 0.12:
        return recode(data, rng)
    kinds = {
        "json": mutate_json,
        "jsonl": mutate_json,
        "csv": mutate_csv,
        "zip": mutate_zip,
        "npz": mutate_zip,
        "xlsx": mutate_zip,
    }
    change = kinds.get(name.rpartition(".")[2], mutate_bytes) if chance < 0.75 else mutate_bytes
    changed = change(data, rng)
    return mutate_bytes(changed, rng) if rng.random() < 0.05 else changed


def mutate_bytes(data: bytes, rng: random.Random) -> bytes:
    """Flip, cut, repeat, insert and overwrite bytes."""
    changed = bytearray(data)
    for _ in range(rng.choice([1, 1, 2, 4, 16])):
        place, chance = rng.randrange(len(changed) + 1), rng.random()
        part = slice(place, place + rng.randrange(1, 60))
        if chance < 0.4 and place < len(changed):
            changed[place] ^= 1 << rng.randrange(8)
        elif chance < 0.5:
            del changed[place:]
        elif chance < 0.6:
            del changed[part]
        elif chance < 0.7:
            changed[place:place] = changed[part]
        elif chance < 0.9:
            changed[place:place] = rng.choice(ODD_BYTES)
        else:
            changed[place : place + 8] = struct.pack("<q", rng.choice([0, -1, 2**31, 2**62, -(2**63), 65535]))
    return bytes(changed)


def recode(data: bytes, rng: random.Random) -> bytes:
    """Return a text in another encoding, perhaps cut."""
    with contextlib.suppress(UnicodeError):
        coded = data.decode().encode(rng.choice(ENCODINGS))
        return coded[:-1] if rng.random() < 0.3 else coded
    return data


def mutate_json(data: bytes, rng: random.Random) -> bytes:
    """Replace, drop, copy and rename entries at any depth."""
    text = data.decode()
    in_lines = not text.lstrip().startswith("[")
    content = [json.loads(line) for line in text.splitlines() if line.strip()] if in_lines else json.loads(text)
    for _ in range(rng.choice([1, 1, 1, 2, 3])):
        change_entry(content, rng)
    out = "\n".join(map(json.dumps, content)) if in_lines else json.dumps(content)
    if rng.random() < 0.08:
        place, depth = rng.randrange(len(out) + 1), rng.choice([50, 900, 5000, 100_000])
        out = out[:place] + rng.choice(["[" * depth + "]" * depth, '{"a":' * depth]) + out[place:]
    return out.encode("utf-8", "surrogatepass")


def change_entry(content: Any, rng: random.Random) -> None:
    """Change one entry of nested lists and objects."""
    places = [(parent, key) for parent in _containers(content) for key in _keys(parent)]
    if not places:
        return
    (parent, key), (other, there) = rng.choice(places), rng.choice(places)
    chance = rng.random()
    if chance < 0.6:
        parent[key] = odd_value(rng)
    elif chance < 0.75:
        del parent[key]
    elif chance < 0.85:
        parent[key] = json.loads(json.dumps(other[there]))
    elif isinstance(parent, dict):
        parent[rng.choice(ODD_KEYS)] = parent.pop(key)


def _containers(content: Any) -> list[Any]:
    """Return all lists and objects in nested ones."""
    if not isinstance(content, (list, dict)):
        return []
    inner = content.values() if isinstance(content, dict) else content
    return [content, *(each for value in inner for each in _containers(value))]


def _keys(container: Any) -> list[Any]:
    return list(container) if isinstance(container, dict) else list(range(len(container)))


def odd_value(rng: random.Random, depth: int = 0) -> Any:
    """Return a value that nobody expects, perhaps a nested one."""
    chance = rng.random()
    if chance < 0.7 or depth > 3:
        return rng.choice(ODD_VALUES)
    values = [odd_value(rng, depth + 1) for _ in range(rng.randrange(3))]
    return values if chance < 0.85 else {rng.choice(ODD_KEYS): value for value in values}


def mutate_csv(data: bytes, rng: random.Random) -> bytes:
    """Change cells, names and rows, the delimiter, the line ends and the quotes."""
    rows = [row for row in csv.reader(io.StringIO(data.decode())) if row]
    for _ in range(rng.choice([1, 1, 2, 3, 5])):
        row, chance = rng.choice(rows), rng.random()
        place = rng.randrange(len(row) + 1)
        if chance < 0.5:
            row[place : place + 1] = [rng.choice(ODD_CELLS)]
        elif chance < 0.6:
            row.insert(place, rng.choice(ODD_CELLS))
        elif chance < 0.7:
            del row[place : place + 1]
        elif chance < 0.8:
            rows.insert(rng.randrange(len(rows)), rng.choice([list(row), [""] * len(row)]))
        elif chance < 0.85:
            rows[0][place : place + 1] = [rng.choice(ODD_NAMES)]
        elif chance < 0.95:
            for other in rows:
                other[place : place + 1] = [rng.choice(ODD_CELLS)]
        else:
            rng.shuffle(rows)
    return _write_csv(rows, rng)


def _write_csv(rows: list[list[str]], rng: random.Random) -> bytes:
    """Write rows in one of the ways that programs do."""
    out, ends = io.StringIO(), rng.choice(["\n", "\r\n", "\r", "\n\n"])
    quotes = rng.choice([csv.QUOTE_MINIMAL, csv.QUOTE_ALL])
    csv.writer(out, delimiter=rng.choice(",,,;\t|"), lineterminator=ends, quoting=quotes).writerows(rows)
    text = out.getvalue().replace('"', "") if rng.random() < 0.1 else out.getvalue()
    before = rng.choice(["\n\n", "sep=;\n", "# comment\n", "\ufeff\ufeff", " "]) if rng.random() < 0.05 else ""
    return (before + text).encode("utf-8", "surrogatepass")


def mutate_zip(data: bytes, rng: random.Random) -> bytes:
    """Change, rename, repeat and drop members, and lie about their sizes."""
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        files = {name: archive.read(name) for name in archive.namelist()}
    method = rng.choice([zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", method) as archive, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name, content in files.items():
            chance = rng.random()
            content = mutate(name, content, rng) if chance < 0.5 else content
            name = rng.choice([*MEMBERS, *files]) if 0.5 < chance < 0.7 else name
            if chance < 0.95:
                archive.writestr(name or "x", content)
    changed = bytearray(out.getvalue())
    place = changed.find(b"PK\x01\x02")
    if rng.random() < 0.15 and place >= 0:
        struct.pack_into("<I", changed, place + 24, rng.choice([0, 1, 2**31, 2**32 - 1, 10]))
    return mutate_bytes(bytes(changed), rng) if rng.random() < 0.3 else bytes(changed)
