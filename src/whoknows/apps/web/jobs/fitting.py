"""From the items and labels of a project to a model, its summary, predictions and questions."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from sqlalchemy import Connection

from whoknows._array import Array, Rows
from whoknows.apps.models import estimator
from whoknows.apps.web.jobs.progress import Progress
from whoknows.apps.web.store import gold, items, labels
from whoknows.apps.web.store.fits import Results
from whoknows.apps.web.store.projects import Project
from whoknows.data.annotations import Annotations
from whoknows.data.errors import InputError

QUESTIONS = 100  # per annotator, and at least three times the labels between two fits
ASKED = 50  # annotators with questions of their own, those with most labels first
POOL = 2_000  # least certain items that questions are chosen from


@dataclass(frozen=True, eq=False)
class ProjectData:
    """What a fit reads from the store, before it lets go of it.

    Parameters
    ----------
    project : Project
    ids : list of n_items int
        Rows of the items in the store.
    items : list of n_items Item
    annotations : Annotations
        Items are called by their keys.
    gold : dict from key to label
    last_event : int
        The newest event among the labels.
    """

    project: Project
    ids: list[int]
    items: list[items.Item]
    annotations: Annotations
    gold: dict[str, Any]
    last_event: int


def read(db: Connection, project: Project) -> ProjectData:
    """Read all items and labels of a project."""
    last_event = labels.last_event(db, project.id)
    ids, found = zip(*items.every(db, project.id), strict=True) if items.count(db, project.id) else ((), ())
    given = labels.every(db, project.id)
    if not given:
        raise InputError("There are no labels yet. Label some items, or import labels, and fit again.")
    truths = gold.every(db, project.id)
    problem = project.settings.problem_of(sorted({*(row.label for row in given), *truths.values()}))
    if problem:
        raise InputError(f"{problem} Change these labels, or the classes or the model on the page Data.")
    kind = _kind_of_label(project)
    known = {key: kind(label) for key, label in truths.items()}
    annotations = Annotations.from_arrays(
        [row.item for row in given],
        [row.annotator for row in given],
        [kind(row.label) for row in given],
        items=[each.key for each in found],
        labels=_classes(project, [row.label for row in given]),
    )
    return ProjectData(project, list(ids), list(found), annotations, known, last_event)


def _kind_of_label(project: Project) -> Callable[[str], Any]:
    """Return how labels are read: numbers for a regression, otherwise text."""
    return float if project.settings.model == "regression" else str


def _classes(project: Project, given: list[str]) -> list[str] | None:
    """Return the classes in their order; None for numbers."""
    if project.settings.model == "regression":
        return None
    return list(project.settings.classes or sorted(set(given)))


# --- features ----------------------------------------------------------------------------------------------


def features(data: ProjectData) -> tuple[Array, list[str]]:
    """Return features of all items and their names: as they were imported, of their texts, or none."""
    vectors = [each.features for each in data.items]
    if all(vector is not None for vector in vectors):
        X = np.array(vectors, dtype=float)
        names = list(data.project.settings.features)
        return X, names if len(names) == X.shape[1] else [f"x{j}" for j in range(X.shape[1])]
    if all(each.text for each in data.items):
        from whoknows.io import TextFeatures

        texts = {each.key: " ".join(filter(None, (each.text, each.second_text))) for each in data.items}
        made = TextFeatures.of(texts).transform(texts)
        return np.asarray(made.X, dtype=float), list(made.names)
    return np.zeros((len(data.items), 1)), []


# --- the fit -----------------------------------------------------------------------------------------------


def fit(data: ProjectData, progress: Progress) -> Results:
    """Fit the model of a project and return everything that is stored."""
    from whoknows.insight.summary import summarize

    X, names = features(data)
    model = _fitted(data, X, not names, progress)
    texts = {each.key: each.text for each in data.items if each.text} or None
    images = {each.key: each.image for each in data.items if each.image} or None
    known = data.gold or None
    summary = summarize(model, X, data.annotations, features=names or None, text=texts, images=images, gold=known)
    content = _model_file(model)
    return Results(
        content,
        summary.to_json(),
        _predictions(data, summary.consensus, _information(data, model, X)),
        _questions(data, model, X),
    )


def _fitted(data: ProjectData, X: Array, alone: bool, progress: Progress) -> Any:
    """Return the fitted estimator; it reports its progress."""
    settings = data.project.settings
    levels = list(settings.classes) if settings.model == "ordered" and settings.classes else None
    model = estimator(settings.model, levels, alone, max_iter=settings.max_iter, random_state=settings.seed)
    known = data.gold or None
    if settings.model != "auto" or alone:
        return model.fit(X, data.annotations, progress.of_model, gold=known)
    model.fit(X, data.annotations, progress.of_ensemble, gold=known, watch=progress.of_member)
    top = int(np.argmax(model.weights_))
    progress.end_with(model.selection_.members[top], model.pairs_[top].history)
    return model


def _model_file(model: Any) -> bytes:
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "model.whoknows")
        model.save(path)
        with open(path, "rb") as file:
            return file.read()


# --- results per item --------------------------------------------------------------------------------------


def _information(data: ProjectData, model: Any, X: Array) -> list[float | None]:
    """Return the bits expected of the next label of each item; 0 if its truth is known, None for numbers."""
    from whoknows.estimators.ask.batch import information_of_next_label

    if not hasattr(model, "suggest"):
        return [None] * len(data.items)
    bits = information_of_next_label(model, X, data.annotations).tolist()
    return [0.0 if item.key in data.gold else each for item, each in zip(data.items, bits, strict=True)]


def _predictions(
    data: ProjectData, consensus: dict[str, list[Any]], information: list[float | None]
) -> list[dict[str, Any]]:
    """Return a row per item."""
    disagreement = _disagreement(data.annotations)
    numbers = data.project.settings.model == "regression"
    names = ["std"] if numbers else [name for name in consensus if name.startswith("p_")]
    classes = ["std"] if numbers else data.annotations.labels.tolist()
    return [
        {
            "item_id": id,
            "label": str(consensus["consensus"][i]),
            "confidence": consensus["confidence"][i],
            "n_labels": consensus["n_labels"][i],
            "vote": None if consensus["vote"][i] is None else str(consensus["vote"][i]),
            "overruled": bool(consensus["overruled"][i]),
            "disagreement": float(disagreement[i]),
            "probabilities": {name: consensus[column][i] for name, column in zip(classes, names, strict=True)},
            "information": information[i],
        }
        for i, id in enumerate(data.ids)
    ]


def _disagreement(Y: Annotations) -> Array:
    """Return the share of an item's labels that differ from the most frequent one, (n_items,)."""
    counts = np.zeros((Y.n_items, Y.n_classes))
    np.add.at(counts, (Y.item, Y.label), 1)
    return 1 - counts.max(axis=1) / np.maximum(Y.labels_per_item, 1) - (Y.labels_per_item == 0)


