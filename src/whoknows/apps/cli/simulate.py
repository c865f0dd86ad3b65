"""`whoknows simulate`: items with known true labels, and simulated annotators; `whoknows demo`: a fit."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from whoknows.apps.cli import output, results
from whoknows.apps.cli.command import command
from whoknows.apps.cli.console import Console
from whoknows.apps.cli.errors import UsageError, writing
from whoknows.apps.cli.fit import files_in, fit_files, tell_files
from whoknows.apps.tumours import tumours

if TYPE_CHECKING:
    from whoknows.data.annotations import Annotations

FILES = ("labels.csv", "features.csv", "truth.csv", output.SETTINGS)

FolderOption = Annotated[Path, typer.Option(metavar="DIR", help="Output folder.")]
_Number = partial(typer.Option, metavar="N", min=0)
_Share = partial(typer.Option, metavar="SHARE", min=0.0, max=1.0)


@command()
def simulate(
    console: Console,
    settings: dict[str, Any],
    out: FolderOption = Path("simulated"),
    items: Annotated[int, _Number(min=20, max=1_000_000, help="Number of items.")] = 500,
    classes: Annotated[int, _Number(min=2, max=8, help="Number of classes.")] = 2,
    experts: Annotated[int, _Number(min=1, help="Experts, each always right on one cluster of items.")] = 5,
    error: Annotated[float, _Share(help="Error rate of the experts on other items.")] = 0.35,
    spammers: Annotated[int, _Number(help="Number of annotators who label at random.")] = 0,
    adversaries: Annotated[int, _Number(help="Number of annotators who are nearly always wrong.")] = 0,
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
        raise UsageError(f"--labelled {labelled} leaves none of {items} items with a label.")
    if experts > items:
        raise UsageError(f"--experts {experts} is more than one expert per item; --items is {items}.")
    with output.folder(out, FILES, ()) as draft:
        X, truth = _items(items, classes, seed)
        complete = _annotate(X, truth, experts, error, spammers, adversaries, seed)
        annotations = hide(complete, items=labelled, per_item=per_item, random_state=seed)
        with writing(out):
            write_crowd(draft, annotations, {f"x{j}": X[:, j] for j in range(X.shape[1])}, truth)
            heading = f"Options of the simulation. To repeat it: whoknows simulate --config {output.SETTINGS}"
            output.write_settings(draft, settings, {}, heading)
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

    X, z = make_classification(n, 8, n_informative=6, n_redundant=0, n_classes=classes, flip_y=0.01, random_state=seed)
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


@command()
def demo(console: Console, out: FolderOption = Path("whoknows-demo")) -> None:
    """Run a demonstration on bundled data.

    569 tumours and five simulated annotators; three quarters of the items have no label. As in the paper,
    each annotator is always right on one cluster of items and wrong on about a third of the others. Writes the
    data to files, fits the default model, and compares the consensus with the true labels.

    For example:

    whoknows demo
    """
    data = out / "data"
    output.complete_move(out)
    output.refuse_to_replace_other_files(out, results.FILES)
    with output.folder(data, FILES, ()) as draft, writing(data):
        truth = _write_demo_data(draft)
        output.write_settings(draft, {}, {}, "Written by whoknows demo")
    files = {"labels": data / "labels.csv", "features": data / "features.csv", "out": out}
    settings = {**files, "model": "auto", "levels": None, "seed": 0, "max_iter": 200}
    summary = fit_files(settings, console)
    accuracy = _accuracy(summary.consensus, truth)
    console.tell("", *summary.lines(), "", "Accuracy, by the true labels, which the model has not seen:")
    console.tell(*(f"  {what.replace('_', ', ')} items: {share:.1%}" for what, share in accuracy.items()), "")
    tell_files(out, console)
    console.answer({"out": str(out.absolute()), "files": list(files_in(out)), "right": accuracy})


def _write_demo_data(draft: Path) -> dict[str, str]:
    """Write labels, features and true labels; return the true label of each item."""
    data = tumours()
    write_crowd(draft, data.annotations, dict(zip(data.names, data.features.T, strict=True)), data.truth)
    return dict(zip(data.annotations.items.tolist(), data.truth.tolist(), strict=True))


def _accuracy(consensus: Mapping[str, list[Any]], truth: Mapping[str, str]) -> dict[str, float]:
    """Return the accuracy of the majority vote and of the consensus."""
    import numpy as np

    right = np.array([truth[item] for item in consensus["item"]])
    vote, answer = (np.array(consensus[name]) == right for name in ("vote", "consensus"))
    labelled = np.array(consensus["n_labels"]) > 0
    return {
        "vote_labelled": float(vote[labelled].mean()),
        "consensus_labelled": float(answer[labelled].mean()),
        "consensus_unlabelled": float(answer[~labelled].mean()),
    }
