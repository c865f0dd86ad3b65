"""Checkpoints: a folder with intermediate results, from which an interrupted fit continues.

The result of a step is written as a model file, atomically, and then read back, interrupted or not: in either
case the fit continues with the same numbers.
"""

from __future__ import annotations

import json
import os
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from numbers import Integral
from threading import Lock
from typing import Any, TypeVar

import numpy as np

import whoknows
from whoknows._array import Array
from whoknows.estimators.inputs.training_data import TrainingData
from whoknows.estimators.persistence.model_file import load_step, save_step
from whoknows.estimators.persistence.objects import Written, digest
from whoknows.fit.monitor import Monitor
from whoknows.io.errors import FileError, Path, reading
from whoknows.io.writing import write_lines
from whoknows.model.distances import blocks_of

PAUSE = 10.0  # seconds between two saved states of a solver: the work that an interruption can lose
BLOCKS_PER_PIECE = 50  # blocks of items between two saved steps
ABOUT = "checkpoint.json"  # what is fitted; written first, removed last
START_AGAIN = "Remove the folder to start again, or name another one."
NOT_READ = "cannot be read ({}). " + START_AGAIN

Answer = TypeVar("Answer")
_reading = Lock()  # reading a model file suppresses warnings for a moment, in all threads


@dataclass(frozen=True)
class Checkpoint:
    """The steps of one fit that are done.

    Attributes
    ----------
    folder : str
        Created when the first step is done.
    about : str
        What is fitted, as JSON of checksums; the checkpoint of another fit is refused.
    """

    folder: str
    about: str

    @classmethod
    def of(cls, folder: Path, settings: Any, data: TrainingData) -> Checkpoint:
        """Return the checkpoint of an estimator's fit; a folder with that of another fit is refused."""
        if not isinstance(settings.random_state, Integral):
            raise ValueError(
                "checkpoint= needs an integer random_state, so that a continued fit draws the same random "
                f"numbers; got {settings.random_state!r}."
            )
        unfitted = type(settings)(**settings.get_params(deep=False))
        about = {
            "whoknows": whoknows.__version__,
            "settings": _checksum(unfitted, folder),
            "device": repr(settings.device),  # engines give the same numbers, devices do not
            "features": data.fingerprint,
            "labels": _checksum(replace(data, fingerprint=""), folder),
        }
        found = cls(os.fspath(folder), json.dumps(about))
        found._refuse_another_fit(about)
        return found

    def step(self, name: str) -> Step:
        """Return a step of the fit by its name."""
        return Step(self, name)

    def in_pieces(self, name: str, compute: Callable[[Any, slice], Array], X: Any, at_once: bool = False) -> Array:
        """Return compute(X[rows], rows) for all rows, (n_items, …), saved piece by piece.

        ``at_once``: the items cannot be split.
        """

        def of_piece(blocks: list[slice]) -> Array:
            return np.concatenate([compute(X[rows], rows) for rows in blocks])

        blocks = [slice(0, len(X))] if at_once else list(blocks_of(X))
        pieces = [blocks[i : i + BLOCKS_PER_PIECE] for i in range(0, len(blocks), BLOCKS_PER_PIECE)]
        steps = {self.step(f"{name}-{piece[0].start}"): piece for piece in pieces}
        return np.concatenate([step.remember(partial(of_piece, piece)) for step, piece in steps.items()])

    def _refuse_another_fit(self, about: dict[str, str]) -> None:
        folder, path = self.folder, os.path.join(self.folder, ABOUT)
        if not is_checkpoint(folder):
            _refuse_other_files(folder)
            return
        with reading(path, NOT_READ, ValueError, TypeError), open(path, encoding="utf-8") as file:
            before = dict(json.load(file))
        changed = [name for name in about if about[name] != before.get(name)]
        if "whoknows" in changed:
            changed = [f"version of whoknows ({before.get('whoknows')}; this is {whoknows.__version__})"]
        if changed:
            raise FileError(
                folder, f"is the checkpoint of another fit, with other {' and '.join(changed)}. {START_AGAIN}"
            )

    def _path(self, name: str) -> str:
        return os.path.join(self.folder, f"{name}.whoknows")

    def _read(self, name: str) -> Any:
        """Return what was saved under a name; None if it is missing or damaged."""
        path = self._path(name)
        if not os.path.exists(path):
            return None
        try:
            return _load(path)
        except FileError as problem:
            warnings.warn(f"{problem} It is computed again.", stacklevel=4)
            return None

    def _write(self, name: str, thing: Any) -> None:
        folder = self.folder
        os.makedirs(folder, exist_ok=True)
        if not os.path.exists(os.path.join(folder, ABOUT)):
            write_lines([self.about], os.path.join(folder, ABOUT))
        save_step(thing, self._path(name))


