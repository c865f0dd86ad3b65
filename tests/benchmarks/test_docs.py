"""Benchmarks whose tables are on pages of the docs give the rows that the tables show."""

import numpy as np
import pandas as pd
import pytest

from benchmarks import doc_summary, gold, rates
from benchmarks.ask import simulate
from benchmarks.speed import graphs, update


def table(function, rows, **columns):
    return function(pd.DataFrame(rows).assign(**columns)).reset_index()


def test_rows_of_graphs_become_means_with_standard_errors():
    rows = [row | {"set": "digits"} for seed in range(2) for row in graphs.work(("digits", seed), ["exact", "anchors"])]
    assert set(rows[0]) == {"set", "graph", *graphs.VALUES}
    shown = table(doc_summary.of_graphs, rows)
    assert shown["graph"].tolist() == ["exact", "anchors"]
    assert shown["GP"].str.fullmatch(r"\.\d{3} \(\.\d{3}\)").all()


@pytest.mark.filterwarnings("ignore::whoknows.DidNotConverge")
def test_an_update_has_a_row_per_model():
    rows = update.work((60, 0.1, 0, 1e-3), list(update.MODELS))
    assert all(set(row) == {"model", *update.VALUES} for row in rows)
    shown = table(doc_summary.of_update, rows, items=60, share=0.1)
    assert shown["model"].tolist() == list(update.MODELS)
    assert set(shown["new"]) == {"10 %"}


def test_labels_needed_are_those_at_which_a_curve_reaches_the_last_accuracy_of_random_pairs(monkeypatch):
    monkeypatch.setattr(simulate, "BUDGETS", range(50, 101, 25))
    rows = simulate.work((0,), ["random"])
    assert [key for key in rows[0] if key.isdecimal()] == ["50", "75", "100"]
    curves = {"random": [0.5, 0.6, 0.8], "suggest": [0.5, 0.8, 0.7], "uncertainty": [0.5, 0.5, 0.7]}
    made = [
        {"seed": 0, "strategy": name} | dict(zip(("50", "75", "1000"), curve, strict=True))
        for name, curve in curves.items()
    ]
    shown = table(doc_summary.of_labels_needed, made)
    assert shown["median"].tolist() == ["75", "1000", "never"]


def test_studies_are_split_by_how_good_the_judges_are():
    made = [dict(zip(rates.VALUES, row, strict=True)) for row in ((1, 0.5, 0.95), (0, 0.9, 0.8))]
    shown = table(doc_summary.of_rates, made, gold=10, prediction="votes")
    assert shown.to_numpy().tolist() == [[10, "votes", ".50", "1.00", ".00", ".70", ".50", ".90"]]


def test_consensus_is_shown_by_world_and_method():
    made = [
        {"world": world, "features": "noise", "method": method, "consensus": value}
        for world, method, value in (("hard", "vote", 0.8), ("trap", "vote", 0.5), ("trap", "LR of x", np.nan))
    ]
    shown = table(doc_summary.of_gold, made)
    assert [text.partition(",")[0] for text in shown["judges"]] == [
        "one good judge",
        "a quarter of the items misleads most; x is noise",
    ]
    assert set(doc_summary.JUDGES) == set(gold.WORLDS)
