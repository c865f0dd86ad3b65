"""The estimator that --model names, and its fit with progress."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Annotated, Any, Literal

import typer

from whoknows.apps.cli.console import Console, Update
from whoknows.apps.cli.errors import USAGE, CommandError

Classifier = Literal["auto", "lgp", "id", "gp", "ordered"]
Name = Literal[Classifier, "regression"]
CLASSIFIERS = (
    "auto: several models, weighted by the held-out log-likelihood of the labels. lgp, id, gp: one model of "
    "the paper. ordered: ordinal labels."
)

ClassifierOption = Annotated[Classifier, typer.Option(metavar="NAME", help=CLASSIFIERS)]
ModelOption = Annotated[
    Name, typer.Option(metavar="NAME", help=f"{CLASSIFIERS} regression: real-valued labels.")
]
LevelsOption = Annotated[
    list[str] | None, typer.Option(metavar="A,B,C", help="Order of ordinal labels, lowest first.")
]
SeedOption = Annotated[int, typer.Option(metavar="N", min=0, help="Random seed.")]
IterationsOption = Annotated[int, typer.Option(metavar="N", min=1, help="Maximum number of iterations.")]


def build(
    model: Name, levels: list[str] | None, seed: int, max_iter: int, labels: list[Any], alone: bool = False
) -> Any:
    """Return the estimator, not fitted yet.

    ``labels`` are the label values in the data. With ``alone`` there are no features: "auto" is then a single
    model in which nothing depends on them.
    """
    from whoknows import AutoCrowdClassifier, ConfusionAnnotators, CrowdClassifier, CrowdRegressor

    common: dict[str, Any] = {"max_iter": max_iter, "random_state": seed}
    order = in_order(levels, labels)
    if order is not None and model not in ("auto", "ordered"):
        raise CommandError(f"--levels requires --model ordered; got --model {model}.", USAGE)
    if order is not None or model == "ordered":
        return CrowdClassifier("ordered", levels=order, **common)
    if model == "regression":
        return CrowdRegressor(**common, **({"map": "linear"} if alone else {}))
    if alone and model in ("lgp", "gp"):
        raise CommandError(f"--model {model} requires features of the items: --features or --text.", USAGE)
    if alone:  # the model of Dawid and Skene, with a prior shared by the annotators
        return CrowdClassifier("id", ConfusionAnnotators(varies_with_x=False), "linear", **common)
    return AutoCrowdClassifier(**common) if model == "auto" else CrowdClassifier(model, **common)


def in_order(levels: list[str] | None, labels: list[Any]) -> list[Any] | None:
    """Return levels in the types of the labels: 1, not "1", if these are numbers; labels may have commas."""
    if not levels:
        return None
    known = {str(label): label for label in labels}
    given = [[word] if word.strip() in known else word.split(",") for word in levels]
    words = [word.strip() for several in given for word in several]
    return [known.get(word, word) for word in words]


def hint(labels: list[Any], model: Name, levels: list[str] | None) -> str | None:
    """Return which --model suits labels that are many integers, if none was chosen."""
    if model != "auto" or levels or len(labels) < 4 or not all(type(label) is int for label in labels):
        return None
    found = f"Labels are {len(labels)} different numbers, {min(labels)} to {max(labels)}."
    if len(labels) > 20:
        return f"{found} If they are real-valued, use --model regression."
    return f"{found} If they are ordinal, use --model ordered."


def fit(model: Any, X: Any, annotations: Any, gold: Any, console: Console) -> Any:
    """Fit with a progress bar."""
    with console.progress(f"Fitting {annotations.n_items} items") as update:
        return model.fit(X, annotations, callback(model, update), gold=gold)


def callback(model: Any, update: Update) -> Callable[[int, float, float], None]:
    """Return a callback for the fit of a model that reports its progress."""
    from whoknows import AutoCrowdClassifier

    if isinstance(model, AutoCrowdClassifier):
        return lambda done, of, seconds: update(done, of)
    return by_rise(update, model.tol, model.max_iter)


def by_rise(update: Update, tol: float, max_iter: int) -> Callable[[int, float, float], None]:
    """Report how far the relative increase of the bound has fallen towards ``tol``, on a log scale."""
    first = last = None
    most = 0.0

    def report(iteration: int, bound: float, seconds: float) -> None:
        nonlocal first, last, most
        if last is not None:
            rise = max(abs(bound - last) / max(abs(bound), 1.0), 1e-300)
            first = rise if first is None else first
            span = math.log(first / tol) if first > tol else 1.0
            most = max(most, min(math.log(first / rise) / span, 0.99), iteration / max_iter)
            update(most, 1.0)
        last = bound

    return report
