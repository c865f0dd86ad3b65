"""Tables of speed.csv as markdown: the cells, and how cost grows with items and annotators."""

import numpy as np
import pandas as pd

from benchmarks.common.machine import STAMP
from benchmarks.common.tables import fixed, markdown
from benchmarks.crowds.measure import LATE
from benchmarks.speed.worlds import WORLDS

METHOD = "AutoCrowdClassifier"
KEY = ("world", "method")
SIZES = ("n_items", "n_labels", "n_annotators", "n_classes", "n_features")
COST = ("seconds", "cpu_seconds", "limit", "peak_mb", "data_mb", "product_seconds", "pass_seconds", "reads")
VALUES = (*SIZES, *COST, "iterations", "consensus", "classifier", "ceiling", "version", *STAMP, "error")
IN_MEMORY, ON_DISK = ("all-100k", "all-1m"), "all-10m"
UNLABELLED = (*IN_MEMORY, ON_DISK)  # data sets in which most items have no labels
GROWTH = {
    "labels, five per item": ("n_labels", ("labelled-10k", "labelled-100k", "labelled-1m")),
    "annotators, 500 000 labels": ("n_annotators", ("annotators-5", "labelled-100k", "annotators-2000")),
    "items, 100 000 labels": ("n_items", UNLABELLED),
}
HOW = f"""\
Simulated data: five clusters of items, a logistic truth, annotators whose accuracy differs between clusters,
and five labels per labelled item. (embeddings-2k-clusters has ten clusters, each of one class.) Each row of the
first table is one fit of `AutoCrowdClassifier` with default settings, including the selection of members. Every
fit has its own process and one thread.

- *s*: wall-clock seconds. *CPU s*: CPU seconds, which depend less on other programs.
- *MB*: peak memory above what the process held after its imports. *Data MB*: features (float32) and labels.
  They are part of MB, except for {ON_DISK} and disk-10m, whose features are read from Parquet files.
- *Consensus*, *classifier*: accuracy on the labelled items and on 5 000 new items. *Bayes*: accuracy of the
  Bayes classifier on the new items.
- *× product*: CPU s relative to the matrix product X @ anchors' (400 anchors, in blocks), measured in the
  same process. The product is a lower bound for one pass over all items."""


def exponent(sizes: pd.Series, costs: pd.Series) -> float:
    """Least-squares slope of log cost over log size; 1 means linear growth."""
    return float(np.polyfit(np.log(sizes.to_numpy(float)), np.log(costs.to_numpy(float)), 1)[0])


def growth(rows: pd.DataFrame) -> pd.DataFrame:
    """One row per size that grows: its range, and the exponents of CPU seconds and memory."""
    found = {}
    for what, (size, names) in GROWTH.items():
        some = measured(rows, names)
        if len(some) > 1:
            slopes = [exponent(some[size], some[cost]) for cost in ("cpu_seconds", "peak_mb")]
            ends = [whole(some[size].iloc[end]) for end in (0, -1)]
            found[what] = [" to ".join(ends), *(fixed(slope, 2) for slope in slopes)]
    columns = ["range", "exponent of CPU s", "exponent of MB"]
    return pd.DataFrame.from_dict(found, orient="index", columns=columns).rename_axis("size")


def measured(rows: pd.DataFrame, names: tuple[str, ...]) -> pd.DataFrame:
    """Rows of the named data sets that have a result, in this order."""
    known = rows[(rows["error"] == "") & (rows["method"] == METHOD)].set_index("world")
    return known.loc[[name for name in names if name in known.index]]


def table(rows: pd.DataFrame) -> pd.DataFrame:
    """One row per data set: costs and accuracy of `METHOD`, as text."""
    rows = rows[rows["method"] == METHOD].set_index("world")
    rows = rows.loc[[name for name in WORLDS if name in rows.index]]
    shown = pd.DataFrame(index=rows.index)
    for column in SIZES:
        shown[column.removeprefix("n_")] = [whole(size) for size in rows[column]]
    shown["s"] = [missing(row) or fixed(row.seconds, 1) for row in rows.itertuples()]
    shown["CPU s"] = [missing(row) or fixed(row.cpu_seconds, 1) for row in rows.itertuples()]
    names = {"peak_mb": "MB", "data_mb": "data MB", "iterations": "iterations"}
    for column, name in names.items():
        shown[name] = [number(value, 0) for value in rows[column]]
    for column, name in {"consensus": "consensus", "classifier": "classifier", "ceiling": "Bayes"}.items():
        shown[name] = [number(share, 3) for share in rows[column]]
    times = rows["cpu_seconds"] / rows["product_seconds"]
    shown["× product"] = [number(times[name], 0) if name in UNLABELLED else "" for name in rows.index]
    return shown


def missing(row: tuple) -> str:
    """Text in place of seconds if there is no result; empty if there is one."""
    if row.error.startswith(LATE):
        return f"> {fixed(row.limit, 0)}"
    return "failed" if row.error else ""


def whole(count: float) -> str:
    """Format a count with separated thousands: 100 000."""
    return f"{int(count):,}".replace(",", " ")


def number(value: float, digits: int) -> str:
    return "–" if pd.isna(value) else fixed(value, digits)


def passes(rows: pd.DataFrame) -> str:
    """Cost of one more unlabelled item, and how often features on disk are read."""
    some, words = measured(rows, IN_MEMORY), []
    if len(some) == len(IN_MEMORY):
        more = some.iloc[-1][["cpu_seconds", "product_seconds"]] - some.iloc[0]
        if more["cpu_seconds"] > 0:
            times = fixed(more["cpu_seconds"] / more["product_seconds"], 1)
            words.append(f"One more unlabelled item costs as much as {times} matrix products.")
        else:
            words.append(
                f"A fit to {some.index[-1]} takes less time than one to {some.index[0]}: of more than 100 000 items, "
                "only the best members of the ensemble are fitted to all."
            )
    for large in some[some["pass_seconds"].notna()].tail(1).itertuples():
        times = fixed(large.pass_seconds / large.product_seconds, 1)
        words.append(f"The pass of an anchor graph over all items of {large.Index} costs as much as {times} products.")
    for disk in measured(rows, (ON_DISK,)).itertuples():
        words.append(f"Each row of the features on disk is read {fixed(disk.reads, 2)} times.")
    return " ".join(words)


def ours(rows: pd.DataFrame) -> str:
    """Tables of `METHOD` as markdown."""
    grown = growth(rows)
    parts = [markdown(table(rows)), markdown(grown) if len(grown) else "", passes(rows)]
    return "\n\n".join(filter(None, parts))
