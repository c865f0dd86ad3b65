"""An item as people see it: its text, its pair of texts, its image or its features."""

from __future__ import annotations

from collections.abc import Sequence

from whoknows.apps.charts import Html, el, fold, note, table
from whoknows.apps.report import formatting as fmt
from whoknows.apps.web.store.items import Item
from whoknows.apps.web.store.projects import is_number

OPEN = 12  # features that are not folded


def item_view(item: Item, features: Sequence[str] = ()) -> Html:
    """Text, pair of texts, image or features of an item."""
    shown: list[Html] = []
    if item.image is not None:
        embedded = fmt.IMAGE.fullmatch(item.image)
        shown.append(el("img", src=item.image, alt=f"image of {item.key}") if embedded else el("code", item.image))
    if item.text is not None:
        texts = [each for each in (item.text, item.second_text) if each is not None]
        shown.append(
            el(
                "div",
                [el("div", text, cls="text", dir="auto") for text in texts],
                cls="pair" if len(texts) > 1 else None,
            )
        )
    if not shown:
        shown.append(_features(item, features))
    return el("div", shown, cls="item-view")


def label_text(label: str | None, classes: Sequence[str] | None) -> str:
    """Label as it is shown; where classes are None, it is a number, unless it came before that was so."""
    is_name = label is None or classes is not None or not is_number(label)
    return fmt.name(label) if is_name else fmt.number(float(label))


def _features(item: Item, names: Sequence[str]) -> Html:
    if item.features is None:
        return note("This item has no text, image or features; it is known by its id only.")
    values = [float(value) for value in item.features]
    known = list(names) if len(names) == len(values) else [f"x{j}" for j in range(len(values))]
    rows = [(name, fmt.number(value)) for name, value in zip(known, values, strict=True)]
    first = table(("feature", "value"), rows[:OPEN], (1,), cls="features")
    if len(rows) <= OPEN:
        return first
    return el(
        "div",
        first,
        fold(f"{len(rows) - OPEN} more features", table(("feature", "value"), rows[OPEN:], (1,), cls="features")),
    )
