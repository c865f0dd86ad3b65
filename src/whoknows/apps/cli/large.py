"""Features larger than memory: they stay in their files; whatever needs few items takes some of them."""

from __future__ import annotations

import copy
import os
import re
import shutil
from collections.abc import Hashable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from whoknows.apps.cli.console import Say, Update
from whoknows.apps.cli.errors import USAGE, CommandError
from whoknows.apps.cli.words import count

if TYPE_CHECKING:
    from whoknows.io.features import Dataset, Features
    from whoknows.io.labels import LabelFile

SHARE = 4  # part of the machine's memory that features may take: a fit holds them more than once
LABELLED, OTHERS = 200_000, 20_000  # items at most, with and without labels, that stand for all of them
CHECKPOINT = "checkpoint"  # folder within that of the results, until they are there
DRAFTS = f".{8 * '[0-9a-f]'}.part"  # draft folders left by killed fits
IN_MEMORY = ("gp", "regression")  # models that look at all items at once
UNITS = {"": 1, "k": 10**3, "m": 10**6, "g": 10**9, "t": 10**12}
BINARY = {"": 1, "k": 1 << 10, "m": 1 << 20, "g": 1 << 30, "t": 1 << 40}


# --- how much is too much ---------------------------------------------------------------------------


def bytes_of(size: str | None, option: str = "--memory") -> int:
    """Number of bytes of a size; a share of the machine's memory if none is given.

    >>> bytes_of("500MB"), bytes_of("1.5 GiB"), bytes_of("64")
    (500000000, 1610612736, 64)
    """
    if size is None:
        return _memory_of_machine() // SHARE
    match = re.fullmatch(r"(\d+\.?\d*) ?([kmgt]?)(i?)b?", size.strip().lower())
    if match is None or float(match[1]) <= 0:
        raise CommandError(f"{option} expects a size such as 500MB or 8GB; got {size!r}.", USAGE)
    return max(int(float(match[1]) * (BINARY if match[3] else UNITS)[match[2]]), 1)


