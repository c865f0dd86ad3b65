"""Charts of Figs. 3, 4 and 5 and of the gain from unlabelled items, as PNG and SVG.

python -m benchmarks.paper.charts [--out FOLDER]
"""

import argparse
from itertools import product
from pathlib import Path

import altair as alt
import numpy as np
import pandas as pd

from benchmarks.common import charts, sets
from benchmarks.common.charts import Look
from benchmarks.common.command import RESULTS
from benchmarks.common.tables import read
from benchmarks.paper import figure3, figures45, roc, unlabelled
from benchmarks.paper.methods import NAMES
from benchmarks.paper.summary import MEASURES, gains, study_curves, with_annotators

# The paper's methods and ours; then our own variants.
AGAINST = {
    "auto": Look(NAMES["auto"], charts.VERMILION, "circle", (1, 0), 2.4),
    "lgp": Look(NAMES["lgp"], charts.BLUE, "square"),
    "ml-gaussian": Look(NAMES["ml-gaussian"], charts.GREEN, "triangle-up", (7, 3)),
    "tsvm": Look(NAMES["tsvm"], charts.PURPLE, "diamond", (2, 2)),
    "vote": Look(NAMES["vote"], charts.BLACK, "cross", (9, 3, 2, 3)),
    "annotator": Look(NAMES["annotator"], charts.ORANGE, "triangle-down", (4, 4)),
}
OF_ROC = AGAINST | {
    "default": Look(NAMES["default"], charts.SKY, "square", (7, 3)),
    "gp": Look(NAMES["gp"], charts.GREY, "triangle-down", (9, 3, 2, 3)),
}
VARIANTS = {
    "auto": AGAINST["auto"],
    "default": Look(NAMES["default"], charts.ORANGE, "diamond"),
    "lgp-bernoulli": Look(NAMES["lgp-bernoulli"], charts.SKY, "square", (7, 3)),
    "lgp": AGAINST["lgp"],
    "id": Look(NAMES["id"], charts.GREEN, "triangle-up", (2, 2)),
    "gp": Look(NAMES["gp"], charts.PURPLE, "triangle-down", (9, 3, 2, 3)),
}
MODEL_LOOKS = {
    "auto": Look(unlabelled.NAMES["auto"], charts.VERMILION),
    "spectral": Look(unlabelled.NAMES["spectral"], charts.BLUE),
    "default": Look(unlabelled.NAMES["default"], charts.ORANGE),
    "linear": Look(unlabelled.NAMES["linear"], charts.GREY),
}
STUDIES = {"colposcopy": "colposcopy, six physicians", "simulated": "simulated study, 16 problems, five readers"}
OWN_SCALE = "Each panel has its own vertical scale."
CAPITAL = {"accuracy": "Accuracy", "auc": "AUC"}
PERCENT = alt.Axis(format="%", values=[0.2, 0.4, 0.6, 0.8, 1.0])


def share_axis(title="labelled share of training items"):
    return alt.X("proportion:Q", title=title, axis=PERCENT, scale=alt.Scale(domain=[0.07, 1.03], nice=False))


def named(table, looks):
    """Keep the methods that have a look, and add the names of the legend."""
    kept = table[table["method"].isin(list(looks))]
    return kept.assign(name=kept["method"].map({key: look.name for key, look in looks.items()}))


def heading(words):
    return alt.TitleParams(words, fontSize=13, anchor="middle", frame="group")


# --- Fig. 3 ---------------------------------------------------------------------------------------------


def with_bands(cells, measure):
    """Mean per set, proportion and method, and a band of one standard error over repeats × folds."""
    table = cells.groupby(["set", "proportion", "method"])[measure].agg(["mean", "sem"]).reset_index()
    return table.assign(low=table["mean"] - table["sem"], high=table["mean"] + table["sem"])


