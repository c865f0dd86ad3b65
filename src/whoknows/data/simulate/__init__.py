"""Simulated annotators for items whose true label is known, to evaluate a method.

Every function returns a complete matrix (n_items, n_annotators). A mixed crowd is ``np.column_stack`` of
several, and `hide` removes labels, as in real data. ``random_state`` is a seed, or one
``np.random.Generator`` passed from call to call. With equal seeds, two calls of one function draw the same
numbers, two functions do not.
"""

from whoknows.data.simulate.annotators import (
    adversaries,
    class_experts,
    cluster_experts,
    constant_accuracies,
    copycats,
    hide,
    ordered_scores,
    real_values,
    spammers,
)

__all__ = [
    "adversaries",
    "class_experts",
    "cluster_experts",
    "constant_accuracies",
    "copycats",
    "hide",
    "ordered_scores",
    "real_values",
    "spammers",
]
