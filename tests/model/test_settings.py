"""Settings: what scikit-learn needs of a piece."""

import pytest
from sklearn.base import clone

from whoknows.model.annotators import BernoulliAnnotators, Population
from whoknows.model.graph import AnchorGraph, KnnGraph
from whoknows.model.maps import SpectralMap
from whoknows.model.truth import LogisticTruth


def test_get_params_reaches_into_nested_pieces():
    params = LogisticTruth(graph=KnnGraph(k=7)).get_params()
    assert params["graph"] == KnnGraph(k=7)
    assert params["graph__k"] == 7
    assert "_precision" not in params
    assert set(LogisticTruth().get_params(deep=False)) == {"graph", "strength", "variance", "intercept_variance"}


def test_set_params_reaches_into_nested_pieces_and_returns_the_piece():
    truth = LogisticTruth(graph=KnnGraph())
    assert truth.set_params(strength=3.0, graph__k=4) is truth
    assert (truth.strength, truth.graph.k) == (3.0, 4)


def test_a_piece_and_its_own_setting_can_be_set_together():
    spectral = SpectralMap().set_params(graph=KnnGraph(), graph__k=3)
    assert spectral.graph == KnnGraph(k=3)


def test_two_levels_down():
    annotators = BernoulliAnnotators().set_params(population__centre=2.0)
    assert annotators.population == Population(centre=2.0)
    assert annotators.get_params()["population__centre"] == 2.0


def test_an_unknown_setting_is_refused_with_those_there_are():
    with pytest.raises(ValueError, match=r"AnchorGraph has no setting 'k'. It has: \['anchors', 'nearest'\]"):
        AnchorGraph().set_params(k=3)


def test_clone_is_deep_enough_not_to_share():
    truth = LogisticTruth(graph=KnnGraph())
    copied = clone(truth)
    copied.set_params(graph__k=99)
    assert truth.graph.k == 10


def test_default_pieces_are_not_shared_between_objects():
    BernoulliAnnotators().set_params(population__centre=-5.0)
    assert BernoulliAnnotators().population.centre == 1.4
