"""The methods of the paper's Figs. 3 to 5, and ours."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

from whoknows import Annotations, AutoCrowdClassifier, CrowdClassifier, GaussianAnnotators
from whoknows.estimators.baselines import MajorityVoteClassifier, SingleAnnotatorClassifier, ml_original
from whoknows.estimators.baselines.tsvm import TransductiveSVM

MOST_ANNOTATORS = 6


@dataclass(frozen=True)
class Method:
    """How a method is called on charts, and how it is built once the annotators are known."""

    name: str
    build: Callable[[Annotations], Any]


def _always(build: Callable[..., Any], *args: Any) -> Callable[[Annotations], Any]:
    return lambda Y: build(*args)


def _alone(Y: Annotations, position: int) -> SingleAnnotatorClassifier:
    return SingleAnnotatorClassifier(Y.annotators.tolist()[position])


def _as_printed(truth: str) -> Callable[[Annotations], Any]:
    """Sec. 3 as printed: linear, Gaussian annotators; but for σ ≥ 0.3, without which the fit degenerates."""
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
    "id": Method("ID as printed", _as_printed("id")),
    "gp": Method("GP as printed", _as_printed("gp")),
    "lgp": Method("LGP as printed", _as_printed("lgp")),
    "lgp-bernoulli": Method("LGP, Bernoulli", _always(CrowdClassifier, "lgp", "bernoulli", "linear")),
    "default": Method("CrowdClassifier()", _always(CrowdClassifier)),
    "auto": Method("whoknows (auto)", _always(AutoCrowdClassifier)),
}

# What tables and charts make of the annotators' rows.
NAMES = {key: method.name for key, method in METHODS.items()} | {
    "annotator": "annotator t, mean",
    "annotator-best": "annotator t, best",
}


def kind(key: str) -> str:
    """Return "annotator" for each of them, else the key itself."""
    return "annotator" if key.startswith("annotator-") else key


def methods_for(n_annotators: int, kinds: list[str]) -> list[str]:
    """Keys of the methods of these kinds; of annotators, as many as there are."""
    absent = {f"annotator-{t}" for t in range(n_annotators + 1, MOST_ANNOTATORS + 1)}
    return [key for key in METHODS if kind(key) in kinds and key not in absent]


KINDS = list(dict.fromkeys(map(kind, METHODS)))