def _questions(data: ProjectData, model: Any, X: Array) -> list[dict[str, Any]]:
    """Return what each annotator should be asked next; all questions in the order of their information."""
    if not hasattr(model, "suggest"):
        return []
    pool = _least_certain(data, model)
    if not len(pool):
        return []
    Y, number = data.annotations[pool], max(QUESTIONS, 3 * data.project.settings.refit_every)
    id_of = {data.items[row].key: data.ids[row] for row in pool.tolist()}
    most = np.argsort(-data.annotations.labels_per_annotator, kind="stable")[:ASKED]
    rows = []
    for name in data.annotations.annotators[most].tolist():
        asked = model.suggest(X[pool], Y, number, annotators=[name])
        columns = zip(asked.item.tolist(), asked.information.tolist(), strict=True)
        rows += [{"item_id": id_of[key], "annotator": name, "information": bits} for key, bits in columns]
    rows.sort(key=lambda row: -row["information"])
    return [{"rank": rank, **row} for rank, row in enumerate(rows)]


def _least_certain(data: ProjectData, model: Any) -> Rows:
    """Return the rows of items that questions are chosen from, ascending; none whose truth is known."""
    certainty = np.asarray(model.posterior_).max(axis=1)
    order = np.argsort(certainty, kind="stable")
    return np.sort(order[[data.items[row].key not in data.gold for row in order.tolist()]][:POOL])
