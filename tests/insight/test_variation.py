"""Whether expertise depends on the item is decided once, and every output says the same."""

import html
import json
from functools import cache

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer

from tests.insight.summary_worlds import fitted, split_crowd
from whoknows import Annotations, AutoCrowdClassifier, CrowdClassifier
from whoknows.apps.report.page import page
from whoknows.apps.tumours import SHARE_LABELLED
from whoknows.data.simulate import cluster_experts, constant_accuracies, hide
from whoknows.insight.summary import Summary, summarize
from whoknows.insight.summary.variation import degree_of


def demo_data():
    """The data of `whoknows demo`: five annotators, each an expert on one cluster."""
    tumours = load_breast_cancer()
    X, truth = tumours.data, tumours.target_names[tumours.target]
    labels = cluster_experts(X, truth, n_annotators=5, random_state=0)
    labelled = np.random.default_rng(0).random(len(X)) < SHARE_LABELLED
    return X, Annotations.from_matrix(np.where(labelled[:, None], labels, None))


def flat_crowd(n_items):
    """Four annotators who are equally good on all items."""
    X = np.random.default_rng(2).normal(size=(n_items, 2))
    return X, hide(constant_accuracies(X[:, 0] > 0, [0.9, 0.8, 0.7, 0.7]), seen=0.8)


WORLDS = {
    "experts": lambda: (AutoCrowdClassifier(folds=2, tol=1e-3), *split_crowd()),
    "demo": lambda: (AutoCrowdClassifier(), *demo_data()),
    "flat": lambda: (AutoCrowdClassifier(folds=2, tol=1e-3), *flat_crowd(200)),
    "few labels": lambda: (AutoCrowdClassifier(), *flat_crowd(15)),
    "one model": lambda: (CrowdClassifier("id"), *flat_crowd(60)),
    "no features": lambda: (CrowdClassifier("id", map="linear"), np.zeros((60, 1)), flat_crowd(60)[1]),
}
DEGREES = {
    "experts": "clear",
    "demo": "some signs",
    "flat": "no sign",
    "few labels": "cannot tell",
    "one model": "not tested",
    "no features": "not tested",
}


@cache
def summary_of(world) -> Summary:
    model, X, y = WORLDS[world]()
    return summarize(model.fit(X, y), X, y)


@cache
def report_of(world) -> str:
    return page(summary_of(world))


@pytest.mark.parametrize(("world", "degree"), DEGREES.items())
def test_degree(world, degree):
    assert summary_of(world).given["variation"]["degree"] == degree


@pytest.mark.parametrize("world", WORLDS)
def test_terminal_report_and_json_say_the_same(world):
    summary = summary_of(world)
    sentence = summary.given["variation"]["sentence"]
    assert "expertise" in sentence.lower()
    assert summary.lines().count(sentence) == 1
    assert html.escape(sentence, quote=False) in report_of(world)
    assert json.loads(summary.to_json())["given"]["variation"]["sentence"] == sentence


@pytest.mark.parametrize("world", WORLDS)
def test_regions_are_shown_only_if_the_decision_allows_it(world):
    summary = summary_of(world)
    shown = summary.given["variation"]["regions"]
    regions = [line for line in summary.lines() if " is strong " in line]
    assert shown or not regions
    assert ("<b>Strong</b>" in report_of(world)) == bool(regions)
    assert all(shown or profile["range"] is None for profile in summary.profiles)


@pytest.mark.parametrize("world", ["experts", "demo"])
def test_experts_by_item_have_regions_and_a_map(world):
    summary = summary_of(world)
    assert any(" is strong where " in line for line in summary.lines())
    assert len(summary.map["item"]) == summary.given["n_items"]


def test_one_model_comes_with_a_caveat():
    """Flat annotators of few items look as if they differed, and no label was held out to test it."""
    lines = summary_of("one model").lines()
    (caveat,) = (i for i, line in enumerate(lines) if "may be due to chance" in line)
    assert all(i > caveat for i, line in enumerate(lines) if " is strong " in line)


@pytest.mark.parametrize(
    ("gain", "error", "labels_per_item", "degree"),
    [
        (0.10, 0.03, 3, "clear"),
        (0.040, 0.027, 5, "some signs"),
        (0.02, 0.019, 2, "some signs"),
        (0.01, 0.019, 2, "cannot tell"),  # a relevant gain of 0.04 is still possible
        (-0.03, 0.02, 2, "no sign"),
        (0.0, 0.02, 3, "no sign"),
        (np.nan, np.nan, 3, "cannot tell"),
    ],
)
def test_degree_of_a_gain(gain, error, labels_per_item, degree):
    assert degree_of(gain, error, labels_per_item) == degree


def test_without_held_out_labels_nothing_is_tested():
    model, X, y = fitted("auto")  # selection=False
    variation = summarize(model, X, y).given["variation"]
    assert (variation["degree"], variation["gain"]) == ("not tested", None)


def test_summaries_of_version_0_1_have_a_degree():
    record = json.loads(summary_of("demo").to_json())
    del record["given"]["variation"]
    for varies, degree in ((True, "clear"), (False, "no sign"), (None, "cannot tell")):
        record["given"]["varies"] = varies
        assert Summary.from_json(json.dumps(record)).given["variation"]["degree"] == degree
        record["given"].pop("variation", None)
