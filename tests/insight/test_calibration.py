"""Calibration: left-out labels agree with the consensus as often as a right model expects."""

import numpy as np
import pytest

from tests.insight.summary_worlds import KINDS, fitted, summary_of
from whoknows import Annotations, CrowdClassifier
from whoknows.apps.report import page
from whoknows.data.simulate import constant_accuracies, hide
from whoknows.insight.rates.hidden_gold import posterior_without_own_gold
from whoknows.insight.summary import summarize

SEVERAL = [kind for kind in KINDS if kind != "alone"]


@pytest.mark.parametrize("kind", SEVERAL)
def test_labels_are_counted_and_explained(kind):
    facts = summary_of(kind).answer["calibration"]
    _, _, y = fitted(kind)
    several = y.labels_per_item > 1
    assert facts["n_labels"] == np.minimum(y.labels_per_item[several], 5).sum()
    assert "without this label" in facts["explanation"]
    assert "expected." in facts["finding"]
    if kind == "numbers":
        assert facts["bins"] is None
        assert facts["expected"] == 0.9
    else:
        assert sum(facts["bins"]["n_labels"]) == facts["n_labels"]


def test_without_a_second_label_there_is_no_comparison():
    assert summary_of("alone").answer["calibration"] == {"possible": False}


def world(n_items=300):
    X = np.random.default_rng(0).normal(size=(n_items, 2))
    return X, hide(constant_accuracies(X[:, 0] > 0, [0.9, 0.85, 0.8, 0.75]), seen=0.8)


def test_a_right_model_is_calibrated():
    X, y = world()
    facts = summarize(CrowdClassifier("id", map="linear").fit(X, y), X, y).answer["calibration"]
    assert abs(facts["observed"] - facts["expected"]) < 2 * facts["error"]
    assert "about as often as the model expects" in facts["finding"]


def test_an_overconfident_model_is_found_out():
    """Expertise is overstated: labels agree less often than the model expects."""
    X, y = world()

    class Overconfident(CrowdClassifier):
        def expertise(self, X, annotators=None, **_):
            return np.full((len(X), 4 if annotators is None else len(annotators)), 0.99)

    model = Overconfident("id", map="linear").fit(X, y)
    facts = summarize(model, X, y).answer["calibration"]
    assert facts["observed"] < facts["expected"] - 2 * facts["error"]
    assert "less often than the model expects" in facts["finding"]


def test_a_label_is_compared_with_the_consensus_of_the_others():
    """Three annotators who always agree, but for one label: it contradicts the other two."""
    X = np.linspace(-1, 1, 40)[:, None]
    labels = np.tile(np.arange(40) >= 20, (3, 1)).T.astype(float)
    labels[35, 0] = 0
    model = CrowdClassifier("id", map="linear").fit(X, labels)
    facts = summarize(model, X, Annotations.from_matrix(labels)).answer["calibration"]
    assert facts["n_labels"] == 120
    bins = facts["bins"]
    disagreeing = np.dot(bins["n_labels"], 1 - np.array(bins["observed"]))
    assert 1 <= round(disagreeing) <= 3  # the label itself, and at most those it leaves in a tie


def test_gold_items_show_whether_stated_probabilities_are_right():
    """Each with its own gold hidden: their posterior in the fit is certain, and tells nothing."""
    X, y = world()
    truth, rows = (X[:, 0] > 0).astype(int), np.arange(0, 300, 5)
    gold = {int(row): bool(truth[row]) for row in rows}
    model = CrowdClassifier("id", map="linear").fit(X, y, gold=gold)
    summary = summarize(model, X, y, gold=gold)
    facts = summary.answer["reliability"]
    prob = posterior_without_own_gold(model, X, y, np.where(np.isin(np.arange(300), rows), truth, np.nan), 3, 0)[rows]
    assert facts["n_gold"] == sum(facts["bins"]["n_items"]) == 60
    assert facts["stated"] == pytest.approx(prob.max(axis=1).mean(), abs=1e-5)
    assert facts["right"] == pytest.approx(np.mean(prob.argmax(axis=1) == truth[rows]), abs=1e-5)
    assert facts["low"] <= facts["right"] <= facts["high"]
    assert "on 60 gold items" in facts["finding"]
    drawn = page(summary)
    assert drawn.count("<circle") >= len(facts["bins"]["stated"])
    assert "Is the consensus as often right as it states?" in drawn
    blind = CrowdClassifier("id", map="linear").fit(X, y)  # no gold to hide
    stated = summarize(blind, X, y, gold=gold).answer["reliability"]["stated"]
    assert stated == pytest.approx(blind.posterior_[rows].max(axis=1).mean(), abs=1e-5)
    assert summarize(blind, X, y).answer["reliability"] == {"possible": False}
