"""Charts: which methods they show, and that panels with scales of their own say so."""

import pandas as pd

from benchmarks.paper import charts, figure3, figures45
from benchmarks.paper.summary import with_annotators

METHODS = {"auto": 0.8, "default": 0.78, "gp": 0.7, "vote": 0.6, "annotator-1": 0.5}


def cells(key, first):
    """One fold of each method; the ROC curve of two positive and two negative items."""
    rows = [
        {key[0]: first, "problem": 1, "repeat": 0, "fold": 0, "proportion": 0.2, "method": method}
        | {"accuracy": accuracy, "auc": accuracy, "order": "1010"}
        for method, accuracy in METHODS.items()
    ]
    return pd.DataFrame(rows)


def subtitle(chart):
    return " ".join(chart.to_dict()["title"]["subtitle"])


def test_roc_curves_show_gp_and_the_default_classifier():
    chart = charts.figure5_chart(cells(figures45.KEY, "colposcopy"), charts.OF_ROC)
    rows = [row for data in chart.to_dict()["datasets"].values() for row in data]
    drawn = {row["name"] for row in rows if {"true", "name"} <= set(row)}
    ours = {"whoknows (auto)", "CrowdClassifier()", "GP, scaled"}
    assert drawn == {*ours, "majority vote", "single annotator, mean"}
    assert "own vertical scale" not in subtitle(chart)  # all panels go from 0 to 1


def test_panels_with_scales_of_their_own_say_so():
    made = with_annotators(cells(figure3.KEY, "bupa"), figure3.KEY[:-1])
    chart = charts.figure3_chart(made, "accuracy", charts.AGAINST, "Accuracy")
    assert subtitle(chart).endswith(charts.OWN_SCALE)
    made = with_annotators(cells(figures45.KEY, "colposcopy"), figures45.KEY[:-1])
    assert subtitle(charts.figure4_chart(made, "accuracy", charts.AGAINST)).endswith(charts.OWN_SCALE)


def test_every_look_is_distinct():
    for looks in (charts.AGAINST, charts.OF_ROC, charts.VARIANTS):
        assert len({(look.colour, look.shape, look.dash) for look in looks.values()}) == len(looks)
