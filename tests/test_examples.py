"""Every example runs, draws its pictures, and its results are plausible."""

import runpy
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pytest

ROOT = Path(__file__).parents[1]
EXAMPLES = sorted((ROOT / "examples").glob("*.py"))


@pytest.fixture
def run(monkeypatch):
    """Run a script as a user would, with fewer items and no windows; return its variables."""

    def variables(name):
        found = runpy.run_path(str(ROOT / "examples" / f"{name}.py"), run_name="__main__")
        assert len(plt.get_fignums()) >= 2
        return found

    monkeypatch.setenv("WHOKNOWS_ITEMS", "20000")
    monkeypatch.setattr(plt, "show", lambda: None)
    plt.switch_backend("Agg")
    with plt.rc_context():
        yield variables
    plt.close("all")


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_the_gallery_shows_each_example_which_says_what_it_teaches(path):
    assert f'"{path.name}"' in (ROOT / "docs" / "conf.py").read_text("utf-8")
    assert "example shows how to\n\n* " in path.read_text("utf-8")


def test_spammers(run):
    found = run("spammers")
    kinds, kind, ranking = found["KINDS"], found["kind"], found["ranking"]
    results = found["results"]
    assert results["whoknows"] > results["majority vote"] + 0.2
    assert results["+ 300 chosen answers"] > results["whoknows"] + 0.03
    assert results["+ 300 chosen answers"] > results["+ 300 random answers"]

    above, below = ranking.low > 0.5, ranking.high < 0.5
    around = ~above & ~below
    assert above[kind == "expert"].all()
    assert below[kind == "liar"].all()
    assert around[kind == "always yes"].all()
    assert around[kind == "random answers"].sum() >= kinds["random answers"] - 1
    assert kind[:3].tolist() + kind[-3:].tolist() == ["expert"] * 3 + ["liar"] * 3
    assert found["missed"] <= 8
    assert found["always_yes"] == [name for name, kind in found["KIND"].items() if kind == "always yes"]

    asked = found["asked_by_kind"]
    assert sum(asked.values()) == 300
    assert asked["random answers"] + asked["always yes"] == 0
    assert asked["expert"] > 100
    assert asked["liar"] > 10


def test_llm_judges(run):
    found = run("llm_judges")
    assert found["by_model"] > found["by_vote"] + 0.03
    estimated, actual = found["estimated"], found["actual"]
    assert np.abs(estimated - actual).mean() < 0.08
    assert (actual[estimated.argmax(axis=0), range(4)] > 0.85).all()  # the experts on each topic
    passes = found["passes_bad"]
    assert max(passes, key=passes.get) == "dune"
    pairs = found["pairs"]
    assert (pairs.first.tolist(), pairs.second.tolist()) == (["atlas"], ["atlas-mini"])
    assert pairs.observed[0] > pairs.expected[0] + 20

    rates, version, is_good = found["rates"], found["version"], found["is_good"]
    share = {name: is_good[version == name].mean() for name in ("new", "old")}
    for name, actual in share.items():
        row = rates.row(name, "good")
        assert rates.low[row] < actual < rates.high[row]
    difference = found["difference"]
    assert 0 < difference.low < share["new"] - share["old"] < difference.high


def test_radiologists(run):
    found = run("radiologists")
    truth = found["truth"][found["to_check"]]
    off = {name: levels - truth for name, levels in found["estimates"].items()}
    mean, without, model = off.values()
    assert np.abs(model).mean() < 0.5 * min(np.abs(mean).mean(), np.abs(without).mean())
    assert (mean > 0).mean() > 10 * (mean < 0).mean()  # nearly all score too high
    assert (model > 0).mean() < 2 * (model < 0).mean()

    assert np.abs(found["severity"] - found["true_severity"]).max() < 0.25
    fatty, dense = found["spread"]
    assert (dense > fatty).all()
    assert fatty.argmax() == dense.argmax() == list(found["READERS"]).index("resident")

    value, low, high, actual = (found[name] for name in ("value", "low", "high", "actual"))
    assert ((low <= value) & (value <= high)).all()
    assert ((low <= actual) & (actual <= high)).all()
    assert (high - low).argmax() == len(value) - 1  # the new reader
    assert value[-1] > actual[-1]  # too optimistic


def test_texts(run):
    found = run("texts")
    vote, labelled, unlabelled = found["accuracy"].values()
    assert labelled > vote + 0.15
    assert unlabelled > 0.8
    assert found["model"].predict(found["tfidf"].transform(found["new"])).tolist() == ["linalg", "stats"]
    for name, topics in found["KNOWS"].items():
        right = dict(zip(found["TOPICS"], np.diag(found["model"].confusion(name)), strict=True))
        assert min(right[topic] for topic in topics) > max(p for topic, p in right.items() if topic not in topics)


def test_own_classifier(run):
    found = run("own_classifier")
    assert found["on_new"]["trees"] > found["on_new"]["default"] + 0.15
    assert found["log_likelihood"]["trees"] > found["log_likelihood"]["default"]
    assert found["text_accuracy"] > 0.8
    words = found["words"][found["shown"]]
    assert "filter" in words[:10]
    assert "test" in words[10:]


def test_digits(run):
    found = run("digits")
    linear, labelled_only, spectral = found["table"].T
    assert (spectral > labelled_only).all()
    assert (spectral[1:] > linear[1:] + 0.05).all()
    assert found["accuracy"] > 0.85


def test_whom_to_ask(run):
    found = run("whom_to_ask")
    of_cleo = np.array(found["shares"])[:, 2]
    assert (np.diff(of_cleo) <= 0).all()
    assert of_cleo[-1] < of_cleo[0]
    assert found["chosen"][-1] > np.max(found["at_random"], axis=0)[-1]
    assert found["chosen"][-1] > found["chosen"][0] + 0.03


def test_million_items(run):
    found = run("million_items")
    assert found["accuracy"] > 0.95
    ranking, actual = found["ranking"], found["actual"]
    assert np.corrcoef(ranking.expertise, actual)[0, 1] > 0.9
    assert ((ranking.low < actual) & (actual < ranking.high)).mean() > 0.75
