"""What tables of the docs show of their rows: functions from rows to texts, whose index is the first column."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np
import pandas as pd

from benchmarks.common.tables import fixed


def share(value: float, digits: int = 2) -> str:
    """Format a share as the docs do: .93."""
    return "" if np.isnan(value) else fixed(value, digits).removeprefix("0")


def by_mean(keys: Mapping[str, str], cells: Mapping[str, tuple[str, int]]) -> Callable[[pd.DataFrame], pd.DataFrame]:
    """Return what shows the mean of columns for each combination of others, in the order of the rows.

    Parameters
    ----------
    keys : mapping from heading to column
    cells : mapping from heading to column and number of digits
    """

    def table(rows: pd.DataFrame) -> pd.DataFrame:
        means = rows.groupby(list(keys.values()), sort=False)[[column for column, _ in cells.values()]].mean()
        shown = means.index.to_frame(index=False).astype(str).set_axis(list(keys), axis=1)
        for heading, (column, digits) in cells.items():
            shown[heading] = [share(value, digits) for value in means[column]]
        return shown.set_index(next(iter(keys)))

    return table


def of_choice(rows: pd.DataFrame) -> pd.DataFrame:
    """How often the better of two settings was chosen, by each way to hold out labels."""
    groups = rows.groupby(["question", "items"], sort=False)
    shown = groups[["n_labels"]].mean().round().astype(int).rename(columns={"n_labels": "labels, about"})
    names = {"by_item": "`ItemFolds`", "given_others": "`ItemFolds`, given others", "by_label": "`AnnotationFolds`"}
    shown = shown.join(groups[list(names)].sum().astype(int).rename(columns=names))
    shown.index = pd.Index([f"{what}, {n} items" for what, n in shown.index], name="simulated crowd")
    return shown


def of_variances(rows: pd.DataFrame) -> pd.DataFrame:
    """Accuracy, stated probability and log-loss by prior variance."""
    rows = rows.assign(variance=rows["variance"].astype(int))
    wide = rows.pivot_table(index="set", columns="variance", values=["accuracy", "stated", "log_loss"])
    lines = {
        "digits, 60: accuracy": ("accuracy", "digits", 3),
        "digits, 60: mean stated probability": ("stated", "digits", 2),
        **{f"{name}, {n}: log-loss": ("log_loss", name, 2) for name, n in (("digits", 60), ("wine", 50), ("iris", 50))},
    }
    cells = [[share(value, digits) for value in wide.loc[name, what]] for what, name, digits in lines.values()]
    index = pd.Index(list(lines), name="data, labelled items; variance")
    return pd.DataFrame(cells, index, wide["accuracy"].columns)


def of_empty_class(rows: pd.DataFrame) -> pd.DataFrame:
    """Accuracy with two classes, and with a third one that nobody uses."""
    settings = {
        "two": "two classes",
        "three": "a third, empty class",
        "bernoulli": 'the same, `annotators="bernoulli"`',
    }
    lines = {}
    for setting, name in settings.items():
        lost = rows[f"new_{setting}"] - rows["new_two"]
        error = 100 * lost.std(ddof=1) / np.sqrt(len(rows))
        points = "" if setting == "two" else f"{fixed(100 * lost.mean(), 1, '+')} ± {fixed(error, 1)}"
        means = (share(rows[f"{what}_{setting}"].mean(), 3) for what in ("new", "consensus"))
        lines[name] = [*means, points]
    names = ["accuracy on new items", "accuracy of the consensus", "new items, points"]
    return pd.DataFrame.from_dict(lines, orient="index", columns=names).rename_axis("declared classes")


def of_calibration(rows: pd.DataFrame) -> pd.DataFrame:
    """Share that is right and mean stated probability, of consensus and classifier."""
    rows = rows[rows["method"] == "CrowdClassifier"]
    wide = rows.pivot_table(index=["set", "share"], columns="what", values=["right", "stated"], sort=False)
    shown = pd.DataFrame({"labelled items": [f"{100 * part:.0f} %" for _, part in wide.index]}, index=wide.index)
    for what, name in (("consensus", "consensus"), ("classifier", "`predict`")):
        for value in ("right", "stated"):
            shown[f"{name} {value}"] = [share(cell, 3) for cell in wide[value, what]]
    return shown.droplevel("share").rename_axis("crowd")


WORLDS = {
    "sin": "waves, products and steps",
    "clusters": "64 clusters that overlap",
    "cells": "200 clusters far apart",
    "checker": "checkerboard, 5 × 5",
    "phoneme": "phoneme",
}


def of_capacity(rows: pd.DataFrame) -> pd.DataFrame:
    """Accuracy of consensus and of new items by method and world."""
    means = rows.groupby(["method", "world"], sort=False)[["consensus", "classifier"]].mean()
    shown = pd.DataFrame(index=pd.Index(rows["method"].unique(), name="method"))
    for world in (name for name in WORLDS if name in set(rows["world"])):
        each = means.xs(world, level="world").reindex(shown.index)
        cells = (f"{share(consensus, 3)} / {share(new, 3)}" for consensus, new in each.to_numpy())
        shown[WORLDS[world]] = ["" if cell == " / " else cell for cell in cells]
    return shown


TREES_INSIDE, TREES_TAUGHT = "CrowdClassifier(truth=trees)", "Dawid-Skene + trees without early stopping"


def of_trees(rows: pd.DataFrame) -> pd.DataFrame:
    """The trees inside our model beside trees that a posterior teaches."""
    rows = rows[rows["method"].isin((TREES_INSIDE, TREES_TAUGHT))]
    wide = rows.pivot_table(index="world", columns="method", values=["consensus", "classifier"])
    worlds = [name for name in WORLDS if name in wide.index]
    shown = pd.DataFrame(index=pd.Index([WORLDS[name] for name in worlds], name="crowd"))
    ours = {TREES_INSIDE: "`truth=trees`"}
    for what, heading, names in (
        ("consensus", "labelled items: {}", {TREES_TAUGHT: "Dawid and Skene"} | ours),
        ("classifier", "new items: {}", {TREES_TAUGHT: "trees trained on it"} | ours),
    ):
        for method, name in names.items():
            shown[heading.format(name)] = [share(value, 3) for value in wide.loc[worlds, (what, method)]]
    counted = rows.groupby("world")["seed"].nunique()
    shown["draws"] = [str(counted[name]) for name in worlds]
    return shown


def of_gpu(rows: pd.DataFrame) -> pd.DataFrame:
    """Seconds on a GPU."""
    rows = rows[rows["engine"] == "gpu"]
    what = {"pass over all items": "the pass over all items for the anchor graph"}
    what |= {"default fit": "the default fit, including the selection of members and the posterior of all items"}
    cells = {
        "items": [f"{int(n):,}".replace(",", " ") for n in rows["items"]],
        "seconds": [fixed(value, 2 if value < 1 else 1) for value in rows["seconds"]],
        "note": rows["note"].tolist(),
    }
    return pd.DataFrame(cells, index=rows["measurement"].replace(what).rename("on one H200"))


def of_cluster(rows: pd.DataFrame) -> pd.DataFrame:
    """Seconds and costs of an iteration on a cluster."""
    rows = rows[rows["engine"] == "dask"]
    cells = {"seconds": [f"{value:g}" for value in rows["seconds"]], "note": rows["note"].fillna("").tolist()}
    return pd.DataFrame(cells, index=rows["measurement"].rename('one iteration of `solver="vb"`'))


STRATEGIES = {"suggest": "`suggest`", "random": "random pairs", "uncertainty": "least certain items, random annotator"}
SHOWN, LAST = ("100", "200", "300", "400", "500", "600", "800", "1000"), "1000"  # numbers of labels


def of_ask(rows: pd.DataFrame) -> pd.DataFrame:
    """Median accuracy by strategy and number of labels."""
    medians = rows.groupby("strategy")[list(SHOWN)].median().loc[list(STRATEGIES)]
    return medians.map(lambda value: share(value, 3)).rename(STRATEGIES).rename_axis("labels bought")


def of_labels_needed(rows: pd.DataFrame) -> pd.DataFrame:
    """Numbers of labels at which a strategy first reaches the last accuracy of random pairs, over seeds."""
    budgets = [column for column in rows if column.isdecimal()]
    goals = rows[rows["strategy"] == "random"].set_index("seed")[LAST]
    lines = {}
    for strategy, name in STRATEGIES.items():
        own = rows[rows["strategy"] == strategy].set_index("seed")[budgets]
        reached = own.ge(goals, axis=0)
        needed = reached.idxmax(axis=1).astype(float).where(reached.any(axis=1), np.inf)
        lines[name] = [f"{value:g}".replace("inf", "never") for value in (needed.median(), needed.min(), needed.max())]
    return pd.DataFrame.from_dict(lines, orient="index", columns=["median", "least", "most"]).rename_axis(
        "labels needed"
    )


GOOD = 0.9  # accuracy of the vote from which judges are called good


def of_rates(rows: pd.DataFrame) -> pd.DataFrame:
    """Coverage and width, of all studies and by how good the judges are."""
    lines, index = [], []
    for (n_gold, prediction), own in rows.groupby(["gold", "prediction"], sort=True):
        good = own["vote_is_right"] >= GOOD
        parts = (own, own[good], own[~good])
        index.append(n_gold)
        lines.append([prediction, *(share(part[what].mean()) for what in ("covers", "width") for part in parts)])
    names = ["prediction", "covers", "with good judges", "others", "width", "with good judges", "others"]
    return pd.DataFrame(lines, pd.Index(index, name="gold items"), names)


JUDGES = {
    "independent": "eight independent judges",
    "trap": "one good judge, eight follow a trap",
    "blocks": "four follow the truth, five a trap",
    "hard": "a quarter of the items misleads most",
    "groups": "five models, five prompts each",
}


def of_gold(rows: pd.DataFrame) -> pd.DataFrame:
    """Accuracy of the consensus by world and method."""
    wide = rows.pivot_table(index=["world", "features"], columns="method", values="consensus", sort=False)
    worlds = [
        (world, features) for world in JUDGES for features in ("noise", "telling") if (world, features) in wide.index
    ]
    shown = wide.loc[worlds].map(lambda value: share(value, 2))
    names = {"noise": "x is noise", "telling": "x tells the classes apart"}
    shown.index = pd.Index([f"{JUDGES[world]}; {names[features]}" for world, features in worlds], name="judges")
    return shown


def of_intervals(rows: pd.DataFrame) -> pd.DataFrame:
    """Coverage by setting, where the annotators are mostly right; and of all data sets."""
    lines, index = [], []
    what = {"truth": r"p(z \| x)", "expertise": "expertise", "ranking": "ranking", "unseen": "unseen annotator"}
    keys = {"labelled": "labelled items", "annotators": "annotators", "per_item": "labels per item"}
    for (kind, *setting), own in rows.groupby(["map", *keys], sort=False):
        right, every = own[own["mostly_right"] == 1][list(what)].mean(), own[list(what)].mean()
        index.append(kind)
        lines.append(
            [
                *(str(n) for n in setting),
                *(share(value) for value in right),
                f"{share(every['truth'])}, {share(every['expertise'])}",
            ]
        )
    names = [*keys.values(), *what.values(), r"any population: p(z \| x), expertise"]
    return pd.DataFrame(lines, pd.Index(index, name="map"), names).sort_index(kind="stable")


def of_update(rows: pd.DataFrame) -> pd.DataFrame:
    """Iterations, speed-up and differences of an update."""
    whole = {"labels": "labels", "fit_iterations": "iterations of a fit", "update_iterations": "of an update"}
    others, models = ("ratio", "largest_difference", "turned"), list(rows["model"].unique())
    means = rows.groupby(["model", "items", "share"])[[*whole, *others]].mean()
    means = means.loc[sorted(means.index, key=lambda key: models.index(key[0]))]  # in the order of the rows
    shown = means.index.to_frame(index=False).set_index("model")
    shown["share"] = [f"{100 * value:.0f} %" for value in shown["share"]]
    for column, name in whole.items():
        shown[name] = [f"{value:.0f}" for value in means[column]]
    shown["speed-up"] = [fixed(value, 1) for value in means["ratio"]]
    shown["largest difference"] = [share(value) for value in means["largest_difference"]]
    shown["class differs"] = [f"{fixed(100 * value, 2)} %" for value in means["turned"]]
    return shown.rename(columns={"share": "new"})


GRAPHS = {"lgp": "LGP", "spectral": "spectral map", "gp": "GP"}


def of_graphs(rows: pd.DataFrame) -> pd.DataFrame:
    """Mean accuracy and its standard error by data set and graph."""
    groups = rows.groupby(["set", "graph"], sort=False)[list(GRAPHS)]
    means, errors = groups.mean(), groups.sem()
    shown = means.index.to_frame(index=False).set_index("set")
    for what, name in GRAPHS.items():
        pairs = zip(means[what], errors[what], strict=True)
        shown[name] = ["" if np.isnan(mean) else f"{share(mean, 3)} ({share(error, 3)})" for mean, error in pairs]
    names = {"digits": "digits, odd or even", "labelme": "LabelMe, its own annotators"}
    return shown.rename(names).rename_axis("data set").sort_index(kind="stable", key=lambda index: index.str.lower())


def of_web(rows: pd.DataFrame) -> pd.DataFrame:
    """Labels lost, and milliseconds until they are stored."""
    shown = rows.set_index("database")[["lost", "p50_ms", "p99_ms"]].round().astype(int)
    names = {"lost": "labels lost", "p50_ms": "half stored within, ms", "p99_ms": "99 % stored within, ms"}
    return shown.rename(columns=names)


INTERVALS = {"coverage": ("covered", 2), "mean width": ("width", 2), r"mean error of p(z \| x)": ("error", 2)}
REAL = {"items": "n_items", "annotators": "n_annotators", "labels per item": "per_item"}
