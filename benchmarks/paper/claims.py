"""Which of the paper's claims hold in these runs: a quotation, a verdict, the numbers behind it, and why.

    python -m benchmarks.paper.claims [--out FOLDER]

Each claim is judged for LGP, the model that the paper proposes, and for `AutoCrowdClassifier`. Verdicts and
numbers are computed from the CSV files by the rules of `benchmarks.common.verdicts`. The explanation depends
on the verdict.
"""

import argparse
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import groupby
from pathlib import Path
from typing import Any

import pandas as pd

from benchmarks.common import verdicts
from benchmarks.common.command import RESULTS
from benchmarks.common.tables import markdown, read
from benchmarks.common.verdicts import FAILS, HOLDS, OPEN, PART, RULES
from benchmarks.paper import figure3, figures45, summary, unlabelled
from benchmarks.paper.methods import NAMES
from benchmarks.paper.summary import BASELINES, OURS, count, paired_difference, points

LGP = "lgp"
KEYS = {"figure3": figure3.KEY, "figures45": figures45.KEY, "unlabelled": unlabelled.KEY}

Cells = Mapping[str, pd.DataFrame]  # by file name
Finding = tuple[str, str]  # a verdict, and the numbers it rests on
Judge = Callable[[Cells], Finding]
NOT_RUN: Finding = (OPEN, "")


# --- how they are judged --------------------------------------------------------------------------------


def best(method: str, file: str = "figure3") -> Judge:
    """Best in almost all cells."""

    def judge(cells: Cells) -> Finding:
        wide = _wide(cells, file, [method, *BASELINES])
        if wide is None:
            return NOT_RUN
        held = summary.won(summary.cell_means(wide), method)
        each = ", ".join(f"{name} {count(own)}" for name, own in held.groupby(level=0))
        return verdicts.best(held), f"Wins {count(held)} cells ({each})"

    return judge


def better(*pairs: tuple[str, str], beside: Sequence[tuple[str, str]] = (), **where: Any) -> Judge:
    """The first of each pair is better than the second; pairs ``beside`` are shown, not judged."""
    return partial(_compare, pairs=pairs, beside=beside, rule=verdicts.better, **where)


def better_than(others: Sequence[str], *methods: str, **where: Any) -> Judge:
    """Each of the methods is better than each of the others."""
    return better(*((method, other) for method in methods for other in others), **where)


def alike(method: str, other: str, **where: Any) -> Judge:
    """The two methods are almost equal in every study."""
    return partial(_compare, pairs=[(method, other)], beside=[], rule=verdicts.alike, **where)


def _compare(
    cells: Cells,
    *,
    pairs: Sequence[tuple[str, str]],
    beside: Sequence[tuple[str, str]],
    rule: Callable[[pd.DataFrame], str],
    file: str = "figure3",
    measure: str = "accuracy",
    at: float | None = None,
) -> Finding:
    """Judge paired differences at all proportions, or at the proportion ``at``."""
    every = [*pairs, *beside]
    wide = _wide(cells, file, {method for pair in every for method in pair}, measure, at)
    if wide is None:
        return NOT_RUN
    tables = {pair: paired_difference(wide, *pair) for pair in every}
    verdict = verdicts.together(rule(tables[pair]) for pair in pairs)
    words = []
    for method, own in groupby(every, key=lambda pair: pair[0]):
        who = "" if method in (LGP, OURS) else f"{NAMES[method]}: "  # those two head their line
        others = ", ".join(f"to {NAMES[pair[1]]} {_told(tables[pair], measure)}" for pair in own)
        words.append(f"{who}difference {others}")
    return verdict, _sentence("; ".join(words))


def gains_from_unlabelled(model: str) -> Judge:
    """A model is better with the unlabelled items of the paper's data sets than without them."""

    def judge(cells: Cells) -> Finding:
        rows = cells.get("unlabelled", pd.DataFrame(columns=["set", "method"]))
        rows = rows[rows["set"].isin(figure3.sets.PAPER) & (rows["method"] == model)]
        if rows.empty:
            return NOT_RUN
        rows = rows.rename(columns={"labelled": "proportion"})
        wide = rows.pivot(index=["set", "repeat", "proportion"], columns="unlabelled", values="accuracy")
        table = paired_difference(wide.reindex(columns=["with", "without"]), "with", "without")
        return verdicts.better(table), f"With minus without unlabelled items {_told(table)}"

    return judge


