"""Third-party models with the basic protocols work in `CrowdClassifier`; what needs more refuses by name."""

from dataclasses import fields

import numpy as np
import pytest

from tests.contracts.toy_annotators import ConstantAnnotators
from tests.contracts.toy_truth import ProbitTruth
from whoknows import CrowdClassifier, NotCompatible
from whoknows.model import protocols
from whoknows.model.annotators import (
    BernoulliAnnotators,
    BiasedAnnotators,
    ConfusionAnnotators,
    GaussianAnnotators,
    OrderedAnnotators,
)
from whoknows.model.protocols import members, require, supports
from whoknows.model.settings import Settings
from whoknows.model.truth import GraphTruth, LinearTruth, LogisticTruth, OrderedTruth

RNG = np.random.default_rng(0)
X = RNG.normal(size=(120, 2))
TRUTH = (X[:, 0] > 0).astype(int)
RIGHT = RNG.random((120, 4)) < [0.95, 0.85, 0.7, 0.55]
Y = np.where(RIGHT, TRUTH[:, None], 1 - TRUTH[:, None]).astype(float)
Y[80:] = np.nan

PAIRS = {
    "both": (ProbitTruth(), ConstantAnnotators()),
    "truth": (ProbitTruth(), "bernoulli"),
    "annotators": ("lgp", ConstantAnnotators()),
}
every_pair = pytest.mark.parametrize(("truth", "annotators"), PAIRS.values(), ids=PAIRS.keys())


def fitted(truth, annotators, **settings):
    return CrowdClassifier(truth, annotators, map="linear", **settings).fit(X, Y)


@every_pair
@pytest.mark.parametrize("solver", ["auto", "em", "lbfgs"])
def test_they_fit_predict_and_judge_annotators(truth, annotators, solver):
    model = fitted(truth, annotators, solver=solver)
    assert model.score(X, TRUTH) > 0.9
    assert (model.posterior_[:80].argmax(axis=1) == TRUTH[:80]).mean() > 0.9
    np.testing.assert_allclose(model.posterior(X, Y), model.posterior_, atol=1e-10)
    expertise = model.expertise(X).mean(axis=0)
    assert expertise[0] > expertise[3] + 0.15
    assert model.confusion(0).shape == (2, 2)
    assert np.isfinite(model.score(X, Y))
    assert len(model.suggest(X, Y, n=3).item) == 3
    assert model.update(X, Y[:, :4]).posterior_.shape == (120, 2)


@every_pair
def test_intervals_of_annotators_work_and_those_of_the_truth_work_or_refuse_by_name(truth, annotators):
    model = fitted(truth, annotators)
    assert model.ranking().annotator[0] == 0
    value, low, high = model.expertise(X, return_interval=True)
    assert np.all((low <= value) & (value <= high))
    if truth == "lgp":
        assert len(model.predict_proba(X, return_interval=True)) == 3
    else:
        with pytest.raises(NotCompatible, match=r"interval.*IntervalTruth.*ProbitTruth.*log_odds.*precision"):
            model.predict_proba(X, return_interval=True)


@every_pair
def test_other_solvers_refuse_by_name(truth, annotators):
    missing = "VariationalTruth.*ProbitTruth" if annotators == "bernoulli" else "VariationalAnnotators.*Constant"
    with pytest.raises(NotCompatible, match=rf"solver='vb' needs {missing}.*does not have.*Use solver='em'"):
        fitted(truth, annotators, solver="vb")
    if truth == "lgp":
        assert fitted(truth, annotators, solver="crossfit").score(X, TRUTH) > 0.9
    else:
        with pytest.raises(NotCompatible, match=r"'crossfit' needs LeaveOneOutTruth.*ProbitTruth.*curvature"):
            fitted(truth, annotators, solver="crossfit")


