"""`whoknows fit`: what it writes and says, and that the same comes out again."""

import base64
import json
import re
import shutil
import tomllib

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import whoknows
from tests.apps.cli import ALL_FILES, as_json, contents, failure, run, table, write
from whoknows.io import TextFeatures, read_features, read_labels

PIXEL = "iVBORw0KGgo="  # how a PNG begins


def test_fit_writes_everything_and_says_what_it_read(files, fitted):
    out, said = fitted
    assert {path.name for path in out.iterdir()} == ALL_FILES
    n_labels = len(table(files / "labels.csv"))
    assert f"long format (detected); {n_labels} labels by 3 annotators for 40 items" in said.err
    assert "Labels are 'no', 'yes'." in said.err
    assert "features.csv: 3 features of 60 items." in said.err
    assert "20 of 60 items have features but no label" in said.err
    assert f"Open {out / 'report.html'} in a browser." in said.out
    consensus, people = table(out / "consensus.csv"), table(out / "annotators.csv")
    assert [row["item"] for row in consensus] == [f"i{i:02d}" for i in range(60)]
    assert all(0.5 <= float(row["confidence"]) <= 1 for row in consensus)
    assert sum(int(row["n_labels"]) for row in consensus) == n_labels
    assert sorted(row["annotator"] for row in people) == ["anna", "bob", "cleo"]
    truth = {row["item"]: row["truth"] for row in table(files / "truth.csv")}
    right = np.mean([truth[row["item"]] == row["consensus"] for row in consensus])
    assert right > 0.85


def test_settings_of_a_fit_give_the_same_fit(fitted, tmp_path):
    out, _ = fitted
    again = tmp_path / "again"
    run("fit", "--config", out / "settings.toml", "--out", again)
    old, new = contents(out), contents(again)
    for name in ("consensus.csv", "annotators.csv", "model.whoknows"):
        assert old[name] == new[name]
    was, now = (tomllib.loads(each["settings.toml"].decode()) for each in (old, new))
    assert now == was


def test_flags_win_over_the_config_file(files, tmp_path):
    config = write(
        tmp_path / "fit.toml",
        f'labels = "{files / "labels.csv"}"\nfeatures = "{files / "features.csv"}"\n'
        'model = "gp"\nout = "here"\nmax-iter = 3\ncolumn = {label = "label"}\n',
    )
    run("fit", "--config", config, "--model", "id")  # out is seen from the file, not from here
    settings = tomllib.loads((tmp_path / "here" / "settings.toml").read_text("utf-8"))
    assert settings["model"] == "id"
    assert settings["max_iter"] == 3
    assert settings["column"] == ["label=label"]
    assert settings["found"]["whoknows"] == whoknows.__version__
    assert list(settings["found"]["medians"]) == ["size", "weight", "age"]


def test_json_is_all_there_is_on_standard_output(files, tmp_path):
    out = tmp_path / "out"
    said = run(
        "fit", files / "labels.csv", "--features", files / "features.csv", "--model", "id", "--out", out, "--json"
    )
    answer = json.loads(said.out)
    assert set(answer["files"]) == ALL_FILES
    assert answer["out"] == str(out)
    assert answer["warnings"] == []
    assert any("3 features of 60 items" in note for note in answer["notes"])
    assert said.err == ""


def test_quiet_says_nothing(files, tmp_path):
    files = files / "labels.csv", "--features", files / "features.csv"
    said = run("fit", *files, "--model", "id", "--out", tmp_path / "out", "--quiet")
    assert (said.out, said.err) == ("", "")


def test_a_second_fit_replaces_the_first_and_nothing_else(files, tmp_path):
    out = tmp_path / "out"
    files = files / "labels.csv", "--features", files / "features.csv"
    run("fit", *files, "--model", "id", "--out", out)
    write(out / "mine.txt", "keep me")
    before = contents(out)
    run("fit", *files, "--model", "id", "--seed", 1, "--out", out)
    after = contents(out)
    assert after.keys() == before.keys()
    assert after["mine.txt"] == b"keep me"
    assert tomllib.loads(after["settings.toml"].decode())["seed"] == 1


