"""Fits of every kind answer as they did when their answers were stored."""

import numpy as np

from tests.estimators.stored_answers import KEPT, every_answer, sample, tolerance


def test_every_estimator_answers_as_it_did():
    now = sample(every_answer())
    with np.load(KEPT) as kept:
        assert now["names"].tolist() == kept["names"].tolist()
        apart = np.abs(now["values"] - kept["values"]).max(axis=1)
    moved = {name: gap for name, gap in zip(now["names"], apart, strict=True) if gap > tolerance(name)}
    assert moved == {}
