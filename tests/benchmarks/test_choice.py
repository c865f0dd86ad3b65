"""The benchmark of choosing settings by held-out labels."""

import numpy as np
import pytest

from benchmarks import choice


@pytest.mark.parametrize("name", choice.QUESTIONS)
def test_crowds_repeat_and_have_two_classes(name):
    question = choice.QUESTIONS[name]
    (X, y), (again, same) = (question.draw(60, np.random.default_rng(3)) for _ in range(2))
    np.testing.assert_array_equal(X, again)
    assert (y == same, y.n_items, y.labels.tolist()) == (True, 60, [0, 1])
    assert question.better.get_params() != question.worse.get_params()


def test_a_clear_crowd_decides_for_the_better_setting(monkeypatch):
    ring = choice.QUESTIONS["ring"]._replace(items=(150,))
    monkeypatch.setattr(choice, "QUESTIONS", {"ring": ring})
    (row,) = choice.rows(1)
    assert (row["by_item"], row["given_others"], row["by_label"]) == (True, True, True)
    assert 400 < row["n_labels"] < 500
