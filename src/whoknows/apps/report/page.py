"""The page: all sections in one HTML file, with style and script, that loads nothing from elsewhere."""

from __future__ import annotations

import base64
import hashlib
import json
from importlib.resources import files

from whoknows.apps.charts import Html, el, join
from whoknows.apps.report.agreement import agreement
from whoknows.apps.report.annotators import annotators
from whoknows.apps.report.consensus import consensus
from whoknows.apps.report.formatting import lead, whole
from whoknows.apps.report.items import questions, review
from whoknows.apps.report.overview import overview
from whoknows.apps.report.scales import scale_of
from whoknows.insight.summary import Summary
from whoknows.io.errors import Path
from whoknows.io.writing import replace_file

CAVEATS = (
    "No true labels were used unless gold labels were given: expertise is what best explains who disagrees "
    "with whom, and the features. If most annotators make the same mistake, so does the model. Intervals and "
    "probabilities are those of the model, and only as good as its assumptions."
)
DETAILS = (
    "Regions are the best and the worst leaf of a decision tree of depth two, fitted to the expertise of "
    "each annotator on a sample of items. The map shows the first two principal components of the features. "
    "Labels to collect are chosen by expected information gain."
)
PAPERS = (
    "Y. Yan, R. Rosales, G. Fung, J. Dy (2010). Modeling Multiple Annotator Expertise in the Semi-Supervised "
    "Learning Scenario. Proceedings of the 26th Conference on Uncertainty in Artificial Intelligence (UAI). "
    "arXiv:1203.3529.",
    "K. Krippendorff (2011). Computing Krippendorff's alpha-reliability. University of Pennsylvania.",
)
BIBTEX = """@inproceedings{yan2010modeling,
  title     = {Modeling Multiple Annotator Expertise in the Semi-Supervised Learning Scenario},
  author    = {Yan, Yan and Rosales, R{\\'o}mer and Fung, Glenn and Dy, Jennifer},
  booktitle = {Proceedings of the Twenty-Sixth Conference on Uncertainty in Artificial Intelligence},
  year      = {2010}
}"""


def method(summary: Summary) -> Html:
    """The model in a few sentences, its limits, and the papers to cite."""
    unlabelled = summary.given["n_items"] > summary.given["n_labelled"]
    return join(
        [
            lead(
                scale_of(summary).method,
                " Truth and annotators are estimated jointly from the labels",
                "; unlabelled items show which items are similar." if unlabelled else ".",
            ),
            el("p", CAVEATS),
            el("p", DETAILS),
            el("p", f"Created with whoknows {summary.method['version']}. If you use it, please cite:"),
            el("ul", [el("li", paper) for paper in PAPERS]),
            el("pre", BIBTEX),
        ]
    )


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
    text = page(summary, title)

    def save(temporary: str) -> None:
        with open(temporary, "x", encoding="utf-8", errors="replace", newline="\n") as file:
            file.write(text)

    replace_file(path, save)


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
    """Numbers to see first."""
    given, scale = summary.given, scale_of(summary)
    alpha = summary.agreement.get("alpha")
    tiles = [
        (whole(given["n_items"]), f"items, {whole(given['n_labelled'])} with labels"),
        (whole(given["n_annotators"]), "annotator" if given["n_annotators"] == 1 else "annotators"),
        (whole(given["n_labels"]), "labels"),
        *scale.tiles(summary),
        (whole(summary.answer["n_overruled"]), scale.overruled),
    ]
    if alpha is not None:
        tiles.append((f"{alpha:.2f}", "agreement (alpha)"))
    return el("dl", [el("div", el("dd", value), el("dt", what)) for value, what in tiles], cls="tiles")


def _data(summary: Summary) -> Html:
    """Data of the map as JSON that cannot close its script element."""
    scale = scale_of(summary)
    facts = {**summary.map, "domain": scale.domain(summary.map["domain"]), "scale": scale.script}
    text = json.dumps(facts, ensure_ascii=True, allow_nan=False, separators=(",", ":"))
    return Html(text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026"))


def _asset(name: str) -> str:
    return files("whoknows.apps.report").joinpath(name).read_text("utf-8")


def _policy(script: str) -> str:
    """Content-Security-Policy: nothing from the network, no script but our own."""
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    return (
        f"default-src 'none'; script-src 'sha256-{digest}'; style-src 'unsafe-inline'; img-src data:; "
        "base-uri 'none'; form-action 'none'"
    )
