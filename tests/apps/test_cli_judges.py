"""`whoknows judges`: tables, gate, columns to group by, and input that is not as expected."""

import json
import re
from pathlib import Path

import numpy as np
import pytest

from tests.apps.cli import as_json, failure, run, table, write
from whoknows.apps.cli import models

JUDGES = {"alpha": 0.92, "beta": 0.88, "gamma": 0.8, "delta": 0.6}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Votes of four judges on the answers of two models to 80 questions, and gold of 40 answers."""
    folder, rng = tmp_path_factory.mktemp("judges"), np.random.default_rng(0)
    rows, truth = [], {}
    for question in range(80):
        for model, share in (("new", 0.8), ("old", 0.5)):
            good = rng.random() < share
            truth[f"q{question} / {model}"] = "good" if good else "bad"
            for judge, right in JUDGES.items():
                says = "good" if (rng.random() < right) == good else "bad"
                about = {"topic": "law" if question % 2 else "code", "judge_model": judge[0]}
                rows.append({"item": f"q{question}", "model": model, "judge": judge, "verdict": says, **about})
    write(folder / "votes.jsonl", "".join(json.dumps(row) + "\n" for row in rows))
    gold = [list(truth)[k] for k in rng.permutation(160)[:40]]
    write(folder / "people.csv", "item,label\n" + "".join(f"{item},{truth[item]}\n" for item in gold))
    return folder


@pytest.fixture(scope="module")
def said(folder):
    return run("judges", folder / "votes.jsonl", "--gold", folder / "people.csv", "--by", "model",
               "--groups", "judge_model", "--out", folder / "tables")  # fmt: skip


def test_judges_are_compared_with_the_gold(folder, said):
    assert "Judges against 40 gold items (90% intervals in brackets):" in said.out
    rows = {row["annotator"]: row for row in table(folder / "tables" / "judges.csv")}
    assert list(rows) == ["alpha", "beta", "delta", "gamma", "consensus"]
    assert float(rows["delta"]["accuracy"]) < float(rows["alpha"]["accuracy"])
    assert float(rows["alpha"]["kappa low"]) < float(rows["alpha"]["kappa"]) < float(rows["alpha"]["kappa high"])
    assert (
        "Sensitivity: share of the 'good' items that are labelled 'good'. Specificity: the same for 'bad'." in said.out
    )


def test_rates_of_the_models_are_corrected_and_compared(folder, said):
    rows = {(row["group"], row["label"]): row for row in table(folder / "tables" / "rates.csv")}
    assert float(rows["new", "good"]["low"]) < 0.8 < float(rows["new", "good"]["high"])
    assert rows["new", "good"]["method"] == "gold"
    [difference] = table(folder / "tables" / "differences.csv")
    assert (difference["first"], difference["second"], difference["label"]) == ("new", "old", "good")
    assert float(difference["low"]) < 0.3 < float(difference["high"])
    assert "prediction-powered" in said.out


def test_everything_fits_into_80_columns(said):
    tables = [line for line in said.out.splitlines() if "[" in line]
    assert len(tables) > 10
    assert max(map(len, tables)) <= 80


def test_tables_are_written_in_three_formats(folder, said):
    names = {path.name for path in (folder / "tables").iterdir()}
    assert names >= {f"{name}.{end}" for name in ("judges", "rates", "kinds", "next") for end in ("csv", "md", "tex")}
    assert (folder / "tables" / "kinds.md").read_text("utf-8").startswith("| judge | model | right |")
    assert r"\begin{tabular}" in (folder / "tables" / "kinds.tex").read_text("utf-8")
    kinds = table(folder / "tables" / "kinds.csv")
    assert len(kinds) == 8
    assert kinds[0]["by"] == "model"
    assert int(kinds[0]["n_labels"]) == 80


def test_items_to_look_at_are_not_gold(folder, said):
    gold = {row["item"] for row in table(folder / "people.csv")}
    items = table(folder / "tables" / "next.csv")
    assert len(items) == 10
    assert gold.isdisjoint(row["item"] for row in items)
    assert [float(row["information"]) for row in items] == sorted(
        (float(r["information"]) for r in items), reverse=True
    )


def test_json_has_the_tables(folder):
    found = as_json("judges", folder / "votes.jsonl", "--gold", folder / "people.csv", "--by", "model", "--by", "topic")
    assert found["judges"]["annotator"][-1] == "consensus"
    assert set(found["rates"]["by"]) == {"model", "topic"}
    assert 1 <= found["worth"] <= 4
    assert found["failed"] == []


def test_a_table_of_items_has_the_groups(folder, tmp_path):
    listed = [f"q{question} / {model},{question % 10}" for question in range(80) for model in ("new", "old")]
    path = write(tmp_path / "items.csv", "item,digit\n" + "\n".join(listed))
    found = as_json("judges", folder / "votes.jsonl", "--items", path, "--by", "digit", "-n", 0)
    assert len(set(found["rates"]["group"])) == 11
    assert found["next"]["item"] == []


# --- the gate --------------------------------------------------------------------------------------------


def test_the_gate_passes_or_fails_with_one_sentence(folder):
    call = ("judges", folder / "votes.jsonl", "--gold", folder / "people.csv")
    run(*call, "--fail-under", "accuracy=0.5")
    said = run(*call, "--fail-under", "kappa=0.99", code=1)
    last = said.err.splitlines()[-1]
    assert last.startswith("Failed: The consensus has kappa 0.")
    assert last.endswith("on 40 gold items. --fail-under requires kappa 0.99.")
    assert "Judges against 40 gold items" in said.out
    assert [line.split()[-2:] for line in said.out.splitlines() if line.startswith("all items ")] == [["160", "40"]]
    found = as_json(*call, "--fail-under", "delta:accuracy=0.85", "--fail-under", "every:kappa=-1", code=1)
    assert len(found["failed"]) == 1
    assert found["failed"][0].startswith("delta has accuracy ")


@pytest.mark.parametrize("gate", ["kappa", "f1=0.5", "kappa=high", "kappa=60"])
def test_a_gate_that_cannot_be_read_is_a_usage_error(folder, gate):
    said = failure("judges", folder / "votes.jsonl", "--gold", folder / "people.csv", "--fail-under", gate, code=2)
    assert "--fail-under expects kappa=0.6" in said


def test_a_gate_needs_gold_and_a_judge_that_exists(folder):
    assert "pass --gold FILE" in failure("judges", folder / "votes.jsonl", "--fail-under", "kappa=0.6", code=2)
    call = ("judges", folder / "votes.jsonl", "--gold", folder / "people.csv", "--fail-under", "nobody:kappa=0")
    assert "names 'nobody', who is not a judge" in failure(*call, code=2)


def test_a_gate_that_cannot_be_computed_fails(folder, tmp_path):
    rows = table(folder / "people.csv")
    one = [f"{row['item']},good" for row in rows if row["label"] == "good"]
    gold = write(tmp_path / "gold.csv", "item,label\n" + "\n".join(one))
    said = run("judges", folder / "votes.jsonl", "--gold", gold, "--fail-under", "kappa=0.1", code=1)
    assert f"The consensus has no kappa: all {len(one)} gold items are of one class" in said.err


# --- without gold, and odd input -------------------------------------------------------------------------


def test_without_gold_rates_are_those_of_the_model_and_say_so(folder):
    said = run("judges", folder / "votes.jsonl", "--by", "model")
    assert "by the model alone" in said.out
    assert "Warning: There is no gold: rates are those of the model" in said.err
    assert "blocks" not in said.err


def test_judges_that_contradict_each_other_need_gold(tmp_path):
    rng = np.random.default_rng(0)
    good = rng.random(120) < 0.5
    right = rng.random((120, 5)) < [0.9, 0.9, 0.15, 0.15, 0.15]
    rows = [f"{i},{'abcde'[t]},{int(right[i, t] == good[i])}" for i in range(120) for t in range(5)]
    path = write(tmp_path / "votes.csv", "item,judge,verdict\n" + "\n".join(rows))
    said = run("judges", path)
    assert "two blocks that contradict each other: c, d, e; and a, b." in said.err
    assert "drawn at random as gold" in said.err


def test_judges_without_gold_and_gold_without_judges(folder, tmp_path):
    votes = "item,judge,verdict\n" + "".join(f"i{k},a,{'yes' if k % 3 else 'no'}\n" for k in range(30))
    votes += "x1,b,yes\nx2,b,no\n"
    gold = "item,label\n" + "".join(f"i{k},{'yes' if k % 3 else 'no'}\n" for k in range(12)) + "nowhere,yes\n"
    call = ("judges", write(tmp_path / "v.csv", votes), "--gold", write(tmp_path / "g.csv", gold))
    said = run(*call)
    assert "1 more are of other items: 'nowhere'" in said.err
    [line] = [line for line in said.out.splitlines() if line.startswith("b ")]
    assert line.split()[:3] == ["b", "-", "-"]
    assert line.endswith(" 0")
    assert "b has no kappa: it labelled no gold item" in run(*call, "--fail-under", "b:kappa=0", code=1).err


def test_gold_of_other_items_only_is_named(folder, tmp_path):
    gold = write(tmp_path / "gold.csv", "item,label\nnowhere,good\n")
    assert "'nowhere'" in failure("judges", folder / "votes.jsonl", "--gold", gold, code=3)


def test_columns_that_do_not_exist_or_do_not_fit_are_named(folder):
    assert "tpoic" in failure("judges", folder / "votes.jsonl", "--by", "tpoic", code=3)
    assert "several values of 'judge_model' for an item" in failure(
        "judges", folder / "votes.jsonl", "--by", "judge_model", code=3
    )
    assert "several values of 'topic' for an annotator" in failure(
        "judges", folder / "votes.jsonl", "--groups", "topic", code=3
    )
    assert "expects one of the labels bad, good" in failure(
        "judges", folder / "votes.jsonl", "--positive", "fine", code=2
    )


def test_the_page_shows_what_the_command_prints(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    page = (Path(__file__).parents[2] / "docs" / "llm_judges.md").read_text("utf-8")
    exec(re.search(r"```python\n(.*?)```", page, re.DOTALL)[1], {})
    command, shown = re.search(r"```sh\nwhoknows (.*?)\n```\n\n```text\n(.*?)```", page, re.DOTALL).groups()
    printed = run(*command.split()).out.splitlines()
    lines = shown.splitlines()
    assert [line for line in lines if line.endswith(":")] == [line for line in printed if line.endswith(":")]
    judges = [line for line in lines if line.startswith(("atlas", "birch", "cedar")) and line.endswith("60")]
    assert len(judges) == 4
    assert set(judges) <= set(printed)


def test_long_names_are_not_cut_and_judges_worse_than_chance_are_named(tmp_path):
    names = [f"a large model with prompt {k}" for k in range(3)]
    truth = np.arange(60) % 2
    votes = [f"{i},{name},{truth[i] if k else 1 - truth[i]}" for i in range(60) for k, name in enumerate(names)]
    gold = [f"{i},{truth[i]}" for i in range(30)]
    files = [write(tmp_path / f"{kind}.csv", "\n".join(rows)) for kind, rows in (
        ("votes", ["item,judge,verdict", *votes]), ("gold", ["item,label", *gold]))]  # fmt: skip
    said = run("judges", files[0], "--gold", files[1]).out
    rows = [line for line in said.splitlines() if line.startswith("a large model")]
    assert [row.split("  ")[0] for row in rows[:3]] == [names[1], names[2], names[0]]
    assert f"{names[0]} is worse than chance on 30 gold items (0% right): the labels are inverted." in said


def test_one_judge_and_two_gold_items_are_enough(tmp_path):
    votes = write(tmp_path / "votes.csv", "item,judge,verdict\n" + "".join(f"{i},solo,{i % 2}\n" for i in range(30)))
    gold = write(tmp_path / "gold.csv", "item,label\n0,0\n1,1\n")
    said = run("judges", votes, "--gold", gold).out
    assert "are worth" not in said
    assert "\n\n\n" not in said
    [row] = [line for line in said.splitlines() if line.startswith("all items")]
    assert row.split()[-2:] == ["30", "2"]


def test_three_classes_have_a_confusion_table(tmp_path):
    rng = np.random.default_rng(0)
    truth = rng.choice(["A", "B", "tie"], 90)
    says = np.where(rng.random((90, 3)) < 0.8, truth[:, None], "tie")
    rows = [f"{i},{'xyz'[t]},{says[i, t]}" for i in range(90) for t in range(3)]
    votes = write(tmp_path / "votes.csv", "item,judge,preference\n" + "\n".join(rows))
    gold = write(tmp_path / "gold.csv", "item,label\n" + "\n".join(f"{i},{truth[i]}" for i in range(30)))
    said = run("judges", votes, "--gold", gold)
    assert "Consensus by truth:" in said.out
    assert "Share of each class, corrected by the gold:" in said.out


# --- kinds of items in a fit ----------------------------------------------------------------------------


def test_fit_says_who_is_right_on_which_kind_of_item(folder, tmp_path):
    out = tmp_path / "out"
    run("fit", folder / "votes.jsonl", "--by", "topic", "--by", "model", "--out", out)
    rows = table(out / "kinds.csv")
    assert {(row["by"], row["kind"]) for row in rows} == {
        ("topic", "law"),
        ("topic", "code"),
        ("model", "new"),
        ("model", "old"),
    }
    right = {(row["annotator"], row["kind"]): float(row["right"]) for row in rows}
    assert right["alpha", "law"] > right["delta", "law"]
    assert all(float(row["low"]) < float(row["right"]) < float(row["high"]) for row in rows)
    page = (out / "report.html").read_text("utf-8")
    assert "<h3>By topic</h3>" in page
    run("report", out, "--out", tmp_path / "again.html")
    assert "<h3>By model</h3>" in (tmp_path / "again.html").read_text("utf-8")


def test_kinds_are_for_classes(folder, tmp_path):
    votes = write(tmp_path / "votes.csv", "item,judge,score,topic\n" + "".join(f"{i},a,{i / 7},x\n" for i in range(9)))
    said = failure("fit", votes, "--by", "topic", "--model", "regression", "--out", tmp_path / "out", code=2)
    assert "leave out --by or --model" in said


@pytest.mark.parametrize(("model", "groups"), [("auto", {"a1": "a", "a2": "a", "b1": "b"}), ("ordered", None)])
def test_groups_of_judges_reach_the_models_that_have_them(tmp_path, monkeypatch, model, groups):
    rows = [
        f"{i},{judge},{1 + (i + n) % 3},{judge[0]}\n" for i in range(12) for n, judge in enumerate(("a1", "a2", "b1"))
    ]
    votes = write(tmp_path / "votes.csv", "item,judge,verdict,maker\n" + "".join(rows))
    fitted = []
    monkeypatch.setattr(
        models, "fit", lambda estimator, *rest, fit=models.fit: fit(fitted.append(estimator) or estimator, *rest)
    )
    run("judges", votes, "--groups", "maker", "--model", model)
    assert [estimator.groups for estimator in fitted] == [groups]
