"""Tables of engines.csv as markdown: what was measured, and what follows for sizes that were not."""

from pathlib import Path

import pandas as pd

from benchmarks.common.tables import markdown, read
from benchmarks.speed.engines import DASK, KEY, PER_CHUNK, PER_ITEM, PER_SUM
from benchmarks.speed.summary import whole

ITEMS, WORKERS = (10**6, 10**7, 10**8, 10**9), (1, 16, 64, 256)
HOW = """\
`python -m benchmarks.speed.gpu` generates items on the device. The pass over all items builds the anchor
graph; its lower bound is the matrix product with the anchors. The default fit includes the selection of
members and the posterior of all items. `python -m benchmarks.speed.dask` measures one iteration of
`solver="vb"` in one process and on a local cluster, with three labels per item by 200 annotators, 64 features
and expertise that depends on 20 of them."""


def measured(rows: pd.DataFrame) -> pd.DataFrame:
    """One row per measurement, as text."""
    names = pd.Index(rows["engine"] + ", " + rows["measurement"], name="measurement")
    shown = pd.DataFrame(index=names)
    for column in ("items", "labels", "workers"):
        shown[column] = ["" if pd.isna(n) else whole(n) for n in rows[column]]
    shown["seconds"] = [f"{value:.2g}" if value < 10 else f"{value:.1f}" for value in rows["seconds"]]
    shown["note"] = rows["note"].to_numpy()
    shown["commit"] = rows["commit"].to_numpy()
    return shown


def extrapolated(rows: pd.DataFrame, items_a_chunk: int = 100_000) -> pd.DataFrame:
    """Seconds per iteration for sizes that were not measured.

    t = items · cost per item / workers + chunks · cost per chunk + overhead; the fullest worker decides.
    """
    known = rows[rows["engine"] == DASK].set_index("measurement")["seconds"]
    if not {PER_ITEM, PER_CHUNK, PER_SUM} <= set(known.index):
        return pd.DataFrame()
    shown = {}
    for n_items in ITEMS:
        chunks = -(-n_items // items_a_chunk)
        shared = chunks * known[PER_CHUNK] + known[PER_SUM]
        parts = [-(-chunks // workers) * n_items / chunks for workers in WORKERS]
        shown[whole(n_items)] = [_time(part * known[PER_ITEM] + shared) for part in parts]
    columns = [f"{workers} worker{'s' if workers > 1 else ''}" for workers in WORKERS]
    return pd.DataFrame.from_dict(shown, orient="index", columns=columns).rename_axis("labelled items")


def _time(seconds: float) -> str:
    if seconds < 100:
        return f"{seconds:.1f} s" if seconds < 10 else f"{seconds:.0f} s"
    return f"{seconds / 60:.1f} min" if seconds < 600 else f"{seconds / 60:.0f} min"


def body(folder: Path) -> str:
    """All tables as markdown."""
    rows = read(folder / "engines.csv", KEY)
    machines = "; ".join(f"{engine}: {own['machine'].iloc[0]}" for engine, own in rows.groupby("engine"))
    parts, beyond = [markdown(measured(rows)), f"Machines: {machines}."], extrapolated(rows)
    if len(beyond):
        parts.append(
            "**Extrapolated, not measured**: seconds per iteration from the costs above, "
            f"t = items · {PER_ITEM} / workers + chunks · {PER_CHUNK} + {PER_SUM}.\n\n{markdown(beyond)}"
        )
    return "\n\n".join(parts)
