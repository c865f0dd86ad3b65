"""The expected information of a label about the truth."""

from __future__ import annotations

import numpy as np
from scipy.special import entr

from whoknows._array import Array

NOTHING = 1e-12  # bits below which information is rounding


def information(prob: Array, accuracy: Array, mistakes: Array) -> Array:
    """Bits about the truth expected of a label: I(z; y_t) = H(y_t) − Σ_z p(z) H(y_t | z).

    p(y | z, t) is a_tz for y = z and (1 − a_tz) m_tzy otherwise, so that H(y_t | z) is the entropy of being
    right or wrong and, in the share 1 − a_tz of cases, that of the mistake. No array has both classes.

    Parameters
    ----------
    prob : (n_items, n_classes)
        p(z), what is known of the truth of each item.
    accuracy : (n_items, n_annotators, n_classes), the last axis 1 if accuracy is the same for all
        a, the probability that an annotator is right if the truth is z.
    mistakes : (n_annotators, n_classes, n_classes)
        m, the label of one who is wrong: rows the truth, zero on the diagonal.

    Returns
    -------
    (n_items, n_annotators)

    Examples
    --------
    >>> import numpy as np
    >>> from whoknows.estimators.ask.information import information
    >>> accuracy = np.array([[[1.0], [0.5], [0.0]]])  # an expert, a coin, an adversary
    >>> mistakes = np.array([[[0.0, 1.0], [1.0, 0.0]]] * 3)
    >>> information(np.array([[0.5, 0.5]]), accuracy, mistakes)
    array([[1., 0., 1.]])
    """
    p = prob[:, None, :]
    wrong = p * (1 - accuracy)
    said = p * accuracy + (wrong.swapaxes(0, 1) @ mistakes).swapaxes(0, 1)
    given_truth = entr(accuracy) + entr(1 - accuracy) + (1 - accuracy) * entr(mistakes).sum(axis=2)
    bits = (entr(said).sum(axis=2) - (p * given_truth).sum(axis=2)) / np.log(2)
    return np.where(bits > NOTHING, bits, 0.0)
