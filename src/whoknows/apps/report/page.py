"""The page: sections in their order, style and script inside, nothing fetched from anywhere."""

from __future__ import annotations

import base64
import hashlib
import json
from importlib.resources import files
from typing import Any

from whoknows.apps.charts import Html, el, join
from whoknows.apps.report.agreement import agreement
from whoknows.apps.report.answer import answer
from whoknows.apps.report.given import given
from whoknows.apps.report.items import adjudicate, ask
from whoknows.apps.report.method import method
from whoknows.apps.report.people import people
from whoknows.apps.report.words import percent, whole
from whoknows.insight.summary import Summary
from whoknows.io.atomic import replace
from whoknows.io.errors import Path

SECTIONS = (
    ("given", "What was given", given),
    ("answer", "The answer", answer),
    ("people", "Who knows what", people),
    ("agreement", "Agreement", agreement),
    ("adjudicate", "Items to adjudicate", adjudicate),
    ("ask", "Whom to ask next", ask),
    ("method", "Method and citation", method),
)


def write(summary: Summary, path: Path, title: str | None = None) -> None:
    """Write the report of a fit: one HTML file, whole or not at all.

    Parameters
    ----------
    summary : Summary
        From `whoknows.insight.summary.summarize`.
    path : str or path
        A file of that name is replaced.
    title : str, optional
        Heading of the report.
    """
    text = page(summary, title)

    def save(temporary: str) -> None:
        with open(temporary, "x", encoding="utf-8", errors="replace", newline="\n") as file:
            file.write(text)

    replace(path, save)


def page(summary: Summary, title: str | None = None) -> Html:
    """Return the report as HTML."""
    title = title or "Who knows what"
    style, script = _asset("style.css"), _asset("map.js")
    sections = [
        el("section", el("h2", heading), make(summary), id=anchor) for anchor, heading, make in SECTIONS
    ]
    links = [el("a", heading, href=f"#{anchor}") for anchor, heading, _ in SECTIONS]
    head = el(
        "head",
        el("meta", charset="utf-8"),
        el("meta", http_equiv="Content-Security-Policy", content=_policy(script)),
        el("meta", name="viewport", content="width=device-width, initial-scale=1"),
        el("meta", name="color-scheme", content="light dark"),
        el("meta", name="referrer", content="no-referrer"),
        el("title", title),
        el("style", Html(style)),
    )
    body = el(
        "body",
        el("header", el("h1", title), _tiles(summary), el("nav", links, aria_label="Sections")),
        el("main", sections),
        el("script", _data(summary), type="application/json", id="data"),
        el("script", Html(script)),
    )
    return join([Html("<!DOCTYPE html>\n"), el("html", head, body, lang="en")])


def _tiles(summary: Summary) -> Html:
    """The five numbers to see first."""
    given, answer, agreed = summary.given, summary.answer, summary.agreement
    alpha = agreed.get("alpha")
    tiles = [
        (whole(given["n_items"]), f"items, {whole(given['n_labelled'])} with labels"),
        (whole(given["n_annotators"]), "annotator" if given["n_annotators"] == 1 else "annotators"),
        (whole(given["n_labels"]), "labels"),
    ]
    if given["kind"] != "numbers":
        tiles.append((percent(answer["n_sure"] / given["n_items"]), "of the items settled"))
    tiles.append(
        (whole(answer["n_overruled"]), "votes overruled" if given["kind"] != "numbers" else "means overruled")
    )
    if alpha is not None:
        tiles.append((f"{alpha:.2f}", "agreement (alpha)"))
    return el("dl", [el("div", el("dd", value), el("dt", what)) for value, what in tiles], cls="tiles")


def _data(summary: Summary) -> Html:
    """What the map needs, as JSON that cannot end the script it stands in."""
    kind = summary.given["kind"]
    facts: dict[str, Any] = {**summary.map, "numbers": kind == "numbers"}
    text = json.dumps(facts, ensure_ascii=True, allow_nan=False, separators=(",", ":"))
    return Html(text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026"))


def _asset(name: str) -> str:
    return files("whoknows.apps.report").joinpath(name).read_text("utf-8")


def _policy(script: str) -> str:
    """Content-Security-Policy: nothing from the network, no script but ours."""
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    return (
        f"default-src 'none'; script-src 'sha256-{digest}'; style-src 'unsafe-inline'; img-src data:; "
        "base-uri 'none'; form-action 'none'"
    )