def _told(table: pd.DataFrame, measure: str = "accuracy") -> str:
    """Points ± standard error, for each study or with the number of data sets where it is clear."""
    sets, unit = table.drop("mean"), "points" if measure == "accuracy" else "points of AUC"
    up, down = (verdicts.clearly(sets, sign).sum() for sign in (1, -1))
    where = f"clearly above 0 in {up}, below in {down} of {len(sets)} data sets"
    if table.index.name == "study":
        where = ", ".join(f"{row.Index} {points(row.mean, row.sem)}" for row in sets.itertuples())
    return f"{points(*table.loc['mean'])} {unit} ({where})"


def _sentence(text: str) -> str:
    return text[0].upper() + text[1:]


def _wide(
    cells: Cells, file: str, methods: Iterable[str], measure: str = "accuracy", at: float | None = None
) -> pd.DataFrame | None:
    """One row per fold, one column per method; None if no fold has a result of every method."""
    if file not in cells:
        return None
    rows = cells[file] if at is None else cells[file][cells[file]["proportion"] == at]
    wide = summary.side_by_side(rows, KEYS[file][:-1], measure).reindex(columns=list(methods)).dropna()
    return None if wide.empty else wide


# --- the claims -----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Side:
    """How a claim is judged for one model, with an explanation for each verdict.

    ``fails`` is only needed if it differs from ``part``.
    """

    judge: Judge
    holds: str
    part: str
    fails: str = ""

    def why(self, verdict: str) -> str:
        """Return the explanation of a verdict; empty if the benchmark has not been run."""
        return {HOLDS: self.holds, PART: self.part, FAILS: self.fails or self.part}.get(verdict, "")


@dataclass(frozen=True)
class Claim:
    """A claim of the paper, in short and quoted, and how it is judged for LGP and for `OURS`.

    ``ours`` is a sentence if no run can decide.
    """

    short: str
    quote: str
    where: str
    lgp: Side
    ours: Side | str


