"""Model files that an earlier version wrote still load, and answer as they did."""

from pathlib import Path

import pytest

import whoknows
from tests.estimators.store_models import MODELS, answers, expected
from tests.estimators.stored_answers import differences

OLD = sorted(Path(__file__).with_name("old_models").glob("*.whoknows"))
NAMES = {name.replace(", ", "-").replace(" ", "_"): name for name in MODELS}


def numbers(told):
    return {key: value for key, value in told.items() if value.dtype.kind == "f" and "known" not in key}


@pytest.mark.parametrize("path", OLD, ids=lambda path: path.stem)
def test_a_file_of_version_0_1_answers_as_a_fit_of_today(path):
    name = NAMES[path.stem]
    apart = differences(numbers(answers(whoknows.load(path), name)), numbers(expected(name)))
    assert {key: gap for key, gap in apart.items() if gap > 1e-6} == {}
