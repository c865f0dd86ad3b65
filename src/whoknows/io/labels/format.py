"""Formats of label files: how they are recognised, read and written, and the checks that all share."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from operator import itemgetter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from whoknows.data.annotations import Annotations, Duplicates
from whoknows.data.errors import Advice, InputError, Message
from whoknows.data.triples import triples
from whoknows.data.vocabulary import Factor, Ids, factorize, plain_labels, show
from whoknows.io.containers import Content, keep_values, must_have
from whoknows.io.delimited import is_missing_text
from whoknows.io.errors import FileError, Path, SeveralLabels
from whoknows.io.labels.votes import Columns, columns_of, refuse_mixed

MANY_UNCLEAR = 0.1  # share of answers with several labels from which the question is not ours to answer
STRICT = (Advice("strict", "strict=True"), " to refuse the file")
ROLES = ("item", "annotator", "label", "text", "confidence")
OF_MODELS = (" of models left out; use ", Advice("predictions", "predictions=True"), " to treat models as annotators")


@dataclass(frozen=True)
class LabelFile:
    """The labels of a file, and remarks on how it was read.

    Parameters
    ----------
    annotations : Annotations
    format : str
        The format that it was read as, one of `FORMATS`.
    notes : tuple of str
        Remarks for the user, such as "3 cancelled annotations left out".
    text : mapping from item to str, optional
        The text of the items, if the file has it.
    gold : mapping from item to label, optional
        True labels in the file.
    path : str or path
    item_columns, annotator_columns : mappings from column to mapping from item, or annotator, to value
        Further columns, to group by: those that ``keep=`` named, the model under test of each item ("model")
        and the model of each judge ("judge_model").
    """

    annotations: Annotations
    format: str
    notes: tuple[str, ...] = ()
    text: Mapping[Hashable, str] | None = None
    gold: Mapping[Hashable, Hashable] | None = None
    path: Path = "labels"
    item_columns: Columns = field(default_factory=dict)
    annotator_columns: Columns = field(default_factory=dict)


@dataclass
class RawLabels:
    """Labels as a reader of one format returns them, before they are checked.

    Parameters
    ----------
    rows : list of (item, annotator, label)
        Annotator and label are None for an item without labels.
    columns : item, annotator and label as Factor, optional
        Instead of rows, for tables.
    extra : mapping from column to Factor
        Further columns, with the same rows as ``columns``.
    confidence : (n_rows,), optional
    text, gold : dicts by item
    notes : list of str
    unclear : list of (item, labels)
        Answers that hold several labels.
    gaps : bool
        Whether rows without a label are counted in a note; not if there is a row for every item.
    duplicates : {"error", "last"}
        Default for several labels by one annotator for one item. Tools that let annotators correct a label
        return rows in the order of time, and keep the last.
    """

    rows: list[tuple[Hashable, Hashable, Hashable]] = field(default_factory=list)
    columns: tuple[Factor, Factor, Factor] | None = None
    extra: dict[str, Factor] = field(default_factory=dict)
    confidence: Any = None
    text: dict[Hashable, str] = field(default_factory=dict)
    gold: dict[Hashable, Hashable] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    unclear: list[tuple[Hashable, Sequence[Any]]] = field(default_factory=list)
    gaps: bool = False
    duplicates: Duplicates = "error"

    def add_item(self, item: Hashable, text: Any) -> None:
        """Add an item, labelled or not, and its text if it is one."""
        self.rows.append((item, None, None))
        if isinstance(text, str):
            self.text[item] = text

    def answer(self, item: Hashable, read: Callable[[], Hashable]) -> Hashable:
        """Return the label of an answer; None, and the item is kept as unclear, if it holds several."""
        try:
            return read()
        except SeveralLabels as error:
            self.unclear.append((item, error.labels))
            return None

    def add_in_order(self, labels: Iterable[tuple[Any, Hashable, Hashable, Hashable]]) -> None:
        """Add labels, given as (time, item, annotator, label), in order of time."""
        in_order = sorted(labels, key=itemgetter(0))
        self.rows += [(item, annotator, label) for _, item, annotator, label in in_order]

    def note(self, count: int, one: str, several: str, *rest: str) -> None:
        """Add a note on how many there are of something, if there are any."""
        if count:
            self.notes.append(Message(f"1 {one}" if count == 1 else f"{count} {several}", *rest))

    def note_spaces(self, cells: Sequence[Any]) -> None:
        """Add a note on cells with spaces around their label."""
        assert self.columns is not None
        labels = set(self.columns[2].values)
        texts = [cell for cell in dict.fromkeys(cells) if isinstance(cell, str)]
        spaced = [cell for cell in texts if cell not in labels and cell.strip() in labels]
        if spaced:
            self.notes.append(f"spaces around labels removed: {show(spaced, 3)}")


@dataclass(frozen=True)
class Options:
    """Options of a user for reading a file.

    Parameters
    ----------
    columns : mapping from role to name
        The column, key or question of the file for some of the `ROLES`.
    predictions : bool
        Whether models whose predictions a file holds are treated as annotators.
    annotators, ignore : sequences of str
        Columns of a wide table that are annotators, or are not.
    keep : sequence of str
        Further columns to keep.
    """

    columns: Mapping[str, str] = field(default_factory=dict)
    predictions: bool = False
    annotators: Sequence[str] = ()
    ignore: Sequence[str] = ()
    keep: Sequence[str] = ()

    def __post_init__(self) -> None:
        unknown = [role for role in self.columns if role not in ROLES]
        if unknown:
            raise InputError(f"columns= expects the keys {show(ROLES)}; got {unknown[0]!r}.")


@dataclass(frozen=True)
class Format:
    """A format of label files.

    Parameters
    ----------
    name : str
        Its name for the user.
    description : str
        What such files look like, for the message if no format fits.
    recognise : function from Content and Options to bool
    read : function from Content and Options to RawLabels
    columns : function from Annotations to named columns, optional
        The table to write; None for formats that are only read.
    """

    name: str
    description: str
    recognise: Callable[[Content, Options], bool]
    read: Callable[[Content, Options], RawLabels]
    columns: Callable[[Annotations], Mapping[Any, Ids]] | None = None


def choose(names: Sequence[str], given: str | None, what: str, path: Path) -> str:
    """Return the question that the user named, or the only one."""
    if given is not None:
        return must_have(names, given, what, path)
    if len(names) == 1:
        return names[0]
    if not names:
        raise FileError(path, f"has no {what} with one answer that could be a label.")
    advice = Advice("columns", f"columns={{'label': {names[0]!r}}}", role="label", name=repr(names[0]))
    raise FileError(path, f"has {len(names)} {what}s: {show(names, 20)}. Choose one: ", advice, ".")


# --- from raw labels to a LabelFile -----------------------------------------------------------------


def make(
    raw: RawLabels,
    path: Path,
    format: str,
    duplicates: Duplicates | None,
    missing: Any,
    strict: bool,
    wanted: Sequence[str],
) -> LabelFile:
    """Check raw labels and return a `LabelFile`."""
    columns = raw.columns or _columns(raw)
    refuse_mixed(raw.extra, wanted, columns[0], columns[1], path)
    markers = missing if isinstance(missing, (list, tuple)) else [missing]
    is_given = [not any(_is_marker(value, marker) for marker in markers) for value in columns[2].values]
    label = keep_values(columns[2], np.flatnonzero(is_given).tolist())
    keep = label.codes >= 0
    _check_unclear(raw, int(keep.sum()), path, strict)
    _check_rows(columns, label, raw.notes, path)
    if raw.gaps:
        raw.note(int((~keep).sum()), "row has no label", "rows have no label")
    item, annotator, label = (Factor(c.codes[keep], c.values) for c in (columns[0], columns[1], label))
    confidence = None if raw.confidence is None else np.asarray(raw.confidence)[keep]
    how = duplicates or raw.duplicates
    if how == "error":  # identical rows do not contradict each other
        rows = _distinct((item, annotator, label), confidence)
        raw.note(len(item.codes) - len(rows), "identical row left out", "identical rows left out")
        item, annotator, label = (Factor(c.codes[rows], c.values) for c in (item, annotator, label))
        confidence = None if confidence is None else confidence[rows]
    Y = Annotations(*triples((item, annotator, label), (None, None, None), how, confidence))
    repeats = len(item.codes) - Y.n_annotations
    raw.note(repeats, "label left out", "labels left out", ", as the annotator labelled the item repeatedly")
    raw.notes += _suspicions(Y)
    gold = match_labels(raw.gold, Y) or None
    further = [columns_of(within, raw.extra) for within in columns[:2]]
    return LabelFile(Y, format, tuple(raw.notes), raw.text or None, gold, path, *further)


def match_labels(gold: Mapping[Hashable, Hashable], Y: Annotations) -> dict[Hashable, Hashable]:
    """Return true labels as the annotations write them: 1 is the label "1" if there is one."""
    known = {str(label): label for label in Y.labels.tolist()}
    truths = plain_labels(list(gold.values()))
    return {item: known.get(str(label), label) for item, label in zip(gold, truths, strict=True)}


def _distinct(columns: tuple[Factor, Factor, Factor], confidence: NDArray[Any] | None) -> NDArray[np.intp]:
    """Return the rows in their order, without those that equal an earlier one in every column."""
    keys = [column.codes for column in columns] + ([] if confidence is None else [confidence])
    order = np.lexsort(keys)  # keeps the order of equal rows
    again = np.logical_and.reduce([key[order[1:]] == key[order[:-1]] for key in keys])
    return np.sort(order[np.append(True, ~again)])


def _columns(raw: RawLabels) -> tuple[Factor, Factor, Factor]:
    """Return the columns of the rows, without labels of no item or of no annotator (a deleted account)."""
    rows = [row for row in raw.rows if row[2] is None or (row[0] is not None and row[1] is not None)]
    n_lost = len(raw.rows) - len(rows)
    raw.note(n_lost, "label left out", "labels left out", ", as the annotator or the item is missing")
    item, annotator, label = zip(*rows, strict=True) if rows else ((), (), ())
    return factorize(item, "item"), factorize(annotator, "annotator"), factorize(label, "label")


def _is_marker(value: Any, marker: Any) -> bool:
    """Whether a label is the marker for missing: the number -1.0 equals "-1", but the text "01" not "1"."""
    if marker is None:
        return False
    return str(value).strip() == str(marker).strip() or (
        not isinstance(value, str) and _number(value) == _number(marker)
    )


def _number(value: Any) -> float:
    """Return a value as a number, or NaN (which equals nothing)."""
    try:
        return np.nan if isinstance(value, bool) else float(value)
    except (TypeError, ValueError, OverflowError):
        return np.nan


def _check_unclear(raw: RawLabels, n_labels: int, path: Path, strict: bool) -> None:
    """Leave answers with several labels out, with a note; refuse them if they are many."""
    if not raw.unclear:
        return
    item, labels = raw.unclear[0]
    n_answers = n_labels + len(raw.unclear)
    if strict or len(raw.unclear) > MANY_UNCLEAR * n_answers:
        raise FileError(
            path,
            f"has several labels in one answer ({show(labels)} for item {item!r}; {len(raw.unclear)} of "
            f"{n_answers} answers). Expected questions with one answer: turn each label into a question with "
            "the answers yes and no.",
        )
    some = show(dict.fromkeys(item for item, _ in raw.unclear), 3)
    raw.note(len(raw.unclear), "answer", "answers", f" with several labels left out, of item {some}; use ", *STRICT)


def _check_rows(columns: tuple[Factor, Factor, Factor], label: Factor, notes: Sequence[str], path: Path) -> None:
    """Refuse a file without labels, with the notes on what was left out, and labels of no item or annotator."""
    if not (label.codes >= 0).any():
        said = (part for note in notes for part in (" ", note, "."))
        raise FileError(path, f"holds no labels ({len(label.codes)} rows were read).", *said)
    for column, role in ((columns[0], "item"), (columns[1], "annotator")):
        nameless = np.flatnonzero((label.codes >= 0) & (column.codes < 0))
        if nameless.size:
            more = f" There are {nameless.size} such rows." if nameless.size > 1 else ""
            where = f"in row {nameless[0] + 1} below the header.{more}"
            raise FileError(path, f"has a label without an {role} {where} Fill in the {role}, or delete the row.")


def _suspicions(Y: Annotations) -> list[str]:
    """Return notes on what looks like an error in the file."""
    notes: list[str] = []
    for ids, what in ((Y.annotators, "annotators"), (Y.labels, "labels")):
        groups: dict[float | str, list[Any]] = {}
        for value in ids.tolist():
            number = _number(value)
            alike_in = number if number == number else str(value).strip().casefold()
            groups.setdefault(alike_in, []).append(value)
        alike = [value for group in groups.values() if len(group) > 1 for value in group]
        if alike:
            only_case = all(isinstance(value, str) and value == value.strip() for value in alike)
            numeric = any(_number(value) == _number(value) for value in alike if isinstance(value, str))
            how = "how they are written" if numeric else "case" if only_case else "case, spaces or type"
            notes.append(
                f"{len(alike)} {what} differ only in {how}: {show(alike, 6)}; they are kept apart. "
                "Correct the file if they are the same"
            )
    odd = [value for value in Y.labels.tolist() if is_missing_text(value)]
    if odd:
        advice = Advice("missing_label", f"missing_label={odd[0]!r}", value=odd[0])
        notes.append(Message(f"{odd[0]!r} is treated as a label; use ", advice, " if it stands for a missing label"))
    return notes
