"""`read_labels`: annotations from a file of any labelling tool, or the log of an evaluation."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from typing import Any

from whoknows.data.annotations import Annotations, Duplicates
from whoknows.data.dataframes import ALIASES
from whoknows.data.errors import Advice, InputError
from whoknows.data.triples import DUPLICATES
from whoknows.data.vocabulary import Factor, show
from whoknows.io.containers import TRUTH, Content, Table, find_name, item_column, must_have, open_content
from whoknows.io.errors import FileError, Path, naming
from whoknows.io.id_matching import match_ids
from whoknows.io.labels import (
    argilla,
    deepeval,
    doccano,
    inspect_ai,
    label_studio,
    langfuse,
    langsmith,
    mlflow,
    openai_evals,
    prodigy,
    promptfoo,
    tabular,
)
from whoknows.io.labels.format import Format, LabelFile, Options, make, match_labels
from whoknows.io.labels.votes import MODEL, combine

NAME_THEM = "Name the columns: columns={'item': ..., 'annotator': ..., 'label': ...}; or the format: format=..."
# In the order in which they are tried: the most specific first.
FORMATS: dict[str, Format] = {
    format.name: format
    for format in (
        label_studio.JSON,
        label_studio.MIN,
        prodigy.FORMAT,
        argilla.FORMAT,
        inspect_ai.FORMAT,
        promptfoo.FORMAT,
        deepeval.FORMAT,
        openai_evals.FORMAT,
        mlflow.FORMAT,
        langsmith.FORMAT,
        langfuse.FORMAT,
        doccano.FORMAT,
        tabular.CROWDKIT,
        tabular.LONG,
        tabular.WIDE,
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
    strict: bool = False,
    encoding: str | None = None,
    annotators: Sequence[str] = (),
    ignore: Sequence[str] = (),
    keep: Sequence[str] = (),
) -> LabelFile:
    """Read annotations from a file of any labelling tool.

    Parameters
    ----------
    path : str or path
        A file, or a folder of files.
    format : str, optional
        One of `FORMATS`. Default: detected from the content.
    columns : mapping from role to name, optional
        Names for the roles "item", "annotator", "label", "text" and "confidence" if they are not the usual
        ones: a column of a table, a key of a record, an entry of a task's data; for "label" the question.
    duplicates : {"error", "first", "last", "majority"}, optional
        What to do with several labels by one annotator for one item. Default: "last" for tools in which
        annotators correct their labels (Label Studio, Prodigy), else "error". Identical rows are not an
        error: they count once.
    missing_label : object, optional
        The value, or a list of values, that stand for a missing label, such as -1, besides blank cells.
    predictions : bool
        Whether models whose predictions a file holds are treated as annotators.
    strict : bool
        Whether an answer with several labels is an error. By default up to a tenth of the answers may have
        several, and are left out with a note.
    encoding : str, optional
        Encoding of a text file. Default: UTF-8, UTF-16 or, with a note, Windows-1252.
    annotators, ignore : sequences of str
        Columns of a wide table, or judges in an evaluation log, that are annotators, or are not. Default: all
        but those with a known meaning, and those that hold comments or dates.
    keep : sequence of str
        Further columns of a table, or entries of the metadata in an evaluation log, to keep in
        ``item_columns`` or ``annotator_columns``. Each has one value per item, or one per annotator.

    Returns
    -------
    LabelFile
        The annotations, and notes on what was left out.

    Raises
    ------
    FileError
        If the file cannot be read.
    """
    if format is not None and format not in FORMATS:
        raise InputError(f"format= must be one of {show(FORMATS, 20)}; got {format!r}.")
    if duplicates is not None and duplicates not in DUPLICATES:
        raise InputError(f"duplicates= must be one of {show(DUPLICATES)}; got {duplicates!r}.")
    options = Options(columns or {}, predictions, annotators, ignore, keep)
    content = open_content(path, encoding)
    tool = FORMATS[format] if format else _recognise(content, options)
    with naming(path):  # such as labels that are both numbers and booleans
        raw = tool.read(content, options)
        raw.notes[:0] = content.notes
        return make(raw, path, tool.name, duplicates, missing_label, strict, keep)


def read_gold(
    path: Path,
    columns: Mapping[str, str] | None = None,
    annotations: Annotations | None = None,
    *,
    encoding: str | None = None,
) -> dict[Hashable, Hashable]:
    """Read true labels of items from a table with a column for the item and one for its label.

    Parameters
    ----------
    path : str or path
        CSV, Parquet, JSON or JSONL.
    columns : mapping from role to name, optional
        Columns of the "item" and the "label". Default: found by name, as in `read_labels`; the label may
        also be called truth, true_label or gold_label.
    annotations : Annotations, optional
        Annotations that the true labels belong to: ids and labels are written as in them, even if the file
        has 1 instead of "1" or "01". Items that are not in them are kept. If their items are answers of
        several models, a column "model" tells which.
    encoding : str, optional
        Encoding of a text file, as in `read_labels`.
    """
    content = open_content(path, encoding)
    table = content.table_of("a table of items and labels")
    item, label = _gold_columns(table, Options(columns or {}).columns, path)
    gold: dict[Hashable, Hashable] = {}
    tabular.add_true_labels(gold, _gold_items(table, item, annotations), table.labels(label), path)
    if not gold:
        raise FileError(path, "holds no item with a label.")
    if annotations is None:
        return gold
    with naming(path):
        rows, _ = match_ids(gold, annotations.items)
    items = annotations.items.tolist()
    names = [items[row] if row >= 0 else name for name, row in zip(gold, rows, strict=True)]
    return match_labels(dict(zip(names, gold.values(), strict=True)), annotations)


def _gold_items(table: Table, item: str, annotations: Annotations | None) -> Factor:
    """Return the item of each row; with the model that answered, if the items of the annotations are answers."""
    ids, model = table.ids(item), find_name(table.names, MODEL)
    if annotations is None or model is None:
        return ids
    answers = combine(ids, table.ids(model))
    return ids if set(answers.values).isdisjoint(annotations.items.tolist()) else answers


def _gold_columns(table: Table, given: Mapping[str, str], path: Path) -> tuple[str, str]:
    """Return the columns of the item and of its true label."""
    item = given.get("item") or item_column(table.names) or "item"
    label = find_name(table.names, *TRUTH, "label", *ALIASES["label"])
    label = given.get("label") or label or "label"
    return (
        must_have(table.names, item, "column for the item", path),
        must_have(table.names, label, "column for the label", path),
    )


def _recognise(content: Content, options: Options) -> Format:
    """Return the format of a file, or raise an error that lists the known formats."""
    for format in FORMATS.values():
        if format.recognise(content, options):
            return format
    if content.table is not None:
        tabular.check_names(content.names, options, content.path)
        if tabular.is_close(content.names):
            tabular.find_columns(content.table, options, content.path)  # the error names the missing column
        hint = tabular.hint(content.table)
        if hint:
            raise FileError(content.path, f"is {content}.{hint}")
    usual_first = [*reversed(FORMATS.values())]
    known = "\n".join(f"  {format.name}: {format.description}" for format in usual_first)
    raise FileError(
        content.path,
        f"is {content}, which matches none of the formats below. ",
        Advice("columns_or_format", NAME_THEM),
        f"\n{known}",
    )
