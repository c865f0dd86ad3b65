"""Tables of labels, long and wide.

Long: one row per label, with a column each for the item, the annotator and the label. Wide: one row per item,
one column per annotator; a blank cell is a missing label.

Further columns: ``text`` is the text of the item; ``truth``, ``true_label`` or ``gold_label`` its true label;
in a long table, if ``is_gold`` is true, the label of the row is the true label. Columns of votes of judges (``model``,
``prompt``, ``swapped``) are explained in ``votes.py``.
"""

from __future__ import annotations

import difflib
from collections import Counter
from collections.abc import Hashable, Mapping, Sequence
from typing import Any

import numpy as np

from whoknows.data.annotations import Annotations
from whoknows.data.dataframes import ALIASES, CONFIDENCE, match_columns
from whoknows.data.errors import Advice, InputError, Message
from whoknows.data.vocabulary import Factor, Ids, factorize, show
from whoknows.io.containers import (
    TRUTH,
    Content,
    Table,
    by_row,
    find_name,
    item_column,
    keep_values,
    must_have,
    refuse_repeated_ids,
)
from whoknows.io.delimited import is_date, is_missing_text, parse_ids, parse_labels, unescaped
from whoknows.io.errors import FileError, Path
from whoknows.io.labels.format import Format, Options, RawLabels
from whoknows.io.labels.votes import KEPT, MODEL, PROMPT, SWAPPED, as_column, combine, flags, in_one_order, read_votes

ANNOTATORS = Advice("annotators", "annotators=[...]")
MOST_WORDS = 3  # of a label; longer texts are comments
MANY_LABELS, FEW_LABELS = 20, 10  # distinct values that a label hardly has, and that it usually has
_YES = ("true", "1", "yes")
_RESERVED = ("item", "text")  # columns of a wide table that are no annotators


def recognise_long(content: Content, options: Options) -> bool:
    """Whether there is a column for each role, or the user named one."""
    if content.table is None or options.annotators:
        return False
    if {"annotator", "label"} & options.columns.keys():
        return True
    try:
        match_columns(content.names, _roles(options, content.names))
    except InputError:
        return False
    return True


def is_close(names: Sequence[str]) -> bool:
    """Whether a column has a usual name of the annotator or of the label; a score needs a model beside it."""
    known = {name for role in ("annotator", "label") for name in (role, *ALIASES[role])} - {"score"}
    given = {name.strip().lower() for name in names}
    return not known.isdisjoint(given) or given >= {"score", MODEL}


def read_long(content: Content, options: Options) -> RawLabels:
    """Read a long table."""
    table = content.table_of("one table")
    names = find_columns(table, options, content.path)
    columns = table.ids(names["item"]), table.ids(names["annotator"]), table.labels(names["label"])
    given = columns[1]
    columns, notes = read_votes(columns, table, names, content.path)
    raw = RawLabels(columns=columns, gaps=True, notes=notes)
    raw.extra = {} if columns[1] is given else {names["annotator"]: given}
    raw.extra |= _extra_columns(table, options, list(names.values()), content.path)
    item = columns[0]
    _suggest_label(raw, table, names)
    raw.note_spaces(table.column(names["label"]).values)
    if CONFIDENCE in options.columns:
        raw.confidence = _numbers(table, options.columns[CONFIDENCE], content.path)
    read_truth_column(raw, item, table, content.path)
    _read_gold_rows(raw, table, content.path)
    text = options.columns.get("text", "text")
    if text in table.names and text not in names.values():
        raw.text = text_by_item(item, table.values(text))
    return raw


def _extra_columns(table: Table, options: Options, used: Sequence[str], path: Path) -> dict[str, Factor]:
    """Return the columns to keep: those that the user named, and the models if they are not used already."""
    for name in options.keep:
        must_have(table.names, name, "column to keep called", path)
    free = [name for name in table.names if name not in used]
    models = {name: find_name(free, name) for name in KEPT}
    columns = {name: as_column(table, column) for name, column in models.items()}
    return {name: column for name, column in columns.items() if column} | {n: table.labels(n) for n in options.keep}


