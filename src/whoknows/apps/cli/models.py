"""Which estimator a word means, and its fit with progress."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Annotated, Any, Literal

import typer

from whoknows.apps.cli.console import Say, Update
from whoknows.apps.cli.errors import USAGE, CommandError

Word = Literal["auto", "lgp", "id", "gp", "ordered", "regression"]

ModelOption = Annotated[
    Word,
    typer.Option(
        metavar="WORD",
        help="auto: several models, averaged by how well they foretell held-out labels. lgp, id, gp: one of "
        "the paper's. ordered: labels have an order. regression: labels are amounts.",
    ),
]
LevelsOption = Annotated[
    list[str] | None,
    typer.Option(metavar="A,B,C", help="The labels in their order, lowest first; means --model ordered."),
]
SeedOption = Annotated[int, typer.Option(metavar="N", min=0, help="The same number, the same model.")]
IterationsOption = Annotated[int, typer.Option(metavar="N", min=1, help="Iterations of a fit at most.")]


def build(
    model: Word,
    levels: list[str] | None,
    seed: int,
    max_iter: int,
    labels: list[Any],
    alone: bool = False,
) -> Any:
    """Return the estimator, not fitted yet.

    ``labels`` are the label values of the crowd: levels are spelt as they are. Where labels are ``alone``,
    nothing known about items, "auto" is one model without anything that could depend on them.
    """
    from whoknows import AutoCrowdClassifier, CrowdClassifier, CrowdRegressor

    common: dict[str, Any] = {"max_iter": max_iter, "random_state": seed}
    order = in_order(levels, labels)
    if order is not None and model not in ("auto", "ordered"):
        raise CommandError(f"--levels goes with --model ordered; got --model {model}.", USAGE)
    if order is not None or model == "ordered":
        return CrowdClassifier("ordered", levels=order, **common)
    if alone:
        return _of_labels_alone(model, common)
    if model == "auto":
        return AutoCrowdClassifier(**common)
    return CrowdRegressor(**common) if model == "regression" else CrowdClassifier(model, **common)


def _of_labels_alone(model: Word, common: dict[str, Any]) -> Any:
    """Return what learns from labels alone: Dawid and Skene's model, and annotators of one population."""
    from whoknows import ConfusionAnnotators, CrowdClassifier, CrowdRegressor

    if model == "regression":
        return CrowdRegressor(map="linear", **common)
    if model in ("lgp", "gp"):
        raise CommandError(
            f"--model {model} needs to know something about items: --features or --text.", USAGE
        )
    return CrowdClassifier("id", ConfusionAnnotators(varies_with_x=False), "linear", **common)


def in_order(levels: list[str] | None, labels: list[Any]) -> list[Any] | None:
    """Levels as the labels spell them: 1 and not "1" where labels are numbers; a label may have commas."""
    if not levels:
        return None
    known = {str(label): label for label in labels}
    given = [[word] if word.strip() in known else word.split(",") for word in levels]
    words = [word.strip() for several in given for word in several]
    return [known.get(word, word) for word in words]


def hint(labels: list[Any], model: Word, levels: list[str] | None) -> str | None:
    """What whole numbers may mean, if that is not what the model takes them for."""
    if model != "auto" or levels or len(labels) < 4 or not all(type(label) is int for label in labels):
        return None
    found = f"Labels are {len(labels)} different numbers, {min(labels)} to {max(labels)}."
    if len(labels) > 20:
        return f"{found} If they are amounts, say --model regression."
    return f"{found} If their order counts, say --model ordered."


def fit(model: Any, X: Any, said: Any, gold: Any, say: Say) -> Any:
    """Fit with a bar of progress."""
    from whoknows import AutoCrowdClassifier

    with say.progress(f"Fitting {said.n_items} items") as update:
        if isinstance(model, AutoCrowdClassifier):
            return model.fit(X, said, lambda done, of, seconds: update(done, of), gold=gold)
        return model.fit(X, said, by_rise(update, model.tol, model.max_iter), gold=gold)


def by_rise(update: Update, tol: float, max_iter: int) -> Callable[[int, float, float], None]:
    """Progress of a fit that stops once its bound hardly rises: how far the rise has come down to that."""
    first = last = None
    most = 0.0

    def callback(iteration: int, bound: float, seconds: float) -> None:
        nonlocal first, last, most
        if last is not None:
            rise = max(abs(bound - last) / max(abs(bound), 1.0), 1e-300)
            first = rise if first is None else first
            span = math.log(first / tol) if first > tol else 1.0
            most = max(most, min(math.log(first / rise) / span, 0.99), iteration / max_iter)
            update(most, 1.0)
        last = bound

    return callback