@pytest.fixture(scope="module")
def texts(tmp_path_factory):
    """Labels that hold texts, in a folder of their own, and the folder of their fit."""
    folder = tmp_path_factory.mktemp("texts")
    rows = "item,annotator,label,body\n" + "".join(
        f'{i},{who},{"pet" if i % 2 else "car"},"{"a small cat purrs" if i % 2 else "a fast engine"} {i}"\n'
        for i in range(20)
        for who in ("anna", "bob")
    )
    labels, out = write(folder / "labels.csv", rows), folder / "out"
    said = run("fit", labels, "--text", "body", "--model", "id", "--out", out)
    assert "features of the texts of 20 items" in said.err
    return labels, out


def test_fit_of_texts_in_the_file_of_labels(texts):
    labels, out = texts
    assert {path.name for path in out.iterdir()} == ALL_FILES | {"text.npz"}
    consensus = table(out / "consensus.csv")
    assert all(row["consensus"] == ("pet" if int(row["item"]) % 2 else "car") for row in consensus)
    assert "a small cat purrs 1" in (out / "summary.json").read_text("utf-8")
    asked = as_json("ask", out, "--out", "-")
    assert "asked" in asked["why"]
    assert "--features does not apply" in failure("ask", out, "--features", labels, code=2)


def test_predict_makes_features_of_texts_as_the_fit_did(texts, tmp_path):
    labels, out = texts
    words = read_labels(labels, columns={"text": "body"}).text
    X = TextFeatures.of(words).transform(words).X
    model = whoknows.load(out / "model.whoknows")
    run("predict", out, labels, "--out", tmp_path / "p.csv")
    rows = table(tmp_path / "p.csv")
    assert [int(row["item"]) for row in rows] == list(words)
    p = [[float(row["p_car"]), float(row["p_pet"])] for row in rows]
    np.testing.assert_array_equal(p, model.predict_proba(X))


def test_predict_takes_new_texts_and_says_which_hold_no_known_word(texts, tmp_path):
    _, out = texts
    rows = {"id": ["x", "y", "z"], "body": ["the cat purrs", "a new engine", "nothing of it"]}
    pq.write_table(pa.table(rows), tmp_path / "new.parquet")
    write(tmp_path / "new.csv", "id,said\nx,the cat purrs\ny,a new engine\nz,nothing of it\n")
    for given in (("new.parquet",), ("new.csv", "--text", "said")):
        said = run("predict", out, tmp_path / given[0], *given[1:], "--out", tmp_path / "p.jsonl")
        assert "1 of 3 texts hold no known word, so their features are 0: 'z'" in said.err
        found = [json.loads(line) for line in (tmp_path / "p.jsonl").read_text("utf-8").splitlines()]
        assert [(row["item"], row["label"]) for row in found[:2]] == [("x", "pet"), ("y", "car")]
        assert found[2]["confidence"] < min(found[0]["confidence"], found[1]["confidence"])
    message = failure("predict", out, tmp_path / "new.csv", "--quiet", code=3)
    assert "has no column for the text 'body'. There are 'id', 'said'." in message
    assert "--items and --vector are for numbers" in failure(
        "predict", out, tmp_path / "new.csv", "--vector", "said", code=2
    )


def test_words_of_a_fit_that_are_lost_or_damaged(texts, fitted, files, tmp_path):
    labels, out = texts
    copy = shutil.copytree(out, tmp_path / "copy")
    write(copy / "text.npz", "no more")
    for command in (("predict", copy, labels), ("ask", copy)):
        assert "text.npz: is not a file of text features" in failure(*command, "--quiet", code=3)
    (copy / "text.npz").unlink()
    for command in (("predict", copy, labels), ("ask", copy)):
        assert "text.npz: there is no such file" in failure(*command, "--quiet", code=3)
    message = failure("predict", fitted[0], files / "features.csv", "--text", "size", code=2)
    assert "was fitted to numbers" in message


def test_a_model_file_and_its_words_are_enough_to_predict(texts, tmp_path):
    _, out = texts
    for name in ("model.whoknows", "text.npz"):
        shutil.copy(out / name, tmp_path / name)
    new = write(tmp_path / "new.csv", "item,text\nx,the cat purrs\n")
    run("predict", tmp_path / "model.whoknows", new, "--out", tmp_path / "p.csv")
    assert table(tmp_path / "p.csv")[0]["label"] == "pet"


