"""From the labels a reader found to a `LabelFile`: rows without a label dropped, oddities said aloud."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from whoknows.data.annotations import Annotations, Duplicates
from whoknows.data.triples import triples
from whoknows.data.vocabulary import Factor, factorize, plain_labels, show
from whoknows.io.errors import FileError, Path
from whoknows.io.parsing import looks_missing

OF_MODELS = "of models left out; say predictions=True to count models as annotators"


@dataclass(frozen=True)
class LabelFile:
    """The labels of a file, and what was noticed while reading it.

    Parameters
    ----------
    annotations : Annotations
    format : str
        Which tool's format it was read as, one of `FORMATS`.
    notes : tuple of str
        What a user should hear, such as «3 cancelled annotations left out».
    text : mapping from item to str, optional
        The text of the items, where the file has it.
    gold : mapping from item to label, optional
        Items whose truth the file knows.
    path : str or path
    """

    annotations: Annotations
    format: str
    notes: tuple[str, ...] = ()
    text: Mapping[Hashable, str] | None = None
    gold: Mapping[Hashable, Hashable] | None = None
    path: Path = "labels"


@dataclass
class Found:
    """What a reader found in a file: rows, one a label, and whatever else there was.

    Parameters
    ----------
    rows : list of (item, annotator, label)
        Of which annotator and label may be None: an item nobody labelled.
    columns : item, annotator and label as Factor, optional
        In place of rows, where a file is a table.
    confidence : (n_rows,), optional
    text, gold : dicts by item
    notes : list of str
    gaps : bool
        Whether rows without a label are worth a word; they are not where every row is an item.
    duplicates : {"error", "last"}
        What the tool means by several labels of one annotator on one item. Tools that let people correct
        themselves give rows in the order of time, and mean the last.
    """

    rows: list[tuple[Hashable, Hashable, Hashable]] = field(default_factory=list)
    columns: tuple[Factor, Factor, Factor] | None = None
    confidence: Any = None
    text: dict[Hashable, str] = field(default_factory=dict)
    gold: dict[Hashable, Hashable] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    gaps: bool = False
    duplicates: Duplicates = "error"

    def note(self, count: int, one: str, several: str) -> None:
        """Say how many there were of something, if there were any."""
        if count:
            self.notes.append(f"1 {one}" if count == 1 else f"{count} {several}")

    def note_spaces(self, cells: Sequence[Any]) -> None:
        """Say which cells had spaces around them that are no part of the label."""
        assert self.columns is not None
        labels = set(self.columns[2].values)
        texts = [cell for cell in dict.fromkeys(cells) if isinstance(cell, str)]
        spaced = [cell for cell in texts if cell not in labels and cell.strip() in labels]
        if spaced:
            self.notes.append(f"spaces around labels taken away: {show(spaced, 3)}")


def make(found: Found, path: Path, format: str, duplicates: Duplicates | None, missing: Any) -> LabelFile:
    """Check what was found and make it a `LabelFile`."""
    if found.columns is None:
        found.columns = _code(_with_names(found))
    columns = found.columns
    label = _without(columns[2], missing)
    keep = label.codes >= 0
    _check_rows(columns, label, path)
    if found.gaps:
        found.note(int((~keep).sum()), "row has no label", "rows have no label")
    item, annotator, label = (Factor(c.codes[keep], c.values) for c in (columns[0], columns[1], label))
    sure = None if found.confidence is None else np.asarray(found.confidence)[keep]
    how = duplicates or found.duplicates
    if how == "error":  # whoever says the same twice does not contradict himself
        rows = _distinct((item, annotator, label), sure)
        found.note(len(item.codes) - len(rows), _SAME.format("row says"), _SAME.format("rows say"))
        item, annotator, label = (Factor(c.codes[rows], c.values) for c in (item, annotator, label))
        sure = None if sure is None else sure[rows]
    said = Annotations(*triples((item, annotator, label), (None, None, None), how, sure))
    repeats = len(item.codes) - said.n_annotations
    found.note(repeats, f"label left out, {_AGAIN}", f"labels left out, {_AGAIN}")
    found.notes += _suspicions(said)
    gold = match_labels(found.gold, said) or None
    return LabelFile(said, format, tuple(found.notes), found.text or None, gold, path)


def match_labels(gold: Mapping[Hashable, Hashable], said: Annotations) -> dict[Hashable, Hashable]:
    """True labels as the annotations spell them: 1 beside the label "1" is that label."""
    known = {str(label): label for label in said.labels.tolist()}
    truths = plain_labels(list(gold.values()))
    return {item: known.get(str(label), label) for item, label in zip(gold, truths, strict=True)}


_AGAIN = "as the annotator labelled the item more than once"
_SAME = "{} what another says in full; left out"


def _distinct(columns: tuple[Factor, Factor, Factor], sure: NDArray[Any] | None) -> NDArray[np.intp]:
    """Rows in their order, without those that repeat an earlier one in every column."""
    keys = [column.codes for column in columns] + ([] if sure is None else [sure])
    order = np.lexsort(keys)  # keeps the order of equal rows
    again = np.logical_and.reduce([key[order[1:]] == key[order[:-1]] for key in keys])
    return np.sort(order[np.append(True, ~again)])


def _with_names(found: Found) -> list[tuple[Hashable, Hashable, Hashable]]:
    """Rows of a tool's file, without labels of nobody (an account that was deleted) or of nothing."""
    named = [row for row in found.rows if row[2] is None or (row[0] is not None and row[1] is not None)]
    nameless = len(found.rows) - len(named)
    found.note(nameless, f"label left out, {_NOBODY}", f"labels left out, {_NOBODY}")
    return named


