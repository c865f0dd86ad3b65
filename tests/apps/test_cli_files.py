"""Files that people have, on the command line: what is read as it is, and what the messages name."""

import json

import numpy as np
import pytest

from tests.apps.cli import failure, run, table, write
from whoknows import load

LONG = [("a", "x", "yes"), ("a", "y", "no"), ("b", "x", "no"), ("b", "y", "n/a"), ("c", "x", "NA"), ("c", "y", "yes")]


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


def test_new_items_are_found_by_the_columns_of_the_fit(here):
    rng = np.random.default_rng(0)
    photos = [f"p{n}" for n in range(30)]
    features = "Photo ID,x,split\n" + "".join(f"{photo},{rng.normal():.3f},train\n" for photo in photos)
    write("X.csv", features)
    write("l.csv", csv(*((photo, who, "yn"[rng.integers(2)]) for photo in photos for who in ("x", "y"))))
    columns = "--id-column", "Photo ID", "--ignore", "split"
    run("fit", "l.csv", "--features", "X.csv", *columns, "--model", "id", "--max-iter", 5, "--out", "out")
    result = run("predict", "out", "X.csv", "--out", "p.csv")
    assert [row["item"] for row in table("p.csv")] == photos
    assert "left out" not in result.err
    write("Y.csv", features.replace("Photo ID", "item"))
    run("predict", "out", "Y.csv", "--out", "q.csv")
    assert table("q.csv") == table("p.csv")


def test_the_id_column_is_that_of_the_table_of_items_too(here):
    rng = np.random.default_rng(0)
    photos = [f"p{n}" for n in range(30)]
    np.save("X.npy", rng.normal(size=(30, 2)))
    write("items.csv", "photo,place\n" + "".join(f"{photo},here\n" for photo in photos))
    write("l.csv", csv(*((photo, who, "yn"[rng.integers(2)]) for photo in photos for who in ("x", "y"))))
    options = "l.csv", "--features", "X.npy", "--items", "items.csv", "--model", "id", "--out", "out"
    message = failure("fit", *options, code=3)
    assert "--items items.csv: has no column of ids; there are 'photo', 'place'. Name it: --id-column" in message
    run("fit", *options, "--id-column", "photo", "--max-iter", 5)
    assert table("out/consensus.csv")[0]["item"] == "p0"


def crowd(n=30):
    """Features with a category, labels of two annotators, and new items with a category that is new."""
    rng = np.random.default_rng(1)
    z, city = rng.integers(2, size=n), rng.integers(3, size=n)
    write("l.csv", csv(*((f"i{i}", who, "ny"[z[i]]) for i in range(n) for who in ("x", "y"))))
    lines = [f"i{i};{str(z[i] + 0.5).replace('.', ',')};{['Rom', 'Köln', 'Oslo'][city[i]]}\n" for i in range(n)]
    (tmp := write("f.csv", "")).write_bytes(("item;größe;stadt\n" + "".join(lines)).encode("cp1252"))
    write("new.csv", "item,größe,stadt\na,0.5,Rom\nb,1.5,Wien\n")
    return tmp


def test_columns_of_the_features_can_be_ignored(here):
    crowd()
    lines = (here / "f.csv").read_text("cp1252").splitlines()
    parts = ["split", *(["train", "test"][i % 2] for i in range(30))]
    write("g.csv", "".join(f"{line.replace(',', '.')};{part}\n" for line, part in zip(lines, parts, strict=True)))
    fit = ("fit", "l.csv", "--features", "g.csv", "--model", "id", "--max-iter", 5)
    advice = (
        "'split' seems to say which items are for testing, and is used as a feature; leave it out with --ignore 'split'"
    )
    assert advice in " ".join(run(*fit, "--out", "with").err.split())
    assert advice not in " ".join(run(*fit, "--out", "without", "--ignore", "split,größe").err.split())
    assert load("without/model.whoknows").n_features_in_ == 3  # cities
    run("predict", "without", "new.csv", "--out", "p.csv")
    assert "has no column 'spilt'" in failure(*fit, "--out", "x", "--ignore", "spilt", code=3)


