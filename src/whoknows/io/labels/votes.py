"""Votes of judges in tables: models under test, prompts, swapped pairs, and further columns to group by."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from whoknows.data.vocabulary import Codes, Factor, factorize, show
from whoknows.io.containers import Table, find_name, keep_values, must_have
from whoknows.io.errors import FileError, Path

MODEL, JUDGE_MODEL, PROMPT, SWAPPED = "model", "judge_model", "prompt", "swapped"
KEPT = (MODEL, JUDGE_MODEL)  # columns that are kept without being named
SEPARATOR = " / "  # between the parts of the name of an item or annotator

Columns = Mapping[str, Mapping[Hashable, Hashable]]  # by name: the value of each item or annotator
Triples = tuple[Factor, Factor, Factor]
Flags = NDArray[np.bool_]

_ORDERED = (("a", "b"), ("first", "second"), ("left", "right"), ("model_a", "model_b"), ("a>b", "b>a"),
            ("a>>b", "b>>a"), ("1", "2"), ("0", "1"), ("-1", "1"))  # fmt: skip
_TIES = ("tie", "tied", "draw", "equal", "same", "both", "neither", "none", "a=b", "tie (bothbad)")
_NUMBERS_OF_TIES = {("1", "2"): ("0", "1.5"), ("0", "1"): ("0.5",), ("-1", "1"): ("0",)}
_ANSWERS = ("model", "response", "answer", "output")  # with _a and _b, or _1 and _2
_YES, _NO = ("true", "1", "1.0", "yes"), ("false", "0", "0.0", "no", "")


def is_constant(column: Factor, within: Factor) -> bool:
    """Whether all rows of an item (or annotator) have one value of a column; missing values count as one."""
    return _clash(column, within) is None


def _clash(column: Factor, within: Factor) -> tuple[int, int] | None:
    """Return two rows of one item (or annotator) with different values of a column, if there are any."""
    rows = np.flatnonzero(within.codes >= 0)
    first = np.zeros(len(within.values), dtype=np.intp)
    first[within.codes[rows][::-1]] = rows[::-1]
    before = first[within.codes[rows]]
    differ = np.flatnonzero(column.codes[rows] != column.codes[before])
    return (int(before[differ[0]]), int(rows[differ[0]])) if differ.size else None


def is_repeated(item: Factor, annotator: Factor, column: Factor) -> bool:
    """Whether an annotator labelled an item under several values of a column."""
    codes, pairs = _pairs(item, annotator)
    return not is_constant(column, Factor(codes, list(pairs)))


def combine(left: Factor, right: Factor) -> Factor:
    """Return names made of the values of two columns; a missing value on the right adds nothing."""
    codes, pairs = _pairs(left, right)
    names = [left.values[a] if b < 0 else f"{left.values[a]}{SEPARATOR}{right.values[b]}" for a, b in pairs]
    made = factorize([str(name) for name in names], "item")
    return Factor(np.append(made.codes, np.int32(-1))[codes], made.values)


def _pairs(left: Factor, right: Factor) -> tuple[Codes, list[tuple[int, int]]]:
    """Return the distinct pairs of codes of two columns, and which one each row has; -1 if none on the left."""
    n = len(right.values) + 1
    keys, codes = np.unique(left.codes.astype(np.int64) * n + right.codes + 1, return_inverse=True)
    pairs = [(a, b - 1) for a, b in (divmod(key, n) for key in keys.tolist())]
    lost = sum(a < 0 for a, _ in pairs)  # the smallest keys
    return np.maximum(codes.ravel() - lost, -1).astype(np.int32), pairs[lost:]


# --- which item, and which judge --------------------------------------------------------------------


def read_votes(columns: Triples, table: Table, names: Mapping[str, str], path: Path) -> tuple[Triples, list[str]]:
    """Return item, annotator and label of each row of a table of votes, and notes on what was made of it.

    Answers of several models to one question are several items. A judge who was asked with several prompts, or
    about both orders of a pair, is several annotators. Labels of pairs shown in reverse order are exchanged.
    """
    item, annotator, label = columns
    free = [name for name in table.names if name not in names.values()]
    item, notes = _item_of_model(item, annotator, table, free, names["annotator"])
    prompt = as_column(table, find_name(free, PROMPT))
    if prompt is not None and is_repeated(item, annotator, prompt):
        annotator = combine(annotator, prompt)
        notes.append(f"every prompt of a judge is an annotator, such as {show(annotator.values, 1)}")
    rows = _swapped_rows(item, table, free, path)
    return in_one_order((item, annotator, label), rows, find_name(free, SWAPPED) is not None, notes, path)


def in_one_order(
    columns: Triples, rows: Flags, marked: bool, notes: list[str], path: Path
) -> tuple[Triples, list[str]]:
    """Exchange the labels of pairs in reverse order; votes on both orders of a pair are by two annotators."""
    item, annotator, label = columns
    turned = exchanged(label, rows) if rows.any() else None
    if turned is None and marked and rows.any():
        raise FileError(
            path,
            f"has pairs in reverse order ({SWAPPED!r}) and the labels {show(label.values)}. Expected the labels of "
            "a comparison, such as A and B, 1 and 2, first and second, and ties.",
        )
    if turned is None:
        return columns, notes
    notes.append(f"labels exchanged where the pair was in reverse order: {int(rows.sum())} of {len(rows)}")
    order = Factor(np.where(rows, np.int32(0), np.int32(-1)), [SWAPPED])
    if is_repeated(item, annotator, order):
        annotator = combine(annotator, order)
        notes.append("judges saw pairs in both orders: their votes on the reverse order are by an annotator of its own")
    return (item, annotator, turned), notes


def _item_of_model(
    item: Factor, annotator: Factor, table: Table, free: Sequence[str], who: str
) -> tuple[Factor, list[str]]:
    """Return the item of each row: the question, and the model that answered it if several did."""
    name = find_name(free, MODEL)
    model = as_column(table, name)
    if model is None or is_constant(model, item):
        return item, []
    if is_constant(model, annotator):
        return item, [f"column {name!r} has one value per annotator and is taken for the model of the judge"]
    if not (who.strip().lower().startswith("judge") or is_repeated(item, annotator, model)):
        return item, []
    item = combine(item, model)
    return item, [f"several models answered one question: items are answers, such as {show(item.values, 1)}"]


def as_column(table: Table, name: str | None) -> Factor | None:
    """Return a column of a table, None if there is none or it holds lists and objects."""
    try:
        return None if name is None else table.ids(name)
    except FileError:
        return None


def _swapped_rows(item: Factor, table: Table, free: Sequence[str], path: Path) -> Flags:
    """Return the rows in which a pair was shown in reverse order."""
    name = find_name(free, SWAPPED)
    if name is not None:
        return flags(table.values(name), name, path)
    stems = [(stem, a, b) for stem in _ANSWERS for a, b in (("a", "b"), ("1", "2"))]
    names = [(find_name(free, f"{stem}_{a}"), find_name(free, f"{stem}_{b}")) for stem, a, b in stems]
    columns = [(as_column(table, a), as_column(table, b)) for a, b in names if a and b]
    return reversed_rows(item, [(a, b) for a, b in columns if a is not None and b is not None])


# --- further columns --------------------------------------------------------------------------------


def columns_of(within: Factor, extra: Mapping[str, Factor]) -> dict[str, dict[Hashable, Hashable]]:
    """Return the columns with one value per item (or annotator), as values by item (or annotator)."""
    names, first = np.unique(within.codes, return_index=True)
    rows = first[names >= 0].tolist()
    columns = {}
    for name, column in extra.items():
        known = [row for row in rows if column.codes[row] >= 0] if is_constant(column, within) else []
        columns[name] = {within.values[within.codes[row]]: column.values[column.codes[row]] for row in known}
    return {name: values for name, values in columns.items() if values}


def refuse_mixed(extra: Mapping[str, Factor], wanted: Sequence[str], item: Factor, annotator: Factor,
                 path: Path) -> None:  # fmt: skip
    """Refuse columns to be kept that do not exist, or differ within an item and within an annotator."""
    for name in wanted:
        column = extra[must_have(list(extra), name, "column to keep called", path)]
        clash = _clash(column, item)
        if clash is not None and not is_constant(column, annotator):
            values = [column.values[code] if code >= 0 else None for code in column.codes[list(clash)]]
            raise FileError(
                path,
                f"has {show(values)} in {name!r} for item {item.values[item.codes[clash[0]]]!r}, and several values "
                "for an annotator. Expected one value per item, or one per annotator, to group by.",
            )


# --- pairs that were shown in reverse order ---------------------------------------------------------


def flags(values: Sequence[Any], name: str, path: Path) -> Flags:
    """Return a column of yes and no; blank is no."""
    texts = ["" if value is None else str(value).strip().lower() for value in values]
    odd = [value for value, text in zip(values, texts, strict=True) if text not in _YES + _NO]
    if odd:
        raise FileError(path, f"expected true or false in {name!r}, got {show(dict.fromkeys(odd), 3)}.")
    return np.array([text in _YES for text in texts], dtype=bool)


def reversed_rows(item: Factor, pairs: Sequence[tuple[Factor, Factor]]) -> Flags:
    """Return the rows whose two answers are in another order than in the first row of the item."""
    found = np.zeros(len(item.codes), dtype=bool)
    first = np.zeros(len(item.values) + 1, dtype=np.intp)
    first[item.codes[::-1]] = np.arange(len(item.codes))[::-1]
    for one, two in pairs:
        both = factorize([*one.values, *two.values], "answer")
        left, right = both.codes[: len(one.values)], both.codes[len(one.values) :]
        a, b = np.append(left, -1)[one.codes], np.append(right, -1)[two.codes]
        known = (item.codes >= 0) & (a >= 0) & (b >= 0) & (a != b)
        found |= known & (a == b[first[item.codes]]) & (b == a[first[item.codes]])
    return found


def exchanged(label: Factor, rows: Flags) -> Factor | None:
    """Return labels in which the first and the second answer are exchanged in some rows; ties stay.

    None if the labels are not those of a comparison of two, such as A and B, 1 and 2, with or without ties.
    """
    place = {_plain(value): code for code, value in enumerate(label.values)}
    pair = _pair_of(list(place))
    if pair is None:
        return None
    values = list(label.values)
    turn = np.append(np.arange(len(values), dtype=np.int32), np.int32(-1))
    for here, there in (pair, pair[::-1]):
        if here in place:
            turn[place[here]] = place.get(there, len(values))
            values += [] if there in place else [_alike(there, label.values[place[here]])]
    codes = np.where(rows, turn[label.codes], label.codes)
    return keep_values(Factor(codes, values), np.unique(codes[codes >= 0]).tolist())


def _plain(value: Hashable) -> str:
    """Return a label as text in lower case: 1.0 is 1."""
    return str(int(value) if isinstance(value, float) and value.is_integer() else value).strip().lower()


def _pair_of(labels: Sequence[str]) -> tuple[str, str] | None:
    """Return the two labels of a comparison, if all others are ties and no other pair is as likely."""
    fitting = [pair for pair in _ORDERED if all(text in pair or _is_tie(text, pair) for text in labels)]
    complete = [pair for pair in fitting if set(pair) <= set(labels)]
    likely = complete or fitting
    return likely[0] if len(likely) == 1 or (likely and all(text in _TIES for text in labels)) else None


def _is_tie(text: str, pair: tuple[str, str]) -> bool:
    return text in _TIES or text in _NUMBERS_OF_TIES.get(pair, ())


def _alike(text: str, other: Hashable) -> Hashable:
    """Return a label in the type and case of another."""
    if isinstance(other, str):
        return text.upper() if other.isupper() else text.capitalize() if other.istitle() else text
    return int(text)
