"""Tables and sentences of `whoknows judges`."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import TYPE_CHECKING, Any

from whoknows.apps.cli.console import count
from whoknows.apps.tables import TextTable, one_below_the_other

if TYPE_CHECKING:
    from whoknows.insight import AgainstGold, ByKind, Difference, Judges, Rates, SharedErrors

# Labels that are the positive one of two, if the user names none.
POSITIVE = ("right", "correct", "good", "yes", "true", "pass", "passed", "accept", "positive", "win", "a", "1")
FEW = 3  # classes that have a column each
SHOWN = 10  # rows of long tables on the terminal
NONE = "-"
ALL = "all items"  # the group of all, as in Rates
MOST_KINDS = 5  # that have a column each on the terminal
NAMES = ("judges", "together", "rates", "differences", "kinds", "next")


def positive_of(labels: Sequence[Any]) -> Any:
    """Return the label whose rate is shown, of two: one of the usual words, or the last."""
    by_word = {str(label).strip().lower(): label for label in labels}
    return next((by_word[word] for word in POSITIVE if word in by_word), labels[-1])


def share(value: float, low: float, high: float) -> str:
    """Return a percentage with its interval.

    >>> share(0.923, 0.83, 0.971), share(math.nan, math.nan, math.nan)
    ('92% [83, 97]', '-')
    """
    return NONE if math.isnan(value) else f"{100 * value:.0f}% [{100 * low:.0f}, {100 * high:.0f}]"


def fine_share(value: float, low: float, high: float) -> str:
    """Return a percentage with one decimal, and its interval."""
    return f"{100 * value:.1f}% [{100 * low:.1f}, {100 * high:.1f}]"


def number(value: float, low: float, high: float) -> str:
    """Return a number with its interval."""
    return NONE if math.isnan(value) else f"{value:.2f} [{low:.2f}, {high:.2f}]"


# --- judges ----------------------------------------------------------------------------------------------


def judges_table(found: AgainstGold, positive: Any) -> TextTable:
    """Each judge against the gold, the best first; sensitivity and specificity if there are two classes."""
    order = best_first(found)
    names, n_gold = found.annotator.tolist(), found.n_gold.tolist()
    cells = {
        "judge": [str(names[t]) for t in order],
        "accuracy": _in_order(share, found.accuracy, order),
        "kappa": _in_order(number, found.kappa, order),
    }
    labels = found.labels.tolist()
    if len(labels) == 2:
        for name, label in (("sensitivity", positive), ("specificity", _other(labels, positive))):
            cells[name] = _in_order(share, [each[:, labels.index(label)] for each in found.recall], order)
    return TextTable({**cells, "gold": [str(n_gold[t]) for t in order]}, ("sensitivity", "specificity"))


def best_first(found: AgainstGold) -> list[int]:
    """Return the rows by accuracy, the best first and those without gold at the end; the consensus stays last."""
    accuracy = [-1.0 if math.isnan(value) else value for value in found.accuracy[0].tolist()[:-1]]
    return [*sorted(range(len(accuracy)), key=lambda t: -accuracy[t]), len(accuracy)]


def _in_order(write: Callable[..., str], interval: Sequence[Any], order: Sequence[int]) -> list[str]:
    rows = list(zip(*interval, strict=True))
    return [write(*rows[t]) for t in order]


def _other(labels: Sequence[Any], positive: Any) -> Any:
    return next(label for label in labels if label != positive)


def _quoted(label: Any) -> str:
    return repr(str(label))


def confusion_lines(found: AgainstGold) -> list[str]:
    """Confusion matrix of the consensus, the last row, in lines."""
    labels = [str(label) for label in found.labels.tolist()]
    counts = found.confusion[-1].tolist()
    columns = {f"says {label}": [str(row[k]) for row in counts] for k, label in enumerate(labels)}
    return ["Consensus by truth:", *TextTable({"truth": labels, **columns}).lines()]


def together_lines(found: SharedErrors, by_gold: bool, groups: dict[Any, Any]) -> Iterator[str]:
    """Say how many judges they are worth, who errs together, and whether that follows their groups."""
    if found.n_annotators < 2:
        return
    if math.isnan(found.mean):
        yield f"How many judges the {found.n_annotators} are worth is not known: too few items have labels of two."
        return
    source = "on the gold items" if by_gold else "according to the model; errors that all of them share do not show"
    mean = round(found.mean, 2) + 0.0  # not "-0.00"
    yield f"{found.sentence('judges')} The errors of two correlate by {mean:.2f} on average, {source}."
    if found.groups:
        listed = "; ".join(", ".join(map(str, group)) for group in found.groups[:SHOWN])
        yield f"These err together (correlation above 0.5): {listed}."
    if groups:
        yield from _by_group(found, groups)


def _by_group(found: SharedErrors, groups: dict[Any, Any]) -> Iterator[str]:
    """Compare correlations within each of the groups that the user named, and between them."""
    pairs = zip(found.first.tolist(), found.second.tolist(), found.correlation.tolist(), strict=True)
    known = [(groups[a], groups[b], r) for a, b, r in pairs if a in groups and b in groups]
    between = [r for one, other, r in known if one != other]
    within: dict[Any, list[float]] = {}
    for one, other, r in known:
        if one == other:
            within.setdefault(one, []).append(r)
    if within and between:
        listed = ", ".join(f"{group} {fmean(within[group]):.2f}" for group in sorted(within, key=str)[:SHOWN])
        yield f"Correlation of errors within groups: {listed}; between groups: {fmean(between):.2f}."


# --- rates -------------------------------------------------------------------------------------------------


def rates_table(rates: Rates, positive: Any) -> TextTable:
    """Corrected rates, a row per group; of many classes, a row per group and class."""
    labels = rates.labels
    shown = [positive] if len(labels) == 2 else labels
    many = len(labels) > FEW
    rows = [(group, label) for group in [ALL, *rates.groups] for label in (labels if many else labels[:1])]
    cells = {"group": [str(group) for group, _ in rows]}
    if many:
        cells |= {"label": [str(label) for _, label in rows], "rate": [_rate(rates, *row) for row in rows]}
    else:
        cells |= {str(label): [_rate(rates, group, label) for group, _ in rows] for label in shown}
    counts = {"items": rates.n_items, "gold": rates.n_gold}
    return TextTable(cells | {what: [str(n[rates.row(*row)]) for row in rows] for what, n in counts.items()})


def _rate(rates: Rates, group: Any, label: Any) -> str:
    row = rates.row(group, label)
    return fine_share(rates.rate[row], rates.low[row], rates.high[row])


def differences_table(found: Sequence[Difference]) -> TextTable:
    """Differences between groups, in points."""
    pairs = [f"{each.first} - {each.second}" for each in found]
    points = [f"{100 * each.value:+.1f} [{100 * each.low:+.1f}, {100 * each.high:+.1f}]" for each in found]
    wins = [f"{100 * each.wins[0]:.0f}%" for each in found]
    return TextTable({"difference": pairs, "points": points, "win rate": wins})


def difference_columns(found: Sequence[Difference]) -> dict[str, list[Any]]:
    """Return the columns of the file of differences."""
    names = ("first", "second", "label", "value", "low", "high")
    columns = {name: [getattr(each, name) for each in found] for name in names}
    wins = list(zip(*(each.wins for each in found), strict=True)) or [(), (), ()]
    return columns | {name: list(w) for name, w in zip(("win_rate", "win_low", "win_high"), wins, strict=True)}


# --- kinds and items -----------------------------------------------------------------------------------


def kinds_table(found: ByKind) -> TextTable:
    """Judge and kind, a row each."""
    limits = zip(found.right, found.low, found.high, strict=True)
    return TextTable(
        {
            "judge": [str(each) for each in found.annotator.tolist()],
            "kind": [str(each) for each in found.kind.tolist()],
            "right": [share(*each) for each in limits],
            "labels": [str(n) for n in found.n_labels.tolist()],
            "gold": [str(n) for n in found.n_gold.tolist()],
        }
    )


def kinds_matrix(found: ByKind) -> TextTable:
    """One column per kind: how often each annotator is right, and with how many labels."""
    limits = zip(found.right, found.low, found.high, strict=True)
    places = zip(found.annotator.tolist(), found.kind.tolist(), strict=True)
    cell = {place: share(*each) for place, each in zip(places, limits, strict=True)}
    annotators, kinds = (list(dict.fromkeys(column.tolist())) for column in (found.annotator, found.kind))
    columns = {str(kind): [cell.get((name, kind), NONE) for name in annotators] for kind in sorted(kinds, key=str)}
    return TextTable({"judge": [str(name) for name in annotators], **columns})


def items_table(columns: dict[str, Any]) -> TextTable:
    """Items that people should look at next, with the votes."""
    labels = [name.removeprefix("votes for ") for name in columns if name.startswith("votes for ")]
    rows = zip(*(columns[f"votes for {label}"].tolist() for label in labels), strict=True)
    votes = [", ".join(f"{label} ({n})" for n, label in zip(row, labels, strict=True) if n) for row in rows]
    return TextTable(
        {
            "item": [str(item) for item in columns["item"].tolist()],
            "consensus": [str(label) for label in columns["consensus"].tolist()],
            "confidence": [f"{100 * p:.0f}%" for p in columns["confidence"]],
            "votes": votes,
        },
        ("votes",),
    )


def pairs_table(found: SharedErrors) -> TextTable:
    """Pairs of judges, and the correlation of their errors."""
    return TextTable(
        {
            "judge": [str(name) for name in found.first.tolist()],
            "and": [str(name) for name in found.second.tolist()],
            "correlation of errors": [f"{r:.2f}" for r in found.correlation],
            "items": [str(n) for n in found.n_items.tolist()],
        }
    )


# --- all -----------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Output:
    """A table to print and to write.

    Parameters
    ----------
    name : str
        Of its files.
    columns : dict
        For CSV, in full precision.
    text : TextTable
        For Markdown and LaTeX.
    title : str
        On the terminal; empty if it is not printed.
    shown : TextTable, optional
        What is printed instead of ``text``.
    remarks : sequence of str
        Printed below.
    """

    name: str
    columns: dict[str, Any]
    text: TextTable
    title: str = ""
    shown: TextTable | None = None
    remarks: Sequence[str] = ()


def tables(found: Judges, label: Any, n_items: int) -> dict[str, Output]:
    """Return all tables by name, in the order in which they are printed."""
    made = [*_judges(found, label), _together(found), *_rates(found, label), *_kinds(found), _items(found, n_items)]
    return {each.name: each for each in made}


def _judges(found: Judges, label: Any) -> Iterator[Output]:
    against = found.against
    if against is None:
        return
    labels = against.labels.tolist()
    remarks = confusion_lines(against)
    if len(labels) == 2:
        other = _other(labels, label)
        sensitivity = f"share of the {_quoted(label)} items that are labelled {_quoted(label)}"
        remarks = [f"Sensitivity: {sensitivity}. Specificity: the same for {_quoted(other)}."]
    remarks += [one.sentence() for one in found.worse]
    n = int(against.n_gold[-1])
    title = f"Judges against {count(n, 'gold item')} ({against.level:.0%} intervals in brackets)"
    yield Output("judges", against.columns(), judges_table(against, label), title, remarks=remarks)


def _together(found: Judges) -> Output:
    return Output("together", found.shared.columns(), pairs_table(found.shared))


def _rates(found: Judges, label: Any) -> Iterator[Output]:
    """Corrected rates, and differences between groups."""
    rates = found.rates_by or {"group": found.rates}
    what = f"Share of {_quoted(label)}" if len(found.rates.labels) == 2 else "Share of each class"
    title = f"{what}, {'corrected by the gold' if found.against is not None else 'by the model alone'}"
    columns = one_below_the_other({name: each.columns() for name, each in rates.items()})
    text = _stacked([rates_table(each, label) for each in rates.values()], "group", list(rates))
    notes = list(dict.fromkeys(note for each in rates.values() for note in each.notes))
    yield Output("rates", columns, text, title, remarks=notes)
    differences = [each for group in found.rates_by.values() for each in group.differences(label)]
    if differences:
        clear = sum(each.low > 0 for each in differences)
        title = (
            f"Differences in {_quoted(label)} between groups, {clear} of {len(differences)} clear (interval above 0)"
        )
        shown = differences_table(differences[:SHOWN])
        yield Output("differences", difference_columns(differences), differences_table(differences), title, shown)


def _kinds(found: Judges) -> Iterator[Output]:
    """How often each judge is right on each kind of item."""
    if not found.kinds:
        return
    columns = one_below_the_other({name: each.columns() for name, each in found.kinds.items()})
    text = _stacked(list(map(kinds_table, found.kinds.values())), "kind", list(found.kinds))
    first, *others = found.kinds.values()
    few = len(dict.fromkeys(first.kind.tolist())) <= MOST_KINDS and not others
    weakest = sorted(text.rows, key=lambda row: float(row[2].partition("%")[0]))[:SHOWN]
    cells = zip(*weakest, strict=True)
    shown = kinds_matrix(first) if few else TextTable(dict(zip(text.cells, cells, strict=True)))
    what = "" if few or len(text) <= SHOWN else f", the weakest {SHOWN} of {len(text)}"
    yield Output("kinds", columns, text, f"How often each judge is right, by {', '.join(found.kinds)}{what}", shown)


def _items(found: Judges, n_items: int) -> Output:
    columns = found.next_items(n_items)
    remarks = ["For rates, gold must be drawn at random; what people say on these items improves the consensus."]
    title = "Items that people should look at next, the least certain first"
    return Output("next", columns, items_table(columns), title, remarks=remarks)


def _stacked(parts: Sequence[TextTable], heading: str, columns: Sequence[str]) -> TextTable:
    """Put text tables one below the other; ``heading`` is that of the cells that are values of ``columns``.

    With several columns, these cells say which column it is, and rows about all items are not repeated.
    """
    place = list(parts[0].cells).index(heading)
    rows: dict[tuple[str, ...], None] = {}
    for part, column in zip(parts, columns, strict=True):
        for row in part.rows:
            name = row[place] if len(parts) == 1 or row[place] == ALL else f"{column}={row[place]}"
            rows[(*row[:place], name, *row[place + 1 :])] = None
    names = [columns[0] if name == heading and len(parts) == 1 else name for name in parts[0].cells]
    cells = list(zip(*rows, strict=True)) or [()] * len(names)
    return TextTable(dict(zip(names, cells, strict=True)))


def advice(found: Judges) -> Iterator[str]:
    """Say what gold would add."""
    if found.against is not None:
        return
    yield (
        "There is no gold: rates are those of the model, which cannot see errors that judges share. Let people label a "
        "random sample of the items and pass it with --gold FILE."
    )
    if found.blocks is not None:
        yield found.blocks.sentence("Judges")
