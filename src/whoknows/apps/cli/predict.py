"""`whoknows predict`: a fitted model and features of new items in, their labels out."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from whoknows.apps.cli import inputs, options
from whoknows.apps.cli.command import command
from whoknows.apps.cli.console import Say
from whoknows.apps.cli.errors import BAD_INPUT, USAGE, CommandError, writing
from whoknows.apps.cli.features import BY_PLACE, of_texts
from whoknows.apps.cli.fit import FILES
from whoknows.apps.cli.large import ids_at, stays_in_files
from whoknows.apps.cli.output import STDOUT, check_table, refuse_to_replace_input, write
from whoknows.apps.cli.results import FitFolder, ModelArgument
from whoknows.apps.cli.stream import steps, told_of, write_blocks
from whoknows.apps.cli.words import count

if TYPE_CHECKING:
    from whoknows.io.features import Features

FeaturesArgument = Annotated[
    Path,
    typer.Argument(metavar="FILE", help="What the fit had of each item: numbers, or a table of texts."),
]
TextOption = Annotated[
    str | None,
    typer.Option(metavar="COLUMN", help="Column of the texts, if its name is not that of the fit."),
]


@command
def predict(
    say: Say,
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

    Writes a table with the label of each item, how sure it is, and the probability of every label.

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
    # Columns are put in order here; the model is given arrays, of which it would complain.
    names = tuple(map(str, vars(loaded).pop("feature_names_in_", ())))
    source = inputs.Source(model, features, text, items, id_column=id_column, vector=vector, memory=memory)
    read = _read(source, fitted, names, say)
    if stays_in_files(read.X):
        _predict_many(loaded, read, out, say)
        return
    with say.progress(f"Predicting {len(read.X)} items"):
        columns = _table(loaded, read)
    write(columns, out, say)
    if out != STDOUT:
        say.tell(f"{out}: the labels of {count(len(read.X), 'item')}.")
        say.answer({"out": str(out.absolute()), "items": len(read.X)})
    else:
        say.answer({"items": len(read.X), "table": columns})


def _read(source: inputs.Source, fitted: FitFolder, names: tuple[str, ...], say: Say) -> Features:
    """Features of new items, made as those of the fit were; ``names`` are those that the model knows."""
    from whoknows.io.texts import read_texts

    assert source.features is not None
    if fitted.recipe.words is None:
        if fitted.has_settings and "features" not in fitted.settings:
            raise CommandError(f"{fitted.path}: {_NOTHING}", BAD_INPUT)
        if source.text is not None:
            raise CommandError(f"{fitted.path}: was fitted to numbers, so --text has no meaning.", USAGE)
        recipe = replace(fitted.recipe, names=names or fitted.recipe.names)
        if not recipe.features and source.features.exists() and source.has_names:
            raise CommandError(f"{source.features}: {_NO_NAMES.format(fitted.folder)} {BY_PLACE}", BAD_INPUT)
        return inputs.read_numbers(source, recipe, say)[0]
    if source.items is not None or source.vector is not None:
        raise CommandError(
            f"{fitted.path}: was fitted to texts; --items and --vector are for numbers.", USAGE
        )
    column = source.text or (fitted.source.text_column if fitted.has_settings else source.text_column)
    texts = read_texts(source.features, column, source.id_column)
    return of_texts(texts, source.features, fitted.recipe, say)[0]


def _predict_many(model: Any, features: Features, out: Path, say: Say) -> None:
    """Predict and write a block of items after the other."""
    if out == STDOUT:
        raise CommandError("--out - prints a table; one of so many items needs a file: --out FILE.", USAGE)
    n_items = len(features.X)
    with writing(out), say.progress(f"Predicting {n_items} items") as update:
        blocks = (
            _table(model, replace(features, X=features.X[rows], ids=ids_at(features.ids, rows)))
            for rows in told_of(steps(n_items), n_items, update)
        )
        write_blocks(blocks, out)
    say.tell(f"{out}: the labels of {count(n_items, 'item')}.")
    say.answer({"out": str(out.absolute()), "items": n_items})


def _table(model: Any, features: Features) -> dict[str, Any]:
    """Columns of the table of predictions."""
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
    "its columns have names, but which name is which feature of the model is not known: {} has no "
    "settings.toml. A fit writes it beside the model; keep the two together."
)
_NOTHING = "was fitted to labels alone, so there is nothing to predict from. Fit again with --features FILE."
