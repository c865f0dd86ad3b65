"""Data of a project: imports, which are confirmed before anything is stored, exports and settings."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from whoknows.apps.charts import Html, bullets, el, fold, join, lead, note, table
from whoknows.apps.report import formatting as fmt
from whoknows.apps.web.api.models import Preview
from whoknows.apps.web.exchange.uploads import NEEDED, ROLES
from whoknows.apps.web.pages.shell import Visit, button, heading, section
from whoknows.apps.web.store.projects import Project

KINDS = {
    "labels": "Labels: CSV, Excel, Parquet or JSON with item, annotator and label, or an export of a labelling tool",
    "items": "Items: a table with a row per item: id, texts, image, and numbers as features",
    "gold": "Gold: a table with item and true label",
}
EXPORTS = {
    "annotations.csv": "all labels, as whoknows fit reads them",
    "consensus.csv": "the consensus of each item and its probability",
    "annotators.csv": "the accuracy of each annotator",
    "report.html": "the report, one page that needs no network",
    "model.whoknows": "the model, for whoknows predict and for Python",
}
MODELS = {
    "auto": "auto: several models, averaged (recommended)",
    "id": "id: one model, a smooth function of the features",
    "lgp": "lgp: the same, shaped by unlabelled items",
    "gp": "gp: similar items have the same class",
    "ordered": "ordered: classes are levels, from the lowest",
    "regression": "regression: labels are numbers",
}
ROLE_NAMES = {"second_text": "second text"}


def data_page(project: Project, is_fitted: bool, visit: Visit) -> Iterator[Html]:
    """Content of the page."""
    if visit.is_lead:
        yield section("Import", _upload(visit), id="import")
    yield section("Export", *_exports(is_fitted, visit), id="export")
    if visit.is_lead:
        yield section("Settings", _settings(project, visit), id="settings")


def _upload(visit: Visit) -> Html:
    choices = [
        el("label", el("input", type="radio", name="kind", value=kind, checked=kind == "labels"), " ", text)
        for kind, text in KINDS.items()
    ]
    file = el("input", type="file", name="file", required=True, aria_label="File")
    return visit.form(
        visit.links.to("data"),
        el("div", choices, cls="options"),
        el("div", file, button("Upload", cls="primary"), cls="tools"),
        note("The next page shows what was recognised. Nothing is stored before you confirm it."),
        enctype="multipart/form-data",
    )


def _exports(is_fitted: bool, visit: Visit) -> Iterator[Html]:
    ready = EXPORTS if is_fitted else {"annotations.csv": EXPORTS["annotations.csv"]}
    root = f"/api/v1{visit.links.to('exports')}"
    yield table(
        ("file", "content"),
        [(el("a", name, href=f"{root}/{name}", download=True), what) for name, what in ready.items()],
    )
    if not is_fitted:
        yield note("Consensus, annotators, report and model can be exported after the first fit.")


# --- settings ---------------------------------------------------------------------------------------


def _settings(project: Project, visit: Visit) -> Html:
    known = project.settings
    classes = el("textarea", "\n".join(known.classes), name="classes", rows=max(3, min(len(known.classes) + 1, 12)))
    models = [el("option", text, value=name, selected=name == known.model) for name, text in MODELS.items()]
    every = el("input", type="number", name="refit_every", min=0, step=1, value=known.refit_every, required=True)
    enough = el("input", type="number", name="enough", min=0, step="any", value=known.enough, required=True)
    return visit.form(
        visit.links.to("settings"),
        _field("Title", el("input", type="text", name="title", value=project.title, required=True, maxlength=200)),
        _field(
            "Question that annotators see",
            el("input", type="text", name="question", value=known.question, maxlength=2000),
        ),
        _field("Classes, one per line, in the order of the number keys (lowest first for ordered labels)", classes),
        _field("Model", el("select", models, name="model")),
        _field("Fit again after this many new labels (0: never)", every),
        _field("Enough: expected information, in bits, below which annotators are told to stop", enough),
        button("Save"),
        cls="fields",
    )


def _field(text: str, field: Html) -> Html:
    return el("label", el("span", text), field)


# --- preview of an import ---------------------------------------------------------------------------


def preview_page(preview: Preview, visit: Visit) -> Iterator[Html]:
    """Content of the page that shows what a file holds, before it is stored."""
    yield heading(f"Import {preview.kind}")
    if preview.problem:
        what, *formats = preview.problem.splitlines()
        yield el("p", what, " ", _advice(preview), role="alert", cls="problem")
        if formats:
            yield fold("Formats that are recognised", bullets(formats))
    else:
        yield lead(_holds(preview), " Nothing is stored yet.")
    if preview.columns or preview.problem:
        yield section("Columns", _columns(preview, visit))
    if preview.rows:
        yield section("First rows", *_rows(preview))
    if preview.notes:
        yield section("Notes", bullets(preview.notes))
    yield _decision(preview, visit)


def _holds(preview: Preview) -> str:
    """What the file holds, in a sentence."""
    parts = [fmt.counted(preview.n_items, "item")]
    if preview.n_labels:
        labels, annotators = fmt.counted(preview.n_labels, "label"), fmt.counted(len(preview.annotators), "annotator")
        parts = [f"{labels} by {annotators} on {parts[0]}"]
    if preview.n_gold:
        parts.append(fmt.counted(preview.n_gold, "gold label"))
    if preview.n_features:
        parts.append(fmt.counted(preview.n_features, "feature"))
    classes = (
        f" Classes: {', '.join(preview.classes[:12])}{'…' if len(preview.classes) > 12 else ''}."
        if preview.classes
        else ""
    )
    return f"The file holds {fmt.listed(parts)}.{classes}"


def _columns(preview: Preview, visit: Visit) -> Html:
    """Which column is used for what; another choice reads the file again."""
    fields = [
        el("label", f"{ROLE_NAMES.get(role, role)} ", el("select", _options(preview, role), name=role))
        for role in ROLES[preview.kind]
    ]
    action = visit.links.to("imports", preview.token)
    return el("form", fields, button("Read again"), method="get", action=action, cls="tools")


def _options(preview: Preview, role: str) -> list[Html]:
    chosen = preview.columns.get(role)
    none = el("option", "(none)", value="", selected=chosen is None)
    return [none, *(el("option", name, value=name, selected=name == chosen) for name in preview.names)]


def _rows(preview: Preview) -> Iterator[Html]:
    head: Sequence[str] = [name for name in preview.rows[0] if any(row[name] is not None for row in preview.rows)]
    rows = [[el("bdi", fmt.name(row[name])) for name in head] for row in preview.rows]
    yield table([ROLE_NAMES.get(name, name) for name in head], rows)


def _advice(preview: Preview) -> str:
    """What to do about a file that cannot be read."""
    if NEEDED & set(ROLES[preview.kind]) <= set(preview.columns):
        return "Correct the file and upload it again, or choose other columns below."
    return "Choose the columns below, and read the file again."


def _decision(preview: Preview, visit: Visit) -> Html:
    chosen: list[Any] = [el("input", type="hidden", name=role, value=name) for role, name in preview.columns.items()]
    store = None if preview.problem else button("Import", cls="primary", name="act", value="confirm")
    discard = button("Discard", name="act", value="discard")
    return visit.form(visit.links.to("imports", preview.token), chosen, join([store, discard]), cls="tools decision")
