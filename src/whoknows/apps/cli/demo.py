"""`whoknows demo`: a first look, on bundled data and simulated annotators."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from whoknows.apps.cli.command import command
from whoknows.apps.cli.console import Say
from whoknows.apps.cli.errors import writing
from whoknows.apps.cli.fit import FILES, files_in, fit_files, tell_files
from whoknows.apps.cli.output import (
    SETTINGS,
    complete_move,
    folder,
    refuse_to_replace_strangers,
    write_settings,
)

NAMES = ["anna", "bruno", "chloe", "dmitri", "emeka"]
SHARE_LABELLED = 0.3
DATA = ("labels.csv", "features.csv", "truth.csv", SETTINGS)


@command
def demo(
    say: Say,
    out: Annotated[Path, typer.Option(metavar="DIR", help="Folder for the files.")] = Path("whoknows-demo"),
) -> None:
    """Take a first look, on bundled data.

    569 tumours, five simulated annotators, seven items in ten without any label. Each annotator never errs on
    one kind of item and is wrong on about a third of the others, as in the paper. Writes the data as files,
    fits them as fit does with --model lgp, and holds the answer against the truth.

    For example:

    whoknows demo
    """
    data = out / "data"
    complete_move(out)
    refuse_to_replace_strangers(out, FILES)
    with folder(data, DATA, ()) as draft, writing(data):
        truth = _write_data(draft)
        write_settings(draft, {}, {}, "Written by whoknows demo")
    settings = {
        "labels": data / "labels.csv",
        "features": data / "features.csv",
        "out": out,
        "model": "lgp",
        "levels": None,
        "seed": 0,
        "max_iter": 200,
    }
    summary = fit_files(settings, say)
    checked = _check(summary.consensus, truth)
    say.tell("", *summary.lines(), "", *_table(checked), "")
    tell_files(out, say)
    say.answer({"out": str(out.absolute()), "files": list(files_in(out)), "right": checked})


def _write_data(draft: Path) -> dict[str, str]:
    """Write labels.csv, features.csv and truth.csv; return the truth of each item."""
    import numpy as np
    from sklearn.datasets import load_breast_cancer

    from whoknows import Annotations
    from whoknows.data.simulate import cluster_experts
    from whoknows.io.labels import write_labels, write_table

    tumours = load_breast_cancer()
    X, truth = tumours.data, tumours.target_names[tumours.target]
    labels = cluster_experts(X, truth, n_annotators=len(NAMES), random_state=0)
    labelled = np.random.default_rng(0).random(len(X)) < SHARE_LABELLED
    items = [f"tumour {i:03d}" for i in range(1, len(X) + 1)]
    said = Annotations.from_matrix(np.where(labelled[:, None], labels, None), items=items, annotators=NAMES)
    write_labels(said, draft / "labels.csv")
    columns = {name: X[:, j] for j, name in enumerate(tumours.feature_names.tolist())}
    write_table({"item": items, **columns}, draft / "features.csv")
    write_table({"item": items, "truth": truth}, draft / "truth.csv")
    return dict(zip(items, truth.tolist(), strict=True))


def _check(consensus: dict[str, list[Any]], truth: dict[str, str]) -> dict[str, float]:
    """Share of items of which the majority vote, and the consensus, is the truth."""
    rows = list(zip(*(consensus[name] for name in ("item", "n_labels", "vote", "consensus")), strict=True))
    on = [row for row in rows if row[1]]
    off = [row for row in rows if not row[1]]
    return {
        "vote_labelled": sum(vote == truth[item] for item, _, vote, _ in on) / len(on),
        "consensus_labelled": sum(said == truth[item] for item, _, _, said in on) / len(on),
        "consensus_unlabelled": sum(said == truth[item] for item, _, _, said in off) / len(off),
    }


def _table(right: dict[str, float]) -> list[str]:
    """What is right, by the truth that no model saw."""
    return [
        "How often it is right, by the truth, which the model never saw:",
        f"{'':<20}{'majority vote':>15}{'whoknows':>12}",
        f"{'labelled items':<20}{right['vote_labelled']:>15.1%}{right['consensus_labelled']:>12.1%}",
        f"{'unlabelled items':<20}{'—':>15}{right['consensus_unlabelled']:>12.1%}",
    ]
