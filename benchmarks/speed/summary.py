"""What speed.csv says, as markdown: a table of cells, and how cost grows with items and annotators.

Nothing is measured here.
"""

from pathlib import Path

import numpy as np
import pandas as pd

from benchmarks.common.tables import fixed, markdown, read
from benchmarks.crowds.measure import LATE
from benchmarks.speed.worlds import WORLDS

METHOD = "AutoCrowdClassifier"
KEY = ("world", "method")
SIZES = ("n_items", "n_labels", "n_annotators", "n_classes", "n_features")
COST = ("seconds", "cpu_seconds", "limit", "peak_mb", "data_mb", "product_seconds", "pass_seconds", "reads")
VALUES = (*SIZES, *COST, "iterations", "consensus", "classifier", "ceiling", "error")
IN_MEMORY, ON_DISK = ("all-100k", "all-1m"), "all-10m"
UNLABELLED = (*IN_MEMORY, ON_DISK)  # worlds in which most items have no labels
GROWTH = {
    "labels, five an item": ("n_labels", ("labelled-10k", "labelled-100k", "labelled-1m")),
    "annotators, 500 000 labels": ("n_annotators", ("annotators-5", "labelled-100k", "annotators-2000")),
    "items, 100 000 labels": ("n_items", UNLABELLED),
}
HOW = f"""\
Worlds that are made up: five clusters of items, a logistic truth, annotators whose accuracy differs from
cluster to cluster, five labels on each labelled item. A fit is `AutoCrowdClassifier` with its defaults, the
choice of its members included, in a process of its own, on one thread.

- *s*: seconds that passed. *CPU s*: of the processor, which other programs change less.
- *MB*: the most memory held, over what the process held after its imports. *Data MB*: features (float32) and
  labels. They are part of MB, but for {ON_DISK} and disk-10m, where features are read from Parquet files.
- *Consensus*, *classifier*: share of the labelled items, and of 5 000 new ones, whose class is right;
  *at most*: what who knows the world gets right of the new ones.
- *× product*: CPU s as a multiple of those of X @ anchors' (400 anchors, in blocks), measured in the same
  process: the least that one look at every item costs."""


def exponent(sizes: pd.Series, costs: pd.Series) -> float:
    """Slope of log cost over log size, by least squares: 1 where cost grows as size does."""
    return float(np.polyfit(np.log(sizes.to_numpy(float)), np.log(costs.to_numpy(float)), 1)[0])


def growth(rows: pd.DataFrame) -> pd.DataFrame:
    """One row a size that grows: from where to where, and the exponents of CPU seconds and of memory."""
    found = {}
    for what, (size, names) in GROWTH.items():
        some = measured(rows, names)
        if len(some) > 1:
            slopes = [exponent(some[size], some[cost]) for cost in ("cpu_seconds", "peak_mb")]
            ends = [whole(some[size].iloc[end]) for end in (0, -1)]
            found[what] = [" to ".join(ends), *(fixed(slope, 2) for slope in slopes)]
    columns = ["range", "exponent of CPU s", "exponent of MB"]
    return pd.DataFrame.from_dict(found, orient="index", columns=columns).rename_axis("what grows")


def measured(rows: pd.DataFrame, names: tuple[str, ...]) -> pd.DataFrame:
    """Rows of those of the worlds that have a result, in this order."""
    known = rows[rows["error"] == ""].set_index("world")
    return known.loc[[name for name in names if name in known.index]]


def table(rows: pd.DataFrame) -> pd.DataFrame:
    """One row a world, as text."""
    rows = rows.set_index("world").loc[[name for name in WORLDS if name in set(rows["world"])]]
    shown = pd.DataFrame(index=rows.index)
    for column in SIZES:
        shown[column.removeprefix("n_")] = [whole(size) for size in rows[column]]
    shown["s"] = [missing(row) or fixed(row.seconds, 1) for row in rows.itertuples()]
    shown["CPU s"] = [missing(row) or fixed(row.cpu_seconds, 1) for row in rows.itertuples()]
    names = {"peak_mb": "MB", "data_mb": "data MB", "iterations": "iterations"}
    for column, name in names.items():
        shown[name] = [number(value, 0) for value in rows[column]]
    for column, name in {"consensus": "consensus", "classifier": "classifier", "ceiling": "at most"}.items():
        shown[name] = [number(share, 3) for share in rows[column]]
    times = rows["cpu_seconds"] / rows["product_seconds"]
    shown["× product"] = [number(times[name], 0) if name in UNLABELLED else "" for name in rows.index]
    return shown


def missing(row: tuple) -> str:
    """What stands in place of seconds where there is no result; nothing where there is one."""
    if row.error.startswith(LATE):
        return f"> {fixed(row.limit, 0)}"
    return "failed" if row.error else ""


def whole(count: float) -> str:
    """Write a count with its thousands apart: 100 000."""
    return f"{int(count):,}".replace(",", " ")


def number(value: float, digits: int) -> str:
    return "–" if pd.isna(value) else fixed(value, digits)


def passes(rows: pd.DataFrame) -> str:
    """What one more item without labels costs, and how often features on disk are read."""
    some, words = measured(rows, IN_MEMORY), []
    if len(some) == len(IN_MEMORY):
        more = some.iloc[-1][["cpu_seconds", "product_seconds"]] - some.iloc[0]
        times = fixed(more["cpu_seconds"] / more["product_seconds"], 1)
        words.append(f"One more item without labels costs as much as {times} bare products.")
    for large in some[some["pass_seconds"].notna()].tail(1).itertuples():
        times = fixed(large.pass_seconds / large.product_seconds, 1)
        words.append(
            f"The pass over all items of {large.Index} that an anchor graph takes costs {times} of them."
        )
    for disk in measured(rows, (ON_DISK,)).itertuples():
        words.append(f"Of the features on disk each row is read {fixed(disk.reads, 2)} times.")
    return " ".join(words)


def body(folder: Path) -> str:
    """Everything as markdown."""
    rows = read(folder / "speed.csv", KEY)
    grown = growth(rows)
    parts = [markdown(table(rows)), markdown(grown) if len(grown) else "", passes(rows)]
    return "\n\n".join(filter(None, parts))
