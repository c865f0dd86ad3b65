"""Numbers, tables and items as HTML, the same in every section."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from whoknows.apps.charts import Html, el, join
from whoknows.insight.summary.plain import Facts, called, digits, thousands

NOTHING = "–"
PICTURE = re.compile(r"data:image/(png|jpeg|gif|webp);base64,[A-Za-z0-9+/=]+")


def percent(value: float | None, places: int = 0) -> str:
    """Share as a percentage."""
    return NOTHING if value is None else f"{100 * value:.{places}f}%"


def number(value: float | None) -> str:
    """Number to three digits; labels and ids go through `name` instead."""
    return NOTHING if value is None else digits(value).replace("-", "−")


def signed(value: float | None) -> str:
    """Number with its sign."""
    return NOTHING if value is None else f"{'+' if value > 0 else ''}{number(value)}"


def ordinal(n: int) -> str:
    """1st, 2nd, 3rd, 4th, …, 11th.

    >>> [ordinal(n) for n in (1, 2, 3, 4, 11, 22)]
    ['1st', '2nd', '3rd', '4th', '11th', '22nd']
    """
    last = "th" if n % 100 in (11, 12, 13) else {1: "st", 2: "nd", 3: "rd"}.get(n % 10, "th")
    return f"{whole(n)}{last}"


def whole(n: int) -> str:
    """Whole number, thousands set apart by narrow spaces that do not break."""
    return thousands(n).replace(" ", "\u202f")


def many(n: int, noun: str) -> str:
    """Say "1 item", "20 000 items"."""
    return f"{whole(n)} {noun}{'' if n == 1 else 's'}"


def name(value: Any) -> str:
    """Label or id; of a number what tells it from any other."""
    return NOTHING if value is None else f"{value:.15g}" if isinstance(value, float) else str(value)


def skill(value: float | None, numbers: bool) -> str:
    """How good: a probability of being right, or a typical error."""
    return NOTHING if value is None else f"±\u202f{number(value)}" if numbers else percent(value)


def quoted(value: Any) -> Html:
    """Label inside a sentence."""
    return el("q", name(value))


def person(value: Any) -> Html:
    """Annotator inside a sentence."""
    return el("b", called(value))


def table(
    head: Sequence[Any], rows: Iterable[Sequence[Any]], numeric: Iterable[int] = (), cls: str | None = None
) -> Html:
    """Table; columns in ``numeric`` are aligned to the right. Cells that are elements stay as they are."""
    right = set(numeric)

    named = cls == "cases"  # narrow pages show such rows one cell below the other

    def cell(j: int, value: Any, kind: str) -> Html:
        if isinstance(value, Html) and value.startswith(("<td", "<th")):
            return value
        what = head[j] if named and kind == "td" else None
        align = "num" if j in right else None
        value = el("div", value) if what else value
        return el(kind, value, cls=align, scope="col" if kind == "th" else None, data_what=what)

    header = el("thead", el("tr", [cell(j, value, "th") for j, value in enumerate(head)]))
    body = el("tbody", [el("tr", [cell(j, value, "td") for j, value in enumerate(row)]) for row in rows])
    return el("div", el("table", header, body, cls=cls), cls="scroll", tabindex="0")


def fold(title: Any, *content: Any) -> Html:
    """Something to open."""
    return el("details", el("summary", title), *content)


def first_few(parts: Sequence[Any], n: int, make: Callable[[Sequence[Any]], Html]) -> Html:
    """The first n, and the others to open."""
    rest = fold(f"{whole(len(parts) - n)} more", make(parts[n:])) if len(parts) > n else None
    return join([make(parts[:n]), rest])


def item(case: Facts) -> Html:
    """Item as people know it: its picture, id and text."""
    picture, text = case.get("image"), case.get("text")
    shown, thumbnail = [], picture is not None and PICTURE.fullmatch(picture)
    if thumbnail:
        shown.append(el("img", src=picture, alt=f"picture of {name(case['item'])}"))
    shown.append(el("b", name(case["item"]), cls="id"))
    if text:
        shown.append(el("span", text, cls="text"))
    if picture is not None and not thumbnail:
        shown.append(el("code", picture if len(picture) <= 200 else f"{picture[:200]}…"))
    return el("div", shown, cls="item pictured" if thumbnail else "item")


def voices(case: Facts, numbers: bool) -> Html:
    """Who said what, label by label, and how far each is trusted there."""
    by_label: dict[str, list[Html]] = {}
    for voice in case["voices"]:
        who = join([called(voice["annotator"]), " ", el("small", skill(voice["trust"], numbers))])
        label = number(voice["label"]) if numbers else name(voice["label"])
        by_label.setdefault(label, []).append(who)
    said = [el("li", el("b", label), ": ", join(people, ", ")) for label, people in by_label.items()]
    if case["more_voices"]:
        said.append(el("li", f"and {whole(case['more_voices'])} more"))
    return el("ul", said, cls="voices")


def listed(parts: Sequence[Any], last: str = " and ") -> Html:
    """Several things in a sentence: "a, b and c"."""
    if len(parts) < 2:
        return join(parts)
    return join([join(parts[:-1], ", "), last, parts[-1]])
