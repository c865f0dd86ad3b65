"""Wording of the command line: advice of the library in terms of options, and counts."""

from __future__ import annotations

OPTIONS = {
    "all_columns": "--column item=... --column annotator=... --column label=...",
    "all_levels": "--levels A,B,C",
    "allow_missing": "--allow-missing",
    "classifier": "another --model",
    "columns": "--column {role}={name}",
    "duplicates": "--duplicates 'first'",
    "format": "--format ...",
    "id_column": "--id-column ...",
    "ids": "Name the ids of the features with --id-column or --items",
    "levels": "--levels ",
    "max_iter": "Increase --max-iter if that matters.",
    "max_size": "--max-size 8GB",
    "missing_label": "--missing={value}",
    "n_iterations": "{value}",
    "n_splits": "--folds {value}",
    "ordered": "--model ordered",
    "other_class": "name an item of it with --gold FILE; for another column, use --column label=NAME",
    "predictions": "--predictions",
    "regression": "--model regression",
    "save": "whoknows fit, as model.whoknows",
    "text": "If it is text, use --text with the name of the column.",
    "vector": "--vector ...",
}


def count(n: int, noun: str) -> str:
    """Return "1 item" or "2 items".

    >>> count(1, "item"), count(2, "item")
    ('1 item', '2 items')
    """
    return f"{n} {noun}" if n == 1 else f"{n} {noun}s"


def in_flags(text: str) -> str:
    """Return a message of the library with its advice in terms of options.

    >>> from whoknows.data.errors import Advice, Message
    >>> in_flags(Message("Use ", Advice("predictions", "predictions=True"), " to include models."))
    'Use --predictions to include models.'
    """
    from whoknows.data.errors import Message

    return text.reworded(OPTIONS) if isinstance(text, Message) else text
