"""
Spammers in a crowd
===================

Forty crowd workers answer 500 yes/no questions. A few are experts, many are mediocre, some answer at random, some
always say yes, and some lie. This example shows how to

* get the true answers in spite of them,
* tell who answers at random, who always says the same, and who lies,
* decide which workers to ask for more answers.

The data are simulated. The true answers and the kinds of workers are used only to check the estimates.
"""

import matplotlib.pyplot as plt
import numpy as np

from whoknows import Annotations, BernoulliAnnotators, CrowdClassifier
from whoknows.data.simulate import adversaries, constant_accuracies, hide, spammers

plt.style.use("tableau-colorblind10")

# %%
# The data
# --------
# Each question has five features, and four answers from workers drawn at random.

KINDS = {"expert": 3, "mediocre": 19, "random answers": 8, "always yes": 5, "liar": 5}
KIND = {f"w{i + 1:02}": kind for i, kind in enumerate(np.repeat(list(KINDS), list(KINDS.values())))}


def simulate(n: int = 500) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Features, true answers, and the answers of all forty workers."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 5))
    truth = np.where(X[:, 0] + X[:, 1] * X[:, 2] + 0.5 * rng.normal(size=n) > 0, "yes", "no")
    crowd = [
        constant_accuracies(truth, np.full(KINDS["expert"], 0.95), random_state=rng),
        constant_accuracies(truth, rng.uniform(0.6, 0.75, KINDS["mediocre"]), random_state=rng),
        spammers(truth, KINDS["random answers"], random_state=rng),
        np.full((n, KINDS["always yes"]), "yes"),
        adversaries(truth, KINDS["liar"], error=0.85, random_state=rng),
    ]
    return X, truth, np.column_stack(crowd)


X, truth, answers = simulate()
y = hide(Annotations.from_matrix(answers, annotators=list(KIND)), per_item=4)
print(y)

# %%
# The true answers
# ----------------
# ``two_coin=True`` gives each worker two accuracies: one if the truth is yes, one if it is no. Workers who always say
# yes have a high and a low one. With a single accuracy for both (the default), five such workers out of forty can bias
# the whole fit towards yes.


def accuracy(model: CrowdClassifier) -> float:
    return float((model.classes_[model.posterior_.argmax(axis=1)] == truth).mean())


def majority(y: Annotations) -> np.ndarray:
    votes = np.zeros((y.n_items, y.n_classes))
    np.add.at(votes, (y.item, y.label), 1)
    return y.labels[votes.argmax(axis=1)]


model = CrowdClassifier(annotators=BernoulliAnnotators(two_coin=True)).fit(X, y)
by_vote, by_model = float((majority(y) == truth).mean()), accuracy(model)
print(f"majority vote {by_vote:.1%}, whoknows {by_model:.1%} of the questions right")

# %%
# Who knows?
# ----------
# ``ranking`` estimates how often each worker is right, with a 90 % interval. Use the intervals, not the ranks: the
# interval of a spammer contains 50 %, the interval of a liar lies below it.

ranking = model.ranking(level=0.9)
kind = np.array([KIND[name] for name in ranking.annotator])
actual = (answers == truth[:, None]).mean(axis=0)[[list(KIND).index(name) for name in ranking.annotator]]

COLOUR = {"expert": "C0", "mediocre": "C2", "random answers": "C1", "always yes": "C5", "liar": "k"}
MARKER = {"expert": "o", "mediocre": "s", "random answers": "D", "always yes": "^", "liar": "v"}
place = np.arange(len(ranking))
fig, ax = plt.subplots(figsize=(8, 4.5), layout="constrained")
for name in KINDS:
    on = kind == name
    ax.vlines(place[on], ranking.low[on], ranking.high[on], color=COLOUR[name])
    ax.plot(place[on], ranking.expertise[on], MARKER[name], color=COLOUR[name], label=name)
ax.plot(place, actual, "_", color="0.3", markersize=9, label="actual accuracy")
ax.axhline(0.5, color="0.5", linestyle=":")
ax.set(xlabel="workers, best first", xticks=[], ylabel="probability of being right", ylim=(0, 1))
ax.legend(loc="lower left", ncols=2)
plt.show()

missed = int(((actual < ranking.low) | (actual > ranking.high)).sum())
print(f"{missed} of {len(ranking)} intervals do not contain the actual accuracy; about four are expected")

# %%
# Two numbers per worker show why they are wrong: how often they say yes if the truth is no, and if it is yes. Experts
# are in the upper left corner, liars in the lower right, and those who ignore the question on the diagonal.

says_yes = np.array([model.confusion(name)[:, 1] for name in KIND])  # if the truth is no, if it is yes
fig, ax = plt.subplots(figsize=(5, 4.6), layout="constrained")
for name in KINDS:
    on = np.array(list(KIND.values())) == name
    ax.plot(*says_yes[on].T, MARKER[name], color=COLOUR[name], label=name)
ax.plot([0, 1], [0, 1], color="0.5", linestyle=":")
ax.set(xlabel="says yes if the truth is no", ylabel="says yes if the truth is yes", xlim=(0, 1), ylim=(0, 1))
ax.legend(loc="lower left", fontsize="small")
plt.show()

always_yes = [name for name, p in zip(KIND, says_yes, strict=True) if p.min() > 0.75]
print("say yes whatever the true answer:", ", ".join(always_yes))

# %%
# 300 more answers
# ----------------
# ``suggest`` chooses who should answer which question. A worker who is known to lie is as informative as an expert: the
# model inverts the answers. Spammers are not asked again.

asked = model.suggest(X, y, n=300)
asked_by_kind = {name: sum(KIND[worker] == name for worker in asked.annotator) for name in KINDS}
print(asked_by_kind)

# %%
# ``update`` continues from the last fit. For comparison: a new fit with 300 answers of random workers.

given = answers[asked.item, [list(KIND).index(name) for name in asked.annotator]]
chosen = Annotations.from_arrays(asked.item, asked.annotator, given, items=y.items)
open_answers = answers.astype(object)
open_answers[np.isin(y.to_matrix(), y.labels)] = None  # given already
anyone = hide(Annotations.from_matrix(open_answers, annotators=list(KIND)), items=0.6, per_item=1)
random_300 = CrowdClassifier(annotators=BernoulliAnnotators(two_coin=True)).fit(X, y.updated_with(anyone))
results = {
    "majority vote": by_vote,
    "whoknows": by_model,
    "+ 300 random answers": accuracy(random_300),
    "+ 300 chosen answers": accuracy(model.update(X, chosen)),
}

fig, ax = plt.subplots(figsize=(7, 2.4), layout="constrained")
bars = ax.barh(list(results), list(results.values()), color=["0.7", "C0", "C0", "C0"])
ax.bar_label(bars, fmt="{:.1%}", padding=3)
ax.set(xlabel="share of the questions answered correctly", xlim=(0, 1.1))
ax.invert_yaxis()
plt.show()

# %%
# See also: :doc:`/ask`, :doc:`/uncertainty`, and :doc:`/agreement` for annotators who copy from each other.
