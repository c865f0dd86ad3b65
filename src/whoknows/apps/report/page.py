"""The page: all sections in one HTML file, with style and script, that loads nothing from elsewhere."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterator
from datetime import date
from typing import Any

from whoknows.apps.charts import Html, el, tiles
from whoknows.apps.report import formatting as fmt
from whoknows.apps.report.annotators import agreement, annotators
from whoknows.apps.report.data import script_data
from whoknows.apps.report.items import consensus, questions, review
from whoknows.apps.report.overview import overview
from whoknows.apps.report.scales import scale_of
from whoknows.insight.summary import Summary, summarize
from whoknows.io.errors import Path
from whoknows.io.writing import write_lines


def method(summary: Summary) -> Iterator[Html]:
    """The model in a few sentences, its limits, and the papers to cite."""
    unlabelled = summary.given["n_items"] > summary.given["n_labelled"]
    similar = "; unlabelled items show which items are similar" if unlabelled else ""
    model, version = scale_of(summary).words["method"], summary.method["version"]
    yield fmt.template("method.html", method=model, unlabelled=similar, version=version)


SCRIPTS = ("tables.js", "items.js", "map.js")
SECTIONS = (
    ("overview", "Data and model", overview),
    ("consensus", "Consensus", consensus),
    ("annotators", "Who knows what", annotators),
    ("agreement", "Agreement", agreement),
    ("review", "Items to review", review),
    ("ask", "Whom to ask next", questions),
    ("method", "Method and citation", method),
)


def report(model: Any, X: Any, y: Any, path: Path, *, title: str | None = None, **options: Any) -> None:
    """Summarize a fit and write its report as one HTML file, for example from a notebook.

    Parameters
    ----------
    model : CrowdClassifier, AutoCrowdClassifier or CrowdRegressor
        A fitted model.
    X, y
        The data it was fitted to.
    path : str or path
        An existing file is replaced.
    title : str, optional
        Heading of the report.
    **options
        Of `whoknows.insight.summary.summarize`, such as ``features=``, ``text=`` and ``gold=``.
    """
    write(summarize(model, X, y, **options), path, title)


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
    save(page(summary, title), path)


def save(html: Html, path: Path) -> None:
    """Write a page, completely or not at all."""
    write_lines([html.encode("utf-8", "replace").decode()], path)


def page(summary: Summary, title: str | None = None) -> Html:
    """Return the report as HTML."""
    script = "".join(map(fmt.asset, SCRIPTS))
    return fmt.template(
        "page.html",
        title=title or "Who knows what",
        date=_date(summary),
        digest=_digest(script),
        style=Html(fmt.asset("style.css")),
        tiles=_tiles(summary),
        links=[el("a", name, href=f"#{id}") for id, name, _ in SECTIONS],
        sections=[el("section", el("h2", name), *make(summary), id=id) for id, name, make in SECTIONS],
        data=script_data(summary),
        script=Html(script),
    )


def _date(summary: Summary) -> str:
    """Day of the fit; summaries of earlier versions do not have it."""
    day = summary.method.get("date")
    return "" if day is None else f"{date.fromisoformat(day):%d %B %Y}".lstrip("0")


def _tiles(summary: Summary) -> Html:
    """Numbers to see first."""
    given, scale = summary.given, scale_of(summary)
    alpha = summary.agreement.get("alpha")
    facts = [
        (fmt.whole(given["n_items"]), f"items, {fmt.whole(given['n_labelled'])} with labels"),
        (fmt.whole(given["n_annotators"]), "annotator" if given["n_annotators"] == 1 else "annotators"),
        (fmt.whole(given["n_labels"]), "labels"),
        (fmt.whole(summary.answer["n_overruled"]), scale.words["overruled"]),
    ]
    if "n_sure" in summary.answer:  # numbers have no certainty
        facts.insert(3, (fmt.percent(summary.answer["n_sure"] / given["n_items"]), "of the items certain"))
    if alpha is not None:
        facts.append((f"{alpha:.2f}", "agreement (alpha)"))
    return tiles(facts)


def _digest(script: str) -> str:
    """SHA-256 of the script, which the policy of the page allows, and no other."""
    return base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