def _memory_of_machine() -> int:
    """Bytes of memory, as far as this process may use them; 8 GiB if the system does not tell."""
    found = []
    if hasattr(os, "sysconf") and "SC_PHYS_PAGES" in os.sysconf_names:
        found.append(os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"))
    limit = Path("/sys/fs/cgroup/memory.max")  # of a container
    if limit.is_file() and (text := limit.read_text().strip()).isdigit():
        found.append(int(text))
    return min(found, default=8 << 30)


def is_large(path: Path, memory: str | None) -> bool:
    """Whether features stay in their files: a folder, or more numbers than memory is allowed."""
    allowed = bytes_of(memory)
    return path.is_dir() or (path.is_file() and _needs(path) > allowed)


def _needs(path: Path) -> int:
    """Bytes that the numbers of a Parquet or .npy file take as a model wants them; 0 of any other file.

    Whatever is wrong with a file is left to whoever reads it.
    """
    from whoknows.io.labels import FileError
    from whoknows.io.parquet import is_matrix, open_features
    from whoknows.io.parquet.files import open_file

    try:
        if is_matrix(path):
            return int(open_features(path).size) * 8
        with open(path, "rb") as file:
            if file.read(4) != b"PAR1":
                return 0
        about = open_file(str(path)).metadata
    except FileError:
        return 0
    groups = (about.row_group(group).total_byte_size for group in range(about.num_row_groups))
    return max(about.num_rows * about.num_columns * 8, 2 * sum(groups))  # twice: single becomes double


def stays_in_files(X: Any) -> bool:
    """Whether features are not in memory."""
    import numpy as np

    return type(X) is not np.ndarray


# --- opening ----------------------------------------------------------------------------------------


def open_large(
    path: Path, id_column: str | None, vector: str | None, items: Path | None, memory: str | None, say: Say
) -> Features:
    """Features that stay in their files, and the ids of their rows."""
    from whoknows.io.features import Features
    from whoknows.io.parquet import MEMORY, ids_of_matrix, open_features

    X = open_features(path, id_column, vector=vector, memory=min(bytes_of(memory), MEMORY))
    in_parquet = hasattr(X, "columns")
    what = f"{count(X.shape[1], 'feature')} of {count(len(X), 'item')}"
    say.note(f"{path}: {what}; they stay in {'their files' if in_parquet else 'the file'}.")
    with say.progress(f"Reading the ids of {path.name}"):
        ids = X.ids if in_parquet else ids_of_matrix(path, len(X), items)
    names = X.columns if in_parquet else tuple(f"f{place}" for place in range(X.shape[1]))
    return Features(ids, X, names, X.notes if in_parquet else (), path)


def in_columns(features: Features, wanted: list[str]) -> Features:
    """Take the columns of a fit in its order."""
    from whoknows.io.parquet import ParquetFeatures

    X: Any = features.X
    if isinstance(X, ParquetFeatures):
        X = ParquetFeatures(X.files, X.id_column, wanted, memory=X.memory)
    else:
        X = X[:, : len(wanted)]  # columns of a matrix are called by their place
    return replace(features, X=X, names=tuple(wanted))


def join_large(labels: LabelFile, features: Features, allow_missing: bool) -> Dataset:
    """Labels about the rows of features; of items without any they are refused, or left out if allowed."""
    from whoknows.io.features import Dataset
    from whoknows.io.parquet import join_labels

    said = join_labels(labels.annotations, features.X, allow_missing, ids=features.ids)
    unlabelled = said.n_items - int(said.labelled.sum())
    notes = (f"{unlabelled} of {said.n_items} items have features but no label",) if unlabelled else ()
    return Dataset(said, features.X, features.names, notes)


def by_row(known: Mapping[Hashable, Any] | None, ids: Any) -> dict[int, Any]:
    """What is known by item id, by row; without what is known of other items."""
    from whoknows.io.parquet.ids import rows_of

    known = known or {}
    rows = rows_of(list(known), ids).tolist()
    return {row: value for row, value in zip(rows, known.values(), strict=True) if row >= 0}


# --- some items for all -----------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Some:
    """Items that stand for all of them, in memory and by their ids: those with labels, and some others.

    Attributes
    ----------
    rows : (n_some,)
        Where they are among all.
    joined : Dataset
    note : str
        How many of how many.
    """

    rows: Any
    joined: Dataset
    note: str

    @classmethod
    def of(cls, joined: Dataset, ids: Any, say: Say) -> Some:
        """Draw items, the same ones every time, and read their features."""
        import numpy as np

        from whoknows.data.vocabulary import tight_array

        said, rng = joined.annotations, np.random.default_rng(0)
        kinds = np.flatnonzero(said.labelled), np.flatnonzero(~said.labelled)
        drawn = [
            rows if len(rows) <= most else rng.choice(rows, most, replace=False)
            for rows, most in zip(kinds, (LABELLED, OTHERS), strict=True)
        ]
        rows = np.sort(np.concatenate(drawn))
        with say.progress(f"Reading {count(len(rows), 'item')}") as update:
            X = _watched(joined.X, update)[rows]
        names = tight_array(ids_at(ids, rows))
        few = replace(joined, annotations=replace(said[rows], items=names), X=np.asarray(X, dtype=float))
        note = (
            f"What follows is about {len(drawn[0])} of {len(kinds[0])} items with labels and "
            f"{len(drawn[1])} of {len(kinds[1])} without, drawn at random."
        )
        return cls(rows, few, note)

    def of_model(self, model: Any) -> Any:
        """Return the model as if it had been fitted to these items alone: what it says is the same."""
        return part_of_model(model, self.rows)

    def by_id(self, by_row: Mapping[Any, Any] | None) -> dict[Hashable, Any] | None:
        """What is known by row of all, of these items by their id."""
        if by_row is None:
            return None
        names = zip(self.rows.tolist(), self.joined.annotations.items.tolist(), strict=True)
        return {name: by_row[row] for row, name in names if row in by_row}


def part_of_model(model: Any, rows: Any) -> Any:
    """Return a fitted model that knows the truth of some of its items only."""
    part = copy.copy(model)
    for name in ("posterior_", "posterior_mean_", "posterior_std_"):
        if hasattr(model, name):
            setattr(part, name, getattr(model, name)[rows])
    return part


def ids_at(ids: Any, rows: Any) -> list[Any]:
    """Ids of some rows, a slice or integers."""
    if hasattr(ids, "tolist"):  # numpy
        return ids[rows].tolist()
    return (ids[rows] if isinstance(rows, slice) else ids.take(rows)).to_pylist()


def _watched(X: Any, update: Update) -> Any:
    """Return features that tell how far reading is."""
    if hasattr(X, "progress"):
        X.progress = update
    return X


def consensus(model: Any, said: Any, ids: Any, rows: slice) -> dict[str, Any]:
    """Columns of the consensus of some items, as a summary has them."""
    from whoknows.insight.summary.answer import Vote, consensus_table
    from whoknows.insight.summary.fitted import Fit
    from whoknows.insight.summary.words import Words

    some = said[rows]
    fit = Fit.of(part_of_model(model, rows), range(some.n_items), some)
    return consensus_table(fit, Vote.of(fit), Words.of(ids_at(ids, rows), None, None, None))


# --- fitting ----------------------------------------------------------------------------------------


def as_needed(X: Any, model: str, memory: str | None) -> Any:
    """Return features as a model takes them: those that look at all items at once have them in memory."""
    if model not in IN_MEMORY:
        return X
    needs, allowed = X.shape[0] * X.shape[1] * 8, bytes_of(memory)
    if needs > allowed:
        raise CommandError(
            f"--model {model} needs all features in memory: {needs / 1e9:.3g} GB, where --memory allows "
            f"{allowed / 1e9:.3g} GB. Say --model auto, id or lgp.",
            USAGE,
        )
    return X[:]


def fit(model: Any, X: Any, said: Any, gold: Any, say: Say, checkpoint: Path) -> Any:
    """Fit with a bar of progress for each pass over the files, and for the fit between them.

    What is done is remembered in the folder ``checkpoint``, unless labels are amounts.
    """
    from whoknows import AutoCrowdClassifier, CrowdRegressor
    from whoknows.apps.cli.models import by_rise

    told = {"gold": gold} if isinstance(model, CrowdRegressor) else {"gold": gold, "checkpoint": checkpoint}
    with Stages(say, said.n_items) as stages:
        _watched(X, stages.reading)
        if isinstance(model, AutoCrowdClassifier):
            return model.fit(X, said, lambda done, of, seconds: stages.fitting(done, of), **told)
        return model.fit(X, said, by_rise(stages.fitting, model.tol, model.max_iter), **told)


@contextmanager
def remembering(out: Path, resume: bool, say: Say) -> Iterator[Path]:
    """Yield the checkpoint folder of a fit; it is removed once the results are complete.

    ``resume`` requires the checkpoint of an interrupted fit. A run that fails deletes nothing.
    """
    from whoknows.estimators.persistence.checkpoint import forget, is_checkpoint

    checkpoint = out / CHECKPOINT
    if resume and not is_checkpoint(checkpoint):
        raise CommandError(
            f"{out}: there is nothing to resume: no interrupted fit has left its {CHECKPOINT} there. "
            "Without --resume a fit starts from the beginning.",
            USAGE,
        )
    try:
        yield checkpoint
    except BaseException:
        if is_checkpoint(checkpoint):
            say.note(f"What was done is kept in {checkpoint}: the same with --resume goes on from there.")
        raise
    for draft in out.glob(DRAFTS) if resume else ():  # now that the results are complete
        shutil.rmtree(draft)
    if is_checkpoint(checkpoint):
        forget(checkpoint)


def take_up(checkpoint: Path, resume: bool, say: Say) -> None:
    """Say what becomes of what an interrupted fit has done, and clear away what is of no use."""
    from whoknows.estimators.persistence.checkpoint import forget, is_checkpoint

    if resume:
        say.note(f"{checkpoint}: what an interrupted fit has done is not done again.")
    elif is_checkpoint(checkpoint):
        say.note(f"{checkpoint}: removed, and with it what an interrupted fit had done; see --resume.")
        forget(checkpoint)


class Stages(ExitStack):
    """One bar at a time: reading all files, as often as a fit does, and fitting."""

    def __init__(self, say: Say, n_items: int) -> None:
        super().__init__()
        self.say, self.n_items, self.passes = say, n_items, 0
        self._now, self._last = "", 0.0
        self._update: Update = lambda done, of: None

    def reading(self, row: float, n_rows: float) -> None:
        """Tell of a pass over the files; a row before the last one begins another."""
        if self._now != "reading" or row <= self._last:
            self.passes += 1
            self._turn_to("reading", f"Pass {self.passes} over {self.n_items} items")
        self._last = row
        self._update(row, n_rows)

    def fitting(self, done: float, of: float) -> None:
        """Tell of the fit itself."""
        if self._now != "fitting":
            self._turn_to("fitting", "Fitting")
        self._update(done, of)

    def _turn_to(self, now: str, what: str) -> None:
        self.close()
        self._now, self._update = now, self.enter_context(self.say.progress(what))
