"""Model files that an earlier version wrote still load, and answer as they did."""

import copy
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import whoknows
from tests.estimators.store_models import MODELS, answers, fitted
from tests.estimators.stored_answers import differences, sample, tolerance
from whoknows.model.gaussian import Belief

OLD = sorted(Path(__file__).with_name("old_models").glob("*.whoknows"))
OTHER_FIT = ["auto", "ordered", "three classes"]  # fits give other numbers since
NAMES = {name.replace(", ", "-").replace(" ", "_"): name for name in MODELS}


def numbers(told):
    return {key: value for key, value in told.items() if value.dtype.kind == "f" and "known" not in key}


def as_read_before(name):
    """Answers of a fit in whose predictions the labels of an item count too, read as they are, as in version 0.1."""
    model = copy.deepcopy(fitted(name))
    vars(model).pop("_reading", None)
    for pair in model.pairs_:
        belief = pair.solution.truth
        if pair.solution.solver == "vb":
            object.__setattr__(pair.solution, "truth", Belief(belief.mean, belief.covariance))
        object.__setattr__(pair, "reading", None)
    return answers(model, name)


def without_biases(name):
    """Answers of a fit that takes the annotators' biases as estimated, as version 0.1 did."""
    model = copy.deepcopy(fitted(name))
    solution = model._pair.solution
    state = replace(solution.truth, joint=None)
    model._pair = replace(model._pair, solution=replace(solution, truth=state))
    return answers(model, name)


@pytest.mark.parametrize("path", OLD, ids=lambda path: path.stem)
def test_a_file_of_version_0_1_answers_as_it_did_or_as_a_fit_of_today(path):
    name = NAMES[path.stem]
    found = numbers(answers(whoknows.load(path), name))
    if name in OTHER_FIT:
        with np.load(path.with_name("answers.npz")) as kept:
            np.testing.assert_allclose(sample(found)["values"], kept[path.stem], atol=1e-6)
        return
    today = without_biases(name) if name.startswith("real") else as_read_before(name)
    apart = differences(found, numbers(today))
    assert {key: gap for key, gap in apart.items() if gap > tolerance(name)} == {}
