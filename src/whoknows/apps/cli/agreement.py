"""`whoknows agreement`: how far annotators agree; labels are all it needs."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from whoknows.apps.cli import inputs, models, options
from whoknows.apps.cli.command import command
from whoknows.apps.cli.console import Say
from whoknows.apps.cli.errors import USAGE, CommandError
from whoknows.apps.cli.output import refuse_to_replace_input
from whoknows.apps.cli.tables import check_name, write
from whoknows.apps.cli.words import count

if TYPE_CHECKING:
    from whoknows.data.annotations import Annotations
    from whoknows.insight import Agreement

PAIRS = ("first", "second", "n_items", "agreement", "kappa")


@command
def agreement(
    say: Say,
    settings: dict[str, Any],
    labels: options.LabelsArgument,
    scale: Annotated[
        Literal["nominal", "ordinal", "interval"],
        typer.Option(
            help="How far apart labels are in Krippendorff's alpha: alike or not, by rank, by value."
        ),
    ] = "nominal",
    levels: Annotated[
        list[str] | None,
        typer.Option(metavar="A,B,C", help="The labels in their order, lowest first; for --scale ordinal."),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help="Write every pair of annotators, as .csv, .tsv, .parquet or .jsonl."
        ),
    ] = None,
    format: options.FormatOption = None,
    column: options.ColumnOption = None,
    duplicates: options.DuplicatesOption = None,
    missing: options.MissingOption = None,
    predictions: options.PredictionsOption = False,
) -> None:
    """Say how far annotators agree; needs labels only.

    Percent, Krippendorff's alpha, Fleiss' kappa, and Cohen's kappa of every two annotators.

    For example:

    whoknows agreement labels.csv

    whoknows agreement scores.csv --scale ordinal --out pairs.csv

    whoknows agreement grades.csv --scale ordinal --levels low,medium,high
    """
    from whoknows.insight import agreement_table, krippendorff_alpha

    if out is not None:
        check_name(out)
        refuse_to_replace_input([out], labels)
    said = inputs.read_annotations(inputs.Source.of(settings), say).annotations
    said = _on_scale(said, scale, levels)
    with say.progress("Comparing every two annotators"):
        table = agreement_table(said)
        alpha = table.alpha if scale == "nominal" else krippendorff_alpha(said, scale)
    pairs = {name: getattr(table.pairwise, name) for name in PAIRS}
    if out is not None:
        write(pairs, out, say)
    say.show(*str(table).splitlines())
    if scale != "nominal":
        say.show(f"Krippendorff's alpha on an {scale} scale: {alpha:.2f}")
    if out is not None:
        say.tell(f"{out}: {count(len(table.pairwise), 'pair')}.")
    say.answer({**_numbers(table), "scale": scale, "alpha": alpha, "pairs": pairs})


def _on_scale(said: Annotations, scale: str, levels: list[str] | None) -> Annotations:
    """Bring the labels into their order; words have none of their own."""
    from whoknows.data.vocabulary import show

    labels = said.labels.tolist()
    if levels is not None and scale != "ordinal":
        raise CommandError(f"--levels goes with --scale ordinal; got --scale {scale}.", USAGE)
    order = models.in_order(levels, labels)
    if order is not None:
        strange = [label for label in labels if label not in order]
        if strange:
            raise CommandError(
                f"Expected every label among --levels {show(order)}; got {show(strange)}.", USAGE
            )
        return said.recode(said.annotators, order)
    if scale != "nominal" and any(isinstance(label, str) for label in labels):
        wanted = "numbers, or words in order (--levels low,medium,high)" if scale == "ordinal" else "numbers"
        raise CommandError(f"--scale {scale} needs {wanted}; labels are {show(labels, 6)}.", USAGE)
    return said


def _numbers(table: Agreement) -> dict[str, Any]:
    """Everything that is printed, for programs."""
    names = [str(name) for name in table.annotators.tolist()]
    return {
        "items": table.n_items,
        "items_compared": table.n_compared,
        "labels": table.n_labels,
        "percent": table.percent,
        "fleiss_kappa": table.fleiss,
        "label_shares": dict(zip(map(str, table.labels.tolist()), table.label_shares.tolist(), strict=True)),
        "with_others": dict(zip(names, table.with_others.tolist(), strict=True)),
    }
