"""Items: what people know them by, the labels of single items, and which items need attention."""

from __future__ import annotations

import base64
import os
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from whoknows._array import Array, Rows
from whoknows.data.errors import InputError
from whoknows.insight.summary.fitted import FittedModel
from whoknows.insight.summary.text import Facts, Table, json_ids

MAX_TEXT = 280  # characters of a text that are shown
MAX_IMAGE = 48_000  # bytes of an image that is embedded in the summary
MAX_ALL_IMAGES = 600_000  # bytes of all of them
MAGIC = {b"\x89PNG": "png", b"\xff\xd8\xff": "jpeg", b"GIF8": "gif", b"RIFF": "webp"}
VERDICT = ("consensus", "confidence", "std", "vote")  # columns of the consensus shown per item
MAX_VOICES = 8  # labels listed per item
MAX_OVERRULED = 20  # items whose overruled vote is explained
MIN_REVIEW, MAX_REVIEW = 3, 15  # items listed for review, even if all are certain, and at most
N_QUESTIONS = 20
QUESTION_POOL = 4_000  # items that questions are chosen from: the least certain ones


# --- descriptions -----------------------------------------------------------------------------------


class ItemDescriptions:
    """Ids of the items, and their texts and images if there are any.

    ``text`` and ``images`` may be lists in the order of the items, or mappings from item ids.

    Attributes
    ----------
    ids : list
        For JSON.
    text, images : list or None
        One entry per item, None where there is none.
    """

    def __init__(self, known: Sequence[Any], ids: Any, text: Any, images: Any) -> None:
        self.ids = json_ids(_per_item(known if ids is None else ids, known, "ids="))
        self.text, self.images = _per_item(text, known, "text="), _per_item(images, known, "images=")
        self._embedded: dict[int, str] = {}

    def describe(self, row: int) -> Facts:
        """Id of an item, and its text and image if there are any."""
        facts: Facts = {"item": self.ids[row]}
        text = self.line(row)
        if text:
            facts["text"] = text
        if self.images is not None and self.images[row] is not None:
            facts["image"] = self._image(row, self.images[row])
        return facts

    def line(self, row: int, longest: int = MAX_TEXT) -> str:
        """Text of an item on one line, shortened if it is long; empty if there is none."""
        if self.text is None or self.text[row] is None:
            return ""
        text = " ".join(str(self.text[row])[: 4 * longest].split())
        return text if len(text) <= longest else f"{text[: longest - 1].rstrip()}…"

    def _image(self, row: int, image: Any) -> str:
        """Small file as a data URI, any other file as its path; a string unchanged.

        Strings are never opened as files: they may come from an untrusted file.
        """
        if not isinstance(image, os.PathLike):
            return str(image)
        if row not in self._embedded:
            total = sum(len(uri) for uri in self._embedded.values() if uri.startswith("data:"))
            path = os.fspath(image)
            self._embedded[row] = path if total > MAX_ALL_IMAGES else embed(path)
        return self._embedded[row]


def embed(path: str) -> str:
    """Small image file as a data URI; any other file as its path."""
    try:
        is_small = os.path.isfile(path) and os.path.getsize(path) <= MAX_IMAGE
        content = Path(path).read_bytes() if is_small else b""
    except (OSError, ValueError):  # invalid name or no permission: the path is still shown
        return path
    kind = next((kind for magic, kind in MAGIC.items() if content.startswith(magic)), None)
    return path if kind is None else f"data:image/{kind};base64,{base64.b64encode(content).decode()}"


def _per_item(values: Any, known: Sequence[Any], name: str) -> Any:
    """One value per item, from a list in the order of the items or a mapping from their ids."""
    if values is None:
        return None
    if isinstance(values, Mapping):
        return [values.get(item) for item in known]
    listed = values.tolist() if hasattr(values, "tolist") else list(values)
    if len(listed) != len(known):
        raise InputError(f"{name} must have one entry for each of the {len(known)} items; got {len(listed)}.")
    return [None if value is None or value != value else value for value in listed]


# --- details ----------------------------------------------------------------------------------------


def review_lists(fit: FittedModel, descriptions: ItemDescriptions, consensus: Table) -> tuple[list[Facts], Facts]:
    """Details of overruled votes, and of the least certain and the most disputed items."""
    chosen = _most_overruled(fit), _least_certain(fit), _most_disputed(fit)
    details = item_details(fit, descriptions, consensus, np.unique(np.concatenate(chosen)))
    overruled, uncertain, disputed = ([details[row] for row in rows.tolist()] for rows in chosen)
    return overruled, {"least_sure": uncertain, "disputed": disputed}


