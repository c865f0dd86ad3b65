"""`read_labels`: any tool's file to annotations."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from typing import Any

from whoknows.data.annotations import Annotations, Duplicates
from whoknows.data.dataframes import ALIASES
from whoknows.data.triples import DUPLICATES
from whoknows.data.vocabulary import show
from whoknows.io.containers import Content, Table, open_content
from whoknows.io.errors import FileError, Path
from whoknows.io.id_matching import match_ids
from whoknows.io.labels import (
    argilla,
    crowdkit,
    doccano,
    label_studio,
    label_studio_min,
    long,
    prodigy,
    wide,
)
from whoknows.io.labels.format import Format, Options, item_column, must_have
from whoknows.io.labels.label_file import LabelFile, make, match_labels

# In the order in which they are tried: the most particular first.
FORMATS: dict[str, Format] = {
    format.name: format
    for format in (
        label_studio.FORMAT,
        label_studio_min.FORMAT,
        prodigy.FORMAT,
        argilla.FORMAT,
        doccano.FORMAT,
        crowdkit.FORMAT,
        long.FORMAT,
        wide.FORMAT,
    )
}


def read_labels(
    path: Path,
    format: str | None = None,
    columns: Mapping[str, str] | None = None,
    duplicates: Duplicates | None = None,
    *,
    missing_label: Any = None,
    predictions: bool = False,
) -> LabelFile:
    """Read who said what from a file of any labelling tool.

    Parameters
    ----------
    path : str or path
        A file, or a folder of files.
    format : str, optional
        One of `FORMATS`. Default: found from what the file holds.
    columns : mapping from role to name, optional
        What plays the role of "item", "annotator", "label", "text" or "confidence", where the names do not
        tell: a column of a table, a key of a record, an entry of a task's data; for "label" the question.
    duplicates : {"error", "first", "last", "majority"}, optional
        What to do with several labels of one annotator on one item. Default: "last" for tools that keep
        what an annotator corrected (Label Studio, Prodigy), "error" for all others. Rows that say the same
        in full are no error: they count once.
    missing_label : object, optional
        A label that means that there is none, such as -1. Blank cells mean it in any case.
    predictions : bool
        Whether the models whose predictions a file holds count as annotators.

    Returns
    -------
    LabelFile
        The annotations, and notes on what was left out.

    Raises
    ------
    FileError
        Whatever is wrong with the file.
    """
    if format is not None and format not in FORMATS:
        raise ValueError(f"format= must be one of {show(FORMATS, 20)}; got {format!r}.")
    if duplicates is not None and duplicates not in DUPLICATES:
        raise ValueError(f"duplicates= must be one of {show(DUPLICATES)}; got {duplicates!r}.")
    options = Options(columns or {}, predictions)
    content = open_content(path)
    tool = FORMATS[format] if format else _recognise(content, options)
    try:
        return make(tool.read(content, options), path, tool.name, duplicates, missing_label)
    except FileError:
        raise
    except ValueError as error:  # such as labels that are both numbers and booleans
        raise FileError(path, str(error)) from None


def read_gold(
    path: Path, columns: Mapping[str, str] | None = None, said: Annotations | None = None
) -> dict[Hashable, Hashable]:
    """Read the truth of items from a table with a column for the item and one for its label.

    Parameters
    ----------
    path : str or path
        CSV, Parquet, JSON or JSONL.
    columns : mapping from role to name, optional
        Columns of the "item" and the "label". Default: found by name, as in `read_labels`; the label may
        also be called truth, true_label or gold_label.
    said : Annotations, optional
        Annotations whose ids and labels are meant, if the two files spell them differently: 1, "1" and "01".
        Items that nobody labelled are kept as they are.
    """
    content = open_content(path)
    table = content.table
    if table is None:
        raise FileError(path, f"is {content}; expected a table of items and labels.")
    item, label = _gold_columns(table, Options(columns or {}).columns, path)
    ids, truths = table.ids(item), table.labels(label)
    gold: dict[Hashable, Hashable] = {}
    for place, code in zip(ids.codes, truths.codes, strict=True):
        if place >= 0 and code >= 0:
            long.add_gold(gold, ids.values[place], truths.values[code], path)
    if not gold:
        raise FileError(path, "holds no item with a label.")
    if said is None:
        return gold
    try:
        match, _ = match_ids(gold, said.items.tolist())
    except ValueError as error:
        raise FileError(path, str(error)) from None
    return match_labels({match.get(item, item): label for item, label in gold.items()}, said)


def _gold_columns(table: Table, given: Mapping[str, str], path: Path) -> tuple[str, str]:
    """Names of the columns of the item and of its true label."""
    bare = {name.strip().lower(): name for name in reversed(table.names)}
    known = (*long.TRUTH, "label", *ALIASES["label"])
    item = given.get("item") or item_column(table.names) or "item"
    label = given.get("label") or next((bare[name] for name in known if name in bare), "label")
    return (
        must_have(table.names, item, "column for the item", path),
        must_have(table.names, label, "column for the label", path),
    )


def _recognise(content: Content, options: Options) -> Format:
    """Find the format of a file, or say what was seen and what is known."""
    for format in FORMATS.values():
        if format.recognise(content, options):
            return format
    if content.table is not None:
        for role, name in options.columns.items():
            must_have(content.names, name, f"column for the {role}", content.path)
        if long.is_close(content.names):
            long.find_columns(content.table, options, content.path)  # says which column is missing
        hint = long.hint(content.table)
        if hint:
            raise FileError(content.path, f"is {content}.{hint}")
    known = "\n".join(f"  {format.name}: {format.looks}" for format in FORMATS.values())
    raise FileError(
        content.path,
        f"is {content}, which fits none of the formats below. Name the columns, "
        f"columns={{'item': ..., 'annotator': ..., 'label': ...}}, or the format, format=...\n{known}",
    )
