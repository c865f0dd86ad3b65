"""The baselines of the paper, and the model of Dawid and Skene."""

from __future__ import annotations

from whoknows.data.errors import InputError
from whoknows.estimators.baselines.two_step import DawidSkene, MajorityVoteClassifier, SingleAnnotatorClassifier
from whoknows.estimators.classifier import CrowdClassifier
from whoknows.model.annotators import BernoulliAnnotators, GaussianAnnotators

__all__ = ["DawidSkene", "MajorityVoteClassifier", "SingleAnnotatorClassifier", "ml_original"]


def ml_original(kind: str = "bernoulli") -> CrowdClassifier:
    """Return *ML original* of Yan, Rosales, Fung and Dy (UAI 2010): logistic, supervised, constant expertise.

    A setting of `CrowdClassifier`: the ID model with a linear map, and annotators whose probability of being
    right is the same on every item, after Raykar et al. (JMLR 2010).

    Parameters
    ----------
    kind : {"bernoulli", "gaussian"}
        Distribution of the labels given the truth. The paper uses "gaussian".

    Examples
    --------
    >>> from whoknows.estimators.baselines import ml_original
    >>> ml_original("gaussian").annotators
    GaussianAnnotators(varies_with_x=False, ...
    """
    kinds = {"bernoulli": BernoulliAnnotators, "gaussian": GaussianAnnotators}
    if kind not in kinds:
        raise InputError(f"kind must be one of {tuple(kinds)}; got {kind!r}.")
    return CrowdClassifier(truth="id", annotators=kinds[kind](varies_with_x=False), map="linear")
