"""The intervals of corrected rates cover, and are narrower than those of gold alone."""

import pandas as pd
import pytest

from benchmarks import rates


def rows(n_gold, n_studies, prediction):
    return pd.DataFrame(row for study in range(n_studies) for row in rates.work((n_gold, study), (prediction,)))


@pytest.mark.parametrize("n_gold", [10, 40])
def test_intervals_cover_in_studies_with_judges_who_err_together(n_gold):
    found = rows(n_gold, 400, "votes")
    assert 0.86 <= found["covers"].mean() <= 0.95  # 1.5 % is one standard error
    assert found["width"].mean() < 0.85
    assert found["width"][found["vote_is_right"] >= 0.95].mean() < 0.6


def test_a_fitted_model_serves_as_prediction():
    found = rows(20, 3, "model")
    assert found["covers"].sum() >= 2
    assert (found["width"] < 1.2).all()
