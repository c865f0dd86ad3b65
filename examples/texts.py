"""
Texts: TF-IDF or embeddings
===========================

Four people sort the documentation of SciPy functions by topic. Each of them knows one or two topics well. Most texts
have no label. This example shows how to

* turn texts into features, with TF-IDF or with an embedding model of your choice,
* classify labelled, unlabelled and new texts,
* see which topics each annotator confuses.

The texts are real: they come with the installation. The annotators are simulated.
"""

import importlib
import inspect

import matplotlib.pyplot as plt
import numpy as np
from sklearn.decomposition import TruncatedSVD
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.pipeline import make_pipeline

from whoknows import Annotations, CrowdClassifier
from whoknows.data.simulate import class_experts, hide

plt.style.use("tableau-colorblind10")
# sphinx_gallery_thumbnail_number = 2

# %%
# The data
# --------
# One text per function: the first 400 characters of its documentation, without its name.

TOPICS = ["linalg", "ndimage", "signal", "stats"]


def texts_about(topic: str) -> list[str]:
    functions = inspect.getmembers(importlib.import_module(f"scipy.{topic}"), inspect.isroutine)
    docs = [(name, inspect.getdoc(function) or "") for name, function in functions]
    return [" ".join(doc.replace(name, " ").split())[:400] for name, doc in docs if len(doc) > 200]


found = {topic: texts_about(topic) for topic in TOPICS}
texts = [text for topic in TOPICS for text in found[topic]]
truth = np.repeat(TOPICS, [len(found[topic]) for topic in TOPICS])
print(f"{len(texts)} texts, for example: {texts[-1][:100]} …")

# %%
# Each annotator is right 95 % of the time on the topics that they know and 55 % elsewhere. Two annotators label each of
# 40 % of the texts.

KNOWS = {"ada": ["linalg"], "ben": ["ndimage", "signal"], "cem": ["stats"], "dot": ["linalg", "stats"]}
labels = class_experts(truth, list(KNOWS.values()), right=0.95, elsewhere=0.55, random_state=0)
y = hide(Annotations.from_matrix(labels, annotators=list(KNOWS)), items=0.4, per_item=2)
print(y)

# %%
# Features
# --------
# TF-IDF has thousands of columns. Fifty directions of its singular value decomposition are enough here. To use
# embeddings instead, replace the line with ``X``, for example by ``X = SentenceTransformer(...).encode(texts)``.
# Nothing else changes.

tfidf = make_pipeline(TfidfVectorizer(sublinear_tf=True, stop_words="english"), TruncatedSVD(50, random_state=0))
X = tfidf.fit_transform(texts)
model = CrowdClassifier(map="linear").fit(X, y)  # linear suits TF-IDF and embeddings

# %%
# Which topic is it?
# ------------------
# Texts with labels combine labels and features (``posterior_``); texts without labels have only their features.

votes = np.zeros((y.n_items, y.n_classes))
np.add.at(votes, (y.item, y.label), 1)
vote = y.labels[(votes + 1e-3 * np.random.default_rng(0).random(votes.shape)).argmax(axis=1)]  # ties at random
consensus = model.classes_[model.posterior_.argmax(axis=1)]
accuracy = {
    "labelled texts, vote": float((vote == truth)[y.labelled].mean()),
    "labelled texts, whoknows": float((consensus == truth)[y.labelled].mean()),
    "unlabelled texts, whoknows": float((consensus == truth)[~y.labelled].mean()),
}
for name, share in accuracy.items():
    print(f"{name:<27} {share:.1%}")

# %%
# New texts take the same path.

new = ["eigenvalues of a symmetric matrix", "p-value of a test whether two samples have the same mean"]
print(dict(zip(new, model.predict(tfidf.transform(new)).tolist(), strict=True)))

# %%
# Who confuses what?
# ------------------
# One confusion matrix per annotator: rows are true topics, columns the labels that they give.

fig, axes = plt.subplots(1, len(KNOWS), figsize=(9, 2.9), sharey=True, layout="constrained")
for ax, name in zip(axes, KNOWS, strict=True):
    confusion = model.confusion(name)
    ax.imshow(confusion, cmap="Blues", vmin=0, vmax=1)
    for row, column in np.ndindex(*confusion.shape):
        cell = confusion[row, column]
        ax.text(column, row, f"{cell:.0%}", ha="center", va="center", fontsize=8, color="w" if cell > 0.5 else "k")
    ax.set(title=f"{name}: {', '.join(KNOWS[name])}", xticks=range(4), xlabel="label", yticks=range(4))
    ax.set_xticklabels(TOPICS, rotation=45)
    ax.title.set_fontsize(9)
axes[0].set(yticklabels=TOPICS, ylabel="true topic")
plt.show()

# %%
# On a map of the texts (the first two directions after the mean one), those that the model is not sure about lie
# between the topics.

sure = model.posterior_.max(axis=1)
fig, ax = plt.subplots(figsize=(7, 4.2), layout="constrained")
for topic, marker, colour in zip(TOPICS, "osDv", ("C0", "C1", "C2", "k"), strict=True):
    on = consensus == topic
    ax.scatter(X[on, 1], X[on, 2], s=10 + 50 * (1 - sure[on]) ** 0.5, c=colour, marker=marker, alpha=0.6, label=topic)
ax.set(xlabel="direction 2", ylabel="direction 3", xticks=[], yticks=[], title="larger: less certain")
ax.legend(title="consensus")
plt.show()

# %%
# On the command line, ``whoknows fit labels.csv --text review`` makes such features of the column ``review``.
#
# See also: :doc:`/files`, and :doc:`/gallery/own_classifier` for a text pipeline inside the model.
