"""The folder of a fit as a project of the web app: its items and labels, and its results as they are."""

from __future__ import annotations

import base64
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

from whoknows.apps.cli import inputs, models
from whoknows.apps.cli.console import Console
from whoknows.apps.cli.errors import CommandError
from whoknows.apps.cli.inputs import LoadedData
from whoknows.apps.cli.results import FitFolder

if TYPE_CHECKING:
    from whoknows.apps.web.store import Store
    from whoknows.apps.web.store.items import Item
    from whoknows.apps.web.store.projects import ProjectSettings

MAX_IMAGE = 1 << 20  # bytes of an image that is stored


def add_fit(store: Store, folder: Path, console: Console) -> None:
    """Add the project of a fit, and queue a fit of it."""
    from whoknows.apps.web.store import fits, gold, items, labels, projects
    from whoknows.apps.web.store.labels import Answer

    fitted = FitFolder(folder)
    data = inputs.load(fitted.source, console, fitted.recipe, sampled=False)
    if data.out_of_core:
        raise CommandError(f"{folder}: its features are out of core, which the web app cannot show.")
    known = inputs.read_truth(data, console) or {}
    Y = data.dataset.annotations
    columns = Y.items[Y.item].tolist(), Y.annotators[Y.annotator].tolist(), Y.labels[Y.label].tolist()
    answers = [Answer(*map(str, row), source="import") for row in zip(*columns, strict=True)]
    with store.write() as db:
        project = projects.create(db, _slug(folder), folder.absolute().name, _settings(fitted, data))
        items.put(db, project.id, _items(data, console))
        labels.record(db, project, answers, who="whoknows")
        truths = {str(item): str(label) for item, label in data.dataset.by_item(known).items()}
        gold.decide(db, project, truths, who="whoknows")
        fits.request(db, project.id)
    console.note(f"{folder}: {len(answers)} labels of {Y.n_items} items were added as the project {project.name!r}.")


def _slug(folder: Path) -> str:
    """Return a name for addresses.

    >>> _slug(Path("results/My fit (2)"))
    'my-fit-2'
    """
    return re.sub(r"[^a-z0-9]+", "-", folder.absolute().name.lower()).strip("-")[:60] or "project"


def _settings(fitted: FitFolder, data: LoadedData) -> ProjectSettings:
    from whoknows.apps.web.store.projects import ProjectSettings

    chosen, Y = fitted.settings, data.dataset.annotations
    model, levels = chosen.get("model", "auto"), models.in_order(chosen.get("levels"), Y.labels.tolist())
    classes = () if model == "regression" else tuple(map(str, levels or Y.labels.tolist()))
    names = () if data.labels_alone or data.texts is not None else data.dataset.names
    limits = {name: chosen[name] for name in ("seed", "max_iter") if name in chosen}
    return ProjectSettings(classes, model="ordered" if levels else model, features=tuple(names), **limits)


def _items(data: LoadedData, console: Console) -> list[Item]:
    """Return the items with their texts, images and features; features of texts are computed again by each fit."""
    from whoknows.apps.web.store.items import Item

    keys = [str(item) for item in data.dataset.annotations.items.tolist()]
    nothing = [None] * len(keys)
    texts, images = inputs.texts_of(data) or nothing, inputs.images_of(data, console) or nothing
    has_numbers = not data.labels_alone and data.texts is None
    X = data.dataset.X.astype("float32") if has_numbers else nothing
    rows = zip(keys, texts, images, X, strict=True)
    return [Item(key, text, None, _embedded(image), features) for key, text, image, features in rows]


def _embedded(image: Any) -> str | None:
    """Return an image file that the user named as a data URI; names alone cannot be shown."""
    from whoknows.insight.summary.items import MAGIC

    if not isinstance(image, Path) or image.stat().st_size > MAX_IMAGE:
        return None
    content = image.read_bytes()
    kind = next((kind for magic, kind in MAGIC.items() if content.startswith(magic)), None)
    return None if kind is None else f"data:image/{kind};base64,{base64.b64encode(content).decode()}"
