"""`whoknows sync`: labels from a labelling tool, a fit, and predictions back to it."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from whoknows.apps.cli import inputs, models
from whoknows.apps.cli.command import command
from whoknows.apps.cli.console import Console, count
from whoknows.apps.cli.errors import INTERRUPTED, UsageError, describe, writing
from whoknows.apps.cli.fit import fit_files, tell_files
from whoknows.apps.cli.results import FitFolder

if TYPE_CHECKING:
    from whoknows.apps.web.label_studio.sync import Prediction, Project

TOKEN = "LABEL_STUDIO_API_KEY"  # as Label Studio's own tools call it

sync = typer.Typer(no_args_is_help=True, help="Sync with a labelling tool: pull labels, fit, push predictions.")


@sync.command("label-studio")
@command()
def label_studio(
    console: Console,
    settings: dict[str, Any],
    url: Annotated[str, typer.Argument(metavar="URL", help="Label Studio's start page, http://localhost:8080.")],
    project: Annotated[int, typer.Option(metavar="N", min=1, help="Id of the project, the number in its address.")],
    token: Annotated[
        str | None,
        typer.Option(metavar="TOKEN", envvar=TOKEN, help="Personal or legacy access token; safer in the variable."),
    ] = None,
    every: Annotated[
        float | None, typer.Option(metavar="MINUTES", min=0.01, help="Sync again and again, with this pause.")
    ] = None,
    question: Annotated[str | None, typer.Option(metavar="NAME", help="The question, if there are several.")] = None,
    text: Annotated[
        str | None, typer.Option(metavar="NAME", help="Entry of the tasks' data to compute features from.")
    ] = None,
    labels_per_task: Annotated[
        int | None, typer.Option(metavar="N", min=1, help="How many people may label a task; not changed by default.")
    ] = None,
    prelabel: Annotated[
        bool, typer.Option("--prelabel", help="Show annotators the predicted label before they answer.")
    ] = False,
    backend: Annotated[
        str | None, typer.Option(metavar="URL", help="Also add this backend, shown by whoknows serve.")
    ] = None,
    out: Annotated[Path, typer.Option(metavar="DIR", help="Folder for the results.")] = Path("whoknows-out"),
    model: models.ClassifierOption = "auto",
    seed: models.SeedOption = 0,
    max_iter: models.IterationsOption = 200,
) -> None:
    """Pull the annotations of a Label Studio project, fit, and push predictions that order its tasks.

    The score of a prediction says how little there is to learn about its task, and the project is set to serve the
    lowest score first. Predictions of an earlier sync are replaced, those of others stay. The results of the fit
    are in a folder, as those of **whoknows fit**.

    For example:

    whoknows sync label-studio http://localhost:8080 --project 3

    whoknows sync label-studio http://localhost:8080 --project 3 --every 10
    """
    from whoknows.apps.web.label_studio.client import Client
    from whoknows.apps.web.label_studio.sync import Project

    if token is None:
        raise UsageError(
            f"A token is needed: set {TOKEN}, or use --token. Label Studio shows it in Account & Settings."
        )
    found = Project.open(Client(url, token), project, question)
    if backend is not None:
        console.note("The backend is added." if found.register(backend) else "The backend is there already.")
    if labels_per_task is not None:
        found.allow_labels(labels_per_task)
    options = {name: settings[name] for name in ("out", "model", "seed", "max_iter")}
    options |= {"text": text or found.question.text, "levels": None}
    while True:
        _sync_or_wait(found, options, prelabel, console, again=every is not None)
        if every is None:
            return
        _pause(60 * every, console)


def _pause(seconds: float, console: Console) -> None:
    """Wait; Ctrl-C now interrupts nothing."""
    try:
        time.sleep(seconds)
    except KeyboardInterrupt:
        console.note("Stopped. The results of the last sync are kept.")
        raise typer.Exit(INTERRUPTED) from None


def _sync_or_wait(found: Project, options: dict[str, Any], prelabel: bool, console: Console, again: bool) -> None:
    """Sync once; if there is another time, what may be different then is a warning."""
    from whoknows.apps.web.label_studio.client import Unreachable
    from whoknows.apps.web.label_studio.sync import NothingToFit

    try:
        _sync(found, options, prelabel, console)
    except (NothingToFit, Unreachable) as error:
        if not again:
            raise
        console.warn(describe(error)[0])


def _sync(found: Project, options: dict[str, Any], prelabel: bool, console: Console) -> None:
    """Pull, fit and push."""
    from whoknows.io.writing import write_lines

    with console.progress("Reading tasks"):
        tasks = found.tasks()
    n_annotations = sum(len(task["annotations"]) for task in tasks)
    console.note(f"{found}: {count(len(tasks), 'task')}, {count(n_annotations, 'annotation')}.")
    out = options["out"]
    with writing(out):
        out.mkdir(parents=True, exist_ok=True)
        export = [{**task, "predictions": []} for task in tasks]  # annotators are people
        write_lines([json.dumps(export)], _export(found, out))
    summary = fit_files(_fit_settings(found, options), console)
    console.tell("", *summary.lines(), "")
    tell_files(out, console)
    predictions = _predictions(out)
    with console.progress("Writing predictions"):
        n_new = found.push(predictions, tasks, prelabel)
    console.tell(f"{count(n_new, 'prediction')} pushed." if n_new else "The predictions are the same as before.")
    console.answer({"out": str(out.absolute()), "tasks": len(tasks), "annotations": n_annotations, "pushed": n_new})


def _export(found: Project, out: Path) -> Path:
    """Return the file in which the pulled tasks are kept, beside the results of their fit."""
    return out / f"label_studio_project_{found.id}.json"


def _fit_settings(found: Project, options: dict[str, Any]) -> dict[str, Any]:
    """Return the settings of the fit; ratings are ordered."""
    ordered = found.question.kind == "rating" and options["model"] == "auto"
    labels = _export(found, options["out"])
    how = {"labels": labels, "format": "label-studio", "column": [f"label={found.question.name}"]}
    return {**options, **how, "model": "ordered" if ordered else options["model"]}


def _predictions(out: Path) -> list[Prediction]:
    """Return the consensus of every task, scored by how little its next label would tell."""
    from whoknows.apps.web.label_studio.sync import Prediction, score
    from whoknows.estimators.ask.batch import information_of_next_label

    fitted = FitFolder(out)
    model, consensus, gold = fitted.model(), fitted.consensus(), fitted.gold_items()
    data = inputs.load(fitted.source, Console(quiet=True), fitted.recipe).dataset
    bits = dict(
        zip(data.annotations.items.tolist(), information_of_next_label(model, data.X, data.annotations), strict=True)
    )
    return [
        Prediction(item, label, score(0.0 if str(item) in gold else bits[item], len(model.classes_)))
        for item, label in zip(consensus["item"], consensus["consensus"], strict=True)
    ]
