"""Files that people have, on the command line: what is read as it is, and what the messages name."""

import numpy as np
import pytest

from tests.apps.cli import failure, run, table, write

LONG = [
    ("a", "x", "yes"),
    ("a", "y", "no"),
    ("b", "x", "no"),
    ("b", "y", "n/a"),
    ("c", "x", "NA"),
    ("c", "y", "yes"),
]


def csv(*rows):
    return "item,annotator,label\n" + "".join(f"{','.join(row)}\n" for row in rows)


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_every_value_for_a_missing_label_counts(here):
    write("l.csv", csv(*LONG))
    run("convert", "l.csv", "out.csv", "--missing", "NA", "--missing", "n/a")
    assert [row["label"] for row in table("out.csv")] == ["yes", "no", "no", "yes"]
    write("settings.toml", 'missing = "NA"\n')
    run("convert", "l.csv", "out.csv", "--config", "settings.toml")
    assert len(table("out.csv")) == 5


def test_the_id_column_is_that_of_the_table_of_items_too(here):
    rng = np.random.default_rng(0)
    photos = [f"p{n}" for n in range(30)]
    np.save("X.npy", rng.normal(size=(30, 2)))
    write("items.csv", "photo,place\n" + "".join(f"{photo},here\n" for photo in photos))
    write("l.csv", csv(*((photo, who, "yn"[rng.integers(2)]) for photo in photos for who in ("x", "y"))))
    options = "l.csv", "--features", "X.npy", "--items", "items.csv", "--model", "id", "--out", "out"
    message = failure("fit", *options, code=3)
    assert (
        "--items items.csv: has no column of ids; there are 'photo', 'place'. Name it: --id-column" in message
    )
    run("fit", *options, "--id-column", "photo", "--max-iter", 5)
    assert table("out/consensus.csv")[0]["item"] == "p0"
