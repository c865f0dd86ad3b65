"""`whoknows ask`: which annotator to ask next for the label of which item."""

from __future__ import annotations

import difflib
import math
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import typer

from whoknows.apps.cli import inputs
from whoknows.apps.cli.command import command
from whoknows.apps.cli.console import Console, count
from whoknows.apps.cli.errors import CommandError, UsageError
from whoknows.apps.cli.output import STDOUT, TableOption, check_table, write_and_answer
from whoknows.apps.cli.results import FitFolder, ModelArgument
from whoknows.apps.cli.source import File, Source


@command("features", "items", "allow_missing")
def ask(
    console: Console,
    settings: dict[str, Any],
    model: ModelArgument,
    number: Annotated[
        int, typer.Option("--number", "-n", metavar="N", min=1, help="Maximum number of labels to ask for.")
    ] = 20,
    cost: Annotated[
        list[str] | None, typer.Option(metavar="ANNOTATOR=COST", help="Cost of a label; may be repeated.")
    ] = None,
    annotator: Annotated[
        list[str] | None, typer.Option(metavar="NAME", help="Annotator who may be asked; may be repeated.")
    ] = None,
    min_gain: Annotated[
        float, typer.Option(metavar="BITS", min=0.0, help="Minimum information per unit of cost, in bits.")
    ] = 0.0,
    out: TableOption = Path("ask.csv"),
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace the table if it exists.")] = False,
    labels: Annotated[Path | None, File(help="Labels so far, if the file has moved.")] = None,
) -> None:
    """Suggest which annotator to ask next, about which item.

    Reads the labels and features of the fit again; if a file has moved, name it with --labels, --features or
    --items. Writes a table, best first: the item, the annotator, and the expected information of the label in
    bits, also per unit of cost.

    For example:

    whoknows ask whoknows-out

    whoknows ask whoknows-out -n 100 --cost anna=5 --cost bob=1 --out next.csv
    """
    fitted = FitFolder(model)
    source = _source(fitted, settings)
    check_table(out, *source.files.values())
    loaded = fitted.model()
    if not hasattr(loaded, "suggest"):
        raise CommandError(f"{model}: is a regression; ask is for classes. Its report says whom to ask.")
    costs = _costs(cost)
    _check_known(costs, loaded.annotators_, "--cost")
    _check_known(annotator or (), loaded.annotators_, "--annotator")
    gold = fitted.gold_items()
    if out.exists() and not overwrite:
        raise UsageError(f"{out}: exists already. Use --overwrite to replace it, or choose another --out.")
    dataset = inputs.load(source, console, fitted.recipe).dataset
    unknown = [row for row, item in enumerate(dataset.annotations.items.tolist()) if str(item) not in gold]
    if not unknown:
        raise CommandError(f"{model}: the truth of every item is known from gold; there is nothing to ask.")
    X, annotations = dataset.X[unknown], dataset.annotations[unknown]
    with console.progress(f"Choosing among {len(unknown)} items"):
        asked = loaded.suggest(X, annotations, number, costs=costs, annotators=annotator, min_gain=min_gain)
    lines = str(asked).splitlines()
    if out != STDOUT and not len(asked):
        console.tell(*lines, "Nothing was written.")
        console.answer({"out": None, "why": asked.why, "labels": 0})
        return
    if out == STDOUT and asked.why:
        console.note(f"Only {count(len(asked), 'label')} to ask for: {asked.why}.")
    lines.append(f"{out}: the whole list.")
    write_and_answer(asked.columns(), out, console, lines, why=asked.why, labels=len(asked))


def _source(fitted: FitFolder, settings: dict[str, Any]) -> Source:
    """Return the files of the fit, at the places to which they have moved."""
    source = fitted.source
    if settings["features"] is not None and source.features is None:
        raise UsageError(f"{fitted.path}: was not fitted to a file of numbers: --features does not apply.")
    moved = {name: settings[name] for name in ("labels", "features", "items") if settings[name] is not None}
    allowed = settings["allow_missing"] or source.allow_missing
    source = replace(source, gold=None, allow_missing=allowed, **moved)
    for name, path in source.files.items():
        if not path.exists():
            raise CommandError(f"{path}: there is no such file. If it has moved, pass --{name} FILE.")
    return source


def _costs(given: list[str] | None) -> dict[str, float]:
    """Return costs by annotator; those of others are 1."""
    costs: dict[str, float] = {}
    for pair in given or []:
        name, _, number = pair.rpartition("=")
        try:
            value = float(number)
        except ValueError:
            raise UsageError(f"--cost expects ANNOTATOR=COST, such as anna=5; got {pair!r}.") from None
        if not 0 < value < math.inf:
            hint = "To exclude annotators, name those who may be asked with --annotator."
            raise UsageError(f"--cost expects a number above 0; got {pair!r}. {hint}")
        costs[name] = value
    return costs


def _check_known(names: Iterable[str], known: Any, option: str) -> None:
    """Refuse a name that no annotator of the fit has."""
    from whoknows.data.vocabulary import codes_of_names, elements

    for name in names:
        if codes_of_names([name], known)[0] < 0:
            texts = [str(each) for each in elements(known)]
            near = difflib.get_close_matches(name, texts, n=1)
            hint = f"Did you mean {near[0]!r}?" if near else f"There are {', '.join(texts[:10])}."
            raise UsageError(f"{option} names {name!r}, who is not an annotator of the fit. {hint}")
