"""Annotator models: p(y | x, z; θ)."""

from whoknows.model.annotators.bernoulli import BernoulliAnnotators, ConfusionAnnotators
from whoknows.model.annotators.gaussian import BiasedAnnotators, GaussianAnnotators
from whoknows.model.annotators.ordered import OrderedAnnotators
from whoknows.model.annotators.population import Population

__all__ = [
    "BernoulliAnnotators",
    "BiasedAnnotators",
    "ConfusionAnnotators",
    "GaussianAnnotators",
    "OrderedAnnotators",
    "Population",
]
