"""Checkpoints: a folder in which a fit remembers what it has done, to go on from there after an interruption.

What a step came to is written as a model file, whole or not at all, and then taken from there, interrupted or
not: either way a fit goes on from the same numbers.
"""

from __future__ import annotations

import json
import os
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from hashlib import blake2b
from numbers import Integral
from threading import Lock
from typing import Any, TypeVar

import numpy as np

import whoknows
from whoknows._array import Array
from whoknows.data.vocabulary import elements
from whoknows.estimators.inputs.rows import RowSpan
from whoknows.estimators.inputs.training_data import TrainingData
from whoknows.estimators.persistence.archive import digest
from whoknows.estimators.persistence.model_file import load_step, save_step
from whoknows.estimators.persistence.writing import Written
from whoknows.fit.monitor import Monitor
from whoknows.io.atomic import write_lines
from whoknows.io.errors import Path
from whoknows.io.labels import FileError
from whoknows.model.distances import blocks_of

PAUSE = 10.0  # seconds, at least, between two states that are kept of a solver: what an interruption costs
BLOCKS_A_PIECE = 50  # of items, worked on between two steps that are remembered
ABOUT = "checkpoint.json"  # what is fitted; there first, and gone last
START_ANEW = "Remove the folder to start anew, or give another one."

Answer = TypeVar("Answer")
_one_reads = Lock()  # reading a model file hushes warnings for a moment, in all threads