def _suggest_label(raw: RawLabels, table: Table, names: Mapping[str, str]) -> None:
    """Add a note if the labels are many texts, and another column looks more like labels."""
    assert raw.columns is not None
    label = raw.columns[2]
    n_labels = len(label.values)
    texts = any(isinstance(value, str) for value in label.values)
    if not texts or n_labels <= max(MANY_LABELS, len(label.codes) // 5):
        return
    others = [name for name in table.names if name not in names.values()]
    counts = {name: len(table.column(name).values) for name in others if not _is_remark(table.column(name).values)}
    likely = [name for name, n in counts.items() if 2 <= n <= FEW_LABELS]
    for name in likely[:1]:
        raw.notes.append(
            Message(
                f"column {names['label']!r} holds {n_labels} different labels in {len(label.codes)} rows; "
                f"{name!r}, with {counts[name]}, looks more like a label: ",
                Advice("columns", f"columns={{'label': {name!r}}}", role="label", name=name),
            )
        )


def check_names(names: Sequence[str], options: Options, path: Path) -> None:
    """Refuse columns named by the user that do not exist."""
    for role, name in options.columns.items():
        must_have(names, name, f"column for the {role}", path)
    for name in (*options.annotators, *options.ignore):
        must_have(names, name, "column", path)


def find_columns(table: Table, options: Options, path: Path) -> dict[str, str]:
    """Return the column of each role, named by the user, by its name or an alias; else suggest one."""
    check_names(table.names, options, path)
    try:
        return match_columns(table.names, _roles(options, table.names))
    except InputError as error:
        _ask_about_model(table, options, path)
        raise FileError(path, error.message, hint(table)) from None


def _ask_about_model(table: Table, options: Options, path: Path) -> None:
    """Refuse a table in which only a column 'model' could be the annotator: it may also be what was judged."""
    model = find_name(table.names, MODEL)
    try:
        match_columns(table.names, {"annotator": model or "", **_roles(options, table.names)})
    except InputError:
        return
    raise FileError(
        path,
        f"has no column for the annotator, and {model!r} may be the judge or the model under test. "
        "If the models are the judges, say so: ",
        Advice("columns", f"columns={{'annotator': {model!r}}}", role="annotator", name=model),
        ". If they were judged, add a column 'judge'.",
    )


def text_by_item(item: Factor, text: list[Any]) -> dict[Hashable, str]:
    """Return the first text of each item."""
    first: dict[Hashable, str] = {}
    for name, words in zip(by_row(item), text, strict=True):
        if name is not None and isinstance(words, str) and words.strip():
            first.setdefault(name, words)
    return first


def long_columns(Y: Annotations) -> dict[Hashable, Ids]:
    """Return the columns to write; the confidence only if it is known."""
    named: dict[Hashable, Ids] = {
        "item": Y.items[Y.item],
        "annotator": Y.annotators[Y.annotator],
        "label": Y.labels[Y.label],
    }
    return named if Y.confidence is None else {**named, CONFIDENCE: Y.confidence}


def add_true_label(gold: dict[Hashable, Hashable], item: Hashable, label: Hashable, path: Path) -> None:
    """Store the true label of an item; refuse two different ones."""
    if gold.setdefault(item, label) != label:
        raise FileError(path, f"has two true labels of item {item!r}: {gold[item]!r} and {label!r}.")


def _roles(options: Options, names: Sequence[str]) -> dict[str, str]:
    """Return the columns named by the user for the required roles; without an item, a prompt is the item."""
    prompt = find_name(names, PROMPT)
    prompts = {"item": prompt} if prompt and not find_name(names, "item", *ALIASES["item"]) else {}
    return prompts | {role: name for role, name in options.columns.items() if role in ALIASES}


def add_true_labels(gold: dict[Hashable, Hashable], item: Factor, label: Factor, path: Path) -> None:
    """Store the true labels of rows that have an item and a label."""
    for name, value in zip(by_row(item), by_row(label), strict=True):
        if name is not None and value is not None:
            add_true_label(gold, name, value, path)


def read_truth_column(raw: RawLabels, item: Factor, table: Table, path: Path) -> None:
    """Read true labels from their own column."""
    for name in table.names:
        if name.strip().lower() in TRUTH:
            add_true_labels(raw.gold, item, table.labels(name), path)
            raw.note(len(raw.gold), f"true label read from {name!r}", f"true labels read from {name!r}")


def _read_gold_rows(raw: RawLabels, table: Table, path: Path) -> None:
    """Read true labels from rows marked as gold, which are not labels by an annotator."""
    assert raw.columns is not None
    item, annotator, label = raw.columns
    marks = find_name(table.names, "is_gold")
    if marks is None:
        return
    is_gold = np.array([str(value).strip().lower() in _YES for value in table.values(marks)], dtype=bool)
    add_true_labels(raw.gold, item, Factor(np.where(is_gold, label.codes, -1), label.values), path)
    raw.note(int(is_gold.sum()), "row is marked as gold", "rows are marked as gold")
    label = Factor(np.where(is_gold & (item.codes >= 0), np.int32(-1), label.codes), label.values)
    people = np.unique(annotator.codes[~is_gold & (annotator.codes >= 0)])
    raw.columns = (item, keep_values(annotator, people.tolist()), label)


def _numbers(table: Table, name: str, path: Path) -> list[float]:
    """Return a column of numbers."""
    column = table.labels(name)
    wrong = [value for value in column.values if not isinstance(value, (int, float))]
    if wrong or (column.codes < 0).any():
        raise FileError(path, f"expected a number in every row of {name!r}, got {show(wrong or [None])}.")
    return [float(column.values[code]) for code in column.codes]


def hint(table: Table) -> str:
    """Return a hint if no column fits: a misspelt name, or a first row without names."""
    if table.hint:
        return table.hint
    numbers = [name for name in table.names if name.replace(".", "", 1).lstrip("-").isdigit()]
    if numbers and table.is_text:
        return " The first row seems to be data: add a header."
    known = [name for role, aliases in ALIASES.items() for name in (role, *aliases)]
    for name in table.names[:50]:
        near = difflib.get_close_matches(name.lower(), known, n=1, cutoff=0.8)
        if near and near[0] != name.lower():
            return f" Did you mean {near[0]!r} instead of {name!r}?"
    return ""


LONG = Format(
    "long",
    "a table (CSV, Parquet, JSONL) with one row per label and the columns item, annotator, label",
    recognise_long,
    read_long,
    long_columns,
)


# --- crowd-kit: a long table with the columns task, worker and label --------------------------------

_CROWDKIT = {"item": "task", "annotator": "worker", "label": "label"}


def recognise_crowdkit(content: Content, options: Options) -> bool:
    """Whether the three columns exist."""
    return not options.columns and set(_CROWDKIT.values()) <= set(content.names)


def crowdkit_columns(Y: Annotations) -> dict[Hashable, Ids]:
    """Return the three columns to write."""
    written = long_columns(Y)
    return {name: written[role] for role, name in _CROWDKIT.items()}


CROWDKIT = Format(
    "crowdkit", "a long table with the columns task, worker, label", recognise_crowdkit, read_long, crowdkit_columns
)


# --- wide tables ------------------------------------------------------------------------------------


def recognise_wide(content: Content, options: Options) -> bool:
    """Whether every row is an item, and the other columns hold few distinct values."""
    table = content.table
    named = {"annotator", "label"} & options.columns.keys()
    if table is None or named or content.container.startswith("JSON"):
        return False
    if options.annotators:
        return True
    try:
        item, _, people, _ = _roles_of_columns(table, options)
        if item is None or item not in table.names or len(people) < 2 or is_close(people):
            return False
        items = _items_of_rows(table, item, people)
        columns = [table.column(name) for name in people]
    except FileError:  # lists, such as embeddings, are not labels
        return False
    distinct = {value for column in columns for value in column.values}
    filled = sum(int((column.codes >= 0).sum()) for column in columns)
    n_named = int((items.codes >= 0).sum())
    return len(items.values) == n_named and len(distinct) <= max(12, filled // 5)


def read_wide(content: Content, options: Options) -> RawLabels:
    """Read a wide table."""
    table, path = content.table_of("one table"), content.path
    check_names(table.names, options, path)
    item, text, people, others = _roles_of_columns(table, options)
    if not people:
        raise FileError(path, "has no column besides the item; expected one per annotator.")
    raw = RawLabels()
    if others:
        some = f"columns left out, as they hold comments or dates: {show(others)}; use "
        raw.notes.append(Message(some, ANNOTATORS, " if they are annotators"))
    if item is None:
        items = factorize(np.arange(len(table.column(people[0]).codes)), "item")
        raw.notes.append("no column for the item: items are numbered 0, 1, 2, … by row")
    else:
        items = _items_of_rows(table, item, people)
    refuse_repeated_ids(items, path)
    raw.columns = _melt(table, items, people)
    swapped = find_name(table.names, SWAPPED)
    if swapped is not None:
        rows = flags(table.values(swapped), swapped, path)[raw.columns[0].codes]
        raw.columns, _ = in_one_order(raw.columns, rows, True, raw.notes, path)
    extra = _extra_columns(table, options, people, path)
    raw.extra = {name: Factor(column.codes[raw.columns[0].codes], column.values) for name, column in extra.items()}
    raw.note_spaces([cell for name in people for cell in table.column(name).values])
    if text is not None and text != item:
        raw.text = text_by_item(items, table.values(text))
    read_truth_column(raw, items, table, path)
    _note_odd_columns(raw, table, people)
    return raw


def _items_of_rows(table: Table, item: str, people: Sequence[str]) -> Factor:
    """Return the item of each row: the question, and the model that answered it if several did."""
    items, model = table.ids(item), find_name([name for name in table.names if name not in people], MODEL)
    return combine(items, table.ids(model)) if model and len(items.values) < len(items.codes) else items


def _roles_of_columns(table: Table, options: Options) -> tuple[str | None, str | None, Sequence[str], Sequence[str]]:
    """Return the columns of the item, of the text, of the annotators, and of comments and dates.

    Annotators are the columns that the user names, or those without a known meaning.
    """
    item = options.columns.get("item") or item_column(table.names)
    text = options.columns.get("text") or find_name(table.names, "text")
    if options.annotators:
        return item, text, options.annotators, ()
    known = {item, text, *options.ignore}
    others = [name for name in table.names if name.strip().lower() not in (*TRUTH, "image", SWAPPED)]
    others = [name for name in others if name not in known]
    odd = _odd_columns(table, others)
    others = [name for name in others if not (name in odd and name.strip().lower() in (*KEPT, PROMPT))]
    remarks = [name for name in odd if name in others and _is_remark(table.column(name).values)]
    return item, text, [name for name in others if name not in remarks and name not in options.keep], remarks


def _is_remark(values: Sequence[Any]) -> bool:
    """Whether the values of a column are dates, or most are texts of several words."""
    given = [value for value in values if not is_missing_text(value)]
    texts = [value for value in given if isinstance(value, str) and len(value.split()) > MOST_WORDS]
    return bool(given) and (all(map(is_date, given)) or 2 * len(texts) > len(given))


def _odd_columns(table: Table, people: Sequence[str]) -> list[str]:
    """Return the columns that share no label with any other."""
    labels_of = {name: {str(value).strip() for value in table.column(name).values} for name in people}
    labels_of = {name: labels - {""} for name, labels in labels_of.items()}
    count = Counter(label for labels in labels_of.values() for label in labels)
    odd = [name for name, labels in labels_of.items() if labels and all(count[each] == 1 for each in labels)]
    return odd if len(people) > 1 else []


def _note_odd_columns(raw: RawLabels, table: Table, people: Sequence[str]) -> None:
    """Add a note on columns that share no label with any other: they may not be annotators."""
    for name in _odd_columns(table, people):
        raw.notes.append(
            Message(
                f"column {name!r} shares no label with any other and is treated as an annotator; leave it out with ",
                Advice("ignore", f"ignore=[{name!r}]", name=name),
                " if it is not",
            )
        )


def wide_columns(Y: Annotations) -> Mapping[Hashable, Ids]:
    """Return the columns to write: the item, and one per annotator under another name."""
    people = [str(name) for name in Y.annotators.tolist()]
    odd = [name for name in people if name.strip().lower() in _RESERVED or not name.strip()]
    if odd or len(set(people)) < len(people):
        raise InputError(
            "Expected annotators of distinct names, other than 'item' and 'text', for one column each; "
            f"got {odd or people}. Write a long table instead."
        )
    cells = np.full(Y.shape, None, dtype=object)
    cells[Y.item, Y.annotator] = Y.labels[Y.label].tolist()
    return {"item": Y.items} | {name: cells[:, t] for t, name in enumerate(Y.annotators.tolist())}


def _melt(table: Table, items: Factor, people: Sequence[str]) -> tuple[Factor, Factor, Factor]:
    """Return one row per label. Whether labels are numbers is decided for all columns together."""
    cells = [table.column(name) for name in people]
    values: list[Any] = [value for column in cells for value in column.values]
    label = factorize(unescaped(parse_labels(values)) if table.is_text else values, "label")
    names = parse_ids(people)
    annotator = factorize(unescaped(names) if table.is_text else names, "annotator")
    starts = np.cumsum([0, *(len(column.values) for column in cells)])
    parts = []
    for place, column in enumerate(cells):
        codes = np.append(label.codes[starts[place] : starts[place + 1]], np.int32(-1))[column.codes]
        rows = np.flatnonzero(codes >= 0)
        parts.append((items.codes[rows], np.full(len(rows), annotator.codes[place]), codes[rows]))
    item_codes, annotator_codes, label_codes = map(np.concatenate, zip(*parts, strict=True))
    return (
        Factor(item_codes, items.values),
        Factor(annotator_codes, annotator.values),
        Factor(label_codes, label.values),
    )


WIDE = Format(
    "wide",
    "a table with one row per item, a column item and one column per annotator",
    recognise_wide,
    read_wide,
    wide_columns,
)
