"""`whoknows ask`: which annotator to ask next for the label of which item."""

from __future__ import annotations

import difflib
import math
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import typer

from whoknows.apps.cli import inputs, options
from whoknows.apps.cli.command import command
from whoknows.apps.cli.console import Console
from whoknows.apps.cli.errors import BAD_INPUT, USAGE, CommandError
from whoknows.apps.cli.output import STDOUT, check_table, refuse_to_replace_input, write
from whoknows.apps.cli.results import FitFolder, ModelArgument
from whoknows.apps.cli.words import count

COLUMNS = ("item", "annotator", "information", "cost", "per_cost")


@command
def ask(
    console: Console,
    model: ModelArgument,
    number: Annotated[
        int, typer.Option("--number", "-n", metavar="N", min=1, help="Maximum number of labels to ask for.")
    ] = 20,
    cost: Annotated[
        list[str] | None,
        typer.Option(metavar="ANNOTATOR=COST", help="Cost of a label by this annotator; 1 by default."),
    ] = None,
    annotator: Annotated[
        list[str] | None, typer.Option(metavar="NAME", help="Annotators who may be asked; all by default.")
    ] = None,
    min_gain: Annotated[
        float, typer.Option(metavar="BITS", min=0.0, help="Minimum information per unit of cost, in bits.")
    ] = 0.0,
    out: options.TableOption = Path("ask.csv"),
    labels: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Labels so far, if the file has moved.")
    ] = None,
    features: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Features, if the file has moved.")
    ] = None,
    items: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Table of items, if the file has moved.")
    ] = None,
    allow_missing: options.AllowMissingOption = False,
) -> None:
    """Suggest which annotator to ask next, about which item.

    Reads the labels and features of the fit again. Writes a table, best first: the item, the annotator, and
    the expected information of the label in bits, also per unit of cost.

    For example:

    whoknows ask whoknows-out

    whoknows ask whoknows-out -n 100 --cost anna=5 --cost bob=1 --out next.csv
    """
    check_table(out)
    fitted = FitFolder(model)
    loaded = fitted.model()
    if not hasattr(loaded, "suggest"):
        raise CommandError(
            f"{model}: is a regression; this command is for classes. For a regression, the report and "
            "summary.json suggest whom to ask.",
            BAD_INPUT,
        )
    known = loaded.annotators_.tolist()
    costs = _costs(cost, known)
    people = None if annotator is None else [_known(name, known, "--annotator") for name in annotator]
    if features is not None and fitted.source.features is None:
        raise CommandError(f"{model}: was not fitted to a file of numbers: --features does not apply.", USAGE)
    moved = {"labels": labels, "features": features, "items": items}
    given = {name: path for name, path in moved.items() if path is not None}
    allowed = allow_missing or fitted.source.allow_missing
    source = replace(fitted.source, gold=None, allow_missing=allowed, **given)
    for name, path in source.files.items():
        if not path.exists():
            raise CommandError(
                f"{path}: there is no such file. If it has moved, pass --{name} FILE.", BAD_INPUT
            )
        refuse_to_replace_input([out], path)
    dataset = inputs.load(source, console, fitted.recipe).dataset
    with console.progress(f"Choosing among {dataset.annotations.n_items} items"):
        asked = loaded.suggest(
            dataset.X,
            dataset.annotations,
            number,
            costs=costs,
            annotators=people,
            min_gain=min_gain,
        )
    columns = {name: getattr(asked, name) for name in COLUMNS}
    if out != STDOUT and not len(asked):
        console.tell(*str(asked).splitlines(), "Nothing was written.")
        console.answer({"out": None, "why": asked.why, "labels": 0})
        return
    write(columns, out, console)
    if out != STDOUT:
        console.tell(*str(asked).splitlines(), f"{out}: the whole list.")
        console.answer({"out": str(out.absolute()), "why": asked.why, "labels": len(asked)})
    else:
        if asked.why:
            console.note(f"No more than {count(len(asked), 'label')}: {asked.why}.")
        console.answer({"why": asked.why, "table": columns})


def _costs(given: list[str] | None, known: list[Any]) -> dict[Any, float] | None:
    """Return the cost of each annotator, 1 by default."""
    if not given:
        return None
    costs = dict.fromkeys(known, 1.0)
    for pair in given:
        name, _, number = pair.rpartition("=")
        try:
            value = float(number)
        except ValueError:
            raise CommandError(
                f"--cost expects ANNOTATOR=COST, such as anna=5; got {pair!r}.", USAGE
            ) from None
        if not 0 < value < math.inf:
            hint = "To exclude annotators, name those who may be asked with --annotator."
            raise CommandError(f"--cost expects a number above 0; got {pair!r}. {hint}", USAGE)
        costs[_known(name, known, "--cost")] = value
    return costs


def _known(name: str, known: list[Any], option: str) -> Any:
    """Return the annotator of this name, which may be a number."""
    by_name = {str(each): each for each in known}
    if name not in by_name:
        near = difflib.get_close_matches(name, by_name, n=1)
        hint = f" Did you mean {near[0]!r}?" if near else f" There are {', '.join(list(by_name)[:10])}."
        raise CommandError(f"{option} names {name!r}, who is not an annotator of the fit.{hint}", USAGE)
    return by_name[name]
