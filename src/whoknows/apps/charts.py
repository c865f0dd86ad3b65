"""HTML elements, tables and charts (HTML and SVG), which need no JavaScript and can be printed.

All text is escaped. Colours come from the style sheet of the page: nine steps from orange (weak) to blue
(strong), which colour-blind readers can distinguish.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from html import escape
from itertools import accumulate, starmap
from typing import Any

STEPS = 9  # colours of a scale
HEAT = 10  # shades of a table of pairs
BIDI_CONTROLS = {code: f"\\u{code:04x}" for code in (*range(0x202A, 0x202F), *range(0x2066, 0x206A))}
VOID = frozenset({"img", "input", "br", "meta", "rect", "path", "line", "polyline", "circle"})


class Html(str):
    """Markup; any other text is escaped."""


class Cell(Html):
    """Cell of a table."""


def el(name: str, /, *children: Any, **attributes: Any) -> Html:
    """Return an element. Attributes: ``cls`` is class, None and False are left out, _ is -.

    >>> el("td", "a < b", cls="num")
    '<td class="num">a &lt; b</td>'
    """
    given = "".join(_attribute(key, value) for key, value in attributes.items())
    if name in VOID and not children:
        return Html(f"<{name}{given}/>")
    kind = Cell if name in ("td", "th") else Html
    return kind(f"<{name}{given}>{join(children)}</{name}>")


def join(parts: Iterable[Any], between: str = "") -> Html:
    """Concatenate parts, escaping text; None is left out."""
    return Html(escape(between).join(_markup(part) for part in parts if part is not None))


def _markup(part: Any) -> str:
    if isinstance(part, Html):
        return part
    if isinstance(part, (list, tuple)):
        return join(part)
    return _text(part)


def _text(value: Any) -> str:
    """Text as markup; characters that would reverse the order of what follows are shown by their codes."""
    return escape(str(value).translate(BIDI_CONTROLS))


def _attribute(key: str, value: Any) -> str:
    if value is None or value is False:
        return ""
    name = "class" if key == "cls" else key.rstrip("_").replace("_", "-")
    return f" {name}" if value is True else f' {name}="{_text(value)}"'


# --- paragraphs and tables -------------------------------------------------------------------------


def lead(*parts: Any) -> Html:
    """First paragraph of a section."""
    return el("p", *parts, cls="lead")


def note(*parts: Any) -> Html:
    """Paragraph in small print."""
    return el("p", *parts, cls="note")


def bullets(parts: Iterable[Any], cls: str | None = None) -> Html:
    """Bulleted list."""
    return el("ul", [el("li", part) for part in parts], cls=cls)


def tiles(facts: Iterable[tuple[Any, Any]]) -> Html:
    """Numbers to see first: value, what it is."""
    return el("dl", [el("div", el("dd", value), el("dt", what)) for value, what in facts], cls="tiles")


def fold(title: Any, *content: Any) -> Html:
    """Content that a reader can open."""
    return el("details", el("summary", title), *content)


def table(
    head: Sequence[Any],
    rows: Iterable[Sequence[Any]],
    numeric: Iterable[int] = (),
    cls: str | None = None,
    page: int | None = None,
    id: str | None = None,
) -> Html:
    """Table; columns in ``numeric`` are right-aligned. Values that are cells already stay as they are.

    With ``page``, the script shows that many rows at a time, and lets readers sort and search them.
    """
    right = set(numeric)

    def cell(j: int, value: Any, kind: str) -> Html:
        scope, cls = "col" if kind == "th" else None, "num" if j in right else None
        return value if isinstance(value, Cell) else el(kind, value, cls=cls, scope=scope)

    header = el("thead", el("tr", [cell(j, value, "th") for j, value in enumerate(head)]))
    body = el("tbody", [el("tr", [cell(j, value, "td") for j, value in enumerate(row)]) for row in rows])
    return el("div", el("table", header, body, cls=cls, id=id, data_page=page), cls="scroll", tabindex="0")


# --- colours ---------------------------------------------------------------------------------------


def step(value: float, domain: Sequence[float]) -> int:
    """Return the colour of a value, 0 to 8; ``domain`` has the worst and the best value.

    >>> step(0.4, [0.5, 1.0]), step(0.75, [0.5, 1.0]), step(1.0, [0.5, 1.0]), step(1.0, [5.0, 1.0])
    (0, 4, 8, 8)
    """
    worst, best = domain
    place = min(max((value - worst) / (best - worst), 0.0), 1.0)
    return min(int(place * STEPS), STEPS - 1)


def color_legend(ends: Sequence[str], caption: str) -> Html:
    """Legend of the nine colours, from the worst to the best value."""
    ramp = el("span", [el("i", cls=f"b{k}") for k in range(STEPS)], cls="ramp")
    return el("p", el("span", caption), " ", ends[0], " ", ramp, " ", ends[1], cls="legend")


# --- charts ----------------------------------------------------------------------------------------


def bar(share: float | None, second: float | None = None) -> Html:
    """Horizontal bar of a share between 0 and 1, with a mark at a second share."""
    parts = [el("rect", width=_place(share or 0), height="100%", rx=2)]
    if second is not None:
        parts.append(el("line", x1=_place(second), x2=_place(second), y1=-3, y2=15))
    return el("svg", parts, cls="bar", aria_hidden="true")


def interval(low: float | None, value: float, high: float | None, axis: Sequence[float]) -> Html:
    """Dot with an interval; ``axis`` has both ends of the axis."""

    def place(each: float) -> float:
        return min(max((each - axis[0]) / ((axis[1] - axis[0]) or 1.0), 0.0), 1.0)

    parts = [el("circle", cx=_place(place(value)), cy=9, r=6)]
    if low is not None and high is not None:
        width = place(high) - place(low)
        parts.insert(0, el("rect", x=_place(place(low)), width=_place(width), y=6.5, height=5, rx=2.5))
    axis_line = el("line", x2="100%", y1=9, y2=9)
    return el("svg", axis_line, parts, cls="interval", aria_hidden="true")


def _place(share: float) -> str:
    """Share of the width or height of a chart; attributes of SVG need no style that a strict policy forbids."""
    return f"{100 * share:.1f}%"


def ticks(labels: Sequence[str]) -> Html:
    """Evenly spaced labels of an axis."""
    return el("span", [el("span", label) for label in labels], cls="ticks", aria_hidden="true")


def histogram(counts: Sequence[Sequence[int]], labels: Sequence[str], names: Sequence[str]) -> Html:
    """Stacked histogram; ``labels`` are spread evenly below it.

    Parameters
    ----------
    counts : n_series of n_columns
    labels : sequence of str
    names : n_series
        For the legend.
    """
    stacks = list(zip(*counts, strict=True))
    most, width = max(*map(sum, stacks), 1), 1 / len(stacks)

    def column(k: int, stack: Sequence[int]) -> Html:
        tops = [1 - total / most for total in accumulate(stack)]
        parts = [
            el("rect", cls=f"series{series}", y=_place(top), height=_place(n / most), width="100%")
            for series, (top, n) in enumerate(zip(tops, stack, strict=True))
        ]
        total = (
            el("text", f"{sum(stack):,}".replace(",", "\u202f"), x="50%", y=_place(tops[-1]), dy=-3)
            if any(stack)
            else None
        )
        return el("svg", parts, total, x=_place(k * width), width=_place(0.92 * width), height="100%")

    columns = list(starmap(column, enumerate(stacks)))
    series = [f"{name} {', '.join(map(str, row))}" for name, row in zip(names, counts, strict=True)]
    drawn = el("svg", columns, cls="histogram", role="img", aria_label=f"Histogram: {'; '.join(series)}")
    present = [(k, name) for k, name in enumerate(names) if any(counts[k])]
    legend = [el("span", el("i", cls=f"series{k}"), f" {name} ") for k, name in present]
    return el("div", drawn, ticks(labels), el("p", legend, cls="legend"), cls="chart")


def curve(values: Sequence[float], description: str) -> Html:
    """Line through values at equal distances, from the lowest at the bottom to the highest at the top."""
    low, high, steps = min(values), max(values), max(len(values) - 1, 1)

    def point(i: int, value: float) -> str:
        return f"{100 * i / steps:.2f},{40 - 40 * (value - low) / ((high - low) or 1):.2f}"

    points = " ".join(starmap(point, enumerate(values)))
    drawn = el("polyline", points=points, vector_effect="non-scaling-stroke")
    fitted = {"viewBox": "0 0 100 40", "preserveAspectRatio": "none"}
    return el("svg", drawn, **fitted, cls="curve", role="img", aria_label=description)


def small_map(cells: Sequence[int], values: Sequence[float], grid: tuple[int, int], domain: Sequence[float]) -> Html:
    """Map of squares coloured by their values, with one path per colour to keep the file small.

    Parameters
    ----------
    cells : n_cells
        line · columns + column, counted from the bottom left.
    values : n_cells
    grid : (columns, lines)
    domain : (worst, best)
    """
    columns, lines = grid
    drawn: dict[int, list[str]] = {}
    for cell, value in zip(cells, values, strict=True):
        line, column = divmod(cell, columns)
        shape = f"M{column} {lines - 1 - line}h1v1h-1z"
        drawn.setdefault(step(value, domain), []).append(shape)
    paths = [el("path", d="".join(shapes), cls=f"f{k}") for k, shapes in sorted(drawn.items())]
    return el("svg", paths, viewBox=f"0 0 {columns} {lines}", cls="smallmap", aria_hidden="true")


def reliability(bins: Mapping[str, Sequence[float]]) -> Html:
    """Reliability diagram: share right against stated probability, with intervals, and the diagonal.

    Parameters
    ----------
    bins : mapping with "stated", "right", "low" and "high", each n_bins
    """
    columns = [bins[name] for name in ("stated", "right", "low", "high")]
    start = int(10 * min(map(min, columns))) / 10

    def place(value: float) -> float:
        return round(100 * (value - start) / (1 - start), 1)

    grid = [start, (start + 1) / 2, 1.0]
    lines = [el("line", x1=0, x2=100, y1=100 - place(each), y2=100 - place(each)) for each in grid]
    lines += [el("line", y1=0, y2=100, x1=place(each), x2=place(each)) for each in grid]
    diagonal = el("line", x1=0, y1=100, x2=100, y2=0, cls="diagonal")
    dots = []
    for stated, right, low, high in zip(*columns, strict=True):
        x = place(stated)
        dots.append(el("line", x1=x, x2=x, y1=100 - place(low), y2=100 - place(high), cls="range"))
        dots.append(el("circle", cx=x, cy=100 - place(right), r=2.2))
    label = f"Share right against stated probability, both from {start:.0%} to 100%"
    drawn = el("svg", lines, diagonal, dots, viewBox="-3 -3 106 106", role="img", aria_label=label)
    labels = [f"{each:.0%}" for each in grid]
    upright = el("span", [el("span", each) for each in reversed(labels)], cls="upright", aria_hidden="true")
    return el("div", upright, drawn, ticks(labels), cls="reliability")


def heat(value: float | None, text: str, title: str | None = None) -> Html:
    """Cell of a table, blue for values near 1 and orange for values near −1."""
    if value is None:
        return el("td", text, cls="heat none", title=title)
    side, strength = "plus" if value >= 0 else "minus", round(HEAT * min(abs(value), 1))
    return el("td", text, cls=f"heat {side} h{strength}", title=title)