@dataclass(frozen=True)
class Checkpoint:
    """A memory of the steps of one fit.

    Attributes
    ----------
    folder : str
        Created when the first step is done.
    about : str
        What is fitted, as JSON of checksums: the checkpoint of another fit is of no use.
    """

    folder: str
    about: str

    @classmethod
    def of(cls, folder: Path, settings: Any, given: TrainingData) -> Checkpoint:
        """Return the checkpoint of an estimator's fit; a folder with that of another fit is refused."""
        if not isinstance(settings.random_state, Integral):
            raise ValueError(
                "checkpoint= needs random_state to be a whole number, so that a fit that goes on draws as "
                f"before; got {settings.random_state!r}."
            )
        about = {
            "whoknows": whoknows.__version__,
            "settings": _settings(settings, folder),
            "features": given.fingerprint,
            "labels": _labels(given),
        }
        found = cls(os.fspath(folder), json.dumps(about))
        found._refuse_another_fit(about)
        return found

    def step(self, name: str) -> Step:
        """Return a step of the fit by its name."""
        return Step(self, name)

    def remember(self, name: str, compute: Callable[[], Answer]) -> Answer:
        """Return what a step came to; it is computed if nobody has yet."""
        return self.step(name).remember(compute)

    def in_pieces(
        self, name: str, compute: Callable[[Any, slice], Array], X: Any, whole: bool = False
    ) -> Array:
        """Return compute(X[rows], rows) of all rows, (n_items, …), remembered piece by piece.

        ``whole``: items can only be seen all together.
        """
        if whole:
            return self.remember(name, partial(compute, X, slice(None)))
        blocks, found = list(blocks_of(X)), []
        for place in range(0, len(blocks), BLOCKS_A_PIECE):
            piece = blocks[place : place + BLOCKS_A_PIECE]
            rows = slice(piece[0].start, piece[-1].stop)
            part = partial(compute, RowSpan(X, rows.start, rows.stop), rows)
            found.append(self.remember(f"{name}-{rows.start}", part))
        return np.concatenate(found)

    def _refuse_another_fit(self, about: dict[str, str]) -> None:
        folder = self.folder
        if not is_checkpoint(folder):
            _refuse_other_files(folder)
            return
        before = _told(os.path.join(folder, ABOUT))
        changed = [name for name in about if about[name] != before.get(name)]
        if "whoknows" in changed:
            changed = [f"version of whoknows ({before.get('whoknows')}; this is {whoknows.__version__})"]
        if changed:
            raise FileError(
                folder, f"is the checkpoint of another fit, with other {' and '.join(changed)}. {START_ANEW}"
            )

    def _path(self, name: str) -> str:
        return os.path.join(self.folder, f"{name}.whoknows")

    def _read(self, name: str) -> Any:
        """Return what is written under a name; None if it is not there, or damaged."""
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
    """One step of a fit: what it came to, and while a solver is at it, the state of the solver."""

    def __init__(self, checkpoint: Checkpoint, name: str) -> None:
        self._checkpoint, self._name, self._state = checkpoint, name, f"{name}.state"
        self._kept_at = -PAUSE

    @property
    def is_done(self) -> bool:
        """Whether it is remembered what the step came to."""
        return os.path.exists(self._checkpoint._path(self._name))

    def remember(self, compute: Callable[[], Answer]) -> Answer:
        """Return what the step came to; it is computed if nobody has yet."""
        found = self._checkpoint._read(self._name)
        if found is None:
            found = self._written(compute())
        return found

    def solution(self, monitor: Monitor, solve: Callable[[], Answer]) -> Answer:
        """Return what a solver learnt, and tell its monitor.

        A fit that a callback stopped is not remembered: asked for again, it goes on.
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
        """Return the last state that was kept of the solver, or None: with this a solver begins."""
        self._kept_at = time.monotonic()
        return self._checkpoint._read(self._state)

    def keep(self, state: Any) -> None:
        """Keep a state of the solver, unless there is one of a moment ago."""
        if time.monotonic() - self._kept_at >= PAUSE:
            self._checkpoint._write(self._state, state)
            self._kept_at = time.monotonic()

    def _written(self, answer: Any) -> Any:
        """Write what the step came to; a state of the solver is of no use any more."""
        self._checkpoint._write(self._name, answer)
        state = self._checkpoint._path(self._state)
        if os.path.exists(state):
            os.remove(state)
        return _load(self._checkpoint._path(self._name))


def is_checkpoint(folder: Path) -> bool:
    """Whether a fit has remembered something in a folder."""
    return os.path.isfile(os.path.join(folder, ABOUT))


def forget(folder: Path) -> None:
    """Remove a checkpoint: its files, and the folder if there is nothing else in it."""
    steps = [name for name in os.listdir(folder) if name.endswith(".whoknows") or _is_torn(name)]
    for name in (*steps, ABOUT):
        os.remove(os.path.join(folder, name))
    if not os.listdir(folder):
        os.rmdir(folder)


# --- files ------------------------------------------------------------------------------------------


def _load(path: str) -> Any:
    with _one_reads:
        return load_step(path)


def _refuse_other_files(folder: str) -> None:
    """Refuse a place that is taken: steps are not to mingle with other files."""
    if os.path.exists(folder) and not (os.path.isdir(folder) and all(map(_is_torn, os.listdir(folder)))):
        raise FileError(folder, "is taken: expected a checkpoint, an empty folder or none. Give another one.")


def _told(path: str) -> dict[str, Any]:
    """Return what a checkpoint says of its fit."""
    try:
        with open(path, encoding="utf-8") as file:
            return dict(json.load(file))
    except (OSError, ValueError, TypeError) as error:
        raise FileError(path, f"cannot be read ({error}). {START_ANEW}") from None


def _is_torn(name: str) -> bool:
    """Whether a file is what an interrupted write may leave: it is never read."""
    return name.startswith(".") and name.endswith(".part")


# --- what is fitted ---------------------------------------------------------------------------------


def _settings(estimator: Any, folder: Path) -> str:
    """Return a checksum of an estimator's settings; engines do not count, whose numbers are the same."""
    told = estimator.get_params(deep=False) | {"engine": None, "device": repr(estimator.device)}
    written = Written.of(type(estimator)(**told), folder)
    return digest(json.dumps([written.objects, written.digests]).encode())


def _labels(given: TrainingData) -> str:
    """Return a checksum of labels and what is known besides."""
    said, found = given.annotations, blake2b(digest_size=16)
    shape = said.n_items, said.n_annotators, elements(said.labels)
    found.update(repr(shape).encode())
    for array in (said.item, said.annotator, said.label, said.confidence, given.gold, given.weight):
        found.update(b"none" if array is None else repr(len(array)).encode())
        found.update(b"" if array is None else np.ascontiguousarray(array).data)
    return found.hexdigest()
