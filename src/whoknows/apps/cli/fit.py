"""`whoknows fit`: labels and features in; consensus, annotators, model and report out."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from whoknows.apps.cli import about, inputs, models, options
from whoknows.apps.cli.command import command
from whoknows.apps.cli.fitted import ANNOTATORS, CONSENSUS, MODEL, REPORT, SUMMARY, TEXT, checksum
from whoknows.apps.cli.output import SETTINGS, folder, write_settings
from whoknows.apps.cli.problems import writing
from whoknows.apps.cli.say import Say

if TYPE_CHECKING:
    from whoknows.apps.cli.features import Recipe
    from whoknows.insight.summary import Summary

LABELS_ALONE = (
    "Nothing is known about the items, so labels alone decide. Give --features FILE with numbers for each "
    "item, or --text COLUMN: then it shows who knows what, and items without labels get an answer, too."
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
) -> None:
    """Learn the truth of every item and who knows what.

    Writes into a folder: **consensus.csv**, one row an item; **annotators.csv**; **report.html**, to open in
    a browser; **model.whoknows** for predict, report and ask; settings.toml and summary.json; text.npz if
    features are made of texts.

    For example:

    whoknows fit labels.csv --features features.csv

    whoknows fit export.json --text text --out results

    whoknows fit labels.csv --features emb.npy --items items.csv --gold truth.csv
    """
    summary = fit_files(settings, say)
    say.tell("", *summary.lines(), "")
    tell_files(out, say, asks=model != "regression")
    say.answer({"out": str(out.absolute()), "files": list(files_in(out)), "lines": summary.lines()})


def fit_files(settings: dict[str, Any], say: Say) -> Summary:
    """Read, fit, sum up and write all files of a fit, or none."""
    from whoknows.insight.summary import summarize

    source = inputs.Source.of(settings)
    out: Path = settings["out"]
    with folder(out, FILES, source.files.values()) as draft:
        crowd = inputs.read_crowd(source, say)
        gold = inputs.read_truth(source, crowd, say)
        seen = {"text": about.texts_of(source, crowd), "images": about.images_of(source, crowd)}
        notes = [note.strip() for note in say.notes]
        said, X = crowd.joined.annotations, crowd.joined.X
        model = _build(settings, crowd, source.is_labels_alone(crowd.labels), say)
        started = time.monotonic()
        models.fit(model, X, said, gold, say)
        say.note(f"Fitted in {time.monotonic() - started:.0f} s.")
        with say.progress("Summing up") as update:
            names = list(crowd.joined.names)
            told = {"features": names, "gold": gold, "notes": notes, **seen}
            summary = summarize(model, X, said, progress=update, **told)
        with writing(out):
            _write(draft, model, crowd.recipe, summary, say)
            heading = f"What was told and found. To do it again: whoknows fit --config {SETTINGS}"
            resolved = {k: v.absolute() if isinstance(v, Path) else v for k, v in settings.items()}
            write_settings(draft, resolved, _found(source, crowd), heading)
    return summary


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


def _write(draft: Path, model: Any, recipe: Recipe, summary: Summary, say: Say) -> None:
    """Write everything but the settings."""
    from whoknows.apps.report import write
    from whoknows.data.formats import write_table
    from whoknows.data.formats.atomic import write_lines

    write_table(summary.consensus, draft / CONSENSUS)
    write_table(summary.annotators, draft / ANNOTATORS)
    model.save(draft / MODEL)
    if recipe.words is not None:
        recipe.words.save(draft / TEXT)
    write_lines([summary.to_json()], draft / SUMMARY)
    with say.progress("Writing the report"):
        write(summary, draft / REPORT)


def _found(source: inputs.Source, crowd: inputs.Crowd) -> dict[str, Any]:
    """Facts for whoever comes back to a fit: what was read, and what stands in for missing numbers."""
    said = crowd.joined.annotations
    return {
        "format": crowd.labels.format,
        "items": said.n_items,
        "annotators": said.n_annotators,
        "labels": said.n_annotations,
        "sha256": {name: checksum(path) for name, path in source.files.items()},
        "texts": None if crowd.texts is None else len(crowd.texts),
        "medians": crowd.recipe.medians,
    }


def files_in(out: Path) -> dict[str, str]:
    """Files of a fit, and what is in them."""
    return {name: content for name, content in FILES.items() if (out / name).is_file()}


def tell_files(out: Path, say: Say, asks: bool = True) -> None:
    """Say which files there are now, and which to open; ``asks``: whether the model says whom to ask."""
    say.tell(f"Results are in {out}:")
    for name, content in files_in(out).items():
        say.tell(f"  {name:<16} {content if asks or name != MODEL else 'for whoknows predict and report'}")
    say.tell(f"Open {out / REPORT} in a browser.")


FILES = {
    REPORT: "who knows what, to look at",
    CONSENSUS: "the truth of every item, and how sure it is",
    ANNOTATORS: "how far each annotator can be trusted",
    MODEL: "for whoknows predict, report and ask",
    TEXT: "what made features of the texts; belongs to the model",
    SUMMARY: "all the numbers of the report",
    SETTINGS: "what the fit was told; whoknows fit --config takes it",
}
