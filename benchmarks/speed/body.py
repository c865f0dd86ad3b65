"""All tables of speed.csv as markdown."""

from pathlib import Path

from benchmarks.common.tables import read
from benchmarks.speed import comparison, summary


def body(folder: Path) -> str:
    """Costs of `AutoCrowdClassifier`, then the comparison with other packages."""
    rows = read(folder / "speed.csv", summary.KEY)
    return "\n\n".join(filter(None, [summary.ours(rows), comparison.body(rows)]))
