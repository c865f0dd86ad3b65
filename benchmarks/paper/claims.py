"""Which of the paper's claims hold in these runs: its words, a verdict, the figures behind it, and why.

    python -m benchmarks.paper.claims [--out FOLDER]

Each claim is judged for LGP as printed, which the paper speaks of, and for our default. Verdict and figures
are computed from the CSV files, by the rules of `benchmarks.common.verdicts`; the verdict chooses the
sentence that says why.
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

PRINTED = "lgp"
KEYS = {"figure3": figure3.KEY, "figures45": figures45.KEY, "unlabelled": unlabelled.KEY}

Cells = Mapping[str, pd.DataFrame]  # by the name of their file
Finding = tuple[str, str]  # a verdict, and the figures it rests on
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
        return verdicts.best(held), f"Best in {count(held)} cells ({each})"

    return judge


def better(*pairs: tuple[str, str], beside: Sequence[tuple[str, str]] = (), **where: Any) -> Judge:
    """The first of each pair better than the second; pairs ``beside`` are shown, not judged."""
    return partial(_compare, pairs=pairs, beside=beside, rule=verdicts.better, **where)


def better_than(others: Sequence[str], *methods: str, **where: Any) -> Judge:
    """Each of the methods better than each of the others."""
    return better(*((method, other) for method in methods for other in others), **where)


def alike(method: str, other: str, **where: Any) -> Judge:
    """Almost equal in every study."""
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
    """Judge paired differences, at all proportions or ``at`` one."""
    every = [*pairs, *beside]
    wide = _wide(cells, file, {method for pair in every for method in pair}, measure, at)
    if wide is None:
        return NOT_RUN
    tables = {pair: paired_difference(wide, *pair) for pair in every}
    verdict = verdicts.together(rule(tables[pair]) for pair in pairs)
    words = []
    for method, own in groupby(every, key=lambda pair: pair[0]):
        who = "" if method in (PRINTED, OURS) else f"{NAMES[method]} "  # those two are named already
        words.append(who + ", ".join(f"over {NAMES[pair[1]]} {_told(tables[pair], measure)}" for pair in own))
    return verdict, _sentence("; ".join(words))


def gains_from_unlabelled(model: str) -> Judge:
    """A model better with the unlabelled items of the paper's sets than without them."""

    def judge(cells: Cells) -> Finding:
        rows = cells.get("unlabelled", pd.DataFrame(columns=["set", "method"]))
        rows = rows[rows["set"].isin(figure3.sets.PAPER) & (rows["method"] == model)]
        if rows.empty:
            return NOT_RUN
        rows = rows.rename(columns={"labelled": "proportion"})
        wide = rows.pivot(index=["set", "repeat", "proportion"], columns="unlabelled", values="accuracy")
        table = paired_difference(wide.reindex(columns=["with", "without"]), "with", "without")
        return verdicts.better(table), f"With unlabelled items {_told(table)} over itself without them"

    return judge


def _told(table: pd.DataFrame, measure: str = "accuracy") -> str:
    """Points ± standard error; of each study, or in how many sets the difference is clear."""
    sets, unit = table.drop("mean"), "points" if measure == "accuracy" else "points of AUC"
    up, down = (verdicts.clearly(sets, sign).sum() for sign in (1, -1))
    where = f"clearly above in {up}, below in {down} of {len(sets)} sets"
    if table.index.name == "study":
        where = ", ".join(f"{row.Index} {points(row.mean, row.sem)}" for row in sets.itertuples())
    return f"{points(*table.loc['mean'])} {unit} ({where})"


def _sentence(text: str) -> str:
    return text[0].upper() + text[1:]


def _wide(
    cells: Cells, file: str, methods: Iterable[str], measure: str = "accuracy", at: float | None = None
) -> pd.DataFrame | None:
    """One row a fold, one column a method; None if nowhere all of the methods have a result."""
    if file not in cells:
        return None
    rows = cells[file] if at is None else cells[file][cells[file]["proportion"] == at]
    wide = summary.side_by_side(rows, KEYS[file][:-1], measure).reindex(columns=list(methods)).dropna()
    return None if wide.empty else wide


# --- the claims -----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Side:
    """How a claim is judged for one model, and why it comes out so; ``fails`` if not as in part."""

    judge: Judge
    holds: str
    part: str
    fails: str = ""

    def why(self, verdict: str) -> str:
        """Return the sentence for a verdict; none while it is open."""
        return {HOLDS: self.holds, PART: self.part, FAILS: self.fails or self.part}.get(verdict, "")


@dataclass(frozen=True)
class Claim:
    """What the paper says, in short and in its own words; how it fares for its model, and for our default.

    ``ours`` is a sentence where no run can tell.
    """

    short: str
    quote: str
    where: str
    printed: Side
    ours: Side | str


