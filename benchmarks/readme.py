"""The comparison in README.md: comparison.md has its sentences, the CSV files every number in them."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from benchmarks import overview
from benchmarks.common.tables import fixed
from benchmarks.crowds import summary as crowds
from benchmarks.paper import claims, summary
from benchmarks.paper.claims import LGP
from benchmarks.parts import PARTS
from benchmarks.rivals import summary as rivals

README = Path(__file__).parents[1] / "README.md"
START = "<!-- From here to the next comment written by `python -m benchmarks.page` from the CSV files. -->\n"
END = "<!-- End of what `python -m benchmarks.page` writes. -->\n"
LABELME = ("labelme", 1.0)  # the most expensive fit of the real crowds

TEXT = (Path(__file__).parent / "comparison.md").read_text("utf-8")


@dataclass(frozen=True)
class Figure:
    """A number as README.md shows it, what it is, and the CSV files that it comes from."""

    what: str
    text: str
    files: tuple[str, ...]


def of_figure3(results: Path) -> dict[str, str]:
    """Cells, accuracies and points over the vote."""
    wide = overview.comparable(results)
    assert wide is not None, "Fig. 3 was not run"
    cells, means = summary.against_best(wide), summary.cell_means(wide).mean()
    won, lost = cells["won"].sum(), cells["lost"].sum()
    counts = {"cells": len(cells), "repeats": overview.n_repeats(wide)}
    counts |= {"cells clearly better": won, "cells tied": len(cells) - won - lost, "cells clearly worse": lost}
    found = {name: str(number) for name, number in counts.items()}
    for method in ("vote", "tsvm", "ml-gaussian", "lgp", "default", "auto"):
        found[f"accuracy {method}"] = fixed(means[method], 3)
        found[f"points {method}"] = fixed(100 * (means[method] - means["vote"]), 1, "+")
    prior = summary.paired_difference(wide, LGP, "id").loc["mean"]
    return found | {"points of the graph prior": summary.points(*prior).removeprefix("+")}


def of_claims(results: Path) -> dict[str, str]:
    """Claims about LGP that do not hold."""
    cells = claims.load(results / "paper")
    failed = [claim.short for claim in claims.CLAIMS if claim.lgp.judge(cells)[0] == claims.FAILS]
    return {"claims that do not hold": "; ".join(failed)}


def of_rivals(results: Path) -> dict[str, str]:
    """Points over logistic regression and over the best classifier on the vote."""
    wide = rivals.of_paper(rivals.sides(PARTS["rivals"].read(results)))
    return {
        "sets of rivals": " and ".join(rivals.names_of(wide)),
        "points over logistic regression": rivals.gain(wide, rivals.PLAIN).removeprefix("+"),
        "points over the best classifier": rivals.gain(wide, rivals.best_on_the_vote(wide)).removeprefix("+"),
    }


def of_unlabelled(results: Path) -> dict[str, str]:
    """Range of the gain of the ensemble on digits."""
    table = summary.gains(PARTS["unlabelled"].read(results))
    gain = 100 * table.loc[(table["method"] == summary.OURS) & (table["set"] == "digits"), "gain"]
    return {"least gain on digits": fixed(gain.min(), 1), "largest gain on digits": fixed(gain.max(), 1)}


def of_crowds(results: Path) -> dict[str, str]:
    """Accuracies beside the best other method, counts of comparisons, and the cost on LabelMe."""
    rows = PARTS["crowds"].read(results)
    each, whole = (crowds.compared(rows, over_shares) for over_shares in (False, True))
    table = [
        f"| {row.set}, {row.what} | {fixed(row.ours, 3)} | {fixed(row.theirs, 3)} ({row.best}) |"
        for row in whole.sort_values(["set", "what"]).itertuples()
    ]
    cost = crowds.means(rows, "cpu_seconds").loc[LABELME]
    next_best = whole.set_index(["set", "what"]).loc[("labelme", "classifier"), "best"]
    return {
        "crowds": "\n".join(table),
        "means held": summary.count(whole["held"]),
        "comparisons held": summary.count(each["held"]),
        "CPU seconds of auto": fixed(cost[crowds.OURS], 0),
        "next best": next_best,
        "CPU seconds of the next best": fixed(cost[next_best], 0),
    }


SOURCES: dict[Callable[[Path], dict[str, str]], tuple[str, ...]] = {
    of_figure3: ("figure3",),
    of_claims: ("figure3", "figures45"),
    of_rivals: ("rivals",),
    of_unlabelled: ("unlabelled",),
    of_crowds: ("crowds",),
}


def figures(results: Path) -> Iterator[Figure]:
    """Every number of the comparison; figures that its text does not show are left out."""
    for function, parts in SOURCES.items():
        files = tuple(PARTS[part].file for part in parts)
        yield from (Figure(what, text, files) for what, text in function(results).items() if f"{{{what}}}" in TEXT)


def comparison(results: Path) -> str:
    """Text of the comparison, without the comments around it."""
    return "\n" + TEXT.format(**{figure.what: figure.text for figure in figures(results)}) + "\n"


def with_comparison(page: str, results: Path) -> str:
    """Return README.md with the comparison that follows from the CSV files."""
    before, start, rest = page.partition(START)
    _, end, after = rest.partition(END)
    if not (start and end):
        raise ValueError(f"README.md has no line {START.strip()} followed by {END.strip()}.")
    return f"{before}{START}{comparison(results)}{END}{after}"
