"""`whoknows fit`: labels and features in; consensus, annotators, model and report out."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from whoknows.apps.cli import about, inputs, large, models, options
from whoknows.apps.cli.command import command
from whoknows.apps.cli.console import Say
from whoknows.apps.cli.errors import USAGE, CommandError, writing
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
from whoknows.apps.cli.stream import steps, told_of, write_blocks

if TYPE_CHECKING:
    from whoknows.insight.summary import Summary

LABELS_ALONE = (
    "Nothing is known about the items, so labels alone decide. Give --features FILE with numbers for each "
    "item, or --text COLUMN: then it shows who knows what, and items without labels get an answer, too."
)

NOT_SHOWN = (
    "Texts and images are not shown where features stay in their files, but for texts in the file of labels."
)

OutOption = Annotated[Path, typer.Option(metavar="DIR", help="Folder for the results.")]


@command
def fit(
    say: Say,
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
    """Learn the truth of every item and who knows what.

    Writes into a folder: **consensus.csv**, one row an item; **annotators.csv**; **report.html**, to open in
    a browser; **model.whoknows** for predict, report and ask; settings.toml and summary.json; text.npz if
    features are made of texts.

    For example:

    whoknows fit labels.csv --features features.csv

    whoknows fit export.json --text text --out results

    whoknows fit labels.csv --features emb.npy --items items.csv --gold truth.csv

    whoknows fit labels.csv --features folder_of_parquet --memory 4GB
    """
    summary = fit_files(settings, say)
    say.tell("", *summary.lines(), "")
    tell_files(out, say, asks=model != "regression")
    say.answer({"out": str(out.absolute()), "files": list(files_in(out)), "lines": summary.lines()})


def fit_files(settings: dict[str, Any], say: Say) -> Summary:
    """Read, fit, sum up and write all files of a fit, or none."""
    source = inputs.Source.of(settings)
    out: Path = settings["out"]
    _refuse_to_write_into_features(out, source.features)
    if complete_move(out):
        say.note(f"{out}: results of an earlier run that was killed while moving them are now complete.")
    said = len(say.notes)  # the report has the notes about the input files only
    resume = settings.pop("resume", False)  # no setting: it changes nothing about the results
    remembering = large.remembering(out, resume, say)
    with remembering as checkpoint, folder(out, FILES, source.files.values()) as draft:
        crowd = inputs.read_crowd(source, say, whole=True)
        gold = inputs.read_truth(source, crowd, say)
        notes = [note.strip() for note in say.notes[said:]]
        shown = _shown_of_items(
            source, crowd, say
        )  # before the fit, so that a missing column is reported now
        model = _build(settings, crowd, source.is_labels_alone(crowd.labels), say)
        large.take_up(checkpoint, resume, say)
        started = time.monotonic()
        _fit(model, crowd, gold, settings, checkpoint, say)
        say.note(f"Fitted in {time.monotonic() - started:.0f} s.")
        summary = _sum_up(model, source, crowd, {"gold": gold, "notes": notes, **shown}, say)
        with writing(out):
            _write(draft, model, crowd, summary, say)
            heading = f"What was told and found. To do it again: whoknows fit --config {SETTINGS}"
            write_settings(draft, _absolute(settings), _found(source, crowd), heading)
    return summary


def _absolute(settings: dict[str, Any]) -> dict[str, Any]:
    """Return settings with absolute paths, also those in lists."""

    def absolute(value: Any) -> Any:
        if isinstance(value, list):
            return [absolute(each) for each in value]
        return value.absolute() if isinstance(value, Path) else value

    return {name: absolute(value) for name, value in settings.items()}


def _fit(
    model: Any, crowd: inputs.Crowd, gold: Any, settings: dict[str, Any], checkpoint: Path, say: Say
) -> None:
    """Fit with a bar of progress, to features in memory or in their files."""
    X, said = crowd.joined.X, crowd.joined.annotations
    if crowd.in_files:
        X = large.as_needed(X, settings["model"], settings["memory"])
        large.fit(model, X, said, gold, say, checkpoint)
    else:
        models.fit(model, X, said, gold, say)


def _refuse_to_write_into_features(out: Path, features: Path | None) -> None:
    """Refuse a folder of results within that of the features: the next fit would take them for features."""
    if features is not None and features.is_dir() and out.absolute().is_relative_to(features.absolute()):
        raise CommandError(f"{out}: is in the folder of the features. Choose another --out.", USAGE)


def _shown_of_items(source: inputs.Source, crowd: inputs.Crowd, say: Say) -> dict[str, Any]:
    """Texts and images of the items for the report; none if features are out of core."""
    if crowd.in_files:
        return {}
    return {"text": about.texts_of(source, crowd), "images": about.images_of(source, crowd, say)}


def _sum_up(
    model: Any, source: inputs.Source, crowd: inputs.Crowd, told: dict[str, Any], say: Say
) -> Summary:
    """Sum up the fit; of features that stay in their files, at some of the items."""
    from whoknows.insight.summary import summarize

    joined = crowd.joined
    if crowd.in_files:
        if (
            source.text
            or source.image
            or source.image_folder
            or (source.items is not None and source.has_names)
        ):
            say.warn(NOT_SHOWN)
        some = large.Some.of(joined, crowd.ids, say)
        say.note(some.note)
        model, joined = some.of_model(model), some.joined
        told = {"gold": some.by_id(told["gold"]), "notes": [*told["notes"], some.note]}
        told["text"] = some.by_id(large.by_row(crowd.labels.text, crowd.ids))
    with say.progress("Summing up") as update:
        names = list(joined.names)
        return summarize(model, joined.X, joined.annotations, features=names, progress=update, **told)


def _build(settings: dict[str, Any], crowd: inputs.Crowd, alone: bool, say: Say) -> Any:
    """Return the estimator, and say what else the labels may call for."""
    values = crowd.joined.annotations.labels.tolist()
    chosen = [settings[name] for name in ("model", "levels", "seed", "max_iter")]
    hint = models.hint(values, *chosen[:2])
    if hint:
        say.note(hint)
    if alone:
        say.warn(LABELS_ALONE)
    return models.build(*chosen, values, alone)


def _write(draft: Path, model: Any, crowd: inputs.Crowd, summary: Summary, say: Say) -> None:
    """Write everything but the settings."""
    from whoknows.apps.report import write
    from whoknows.io.atomic import write_lines
    from whoknows.io.labels import write_table

    if crowd.in_files:
        _write_consensus(draft / CONSENSUS_OF_MANY, model, crowd, say)
    else:
        write_table(summary.consensus, draft / CONSENSUS)
    write_table(summary.annotators, draft / ANNOTATORS)
    model.save(draft / MODEL)
    if crowd.recipe.words is not None:
        crowd.recipe.words.save(draft / TEXT)
    write_lines([summary.to_json()], draft / SUMMARY)
    with say.progress("Writing the report"):
        write(summary, draft / REPORT)


def _write_consensus(path: Path, model: Any, crowd: inputs.Crowd, say: Say) -> None:
    """Write the consensus of all items, a block of them after the other."""
    said, ids = crowd.joined.annotations, crowd.ids
    with say.progress(f"Writing the consensus of {said.n_items} items") as update:
        blocks = (
            large.consensus(model, said, ids, rows)
            for rows in told_of(steps(said.n_items), said.n_items, update)
        )
        write_blocks(blocks, path, {"vote": said.labels.tolist(), "confidence": [0.0]})


def _found(source: inputs.Source, crowd: inputs.Crowd) -> dict[str, Any]:
    """Facts for whoever comes back to a fit: what was read, and what stands in for missing numbers."""
    said, files = crowd.joined.annotations, source.files
    left = {"features": files.pop("features")} if crowd.in_files else {}
    return {
        "format": crowd.labels.format,
        "items": said.n_items,
        "annotators": said.n_annotators,
        "labels": said.n_annotations,
        "sha256": {name: checksum(path) for name, path in files.items()},
        "sha256_of_ends": {name: quick_checksum(path) for name, path in left.items()},
        "features": list(crowd.recipe.names),
        "texts": None if crowd.texts is None else len(crowd.texts),
        "medians": crowd.recipe.medians,
    }


def files_in(out: Path) -> dict[str, str]:
    """Files of a fit, and what is in them."""
    return {name: content for name, content in FILES.items() if (out / name).is_file()}


def tell_files(out: Path, say: Say, asks: bool = True) -> None:
    """Say which files there are now, and which to open; ``asks``: whether the model says whom to ask."""
    say.tell(f"Results are in {out}:")
    files = files_in(out)
    width = max(map(len, files), default=0)
    for name, content in files.items():
        say.tell(
            f"  {name:<{width}}  {content if asks or name != MODEL else 'for whoknows predict and report'}"
        )
    say.tell(f"Open {out / REPORT} in a browser.")


FILES = {
    REPORT: "who knows what, to look at",
    CONSENSUS: "the truth of every item, and how sure it is",
    CONSENSUS_OF_MANY: "the truth of every item, and how sure it is",
    ANNOTATORS: "how far each annotator can be trusted",
    MODEL: "for whoknows predict, report and ask",
    TEXT: "what made features of the texts; belongs to the model",
    SUMMARY: "all the numbers of the report",
    SETTINGS: "what the fit was told; whoknows fit --config takes it",
}