def test_a_table_of_another_country_is_fitted_and_predicted_alike(here):
    crowd()
    said = run("fit", "l.csv", "--features", "f.csv", "--model", "id", "--out", "out", "--max-iter", 5)
    told = " ".join(said.err.split())
    for note in (
        "read as Windows-1252, with 'ö'",
        "name its encoding: --encoding NAME",
        "columns are separated by semicolons",
        "commas in numbers are read as decimal points: 'größe'",
        "encoded with one feature per text: 'stadt' ('Köln', 'Oslo', 'Rom')",
    ):
        assert note in told
    said = run("predict", "out", "new.csv", "--out", "p.csv")
    assert "stadt: 'Wien' did not occur in the fit: all its features are 0" in " ".join(said.err.split())
    assert len(table("p.csv")) == 2
    write("other.csv", "item,größe\na,0.5\n")
    failed = failure("predict", "out", "other.csv", code=3)
    assert "lacks 3 of the 4 features of the fit: 'stadt=Köln', 'stadt=Oslo', 'stadt=Rom'" in failed
    run("fit", "l.csv", "--features", "f.csv", "--model", "id", "--out", "two", "--encoding", "cp1252", "--max-iter", 5)
    assert 'encoding = "cp1252"' in (here / "two/settings.toml").read_text()


def test_columns_of_a_wide_table_are_named_or_left_out(here):
    lines = [
        f"{i},{'ja' if i % 2 else 'nein'},nein,das war nicht leicht zu sehen {i},0{i % 9 + 1}.03.2021"
        for i in range(20)
    ]
    write("w.csv", "item,anna,bob,Kommentar,Datum\n" + "\n".join(lines) + "\n")
    said = run("convert", "w.csv", "out.csv")
    assert "columns left out, as they hold comments or dates: 'Kommentar', 'Datum'" in " ".join(said.err.split())
    assert "use --annotators A,B,… if they are annotators" in " ".join(said.err.split())
    assert {row["annotator"] for row in table("out.csv")} == {"anna", "bob"}
    run("convert", "w.csv", "out.csv", "--annotators", "anna, Datum")
    assert {row["annotator"] for row in table("out.csv")} == {"anna", "Datum"}
    run("convert", "w.csv", "out.csv", "--ignore", "bob,Kommentar", "--format", "wide")
    assert {row["annotator"] for row in table("out.csv")} == {"anna"}
    assert "has no column 'bobb'. Did you mean 'bob'?" in failure(
        "convert", "w.csv", "o.csv", "--annotators", "bobb", code=3
    )


def test_a_column_that_looks_more_like_the_label_is_suggested(here):
    lines = [f"{i // 2},{'xy'[i % 2]},remark {i},{'good' if i % 3 else 'bad'}\n" for i in range(60)]
    write("l.csv", "item,annotator,answer,grade\n" + "".join(lines))
    said = " ".join(run("convert", "l.csv", "out.csv").err.split())
    assert "column 'answer' holds 60 different labels in 60 rows; 'grade', with 2, looks more like a label" in said
    assert "--column label=grade" in said


# --- what others may have written -----------------------------------------------------------------------


@pytest.mark.parametrize(
    "content", ["x = " + "[" * 3000, "x = " + "1" * 5000, "x = [" + "1," * (9 << 20) + "]"], ids=len
)
def test_settings_that_are_too_deep_or_too_long_are_refused(here, content):
    write("l.csv", csv(*LONG))
    write("s.toml", content)
    message = failure("convert", "l.csv", "out.csv", "--config", "s.toml", code=2)
    assert "s.toml: " in message
    assert len(message) < 1000


def test_a_summary_that_was_changed_is_named(here):
    crowd()
    run("fit", "l.csv", "--model", "id", "--out", "out", "--max-iter", 5)
    summary = json.loads((here / "out/summary.json").read_text())
    for changed in (
        summary | {"consensus": 3},
        summary | {"annotators": [{"a": "b"}]},
        summary | {"given": {}},
        summary | {"consensus": {"item": ["a"]}},
    ):
        write("out/summary.json", json.dumps(changed))
        assert "summary.json: " in failure("report", "out", code=3)
    write("out/summary.json", "[" * 100_000)
    assert "summary.json: cannot be read" in failure("report", "out", code=3)
