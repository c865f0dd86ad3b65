"""`whoknows compare`: a model and simpler methods, compared on held-out labels."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from whoknows.apps.cli import inputs, models
from whoknows.apps.cli.command import command
from whoknows.apps.cli.console import Console
from whoknows.apps.cli.errors import UsageError
from whoknows.apps.cli.output import OptionalTableOption, check_table, write
from whoknows.apps.cli.source import FEATURE_OPTIONS, LABEL_OPTIONS, Source

if TYPE_CHECKING:
    from whoknows.insight.compare import Comparison


@command(*LABEL_OPTIONS, *FEATURE_OPTIONS)
def compare(
    console: Console,
    settings: dict[str, Any],
    out: OptionalTableOption = None,
    model: models.ClassifierOption = "auto",
    levels: models.LevelsOption = None,
    folds: Annotated[int, typer.Option(metavar="N", min=2, help="Number of cross-validation folds.")] = 3,
    seed: models.SeedOption = 0,
    max_iter: models.IterationsOption = 200,
) -> None:
    """Compare the model with simpler methods on your own data.

    Cross-validation on the labels; no true labels are needed. The model, majority vote, Dawid-Skene, the best
    single annotator and other methods are fitted to the same labels and predict the held-out ones. Takes
    about six times as long as a fit.

    For example:

    whoknows compare labels.csv --features features.csv

    whoknows compare labels.csv --features features.csv --model lgp --folds 5
    """
    from whoknows.insight.compare import compare as cross_validate

    source = Source.of(settings)
    check_table(out, *source.files.values())
    crowd = inputs.load(source, console)
    if crowd.labels_alone:
        raise UsageError("compare requires features: --features FILE or --text COLUMN.")
    annotations = crowd.dataset.annotations
    estimator = models.build(settings, annotations.labels.tolist())
    with console.progress("Cross-validating") as update:
        found = cross_validate(estimator, crowd.dataset.X, annotations, folds=folds, random_state=seed, progress=update)
    columns = _columns(found)
    console.show("", *str(found).splitlines())
    write(columns, out, console, "the table")
    console.answer({"model": model, "folds": folds, "methods": columns})


def _columns(found: Comparison) -> dict[str, Any]:
    """Return the columns of the output table."""
    columns: dict[str, Any] = {"method": found.methods}
    for name, judged in (("new_items", found.new), ("labelled_items", found.known)):
        if judged is not None:
            columns |= {name: judged.share, f"{name}_behind": judged.behind, f"{name}_error": judged.error}
    return columns
