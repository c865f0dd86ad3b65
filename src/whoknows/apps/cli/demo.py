"""`whoknows demo`: a fit to bundled data with simulated annotators."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import typer

from whoknows.apps.cli.command import command
from whoknows.apps.cli.console import Console
from whoknows.apps.cli.errors import writing
from whoknows.apps.cli.fit import files_in, fit_files, tell_files
from whoknows.apps.cli.output import complete_move, folder, refuse_to_replace_other_files, write_settings
from whoknows.apps.cli.results import FILES
from whoknows.apps.cli.simulate import FILES as DATA
from whoknows.apps.cli.simulate import write_crowd

NAMES = ["anna", "bruno", "chloe", "dmitri", "emeka"]
SHARE_LABELLED = 0.3


@command()
def demo(
    console: Console,
    out: Annotated[Path, typer.Option(metavar="DIR", help="Output folder.")] = Path("whoknows-demo"),
) -> None:
    """Run a demonstration on bundled data.

    569 tumours and five simulated annotators; 70 % of the items have no label. As in the paper, each
    annotator is always right on one cluster of items and wrong on about a third of the others. Writes the
    data to files, fits --model lgp, and compares the consensus with the true labels.

    For example:

    whoknows demo
    """
    data = out / "data"
    complete_move(out)
    refuse_to_replace_other_files(out, FILES)
    with folder(data, DATA, ()) as draft, writing(data):
        truth = _write_data(draft)
        write_settings(draft, {}, {}, "Written by whoknows demo")
    files = {"labels": data / "labels.csv", "features": data / "features.csv", "out": out}
    settings = {**files, "model": "lgp", "levels": None, "seed": 0, "max_iter": 200}
    summary = fit_files(settings, console)
    accuracy = _accuracy(summary.consensus, truth)
    console.tell("", *summary.lines(), "", *_table(**accuracy), "")
    tell_files(out, console)
    console.answer({"out": str(out.absolute()), "files": list(files_in(out)), "right": accuracy})


def _write_data(draft: Path) -> dict[str, str]:
    """Write labels, features and true labels; return the true label of each item."""
    import numpy as np
    from sklearn.datasets import load_breast_cancer

    from whoknows import Annotations
    from whoknows.data.simulate import cluster_experts

    tumours = load_breast_cancer()
    X, truth = tumours.data, tumours.target_names[tumours.target]
    labels = cluster_experts(X, truth, n_annotators=len(NAMES), random_state=0)
    labelled = np.random.default_rng(0).random(len(X)) < SHARE_LABELLED
    items = [f"tumour {i:03d}" for i in range(1, len(X) + 1)]
    labels = np.where(labelled[:, None], labels, None)
    annotations = Annotations.from_matrix(labels, items=items, annotators=NAMES)
    write_crowd(draft, annotations, dict(zip(tumours.feature_names.tolist(), X.T, strict=True)), truth)
    return dict(zip(items, truth.tolist(), strict=True))


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


def _table(vote_labelled: float, consensus_labelled: float, consensus_unlabelled: float) -> list[str]:
    return [
        "Accuracy, by the true labels, which the model has not seen:",
        f"{'':<20}{'majority vote':>15}{'whoknows':>12}",
        f"{'labelled items':<20}{vote_labelled:>15.1%}{consensus_labelled:>12.1%}",
        f"{'unlabelled items':<20}{'—':>15}{consensus_unlabelled:>12.1%}",
    ]
