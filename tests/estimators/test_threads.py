"""A fit does not depend on the number of threads of BLAS, which round sums in different ways."""

import threading
import time
import warnings

import numpy as np
import pytest
from threadpoolctl import threadpool_limits

from whoknows import CrowdClassifier, CrowdRegressor
from whoknows._threads import one_thread, side_by_side

RNG = np.random.default_rng(0)
X = RNG.normal(size=(400, 6))
REAL = (X[:, 0] + np.sin(2 * X[:, 1]))[:, None] + RNG.normal(size=(400, 5)) * [0.3, 0.5, 0.8, 1, 1.5]
REAL[RNG.random(REAL.shape) < 0.4] = np.nan
REAL[300:] = np.nan
LEVELS = np.clip(np.round(REAL + 2), 0, 4)
TWO = np.where(np.isnan(REAL), np.nan, REAL > 0)
FITS = {
    "real": (CrowdRegressor(), REAL),
    "real, graph": (CrowdRegressor("lgp", map="spectral"), REAL),
    "ordered": (CrowdClassifier("ordered"), LEVELS),
    "ordered, em": (CrowdClassifier("ordered", solver="em", max_iter=40), LEVELS),
    "five classes": (CrowdClassifier(), LEVELS),
    "two classes": (CrowdClassifier(), TWO),
    "gp": (CrowdClassifier("gp"), TWO),
}


@pytest.mark.parametrize(("model", "y"), FITS.values(), ids=FITS)
def test_one_and_two_threads_give_the_same_fit(model, y):
    def answer(n_threads):
        with threadpool_limits(n_threads, user_api="blas"), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            fitted = model.fit(X, y)
        return fitted.predict(X) if y is REAL else fitted.predict_proba(X)

    np.testing.assert_allclose(answer(2), answer(1), rtol=0, atol=1e-8)


def test_tasks_run_side_by_side_inside_a_limit_but_not_inside_each_other():
    def threads():
        return len(set(side_by_side([current] * 40)))

    def current():
        time.sleep(0.002)
        return threading.get_ident()

    with threadpool_limits(2, user_api="blas"), one_thread():
        assert threads() == 2
        assert set(side_by_side([threads] * 4)) == {1}
