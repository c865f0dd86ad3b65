"""Answers of every public estimator on small fits, as numbers that a change of the code must not move.

Before a change of the code, ``python -m tests.estimators.stored_answers write FILE`` writes all of them to a
file; after it, ``… check FILE`` compares them to 1e-10. The test compares a sample with `answers.npz`.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
from sklearn.base import clone

from tests.estimators.store_models import LATER, MODELS, NEW_X, THREE, TWO, X, answers, fitted
from whoknows import AutoCrowdClassifier, CrowdClassifier
from whoknows.estimators.baselines import DawidSkene, MajorityVoteClassifier, SingleAnnotatorClassifier, ml_original

KEPT = Path(__file__).with_name("answers.npz")
SAMPLE = 7  # numbers kept of each answer
BASELINES = {
    "vote": MajorityVoteClassifier(),
    "single": SingleAnnotatorClassifier("anna"),
    "dawid skene": DawidSkene(),
    "ml original": ml_original(),
}


def every_answer() -> dict[str, np.ndarray]:
    """Return the numbers of every answer, by the name of the model and of the question."""
    told = {f"{name}: {key}": value for name in MODELS for key, value in answers(fitted(name), name).items()}
    for name, model in BASELINES.items():
        told[f"{name}: probability"] = clone(model).fit(X, TWO).predict_proba(NEW_X)
    for name, said in (("two", TWO), ("three", THREE)):
        model = AutoCrowdClassifier().fit(X, said)
        told[f"default auto, {name}: probability"] = model.predict_proba(NEW_X)
        told[f"default auto, {name}: posterior"] = model.posterior_
        told[f"default auto, {name}: expertise"] = model.expertise(NEW_X)
    model = CrowdClassifier().fit(X, TWO).update(X, LATER)
    told["update: posterior"], told["update: expertise"] = model.posterior_, model.expertise(NEW_X)
    return {key: value for key, value in told.items() if value.dtype.kind in "fi" and "known  _" not in key}


def sample(told: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Return a few numbers of each answer: their names, and a row for each."""
    few = {key: np.ravel(value).astype(float) for key, value in told.items() if value.size}
    rows = [value[np.linspace(0, len(value) - 1, SAMPLE).astype(int)] for value in few.values()]
    return {"names": np.array(list(few)), "values": np.array(rows)}


def tolerance(name: str) -> float:
    """Return how far answers of one model may be apart on two machines, which round sums in different ways.

    The bound of real-valued labels is flat: fits that agree in the bound to ``tol`` are up to 2e-4 apart.
    """
    return 5e-4 if name.startswith("real") else 1e-6


def differences(mine: dict[str, np.ndarray], theirs: dict[str, np.ndarray]) -> dict[str, float]:
    """Return the largest difference of each answer; infinite where one is missing or of another shape."""
    return {
        key: _apart(mine[key].astype(float), theirs[key].astype(float)) if key in mine and key in theirs else np.inf
        for key in sorted(mine.keys() | theirs.keys())
    }


def _apart(mine: np.ndarray, theirs: np.ndarray) -> float:
    if mine.shape != theirs.shape:
        return np.inf
    same = (mine == theirs) | (np.isnan(mine) & np.isnan(theirs))
    return float(np.nan_to_num(np.where(same, 0.0, np.abs(mine - theirs)), nan=np.inf).max(initial=0.0))


def main(action: str, path: str) -> None:
    """Write all answers to a file, or compare them with one."""
    told = every_answer()
    if action == "write":
        np.savez_compressed(path, **told)
        np.savez_compressed(KEPT, **sample(told))
        return
    with np.load(path) as kept:
        apart = differences(told, dict(kept))
    off = {key: value for key, value in apart.items() if value > 1e-10}
    for key, value in off.items():
        print(f"{value:9.2e}  {key}")
    print(f"{len(apart)} answers, {len(off)} differ by more than 1e-10; largest {max(apart.values()):.2e}")
    sys.exit(bool(off))


if __name__ == "__main__":
    main(*sys.argv[1:])
