"""`whoknows simulate`: items and annotators made up, to try things where the truth is known."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from whoknows.apps.cli.command import command
from whoknows.apps.cli.console import Say
from whoknows.apps.cli.errors import USAGE, CommandError, writing
from whoknows.apps.cli.output import SETTINGS, folder, write_settings

FILES = ("labels.csv", "features.csv", "truth.csv", SETTINGS)
SHARE: dict[str, Any] = {"metavar": "SHARE", "min": 0.0, "max": 1.0}


@command
def simulate(
    say: Say,
    settings: dict[str, Any],
    out: Annotated[Path, typer.Option(metavar="DIR", help="Folder for the files.")] = Path("simulated"),
    items: Annotated[int, typer.Option(metavar="N", min=20, max=1_000_000, help="How many items.")] = 500,
    classes: Annotated[int, typer.Option(metavar="N", min=2, max=8, help="How many classes.")] = 2,
    experts: Annotated[
        int, typer.Option(metavar="N", min=1, help="Annotators who each know one part of the items.")
    ] = 5,
    error: Annotated[float, typer.Option(**SHARE, help="How often they are wrong on the others.")] = 0.35,
    spammers: Annotated[int, typer.Option(metavar="N", min=0, help="Annotators who do not look.")] = 0,
    adversaries: Annotated[
        int, typer.Option(metavar="N", min=0, help="Annotators who nearly always say the wrong thing.")
    ] = 0,
    labelled: Annotated[float, typer.Option(**SHARE, help="Share of the items that have labels.")] = 0.3,
    per_item: Annotated[
        int | None, typer.Option(metavar="N", min=1, help="Labels an item has at most.")
    ] = None,
    seed: Annotated[int, typer.Option(metavar="N", min=0, help="The same number, the same files.")] = 0,
) -> None:
    """Make up a crowd whose truth is known, to try things.

    Writes labels.csv, features.csv and truth.csv.

    For example:

    whoknows simulate

    whoknows simulate --out crowd --items 2000 --experts 8 --spammers 3 --per-item 3
    """
    from whoknows.io.labels import write_labels, write_table

    if round(labelled * items) < 1:
        raise CommandError(f"--labelled {labelled} leaves none of {items} items with a label.", USAGE)
    if experts > items:
        raise CommandError(f"--experts {experts} is more than one for each of {items} items.", USAGE)
    with folder(out, FILES, ()) as draft:
        names, X, truth = _items(items, classes, seed)
        said = _crowd(names, X, truth, experts, error, spammers, adversaries, labelled, per_item, seed)
        with writing(out):
            write_labels(said, draft / "labels.csv")
            write_table(
                {"item": names, **{f"x{j}": X[:, j] for j in range(X.shape[1])}}, draft / "features.csv"
            )
            write_table({"item": names, "truth": truth}, draft / "truth.csv")
            heading = f"What was told. To do it again: whoknows simulate --config {SETTINGS}"
            write_settings(draft, settings, {}, heading)
    some = f"{said.labelled.sum()} of {items} items"
    say.tell(
        f"{out}: {said.n_annotations} labels of {said.n_annotators} annotators on {some}.",
        f"Try: whoknows fit {out / 'labels.csv'} --features {out / 'features.csv'}",
        f"The truth is in {out / 'truth.csv'}.",
    )
    say.answer({"out": str(out.absolute()), "files": list(FILES), "labels": said.n_annotations})


def _items(n: int, classes: int, seed: int) -> tuple[list[str], Any, Any]:
    """Names, features and truth."""
    import numpy as np
    from sklearn.datasets import make_classification

    X, z = make_classification(
        n, 8, n_informative=6, n_redundant=0, n_classes=classes, flip_y=0.01, random_state=seed
    )
    return [f"item{i:0{len(str(n))}d}" for i in range(1, n + 1)], X.round(4), np.array(list("ABCDEFGH"))[z]


def _crowd(
    names: list[str],
    X: Any,
    truth: Any,
    experts: int,
    error: float,
    spammers: int,
    adversaries: int,
    labelled: float,
    per_item: int | None,
    seed: int,
) -> Any:
    """Who said what."""
    import numpy as np

    from whoknows import Annotations
    from whoknows.data import simulate as crowds

    kinds = {"expert": crowds.cluster_experts(X, truth, experts, error, seed)}
    if spammers:
        kinds["spammer"] = crowds.spammers(truth, spammers, random_state=seed)
    if adversaries:
        kinds["adversary"] = crowds.adversaries(truth, adversaries, random_state=seed)
    people = [f"{kind}{t + 1}" for kind, said in kinds.items() for t in range(said.shape[1])]
    everything = Annotations.from_matrix(
        np.column_stack(list(kinds.values())), items=names, annotators=people
    )
    return crowds.hide(everything, items=labelled, per_item=per_item, random_state=seed)
