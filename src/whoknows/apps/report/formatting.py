"""Formats of numbers, names and items, the same in every section; templates of the page."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Sequence
from importlib.resources import files
from string import Template
from typing import Any

from whoknows.apps.charts import Html, el, join
from whoknows.insight.summary.text import Facts, annotator_name, thousands, three_digits
from whoknows.insight.summary.text import percent as percentage

NOTHING = "–"
IMAGE = re.compile(r"data:image/(png|jpeg|gif|webp);base64,[A-Za-z0-9+/=]+")
MAX_PATH = 200  # characters


def percent(value: float | None, places: int = 0) -> str:
    """Share as a percentage."""
    return NOTHING if value is None else percentage(value, places)


def number(value: float | None) -> str:
    """Number with three digits; for labels and ids use `name`."""
    return NOTHING if value is None else three_digits(value).replace("-", "−")


def signed(value: float | None) -> str:
    """Number with its sign."""
    return NOTHING if value is None else f"{'+' if value > 0 else ''}{number(value)}"


def plus_minus(value: float | None) -> str:
    """Size of an error."""
    return NOTHING if value is None else f"±\u202f{number(value)}"


def whole(n: int) -> str:
    """Integer with narrow no-break spaces between thousands."""
    return thousands(n).replace(" ", "\u202f")


def counted(n: int, noun: str) -> str:
    """Return "1 item", "20 000 items"."""
    return f"{whole(n)} {noun}{'' if n == 1 else 's'}"


def name(value: Any) -> str:
    """Label or id; numbers with enough digits to distinguish them."""
    return NOTHING if value is None else f"{value:.15g}" if isinstance(value, float) else str(value)


def quoted(value: Any) -> Html:
    """Label within a sentence."""
    return el("q", el("bdi", name(value)))


def bold_name(annotator: Any) -> Html:
    """Annotator within a sentence; the order of the sentence does not depend on the script of the name."""
    return el("b", el("bdi", annotator_name(annotator)))


def listed(parts: Sequence[Any]) -> Html:
    """Enumeration: "a, b and c"."""
    return join(parts) if len(parts) < 2 else join([join(parts[:-1], ", "), " and ", parts[-1]])


class Links:
    """How a page names items and annotators; the script of the report makes them open a card or colour the map."""

    def item(self, id: Any) -> Html:
        """Id of an item."""
        return el("b", name(id), cls="id", data_item=id)

    def annotator(self, who: Any, on_map: int | None = None) -> Html:
        """Name of an annotator; ``on_map`` is the position among those that the map can be coloured by."""
        return el("bdi", name(who), data_who=on_map)


IN_REPORT = Links()


def item(case: Facts, links: Links = IN_REPORT) -> Html:
    """Item with its image, id and text."""
    image, text = case.get("image"), case.get("text")
    shown, embedded = [], image is not None and IMAGE.fullmatch(image)
    if embedded:
        shown.append(el("img", src=image, alt=f"image of {name(case['item'])}"))
    shown.append(links.item(case["item"]))
    if text:
        shown.append(el("span", text, cls="text", dir="auto"))
    if image is not None and not embedded:
        shown.append(el("code", image if len(image) <= MAX_PATH else f"{image[:MAX_PATH]}…"))
    return el("div", shown, cls="item pictured" if embedded else "item")


def asset(name: str, package: str = "whoknows.apps.report") -> str:
    """Text of a file of a package."""
    return files(package).joinpath(name).read_text("utf-8")


def wording(kind: str) -> dict[str, str]:
    """Sentences about a kind of label or setting, by what they are about."""
    return dict(tomllib.loads(asset("wording.toml"))[kind])


def template(name: str, /, **parts: Any) -> Html:
    """HTML file of this package with its $parts filled in; text is escaped."""
    return fill(asset(name), **parts)


def fill(text: str, /, **parts: Any) -> Html:
    """HTML with its $parts filled in; text is escaped."""
    return Html(Template(text).substitute({key: join([part]) for key, part in parts.items()}))