def test_fit_of_texts_in_a_table_of_items(files, tmp_path):
    words = ["item,text", *(f"i{i:02d},{'round' if i % 2 else 'square'} thing number {i % 7}" for i in range(60))]
    items = write(tmp_path / "items.csv", "\n".join(words))
    out = tmp_path / "out"
    given = files / "labels.csv", "--model", "id", "--out", out
    run("fit", *given, "--text", "text", "--items", items)
    assert len(table(out / "consensus.csv")) == 60
    write(items, "\n".join([*words, "i60,a round number", "i61,elsewhere"]))  # more items to ask about
    said = run("ask", out, "--out", tmp_path / "ask.csv", "-n", 200)
    assert "1 of 62 texts hold no known word" in said.err
    assert "i60" in {row["item"] for row in table(tmp_path / "ask.csv")}
    run("fit", *given, "--features", files / "features.csv")
    assert {path.name for path in out.iterdir()} == ALL_FILES  # nothing is left of the texts


def test_fit_of_a_matrix_whose_rows_a_table_of_items_names(files, tmp_path):
    read = read_features(files / "features.csv")
    np.save(tmp_path / "X.npy", read.X)
    words = "\n".join(["item,text,image", *(f"{i},<b>say {i}</b>,pics/{i}.png" for i in read.ids.tolist())])
    items = write(tmp_path / "items.csv", words)
    (tmp_path / "pics").mkdir()
    for i in range(0, 60, 2):
        (tmp_path / "pics" / f"i{i:02d}.png").write_bytes(base64.b64decode(PIXEL))
    out = tmp_path / "out"
    said = run(
        "fit",
        files / "labels.csv",
        "--features",
        tmp_path / "X.npy",
        "--items",
        items,
        "--image-folder",
        tmp_path / "pics",
        "--model",
        "id",
        "--out",
        out,
    )
    assert "has no ids" not in said.err
    assert len(table(out / "consensus.csv")) == 60
    shown = (out / "summary.json").read_text("utf-8")
    assert "<b>say i00</b>" in shown
    assert re.search(r'"image": "pics/i\d\d.png"', shown)  # there is no such file: its name
    assert f'"image": "data:image/png;base64,{PIXEL}"' in shown


def test_gold_is_marked_and_nobody_is_asked_about_it(files, tmp_path):
    """The open items of a fit without gold are known now: they are neither asked about nor to be reviewed."""
    given = files / "labels.csv", "--features", files / "features.csv", "--model", "id"
    run("fit", *given, "--out", tmp_path / "without")
    run("ask", tmp_path / "without", "-n", 10, "--out", tmp_path / "ask.csv")
    truth = {row["item"]: row["truth"] for row in table(files / "truth.csv")}
    asked = sorted({row["item"] for row in table(tmp_path / "ask.csv")})
    gold = write(tmp_path / "gold.csv", "\n".join(["item,truth", *(f"{i},{truth[i]}" for i in asked)]) + "\n")
    run("fit", *given, "--gold", gold, "--out", tmp_path / "with")
    marked = {row["item"] for row in table(tmp_path / "with" / "consensus.csv") if row["gold"] == "True"}
    assert marked == set(asked)
    run("ask", tmp_path / "with", "-n", 10, "--out", tmp_path / "next.csv")
    assert not {row["item"] for row in table(tmp_path / "next.csv")} & set(asked)


def test_gold_is_taken_as_true(files, tmp_path):
    gold = write(tmp_path / "gold.csv", "item,truth\ni00,maybe\nelsewhere,yes\n")
    out = tmp_path / "out"
    said = run(
        "fit", files / "labels.csv", "--features", files / "features.csv", "--gold", gold, "--model", "id", "--out", out
    )
    assert "the true labels of 1 item are used; 1 more are of other items" in said.err
    first = table(out / "consensus.csv")[0]
    assert (first["item"], first["consensus"]) == ("i00", "maybe")


