"""The page: all sections in one HTML file, with style and script, that loads nothing from elsewhere."""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Iterator

from whoknows.apps.charts import Html, el
from whoknows.apps.report import formatting as fmt
from whoknows.apps.report.annotators import agreement, annotators
from whoknows.apps.report.items import consensus, questions, review
from whoknows.apps.report.overview import overview
from whoknows.apps.report.scales import scale_of
from whoknows.insight.summary import Summary
from whoknows.io.errors import Path
from whoknows.io.writing import write_lines


def method(summary: Summary) -> Iterator[Html]:
    """The model in a few sentences, its limits, and the papers to cite."""
    unlabelled = summary.given["n_items"] > summary.given["n_labelled"]
    similar = "; unlabelled items show which items are similar" if unlabelled else ""
    model, version = scale_of(summary).words["method"], summary.method["version"]
    yield fmt.template("method.html", method=model, unlabelled=similar, version=version)


SECTIONS = (
    ("overview", "Data and model", overview),
    ("consensus", "Consensus", consensus),
    ("annotators", "Who knows what", annotators),
    ("agreement", "Agreement", agreement),
    ("review", "Items to review", review),
    ("ask", "Whom to ask next", questions),
    ("method", "Method and citation", method),
)


def write(summary: Summary, path: Path, title: str | None = None) -> None:
    """Write the report of a fit as one HTML file, completely or not at all.

    Parameters
    ----------
    summary : Summary
        From `whoknows.insight.summary.summarize`.
    path : str or path
        An existing file is replaced.
    title : str, optional
        Heading of the report.
    """
    text = page(summary, title).encode("utf-8", "replace").decode()
    write_lines([text], path)


def page(summary: Summary, title: str | None = None) -> Html:
    """Return the report as HTML."""
    script = fmt.asset("tables.js") + fmt.asset("map.js")
    return fmt.template(
        "page.html",
        title=title or "Who knows what",
        digest=_digest(script),
        style=Html(fmt.asset("style.css")),
        tiles=_tiles(summary),
        links=[el("a", name, href=f"#{id}") for id, name, _ in SECTIONS],
        sections=[el("section", el("h2", name), *make(summary), id=id) for id, name, make in SECTIONS],
        data=_data(summary),
        script=Html(script),
    )


def _tiles(summary: Summary) -> Html:
    """Numbers to see first."""
    given, scale = summary.given, scale_of(summary)
    alpha = summary.agreement.get("alpha")
    tiles = [
        (fmt.whole(given["n_items"]), f"items, {fmt.whole(given['n_labelled'])} with labels"),
        (fmt.whole(given["n_annotators"]), "annotator" if given["n_annotators"] == 1 else "annotators"),
        (fmt.whole(given["n_labels"]), "labels"),
        (fmt.whole(summary.answer["n_overruled"]), scale.words["overruled"]),
    ]
    if "n_sure" in summary.answer:  # numbers have no certainty
        tiles.insert(3, (fmt.percent(summary.answer["n_sure"] / given["n_items"]), "of the items certain"))
    if alpha is not None:
        tiles.append((f"{alpha:.2f}", "agreement (alpha)"))
    return el("dl", [el("div", el("dd", value), el("dt", what)) for value, what in tiles], cls="tiles")


def _data(summary: Summary) -> Html:
    """Data of the map as JSON that cannot close its script element."""
    scale = scale_of(summary)
    facts = {**summary.map, "domain": scale.domain(summary.map["domain"]), "scale": scale.script}
    text = json.dumps(facts, ensure_ascii=True, allow_nan=False, separators=(",", ":"))
    return Html(text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026"))


def _digest(script: str) -> str:
    """SHA-256 of the script, which the policy of the page allows, and no other."""
    return base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
