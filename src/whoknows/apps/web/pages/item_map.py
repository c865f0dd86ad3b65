"""Map of the items: who is best where, and which items lie there."""

from __future__ import annotations

from collections.abc import Iterator

from whoknows.apps.charts import Html, el
from whoknows.apps.report.annotators import has_map, item_map
from whoknows.apps.report.data import script_data
from whoknows.apps.web.pages.shell import PageLinks, nothing
from whoknows.insight.summary import Summary

SCRIPTS = ("tables.js", "items.js", "map.js")


def map_page(summary: Summary, links: PageLinks) -> Iterator[Html]:
    """Content of the page; the data that its script needs come with it."""
    if not has_map(summary):
        why = "The items of this project have neither features nor texts, so there is no telling which are similar."
        yield nothing("No map", why, el("a", "Import features or texts", href=links.to("data")))
        return
    yield item_map(summary)
    pages = f"{links.to('items')}/"
    yield el("script", script_data(summary, pages=pages), type="application/json", id="data")
