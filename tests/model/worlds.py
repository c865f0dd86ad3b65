"""What tests of several models need."""

from dataclasses import replace

import numpy as np


def with_row(evidence, row, other, other_row=0):
    """Quadratic evidence whose ``row`` is one of another evidence."""
    changed = {}
    for name in ("precision", "pull", "constant"):
        changed[name] = np.array(getattr(evidence, name))
        changed[name][row] = getattr(other, name)[other_row]
    return replace(evidence, **changed)
