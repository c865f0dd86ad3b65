"""The paper's baselines, and Dawid and Skene: what a model of annotators has to beat."""

from __future__ import annotations

from whoknows.estimators.baselines.dawid_skene import DawidSkene
from whoknows.estimators.baselines.vote import MajorityVoteClassifier, SingleAnnotatorClassifier
from whoknows.estimators.classifier import CrowdClassifier
from whoknows.model.annotators import BernoulliAnnotators, GaussianAnnotators

__all__ = ["DawidSkene", "MajorityVoteClassifier", "SingleAnnotatorClassifier", "ml_original"]


def ml_original(kind: str = "bernoulli") -> CrowdClassifier:
    """*ML original* of Yan, Rosales, Fung and Dy (UAI 2010): logistic, supervised, constant expertise.

    A setting of `CrowdClassifier`: the ID model in x itself, annotators right with the same probability on
    every item, after Raykar et al. (JMLR 2010).

    Parameters
    ----------
    kind : {"bernoulli", "gaussian"}
        What annotators say given the truth. The paper's is "gaussian".

    Examples
    --------
    >>> from whoknows.estimators.baselines import ml_original
    >>> ml_original("gaussian").annotators
    GaussianAnnotators(varies_with_x=False, ...
    """
    kinds = {"bernoulli": BernoulliAnnotators, "gaussian": GaussianAnnotators}
    if kind not in kinds:
        raise ValueError(f"kind must be one of {tuple(kinds)}; got {kind!r}.")
    return CrowdClassifier(truth="id", annotators=kinds[kind](varies_with_x=False), map="linear")
