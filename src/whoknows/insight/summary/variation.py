"""Whether expertise depends on the item: decided once, for the terminal, the report and summary.json."""

from __future__ import annotations

from typing import Any

import numpy as np

from whoknows.insight.summary.fitted import FittedModel
from whoknows.insight.summary.text import Facts

# A smaller gain in log-probability per label is of no practical interest: it is that of an annotator who is
# right on 88 % of one half of the items and on 72 % of the other, instead of on 80 % of all.
RELEVANT = 0.02
SOME_ITEMS = 100  # on which estimates of expertise differ, if they differ at all
BETTER = "models with such a dependence predict held-out labels better"
NO_BETTER = "models with such a dependence predict held-out labels no better"
SENTENCES = {
    "clear": f"Expertise clearly depends on the item: {BETTER}",
    "some signs": f"There are some signs that expertise depends on the item, but no proof yet: {BETTER}",
    "no sign": f"There is no sign that expertise depends on the item: {NO_BETTER}",
    "cannot tell": "There are too few labels to tell whether expertise depends on the item",
}
NOT_TESTED = "Whether expertise depends on the item was not tested: "
NO_FEATURES = f"{NOT_TESTED}the items have no features."
ASSUMED_CONSTANT = f"{NOT_TESTED}the model assumes that it does not."
NO_HELD_OUT = (
    f"{NOT_TESTED}no label was held out. Differences between items are estimates of this model and may be "
    "due to chance; the default model tests them."
)


def variation(fit: FittedModel) -> Facts:
    """Return the decision, its evidence, and a sentence for readers.

    ``degree`` is one of "clear", "some signs", "no sign", "cannot tell" and "not tested". It is based on the
    gain in held-out log-likelihood per item from expertise that depends on x, and its standard error: a gain
    of more than two standard errors is clear, of more than one a sign. Otherwise there is "no sign" if a
    relevant gain can be excluded. ``regions`` says whether to show where annotators are strong or weak.
    """
    selection = getattr(fit.model, "selection_", None)
    gain, error = (np.nan, np.nan) if selection is None else selection.varying
    evidence = {"gain": gain, "error": error}
    if not fit.has_features:
        return {"degree": "not tested", "regions": False, "sentence": NO_FEATURES, **evidence}
    if selection is None or not len(selection.log_lik):
        sentence = NO_HELD_OUT if _estimates_vary(fit) else ASSUMED_CONSTANT
        return {"degree": "not tested", "regions": True, "sentence": sentence, **evidence}
    labels = fit.annotations
    degree = degree_of(gain, error, labels.n_annotations / int(labels.labelled.sum()))
    return {
        "degree": degree,
        "regions": degree in ("clear", "some signs"),
        "sentence": f"{SENTENCES[degree]}{_numbers(gain, error)}.",
        **evidence,
    }


def _estimates_vary(fit: FittedModel) -> bool:
    skill = fit.skill(fit.sample(SOME_ITEMS))
    return bool(np.ptp(skill, axis=0).max() > 1e-6 * skill.max())


def degree_of(gain: float, error: float, labels_per_item: float) -> str:
    """Return the degree of evidence of a gain per item; it is NaN if there were too few items."""
    if gain > error:
        return "clear" if gain > 2 * error else "some signs"
    return "no sign" if gain + 2 * error < RELEVANT * labels_per_item else "cannot tell"


def _numbers(gain: float, error: float) -> str:
    if not np.isfinite(gain):
        return ""
    return f" (gain in log-probability per item {gain:+.3f}, standard error {error:.3f})"


def upgraded(given: Facts) -> Facts:
    """Return the decision of a summary that has only ``varies``: True, False or None."""
    degree = {True: "clear", False: "no sign", None: "cannot tell"}[given.get("varies")]
    if not given["n_features"]:
        degree, sentence = "not tested", NO_FEATURES
    elif given["members"] is None:
        degree, sentence = "not tested", NO_HELD_OUT
    else:
        sentence = f"{SENTENCES[degree]}."
    facts: dict[str, Any] = {"degree": degree, "regions": True, "sentence": sentence}
    return facts | {"gain": None, "error": None}
