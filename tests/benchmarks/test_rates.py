"""The intervals of corrected rates cover, and are narrower than those of gold alone."""

import pytest

from benchmarks.rates import by_model, row


@pytest.mark.parametrize("n_gold", [10, 40])
def test_intervals_cover_in_studies_with_judges_who_err_together(n_gold):
    covers, width, right = row(n_gold, 400).T
    assert 0.86 <= covers.mean() <= 0.95  # 1.5 % is one standard error
    assert width.mean() < 0.85
    assert width[right >= 0.95].mean() < 0.6


def test_a_fitted_model_serves_as_prediction():
    covers, width, _ = row(20, 3, by_model).T
    assert covers.sum() >= 2
    assert (width < 1.2).all()
