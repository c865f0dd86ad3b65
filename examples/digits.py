"""
Few labels, many images: handwritten digits
===========================================

Five annotators say whether a handwritten digit is odd or even. They are right 70 % of the time, and they saw 60 of 1
797 images. This example shows how to

* use the unlabelled images: the *spectral map* follows the clusters that all images form,
* check that they help,
* look at the images on a map, and at those that the model is not sure about.

The images are real, the annotators are simulated.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits
from sklearn.manifold import TSNE

from whoknows import CrowdClassifier
from whoknows.data.simulate import constant_accuracies, hide

plt.style.use("tableau-colorblind10")
# sphinx_gallery_thumbnail_number = 2

digits = load_digits()
X, truth = digits.data, np.where(digits.target % 2, "odd", "even")
answers = constant_accuracies(truth, np.full(5, 0.7), random_state=0)

# %%
# Three ways to use the same labels
# ---------------------------------
# ``map="linear"`` is a linear model of the pixels. ``map="spectral"`` computes features from a graph of similar images,
# labelled or not. The third fit has the same map, but sees the labelled images only.


def accuracies(n_labelled: int, seed: int) -> list[float]:
    """Accuracy on the unlabelled images: linear, spectral of labelled images only, spectral of all."""
    y = hide(answers, items=n_labelled / len(X), random_state=seed)
    linear = CrowdClassifier("id", map="linear", standardize=False)
    spectral = CrowdClassifier("id", map="spectral", standardize=False)
    new = ~y.labelled
    return [
        float(linear.fit(X, y).score(X[new], truth[new])),
        float(spectral.fit(X[y.labelled], y[y.labelled]).score(X[new], truth[new])),
        float(spectral.fit(X, y).score(X[new], truth[new])),
    ]


NUMBERS, SEEDS = (30, 60, 120), 2
table = np.array([np.mean([accuracies(n, seed) for seed in range(SEEDS)], axis=0) for n in NUMBERS])

fig, ax = plt.subplots(figsize=(6.5, 3.6), layout="constrained")
for column, (name, marker) in enumerate([("linear", "s"), ("spectral, labelled only", "^"), ("spectral, all", "o")]):
    ax.plot(NUMBERS, table[:, column], marker=marker, color=["C2", "C1", "C0"][column], label=name)
ax.set(xlabel="labelled images (of 1 797)", xticks=NUMBERS, ylabel="accuracy on the others", ylim=(0.5, 1))
ax.legend(loc="lower right")
plt.show()

# %%
# The difference between the two spectral lines is due to the unlabelled images alone. If items form no clusters, expect
# no gain. Without the truth, compare models by the held-out log-likelihood, or let ``AutoCrowdClassifier`` do it.

# %%
# The map
# -------
# One fit with 60 labelled images. t-SNE draws 800 of the images such that similar ones are close. The labelled images,
# drawn large, are few, and a third of their votes is wrong. Still the colours follow the clusters: each one is a digit.

y = hide(answers, items=60 / len(X), random_state=0)
model = CrowdClassifier("id", map="spectral", standardize=False).fit(X, y)
consensus = model.classes_[model.posterior_.argmax(axis=1)]
accuracy = float((consensus == truth)[~y.labelled].mean())
print(f"accuracy on the unlabelled images: {accuracy:.1%}")

drawn = np.argsort(~y.labelled, kind="stable")[:800]  # the labelled ones first
place = TSNE(init="pca", max_iter=350, random_state=0).fit_transform(X[drawn])
p_odd = model.posterior_[drawn, model.classes_.tolist().index("odd")]

fig, ax = plt.subplots(figsize=(7.5, 5.4), layout="constrained")
dots = ax.scatter(
    place[:, 0], place[:, 1], c=p_odd, s=np.where(y.labelled[drawn], 70, 12), cmap="cividis", vmin=0, vmax=1
)
for digit in range(10):
    across, up = np.median(place[digits.target[drawn] == digit], axis=0)
    ax.text(
        across, up, str(digit), fontsize=18, ha="center", va="center", bbox={"boxstyle": "circle", "facecolor": "w"}
    )
ax.set(xticks=[], yticks=[])
fig.colorbar(dots, label="p(odd | image, labels)")
plt.show()

# %%
# What is the model not sure about?
# ---------------------------------
# A person should look at these images next.

unsure = np.argsort(model.posterior_.max(axis=1))[:12]
fig, axes = plt.subplots(2, 6, figsize=(8, 3.2), layout="constrained")
for ax, i in zip(axes.flat, unsure, strict=True):
    ax.imshow(digits.images[i], cmap="gray_r")
    ax.set_title(f"{consensus[i]}, {model.posterior_[i].max():.0%}", fontsize=10)
    ax.set_axis_off()
plt.show()

# %%
# See also: :doc:`/how_it_works` on what unlabelled items do, :doc:`/auto` on choosing the map, and :doc:`/report`,
# which draws such a map for each annotator.
