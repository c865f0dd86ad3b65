"""What a summary says in words is true: warnings, why a vote was overruled, a few lines."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

from tests.insight.summary_worlds import fitted, split_crowd, summary_of
from whoknows import Annotations, AutoCrowdClassifier, CrowdClassifier
from whoknows.insight.summary import summarize
from whoknows.insight.summary.cases import VOICES, Cases
from whoknows.insight.summary.given import one_note, ran_out


def test_warnings_name_who_is_meant():
    X, said = split_crowd(60)
    rows = {"item": [*range(60), 0], "annotator": ["bot"] * 60 + ["rare"], "label": ["yes"] * 60 + ["no"]}
    table = pd.concat([said.to_frame("pandas"), pd.DataFrame(rows)])
    said = Annotations.from_frame(table, items=range(60))
    given = summarize(CrowdClassifier().fit(X, said), X, said).given
    assert any("1 annotator gave fewer than 5 labels (rare)" in text for text in given["warnings"])
    assert "bot said 'yes' on all 60 of their labels, whatever the item." in given["warnings"]


def test_rare_labels_are_counted():
    X, said = split_crowd(60)
    rows = {"item": [0, 1, 2], "annotator": ["anna", "bruno", "chloe"], "label": ["-1"] * 3}
    table = pd.concat([said.to_frame("pandas"), pd.DataFrame(rows)])
    table = table.drop_duplicates(["item", "annotator"], keep="last")
    said = Annotations.from_frame(table, items=range(60))
    given = summarize(CrowdClassifier(map="linear", tol=1e-2).fit(X, said), X, said).given
    assert "The label '-1' was given only 3 times: little is known of it." in given["warnings"]


def crowd_of(n_annotators, labels):
    """Everybody gives ten labels, half of them yes at random; the first gives these."""
    rng = np.random.default_rng(0)
    n = np.array([len(labels), *[10] * (n_annotators - 1)])
    said = np.concatenate([labels, rng.choice(["no", "yes"], n[1:].sum())])
    item = np.concatenate([rng.choice(2000, k, replace=False) for k in n])
    table = {"item": item, "annotator": np.repeat(np.arange(n_annotators), n), "label": said}
    return SimpleNamespace(said=Annotations.from_frame(pd.DataFrame(table)))


def test_nobody_is_accused_of_what_chance_does():
    assert one_note(crowd_of(500, ["yes"] * 10)) == []
    assert one_note(crowd_of(500, ["yes"] * 30)) == [(0, 1, 30)]
    assert one_note(crowd_of(500, ["no"] * 39 + ["yes"])) == [(0, 0, 39)]
    assert one_note(crowd_of(6, ["yes"] * 20)) == [(0, 1, 20)]


def test_a_fit_that_converged_at_the_last_iteration_is_not_blamed():
    X, said = split_crowd(60)
    model = CrowdClassifier(map="linear").fit(X, said)
    model.set_params(max_iter=model.n_iter_)
    assert not ran_out(model)
    model.set_params(tol=0.0)
    assert ran_out(model) == (model.bound_history_[-1] != model.bound_history_[-2])


@pytest.mark.filterwarnings("ignore::whoknows.fit.monitor.DidNotConverge")
@pytest.mark.parametrize("kind", [CrowdClassifier, AutoCrowdClassifier])
def test_a_fit_that_ran_out_of_iterations_is_blamed(kind):
    X, said = split_crowd(60)
    more = {"selection": False} if kind is AutoCrowdClassifier else {}
    model = kind(max_iter=2, **more).fit(X, said)
    warnings = summarize(model, X, said).given["warnings"]
    assert any("stopped after 2 iterations without having converged" in text for text in warnings)


def why(labels, trust, consensus):
    """Say why a vote was overruled: labels of one item as class codes, and how far each is trusted."""
    labels, trust, people = np.array(labels), np.array(trust), np.arange(len(labels))
    classes = np.array(["A", "B", "C"])
    said = SimpleNamespace(
        n_classes=3, annotators=np.array([f"w{t}" for t in people], dtype=object), labels=classes
    )
    vote = np.bincount(labels).argmax()
    fit = SimpleNamespace(kind="classes", said=said, consensus=np.array([consensus]), higher_is_better=True)
    cases = Cases(fit, SimpleNamespace(value=np.array([vote])), None)
    case = cases._voices(trust, people, labels) | {"consensus": classes[consensus], "vote": classes[vote]}
    return " ".join(cases._why(0, case, trust, people, labels))


def test_why_speaks_of_those_who_said_something_else():
    words = why([0, 0, 1, 1, 0], [0.9, 0.79, 0.72, 0.6, 0.55], 1)
    assert "those who said" not in words  # the most trusted is on the other side
    words = why([1, 1, 1, 0, 0], [0.72, 0.6, 0.55, 0.9, 0.79], 0)
    assert "But w3, who is right on 90% of items like this, said “A”" in words
    assert "those who said “B” are right on at most 72%." in words


def test_why_finds_who_backs_the_consensus_even_if_not_listed():
    n = VOICES + 1
    words = why([2] * VOICES + [1] + [0] * n, [0.9] * VOICES + [0.8] + [0.4] * n, 1)
    assert f"But w{VOICES}, who is right on 80% of items like this, said “B”" in words


@pytest.mark.parametrize(("value", "n_features"), [(0.0, 0), (1.0, 1)])
def test_one_feature_that_is_always_the_same(value, n_features):
    _, said = split_crowd(60)
    X = np.full((60, 1), value)
    summary = summarize(CrowdClassifier(map="linear").fit(X, said), X, said)
    assert summary.given["n_features"] == n_features
    assert summary.lines()[0].endswith("1 feature." if n_features else "nothing known about them.")
    assert any("the same for all items" in text for text in summary.given["warnings"]) == bool(n_features)


def test_lines_say_whether_expertise_varies_without_jargon():
    summary = summary_of("classes")
    better, none = "Annotators are better on some items than on others.", "No sign that anyone is better on"
    chosen = ["Weights rest on 40 items.", "The graph carries 30%.", "foretold 0.015 better"]
    for varies in (True, False, None):
        lines = replace(summary, given=summary.given | {"varies": varies, "chosen": chosen}).lines()
        assert (better in lines) == (varies is True)
        assert any(line.startswith(none) for line in lines) == (varies is False)
        assert not any("foretold" in line or "graph" in line for line in lines)


def test_nobody_is_said_to_be_strong_anywhere_before_labels_can_tell():
    summary = summary_of("auto")
    few = replace(summary, given=summary.given | {"varies": None}).lines()
    assert "The labels cannot tell yet whether anyone is better on some items than on others." in few
    assert not any("strong where" in line for line in few)


def test_items_are_not_called_items_twice():
    model, X, said = fitted("classes")
    ids = [f"item{i:03}" for i in range(len(X))]
    (line,) = (line for line in summarize(model, X, said, ids=ids).lines() if line.startswith("Ask next"))
    assert " about item" in line
    assert "item item" not in line
    (line,) = (line for line in summary_of("classes").lines() if line.startswith("Ask next"))
    assert " about item " in line
