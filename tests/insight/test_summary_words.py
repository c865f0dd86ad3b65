"""What a summary says in words is true: warnings, why a vote was overruled, a few lines."""

from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

from tests.insight.summary_worlds import fitted, split_crowd, summary_of
from whoknows import Annotations, AutoCrowdClassifier, CrowdClassifier
from whoknows.insight.summary import summarize
from whoknows.insight.summary.builder import has_not_converged
from whoknows.insight.summary.categorical import CategoricalFit, constant_annotators
from whoknows.insight.summary.items import MAX_VOICES


def test_warnings_name_who_is_meant():
    X, said = split_crowd(60)
    rows = {"item": [*range(60), 0], "annotator": ["bot"] * 60 + ["rare"], "label": ["yes"] * 60 + ["no"]}
    table = pd.concat([said.to_frame("pandas"), pd.DataFrame(rows)])
    said = Annotations.from_frame(table, items=range(60))
    given = summarize(CrowdClassifier().fit(X, said), X, said).given
    assert any("1 annotator gave fewer than 5 labels (rare)" in text for text in given["warnings"])
    assert "bot said 'yes' for all 60 items they labelled." in given["warnings"]


def test_rare_labels_are_counted():
    X, said = split_crowd(60)
    rows = {"item": [0, 1, 2], "annotator": ["anna", "bruno", "chloe"], "label": ["-1"] * 3}
    table = pd.concat([said.to_frame("pandas"), pd.DataFrame(rows)])
    table = table.drop_duplicates(["item", "annotator"], keep="last")
    said = Annotations.from_frame(table, items=range(60))
    given = summarize(CrowdClassifier(map="linear", tol=1e-2).fit(X, said), X, said).given
    assert "The label '-1' was given only 3 times, so little can be learned about it." in given["warnings"]


def crowd_of(n_annotators, labels):
    """Everybody gives ten labels, half of them yes at random; the first gives these."""
    rng = np.random.default_rng(0)
    n = np.array([len(labels), *[10] * (n_annotators - 1)])
    said = np.concatenate([labels, rng.choice(["no", "yes"], n[1:].sum())])
    item = np.concatenate([rng.choice(2000, k, replace=False) for k in n])
    table = {"item": item, "annotator": np.repeat(np.arange(n_annotators), n), "label": said}
    return Annotations.from_frame(pd.DataFrame(table))


def test_nobody_is_accused_of_what_chance_does():
    assert constant_annotators(crowd_of(500, ["yes"] * 10)) == []
    assert constant_annotators(crowd_of(500, ["yes"] * 30)) == [(0, 1, 30)]
    assert constant_annotators(crowd_of(500, ["no"] * 39 + ["yes"])) == [(0, 0, 39)]
    assert constant_annotators(crowd_of(6, ["yes"] * 20)) == [(0, 1, 20)]


def test_a_fit_that_converged_at_the_last_iteration_is_not_blamed():
    X, said = split_crowd(60)
    model = CrowdClassifier(map="linear").fit(X, said)
    model.set_params(max_iter=model.n_iter_)
    assert not has_not_converged(model)
    model.set_params(tol=0.0)
    assert has_not_converged(model) == (model.bound_history_[-1] != model.bound_history_[-2])


@pytest.mark.filterwarnings("ignore::whoknows.fit.monitor.DidNotConverge")
@pytest.mark.parametrize("kind", [CrowdClassifier, AutoCrowdClassifier])
def test_a_fit_that_ran_out_of_iterations_is_blamed(kind):
    X, said = split_crowd(60)
    more = {"selection": False} if kind is AutoCrowdClassifier else {}
    model = kind(max_iter=2, **more).fit(X, said)
    warnings = summarize(model, X, said).given["warnings"]
    assert any("did not converge within 2 iterations" in text for text in warnings)


def why(labels, skill, consensus):
    """Explain an overruled vote: labels of one item as class codes, and how skilled each annotator is."""
    labels, skill, annotators = np.array(labels), np.array(skill), np.arange(len(labels))
    classes = np.array(["A", "B", "C"])
    said = Annotations.from_matrix([classes[labels]], annotators=[f"w{t}" for t in annotators], labels=["A", "B", "C"])
    model = SimpleNamespace(posterior_=np.eye(3)[[consensus]], annotators_=said.annotators, classes_=classes)
    fit = CategoricalFit(model, np.zeros((1, 1)), said)
    case = {name: column[0] for name, column in fit.consensus_columns().items()}
    return " ".join(fit.explanation(0, case, skill, annotators, labels))


def test_why_speaks_of_those_who_said_something_else():
    words = why([0, 0, 1, 1, 0], [0.9, 0.79, 0.72, 0.6, 0.55], 1)
    assert "those who said" not in words  # the most trusted is on the other side
    words = why([1, 1, 1, 0, 0], [0.72, 0.6, 0.55, 0.9, 0.79], 0)
    assert "But w3, who is right on 90% of items like this, said “A”" in words
    assert "those who said “B” are right on at most 72%." in words


def test_why_finds_who_backs_the_consensus_even_if_not_listed():
    n = MAX_VOICES + 1
    words = why([2] * MAX_VOICES + [1] + [0] * n, [0.9] * MAX_VOICES + [0.8] + [0.4] * n, 1)
    assert f"But w{MAX_VOICES}, who is right on 80% of items like this, said “B”" in words


@pytest.mark.parametrize(("value", "n_features"), [(0.0, 0), (1.0, 1)])
def test_one_feature_that_is_always_the_same(value, n_features):
    _, said = split_crowd(60)
    X = np.full((60, 1), value)
    summary = summarize(CrowdClassifier(map="linear").fit(X, said), X, said)
    assert summary.given["n_features"] == n_features
    assert summary.lines()[0].endswith("1 feature." if n_features else "no features.")
    assert any("the same for all items" in text for text in summary.given["warnings"]) == bool(n_features)


def test_items_are_not_called_items_twice():
    model, X, said = fitted("classes")
    ids = [f"item{i:03}" for i in range(len(X))]
    (line,) = (line for line in summarize(model, X, said, ids=ids).lines() if line.startswith("Ask next"))
    assert " about item" in line
    assert "item item" not in line
    (line,) = (line for line in summary_of("classes").lines() if line.startswith("Ask next"))
    assert " about item " in line
