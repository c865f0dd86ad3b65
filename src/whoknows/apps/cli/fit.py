"""`whoknows fit`: labels and features in; consensus, annotators, model and report out."""

from __future__ import annotations

import copy
import time
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from whoknows.apps.cli import inputs, models, output, results
from whoknows.apps.cli.columns import column_of_items
from whoknows.apps.cli.command import command
from whoknows.apps.cli.console import Console
from whoknows.apps.cli.errors import UsageError, writing
from whoknows.apps.cli.inputs import LoadedData
from whoknows.apps.cli.source import FIT_OPTIONS, Source
from whoknows.apps.tables import one_below_the_other

if TYPE_CHECKING:
    from whoknows.insight.summary import Summary

LABELS_ALONE = (
    "There are no features of the items, so only the labels are used. With --features FILE or --text COLUMN, "
    "expertise can depend on the item, and items without labels get a prediction, too."
)

HEADING = f"Settings and facts of this fit. To repeat it: whoknows fit --config {output.SETTINGS}"
NOT_SHOWN = "With features out of core, the report shows no images, and texts of the file of labels only."


@command(*FIT_OPTIONS)
def fit(
    console: Console,
    settings: dict[str, Any],
    out: Annotated[Path, typer.Option(metavar="DIR", help="Folder for the results.")] = Path("whoknows-out"),
    model: models.ModelOption = "auto",
    levels: models.LevelsOption = None,
    seed: models.SeedOption = 0,
    max_iter: models.IterationsOption = 200,
    by: Annotated[
        list[str] | None,
        typer.Option(metavar="COLUMN", help="Column with the kind of each item, e.g. its topic; repeatable."),
    ] = None,
    resume: Annotated[
        bool, typer.Option("--resume", help="Continue an interrupted out-of-core fit, with the same options.")
    ] = False,
) -> None:
    """Estimate the true label of every item and the expertise of annotators.

    Writes into a folder: **consensus.csv**, one row per item; **annotators.csv**; **report.html**, to open in
    a browser; **model.whoknows** for predict, report and ask; settings.toml and summary.json; text.npz if
    features are computed from texts.

    For example:

    whoknows fit labels.csv --features features.csv

    whoknows fit export.json --text text --out results

    whoknows fit labels.csv --features emb.npy --items items.csv --gold truth.csv

    whoknows fit labels.csv --features folder_of_parquet --memory 4GB
    """
    summary = fit_files(settings, console)
    console.tell("", *summary.lines(), "")
    tell_files(out, console)
    console.answer({"out": str(out.absolute()), "files": list(files_in(out)), "lines": summary.lines()})


def fit_files(settings: dict[str, Any], console: Console) -> Summary:
    """Read, fit, summarize and write all files of a fit, or none."""
    source, out = Source.of(settings), settings["out"]
    _refuse_to_write_into_features(out, source.features)
    if output.complete_move(out):
        console.note(f"{out}: results of an earlier run that was killed while moving them are now complete.")
    n_notes = len(console.notes)  # the report has the notes on the input files only
    resume = settings.pop("resume", False)  # not a setting: it does not change the results
    checkpoints = models.checkpoint_folder(out, resume, console)
    drafts = output.folder(out, results.FILES, source.files.values())
    with checkpoints as checkpoint, drafts as draft:
        data = inputs.load(source, console, sampled=False, columns=settings.get("by") or ())
        gold = inputs.read_truth(data, console)
        notes = [note.strip() for note in console.notes[n_notes:]]
        shown = _shown_items(data, console)  # now, so that a missing column is reported early
        kinds = _kinds(data, settings)
        model = _build(settings, data, console)
        models.announce(checkpoint, resume, console)
        started = time.monotonic()
        models.fit(model, data, gold, settings, checkpoint, console)
        console.note(f"Fitted in {time.monotonic() - started:.0f} s.")
        summary = _summarize(model, data, gold, {"notes": notes, "by": kinds, **shown}, console)
        with writing(out):
            _write(draft, model, data, gold, summary, console)
            output.write_settings(draft, settings, _facts(data), HEADING)
    return summary


def _refuse_to_write_into_features(out: Path, features: Path | None) -> None:
    """Refuse an output folder inside that of the features: the next fit would read it as features."""
    if features is not None and features.is_dir() and out.absolute().is_relative_to(features.absolute()):
        raise UsageError(f"{out}: is inside the folder of the features. Choose another --out.")


def _shown_items(data: LoadedData, console: Console) -> dict[str, Any]:
    """Return texts and images of the items for the report; none if features are out of core."""
    if data.out_of_core:
        return {}
    return {"text": inputs.texts_of(data), "images": inputs.images_of(data, console)}