SUPERVISED = ("vote", "annotator", "ml-gaussian")
ONE_LABEL = ("vote", "annotator", "tsvm")  # learn from the vote or from one annotator
ROC = {"file": "figures45", "measure": "auc"}
PRIOR = "ID is the same model without the graph prior, so the difference is the effect of the prior."
RIDGE = (
    "ID is the same model without the graph prior. For a linear boundary the prior adds little: relative "
    "to the "
    "variance of the items it favours the directions of largest variance, as a ridge does."
)
BY_VOTE = (
    "A likely explanation: the reference of the colposcopies is the readers' own vote, which favours methods "
    "that learn the vote, and few labelled images say little about the readers. In the simulated study the "
    "readers make correlated errors near the decision boundary, which no method here models."
)
SEVERAL = "Several noisy labels per item carry more information than one."
CLAIMS = (
    Claim(
        "best in almost all cells",
        "our semi-supervised multi-labeler based on the logistic and Laplacian prior (Logistic-GP) has the "
        "best accuracies in almost all proportion of labeled training data cases for all the datasets",
        "Sec. 4.1",
        Side(
            best(LGP),
            "It weights annotators item by item, which none of the baselines does.",
            "Its boundary is linear, as those of ML original and the transductive SVM are, and the methods "
            "share the cells.",
        ),
        Side(
            best(OURS),
            "It weights annotators item by item, and averages linear and nonlinear boundaries.",
            "On data sets where a linear boundary is best, or where little can be learned, averaging over "
            "nonlinear "
            "boundaries costs about as much as modelling the annotators gains.",
        ),
    ),
    Claim(
        "better than the transductive SVM",
        "our approach performed better than SVM-Light because we were able to take into account multiple "
        "labelers expertise into our model",
        "Sec. 4.1",
        Side(
            better((LGP, "tsvm")),
            "Both have a linear boundary and see the same items; only LGP models the annotators.",
            "The penalty of the SVM is chosen by grid search, as in the paper, while the prior of LGP is "
            "fixed. "
            "This offsets part or all of the gain from modelling the annotators.",
        ),
        Side(
            better((OURS, "tsvm")),
            "It models the annotators, and its boundaries may be nonlinear.",
            "On some data sets a linear boundary with a tuned penalty is as good as any.",
        ),
    ),
    Claim(
        "better than supervised methods",
        "It is better than the supervised methods",
        "Sec. 4.1",
        Side(
            better_than(SUPERVISED, LGP),
            "It weights annotators item by item; the role of unlabelled items is the next claim.",
            "It depends on the method: ML original weights annotators too, a vote does not.",
            "Neither the graph prior nor item-dependent expertise improves a linear boundary here.",
        ),
        Side(
            better_than(SUPERVISED, OURS),
            "It weights annotators and allows nonlinear boundaries; the role of unlabelled items is the next claim.",
            "On data sets where a linear boundary fits well, nonlinear boundaries gain nothing.",
        ),
    ),
    Claim(
        "better because of unlabelled items",
        "because we are able to learn from unlabeled data as well",
        "Sec. 4.1",
        Side(
            better((LGP, "id")),
            PRIOR,
            "ID is the same model without the graph prior. The prior adds little, or helps on some data "
            "sets only, "
            "so it does not explain the advantage of LGP.",
            RIDGE,
        ),
        Side(
            gains_from_unlabelled(OURS),
            "Scaling, maps and graph are learned from all items; held-out labels decide the weight of each map.",
            "Maps learned from all items add little, or help on some data sets and hurt on others.",
            "On average the unlabelled items of these data sets change nothing; on other data they help.",
        ),
    ),
    Claim(
        "better than ML original",
        "Moreover, it is better than ML original",
        "Sec. 4.1",
        Side(
            better((LGP, "ml-gaussian")),
            "They differ in the graph prior and in σ(x); the claims before and after this one separate the two.",
            "They differ only in the graph prior and in σ(x), which change a linear boundary very little.",
        ),
        Side(
            better((OURS, "ml-gaussian"), beside=[(OURS, "ml-bernoulli")]),
            "Boundaries may be nonlinear, annotators are Bernoulli, and predictions average over uncertain parameters.",
            "On data sets where a linear boundary fits well, ML original is hard to beat.",
        ),
    ),
    Claim(
        "better because expertise varies with x",
        "also because we take the effect of the variance of an annotator's accuracy (σ(x)) in labeling "
        "across different observations into account",
        "Sec. 4.1",
        Side(
            better(("id", "ml-gaussian")),
            "Each annotator is an expert on one cluster, which a linear σ(x) can approximate.",
            "Each annotator is an expert on one cluster. A linear σ(x) approximates this only roughly, and few "
            "labels leave its direction uncertain.",
        ),
        "Not tested: the ensemble averages members with constant and with varying expertise.",
    ),
    Claim(
        "better than one annotator",
        "learning from multiple annotators improves classification performance over standard single "
        "annotator supervised and semi-supervised classifiers",
        "Sec. 5",
        Side(
            better((LGP, "annotator"), beside=[(LGP, "annotator-best")]),
            SEVERAL,
            "On some sets there is little to learn, whoever labels.",
        ),
        Side(
            better((OURS, "annotator"), beside=[(OURS, "annotator-best")]),
            SEVERAL,
            "On some sets there is little to learn, whoever labels.",
        ),
    ),
    Claim(
        "medical study: best on average",
        "our model outperforms all the baseline methods for this data in terms of average accuracies",
        "Sec. 4.2, Fig. 4",
        Side(best(LGP, "figures45"), "It weights the readers, case by case.", BY_VOTE),
        Side(best(OURS, "figures45"), "It weights the readers, case by case.", BY_VOTE),
    ),
    Claim(
        "medical study: better because of unlabelled items",
        "This is because we have extra unlabeled information helping us improve our performance",
        "Sec. 4.2, Fig. 4",
        Side(
            better((LGP, "id"), file="figures45"),
            PRIOR,
            "ID is the same model without the graph prior, which adds little, or only in one study.",
            RIDGE,
        ),
        "Not run on these studies.",
    ),
    Claim(
        "ROC: best with few labels",
        "The Logistic-GP (LGP) model outperform the others when there are only few labeled points (at 20% of "
        "the training data)",
        "Sec. 4.2, Fig. 5",
        Side(
            better_than(BASELINES, LGP, at=0.2, **ROC),
            "With few labels it matters most which reader to trust.",
            "Few labels say little about the readers.",
        ),
        Side(
            better_than(BASELINES, OURS, at=0.2, **ROC),
            "With few labels it pays to average over uncertain parameters.",
            "Few labels say little about the readers or the boundary.",
        ),
    ),
    Claim(
        "ROC: almost ML original with all labels",
        "almost equal in performance to ML original when using all 100% labeled (i.e. no extra unlabeled information)",
        "Sec. 4.2, Fig. 5",
        Side(
            alike(LGP, "ml-gaussian", at=1.0, **ROC),
            "With all items labelled the graph adds no information, and σ(x) hardly changes the ranking of cases.",
            "They differ in σ(x) and in the prior, which changes the ranking of cases.",
        ),
        "The claim is about two models of the paper.",
    ),
    Claim(
        "ROC: with all labels, better than votes and one annotator",
        "when all labels are available, Logistic-GP together with ML original, both of which learn from "
        "multiple labelers, outperformed the others which are simply based on the majority label "
        "(ground-truth) or labels from single annotators",
        "Sec. 4.2, Fig. 5",
        Side(
            better_than(ONE_LABEL, LGP, "ml-gaussian", at=1.0, **ROC),
            "The labels of all readers carry more information than their vote.",
            BY_VOTE,
        ),
        Side(
            better_than(ONE_LABEL, OURS, at=1.0, **ROC),
            "The labels of all readers carry more information than their vote.",
            BY_VOTE,
        ),
    ),
)


