"""
Whom to ask next
================

Three annotators have labelled some of 300 items. Each of them is an expert on one kind of item. There is money for more
labels. This example shows how to

* choose which annotator should label which item next,
* take into account what the annotators cost,
* continue from the last fit with the new labels, and decide when to stop.

The data are simulated. The truth is used only to check the estimates.
"""

from copy import deepcopy

import matplotlib.pyplot as plt
import numpy as np

from whoknows import Annotations, CrowdClassifier
from whoknows.data.simulate import cluster_experts

plt.style.use("tableau-colorblind10")

# %%
# The data
# --------
# Items of three kinds, in two dimensions so that they can be drawn. Each annotator is always right on one kind, and
# wrong on 35 % of the others. About three of ten possible labels were given at random. It is good to start with
# random labels: they show who knows what.

NAMES = ["anna", "bob", "cleo"]
rng = np.random.default_rng(0)
centres = np.array([[0, 0], [4, 0], [2, 4]])
X = centres[rng.integers(3, size=300)] + rng.normal(size=(300, 2))
truth = (X[:, 0] + rng.normal(size=300) > 2).astype(int)
answers = cluster_experts(X, truth, n_annotators=3).astype(float)
y = Annotations.from_matrix(np.where(rng.random(answers.shape) < 0.3, answers, np.nan), annotators=NAMES)


def accuracy(model: CrowdClassifier) -> float:
    return float((model.classes_[model.posterior_.argmax(axis=1)] == truth).mean())


model = CrowdClassifier().fit(X, y)
print(f"{y.n_annotations} labels, accuracy {accuracy(model):.1%}")

# %%
# The next 60 labels
# ------------------
# ``suggest`` ranks labels by the expected information about the truth of the item, in bits.

asked = model.suggest(X, y, n=60)
print(asked)

# %%
# On the map of the items: experts are asked about their own kind, and about uncertain items.

uncertain = 1 - model.posterior_.max(axis=1)
fig, axes = plt.subplots(1, 2, figsize=(9, 4), sharey=True, layout="constrained")
dots = axes[0].scatter(*X.T, c=uncertain, cmap="cividis", vmin=0, vmax=0.5, s=18)
fig.colorbar(dots, ax=axes[0], label="probability that the consensus is wrong")
axes[1].plot(*X.T, ".", color="0.85")
for name, marker, colour in zip(NAMES, "oDv", ("C0", "C1", "k"), strict=True):
    axes[1].plot(*X[asked.item[asked.annotator == name]].T, marker, color=colour, label=f"ask {name}")
axes[1].legend(loc="lower left")
for ax in axes:
    ax.set(xticks=[], yticks=[])
plt.show()

# %%
# What annotators cost
# --------------------
# With ``costs``, labels are ranked by information per cost. The more cleo costs, the fewer questions she gets.

COSTS = (1, 1.5, 2, 4)
shares = []
for cost in COSTS:
    list_to_ask = model.suggest(X, y, n=60, costs={"cleo": cost})
    shares.append([int((list_to_ask.annotator == name).sum()) for name in NAMES])

fig, ax = plt.subplots(figsize=(6.5, 3), layout="constrained")
left = np.zeros(len(COSTS))
for name, counts, colour in zip(NAMES, np.transpose(shares), ("C0", "C1", "0.3"), strict=True):
    ax.barh([f"{cost:g}" for cost in COSTS], counts, left=left, color=colour, label=name)
    left += counts
ax.set(xlabel="questions, of 60", ylabel="cost of cleo")
ax.invert_yaxis()
ax.legend(loc="upper center", bbox_to_anchor=(0.5, 1.25), ncols=3, frameon=False)
plt.show()

# %%
# Ask, update, repeat
# -------------------
# ``update`` adds new labels and continues from the last fit. For comparison, the same number of labels at random.


def labels_of(item: np.ndarray, annotator: np.ndarray) -> Annotations:
    """The answers to these questions; in practice, those of people."""
    given = answers[item, [NAMES.index(name) for name in annotator]]
    return Annotations.from_arrays(item, annotator, given, items=y.items)


def open_questions(y: Annotations, rng: np.random.Generator, n: int) -> Annotations:
    item, annotator = np.nonzero(np.isnan(y.to_matrix()))
    drawn = rng.permutation(len(item))[:n]
    return labels_of(item[drawn], np.take(NAMES, annotator[drawn]))


def curve(choose) -> list[float]:
    """Accuracy at the start and after each of five batches of 40 labels."""
    current, labels, found = deepcopy(model), y, [accuracy(model)]
    for _ in range(5):
        new = choose(current, labels)
        current, labels = current.update(X, new), labels.updated_with(new)
        found.append(accuracy(current))
    return found


def by_suggest(current: CrowdClassifier, labels: Annotations) -> Annotations:
    best = current.suggest(X, labels, n=40)
    return labels_of(best.item, best.annotator)


chosen = curve(by_suggest)
draws = [np.random.default_rng(seed) for seed in range(3)]
at_random = [curve(lambda _, labels, rng=rng: open_questions(labels, rng, 40)) for rng in draws]

bought = 40 * np.arange(6)
fig, ax = plt.subplots(figsize=(6.5, 3.4), layout="constrained")
ax.plot(bought, chosen, "o-", color="C0", label="suggest")
for row in at_random:
    ax.plot(bought, row, "s--", color="0.6", markersize=4, label="at random" if row is at_random[0] else None)
ax.set(xlabel="labels bought", ylabel="accuracy over all items", ylim=(None, 1))
ax.legend(loc="lower right")
plt.show()

# %%
# When to stop
# ------------
# ``min_gain`` is the smallest information per cost that you would pay for. If nothing is worth it, the list is empty
# and says why.

print(model.suggest(X, y, n=20, min_gain=0.99))

# %%
# With few labels, the model overestimates annotators, and choosing gains little or nothing over random labels:
# :doc:`/ask` has a benchmark.
