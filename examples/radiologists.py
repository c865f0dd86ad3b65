"""Five readers score mammograms from 1, harmless, to 5, malignant; nearly all of them score too high.

Four radiologists and a resident read a third of the cases each. Each reader has a severity (mean deviation
from the true level) and a spread, which is larger in dense tissue. The true level of fifteen cases is known
from a biopsy. All data are simulated; the other true levels are used only to evaluate the estimates.
"""

import numpy as np

from whoknows import Annotations, CrowdClassifier
from whoknows.data.simulate import ordered_scores

READERS = {  # severity, and spread: 0.7 times that in fatty tissue, 1.3 times in dense
    "adams": (0.9, 0.5),
    "baker": (1.4, 0.5),
    "chen": (0.2, 0.5),
    "diaz": (0.9, 0.6),
    "resident": (1.2, 1.1),
}
NEW = {"evans": (0.8, 0.5)}  # a new reader, without scores


def main() -> None:
    X, scores, truth, biopsied = simulate()
    y = Annotations.from_matrix(scores, annotators=list(READERS))
    # If levels are words, give their order: CrowdClassifier(truth="ordered", levels=["low", "high"])
    without = CrowdClassifier(truth="ordered").fit(X, y)
    model = CrowdClassifier(truth="ordered").fit(X, y, gold={i: truth[i] for i in biopsied})
    print_scores(without, model, y, truth, biopsied)
    print_readers(model, X)
    print_newcomer(model, X, truth)


def print_scores(
    without: CrowdClassifier, model: CrowdClassifier, y: Annotations, truth: np.ndarray, biopsied: list[int]
) -> None:
    scores = y.to_matrix()
    on = y.labelled & ~np.isin(np.arange(len(truth)), biopsied)
    answers = {
        "mean of the scores, rounded": np.rint(np.nanmean(scores[on], axis=1)),
        "median of the scores, rounded": np.rint(np.nanmedian(scores[on], axis=1)),
        "whoknows without the biopsies": consensus(without)[on],
        "whoknows": consensus(model)[on],
    }
    heading("The true level of every case")
    print(f"{y.n_annotations} scores; {on.sum()} cases to check, {len(biopsied)} more had a biopsy.")
    print(f"{'':<32}{'levels off':>10}{'exact':>9}{'too high':>11}{'too low':>10}")
    for name, answer in answers.items():
        off = answer - truth[on]
        print(f"{name:<32}{np.abs(off).mean():>10.2f}{(off == 0).mean():>9.0%}", end="")
        print(f"{(off > 0).mean():>11.0%}{(off < 0).mean():>10.0%}")
    print("If all readers score too high, a 3 scored as 4 looks like a 4. Scores alone identify only the")
    print("differences between readers; the fifteen biopsies identify the shared severity.")


def print_readers(model: CrowdClassifier, X: np.ndarray) -> None:
    heading("How each reader scores")
    print("In levels, and in brackets the simulated values.")
    print(f"{'':<12}{'severity':>14}{'spread, fatty':>17}{'spread, dense':>17}")
    dense, scale = is_dense(X), model.annotator_scale(X)
    for t, (name, (severity, spread)) in enumerate(READERS.items()):
        print(f"{name:<12}{f'{model.annotator_severity_[t]:+.2f} ({severity:+.2f})':>14}", end="")
        print(f"{f'{scale[~dense, t].mean():.2f} ({0.7 * spread:.2f})':>17}", end="")
        print(f"{f'{scale[dense, t].mean():.2f} ({1.3 * spread:.2f})':>17}")
    print("Rounding inflates small spreads, and the ends of the scale reduce large ones.")


def print_newcomer(model: CrowdClassifier, X: np.ndarray, truth: np.ndarray) -> None:
    heading("Probability of the exact level")
    print("Probability, its 90% interval, and in brackets the actual accuracy.")
    print(f"{'':<12}{'fatty tissue':>25}{'dense tissue':>25}")
    dense, everyone = is_dense(X), READERS | NEW
    right = score(truth, X, np.random.default_rng(1)) == truth[:, None]
    value, low, high = model.expertise(X, annotators=list(everyone), return_interval=True, unknown="population")
    for t, name in enumerate(everyone):
        print(f"{name:<12}", end="")
        for on in (~dense, dense):
            limits = f"{low[on, t].mean():.0%} to {high[on, t].mean():.0%}"
            print(f"{f'{value[on, t].mean():.0%}, {limits} ({right[on, t].mean():.0%})':>25}", end="")
        print()
    print("evans is new: five readers say little about a sixth, hence the wide interval. The estimate is for")
    print("a reader of average spread without severity, which is too optimistic for these readers.")


def consensus(model: CrowdClassifier) -> np.ndarray:
    return model.classes_[model.posterior_.argmax(axis=1)]


def heading(text: str) -> None:
    print(f"\n{text}\n{'-' * len(text)}")


def is_dense(X: np.ndarray) -> np.ndarray:
    return X[:, 0] > 0.5


def score(truth: np.ndarray, X: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    severity, spread = np.array(list((READERS | NEW).values())).T
    wider = np.where(is_dense(X), 1.3, 0.7)
    return ordered_scores(truth, severity, spread * wider[:, None], random_state=rng)


def simulate(n: int = 300) -> tuple[np.ndarray, np.ndarray, np.ndarray, list[int]]:
    """Features of the images (density first), scores or NaN, true levels, and the cases with a biopsy."""
    rng = np.random.default_rng(14)
    X = np.column_stack([rng.random(n), rng.normal(size=(n, 4))])
    danger = X[:, 1:] @ [1.0, 0.7, -0.5, 0.0] + 0.6 * rng.normal(size=n)
    truth = 1 + np.searchsorted(np.quantile(danger, [0.3, 0.55, 0.75, 0.9]), danger)
    scores = score(truth, X, rng)[:, : len(READERS)]
    biopsied = rng.permutation(n)[:15]
    seen = rng.random(scores.shape) < 0.35
    seen[biopsied] = True  # all readers score these
    return X, np.where(seen, scores, np.nan), truth, biopsied.tolist()


if __name__ == "__main__":
    main()
