"""The methods of Figs. 3 to 5 of the paper, and those of this library."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

from benchmarks.paper.tsvm import TransductiveSVM
from whoknows import Annotations, AutoCrowdClassifier, CrowdClassifier, GaussianAnnotators
from whoknows.estimators.baselines import MajorityVoteClassifier, SingleAnnotatorClassifier, ml_original

MOST_ANNOTATORS = 6


@dataclass(frozen=True)
class Method:
    """Name of a method on charts, and a function from annotations to the estimator."""

    name: str
    build: Callable[[Annotations], Any]


def _always(build: Callable[..., Any], *args: Any) -> Callable[[Annotations], Any]:
    return lambda Y: build(*args)


def _alone(Y: Annotations, position: int) -> SingleAnnotatorClassifier:
    return SingleAnnotatorClassifier(Y.annotators.tolist()[position])


def _gaussian(truth: str) -> Callable[[Annotations], Any]:
    """A model of Sec. 3 with Gaussian annotators and a linear map; `summary.NOTE` lists what differs."""
    return lambda Y: CrowdClassifier(truth, GaussianAnnotators(), "linear")


METHODS = {
    "vote": Method("majority vote", _always(MajorityVoteClassifier)),
    **{
        f"annotator-{t}": Method(f"annotator {t}", partial(_alone, position=t - 1))
        for t in range(1, MOST_ANNOTATORS + 1)
    },
    "ml-gaussian": Method("ML original", _always(ml_original, "gaussian")),
    "ml-bernoulli": Method("ML original, Bernoulli", _always(ml_original, "bernoulli")),
    "tsvm": Method("transductive SVM", _always(TransductiveSVM)),
    "id": Method("ID", _gaussian("id")),
    "gp": Method("GP, scaled", _gaussian("gp")),
    "lgp": Method("LGP, scaled", _gaussian("lgp")),
    "lgp-bernoulli": Method("LGP, Bernoulli", _always(CrowdClassifier, "lgp", "bernoulli", "linear")),
    "default": Method("CrowdClassifier()", _always(CrowdClassifier)),
    "auto": Method("whoknows (auto)", _always(AutoCrowdClassifier)),
}

# Tables and charts replace the rows of single annotators by their mean and their best.
NAMES = {key: method.name for key, method in METHODS.items()} | {
    "annotator": "single annotator, mean",
    "annotator-best": "single annotator, best",
}


def kind(key: str) -> str:
    """Return "annotator" for a single annotator, else the key itself."""
    return "annotator" if key.startswith("annotator-") else key


def methods_for(n_annotators: int, kinds: list[str]) -> list[str]:
    """Keys of the methods of these kinds, with one key per annotator."""
    absent = {f"annotator-{t}" for t in range(n_annotators + 1, MOST_ANNOTATORS + 1)}
    return [key for key in METHODS if kind(key) in kinds and key not in absent]


KINDS = list(dict.fromkeys(map(kind, METHODS)))