def _kinds(data: LoadedData, settings: dict[str, Any]) -> dict[str, list[Any]]:
    """Return the columns of --by, one value per item."""
    if not settings.get("by"):
        return {}
    if settings["model"] == "regression":
        raise UsageError("--by says how often annotators are right, which numbers are not: leave out --by or --model.")
    if data.out_of_core:
        raise UsageError("--by needs features in memory; these are read out of core. Leave out --by.")
    return {name: column_of_items(data, name) for name in settings["by"]}


def _summarize(model: Any, data: LoadedData, gold: Any, options: dict[str, Any], console: Console) -> Summary:
    """Summarize the fit; for features out of core, on a sample of the items."""
    from whoknows.insight.summary import summarize

    dataset = data.dataset
    if data.out_of_core:
        if _asks_for_texts_or_images(data.source):
            console.warn(NOT_SHOWN)
        rows, dataset, note = inputs.sample(dataset, console)
        console.note(note)
        model = _restrict(model, rows)
        options = {"notes": [*options["notes"], note], "text": dataset.in_order(data.labels.text)}
    gold = None if gold is None else dataset.by_item(gold)
    names = list(dataset.names)
    with console.progress("Summarizing") as update:
        return summarize(model, dataset.X, dataset.annotations, features=names, gold=gold, progress=update, **options)


def _asks_for_texts_or_images(source: Source) -> bool:
    """Whether options name texts or images of the items."""
    table_of_items = source.items is not None and source.has_names
    return bool(source.text or source.image or source.image_folder or table_of_items)


def _restrict(model: Any, rows: Any) -> Any:
    """Return a fitted model with the posterior of some of its items only."""
    part = copy.copy(model)
    for name in ("posterior_", "posterior_mean_", "posterior_std_"):
        if hasattr(model, name):
            setattr(part, name, getattr(model, name)[rows])
    return part


def _build(settings: dict[str, Any], data: LoadedData, console: Console) -> Any:
    """Return the estimator, with a note if another model may suit the labels."""
    labels = data.dataset.annotations.labels.tolist()
    hint = models.hint(settings, labels)
    if hint:
        console.note(hint)
    if data.labels_alone:
        console.warn(LABELS_ALONE)
    return models.build(settings, labels, data.labels_alone)


def _write(draft: Path, model: Any, data: LoadedData, gold: Any, summary: Summary, console: Console) -> None:
    """Write everything but the settings."""
    from whoknows.apps.report import write
    from whoknows.io import write_table
    from whoknows.io.writing import write_lines

    if data.out_of_core:
        _write_consensus(draft / results.CONSENSUS_OF_MANY, model, data, gold, console)
    else:
        write_table(summary.consensus, draft / results.CONSENSUS)
    write_table(summary.annotators, draft / results.ANNOTATORS)
    if summary.kinds:
        write_table(one_below_the_other(summary.kinds), draft / results.KINDS)
    model.save(draft / results.MODEL)
    if data.recipe.words is not None:
        data.recipe.words.save(draft / results.TEXT)
    write_lines([summary.to_json()], draft / results.SUMMARY)
    with console.progress("Writing the report"):
        write(summary, draft / results.REPORT, data.source.title)


def _write_consensus(path: Path, model: Any, data: LoadedData, gold: Any, console: Console) -> None:
    """Write the consensus of all items, block by block."""
    from whoknows.insight.summary import consensus_table

    Y, features, known = data.dataset.annotations, data.dataset.features, data.dataset.by_item(gold)

    def table(rows: slice) -> Any:
        columns = consensus_table(_restrict(model, rows), Y[rows], features.ids_at(rows))
        return columns | ({"gold": [item in known for item in Y.items[rows].tolist()]} if known else {})

    types = {"vote": Y.labels.tolist(), "confidence": [0.0]}
    with console.progress(f"Writing the consensus of {Y.n_items} items") as update:
        output.write_items(table, Y.n_items, path, update, types)


def _facts(data: LoadedData) -> dict[str, Any]:
    """Return facts for later commands: what was read, and the replacements of missing numbers."""
    files = data.source.files
    if data.out_of_core:
        del files["features"]
    return {
        "format": data.labels.format,
        "sha256": {name: sha256(path.read_bytes()).hexdigest() for name, path in files.items() if path.is_file()},
        "features": list(data.recipe.names),
        "texts": None if data.texts is None else len(data.texts),
        "medians": data.recipe.medians,
        "categories": data.recipe.categories,
    }


def files_in(out: Path) -> dict[str, str]:
    """Return the files of a fit, and what they hold."""
    return {name: content for name, content in results.FILES.items() if (out / name).is_file()}


def tell_files(out: Path, console: Console) -> None:
    """Print the files of the results."""
    console.tell(f"Results are in {out}:")
    for name, content in files_in(out).items():
        console.tell(f"  {name:<17}  {content}")
    console.tell(f"Open {out / results.REPORT} in a browser.")
