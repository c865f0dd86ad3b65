"""`whoknows predict`: labels of new items from their features and a fitted model."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from whoknows.apps.cli import inputs
from whoknows.apps.cli.command import command
from whoknows.apps.cli.console import Console, count
from whoknows.apps.cli.errors import CommandError, UsageError, writing
from whoknows.apps.cli.output import STDOUT, TableOption, check_table, write_and_answer, write_items
from whoknows.apps.cli.results import FILES, FitFolder, ModelArgument
from whoknows.apps.cli.source import Source

if TYPE_CHECKING:
    from whoknows.io import Features


@command("items", "id_column", "vector", "memory", "encoding")
def predict(
    console: Console,
    settings: dict[str, Any],
    model: ModelArgument,
    features: Annotated[
        Path, typer.Argument(metavar="FILE", help="Features or texts of the new items, as in the fit.")
    ],
    text: Annotated[
        str | None, typer.Option(metavar="COLUMN", help="Column of the texts, if not the same as in the fit.")
    ] = None,
    out: TableOption = Path("predictions.csv"),
) -> None:
    """Predict the labels of new items.

    Writes a table with the predicted label of each item, its probability, and that of every label.

    For example:

    whoknows predict whoknows-out new_features.csv

    whoknows predict whoknows-out new_features.csv --out predictions.parquet

    whoknows predict whoknows-out new_texts.csv --text body
    """
    source = Source.of({"labels": model, **settings})
    check_table(out, features, source.items)
    fitted = FitFolder(model)
    if out.exists() and out.absolute() in {fitted.folder.absolute() / name for name in FILES}:
        raise UsageError(f"{out}: is a file of the fit. Choose another --out.")
    loaded = fitted.model()
    source = _as_in_the_fit(source, fitted)
    # Columns are ordered here. The model gets arrays, and would warn that they have no names.
    names = tuple(map(str, vars(loaded).pop("feature_names_in_", ())))
    new = _read(source, fitted, names, console)
    lines = [f"{out}: the labels of {count(len(new), 'item')}."]
    if new.in_memory:
        with console.progress(f"Predicting {len(new)} items"):
            columns = _table(loaded, new)
        write_and_answer(columns, out, console, lines, items=len(new))
        return
    if out == STDOUT:
        raise UsageError("--out - prints a table; features out of core need a file: --out FILE.")
    with writing(out), console.progress(f"Predicting {len(new)} items") as update:
        write_items(lambda rows: _table(loaded, new.take(rows)), len(new), out, update)
    console.tell(*lines)
    console.answer({"out": str(out.absolute()), "items": len(new)})


def _as_in_the_fit(source: Source, fitted: FitFolder) -> Source:
    """Take the column of ids and the ignored columns from the fit, if the new file has them and no option differs."""
    if not (fitted.has_settings and "labels" in fitted.settings and source.features):
        return source
    then = fitted.source
    names = (then.id_column, then.columns.get("item"))
    known = (name for name in names if name and inputs.has_column(source.features, name, source.encoding))
    return replace(source, id_column=source.id_column or next(known, None), ignore=source.ignore or then.ignore)


def _read(source: Source, fitted: FitFolder, names: tuple[str, ...], console: Console) -> Features:
    """Read features of new items as in the fit; ``names`` are those stored in the model."""
    from whoknows.io import read_texts

    assert source.features is not None
    if fitted.recipe.words is None:
        if fitted.has_settings and "features" not in fitted.settings:
            raise CommandError(f"{fitted.path}: {_NOTHING}")
        if source.text is not None:
            raise UsageError(f"{fitted.path}: was fitted to numbers: --text does not apply.")
        recipe = replace(fitted.recipe, names=names or fitted.recipe.names)
        if not recipe.features and source.features.exists() and source.has_names:
            raise CommandError(f"{source.features}: {_NO_NAMES.format(fitted.folder)} {inputs.BY_POSITION}")
        return inputs.read_numbers(source, recipe, console)[0]
    if source.items is not None or source.vector is not None:
        raise UsageError(f"{fitted.path}: was fitted to texts; --items and --vector are for numbers.")
    column = source.text or (fitted.source.text_column if fitted.has_settings else source.text_column)
    texts = read_texts(source.features, column, source.id_column, source.encoding)
    return inputs.of_texts(texts, source.features, fitted.recipe, console)[0]


def _table(model: Any, features: Features) -> dict[str, Any]:
    """Return the columns of the table of predictions."""
    from whoknows.insight.summary.text import class_columns

    if not hasattr(model, "predict_proba"):
        value, std = model.predict(features.X, return_std=True)
        return {"item": features.ids, "value": value, "std": std}
    probability = model.predict_proba(features.X)
    return {
        "item": features.ids,
        "label": model.classes_[probability.argmax(axis=1)],
        "confidence": probability.max(axis=1),
        **dict(zip(class_columns(model.classes_.tolist()), probability.T, strict=True)),
    }


_NO_NAMES = (
    "its columns have names, but the names of the features of the model are not known: {} has no "
    "settings.toml. A fit writes it next to the model; keep the two together."
)
_NOTHING = "was fitted without features, so there is nothing to predict from. Fit again with --features FILE."
