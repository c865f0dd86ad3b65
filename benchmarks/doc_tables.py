"""Tables of measurements on pages of the docs, from CSV files, most of them in benchmarks/results/docs.

A table stands between two comments that name its file and the command that measures it, and writes the file.
`python -m benchmarks.page` writes the tables into their pages; `python -m benchmarks.claims` checks them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from benchmarks import doc_summary as summary
from benchmarks.common.cells import Table
from benchmarks.common.command import RESULTS
from benchmarks.common.machine import ROOT, STAMP, stamp
from benchmarks.common.tables import markdown

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


TABLES = {
    "calibration": DocTable(
        "uncertainty.md", "python -m benchmarks.calibration --shares 1,0.33,0.1", summary.of_calibration
    ),
    "intervals_of_classifiers": DocTable(
        "uncertainty.md",
        "python -m benchmarks.coverage classifiers",
        summary.by_mean({"classifier": "classifier"}, summary.INTERVALS),
    ),
    "intervals_of_real_values": DocTable(
        "uncertainty.md",
        "python -m benchmarks.coverage real",
        summary.by_mean(summary.REAL, {"truth of labelled items": ("labelled", 2), "prediction": ("new", 2)}),
    ),
    "prior_variances": DocTable("sharp_bits.md", "python -m benchmarks.classes", summary.of_variances),
    "empty_class": DocTable("sharp_bits.md", "python -m benchmarks.classes", summary.of_empty_class),
    "choice": DocTable("choose_settings.md", "python -m benchmarks.choice", summary.of_choice),
    "capacity": DocTable("auto.md", "python -m benchmarks.capacity", summary.of_capacity),
    "trees": DocTable("any_classifier.md", "python -m benchmarks.capacity", summary.of_trees, "docs/capacity.csv"),
    "ask": DocTable("ask.md", "python -m benchmarks.ask.simulate", summary.of_ask),
    "labels_needed": DocTable("ask.md", "python -m benchmarks.ask.simulate", summary.of_labels_needed, "docs/ask.csv"),
    "rates": DocTable("llm_judges.md", "python -m benchmarks.rates", summary.of_rates),
    "gold": DocTable("llm_judges.md", "python -m benchmarks.gold", summary.of_gold),
    "intervals": DocTable("uncertainty.md", "python -m benchmarks.intervals", summary.of_intervals),
    "update": DocTable("update.md", "python -m benchmarks.speed.update", summary.of_update),
    "graphs": DocTable("how_it_works.md", "python -m benchmarks.speed.graphs", summary.of_graphs),
    "web": DocTable("web.md", "FSYNC=on .ci/postgres python -m benchmarks.web.load", summary.of_web),
    "gpu": DocTable("scale.md", "python -m benchmarks.speed.gpu", summary.of_gpu, "engines.csv"),
    "cluster": DocTable("scale.md", "python -m benchmarks.speed.dask", summary.of_cluster, "engines.csv"),
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