def test_gaps_in_features_are_filled_with_the_median_of_the_fit(files, tmp_path):
    text = (files / "features.csv").read_text("utf-8")
    rows = [line.split(",") for line in text.splitlines()]
    for row in rows[1:6]:
        row[2] = ""
    gappy = write(
        tmp_path / "features.csv", "\n".join(",".join([*row, "empty" if i == 0 else ""]) for i, row in enumerate(rows))
    )
    out = tmp_path / "out"
    said = run("fit", files / "labels.csv", "--features", gappy, "--model", "id", "--out", out)
    assert "missing numbers replaced by the median of their column: 'weight'" in said.err
    assert "columns without any number left out: 'empty'" in said.err
    medians = tomllib.loads((out / "settings.toml").read_text("utf-8"))["found"]["medians"]
    assert medians["weight"] == np.median([float(row[2]) for row in rows[6:]])
    new = write(tmp_path / "new.csv", f"item,size,weight,age\na,0.5,,1\nb,0.5,{medians['weight']},1\n")
    run("predict", out, new, "--out", tmp_path / "p.csv")
    first, second = table(tmp_path / "p.csv")
    assert first["p_yes"] == second["p_yes"]


def test_ordered_labels_and_amounts(files, tmp_path):
    rng = np.random.default_rng(0)
    X = read_features(files / "features.csv")
    words = np.array(["low", "mid", "high"])
    levels = words[np.digitize(X.X[:, 0], [-0.5, 0.5])]
    for name, values in (("levels", levels), ("amounts", (10 + X.X[:, 0] + rng.normal(size=60) / 9).round(2))):
        rows = [f"{item},{who},{v}" for item, v in zip(X.ids.tolist(), values, strict=True) for who in "ab"]
        write(tmp_path / f"{name}.csv", "\n".join(["item,annotator,label", *rows]))
    features = "--features", files / "features.csv"
    out = tmp_path / "ordered"
    run("fit", tmp_path / "levels.csv", *features, "--levels", "low,mid,high", "--out", out)
    assert [name for name in table(out / "consensus.csv")[0] if name.startswith("p_")] == ["p_low", "p_mid", "p_high"]
    assert tomllib.loads((out / "settings.toml").read_text("utf-8"))["levels"] == ["low,mid,high"]

    out = tmp_path / "real"
    run("fit", tmp_path / "amounts.csv", *features, "--model", "regression", "--out", out)
    row = table(out / "consensus.csv")[0]
    assert float(row["consensus"]) == pytest.approx(10 + X.X[0, 0], abs=0.5)
    run("predict", out, files / "features.csv", "--out", tmp_path / "p.csv")
    assert list(table(tmp_path / "p.csv")[0]) == ["item", "value", "std"]
    assert "is a regression" in failure("ask", out, code=3)
    message = failure("compare", tmp_path / "amounts.csv", *features, "--model", "regression", code=2)
    assert "'regression' is not one of 'auto'" in message
    message = failure("fit", tmp_path / "amounts.csv", *features, "--out", out, "--quiet", code=3)
    assert "a classifier needs classes. Use --model regression" in message


def test_formulas_are_escaped_in_csv(tmp_path):
    rows = [f"{item},{who},{label}" for item, label in (("=1+1", "@a"), ("+2", "-b")) for who in ("'=x", "y")]
    labels = write(tmp_path / "labels.csv", "\n".join(["item,annotator,label", *rows]))
    features = write(tmp_path / "features.csv", "item,size\n=1+1,1\n+2,2\n")
    run("fit", labels, "--features", features, "--model", "id", "--out", tmp_path / "out")
    run("predict", tmp_path / "out", features, "--out", tmp_path / "p.csv")
    run("convert", labels, tmp_path / "wide.csv", "--to", "wide")
    for path in (tmp_path / "out" / "consensus.csv", tmp_path / "out" / "annotators.csv", tmp_path / "p.csv"):
        cells = [cell for row in table(path) for cell in row.values()]
        assert [cell for cell in cells if re.match(r"[=+@]|-(?![\d.])", cell)] == []
    cells = (tmp_path / "wide.csv").read_text("utf-8")
    assert "'=1+1" in cells
    assert read_labels(tmp_path / "wide.csv").annotations == read_labels(labels).annotations
