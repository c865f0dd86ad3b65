"""Are probabilities right? Stated confidence of consensus and classifier beside the share that is right.

    WHOKNOWS_DATA=folder python -m benchmarks.calibration [bluebirds,labelme,sentiment_polarity,product_matching]
        [--shares 1.0] [--draws 1] [--auto]

Real crowds, with the labels of all labelled items or of a share of them. The classifier is scored on the test items of
labelme, else on 30 % of the items, whose labels are held out; bluebirds has no features, and so no classifier. Beside
our models, the posterior of Dawid and Skene with one accuracy per annotator. No fit sees the truth. Prints, for each:
the share that is right, the mean stated probability, and the log loss in nats; and the mean of the absolute gaps. A run
of all crowds writes the rows that docs/uncertainty.md shows.
"""

import argparse
import time
import warnings

import numpy as np

from benchmarks.common.command import add_out, choice
from benchmarks.common.sets import load
from benchmarks.crowds.cases import Case, make_case
from benchmarks.doc_tables import store
from whoknows import AutoCrowdClassifier, CrowdClassifier
from whoknows.estimators.baselines import DawidSkene

SETS = ("bluebirds", "labelme", "sentiment_polarity", "product_matching")
METHODS = {"Dawid-Skene": DawidSkene, "CrowdClassifier": CrowdClassifier, "AutoCrowdClassifier": AutoCrowdClassifier}
CLASSIFIERS = ("CrowdClassifier", "AutoCrowdClassifier")
WHOLE = ("bluebirds",)  # crowds without features, of which no item is left out


def case_of(name, share, draw):
    """Return a draw of a crowd; without features, all items have the same ones and none is held out."""
    data = load(name)
    if data.X is not None:
        return make_case(data, share, draw)
    one, Y = np.zeros((data.annotations.n_items, 1)), data.annotations
    return Case(one, Y, one[:0], np.searchsorted(Y.labels, data.z), np.zeros(0, dtype=int))


def stated(prob, truth):
    """Share that is right, mean stated probability, and log loss."""
    right = prob.argmax(axis=1) == truth
    loss = -np.log(np.maximum(prob[np.arange(len(truth)), truth], 1e-12))
    return np.array([right.mean(), prob.max(axis=1).mean(), loss.mean()])


def run(name, share, draws, methods):
    """Print what each method states of one crowd, and return it, a row per method and what is stated."""
    rows = []
    for method in methods:
        found, started = {}, time.process_time()
        for draw in range(draws):
            case = case_of(name, share, draw)
            model = METHODS[method]().fit(case.X, case.Y)
            found.setdefault("consensus", []).append(stated(model.posterior_[case.Y.labelled], case.truth))
            if method in CLASSIFIERS and len(case.truth_new):
                found.setdefault("classifier", []).append(stated(model.predict_proba(case.X_new), case.truth_new))
        seconds = (time.process_time() - started) / draws
        for what, stated_of in found.items():
            right, said, loss = np.mean(stated_of, axis=0)
            rows.append({"set": name, "share": share, "method": method, "what": what, "right": right, "stated": said})
            print(
                f"{name:19} {share:4.0%} {method:20} {what:10}  right {right:.3f}  stated {said:.3f}  "
                f"gap {said - right:+.3f}  log loss {loss:.3f}  {seconds:6.1f} s",
                flush=True,
            )
    return rows


def main():
    """Print the results of each crowd, and the mean gaps."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("sets", nargs="?", type=choice(SETS), default=list(SETS))
    parser.add_argument("--shares", type=lambda text: list(map(float, text.split(","))), default=[1.0])
    parser.add_argument("--draws", type=int, default=1)
    parser.add_argument("--auto", action="store_true", help="AutoCrowdClassifier as well, which takes minutes")
    add_out(parser)
    options = parser.parse_args()
    warnings.filterwarnings("ignore", message="The fit did not converge")
    methods = list(METHODS) if options.auto else list(METHODS)[:-1]
    cases = [(name, share) for name in options.sets for share in options.shares if share == 1 or name not in WHOLE]
    rows = [row for name, share in cases for row in run(name, share, options.draws, methods)]
    for key in dict.fromkeys((row["method"], row["what"]) for row in rows):
        gaps = [abs(row["stated"] - row["right"]) for row in rows if (row["method"], row["what"]) == key]
        print(f"{' '.join(key)}: mean absolute gap {np.mean(gaps):.3f} in {len(gaps)} cases")
    if options.sets == list(SETS):
        store("calibration", rows, options.out)


if __name__ == "__main__":
    main()