SUPERVISED = ("vote", "annotator", "ml-gaussian")
ONE_LABEL = ("vote", "annotator", "tsvm")  # learn from a vote, or from one annotator
ROC = {"file": "figures45", "measure": "auc"}
PRIOR = "ID is the same model without the graph prior: the prior helps, by as much as the figures say."
RIDGE = (
    "For a straight boundary the graph prior has little to add: measured against how far items spread, it "
    "prefers the directions in which they spread most, and a ridge favours these already."
)
BY_VOTE = (
    "What we make of it: the reference of the colposcopies is the readers' own vote, which favours what "
    "learns the vote, and with few images labelled there is little to tell readers apart by; in the "
    "simulated study readers err together near the limit, which no method here can undo."
)
SEVERAL = "Several noisy labels of an item say more than one."
CLAIMS = (
    Claim(
        "best in almost all cells",
        "our semi-supervised multi-labeler based on the logistic and Laplacian prior (Logistic-GP) has the "
        "best accuracies in almost all proportion of labeled training data cases for all the datasets",
        "Sec. 4.1",
        Side(
            best(PRINTED),
            "It weighs annotators item by item, which none of the baselines does.",
            "It draws a straight boundary, as ML original and the transductive SVM do, and shares the cells.",
        ),
        Side(
            best(OURS),
            "It weighs annotators item by item, and averages straight and curved boundaries.",
            "Where a straight line is best, or little can be learnt, averaging in curved boundaries costs "
            "about what knowing the annotators gains.",
        ),
    ),
    Claim(
        "better than the transductive SVM",
        "our approach performed better than SVM-Light because we were able to take into account multiple "
        "labelers expertise into our model",
        "Sec. 4.1",
        Side(
            better((PRINTED, "tsvm")),
            "Both draw a straight boundary and see the same items; LGP alone knows who said what.",
            "The SVM's penalty is chosen by grid search, as in the paper, and the prior of LGP is fixed: "
            "that makes up for what knowing who said what gains, in part or wholly.",
        ),
        Side(
            better((OURS, "tsvm")),
            "It knows who said what, and its boundaries may bend.",
            "On some sets a straight boundary with a tuned penalty is as good as any.",
        ),
    ),
    Claim(
        "better than supervised methods …",
        "It is better than the supervised methods",
        "Sec. 4.1",
        Side(
            better_than(SUPERVISED, PRINTED),
            "It weighs annotators item by item; what unlabelled items do is the next claim.",
            "It depends on the method: ML original weighs annotators too, a vote does not.",
            "Neither the graph nor expertise that varies gives a straight boundary an edge here.",
        ),
        Side(
            better_than(SUPERVISED, OURS),
            "It weighs annotators and its boundaries may bend; what unlabelled items do is the next claim.",
            "On sets that a straight line suits, boundaries that may bend gain nothing.",
        ),
    ),
    Claim(
        "… because of unlabelled items",
        "because we are able to learn from unlabeled data as well",
        "Sec. 4.1",
        Side(
            better((PRINTED, "id")),
            PRIOR,
            "ID is the same model without the graph prior, and the prior adds little, or not everywhere: it "
            "is not what makes LGP better.",
            RIDGE,
        ),
        Side(
            gains_from_unlabelled(OURS),
            "Scale, maps and graph are learnt from all items; held-out labels decide what each map counts.",
            "Maps learnt from all items add little, or help on some sets and mislead on others.",
            "On average unlabelled items of these sets change nothing; elsewhere they may be worth much.",
        ),
    ),
    Claim(
        "better than ML original …",
        "Moreover, it is better than ML original",
        "Sec. 4.1",
        Side(
            better((PRINTED, "ml-gaussian")),
            "They differ in the graph prior and in σ(x); the claims before and after this one part the two.",
            "They differ in the graph prior and in σ(x) alone; for a straight boundary that decides little.",
        ),
        Side(
            better((OURS, "ml-gaussian"), beside=[(OURS, "ml-bernoulli")]),
            "Boundaries may bend, annotators are Bernoulli, and what few labels leave open is averaged over.",
            "On sets that a straight line suits, ML original is hard to beat.",
        ),
    ),
    Claim(
        "… because expertise varies with x",
        "also because we take the effect of the variance of an annotator's accuracy (σ(x)) in labeling "
        "across different observations into account",
        "Sec. 4.1",
        Side(
            better(("id", "ml-gaussian")),
            "Each labeler is an expert on one cluster, and a linear σ(x) can point towards it.",
            "Each labeler is an expert on one cluster; a linear σ(x) can only point towards it, and few "
            "labels leave even that uncertain.",
        ),
        "No run parts it: members with constant and with varying expertise are averaged.",
    ),
    Claim(
        "better than one annotator",
        "learning from multiple annotators improves classification performance over standard single "
        "annotator supervised and semi-supervised classifiers",
        "Sec. 5",
        Side(
            better((PRINTED, "annotator"), beside=[(PRINTED, "annotator-best")]),
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
        "medical study: best on average …",
        "our model outperforms all the baseline methods for this data in terms of average accuracies",
        "Sec. 4.2, Fig. 4",
        Side(best(PRINTED, "figures45"), "It weighs the readers, case by case.", BY_VOTE),
        Side(best(OURS, "figures45"), "It weighs the readers, case by case.", BY_VOTE),
    ),
    Claim(
        "medical study: … because of unlabelled items",
        "This is because we have extra unlabeled information helping us improve our performance",
        "Sec. 4.2, Fig. 4",
        Side(
            better((PRINTED, "id"), file="figures45"),
            PRIOR,
            "ID is the same model without the graph prior, which adds little, or not in both studies.",
            RIDGE,
        ),
        "Not run for these studies.",
    ),
    Claim(
        "ROC: best with few labels",
        "The Logistic-GP (LGP) model outperform the others when there are only few labeled points (at 20% of "
        "the training data)",
        "Sec. 4.2, Fig. 5",
        Side(
            better_than(BASELINES, PRINTED, at=0.2, **ROC),
            "With few labels it matters most to know whose to trust.",
            "With few labels there is little to tell readers apart by.",
        ),
        Side(
            better_than(BASELINES, OURS, at=0.2, **ROC),
            "With few labels it pays to average over what they leave open.",
            "With few labels there is little to tell readers or boundaries apart by.",
        ),
    ),
    Claim(
        "ROC: almost ML original with all labels",
        "almost equal in performance to ML original when using all 100% labeled (i.e. no extra unlabeled "
        "information)",
        "Sec. 4.2, Fig. 5",
        Side(
            alike(PRINTED, "ml-gaussian", at=1.0, **ROC),
            "Where all is labelled the graph has nothing new to say, and σ(x) hardly changes the order.",
            "They differ in σ(x) and in the prior, and that changes the order of cases.",
        ),
        "A claim about two models of the paper.",
    ),
    Claim(
        "ROC: with all labels, better than votes and one annotator",
        "when all labels are available, Logistic-GP together with ML original, both of which learn from "
        "multiple labelers, outperformed the others which are simply based on the majority label "
        "(ground-truth) or labels from single annotators",
        "Sec. 4.2, Fig. 5",
        Side(
            better_than(ONE_LABEL, PRINTED, "ml-gaussian", at=1.0, **ROC),
            "All labels of all readers say more than their vote.",
            BY_VOTE,
        ),
        Side(
            better_than(ONE_LABEL, OURS, at=1.0, **ROC),
            "All labels of all readers say more than their vote.",
            BY_VOTE,
        ),
    ),
)


# --- in words -------------------------------------------------------------------------------------------


def load(folder: Path) -> dict[str, pd.DataFrame]:
    """Cells of the CSV files that are there, single annotators as their mean and their best."""
    found = {name: key for name, key in KEYS.items() if (folder / f"{name}.csv").exists()}
    cells = {name: read(folder / f"{name}.csv", key) for name, key in found.items()}
    alone = [name for name in ("figure3", "figures45") if name in cells]
    return cells | {name: summary.with_annotators(cells[name], KEYS[name][:-1]) for name in alone}


def page(folder: Path) -> str:
    """Rules, an overview, and the claims that the CSV files in the folder can tell of, as markdown."""
    cells, names = load(folder), (NAMES[PRINTED], NAMES[OURS])
    overview, parts = [], []
    for claim in CLAIMS:
        told = [_tell(side, cells) for side in (claim.printed, claim.ours)]
        overview.append([verdict for verdict, _ in told])
        if not {HOLDS, PART, FAILS} & set(overview[-1]):
            continue
        head = f"**{_sentence(claim.short)}** «{claim.quote}» ({claim.where})"
        lines = [
            f"- {name}: **{verdict}**. {words}" for name, (verdict, words) in zip(names, told, strict=True)
        ]
        parts.append("\n".join([head, "", *map(str.rstrip, lines)]))
    claims = pd.Index([claim.short for claim in CLAIMS], name="claim")
    return "\n\n".join([RULES, markdown(pd.DataFrame(overview, claims, names), words=True), *parts])


def _tell(side: Side | str, cells: Cells) -> tuple[str, str]:
    """Verdict; figures and reason."""
    if isinstance(side, str):
        return "–", side
    verdict, figures = side.judge(cells)
    return (verdict, f"{figures}. {side.why(verdict)}") if verdict != OPEN else NOT_RUN


def main():
    command = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    command.add_argument(
        "--out", type=Path, default=RESULTS / "paper", metavar="FOLDER", help="of the CSV files"
    )
    print(page(command.parse_args().out))


if __name__ == "__main__":
    main()
