"""Every annotator model keeps the contract. Adding one is adding a line."""

import numpy as np
import pytest

from tests.contracts.annotator_contract import (
    WORLD,
    AnnotatorContract,
    BoundedAnnotatorContract,
    Case,
    some_theta,
)
from tests.reference import models
from whoknows.fit.objective import Model
from whoknows.fit.variational import has_bound
from whoknows.model.annotators import BernoulliAnnotators, GaussianAnnotators, Population
from whoknows.model.gaussian import Belief
from whoknows.model.truth import LogisticTruth


def flat(theta):
    """θ of constant expertise, with w = 0 for the two features of x."""
    return np.column_stack([np.zeros((len(theta), 2)), theta])


TIGHT = Population(centre=0.9, slope_variance=0.1, deviation_variance=0.2, precision_shape=5.0)

CASES = {
    "gaussian": Case(GaussianAnnotators(), lambda th: models.gaussian(th, 0.3)),
    "gaussian, low floor": Case(GaussianAnnotators(sigma_floor=0.1), lambda th: models.gaussian(th, 0.1)),
    "gaussian, constant": Case(
        GaussianAnnotators(varies_with_x=False), lambda th: models.gaussian(flat(th), 0.3)
    ),
    "bernoulli": Case(BernoulliAnnotators(), models.bernoulli),
    "bernoulli, another crowd": Case(BernoulliAnnotators(population=TIGHT), models.bernoulli),
    "bernoulli, constant": Case(
        BernoulliAnnotators(varies_with_x=False), lambda th: models.bernoulli(flat(th))
    ),
    "two-coin": Case(BernoulliAnnotators(two_coin=True), lambda th: models.bernoulli(th[:, :-1], th[:, -1])),
    "two-coin, constant": Case(
        BernoulliAnnotators(varies_with_x=False, two_coin=True),
        lambda th: models.bernoulli(flat(th[:, :-1]), th[:, -1]),
    ),
}
BOUNDED = {name: case for name, case in CASES.items() if has_bound(Model(case.piece, LogisticTruth()))}


@pytest.mark.parametrize("case", CASES.values(), ids=CASES.keys())
class TestAnnotators(AnnotatorContract):
    pass


@pytest.mark.parametrize("case", BOUNDED.values(), ids=BOUNDED.keys())
class TestBoundedAnnotators(BoundedAnnotatorContract):
    pass


def test_bernoulli_has_a_bound_and_gaussian_has_not():
    assert len(BOUNDED) == 5


@pytest.mark.parametrize("two_coin", [False, True])
def test_predictive_of_bernoulli_annotators_stays_finite(two_coin):
    piece = BernoulliAnnotators(two_coin=two_coin)
    belief = Belief(2000 * some_theta(piece))
    assert np.all(np.isfinite(piece.predictive(belief, WORLD.features, WORLD.Y).table))
