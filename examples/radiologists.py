"""
Radiologists with ordered scores
================================

Five readers score mammograms from 1 (harmless) to 5 (malignant). Nearly all of them score too high, by different
amounts, and their scores vary more in dense tissue. For fifteen cases the true level is known from a biopsy. This
example shows how to

* estimate the true level of every case from ordered scores,
* report the severity and the spread of each reader,
* correct errors that all readers share, with a few known cases,
* estimate how often a reader who has not scored anything yet will be right.

The data are simulated. The true levels of the other cases are used only to check the estimates.
"""

import matplotlib.pyplot as plt
import numpy as np

from whoknows import Annotations, CrowdClassifier
from whoknows.data.simulate import ordered_scores

plt.style.use("tableau-colorblind10")

# %%
# The data
# --------
# *Severity* is how many levels a reader scores too high on average. *Spread* is the standard deviation around that,
# here 0.7 times the given value in fatty tissue and 1.3 times in dense tissue. Each reader scores a third of the
# cases.

READERS = {"adams": (0.9, 0.5), "baker": (1.4, 0.5), "chen": (0.2, 0.5), "diaz": (0.9, 0.6), "resident": (1.2, 1.1)}
NEW = {"evans": (0.8, 0.5)}  # a new reader, without scores


def is_dense(X: np.ndarray) -> np.ndarray:
    return X[:, 0] > 0.5


