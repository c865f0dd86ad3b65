"""Long fits: progress over several passes, and checkpoints from which an interrupted fit can resume."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

from whoknows.apps.cli.console import Console, Update
from whoknows.apps.cli.errors import USAGE, CommandError
from whoknows.apps.cli.inputs import watch
from whoknows.apps.cli.memory import bytes_of

CHECKPOINT = "checkpoint"  # folder in that of the results, removed when they are complete
DRAFTS = f".{8 * '[0-9a-f]'}.part"  # draft folders of killed fits
IN_MEMORY = ("gp", "regression")  # models that need all items at once


def as_needed(X: Any, model: str, memory: str | None) -> Any:
    """Return features out of core, or in memory for models that need all items at once."""
    if model not in IN_MEMORY:
        return X
    needs, allowed = X.shape[0] * X.shape[1] * 8, bytes_of(memory)
    if needs > allowed:
        raise CommandError(
            f"--model {model} needs all features in memory: {needs / 1e9:.3g} GB, but --memory allows "
            f"{allowed / 1e9:.3g} GB. Use --model auto, id or lgp.",
            USAGE,
        )
    return X[:]


def fit(model: Any, X: Any, Y: Any, gold: Any, console: Console, checkpoint: Path) -> Any:
    """Fit to features out of core, with one progress bar per pass over the files, and one for the fit.

    The state is kept in the folder ``checkpoint``, except for regression.
    """
    from whoknows import AutoCrowdClassifier, CrowdRegressor
    from whoknows.apps.cli.models import by_rise

    options = {"gold": gold}
    if not isinstance(model, CrowdRegressor):
        options["checkpoint"] = checkpoint
    with Stages(console, Y.n_items) as stages:
        watch(X, stages.reading)
        if isinstance(model, AutoCrowdClassifier):
            return model.fit(X, Y, lambda done, of, seconds: stages.fitting(done, of), **options)
        return model.fit(X, Y, by_rise(stages.fitting, model.tol, model.max_iter), **options)


@contextmanager
def checkpoint_folder(out: Path, resume: bool, console: Console) -> Iterator[Path]:
    """Yield the checkpoint folder of a fit; it is removed once the results are complete.

    ``resume`` requires the checkpoint of an interrupted fit. A run that fails deletes nothing.
    """
    from whoknows.estimators.persistence.checkpoint import forget, is_checkpoint

    checkpoint = out / CHECKPOINT
    if resume and not is_checkpoint(checkpoint):
        raise CommandError(
            f"{out}: there is nothing to resume: it has no {CHECKPOINT} of an interrupted fit. "
            "Without --resume a fit starts from the beginning.",
            USAGE,
        )
    try:
        yield checkpoint
    except BaseException:
        if is_checkpoint(checkpoint):
            console.note(f"The state of the fit is kept in {checkpoint}: repeat the command with --resume.")
        raise
    for draft in out.glob(DRAFTS) if resume else ():  # now that the results are complete
        shutil.rmtree(draft)
    if is_checkpoint(checkpoint):
        forget(checkpoint)


def announce(checkpoint: Path, resume: bool, console: Console) -> None:
    """Say whether an interrupted fit is resumed; otherwise remove its checkpoint."""
    from whoknows.estimators.persistence.checkpoint import forget, is_checkpoint

    if resume:
        console.note(f"{checkpoint}: resuming the interrupted fit.")
    elif is_checkpoint(checkpoint):
        console.note(f"{checkpoint}: removed, with the state of an interrupted fit; see --resume.")
        forget(checkpoint)


class Stages(ExitStack):
    """One progress bar at a time: for each pass over the files, and for the fit between them."""

    def __init__(self, console: Console, n_items: int) -> None:
        super().__init__()
        self.console, self.n_items, self.passes = console, n_items, 0
        self._stage, self._last = "", 0.0
        self._update: Update = lambda done, of: None

    def reading(self, row: float, n_rows: float) -> None:
        """Report progress of a pass over the files; a row before the last one begins another pass."""
        if self._stage != "reading" or row <= self._last:
            self.passes += 1
            self._begin("reading", f"Pass {self.passes} over {self.n_items} items")
        self._last = row
        self._update(row, n_rows)

    def fitting(self, done: float, of: float) -> None:
        """Report progress of the fit."""
        if self._stage != "fitting":
            self._begin("fitting", "Fitting")
        self._update(done, of)

    def _begin(self, stage: str, what: str) -> None:
        self.close()
        self._stage, self._update = stage, self.enter_context(self.console.progress(what))
