"""Whatever a file holds, reading it gives labels or says what is wrong: no other exception, no hang."""

import json
import zipfile
from contextlib import suppress

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.io.labels.samples import FEATURES, LABELS, zipped
from whoknows.io import FORMATS, FileError, LabelFile, read_gold, read_labels
from whoknows.io.features import Features, read_features

few = settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])
options = st.fixed_dictionaries({
    "columns": st.sampled_from([{}, {"item": "text"}, {"label": "grade"}, {"annotator": "id", "text": "id"}]),
    "duplicates": st.sampled_from([None, "last", "majority"]),
    "predictions": st.booleans(),
})  # fmt: skip
scalars = st.one_of(st.none(), st.booleans(), st.integers(-3, 3), st.floats(), st.text(max_size=3))
values = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=2), inner, max_size=2),
    max_leaves=4,
)


def check(path, formats=tuple(FORMATS), **options):
    """Read a file in every way."""
    for format in (None, *formats):
        try:
            found = read_labels(path, format, **options)
        except FileError:
            continue
        else:
            assert isinstance(found, LabelFile)
            assert found.annotations.n_annotations == len(found.annotations.label) > 0
    for read, kind in ((read_features, Features), (read_gold, dict)):
        with suppress(FileError):
            assert isinstance(read(path), kind)


@given(data=st.binary(max_size=200))
@few
def test_any_bytes(tmp_path, data):
    (tmp_path / "file").write_bytes(data)
    check(tmp_path / "file")


@given(data=st.text(st.sampled_from("ab01,;\t|\"\n\r'= {}[]:.-é\0"), max_size=80))
@settings(few, max_examples=60)
def test_any_text(tmp_path, data):
    (tmp_path / "file").write_text(data, encoding="utf-8", newline="")
    check(tmp_path / "file")


@pytest.mark.parametrize("name", [*LABELS, *FEATURES])
@given(data=st.data())
@few
def test_mutated_files(tmp_path, name, data):
    """Cut out, repeat or overwrite a piece of a valid file."""
    valid = {**LABELS, **FEATURES}[name]
    start = data.draw(st.integers(0, len(valid)))
    end = data.draw(st.integers(start, min(len(valid), start + 40)))
    middle = data.draw(st.one_of(st.just(b""), st.binary(max_size=8), st.just(valid[start:end] * 2)))
    (tmp_path / "file").write_bytes(valid[:start] + middle + valid[end:])
    own = name.partition(".")[0]
    check(tmp_path / "file", [own] if own in FORMATS else [], **data.draw(options))


@pytest.mark.parametrize("name", [name for name in LABELS if "json" in name])
@given(data=st.data())
@few
def test_json_with_anything_anywhere(tmp_path, name, data):
    """Put any value in any place of a valid export."""
    text = LABELS[name].decode()
    records = json.loads(text) if text.startswith("[") else [json.loads(line) for line in text.splitlines()]
    place, key = records, 0
    while data.draw(st.booleans()) or place is records:
        keys = range(len(place)) if isinstance(place, list) else list(place)
        key = data.draw(st.sampled_from(keys))
        if not (isinstance(place[key], (list, dict)) and place[key]):
            break
        parent, place = place, place[key]
        key = next(iter(place)) if isinstance(place, dict) else 0
        assert parent is not place
    place[key] = data.draw(values)
    (tmp_path / "file.json").write_text(json.dumps(records))
    check(tmp_path / "file.json", [name.partition(".")[0]], **data.draw(options))


@given(
    files=st.dictionaries(
        st.sampled_from(["a.jsonl", "all.jsonl", "unknown.csv", "d/b.csv", "../c"]),
        st.sampled_from([*LABELS.values(), b"", b"\0"]),
        max_size=3,
    )
)
@few
def test_any_zip(tmp_path, files):
    (tmp_path / "file.zip").write_bytes(zipped(files))
    check(tmp_path / "file.zip")


def test_a_zip_with_a_password_is_refused(tmp_path):
    data = bytearray(zipped({"anna.jsonl": b"{}"}))
    for sign, flags in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        data[data.index(sign) + flags] |= 1
    (tmp_path / "locked.zip").write_bytes(data)
    assert zipfile.is_zipfile(tmp_path / "locked.zip")
    with pytest.raises(FileError, match=r"cannot be unpacked .* without a password"):
        read_labels(tmp_path / "locked.zip")
