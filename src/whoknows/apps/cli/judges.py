"""`whoknows judges`: from the votes of LLM judges to an answer."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from whoknows.apps.cli import columns, inputs, judge_tables, models, output
from whoknows.apps.cli.command import command
from whoknows.apps.cli.console import Console
from whoknows.apps.cli.errors import FAILED, UsageError, writing
from whoknows.apps.cli.judge_gate import failure, read_gate
from whoknows.apps.cli.judge_tables import Output
from whoknows.apps.cli.source import FEATURE_OPTIONS, LABEL_OPTIONS, Source

if TYPE_CHECKING:
    from whoknows.apps.cli.inputs import LoadedData
    from whoknows.insight import Judges

HEADING = "Settings and facts of this run of whoknows judges."
SUFFIXES = (".csv", ".md", ".tex")
FILES = [f"{name}{suffix}" for name in judge_tables.NAMES for suffix in SUFFIXES] + [output.SETTINGS]
WITH_GROUPS = ("auto", "id", "lgp")  # models whose annotators may share errors; of others, groups are shown only
WIDEST = 120  # columns of a table, even if the terminal is wider


@command(*LABEL_OPTIONS, *FEATURE_OPTIONS, "gold")
def judges(
    console: Console,
    settings: dict[str, Any],
    by: Annotated[
        list[str] | None,
        typer.Option(metavar="COLUMN", help="Column with the group of each item, e.g. its topic; repeatable."),
    ] = None,
    groups: Annotated[
        str | None, typer.Option(metavar="COLUMN", help="Column with the group of each judge, e.g. its model.")
    ] = None,
    pair: Annotated[
        str | None, typer.Option(metavar="COLUMN", help="Column that pairs items of two groups, e.g. the question.")
    ] = None,
    positive: Annotated[
        str | None, typer.Option(metavar="LABEL", help="Label whose rate is shown, of two. Default: 'good', 'yes', …")
    ] = None,
    fail_under: Annotated[
        list[str] | None,
        typer.Option(metavar="[JUDGE:]MEASURE=X", help="Exit with 1 if kappa or accuracy is lower; repeatable."),
    ] = None,
    number: Annotated[int, typer.Option("--number", "-n", metavar="N", min=0, help="Items to look at next.")] = 10,
    out: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Folder for all tables: CSV, Markdown, LaTeX.")
    ] = None,
    level: Annotated[float, typer.Option(metavar="P", min=0.5, max=0.999, help="Coverage of the intervals.")] = 0.9,
    model: models.ClassifierOption = "auto",
    levels: models.LevelsOption = None,
    seed: models.SeedOption = 0,
    max_iter: models.IterationsOption = 200,
) -> None:
    """Compare LLM judges with people, and correct their rates.

    Prints each judge against the gold; how many judges they are worth, and who errs together; the rate of each group
    of items (--by), corrected for the errors of the judges; which judge to trust on which kind of item; and the items
    that people should look at next.

    For example:

    whoknows judges votes.jsonl --gold people.csv --by model

    whoknows judges votes.csv --gold people.csv --by topic --groups judge_model --out tables

    whoknows judges votes.csv --gold people.csv --fail-under kappa=0.6
    """
    source, gates = Source.of(settings), [read_gate(each) for each in fail_under or []]
    wanted = [name for name in (*(by or []), groups, pair) if name]
    with _folder(out, source) as draft:
        data = inputs.load(source, console, columns=wanted, guess_texts=False)
        gold = inputs.read_truth(data, console)
        if gates and not gold:
            raise UsageError("--fail-under compares judges with gold: pass --gold FILE.")
        found = _study(data, gold, settings, console)
        tables = judge_tables.tables(found, _label(found, positive), number)
        _write(draft, tables, settings)
    failed = [] if found.against is None else [text for gate in gates if (text := failure(found.against, gate))]
    _show(found, tables, columns.column_of_annotators(data, groups), console)
    if out is not None:
        console.tell("", f"Tables are in {out}: {', '.join(tables)}, each as CSV, Markdown and LaTeX.")
    facts = {"worth": found.shared.worth, "groups": found.shared.groups, "notes_on_rates": found.rates.notes}
    console.answer({name: each.columns for name, each in tables.items()} | facts | {"failed": failed})
    if failed:
        for text in failed:
            console.failed(text)
        raise typer.Exit(FAILED)


def _study(data: LoadedData, gold: Any, settings: Mapping[str, Any], console: Console) -> Judges:
    """Fit the model, and study the judges."""
    from whoknows.insight import judges as study

    dataset = data.dataset
    labels = dataset.annotations.labels.tolist()
    by = {name: columns.column_of_items(data, name) for name in settings["by"] or []}
    pair = columns.column_of_items(data, settings["pair"]) if settings["pair"] else _pairs(data, by)
    estimator = models.build(settings, labels, data.labels_alone)
    if settings["groups"] and settings["model"] in WITH_GROUPS and not settings["levels"]:
        estimator.set_params(groups=columns.column_of_annotators(data, settings["groups"]))
    models.fit(estimator, data, gold, settings, Path(), console)
    known = dataset.by_item(gold) or None
    options = {"by": by, "pair": pair, "level": settings["level"], "random_state": settings["seed"]}
    with console.progress("Fitting without parts of the gold" if known else "Estimating rates") as update:
        return study(estimator, dataset.X, dataset.annotations, gold=known, progress=update, **options)


def _pairs(data: LoadedData, by: Mapping[str, Sequence[Any]]) -> list[str] | None:
    """Return the question of each item if items are called "question / model", where model is a group."""
    from whoknows.io.labels.votes import SEPARATOR

    items = [str(item) for item in data.dataset.annotations.items.tolist()]
    for groups in by.values():
        ends = [f"{SEPARATOR}{group}" for group in groups]
        if all(item.endswith(end) for item, end in zip(items, ends, strict=True)):
            return [item.removesuffix(end) for item, end in zip(items, ends, strict=True)]
    return None


def _label(found: Judges, given: str | None) -> Any:
    """Return the label whose rate is shown."""
    labels = found.annotations.labels.tolist()
    if given is None:
        return judge_tables.positive_of(labels)
    by_text = {str(label): label for label in labels}
    if given not in by_text:
        raise UsageError(f"--positive expects one of the labels {', '.join(by_text)}; got {given!r}.")
    return by_text[given]


# --- what is shown and written ---------------------------------------------------------------------------


def _show(found: Judges, tables: Mapping[str, Output], groups: Mapping[Any, Any], console: Console) -> None:
    """Print tables and sentences."""
    width = min(shutil.get_terminal_size((80, 24)).columns, WIDEST) if sys.stdout.isatty() else 80
    for each in tables.values():
        if len(each.text) and each.title:
            shown = each.shown or each.text
            console.tell("", f"{each.title}:", *shown.lines(width), *each.remarks)
        if each.name == "judges" or (each.name == "together" and "judges" not in tables):
            lines = list(judge_tables.together_lines(found.shared, found.by_gold, groups))
            console.tell(*([""] if lines else []), *lines)
    for text in judge_tables.advice(found):
        console.warn(text)


@contextmanager
def _folder(out: Path | None, source: Source) -> Iterator[Path | None]:
    """Yield a draft of the output folder, None if nothing is to be written."""
    if out is None:
        yield None
        return
    with output.folder(out, FILES, source.files.values()) as draft, writing(out):
        yield draft


def _write(draft: Path | None, tables: Mapping[str, Output], settings: Mapping[str, Any]) -> None:
    """Write all tables as CSV, Markdown and LaTeX."""
    from whoknows.io import write_table
    from whoknows.io.writing import write_lines

    if draft is None:
        return
    for name, each in tables.items():
        write_table(each.columns, draft / f"{name}.csv")
        write_lines(each.text.markdown(), draft / f"{name}.md")
        write_lines(each.text.latex(), draft / f"{name}.tex")
    output.write_settings(draft, settings, {}, HEADING)
