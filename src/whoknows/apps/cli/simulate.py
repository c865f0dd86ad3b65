"""`whoknows simulate`: items with known true labels, and simulated annotators."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from whoknows.apps.cli.command import command
from whoknows.apps.cli.console import Console
from whoknows.apps.cli.errors import USAGE, CommandError, writing
from whoknows.apps.cli.output import SETTINGS, folder, write_settings

if TYPE_CHECKING:
    from whoknows.data.annotations import Annotations

FILES = ("labels.csv", "features.csv", "truth.csv", SETTINGS)
_Number = partial(typer.Option, metavar="N", min=0)
_Share = partial(typer.Option, metavar="SHARE", min=0.0, max=1.0)


@command
def simulate(
    console: Console,
    settings: dict[str, Any],
    out: Annotated[Path, typer.Option(metavar="DIR", help="Output folder.")] = Path("simulated"),
    items: Annotated[int, _Number(min=20, max=1_000_000, help="Number of items.")] = 500,
    classes: Annotated[int, _Number(min=2, max=8, help="Number of classes.")] = 2,
    experts: Annotated[int, _Number(min=1, help="Annotators, each always right on one cluster.")] = 5,
    error: Annotated[float, _Share(help="Error rate of the experts on other items.")] = 0.35,
    spammers: Annotated[int, _Number(help="Annotators who label at random.")] = 0,
    adversaries: Annotated[int, _Number(help="Annotators who are nearly always wrong.")] = 0,
    labelled: Annotated[float, _Share(help="Share of the items that have labels.")] = 0.3,
    per_item: Annotated[int | None, _Number(min=1, help="Maximum number of labels per item.")] = None,
    seed: Annotated[int, _Number(help="Random seed.")] = 0,
) -> None:
    """Simulate items and annotators, with known true labels.

    Writes labels.csv, features.csv and truth.csv.

    For example:

    whoknows simulate

    whoknows simulate --out crowd --items 2000 --experts 8 --spammers 3 --per-item 3
    """
    from whoknows.data.simulate import hide

    if round(labelled * items) < 1:
        raise CommandError(f"--labelled {labelled} leaves none of {items} items with a label.", USAGE)
    if experts > items:
        raise CommandError(
            f"--experts {experts} is more than one expert per item; --items is {items}.", USAGE
        )
    with folder(out, FILES, ()) as draft:
        X, truth = _items(items, classes, seed)
        complete = _annotate(X, truth, experts, error, spammers, adversaries, seed)
        annotations = hide(complete, items=labelled, per_item=per_item, random_state=seed)
        with writing(out):
            write_crowd(draft, annotations, {f"x{j}": X[:, j] for j in range(X.shape[1])}, truth)
            heading = f"Options of the simulation. To repeat it: whoknows simulate --config {SETTINGS}"
            write_settings(draft, settings, {}, heading)
    some = f"{annotations.labelled.sum()} of {items} items"
    console.tell(
        f"{out}: {annotations.n_annotations} labels of {annotations.n_annotators} annotators on {some}.",
        f"Try: whoknows fit {out / 'labels.csv'} --features {out / 'features.csv'}",
        f"The truth is in {out / 'truth.csv'}.",
    )
    console.answer({"out": str(out.absolute()), "files": list(FILES), "labels": annotations.n_annotations})


def _items(n: int, classes: int, seed: int) -> tuple[Any, Any]:
    """Return features and true labels."""
    import numpy as np
    from sklearn.datasets import make_classification

    X, z = make_classification(
        n, 8, n_informative=6, n_redundant=0, n_classes=classes, flip_y=0.01, random_state=seed
    )
    return X.round(4), np.array(list("ABCDEFGH"))[z]


def _annotate(
    X: Any, truth: Any, experts: int, error: float, spammers: int, adversaries: int, seed: int
) -> Annotations:
    """Return the labels of all annotators on all items."""
    import numpy as np

    from whoknows import Annotations
    from whoknows.data import simulate as crowds

    kinds = {"expert": crowds.cluster_experts(X, truth, experts, error, seed)}
    if spammers:
        kinds["spammer"] = crowds.spammers(truth, spammers, random_state=seed)
    if adversaries:
        kinds["adversary"] = crowds.adversaries(truth, adversaries, random_state=seed)
    names = [f"{kind}{t + 1}" for kind, labels in kinds.items() for t in range(labels.shape[1])]
    items = [f"item{i:0{len(str(len(X)))}d}" for i in range(1, len(X) + 1)]
    return Annotations.from_matrix(np.column_stack(list(kinds.values())), items=items, annotators=names)


def write_crowd(draft: Path, annotations: Annotations, features: Mapping[str, Any], truth: Any) -> None:
    """Write labels.csv, features.csv and truth.csv."""
    from whoknows.io import write_labels, write_table

    items = annotations.items
    write_labels(annotations, draft / "labels.csv")
    write_table({"item": items, **features}, draft / "features.csv")
    write_table({"item": items, "truth": truth}, draft / "truth.csv")
