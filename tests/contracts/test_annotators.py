"""Every annotator model keeps the contract. Adding one is adding a line."""

import numpy as np
import pytest
from scipy.stats import norm

from tests.contracts.annotator_contract import (
    WORLD,
    AnnotatorContract,
    BoundedAnnotatorContract,
    Case,
    ClassAnnotatorContract,
    some_theta,
)
from tests.contracts.toy_annotators import ConstantAnnotators
from tests.reference import models
from whoknows.fit.objective import Model
from whoknows.fit.variational import has_bound
from whoknows.model.annotators import (
    BernoulliAnnotators,
    BiasedAnnotators,
    ConfusionAnnotators,
    GaussianAnnotators,
    OrderedAnnotators,
    Population,
)
from whoknows.model.gaussian import Belief
from whoknows.model.truth import LogisticTruth


def flat(theta):
    """θ of constant expertise, with w = 0 for the two features of x."""
    return np.column_stack([np.zeros((len(theta), 2)), theta])


def ordered(theta):
    """Two levels: a Gaussian around the true level plus the severity, normalised over the levels."""

    def say(y, z, x, t):
        *w, b = theta[t]
        weights = [np.exp(-0.5 * (level - z - b) ** 2 * np.exp(np.dot(w, x))) for level in (0, 1)]
        return weights[int(y)] / sum(weights)

    return say


def biased(theta, floor=0.05):
    """The density of y around the truth plus the bias."""

    def say(y, z, x, t):
        *w, b = theta[t]
        return norm.pdf(y, z + b, floor + np.exp(np.dot(w, x)))

    return say


TIGHT = Population(centre=0.9, slope_variance=0.1, deviation_variance=0.2, precision_shape=5.0)

CASES = {
    "gaussian": Case(GaussianAnnotators(), lambda th: models.gaussian(th, 0.3)),
    "gaussian, low floor": Case(GaussianAnnotators(sigma_floor=0.1), lambda th: models.gaussian(th, 0.1)),
    "gaussian, constant": Case(GaussianAnnotators(varies_with_x=False), lambda th: models.gaussian(flat(th), 0.3)),
    "bernoulli": Case(BernoulliAnnotators(), models.bernoulli),
    "bernoulli, another crowd": Case(BernoulliAnnotators(population=TIGHT), models.bernoulli),
    "bernoulli, constant": Case(BernoulliAnnotators(varies_with_x=False), lambda th: models.bernoulli(flat(th))),
    "two-coin": Case(BernoulliAnnotators(two_coin=True), lambda th: models.bernoulli(th[:, :-1], th[:, -1])),
    "two-coin, constant": Case(
        BernoulliAnnotators(varies_with_x=False, two_coin=True),
        lambda th: models.bernoulli(flat(th[:, :-1]), th[:, -1]),
    ),
    "confusion": Case(ConfusionAnnotators(), lambda th: models.bernoulli(th[:, :-1], th[:, -1])),
    "ordered": Case(OrderedAnnotators(), ordered),
    "toy": Case(ConstantAnnotators(), lambda th: models.bernoulli(flat(th))),
}
REAL = {"biased": Case(BiasedAnnotators(), biased)}
BOUNDED = {name: case for name, case in CASES.items() if has_bound(Model(case.piece, LogisticTruth()))}


@pytest.mark.parametrize("case", [*CASES.values(), *REAL.values()], ids=[*CASES, *REAL])
class TestAnnotators(AnnotatorContract):
    pass


@pytest.mark.parametrize("case", CASES.values(), ids=CASES.keys())
class TestClassAnnotators(ClassAnnotatorContract):
    pass


@pytest.mark.parametrize("case", BOUNDED.values(), ids=BOUNDED.keys())
class TestBoundedAnnotators(BoundedAnnotatorContract):
    pass


def test_bernoulli_and_confusion_of_two_classes_have_a_bound_and_others_have_not():
    assert len(BOUNDED) == 6


@pytest.mark.parametrize("two_coin", [False, True])
def test_predictive_of_bernoulli_annotators_stays_finite(two_coin):
    piece = BernoulliAnnotators(two_coin=two_coin)
    belief = Belief(2000 * some_theta(piece))
    assert np.all(np.isfinite(piece.predictive(belief, WORLD.features, WORLD.Y).table))