# --- as text --------------------------------------------------------------------------------------------


def load(folder: Path) -> dict[str, pd.DataFrame]:
    """Cells of the CSV files that exist, with single annotators replaced by their mean and their best."""
    found = {name: key for name, key in KEYS.items() if (folder / f"{name}.csv").exists()}
    cells = {name: read(folder / f"{name}.csv", key) for name, key in found.items()}
    alone = [name for name in ("figure3", "figures45") if name in cells]
    return cells | {name: summary.with_annotators(cells[name], KEYS[name][:-1]) for name in alone}


def page(folder: Path) -> str:
    """Rules, an overview, and every claim that the CSV files in the folder can decide, as markdown."""
    cells, names = load(folder), (NAMES[LGP], NAMES[OURS])
    overview, parts = [], []
    for claim in CLAIMS:
        told = [_tell(side, cells) for side in (claim.lgp, claim.ours)]
        overview.append([verdict for verdict, _ in told])
        if not {HOLDS, PART, FAILS} & set(overview[-1]):
            continue
        head = f"**{_sentence(claim.short)}**: “{claim.quote}” ({claim.where})"
        lines = [f"- {name}: **{verdict}**. {words}" for name, (verdict, words) in zip(names, told, strict=True)]
        parts.append("\n".join([head, "", *map(str.rstrip, lines)]))
    claims = pd.Index([claim.short for claim in CLAIMS], name="claim")
    return "\n\n".join([RULES, markdown(pd.DataFrame(overview, claims, names), words=True), *parts])


def not_reproduced(folder: Path) -> str:
    """Name, in one sentence, the claims about LGP that do not hold, and those that hold in part."""
    cells = load(folder)
    verdicts_of = {claim.short: claim.lgp.judge(cells)[0] for claim in CLAIMS}
    named = {v: "; ".join(short for short, found in verdicts_of.items() if found == v) for v in (FAILS, PART)}
    if not named[FAILS]:
        return ""
    partly = f" These hold in part: {named[PART]}." if named[PART] else ""
    return f"These claims of the paper about LGP do not reproduce here: {named[FAILS]}.{partly}"


def _tell(side: Side | str, cells: Cells) -> tuple[str, str]:
    """Verdict, and the numbers with their explanation."""
    if isinstance(side, str):
        return "–", side
    verdict, figures = side.judge(cells)
    return (verdict, f"{figures}. {side.why(verdict)}") if verdict != OPEN else NOT_RUN


def main():
    command = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    command.add_argument(
        "--out", type=Path, default=RESULTS / "paper", metavar="FOLDER", help="folder of the CSV files"
    )
    print(page(command.parse_args().out))


if __name__ == "__main__":
    main()