def figure3_chart(cells, measure, looks, title):
    """One panel per data set, in the order of the paper, and the legend in the eighth place."""
    data, styles = named(with_bands(cells, measure), looks), list(looks.values())
    panels = [
        charts.lines(data[data["set"] == name], styles, share_axis(), "mean", MEASURES[measure], band=True).properties(
            width=235, height=185, title=heading(f"{name} ({shape[0]} items, {shape[1]} features)")
        )
        for name, shape in ((name, sets.EXPECTED[name][0]) for name in sets.PAPER)
        if name in set(data["set"])
    ]
    how = (
        "Five simulated labelers, each an expert on one cluster, wrong 35 % of the time elsewhere. "
        f"{cells['repeat'].nunique()} repeats of stratified 5-fold. Bands: one standard error of the mean. "
        f"{OWN_SCALE}"
    )
    grid = alt.concat(*panels, charts.legend(styles, 235), columns=4, spacing=24)
    return charts.finish(grid, title, [how])


# --- Figs. 4 and 5 --------------------------------------------------------------------------------------


def figure4_chart(cells, measure, looks):
    """One column per study: mean above, standard deviation below if there is one."""
    data, styles = named(study_curves(cells), looks), list(looks.values())
    rows = [("mean", f"{MEASURES[measure]}, mean", 210), ("std", "standard deviation", 130)]
    columns = []
    for study in [study for study in STUDIES if study in set(data["study"])]:
        own = data[data["study"] == study]
        panels = [
            charts.lines(own, styles, share_axis(), f"{measure}_{what}", label, zero=what == "std").properties(
                width=330, height=height, title=heading(STUDIES[study])
            )
            for what, label, height in rows
            if own[f"{measure}_{what}"].notna().any()
        ]
        columns.append(alt.vconcat(*panels, spacing=24))
    how = f"Stratified 5-fold. Standard deviation over repeats (colposcopy) or problems (simulated). {OWN_SCALE}"
    whole = alt.hconcat(*columns, charts.legend(styles, 200), spacing=24)
    return charts.finish(whole, f"{CAPITAL[measure]} in medical studies, after Fig. 4", [how])


def roc_curves(cells):
    """Mean ROC curves per study, proportion and method."""
    kept = cells[cells["order"] != ""]
    rows = []
    for (study, proportion, method), orders in kept.groupby(["study", "proportion", "method"])["order"]:
        curve = pd.DataFrame({"false": roc.GRID, "true": roc.average(orders)})
        rows.append(curve.assign(study=study, proportion=proportion, method=method))
    return pd.concat(rows, ignore_index=True)


def each_annotator_as_one(cells):
    """Treat the curves of all single annotators as those of one method."""
    alone = cells["method"].str.startswith("annotator-")
    return cells.assign(method=cells["method"].mask(alone, "annotator"))


def figure5_chart(cells, looks):
    """ROC curves at three proportions, one row per study."""
    data, styles = named(roc_curves(each_annotator_as_one(cells)), looks), list(looks.values())
    present = [study for study in STUDIES if study in set(data["study"])]
    panels = [
        roc_panel(data[(data["study"] == study) & (data["proportion"] == proportion)], styles).properties(
            width=230, height=230, title=heading(f"{STUDIES[study].split(',')[0]}, {proportion:.0%} labelled")
        )
        for study, proportion in product(present, figures45.ROC_AT)
    ]
    grid = alt.concat(*panels, columns=len(figures45.ROC_AT), spacing=24)
    how = "Mean over folds, repeats and problems of the true positive rate at each false positive rate."
    whole = alt.hconcat(grid, charts.legend(styles, 200), spacing=24)
    return charts.finish(whole, "ROC curves in medical studies, after Fig. 5", [how])


def roc_panel(data, styles):
    """Curves with a mark at every tenth, and the diagonal of random guessing."""
    look = charts.encodings(styles)
    x = alt.X("false:Q", title="false positive rate", scale=alt.Scale(domain=[0, 1]))
    y = alt.Y("true:Q", title="true positive rate", scale=alt.Scale(domain=[0, 1]))
    base = alt.Chart(data).encode(x=x, y=y, color=look["color"])
    line = base.mark_line().encode(strokeDash=look["strokeDash"], strokeWidth=look["strokeWidth"])
    tenths = data[np.isclose((10 * data["false"]) % 1, 0) & data["false"].between(0.05, 0.95)]
    marks = alt.Chart(tenths).mark_point(filled=True, size=30, opacity=1)
    marks = marks.encode(x=x, y=y, color=look["color"], shape=look["shape"])
    coin = alt.Chart(pd.DataFrame({"false": [0, 1], "true": [0, 1]})).mark_line(color="#bbbbbb", strokeWidth=1)
    return coin.encode(x=x, y=y) + line + marks


