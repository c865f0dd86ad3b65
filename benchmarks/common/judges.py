"""Data sets whose annotators are LLM judges, with a reference to score them by.

They are read from ``judges/NAME/`` in the folder that the environment variable ``WHOKNOWS_DATA`` names:
annotations.csv, items.csv, truth.csv and embeddings.npy, as for the crowds of `benchmarks.common.sets`.
Labels may be text. The number of items, features, annotators and labels is checked.
"""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np

from benchmarks.common.sets import DataSet, read_csv
from whoknows.data.annotations import Annotations
from whoknows.data.errors import InputError

# items, features, annotators, labels
EXPECTED = {
    "judge_pairs": (466, 519, 8, 3656),
    "judgebench_gpt4o": (350, 519, 6, 2073),
    "judge_cases": (315, 519, 30, 9411),
}


def load(name: str) -> DataSet:
    """Read one of the sets in `EXPECTED`."""
    folder = Path(os.environ.get("WHOKNOWS_DATA", "")) / "judges" / name
    given, truth = read_csv(folder / "annotations.csv", "item", "annotator", "label"), _truth(folder)
    ids = list(read_csv(folder / "items.csv", "item")["item"])
    X = np.load(folder / "embeddings.npy", allow_pickle=False).astype(float)
    Y = Annotations.from_arrays(given["item"], given["annotator"], given["label"], items=ids)
    found = (len(ids), X.shape[1], Y.n_annotators, Y.n_annotations)
    if found != EXPECTED[name] or len(X) != len(ids):
        raise InputError(f"{folder}: expected {EXPECTED[name]} items, features, annotators and labels; got {found}.")
    return DataSet(name, X, np.array([truth[item] for item in ids]), Y)


def _truth(folder: Path) -> dict[str, str]:
    table = read_csv(folder / "truth.csv", "item", "label")
    return dict(zip(table["item"], table["label"], strict=True))
