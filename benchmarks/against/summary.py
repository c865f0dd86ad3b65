"""Tables of against.csv as markdown: one row per method, one column per simulated data set."""

from collections.abc import Callable
from pathlib import Path

import pandas as pd

from benchmarks.common.tables import fixed, markdown, read
from benchmarks.speed.summary import METHOD as OURS
from benchmarks.speed.summary import missing, number
from benchmarks.speed.worlds import QUICK

KEY = ("world", "method")
SCORES, COST = ("consensus", "classifier"), ("seconds", "cpu_seconds", "peak_mb")
VALUES = (*COST, "limit", *SCORES, "version", "error")
WORLDS = ["labelled-10k", "labelled-100k", "annotators-5", "annotators-2000", "classes-10", "all-100k"]
KNOWN = [*QUICK, *WORLDS]
METHODS = [
    OURS,
    "majority vote + LR",
    "crowd-kit DawidSkene",
    "crowd-kit OneCoin",
    "crowd-kit GLAD",
    "crowd-kit MACE",
    "CROWDLAB",
    "AnnotatorLogisticRegression",
]
SLOW = ["crowd-kit GLAD", "crowd-kit MACE"]  # skipped by --quick
HOW = f"""\
Other packages on the same simulated data. Each method computes consensus and classifier with its default
settings, in its own process, on one thread, and is stopped at a limit. Brackets hold the CPU time relative to
`{OURS}`. Memory is measured on top of the data. Accuracy on simulated data only shows that the
fast methods are not inaccurate; compare methods on real crowds."""


def across(rows: pd.DataFrame, show: Callable[[tuple, pd.DataFrame], str]) -> pd.DataFrame:
    """One row per method, one column per data set; ``show`` formats a cell, given it and our own cell."""
    cells = {(row.world, row.method): row for row in rows.itertuples()}
    worlds = [world for world in KNOWN if world in set(rows["world"])]
    methods = [method for method in METHODS if method in set(rows["method"])]
    shown = pd.DataFrame(index=pd.Index(methods, name="method"))
    for world in worlds:
        ours = cells.get((world, OURS))
        found = [cells.get((world, method)) for method in methods]
        shown[world] = ["not run" if cell is None else show(cell, ours) for cell in found]
    return shown


def seconds(cell: tuple, ours: tuple | None) -> str:
    """CPU seconds, and their ratio to ours."""
    text = missing(cell) or fixed(cell.cpu_seconds, 1)
    if text == "failed" or cell.method == OURS or ours is None or ours.error:
        return text
    least = "> " if cell.error else ""
    return f"{text} ({least}{times((cell.limit if cell.error else cell.cpu_seconds) / ours.cpu_seconds)}×)"


def times(ratio: float) -> str:
    """Format a ratio with two significant digits: < 0.01, 0.52, 5.2, 52."""
    return "< 0.01" if ratio < 0.01 else fixed(ratio, 0 if ratio >= 10 else 1 if ratio >= 1 else 2)


def memory(cell: tuple, ours: tuple | None) -> str:
    """Peak memory; a lower bound if the method was stopped."""
    return f"{'> ' if cell.error else ''}{fixed(cell.peak_mb, 0)}" if pd.notna(cell.peak_mb) else "–"


def right(cell: tuple, ours: tuple | None) -> str:
    """Accuracy on labelled items / on new items."""
    return "–" if cell.error else " / ".join(number(getattr(cell, what), 3) for what in SCORES)


def body(folder: Path) -> str:
    """All tables as markdown."""
    rows = read(folder / "against.csv", KEY)
    tables = {"CPU seconds (ratio to ours)": seconds, "Memory, MB": memory, "Accuracy of consensus / classifier": right}
    parts = [f"{title}:\n\n{markdown(across(rows, show))}" for title, show in tables.items()]
    versions = sorted(rows["version"].dropna().unique())
    return "\n\n".join([*parts, f"{', '.join(versions)}."])
