"""The estimator that --model names, and its fit with progress and checkpoints."""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from whoknows.apps.cli.console import Console, Update
from whoknows.apps.cli.errors import UsageError
from whoknows.apps.cli.source import bytes_of
from whoknows.apps.models import estimator

if TYPE_CHECKING:
    from whoknows.apps.cli.inputs import LoadedData

Classifier = Literal["auto", "lgp", "id", "gp", "ordered"]
Name = Literal[Classifier, "regression"]
CHECKPOINT = "checkpoint"  # folder in that of the results, removed when they are complete
DRAFTS = f".{8 * '[0-9a-f]'}.part"  # draft folders of killed fits
IN_MEMORY = ("gp", "regression")  # models that need all items at once
_CLASSIFIERS = "auto (several models), lgp, id, gp (one model), ordered (ordinal labels)"
_Model = partial(typer.Option, metavar="NAME")
_Levels = typer.Option(metavar="A,B,C", help="Order of ordinal labels, lowest first.")

ClassifierOption = Annotated[Classifier, _Model(help=f"{_CLASSIFIERS}.")]
ModelOption = Annotated[Name, _Model(help=f"{_CLASSIFIERS}, regression (real-valued labels).")]
LevelsOption = Annotated[list[str] | None, _Levels]
SeedOption = Annotated[int, typer.Option(metavar="N", min=0, help="Random seed.")]
IterationsOption = Annotated[int, typer.Option(metavar="N", min=1, help="Maximum number of iterations.")]


def build(settings: Mapping[str, Any], labels: list[Any], alone: bool = False) -> Any:
    """Return the estimator that the settings name, not fitted yet.

    ``labels`` are the label values in the data. With ``alone`` there are no features: "auto" is then a single
    model in which nothing depends on them.
    """
    model, order = settings["model"], in_order(settings["levels"], labels)
    if order is not None and model not in ("auto", "ordered"):
        raise UsageError(f"--levels requires --model ordered; got --model {model}.")
    if alone and model in ("lgp", "gp"):
        raise UsageError(f"--model {model} requires features of the items: --features or --text.")
    return estimator(model, order, alone, max_iter=settings["max_iter"], random_state=settings["seed"])


def in_order(levels: list[str] | None, labels: list[Any]) -> list[Any] | None:
    """Return levels in the types of the labels: 1, not "1", if these are numbers; labels may have commas."""
    if not levels:
        return None
    known = {str(label): label for label in labels}
    given = [[word] if word.strip() in known else word.split(",") for word in levels]
    words = [word.strip() for several in given for word in several]
    return [known.get(word, word) for word in words]


def hint(settings: Mapping[str, Any], labels: list[Any]) -> str | None:
    """Return which --model suits labels that are many integers, if none was chosen."""
    chosen = settings["model"] != "auto" or settings["levels"]
    if chosen or len(labels) < 4 or not all(type(label) is int for label in labels):
        return None
    advice = "real-valued, use --model regression" if len(labels) > 20 else "ordinal, use --model ordered"
    return f"Labels are {len(labels)} numbers, {min(labels)} to {max(labels)}. If they are {advice}."


# --- fits ------------------------------------------------------------------------------------------------


def fit(
    model: Any, data: LoadedData, gold: Any, settings: Mapping[str, Any], checkpoint: Path, console: Console
) -> None:
    """Fit with one progress bar for each pass over features out of core, and one for the fit.

    The state of an out-of-core fit is kept in the folder ``checkpoint``, except for regression.
    """
    from whoknows import AutoCrowdClassifier, CrowdRegressor

    X, Y = data.dataset.X, data.dataset.annotations
    options: dict[str, Any] = {"gold": data.dataset.by_item(gold) or None}
    if data.out_of_core:
        X = as_needed(X, settings["model"], settings["memory"])
        options |= {} if isinstance(model, CrowdRegressor) else {"checkpoint": checkpoint}
    with Stages(console, Y.n_items) as stages:
        watch(X, stages.reading)
        stages.fitting(0)
        if isinstance(model, AutoCrowdClassifier):
            model.fit(X, Y, lambda done, of, seconds: stages.fitting(done, of), **options)
        else:
            model.fit(X, Y, lambda iteration, bound, seconds: stages.fitting(iteration), **options)


def watch(X: Any, update: Update) -> None:
    """Report progress when features out of core are read."""
    if hasattr(X, "progress"):
        X.progress = update


class Stages(ExitStack):
    """One progress bar at a time: for each pass over the files, and for the fit between them."""

    def __init__(self, console: Console, n_items: int) -> None:
        super().__init__()
        self.console, self.n_items, self.passes = console, n_items, 0
        self._stage, self._last = "", 0.0
        self._update: Update = lambda done, of: None

    def reading(self, row: float, n_rows: float | None) -> None:
        """Report progress of a pass over the files; a row before the last one begins another pass."""
        if self._stage != "reading" or row <= self._last:
            self.passes += 1
            self._begin("reading", f"Pass {self.passes} over {self.n_items} items")
        self._last = row
        self._update(row, n_rows)

    def fitting(self, done: float, of: float | None = None) -> None:
        """Report progress of the fit; the number of iterations that a single model needs is not known."""
        if self._stage != "fitting":
            self._begin("fitting", f"Fitting {self.n_items} items")
        self._update(done, of)

    def _begin(self, stage: str, what: str) -> None:
        self.close()
        self._stage, self._update = stage, self.enter_context(self.console.progress(what))


def as_needed(X: Any, model: str, memory: str | None) -> Any:
    """Return features out of core, or in memory for models that need all items at once."""
    if model not in IN_MEMORY:
        return X
    needs, allowed = X.shape[0] * X.shape[1] * 8, bytes_of(memory)
    if needs > allowed:
        raise UsageError(
            f"--model {model} needs all features in memory: {needs / 1e9:.3g} GB, but --memory allows "
            f"{allowed / 1e9:.3g} GB. Use --model auto, id or lgp."
        )
    return X[:]


@contextmanager
def checkpoint_folder(out: Path, resume: bool, console: Console) -> Iterator[Path]:
    """Yield the checkpoint folder of a fit; it is removed once the results are complete.

    ``resume`` requires the checkpoint of an interrupted fit. A run that fails deletes nothing.
    """
    from whoknows.estimators.persistence.checkpoint import forget, is_checkpoint

    checkpoint = out / CHECKPOINT
    if resume and not is_checkpoint(checkpoint):
        raise UsageError(
            f"{out}: there is nothing to resume: it has no {CHECKPOINT} of an interrupted fit. "
            "Without --resume a fit starts from the beginning."
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
