"""`whoknows fit`: labels and features in; consensus, annotators, model and report out."""

from __future__ import annotations

import copy
import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from whoknows.apps.cli import about, inputs, models, options
from whoknows.apps.cli import resume as resuming
from whoknows.apps.cli.command import command
from whoknows.apps.cli.console import Console
from whoknows.apps.cli.errors import USAGE, CommandError, writing
from whoknows.apps.cli.memory import item_blocks
from whoknows.apps.cli.output import SETTINGS, complete_move, folder, write_settings
from whoknows.apps.cli.results import (
    ANNOTATORS,
    CONSENSUS,
    CONSENSUS_OF_MANY,
    MODEL,
    REPORT,
    SUMMARY,
    TEXT,
    checksum,
    quick_checksum,
)

if TYPE_CHECKING:
    from whoknows.insight.summary import Summary

LABELS_ALONE = (
    "There are no features of the items, so only the labels are used. With --features FILE or --text COLUMN, "
    "expertise can depend on the item, and items without labels get a prediction, too."
)

NOT_SHOWN = (
    "With features out of core, the report shows no images, and only those texts that the file of labels has."
)

OutOption = Annotated[Path, typer.Option(metavar="DIR", help="Folder for the results.")]


@command
def fit(
    console: Console,
    settings: dict[str, Any],
    labels: options.LabelsArgument,
    features: options.FeaturesOption = None,
    text: options.TextOption = None,
    items: options.ItemsOption = None,
    gold: options.GoldOption = None,
    out: OutOption = Path("whoknows-out"),
    model: models.ModelOption = "auto",
    levels: models.LevelsOption = None,
    seed: models.SeedOption = 0,
    max_iter: models.IterationsOption = 200,
    format: options.FormatOption = None,
    column: options.ColumnOption = None,
    duplicates: options.DuplicatesOption = None,
    missing: options.MissingOption = None,
    predictions: options.PredictionsOption = False,
    id_column: options.IdColumnOption = None,
    vector: options.VectorOption = None,
    image: options.ImageOption = None,
    image_folder: options.ImageFolderOption = None,
    memory: options.MemoryOption = None,
    allow_missing: options.AllowMissingOption = False,
    resume: options.ResumeOption = False,
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
    tell_files(out, console, asks=model != "regression")
    console.answer({"out": str(out.absolute()), "files": list(files_in(out)), "lines": summary.lines()})


def fit_files(settings: dict[str, Any], console: Console) -> Summary:
    """Read, fit, summarize and write all files of a fit, or none."""
    source = inputs.Source.of(settings)
    out: Path = settings["out"]
    _refuse_to_write_into_features(out, source.features)
    if complete_move(out):
        console.note(f"{out}: results of an earlier run that was killed while moving them are now complete.")
    n_notes = len(console.notes)  # the report has the notes on the input files only
    resume = settings.pop("resume", False)  # not a setting: it does not change the results
    checkpoints = resuming.checkpoint_folder(out, resume, console)
    with checkpoints as checkpoint, folder(out, FILES, source.files.values()) as draft:
        data = inputs.load(source, console, sampled=False)
        gold = inputs.read_truth(source, data, console)
        notes = [note.strip() for note in console.notes[n_notes:]]
        shown = _shown_items(source, data, console)  # now, so that a missing column is reported early
        model = _build(settings, data, source.is_labels_alone(data.labels), console)
        resuming.announce(checkpoint, resume, console)
        started = time.monotonic()
        _fit(model, data, gold, settings, checkpoint, console)
        console.note(f"Fitted in {time.monotonic() - started:.0f} s.")
        summary = _summarize(model, source, data, gold, {"notes": notes, **shown}, console)
        with writing(out):
            _write(draft, model, data, summary, console)
            heading = f"Settings and facts of this fit. To repeat it: whoknows fit --config {SETTINGS}"
            write_settings(draft, _absolute(settings), _facts(source, data), heading)
    return summary


def _absolute(settings: dict[str, Any]) -> dict[str, Any]:
    """Return settings with absolute paths, also those in lists."""

    def absolute(value: Any) -> Any:
        if isinstance(value, list):
            return [absolute(each) for each in value]
        return value.absolute() if isinstance(value, Path) else value

    return {name: absolute(value) for name, value in settings.items()}


def _fit(
    model: Any,
    data: inputs.LoadedData,
    gold: Any,
    settings: dict[str, Any],
    checkpoint: Path,
    console: Console,
) -> None:
    """Fit with a progress bar, to features in memory or out of core."""
    X, Y = data.dataset.X, data.dataset.annotations
    gold = None if gold is None else data.dataset.by_item(gold)
    if data.out_of_core:
        X = resuming.as_needed(X, settings["model"], settings["memory"])
        resuming.fit(model, X, Y, gold, console, checkpoint)
    else:
        models.fit(model, X, Y, gold, console)


def _refuse_to_write_into_features(out: Path, features: Path | None) -> None:
    """Refuse an output folder inside that of the features: the next fit would read it as features."""
    if features is not None and features.is_dir() and out.absolute().is_relative_to(features.absolute()):
        raise CommandError(f"{out}: is inside the folder of the features. Choose another --out.", USAGE)


def _shown_items(source: inputs.Source, data: inputs.LoadedData, console: Console) -> dict[str, Any]:
    """Return texts and images of the items for the report; none if features are out of core."""
    if data.out_of_core:
        return {}
    return {"text": about.texts_of(source, data), "images": about.images_of(source, data, console)}


def _summarize(
    model: Any,
    source: inputs.Source,
    data: inputs.LoadedData,
    gold: Any,
    options: dict[str, Any],
    console: Console,
) -> Summary:
    """Summarize the fit; for features out of core, on a sample of the items."""
    from whoknows.insight.summary import summarize

    dataset = data.dataset
    if data.out_of_core:
        if _asks_for_texts_or_images(source):
            console.warn(NOT_SHOWN)
        rows, dataset, note = inputs.sample(dataset, console)
        console.note(note)
        model = _restrict(model, rows)
        options = {"notes": [*options["notes"], note], "text": dataset.in_order(data.labels.text)}
    gold = None if gold is None else dataset.by_item(gold)
    names = list(dataset.names)
    with console.progress("Summarizing") as update:
        return summarize(
            model, dataset.X, dataset.annotations, features=names, gold=gold, progress=update, **options
        )


def _asks_for_texts_or_images(source: inputs.Source) -> bool:
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


def _build(settings: dict[str, Any], data: inputs.LoadedData, alone: bool, console: Console) -> Any:
    """Return the estimator, with a note if another model may suit the labels."""
    values = data.dataset.annotations.labels.tolist()
    chosen = [settings[name] for name in ("model", "levels", "seed", "max_iter")]
    hint = models.hint(values, *chosen[:2])
    if hint:
        console.note(hint)
    if alone:
        console.warn(LABELS_ALONE)
    return models.build(*chosen, values, alone)


def _write(draft: Path, model: Any, data: inputs.LoadedData, summary: Summary, console: Console) -> None:
    """Write everything but the settings."""
    from whoknows.apps.report import write
    from whoknows.io import write_table
    from whoknows.io.writing import write_lines

    if data.out_of_core:
        _write_consensus(draft / CONSENSUS_OF_MANY, model, data, console)
    else:
        write_table(summary.consensus, draft / CONSENSUS)
    write_table(summary.annotators, draft / ANNOTATORS)
    model.save(draft / MODEL)
    if data.recipe.words is not None:
        data.recipe.words.save(draft / TEXT)
    write_lines([summary.to_json()], draft / SUMMARY)
    with console.progress("Writing the report"):
        write(summary, draft / REPORT)


def _write_consensus(path: Path, model: Any, data: inputs.LoadedData, console: Console) -> None:
    """Write the consensus of all items, block by block."""
    from whoknows.io.writing import write_blocks

    Y = data.dataset.annotations
    with console.progress(f"Writing the consensus of {Y.n_items} items") as update:
        blocks = (_consensus(model, data, rows) for rows in item_blocks(Y.n_items, update))
        write_blocks(blocks, path, {"vote": Y.labels.tolist(), "confidence": [0.0]})


def _consensus(model: Any, data: inputs.LoadedData, rows: slice) -> dict[str, Any]:
    """Return the columns of the consensus of some items, as in a summary."""
    from whoknows.insight.summary import consensus_table

    Y, ids = data.dataset.annotations[rows], data.dataset.features.ids_at(rows)
    return consensus_table(_restrict(model, rows), Y, ids)


def _facts(source: inputs.Source, data: inputs.LoadedData) -> dict[str, Any]:
    """Return facts for later commands: what was read, and the replacements of missing numbers."""
    Y, files = data.dataset.annotations, source.files
    large = {"features": files.pop("features")} if data.out_of_core else {}
    return {
        "format": data.labels.format,
        "items": Y.n_items,
        "annotators": Y.n_annotators,
        "labels": Y.n_annotations,
        "sha256": {name: checksum(path) for name, path in files.items()},
        "sha256_of_ends": {name: quick_checksum(path) for name, path in large.items()},
        "features": list(data.recipe.names),
        "texts": None if data.texts is None else len(data.texts),
        "medians": data.recipe.medians,
    }


def files_in(out: Path) -> dict[str, str]:
    """Return the files of a fit, and what they hold."""
    return {name: content for name, content in FILES.items() if (out / name).is_file()}


def tell_files(out: Path, console: Console, asks: bool = True) -> None:
    """Print the files of the results; ``asks``: whether the model works with whoknows ask."""
    console.tell(f"Results are in {out}:")
    files = files_in(out)
    width = max(map(len, files), default=0)
    for name, content in files.items():
        console.tell(
            f"  {name:<{width}}  {content if asks or name != MODEL else 'for whoknows predict and report'}"
        )
    console.tell(f"Open {out / REPORT} in a browser.")


FILES = {
    REPORT: "the report, for a browser",
    CONSENSUS: "the estimated label of every item, with its probability",
    CONSENSUS_OF_MANY: "the estimated label of every item, with its probability",
    ANNOTATORS: "the accuracy of each annotator",
    MODEL: "for whoknows predict, report and ask",
    TEXT: "how features are computed from texts; belongs to the model",
    SUMMARY: "all numbers of the report",
    SETTINGS: "the settings, for whoknows fit --config",
}
