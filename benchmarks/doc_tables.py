"""Tables of measurements on pages of the docs, from CSV files, most of them in benchmarks/results/docs.

A table stands between two comments that name its file and the command that measures it, and writes the file.
`python -m benchmarks.page` writes the tables into their pages; `python -m benchmarks.claims` checks them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from benchmarks.common.cells import Table
from benchmarks.common.command import RESULTS
from benchmarks.common.machine import ROOT, STAMP, stamp
from benchmarks.common.tables import fixed, markdown

DOCS = ROOT / "docs"
FOLDER = "docs"  # in the folder of results
END = "<!-- End of the table {name}. -->\n"


@dataclass(frozen=True)
class DocTable:
    """A table on a page of the docs.

    Attributes
    ----------
    page : str
        Name of the page.
    command : str
        Command that measures, and writes the rows.
    table : callable(rows) → table of texts
        What the page shows of the rows; the index is the first column.
    file : str, optional
        CSV file in the folder of results. Default: the one of its name in the folder docs.
    """

    page: str
    command: str
    table: Callable[[pd.DataFrame], pd.DataFrame]
    file: str = ""


def store(name: str, rows: Iterable[Mapping[str, Any]], results: Path = RESULTS) -> None:
    """Write the rows of a table, with the commit and the machine that they were measured at."""
    file = results / FOLDER / f"{name}.csv"
    file.parent.mkdir(parents=True, exist_ok=True)
    pd.DataFrame(list(rows)).assign(**stamp()).to_csv(file, index=False, float_format="%.6g")


def cells(name: str, key: tuple[str, ...], values: tuple[str, ...], results: Path = RESULTS) -> Table:
    """Return the file of a table whose rows are written as they are computed: see `benchmarks.common.cells`."""
    return Table(results / FOLDER / f"{name}.csv", key, (*values, *STAMP, "error"))


def share(value: float, digits: int = 2) -> str:
    """Format a share as the docs do: .93."""
    return "" if np.isnan(value) else fixed(value, digits).removeprefix("0")


def by_mean(keys: Mapping[str, str], cells: Mapping[str, tuple[str, int]]) -> Callable[[pd.DataFrame], pd.DataFrame]:
    """Return what shows the mean of columns for each combination of others, in the order of the rows.

    Parameters
    ----------
    keys : mapping from heading to column
    cells : mapping from heading to column and number of digits
    """

    def table(rows: pd.DataFrame) -> pd.DataFrame:
        means = rows.groupby(list(keys.values()), sort=False)[[column for column, _ in cells.values()]].mean()
        shown = means.index.to_frame(index=False).astype(str).set_axis(list(keys), axis=1)
        for heading, (column, digits) in cells.items():
            shown[heading] = [share(value, digits) for value in means[column]]
        return shown.set_index(next(iter(keys)))

    return table


def of_choice(rows: pd.DataFrame) -> pd.DataFrame:
    """How often the better of two settings was chosen, by each way to hold out labels."""
    groups = rows.groupby(["question", "items"], sort=False)
    shown = groups[["n_labels"]].mean().round().astype(int).rename(columns={"n_labels": "labels, about"})
    names = {"by_item": "`ItemFolds`", "given_others": "`ItemFolds`, given others", "by_label": "`AnnotationFolds`"}
    shown = shown.join(groups[list(names)].sum().astype(int).rename(columns=names))
    shown.index = pd.Index([f"{what}, {n} items" for what, n in shown.index], name="simulated crowd")
    return shown


def of_variances(rows: pd.DataFrame) -> pd.DataFrame:
    """Accuracy, stated probability and log-loss by prior variance."""
    rows = rows.assign(variance=rows["variance"].astype(int))
    wide = rows.pivot_table(index="set", columns="variance", values=["accuracy", "stated", "log_loss"])
    lines = {
        "digits, 60: accuracy": ("accuracy", "digits", 3),
        "digits, 60: mean stated probability": ("stated", "digits", 2),
        **{f"{name}, {n}: log-loss": ("log_loss", name, 2) for name, n in (("digits", 60), ("wine", 50), ("iris", 50))},
    }
    cells = [[share(value, digits) for value in wide.loc[name, what]] for what, name, digits in lines.values()]
    index = pd.Index(list(lines), name="data, labelled items; variance")
    return pd.DataFrame(cells, index, wide["accuracy"].columns)


def of_empty_class(rows: pd.DataFrame) -> pd.DataFrame:
    """Accuracy with two classes, and with a third one that nobody uses."""
    settings = {
        "two": "two classes",
        "three": "a third, empty class",
        "bernoulli": 'the same, `annotators="bernoulli"`',
    }
    lines = {}
    for setting, name in settings.items():
        lost = rows[f"new_{setting}"] - rows["new_two"]
        error = 100 * lost.std(ddof=1) / np.sqrt(len(rows))
        points = "" if setting == "two" else f"{fixed(100 * lost.mean(), 1, '+')} ± {fixed(error, 1)}"
        means = (share(rows[f"{what}_{setting}"].mean(), 3) for what in ("new", "consensus"))
        lines[name] = [*means, points]
    names = ["accuracy on new items", "accuracy of the consensus", "new items, points"]
    return pd.DataFrame.from_dict(lines, orient="index", columns=names).rename_axis("declared classes")


def of_calibration(rows: pd.DataFrame) -> pd.DataFrame:
    """Share that is right and mean stated probability, of consensus and classifier."""
    rows = rows[rows["method"] == "CrowdClassifier"]
    wide = rows.pivot_table(index=["set", "share"], columns="what", values=["right", "stated"], sort=False)
    shown = pd.DataFrame({"labelled items": [f"{100 * part:.0f} %" for _, part in wide.index]}, index=wide.index)
    for what, name in (("consensus", "consensus"), ("classifier", "`predict`")):
        for value in ("right", "stated"):
            shown[f"{name} {value}"] = [share(cell, 3) for cell in wide[value, what]]
    return shown.droplevel("share").rename_axis("crowd")


WORLDS = {
    "sin": "waves, products and steps",
    "clusters": "64 clusters that overlap",
    "cells": "200 clusters far apart",
    "checker": "checkerboard, 5 × 5",
    "phoneme": "phoneme",
}


def of_capacity(rows: pd.DataFrame) -> pd.DataFrame:
    """Accuracy of consensus and of new items by method and world."""
    rows = rows[~rows["method"].isin(TREES)]
    means = rows.groupby(["method", "world"], sort=False)[["consensus", "classifier"]].mean()
    shown = pd.DataFrame(index=pd.Index(rows["method"].unique(), name="method"))
    for world in (name for name in WORLDS if name in set(rows["world"])):
        each = means.xs(world, level="world").reindex(shown.index)
        cells = (f"{share(consensus, 3)} / {share(new, 3)}" for consensus, new in each.to_numpy())
        shown[WORLDS[world]] = ["" if cell == " / " else cell for cell in cells]
    return shown


TREES = {
    "Dawid-Skene + trees without early stopping": "Dawid and Skene",
    "CrowdClassifier(truth=trees)": "`truth=trees`",
}


def of_trees(rows: pd.DataFrame) -> pd.DataFrame:
    """The trees inside our model beside trees that a posterior teaches."""
    wide = rows[rows["method"].isin(TREES)].pivot_table(
        index="world", columns="method", aggfunc="mean", values=["consensus", "classifier"]
    )
    worlds = [name for name in WORLDS if name in wide.index]
    shown = pd.DataFrame(index=pd.Index([WORLDS[name] for name in worlds], name="crowd"))
    for what, heading in (("consensus", "labelled items: {}"), ("classifier", "new items: {}")):
        for method, name in TREES.items():
            shown[heading.format(name)] = [share(value, 3) for value in wide.loc[worlds, (what, method)]]
    counted = rows[rows["method"].isin(TREES)].groupby("world")["seed"].nunique()
    shown["draws"] = [str(counted[name]) for name in worlds]
    return shown


def of_gpu(rows: pd.DataFrame) -> pd.DataFrame:
    """Seconds on a GPU."""
    rows = rows[rows["engine"] == "gpu"]
    what = {"pass over all items": "the pass over all items for the anchor graph"}
    what |= {"default fit": "the default fit, including the selection of members and the posterior of all items"}
    cells = {
        "items": [f"{int(n):,}".replace(",", " ") for n in rows["items"]],
        "seconds": [fixed(value, 2 if value < 1 else 1) for value in rows["seconds"]],
        "note": rows["note"].tolist(),
    }
    return pd.DataFrame(cells, index=rows["measurement"].replace(what).rename("on one H200"))


def of_cluster(rows: pd.DataFrame) -> pd.DataFrame:
    """Seconds and costs of an iteration on a cluster."""
    rows = rows[rows["engine"] == "dask"]
    cells = {"seconds": [f"{value:g}" for value in rows["seconds"]], "note": rows["note"].fillna("").tolist()}
    return pd.DataFrame(cells, index=rows["measurement"].rename('one iteration of `solver="vb"`'))


INTERVALS = {"coverage": ("covered", 2), "mean width": ("width", 2), r"mean error of p(z \| x)": ("error", 2)}
REAL = {"items": "n_items", "annotators": "n_annotators", "labels per item": "per_item"}
TABLES = {
    "calibration": DocTable("uncertainty.md", "python -m benchmarks.calibration --shares 1,0.33,0.1", of_calibration),
    "intervals_of_classifiers": DocTable(
        "uncertainty.md", "python -m benchmarks.coverage classifiers", by_mean({"classifier": "classifier"}, INTERVALS)
    ),
    "intervals_of_real_values": DocTable(
        "uncertainty.md",
        "python -m benchmarks.coverage real",
        by_mean(REAL, {"truth of labelled items": ("labelled", 2), "prediction": ("new", 2)}),
    ),
    "prior_variances": DocTable("sharp_bits.md", "python -m benchmarks.classes", of_variances),
    "empty_class": DocTable("sharp_bits.md", "python -m benchmarks.classes", of_empty_class),
    "choice": DocTable("choose_settings.md", "python -m benchmarks.choice", of_choice),
    "capacity": DocTable("auto.md", "python -m benchmarks.capacity", of_capacity),
    "trees": DocTable("any_classifier.md", "python -m benchmarks.capacity", of_trees, "docs/capacity.csv"),
    "gpu": DocTable("scale.md", "python -m benchmarks.speed.gpu", of_gpu, "engines.csv"),
    "cluster": DocTable("scale.md", "python -m benchmarks.speed.dask", of_cluster, "engines.csv"),
}


def file_of(name: str, results: Path = RESULTS) -> Path:
    """Return the CSV file of a table."""
    return results / (TABLES[name].file or f"{FOLDER}/{name}.csv")


def rows_of(name: str, results: Path = RESULTS) -> pd.DataFrame:
    """Return the rows of a table that have a result."""
    rows = pd.read_csv(file_of(name, results))
    return rows[rows["error"].isna()] if "error" in rows else rows


def start_of(name: str) -> str:
    """Return the comment above a table."""
    file = file_of(name).relative_to(ROOT).as_posix()
    return f"<!-- Table {name}: from {file}, which `{TABLES[name].command}` writes. -->\n"


def with_tables(page: str, text: str, results: Path = RESULTS) -> str:
    """Return the text of a page with the tables that follow from the CSV files."""
    for name, each in TABLES.items():
        if each.page == page:
            before, start, rest = text.partition(start_of(name))
            _, end, after = rest.partition(END.format(name=name))
            if not (start and end):
                raise ValueError(f"{page} has no line {start_of(name).strip()} followed by {END.format(name=name)}")
            shown = markdown(each.table(rows_of(name, results)))
            text = f"{before}{start}\n{shown}\n\n{end}{after}"
    return text


def pages(results: Path = RESULTS) -> dict[Path, str]:
    """Return the text of each page that has such tables."""
    files = {DOCS / each.page for each in TABLES.values()}
    return {file: with_tables(file.name, file.read_text("utf-8"), results) for file in sorted(files)}
