"""Annotators made up for items whose truth is known: to try a method where the answer can be checked.

Every kind gives a matrix (n_items, n_annotators) without gaps, so a mixed crowd is ``np.column_stack`` of
several, and `hide` makes of it what real labelling looks like. ``random_state`` is a seed, or one
``np.random.Generator`` handed from call to call. With equal seeds, two calls of one kind draw the same
numbers, two kinds do not.
"""

from whoknows.data.simulate.classes import (
    adversaries,
    class_experts,
    cluster_experts,
    constant_accuracies,
    spammers,
)
from whoknows.data.simulate.crowd import copycats, hide
from whoknows.data.simulate.scales import ordered_scores, real_values

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