_NOBODY = "as the file does not say whose or of what it is"


def _code(rows: Sequence[tuple[Hashable, Hashable, Hashable]]) -> tuple[Factor, Factor, Factor]:
    """Three columns of the rows."""
    item, annotator, label = zip(*rows, strict=True) if rows else ((), (), ())
    return factorize(item, "item"), factorize(annotator, "annotator"), factorize(label, "label")


def _without(label: Factor, missing: Any) -> Factor:
    """Labels of which one value, compared as text or, of numbers, by value, means that there is none."""
    kept = [place for place, value in enumerate(label.values) if not _is_sign(value, missing)]
    code = np.full(len(label.values) + 1, -1, dtype=np.int32)
    code[kept] = np.arange(len(kept), dtype=np.int32)
    return Factor(code[label.codes], [label.values[place] for place in kept])


def _is_sign(value: Any, sign: Any) -> bool:
    """Whether a label is the sign that there is none: -1.0 is "-1"; of words, "01" is not "1"."""
    if sign is None:
        return False
    return str(value).strip() == str(sign).strip() or (
        not isinstance(value, str) and _number(value) == _number(sign)
    )


def _number(value: Any) -> float:
    """Value as a number, NaN (which equals nothing) if it is none."""
    try:
        return np.nan if isinstance(value, bool) else float(value)
    except (TypeError, ValueError):
        return np.nan


def _check_rows(columns: tuple[Factor, Factor, Factor], label: Factor, path: Path) -> None:
    """Refuse a file without a label, and a label without an item or an annotator."""
    if not (label.codes >= 0).any():
        raise FileError(path, f"holds no label ({len(label.codes)} rows were read).")
    for column, role in ((columns[0], "item"), (columns[1], "annotator")):
        nameless = np.flatnonzero((label.codes >= 0) & (column.codes < 0))
        if nameless.size:
            more = f" So do {nameless.size - 1} more rows." if nameless.size > 1 else ""
            raise FileError(
                path, f"has a label without an {role} in row {nameless[0] + 1} below the header.{more}"
            )


def _suspicions(said: Annotations) -> list[str]:
    """What looks like a slip of whoever wrote the file."""
    notes = []
    for ids, what in ((said.annotators, "annotators"), (said.labels, "labels")):
        groups: dict[float | str, list[Any]] = {}
        for value in ids.tolist():
            number = _number(value)
            alike_in = number if number == number else str(value).strip().casefold()
            groups.setdefault(alike_in, []).append(value)
        alike = [value for group in groups.values() if len(group) > 1 for value in group]
        if alike:
            plain = all(isinstance(value, str) and value == value.strip() for value in alike)
            written = any(_number(value) == _number(value) for value in alike if isinstance(value, str))
            how = "how they are written" if written else "case" if plain else "case, spaces or type"
            notes.append(
                f"{len(alike)} {what} differ only in {how}: "
                f"{show(alike, 6)}; kept apart. Write them alike in the file if they mean the same"
            )
    odd = [value for value in said.labels.tolist() if looks_missing(value)]
    if odd:
        notes.append(
            f"{odd[0]!r} counts as a label; say missing_label={odd[0]!r} if it means that there is none"
        )
    return notes