# --- unlabelled items -----------------------------------------------------------------------------------


def unlabelled_chart(cells, looks):
    """Gain in accuracy from unlabelled items, one panel per data set."""
    data = named(gains(cells), looks)
    data = data.assign(gain=100 * data["gain"], low=100 * (data["gain"] - data["error"]))
    data = data.assign(high=data["gain"] + (data["gain"] - data["low"]), labelled=data["labelled"].astype(str))
    panels = [
        bars(data[data["set"] == name], looks, [str(count) for count in counts]).properties(
            width=190, height=170, title=heading(name)
        )
        for name, counts in unlabelled.LABELLED.items()
        if name in set(data["set"])
    ]
    grid = alt.concat(*panels, columns=5, spacing=20)
    least, most = data["pairs"].min(), data["pairs"].max()
    how = (
        "The same model and labels, with minus without the unlabelled items. Bars: mean over "
        f"{most if least == most else f'{least} to {most}'} draws; lines: one standard error. "
        f"{OWN_SCALE}"
    )
    return charts.finish(grid, "Gain in accuracy from unlabelled items", [how])


def bars(data, looks, order):
    """One group of bars per number of labelled items."""
    names = [look.name for look in looks.values()]
    colour = alt.Color(
        "name:N",
        scale=alt.Scale(domain=names, range=[look.colour for look in looks.values()]),
        legend=alt.Legend(title=None, orient="bottom", direction="horizontal", labelFontSize=12),
    )
    x = alt.X("labelled:N", sort=order, title="labelled items", axis=alt.Axis(labelAngle=0))
    offset = alt.XOffset("name:N", sort=names)
    base = alt.Chart(data).encode(x=x, xOffset=offset)
    bar = base.mark_bar().encode(
        y=alt.Y("gain:Q", title="points of accuracy", axis=alt.Axis(labelFlush=True)), color=colour
    )
    error = base.mark_rule(color=charts.BLACK, strokeWidth=1.2).encode(y=alt.Y("low:Q"), y2="high:Q")
    zero = alt.Chart(pd.DataFrame({"y": [0]})).mark_rule(color=charts.BLACK, strokeWidth=0.8).encode(y="y:Q")
    return bar + error + zero


def main():
    command = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    command.add_argument(
        "--out", type=Path, default=RESULTS / "paper", metavar="FOLDER", help="folder of the CSV files"
    )
    folder = command.parse_args().out
    if (folder / "figure3.csv").exists():
        cells = with_annotators(read(folder / "figure3.csv", figure3.KEY), figure3.KEY[:-1])
        for measure, looks, stem, title in [
            ("accuracy", AGAINST, "figure3", "Accuracy on the paper's seven data sets, after Fig. 3"),
            ("auc", AGAINST, "figure3_auc", "AUC on the paper's seven data sets"),
            ("accuracy", VARIANTS, "figure3_models", "The paper's models and ours"),
        ]:
            charts.save(figure3_chart(cells, measure, looks, title), folder / stem)
    if (folder / "figures45.csv").exists():
        raw = read(folder / "figures45.csv", figures45.KEY)
        cells = with_annotators(raw, figures45.KEY[:-1])
        charts.save(figure4_chart(cells, "accuracy", AGAINST), folder / "figure4")
        charts.save(figure4_chart(cells, "auc", AGAINST), folder / "figure4_auc")
        charts.save(figure5_chart(raw, OF_ROC), folder / "figure5")
    if (folder / "unlabelled.csv").exists():
        cells = read(folder / "unlabelled.csv", unlabelled.KEY)
        charts.save(unlabelled_chart(cells, MODEL_LOOKS), folder / "unlabelled")


if __name__ == "__main__":
    main()