def _most_overruled(fit: FittedModel) -> Rows:
    """Clearest contradictions first, then the most certain consensus."""
    rows = np.flatnonzero(fit.overruled)
    return rows[np.lexsort((fit.uncertainty[rows], -fit.margin[rows]))][:MAX_OVERRULED]


def _least_certain(fit: FittedModel) -> Rows:
    """Labelled items with an uncertain consensus, or a few of the least certain; none with known truth."""
    labelled = np.flatnonzero(fit.annotations.labelled & ~fit.is_gold)
    rows = labelled[np.argsort(-fit.uncertainty[labelled], kind="stable")][:MAX_REVIEW]
    return rows[: max(int(fit.is_uncertain[rows].sum()), MIN_REVIEW)]


def _most_disputed(fit: FittedModel) -> Rows:
    """Items whose labels disagree most, those with most labels first; none whose truth is known."""
    n = fit.annotations.labels_per_item
    several = np.flatnonzero((n > 1) & ~fit.is_gold)
    disagreement = fit.disagreement[several]
    order = np.lexsort((-n[several], -disagreement))
    return several[order[disagreement[order] > 0]][:MAX_REVIEW]


def item_details(fit: FittedModel, descriptions: ItemDescriptions, consensus: Table, rows: Rows) -> dict[int, Facts]:
    """Everything about some items, and why their vote was overruled: by row."""
    if not len(rows):
        return {}
    skill, annotations, details = fit.skill(rows), fit.annotations[rows], {}
    for i, (row, prediction) in enumerate(zip(rows.tolist(), fit.predictions(rows), strict=True)):
        given = annotations.item == i
        annotators, labels = annotations.annotator[given], annotations.label[given]
        own_skill = skill[i, annotators]
        verdict = {name: consensus[name][row] for name in VERDICT if name in consensus}
        case = descriptions.describe(row) | verdict | _voices(fit, own_skill, annotators, labels) | prediction
        if fit.is_gold[row]:
            case |= {"gold": True, "why": "The truth of this item is known (gold)."}
        elif fit.overruled[row]:
            case["why"] = " ".join(fit.explanation(row, case, own_skill, annotators, labels))
        details[row] = case
    return details


def _voices(fit: FittedModel, skill: Array, annotators: Any, labels: Any) -> Facts:
    """Labels of one item, those of the most skilled annotators first."""
    order = np.argsort(-fit.sign * skill, kind="stable")[:MAX_VOICES]
    names = json_ids(fit.annotations.annotators[annotators[order]])
    values = json_ids(fit.annotations.labels[labels[order]])
    voices = [
        {"annotator": name, "label": label, "trust": trust}
        for name, label, trust in zip(names, values, skill[order].tolist(), strict=True)
    ]
    return {"voices": voices, "more_voices": len(annotators) - len(voices)}


def question_facts(fit: FittedModel, descriptions: ItemDescriptions, costs: Any) -> Facts:
    """Labels with the highest expected information per cost; none about items whose truth is known."""
    order = np.argsort(-fit.entropy, kind="stable")
    pool = order[~fit.is_gold[order]][: fit.affordable(QUESTION_POOL)]
    questions: list[Facts] = []
    why = "the truth of every item is known"
    if len(pool):
        questions, why = _questions(fit, descriptions, np.sort(pool), costs)
    return {
        "questions": questions,
        "by_annotator": dict(Counter(str(each["annotator"]) for each in questions).most_common()),
        "n_candidates": len(pool),
        "n_items": fit.n_items,
        "costs_given": costs is not None,
        "why_no_more": why,
    }


def _questions(fit: FittedModel, descriptions: ItemDescriptions, pool: Rows, costs: Any) -> tuple[list[Facts], str]:
    """Choose labels about some items; and why there are no more."""
    chosen = fit.suggest(pool, N_QUESTIONS, costs)
    row_of = dict(zip(fit.annotations.items[pool].tolist(), pool.tolist(), strict=True))
    annotators = json_ids(chosen.annotator)
    columns = (chosen.item.tolist(), annotators, chosen.information.tolist(), chosen.cost.tolist())
    questions = [
        descriptions.describe(row_of[item]) | {"annotator": annotator, "information": bits, "cost": cost}
        for item, annotator, bits, cost in zip(*columns, strict=True)
    ]
    return questions, chosen.why
