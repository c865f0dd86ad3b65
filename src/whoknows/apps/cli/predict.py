"""`whoknows predict`: labels of new items from their features and a fitted model."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from whoknows.apps.cli import inputs, options
from whoknows.apps.cli.command import command
from whoknows.apps.cli.console import Console
from whoknows.apps.cli.errors import BAD_INPUT, USAGE, CommandError, writing
from whoknows.apps.cli.fit import FILES
from whoknows.apps.cli.inputs import BY_POSITION, of_texts
from whoknows.apps.cli.memory import item_blocks
from whoknows.apps.cli.output import STDOUT, check_table, refuse_to_replace_input, write
from whoknows.apps.cli.results import FitFolder, ModelArgument
from whoknows.apps.cli.words import count

if TYPE_CHECKING:
    from whoknows.io import Features

FeaturesArgument = Annotated[
    Path,
    typer.Argument(metavar="FILE", help="Features or texts of the new items, as in the fit."),
]
TextOption = Annotated[
    str | None,
    typer.Option(metavar="COLUMN", help="Column of the texts, if its name is not the same as in the fit."),
]


@command
def predict(
    console: Console,
    model: ModelArgument,
    features: FeaturesArgument,
    text: TextOption = None,
    items: options.ItemsOption = None,
    out: options.TableOption = Path("predictions.csv"),
    id_column: options.IdColumnOption = None,
    vector: options.VectorOption = None,
    memory: options.MemoryOption = None,
) -> None:
    """Predict the labels of new items.

    Writes a table with the predicted label of each item, its probability, and that of every label.

    For example:

    whoknows predict whoknows-out new_features.csv

    whoknows predict whoknows-out new_features.csv --out predictions.parquet

    whoknows predict whoknows-out new_texts.csv --text body
    """
    check_table(out)
    for read in filter(None, (features, items)):
        refuse_to_replace_input([out], read)
    fitted = FitFolder(model)
    if out.exists() and out.absolute() in {fitted.folder.absolute() / name for name in FILES}:
        raise CommandError(f"{out}: is a file of the fit. Choose another --out.", USAGE)
    loaded = fitted.model()
    # Columns are ordered here. The model gets arrays, and would warn that they have no names.
    names = tuple(map(str, vars(loaded).pop("feature_names_in_", ())))
    source = inputs.Source(model, features, text, items, id_column=id_column, vector=vector, memory=memory)
    read = _read(source, fitted, names, console)
    if not read.in_memory:
        _predict_blocks(loaded, read, out, console)
        return
    with console.progress(f"Predicting {len(read)} items"):
        columns = _table(loaded, read)
    write(columns, out, console)
    if out != STDOUT:
        console.tell(f"{out}: the labels of {count(len(read), 'item')}.")
        console.answer({"out": str(out.absolute()), "items": len(read)})
    else:
        console.answer({"items": len(read), "table": columns})


def _read(source: inputs.Source, fitted: FitFolder, names: tuple[str, ...], console: Console) -> Features:
    """Read features of new items as in the fit; ``names`` are those stored in the model."""
    from whoknows.io import read_texts

    assert source.features is not None
    if fitted.recipe.words is None:
        if fitted.has_settings and "features" not in fitted.settings:
            raise CommandError(f"{fitted.path}: {_NOTHING}", BAD_INPUT)
        if source.text is not None:
            raise CommandError(f"{fitted.path}: was fitted to numbers: --text does not apply.", USAGE)
        recipe = replace(fitted.recipe, names=names or fitted.recipe.names)
        if not recipe.features and source.features.exists() and source.has_names:
            raise CommandError(
                f"{source.features}: {_NO_NAMES.format(fitted.folder)} {BY_POSITION}", BAD_INPUT
            )
        return inputs.read_numbers(source, recipe, console)[0]
    if source.items is not None or source.vector is not None:
        raise CommandError(
            f"{fitted.path}: was fitted to texts; --items and --vector are for numbers.", USAGE
        )
    column = source.text or (fitted.source.text_column if fitted.has_settings else source.text_column)
    texts = read_texts(source.features, column, source.id_column)
    return of_texts(texts, source.features, fitted.recipe, console)[0]


def _predict_blocks(model: Any, features: Features, out: Path, console: Console) -> None:
    """Predict and write the items block by block."""
    from whoknows.io.writing import write_blocks

    if out == STDOUT:
        raise CommandError("--out - prints a table; features out of core need a file: --out FILE.", USAGE)
    n_items = len(features)
    with writing(out), console.progress(f"Predicting {n_items} items") as update:
        blocks = (
            _table(model, replace(features, X=features.X[rows], ids=features.ids_at(rows)))
            for rows in item_blocks(n_items, update)
        )
        write_blocks(blocks, out)
    console.tell(f"{out}: the labels of {count(n_items, 'item')}.")
    console.answer({"out": str(out.absolute()), "items": n_items})


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
