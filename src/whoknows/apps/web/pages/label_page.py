"""Label page: one item per screen, and nothing that others said about it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from whoknows.apps.charts import Html, bar, el, lead
from whoknows.apps.report import formatting as fmt
from whoknows.apps.web.pages.item_view import item_view
from whoknows.apps.web.pages.shell import Visit, button, heading, nothing
from whoknows.apps.web.store.asking import Task
from whoknows.apps.web.store.projects import Project

KEYS = "1234567890"  # of the first classes
HELP = "Keys: the numbers answer, s skips, u or Ctrl+Z takes the last answer back."
HELP_NUMBERS = "Keys: Enter saves the number, s skips, u or Ctrl+Z takes the last answer back."


@dataclass(frozen=True)
class Screen:
    """What an annotator sees.

    Parameters
    ----------
    project : Project
    annotator : str
    task : Task
        An item to label, whether that is expected to tell much, or that everything is answered.
    n_done, n_items : int
        Items that this annotator has labelled, of all.
    classes : sequence of str or None
        None for numbers.
    """

    project: Project
    annotator: str
    task: Task
    n_done: int
    n_items: int
    classes: Sequence[str] | None


def label_page(screen: Screen, visit: Visit) -> Html:
    """Content of the page: a form that works without script; the script adds keys and speed."""
    settings, links = screen.project.settings, visit.links
    is_over = screen.task.item is None
    buttons = _action("skip", "Skip", "s", hidden=is_over), _action("undo", "Undo", "u")
    form = visit.form(
        links.to("label"),
        el("input", type="hidden", name="as", value=screen.annotator),
        el("h1", settings.question or "Which label is right?", dir="auto"),
        task_view(screen),
        el("div", _choices(screen.classes), cls="choices answers", hidden=is_over),
        el("div", buttons, cls="tools", hidden=not screen.n_items),
        id="label",
        data_annotations=f"/api/v1{links.to('annotations')}",
        data_skips=f"/api/v1{links.to('skips')}",
        data_next=links.to("label", "next"),
    )
    keys = el("p", HELP_NUMBERS if screen.classes is None else HELP, cls="note needs-script", hidden=not screen.n_items)
    return el("div", form, el("p", role="status", id="message"), keys, cls="labelling")


def task_view(screen: Screen) -> Html:
    """The item and how far the annotator is; the script fetches the next one while this one is on the screen."""
    done = el("span", fmt.whole(screen.n_done), id="done", data_of=screen.n_items)
    total = f" of {fmt.counted(screen.n_items, 'item')}"
    progress = el("p", "Labelling as ", fmt.bold_name(screen.annotator), ": ", done, total, cls="note")
    share = el("div", bar(screen.n_done / max(screen.n_items, 1)), cls="thin")
    item, key = screen.task.item, ""
    shown = nothing("Done", "You have seen every item. Thank you.")
    if not screen.n_items:
        shown = nothing("No items yet", "A lead imports them on the page Data.")
    if item is not None:
        shown, key = item_view(item, screen.project.settings.features), item.key
    hidden = el("input", type="hidden", name="item", value=key)
    return el("div", progress, share, hidden, _enough(screen), shown, id="task", data_item=key, tabindex="-1")


def _enough(screen: Screen) -> Html | None:
    """That another label is not expected to tell much; it depends on the model, not on one item."""
    if screen.task.state != "enough":
        return None
    gain = f"Another label by you is expected to tell less than {screen.project.settings.enough:g} bits."
    return el("p", el("b", "Enough for now. "), gain, " You can stop here, or go on.", cls="enough")


def _choices(classes: Sequence[str] | None) -> list[Html]:
    """Button per class, or a field for a number."""
    if classes is None:
        number = el("input", name="label", type="number", step="any", aria_label="Your value", autofocus=True)
        return [number, button("Save", cls="primary")]
    if not classes:
        return [el("p", "This project has no classes yet. A lead lists them on the page Data.")]
    keys = [*KEYS, *[None] * len(classes)]
    return [_choice(name, key) for name, key in zip(classes, keys, strict=False)]


def _choice(name: str, key: str | None) -> Html:
    shown = el("kbd", key, aria_hidden="true") if key else None
    return el("button", shown, " ", el("bdi", name), type="submit", name="label", value=name, aria_keyshortcuts=key)


def _action(act: str, text: str, key: str, hidden: bool = False) -> Html:
    hint = el("kbd", key, aria_hidden="true")
    sent: dict[str, Any] = {"type": "submit", "name": "act", "value": act, "formnovalidate": True}
    return el("button", text, " ", hint, **sent, aria_keyshortcuts=key, hidden=hidden)


def who_labels(annotators: Sequence[str], visit: Visit) -> Html:
    """Content of the page on which somebody says who they are."""
    links = visit.links
    names = [el("a", el("bdi", name), href=links.to("label", **{"as": name}), cls="button") for name in annotators]
    field = el("input", name="as", required=True, maxlength=200, aria_label="Your name", autocomplete="username")
    new = el("form", field, " ", button("Start"), method="get", action=links.to("label"), cls="tools")
    known = el("ul", [el("li", name) for name in names], cls="choices") if names else None
    intro = lead("Labels are stored under your name. You see no labels by others, and no predictions.")
    return el("div", heading("Who labels?"), intro, known, el("h2", "Another name"), new)
