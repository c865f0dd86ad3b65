"""Which label to ask for next, and of whom."""

from __future__ import annotations

from collections.abc import Iterator

from whoknows.apps.charts import Html, el
from whoknows.apps.report.items import questions
from whoknows.apps.web.pages.shell import PageLinks, section
from whoknows.insight.summary import Summary


def ask(summary: Summary, links: PageLinks) -> Iterator[Html]:
    """Content of the page: the most informative questions, and a link per annotator to answer them."""
    yield from questions(summary, links)
    people = [
        el("li", el("a", el("bdi", str(name)), href=links.to("label", **{"as": name}), cls="button"))
        for name in summary.annotators["annotator"][:50]
    ]
    yield section(
        "Collect these labels here",
        el("p", "The label page asks each annotator the questions on which their answer tells most. Label as:"),
        el("ul", people, cls="choices"),
    )