def score(truth: np.ndarray, X: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    severity, spread = np.array(list((READERS | NEW).values())).T
    wider = np.where(is_dense(X), 1.3, 0.7)
    return ordered_scores(truth, severity, spread * wider[:, None], random_state=rng)


def simulate(n: int = 300) -> tuple[np.ndarray, np.ndarray, np.ndarray, list[int]]:
    """Features of the images (density first), scores or NaN, true levels, and the cases with a biopsy."""
    rng = np.random.default_rng(14)
    X = np.column_stack([rng.random(n), rng.normal(size=(n, 4))])
    danger = X[:, 1:] @ [1.0, 0.7, -0.5, 0.0] + 0.6 * rng.normal(size=n)
    truth = 1 + np.searchsorted(np.quantile(danger, [0.3, 0.55, 0.75, 0.9]), danger)
    scores = score(truth, X, rng)[:, : len(READERS)]
    biopsied = rng.permutation(n)[:15]
    seen = rng.random(scores.shape) < 0.35
    seen[biopsied] = True  # all readers score these
    return X, np.where(seen, scores, np.nan), truth, biopsied.tolist()


X, scores, truth, biopsied = simulate()
y = Annotations.from_matrix(scores, annotators=list(READERS))
print(y)

# %%
# The true level of every case
# ----------------------------
# ``truth="ordered"`` says that the classes are levels of a scale. If levels are words, give their order:
# ``CrowdClassifier(truth="ordered", levels=["low", "high"])``. Known levels are passed as ``gold``.

without = CrowdClassifier(truth="ordered").fit(X, y)
model = CrowdClassifier(truth="ordered").fit(X, y, gold={i: truth[i] for i in biopsied})


def consensus(model: CrowdClassifier) -> np.ndarray:
    return model.classes_[model.posterior_.argmax(axis=1)]


to_check = y.labelled & ~np.isin(np.arange(len(truth)), biopsied)
estimates = {
    "median of the scores": np.rint(np.nanmedian(scores[to_check], axis=1)),
    "whoknows, no biopsies": consensus(without)[to_check],
    "whoknows, 15 biopsies": consensus(model)[to_check],
}
for name, levels in estimates.items():
    off = levels - truth[to_check]
    exact, too_high = (off == 0).mean(), (off > 0).mean()
    print(f"{name:<22} {np.abs(off).mean():.2f} levels off, {exact:.0%} exact, {too_high:.0%} too high")

# %%
# If all readers score too high, a 3 that is scored as 4 looks like a 4. Scores alone identify the differences between
# readers; the biopsies identify the severity that they share.
#
# This random seed was chosen because the fit without biopsies fails. With most other seeds, the fit finds the shared
# severity without biopsies, since scores pile up at 5. Only biopsies make sure that it does.

fig, axes = plt.subplots(1, 3, figsize=(9, 3.4), sharey=True, layout="constrained")
for ax, (name, levels) in zip(axes, estimates.items(), strict=True):
    counts = np.zeros((5, 5))
    np.add.at(counts, (truth[to_check] - 1, levels.astype(int) - 1), 1)
    share = counts / counts.sum(axis=1, keepdims=True)
    ax.imshow(share, cmap="Blues", vmin=0, vmax=1, origin="lower", extent=(0.5, 5.5, 0.5, 5.5))
    for level, row in enumerate(share, 1):
        for guess, cell in enumerate(row, 1):
            ax.text(guess, level, f"{cell:.0%}", ha="center", va="center", color="w" if cell > 0.5 else "k", fontsize=8)
    ax.set(title=name, xlabel="estimated level", xticks=range(1, 6), yticks=range(1, 6))
axes[0].set_ylabel("true level")
plt.show()

# %%
# How each reader scores
# ----------------------
# ``annotator_severity_`` has one number per reader, ``annotator_scale(X)`` one per reader and case; both are in levels.
# Rounding inflates small spreads, and the ends of the scale reduce large ones.

severity, scale, dense = model.annotator_severity_, model.annotator_scale(X), is_dense(X)
spread = np.array([scale[~dense].mean(axis=0), scale[dense].mean(axis=0)])
true_severity, true_spread = np.array(list(READERS.values())).T

place = np.arange(len(READERS))
fig, (left, right) = plt.subplots(1, 2, figsize=(9, 3.4), sharey=True, layout="constrained")
left.barh(place, severity, height=0.6, color="C0", label="estimated")
left.plot(true_severity, place, "kD", label="simulated")
left.set(xlabel="severity, in levels", yticks=place, yticklabels=list(READERS))
left.invert_yaxis()
left.legend()
for row, (tissue, factor, colour) in enumerate([("fatty", 0.7, "C0"), ("dense", 1.3, "C1")]):
    height = place + 0.2 * (2 * row - 1)
    right.barh(height, spread[row], height=0.38, color=colour, label=f"{tissue} tissue")
    right.plot(factor * true_spread, height, "kD", label="simulated" if row else None)
right.set_xlabel("spread, in levels")
right.legend()
plt.show()

# %%
# A new reader
# ------------
# ``unknown="population"`` estimates the expertise of readers who are not in the data. Five readers say little about a
# sixth, so the interval for evans is wide. The estimate is for a reader of average spread without severity, which is
# too optimistic for these readers.

everyone = list(READERS | NEW)
exact = score(truth, X, np.random.default_rng(1)) == truth[:, None]
value, low, high = (
    part.mean(axis=0) for part in model.expertise(X, annotators=everyone, return_interval=True, unknown="population")
)
actual = exact.mean(axis=0)

place = np.arange(len(everyone))
fig, ax = plt.subplots(figsize=(7, 3), layout="constrained")
ax.hlines(place, low, high, color="C0", linewidth=3)
ax.plot(value, place, "o", color="C0", label="estimated, with 90 % interval")
ax.plot(actual, place, "kD", markersize=5, label="actual")
ax.set(xlabel="probability of the exact level", xlim=(0, 1), yticks=place, yticklabels=[*READERS, "evans (new)"])
ax.invert_yaxis()
ax.legend(loc="upper right")
plt.show()

# %%
# If no reader gave the level of a biopsy, which is common with severe readers, ``fit`` warns and uses the biopsy.
#
# See also: :doc:`/ordered_labels`, :doc:`/gold_and_weights`, and :doc:`/real_labels` for fine-grained scores.
