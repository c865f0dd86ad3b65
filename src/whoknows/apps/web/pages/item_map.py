"""Map of the items: who is best where, and which items lie there."""

from __future__ import annotations

from collections.abc import Iterator

from whoknows.apps.charts import Html, el
from whoknows.apps.report.annotators import has_map, item_map
from whoknows.apps.report.data import script_data
from whoknows.apps.web.pages.shell import PageLinks, nothing
from whoknows.insight.summary import Summary


def scripts_of(summary: Summary | None) -> tuple[str, ...]:
    """Scripts of the page; they need a map."""
    return ("tables.js", "items.js", "map.js") if summary is not None and has_map(summary) else ()


def map_page(summary: Summary, links: PageLinks) -> Iterator[Html]:
    """Content of the page; the data that its script needs come with it."""
    if not has_map(summary):
        why = "The items of this project have neither features nor texts, so there is no telling which are similar."
        yield nothing("No map", why, el("a", "Import features or texts", href=links.to("data")))
        return
    yield item_map(summary)
    pages = f"{links.to('items')}/"
    yield el("script", script_data(summary, pages=pages), type="application/json", id="data")
