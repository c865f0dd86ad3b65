"""Tables of speed.csv that compare methods: one row per method, one column per simulated data set."""

from collections.abc import Callable

import pandas as pd

from benchmarks.common.tables import fixed, markdown
from benchmarks.speed.summary import METHOD as OURS
from benchmarks.speed.summary import missing, number
from benchmarks.speed.worlds import COMPARED, QUICK

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
SCORES = ("consensus", "classifier")
# Rows of other packages that were measured before all methods were measured in one run.
EARLIER = ("43f2879", "a88e616", "28e580e")
EARLIER_RUNS = (
    " When they ran, commits were not recorded: those named here added the rows. Memory of the other methods "
    "is on top of the data, and they were stopped after 120 s."
)


def across(rows: pd.DataFrame, show: Callable[[tuple, pd.DataFrame], str]) -> pd.DataFrame:
    """One row per method, one column per data set; ``show`` formats a cell, given it and our own cell."""
    cells = {(row.world, row.method): row for row in rows.itertuples()}
    others = rows[rows["method"] != OURS]
    worlds = [world for world in (*QUICK, *COMPARED) if world in set(others["world"])]
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


def measured_at(rows: pd.DataFrame) -> str:
    """Tell the commits of the rows, and what follows if there are several."""
    commits = {who: ", ".join(dict.fromkeys(own["commit"])) for who, own in rows.groupby(rows["method"] == OURS)}
    if len(set(commits.values())) == 1:
        return f"All rows were measured in one run, at commit {commits.popitem()[1]}."
    words = (
        f"`{OURS}` was measured at commit {commits[True]}, the other methods in earlier runs at "
        f"{commits[False]}, so the ratios are approximate. `python -m benchmarks.speed.run` now measures all "
        "of them in one run; these rows will be measured again."
    )
    return words + (EARLIER_RUNS if rows["commit"].isin(EARLIER).any() else "")


def body(rows: pd.DataFrame) -> str:
    """All tables as markdown; empty if no other method was measured."""
    if (rows["method"] == OURS).all():
        return ""
    tables = {"CPU seconds (ratio to ours)": seconds, "Memory, MB": memory, "Accuracy of consensus / classifier": right}
    parts = [f"{title}:\n\n{markdown(across(rows, show))}" for title, show in tables.items()]
    versions = sorted(rows["version"].dropna().unique())
    how = (
        "Other packages on the same simulated data, with their default settings, consensus and classifier "
        f"together, and stopped at a limit. Brackets hold the CPU time relative to `{OURS}`. Accuracy on "
        "simulated data only shows that the fast methods are not inaccurate; compare methods on real crowds."
    )
    return "\n\n".join(["### Other packages", how, measured_at(rows), *parts, f"{', '.join(versions)}."])
