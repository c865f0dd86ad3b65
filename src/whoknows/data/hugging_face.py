"""Tables of the Hugging Face library `datasets`, one row per label or one row per item with lists of labels."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from whoknows.data.dataframes import CONFIDENCE, match_columns
from whoknows.data.errors import InputError
from whoknows.data.vocabulary import show

UNLABELLED = -1  # the code of a missing value in a column of classes


def read_hf(dataset: Any, columns: Mapping[str, str] | None = None) -> dict[str, list[Any]]:
    """Return arguments of `Annotations.from_arrays`: item, annotator, label and, if named, confidence.

    Of lists, also items: every row of the table is one, even if its lists are empty.

    Parameters
    ----------
    dataset : datasets.Dataset
        With one row per label, or one row per item in which the annotator and the label are lists.
    columns : mapping from role to column name, optional
        As in `Annotations.from_frame`.
    """
    _refuse_others(dataset)
    columns = columns or {}
    names = match_columns(dataset.column_names, columns)
    names |= {CONFIDENCE: columns[CONFIDENCE]} if CONFIDENCE in columns else {}
    plain = dataset.with_format(None)
    table = {role: _names_of_classes(list(plain[name]), dataset.features[name]) for role, name in names.items()}
    in_lists = [role for role, column in table.items() if any(isinstance(value, list) for value in column)]
    return _one_row_per_label(table, in_lists) | {"items": table["item"]} if in_lists else table


def _refuse_others(dataset: Any) -> None:
    """Refuse several splits, and a stream, which has no columns to read."""
    if isinstance(dataset, Mapping):
        splits = list(dataset)
        raise InputError(f"Expected one split, got a dictionary of {show(splits)}. Pass dataset[{splits[0]!r}].")
    if not hasattr(dataset, "with_format") or not hasattr(dataset, "__len__"):
        raise TypeError(
            f"Expected a datasets.Dataset, got {type(dataset).__name__}. Load it without streaming=True, or use "
            "Annotations.from_frame for a table."
        )


def _names_of_classes(values: list[Any], feature: Any) -> list[Any]:
    """Replace the codes of classes by their names, also in lists; other values stay as they are."""
    feature = getattr(feature, "feature", feature)  # of the values of a list
    names = getattr(feature, "names", None)
    if names is None:
        return values

    def named(value: Any) -> Any:
        if isinstance(value, list):
            return [named(each) for each in value]
        return None if value is None or value == UNLABELLED else names[value]

    return [named(value) for value in values]


def _one_row_per_label(table: dict[str, list[Any]], in_lists: list[str]) -> dict[str, list[Any]]:
    """Write lists below each other; values of the other columns are repeated."""
    found: dict[str, list[Any]] = {role: [] for role in table}
    for values in zip(*table.values(), strict=True):
        row = dict(zip(table, values, strict=True))
        sizes = {role: len(row[role] or ()) for role in in_lists}
        n = sizes[in_lists[0]]
        if any(size != n for size in sizes.values()):
            counts = ", ".join(f"{size} for the {role}" for role, size in sizes.items())
            raise InputError(f"Expected lists of equal length for item {row['item']!r}; got {counts}.")
        for role, column in found.items():
            column.extend((row[role] or ()) if role in sizes else [row[role]] * n)
    return found
