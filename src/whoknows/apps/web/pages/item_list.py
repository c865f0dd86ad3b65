"""List of items: searched, filtered, sorted and paged by the server."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from whoknows.apps.charts import Html, el, join, note, table
from whoknows.apps.report import formatting as fmt
from whoknows.apps.web.pages.item_view import label_text
from whoknows.apps.web.pages.shell import PageLinks, button
from whoknows.apps.web.store.search import Search

SHOW = {
    "all": "all items",
    "labelled": "with labels",
    "unlabelled": "without labels",
    "disagreement": "labels that disagree",
    "uncertain": "uncertain (below 90%)",
    "overruled": "vote overruled",
    "gold": "gold",
}
SORT = {
    "added": "order of import",
    "item": "item",
    "uncertain": "least certain first",
    "certain": "most certain first",
    "disagreement": "most disagreement first",
    "labels": "most labels first",
}
HEAD = (
    "item",
    "consensus",
    "certainty",
    el("th", "disagreement", scope="col", cls="num roomy"),
    "labels",
    el("th", "vote", scope="col", cls="roomy"),
)
TEXT = 160  # characters of a text in the list


def item_list(
    search: Search, found: Sequence[Any], n: int, classes: Sequence[str] | None, links: PageLinks
) -> Iterator[Html]:
    """Content of the page: the form, the items found, and links to other pages of the list."""
    yield _form(search, classes, links)
    if not n:
        yield _none(search, links)
        return
    yield table(HEAD, map(_row(links, classes), found), (2, 4), cls="items")
    yield _pager(search, len(found), n, links)


def _none(search: Search, links: PageLinks) -> Html:
    if search == Search():
        return note("This project has no items yet. ", el("a", "Import a file", href=links.to("data")), " to begin.")
    return note("No item matches. ", el("a", "Show all items", href=links.to("items")))


def _row(links: PageLinks, classes: Sequence[str] | None) -> Callable[[Any], list[Any]]:
    def row(each: Any) -> list[Any]:
        known = ("gold", each.gold), ("vote overruled", each.overruled)
        marks = [el("span", word, cls="gold") for word, is_so in known if is_so]
        text = each.text and el("span", _short(each.text), cls="text", dir="auto")
        return [
            el("div", links.item(each.key), text or None, marks, cls="item"),
            label_text(each.gold or each.label, classes),
            _certainty(each),
            el("td", _disagreement(each) if classes is not None else fmt.NOTHING, cls="num roomy"),
            fmt.whole(each.n_labels),
            el("td", label_text(each.vote, classes), cls="roomy"),
        ]

    return row


def _certainty(each: Any) -> str:
    """Probability of a class, or uncertainty of a number."""
    if each.gold or each.probabilities is None:
        return "gold" if each.gold else fmt.NOTHING
    std = each.probabilities.get("std") if each.confidence is None else None
    return fmt.percent(each.confidence) if std is None else fmt.plus_minus(std)


def _disagreement(each: Any) -> str:
    """Share of labels that differ from the most frequent one; items with one label have none."""
    known = each.n_labels > 1 and each.disagreement is not None
    return fmt.percent(each.disagreement) if known else fmt.NOTHING


def _short(text: str) -> str:
    line = " ".join(text[: 4 * TEXT].split())
    return line if len(line) <= TEXT else f"{line[:TEXT].rstrip()}…"


def _form(search: Search, classes: Sequence[str] | None, links: PageLinks) -> Html:
    """Form that works without script: it is sent by its button, and is part of the address."""
    words = el("input", type="search", name="q", value=search.q, placeholder="Id or text", aria_label="Search")
    any_class = {"": "any", **{name: name for name in classes or ()}}
    return el(
        "form",
        words,
        _select("Show", "show", SHOW, search.show),
        _select("Consensus", "consensus", any_class, search.consensus) if classes else None,
        _select("Sort by", "sort", SORT, search.sort),
        button("Search"),
        method="get",
        action=links.to("items"),
        cls="tools",
        role="search",
    )


def _select(label: str, name: str, choices: dict[str, str], chosen: str) -> Html:
    options = [el("option", text, value=value, selected=value == chosen) for value, text in choices.items()]
    return el("label", f"{label} ", el("select", options, name=name))


def _pager(search: Search, shown: int, n: int, links: PageLinks) -> Html:
    first = (search.page - 1) * search.size
    parts = [
        _turn("Previous", search, -1, links) if first else None,
        _turn("Next", search, 1, links) if first + shown < n else None,
        el("span", f"{fmt.whole(first + 1)}–{fmt.whole(first + shown)} of {fmt.whole(n)}", cls="note"),
    ]
    return el("nav", join(parts), cls="pager", aria_label="Pages of the list")


def _turn(text: str, search: Search, by: int, links: PageLinks) -> Html:
    query = {"q": search.q, "show": search.show, "consensus": search.consensus, "sort": search.sort}
    return el("a", text, href=links.to("items", **query, page=search.page + by), cls="button")
