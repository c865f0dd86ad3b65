"""`whoknows agreement`: inter-annotator agreement, from labels alone."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from whoknows.apps.cli import inputs, models
from whoknows.apps.cli.command import command
from whoknows.apps.cli.console import Console, count
from whoknows.apps.cli.errors import UsageError
from whoknows.apps.cli.output import OptionalTableOption, check_table, write
from whoknows.apps.cli.source import LABEL_OPTIONS, Source

if TYPE_CHECKING:
    from whoknows.data.annotations import Annotations
    from whoknows.insight import Agreement


@command(*LABEL_OPTIONS)
def agreement(
    console: Console,
    settings: dict[str, Any],
    scale: Annotated[
        Literal["nominal", "ordinal", "interval"], typer.Option(help="Scale of the labels, for Krippendorff's alpha.")
    ] = "nominal",
    levels: models.LevelsOption = None,
    out: OptionalTableOption = None,
) -> None:
    """Compute inter-annotator agreement; needs labels only.

    Prints percent agreement, Krippendorff's alpha, Fleiss' kappa, and Cohen's kappa of pairs of annotators;
    --out writes a table of all pairs.

    For example:

    whoknows agreement labels.csv

    whoknows agreement scores.csv --scale ordinal --out pairs.csv

    whoknows agreement grades.csv --scale ordinal --levels low,medium,high
    """
    from whoknows.insight import agreement as compare_labels
    from whoknows.insight import krippendorff_alpha

    source = Source.of(settings)
    check_table(out, source.labels)
    annotations = _on_scale(inputs.read_annotations(source, console).annotations, scale, levels)
    with console.progress("Comparing pairs of annotators"):
        table = compare_labels(annotations)
        alpha = table.alpha if scale == "nominal" else krippendorff_alpha(annotations, scale)
    pairs = table.pairwise.columns()
    console.show(*str(table).splitlines())
    if scale != "nominal":
        console.show(f"Krippendorff's alpha on an {scale} scale: {alpha:.2f}")
    write(pairs, out, console, count(len(table.pairwise), "pair"))
    console.answer({**_numbers(table), "scale": scale, "alpha": alpha, "pairs": pairs})


def _on_scale(annotations: Annotations, scale: str, levels: list[str] | None) -> Annotations:
    """Sort the labels by ``levels``; labels that are words need them for an ordinal scale."""
    from whoknows.data.vocabulary import show

    labels = annotations.labels.tolist()
    if levels is not None and scale != "ordinal":
        raise UsageError(f"--levels requires --scale ordinal; got --scale {scale}.")
    order = models.in_order(levels, labels)
    if order is not None:
        others = [label for label in labels if label not in order]
        if others:
            raise UsageError(f"Expected labels from --levels {show(order)}; got {show(others)}.")
        return annotations.recode(annotations.annotators, order)
    if scale != "nominal" and any(isinstance(label, str) for label in labels):
        wanted = "numbers, or words in order (--levels low,medium,high)" if scale == "ordinal" else "numbers"
        raise UsageError(f"--scale {scale} needs {wanted}; labels are {show(labels, 6)}.")
    return annotations


def _numbers(table: Agreement) -> dict[str, Any]:
    """Return what is printed, for --json."""
    return {
        "items": table.n_items,
        "items_compared": table.n_compared,
        "labels": table.n_labels,
        "percent": table.percent,
        "fleiss_kappa": table.fleiss,
        "label_shares": dict(zip(table.labels.tolist(), table.label_shares.tolist(), strict=True)),
        "with_others": dict(zip(table.annotators.tolist(), table.with_others.tolist(), strict=True)),
    }
