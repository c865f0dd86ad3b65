"""Charts of crowds.csv, accuracy of consensus and classifier against labelled share, as PNG and SVG.

python -m benchmarks.crowds.charts [--out FOLDER]
"""

import argparse
from itertools import product
from pathlib import Path

import altair as alt
import pandas as pd

from benchmarks.common import charts
from benchmarks.common.charts import Look
from benchmarks.common.command import RESULTS
from benchmarks.common.tables import read
from benchmarks.crowds.cases import KEY, SETS, SHARES
from benchmarks.crowds.methods import METHODS
from benchmarks.crowds.summary import BOTH, errors, means

LOOKS = [  # one colour per family, one shape per method
    Look("AutoCrowdClassifier", charts.VERMILION, "circle", (1, 0), 2.8),
    Look("CrowdClassifier", charts.ORANGE, "square", (1, 0), 2.2),
    Look("majority vote + LR", charts.GREY, "cross", (2, 2)),
    Look("majority vote + tuned LR", charts.GREY, "circle", (1, 0)),
    Look("Dawid-Skene + LR", charts.GREY, "diamond", (7, 3)),
    Look("Dawid-Skene + tuned LR", charts.GREY, "square", (9, 3, 2, 3)),
    Look("crowd-kit DawidSkene", charts.BLUE, "triangle-up", (1, 0)),
    Look("crowd-kit OneCoin", charts.BLUE, "triangle-down", (4, 3)),
    Look("crowd-kit GLAD", charts.SKY, "triangle-right", (1, 0)),
    Look("crowd-kit MACE", charts.SKY, "triangle-left", (4, 3)),
    Look("CROWDLAB", charts.GREEN, "square", (9, 3, 2, 3)),
    Look("CROWDLAB + tuned LR", charts.GREEN, "triangle-up", (1, 0)),
    Look("AnnotatorLogisticRegression", charts.PURPLE, "diamond", (7, 3)),
]
WIDTH, HEIGHT = 200, 190


def curves(rows: pd.DataFrame) -> pd.DataFrame:
    """One row per point: set, share, what, name, accuracy, low, high; none if a draw is missing."""
    parts = []
    for what in BOTH:
        table = means(rows, f"{what}_accuracy").stack().dropna().rename("accuracy").to_frame()
        error = errors(rows, f"{what}_accuracy").stack().reindex(table.index).fillna(0.0)
        table = table.assign(low=table["accuracy"] - error, high=table["accuracy"] + error).reset_index()
        parts.append(table.rename(columns={"method": "name"}).assign(what=what))
    return pd.concat(parts, ignore_index=True)


def panel(data: pd.DataFrame, name: str, what: str) -> alt.LayerChart:
    """Lines and points of one data set, with this library's on top."""
    look, words = charts.encodings(LOOKS), f"accuracy of the {what}"
    x = alt.X(
        "share:Q",
        title="labelled share of items",
        scale=alt.Scale(type="log", domain=[0.088, 1.13], nice=False),
        axis=alt.Axis(values=list(SHARES), format="%"),
    )
    axis = alt.Axis(tickCount=5, format=".3~f")
    y = alt.Y("accuracy:Q", title=words, scale=alt.Scale(zero=False, nice=False, padding=10), axis=axis)
    layers = []
    for ours in (False, True):
        rows = data[[METHODS[method].ours == ours for method in data["name"]]]
        base = alt.Chart(rows).encode(x=x, y=y, color=look["color"])
        line = base.mark_line().encode(strokeDash=look["strokeDash"], strokeWidth=look["strokeWidth"])
        bar = base.mark_rule(opacity=0.7, strokeWidth=1.6).encode(y=alt.Y("low:Q", title=words), y2="high:Q")
        layers += [bar, line, base.mark_point(filled=True, size=44, opacity=1).encode(shape=look["shape"])]
    title = alt.TitleParams(name.replace("_", " "), fontSize=13, anchor="middle")
    return alt.layer(*layers).properties(width=WIDTH, height=HEIGHT, title=title)


def chart(rows: pd.DataFrame) -> alt.TopLevelMixin:
    """One column per data set; consensus in the first row, classifier in the second."""
    data = curves(rows)
    names = [name for name in SETS if name in set(data["set"])]
    panels = [
        panel(data[(data["set"] == name) & (data["what"] == what)], name, what) for what, name in product(BOTH, names)
    ]
    grid = alt.concat(*panels, columns=len(names), spacing=20).resolve_scale(y="independent")
    how = (
        "Consensus: labelled items. Classifier: items without labels. Mean over draws; bars: one standard "
        "error. Methods that failed, exceeded the time limit or are not installed have no point. "
        "Each panel has its own vertical scale."
    )
    shown = [look for look in LOOKS if look.name in set(data["name"])]
    whole = alt.hconcat(grid, charts.legend(shown, 230), spacing=24)
    return charts.finish(whole, "Real crowds: accuracy against labelled share", [how])


def main():
    command = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    command.add_argument("--out", type=Path, default=RESULTS, metavar="FOLDER", help="folder of crowds.csv")
    folder = command.parse_args().out
    charts.save(chart(read(folder / "crowds.csv", KEY)), folder / "crowds")


if __name__ == "__main__":
    main()
