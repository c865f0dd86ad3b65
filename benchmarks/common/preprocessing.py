"""The preprocessing of `AutoCrowdClassifier`, for the methods that it is compared with.

Columns that are never negative and have a skewness above one are replaced by their square roots; then every
column is standardised over all training items, labelled or not. This is ``standardize="roots"`` of the
library's estimators. Columns in one unit, such as pixels, are treated alike.
"""

import numpy as np

from whoknows.estimators.inputs.preprocessing import fit_scale, scaled


def with_roots(X: np.ndarray, X_new: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return training items and new items after the preprocessing, which is fitted to the training items."""
    X, X_new = np.asarray(X, dtype=float), np.asarray(X_new, dtype=float)
    scale = fit_scale(X, "roots")
    return scaled(scale, X), scaled(scale, X_new)