@every_pair
def test_what_they_do_not_have_is_missing_by_name(truth, annotators):
    model = fitted(truth, annotators)
    with pytest.raises(NotCompatible, match=r"annotator_scale.*ScaleAnnotators.*does not have scale"):
        model.annotator_scale(X)
    assert hasattr(model, "coef_") == (truth == "lgp")
    assert hasattr(model, "annotator_coef_") == (annotators == "bernoulli")


@every_pair
def test_a_file_of_a_class_that_whoknows_does_not_know_is_refused_by_name(truth, annotators, tmp_path):
    foreign = "ProbitTruth" if isinstance(truth, ProbitTruth) else "ConstantAnnotators"
    with pytest.raises(ValueError, match=foreign):
        fitted(truth, annotators).save(tmp_path / "model.whoknows")


@pytest.mark.parametrize("protocol", [protocols.ClassTruth, protocols.ClassAnnotators])
def test_a_model_without_a_required_member_is_refused_by_name(protocol):
    toys = {protocols.ClassTruth: ProbitTruth, protocols.ClassAnnotators: ConstantAnnotators}
    toy = toys[protocol]
    kept = {name: value for name, value in vars(toy).items() if name not in ("log_predict", "expertise")}
    lacking = type("Lacking", (Settings,), {k: v for k, v in kept.items() if k not in ("__dict__", "__weakref__")})()
    for field in fields(toy):
        setattr(lacking, field.name, getattr(toy(), field.name))
    pieces = (lacking, "bernoulli") if protocol is protocols.ClassTruth else ("id", lacking)
    with pytest.raises(NotCompatible, match=rf"{protocol.__name__}.*Lacking does not have (log_predict|expertise)"):
        fitted(*pieces)


# --- which of our own models implement which protocols ------------------------------------------------

TRUTH_OF_WEIGHTS = {"ClassTruth", "CoefficientTruth", "IntervalTruth", "LeaveOneOutTruth", "ReducibleTruth"}
WITH_ACCURACY = {"ClassAnnotators", "CoefficientAnnotators", "AccuracyAnnotators"}
OPTIONAL = [
    (LogisticTruth(), TRUTH_OF_WEIGHTS | {"VariationalTruth"}),
    (LogisticTruth().for_classes(3), TRUTH_OF_WEIGHTS),
    (OrderedTruth().for_classes(3), TRUTH_OF_WEIGHTS),
    (LinearTruth(), {"RealTruth"}),
    (GraphTruth(), {"ClassTruth", "ItemTruth"}),
    (ProbitTruth(), {"ClassTruth"}),
    (BernoulliAnnotators(), WITH_ACCURACY | {"CachingAnnotators", "ItemEffectAnnotators", "VariationalAnnotators"}),
    (
        ConfusionAnnotators().for_classes(3),
        WITH_ACCURACY | {"CachingAnnotators", "ItemEffectAnnotators", "MistakeAnnotators"},
    ),
    (GaussianAnnotators(), {"ClassAnnotators", "CoefficientAnnotators", "ScaleAnnotators"}),
    (OrderedAnnotators(), WITH_ACCURACY | {"ScaleAnnotators", "BiasAnnotators"}),
    (BiasedAnnotators(), {"CoefficientAnnotators", "ScaleAnnotators", "BiasAnnotators"}),
    (ConstantAnnotators(), {"ClassAnnotators"}),
]


@pytest.mark.parametrize(("piece", "optional"), OPTIONAL, ids=lambda value: type(value).__name__)
def test_every_model_implements_its_basic_protocol_and_these_optional_ones(piece, optional):
    role = "Truth" if hasattr(piece, "couples_items") else "Annotators"
    basic = protocols.TruthModel if role == "Truth" else protocols.AnnotatorModel
    assert require(piece, basic, "a fit") is piece
    found = {
        name
        for name, protocol in vars(protocols).items()
        if name.endswith(role) and isinstance(protocol, type) and supports(piece, protocol)
    }
    assert found == optional


def test_members_of_a_protocol_include_inherited_ones():
    assert {"posterior", "accepts", "log_predict"} <= set(members(protocols.ClassTruth))
    assert not supports(object(), protocols.TruthModel)
