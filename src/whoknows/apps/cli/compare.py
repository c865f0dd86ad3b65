"""`whoknows compare`: a model against simpler ways, judged by labels that none of them has seen."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from whoknows.apps.cli import inputs, models, options
from whoknows.apps.cli.command import command
from whoknows.apps.cli.console import Say
from whoknows.apps.cli.errors import USAGE, CommandError
from whoknows.apps.cli.output import refuse_to_replace_input
from whoknows.apps.cli.tables import check_name, write

if TYPE_CHECKING:
    from whoknows.insight.compare import Comparison


@command
def compare(
    say: Say,
    settings: dict[str, Any],
    labels: options.LabelsArgument,
    features: options.FeaturesOption = None,
    text: options.TextOption = None,
    items: options.ItemsOption = None,
    out: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Write the table, as .csv, .tsv, .parquet or .jsonl."),
    ] = None,
    model: models.ModelOption = "auto",
    levels: models.LevelsOption = None,
    folds: Annotated[
        int, typer.Option(metavar="N", min=2, help="Parts the labels are cut into, each held out once.")
    ] = 3,
    seed: models.SeedOption = 0,
    max_iter: models.IterationsOption = 200,
    format: options.FormatOption = None,
    column: options.ColumnOption = None,
    duplicates: options.DuplicatesOption = None,
    missing: options.MissingOption = None,
    predictions: options.PredictionsOption = False,
    id_column: options.IdColumnOption = None,
    vector: options.VectorOption = None,
    allow_missing: options.AllowMissingOption = False,
) -> None:
    """See whether the model pays on your own data.

    Held-out labels are the judge, no truth is needed. Majority vote, Dawid-Skene, the best single annotator
    and others learn from the same labels, and are asked for those that none has seen. Takes some six times
    as long as a fit.

    For example:

    whoknows compare labels.csv --features features.csv

    whoknows compare labels.csv --features features.csv --model lgp --folds 5
    """
    from whoknows.insight.compare import compare as judge

    if model == "regression":
        raise CommandError("compare is of labels that are classes; --model regression has none.", USAGE)
    if out is not None:
        check_name(out)
    source = inputs.Source.of(settings)
    for path in source.files.values() if out is not None else ():
        refuse_to_replace_input([out], path)
    crowd = inputs.load(source, say)
    if source.is_labels_alone(crowd.labels):
        raise CommandError(
            "compare needs to know something about items: --features FILE or --text COLUMN.", USAGE
        )
    said = crowd.dataset.annotations
    estimator = models.build(model, levels, seed, max_iter, said.labels.tolist())
    with say.progress("Holding out labels") as update:
        found = judge(estimator, crowd.dataset.X, said, folds=folds, random_state=seed, progress=update)
    columns = _columns(found)
    if out is not None:
        write(columns, out, say)
    say.show("", *str(found).splitlines())
    if out is not None:
        say.tell(f"{out}: the table.")
    say.answer({"model": model, "folds": folds, "methods": columns})


def _columns(found: Comparison) -> dict[str, Any]:
    """Table of the comparison."""
    columns: dict[str, Any] = {"method": found.methods}
    for name, judged in (("new_items", found.new), ("labelled_items", found.known)):
        if judged is not None:
            columns |= {name: judged.share, f"{name}_behind": judged.behind, f"{name}_error": judged.error}
    return columns