class Step:
    """One step of a fit: its result, and until then the state of the solver."""

    def __init__(self, checkpoint: Checkpoint, name: str) -> None:
        self._checkpoint, self._name, self._state = checkpoint, name, f"{name}.state"
        self._saved_at = -PAUSE

    @property
    def is_done(self) -> bool:
        """Whether the result is saved."""
        return os.path.exists(self._checkpoint._path(self._name))

    def remember(self, compute: Callable[[], Answer]) -> Answer:
        """Return the result; compute it if it is not saved."""
        found = self._checkpoint._read(self._name)
        if found is None:
            found = self._written(compute())
        return found

    def solution(self, monitor: Monitor, solve: Callable[[], Answer]) -> Answer:
        """Return the solution of a solver, and replay its history to the monitor.

        A fit that a callback stopped is not saved; called again, it continues.
        """
        known = self._checkpoint._read(self._name)
        if known is None:
            answer = solve()
            if monitor.stopped:
                return answer
            return self._written((answer, monitor.history, monitor.converged))[0]
        answer, history, monitor.converged = known
        monitor.replay(history)
        monitor.finish()
        return answer

    def state(self) -> Any:
        """Return the last saved state of the solver, or None; called when the solver starts."""
        self._saved_at = time.monotonic()
        return self._checkpoint._read(self._state)

    def keep(self, state: Any) -> None:
        """Save a state of the solver, unless one was saved a moment ago."""
        if time.monotonic() - self._saved_at >= PAUSE:
            self._checkpoint._write(self._state, state)
            self._saved_at = time.monotonic()

    def _written(self, answer: Any) -> Any:
        """Save the result, and remove the state of the solver."""
        self._checkpoint._write(self._name, answer)
        state = self._checkpoint._path(self._state)
        if os.path.exists(state):
            os.remove(state)
        return _load(self._checkpoint._path(self._name))


def is_checkpoint(folder: Path) -> bool:
    """Whether a folder holds a checkpoint."""
    return os.path.isfile(os.path.join(folder, ABOUT))


def forget(folder: Path) -> None:
    """Remove the files of a checkpoint, and the folder if it is then empty."""
    steps = [name for name in os.listdir(folder) if name.endswith(".whoknows") or _is_torn(name)]
    for name in (*steps, ABOUT):
        os.remove(os.path.join(folder, name))
    if not os.listdir(folder):
        os.rmdir(folder)


# --- files ------------------------------------------------------------------------------------------


def _load(path: str) -> Any:
    with _reading:
        return load_step(path)


def _refuse_other_files(folder: str) -> None:
    """Refuse a folder with other files."""
    if os.path.exists(folder) and not (os.path.isdir(folder) and all(map(_is_torn, os.listdir(folder)))):
        raise FileError(folder, "holds other files; expected a checkpoint or an empty folder. Name another one.")


def _is_torn(name: str) -> bool:
    """Whether a file is left over from an interrupted write; it is never read."""
    return name.startswith(".") and name.endswith(".part")


# --- what is fitted ---------------------------------------------------------------------------------


def _checksum(thing: Any, folder: Path) -> str:
    """Return a checksum of settings, or of labels, gold and weights."""
    written = Written.of(thing, folder)
    return digest(json.dumps([written.objects, written.digests]).encode())
