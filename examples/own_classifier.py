"""
Your own classifier: trees and a text pipeline
==============================================

The default model is smooth in the features. Some truths are not: they have steps, depend on products of columns, or on
words. This example shows how to

* put any scikit-learn classifier or ``Pipeline`` into the model,
* compare it with the default without knowing the truth,
* classify raw texts with a sparse pipeline, without features of your own.

The data of the first part are simulated. The texts of the second part come with SciPy; their annotators are simulated.
"""

import inspect

import matplotlib.pyplot as plt
import numpy as np
import scipy.signal
import scipy.stats
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline

from whoknows import Annotations, CrowdClassifier
from whoknows.data.simulate import constant_accuracies, hide

# %%
# Trees
# -----
# The truth is a board of 3 × 3 fields in two of four columns. Four annotators are right 60 to 90 % of the time; each of
# the first 600 items has about three labels, 300 other items have none. The labels of the last 150 are kept for a
# comparison below.

rng = np.random.default_rng(0)
X = rng.uniform(size=(900, 4))
truth = (3 * X[:, :2]).astype(int).sum(axis=1) % 2
labels = constant_accuracies(truth, [0.9, 0.8, 0.7, 0.6], random_state=rng).astype(float)
labels[rng.random(labels.shape) < 0.3] = np.nan
train, held_out, new = slice(0, 450), slice(450, 600), slice(600, None)

trees = HistGradientBoostingClassifier(max_iter=30, min_samples_leaf=10, early_stopping=False)
models = {"default": CrowdClassifier(), "trees": CrowdClassifier(truth=trees)}
for model in models.values():
    model.fit(X[train], labels[train])
on_new = {name: float(model.score(X[new], truth[new])) for name, model in models.items()}
print("accuracy on new items:", {name: f"{share:.1%}" for name, share in on_new.items()})

# %%
# The prediction over the two columns that matter, with the others at one half:

grid = np.linspace(0, 0.999, 80)
first, second = np.meshgrid(grid, grid)
board = np.column_stack([first.ravel(), second.ravel(), np.full((first.size, 2), 0.5)])
pictures = {"truth": (3 * board[:, :2]).astype(int).sum(axis=1) % 2}
pictures |= {name: model.predict_proba(board)[:, 1] for name, model in models.items()}

fig, axes = plt.subplots(1, 3, figsize=(9, 3.3), sharey=True, layout="constrained")
for ax, (name, prob) in zip(axes, pictures.items(), strict=True):
    image = ax.imshow(prob.reshape(first.shape), cmap="cividis", vmin=0, vmax=1, origin="lower", extent=(0, 1, 0, 1))
    ax.set(title=name, xlabel="first column")
axes[0].set_ylabel("second column")
fig.colorbar(image, ax=axes, shrink=0.8, label="p(class 1 | x)")
plt.show()

# %%
# Choose without the truth
# ------------------------
# In practice the truth is unknown. ``score`` on annotations is the mean log-likelihood of the labels. On items that
# were not used in the fit, the better model has the higher one.

log_likelihood = {name: float(model.score(X[held_out], labels[held_out])) for name, model in models.items()}
print("held-out log-likelihood per label:", {name: f"{value:.3f}" for name, value in log_likelihood.items()})

# %%
# A text pipeline
# ---------------
# A ``Pipeline`` takes X as you give it: here the texts themselves. Its TF-IDF stays sparse. The question: is a SciPy
# function about signals or about statistics? Three annotators are right 65, 75 and 85 % of the time; two of them label
# each text of a third of the texts.


def texts_of(module: object) -> list[str]:
    docs = [inspect.getdoc(function) or "" for _, function in inspect.getmembers(module, inspect.isroutine)]
    return [" ".join(doc.split())[:300] for doc in docs if len(doc) > 200]


signals, statistics = texts_of(scipy.signal), texts_of(scipy.stats)
texts = np.array(signals + statistics, dtype=object)
topic = np.repeat(["signal", "stats"], [len(signals), len(statistics)])
answers = constant_accuracies(topic, [0.65, 0.75, 0.85], random_state=0)
y = hide(Annotations.from_matrix(answers, annotators=["ada", "ben", "cem"]), items=0.33, per_item=2)
print(y)

pipeline = make_pipeline(TfidfVectorizer(sublinear_tf=True), LogisticRegression(C=10))
model = CrowdClassifier(truth=pipeline).fit(texts, y)
unlabelled = ~y.labelled
text_accuracy = float(model.score(texts[unlabelled], topic[unlabelled]))
print(f"accuracy on {unlabelled.sum()} unlabelled texts: {text_accuracy:.1%}")
print(model.ranking())

# %%
# ``truth_classifier_`` is the fitted pipeline. Its weights show the words that it uses.

vectorizer, regression = model.truth_classifier_[0], model.truth_classifier_[-1]
words, weight = vectorizer.get_feature_names_out(), regression.coef_[0]
order = np.argsort(weight)
shown = np.r_[order[:10], order[-10:]]
fig, ax = plt.subplots(figsize=(7, 4.6), layout="constrained")
ax.barh(words[shown], weight[shown], color=np.where(weight[shown] > 0, "#006BA4", "#FF800E"))
ax.set(xlabel="weight: signal (left) or stats (right)")
plt.show()

# %%
# See also: :doc:`/any_classifier` for what a classifier must offer, and :doc:`/choose_settings` for grid search.
