"""
LLM judges: from logs to a decision
===================================

Five LLM judges graded the answers of two versions of a chatbot, good or bad. People checked a random fifth of the
questions. Is the new version better? This example shows how to

* read a log of votes,
* see which judge can be trusted on which topic, which one is lenient, and which two repeat each other,
* report the share of good answers with an interval, corrected for the errors of the judges,
* decide whether a difference is more than chance.

The data are simulated. The true grades of the other answers are used only to check the estimates.
"""

import json
import tempfile
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

from whoknows import BernoulliAnnotators, CrowdClassifier
from whoknows.insight import copying_suspects, expected_pairs
from whoknows.io import read_gold, read_labels

plt.style.use("tableau-colorblind10")

# %%
# The log
# -------
# One line per vote. Each judge is accurate on some topics. *atlas-mini* copies *atlas* four times in five, and *dune*
# is lenient: it recognises good answers, but passes nearly half of the bad ones. Answers also have an embedding.

TOPICS = ["code", "maths", "chat", "law"]
SKILL = {  # accuracy per topic
    "atlas": [0.95, 0.92, 0.60, 0.60],
    "atlas-mini": [0.85, 0.82, 0.60, 0.60],
    "birch": [0.60, 0.62, 0.94, 0.65],
    "cedar": [0.60, 0.60, 0.65, 0.95],
    "dune": [0.97, 0.97, 0.97, 0.97],  # on good answers
}
SHARE = {"new": 0.7, "old": 0.5}  # of good answers
JUDGES = list(SKILL)


def votes_of_judges(rng: np.random.Generator, topic: np.ndarray, good: np.ndarray) -> np.ndarray:
    skill = np.array(list(SKILL.values())).T[topic]
    skill[~good, JUDGES.index("dune")] = 0.55
    right = rng.random(skill.shape) < skill
    copies = rng.random(len(good)) < 0.8
    right[copies, JUDGES.index("atlas-mini")] = right[copies, JUDGES.index("atlas")]
    return np.where(right == good[:, None], "good", "bad")


def simulate(n_questions: int = 250) -> tuple[list[dict[str, str]], dict[str, str], dict[str, np.ndarray]]:
    """One record per vote, the true grade of every answer, and its embedding."""
    rng = np.random.default_rng(0)
    topic = np.repeat(rng.integers(len(TOPICS), size=n_questions), len(SHARE))
    good = rng.random(len(topic)) < np.tile(list(SHARE.values()), n_questions)
    centre, quality = 2 * rng.normal(size=(len(TOPICS), 16)), 0.5 * rng.normal(size=16)
    X = centre[topic] + np.outer(good, quality) + rng.normal(size=(len(topic), 16))
    votes = votes_of_judges(rng, topic, good)
    asked = rng.random(votes.shape) < 0.7
    answers = [
        {"item": f"q{i // 2:03}", "model": list(SHARE)[i % 2], "topic": TOPICS[topic[i]]} for i in range(len(topic))
    ]
    log = [
        answers[i] | {"judge": JUDGES[t], "verdict": str(votes[i, t])} for i, t in zip(*np.nonzero(asked), strict=True)
    ]
    names = [f"{answer['item']} / {answer['model']}" for answer in answers]
    return log, dict(zip(names, np.where(good, "good", "bad").tolist(), strict=True)), dict(zip(names, X, strict=True))


log, truth, embedding = simulate()
folder = Path(tempfile.mkdtemp())
(folder / "votes.jsonl").write_text("\n".join(map(json.dumps, log)))
checked = ["item,label", *(f"{name},{grade}" for i, (name, grade) in enumerate(truth.items()) if i // 2 % 5 == 0)]
(folder / "people.csv").write_text("\n".join(checked))
print(log[0])

# %%
# ``read_labels`` also reads the logs of evaluation tools. Several models answered the same questions, so it calls an
# item ``question / model``.

read = read_labels(folder / "votes.jsonl", keep=["topic"])
y = read.annotations
gold = read_gold(folder / "people.csv", annotations=y)
X = np.array([embedding[name] for name in y.items])
version, topic = (np.array([read.item_columns[name][item] for item in y.items]) for name in ("model", "topic"))
is_good = np.array([truth[name] == "good" for name in y.items])
print(y, "\n", len(gold), "answers checked by people")

# %%
# Whom to trust on what
# ---------------------
# The fit uses the votes, the embeddings and the answers that people checked. ``two_coin=True`` gives a judge one
# accuracy on good and one on bad answers, so that it can be lenient.

model = CrowdClassifier(annotators=BernoulliAnnotators(two_coin=True)).fit(X, y, gold=gold)
unchecked = np.array([item not in gold for item in y.items])
matrix = y.to_matrix()
vote = (matrix == "good").sum(axis=1) > (matrix == "bad").sum(axis=1)
consensus = model.classes_[model.posterior_.argmax(axis=1)] == "good"
by_vote, by_model = (float((guess == is_good)[unchecked].mean()) for guess in (vote, consensus))
print(f"unchecked answers graded correctly: majority vote {by_vote:.1%}, whoknows {by_model:.1%}")

# %%
# ``expertise(X)`` is the probability that each judge is right on each answer; here its mean over the answers of a
# topic. No topic was given to the model: it learned them from the embeddings.

expertise = model.expertise(X)
estimated = np.array([expertise[topic == name].mean(axis=0) for name in TOPICS]).T
given = np.isin(matrix, y.labels)
right = given & ((matrix == "good") == is_good[:, None])
actual = np.array([right[topic == name].sum(axis=0) / given[topic == name].sum(axis=0) for name in TOPICS]).T

fig, axes = plt.subplots(1, 2, figsize=(9, 3.4), sharey=True, layout="constrained")
for ax, title, table in zip(axes, ("estimated", "actual"), (estimated, actual), strict=True):
    ax.imshow(table, cmap="cividis", vmin=0.5, vmax=1, aspect="auto")
    for row, column in np.ndindex(*table.shape):
        cell = table[row, column]
        ax.text(column, row, f"{cell:.0%}", ha="center", va="center", color="k" if cell > 0.75 else "w")
    ax.set(title=title, xticks=range(4), xticklabels=TOPICS, yticks=range(5), yticklabels=y.annotators)
plt.show()

# %%
# A confusion matrix shows leniency: how often a judge passes a bad answer.

bad, good = y.labels.tolist().index("bad"), y.labels.tolist().index("good")
passes_bad = {str(name): float(model.confusion(name)[bad, good]) for name in y.annotators}
for name, share in passes_bad.items():
    print(f"{name:<12}{share:.0%} of the bad answers")

# %%
# And two judges agree more often than the model expects. Copied labels would count twice: consider leaving one of the
# two out.

pairs = copying_suspects(y, model.posterior_, expected=expected_pairs(model, X, y))
for first, second, seen, expected in zip(pairs.first, pairs.second, pairs.observed, pairs.expected, strict=True):
    print(f"{first} and {second}: {seen} equal votes, {expected:.0f} expected")

# %%
# The decision
# ------------
# The mean of the votes is no rate to report: judges err, and in one direction. ``rate`` corrects the estimate with the
# answers that people checked. Its 90 % intervals hold however wrong judges and model are, if the checked answers are a
# random sample. ``pair`` says which answers belong to the same question.

question = np.array([name.partition(" / ")[0] for name in y.items])
rates = model.rate(X, y, gold=gold, by=version, pair=question)
difference = rates.difference("new", "old", "good")
print(difference)

# %%

fig, ax = plt.subplots(figsize=(7, 2.6), layout="constrained")
for place, name in enumerate(SHARE):
    row, on = rates.row(name, "good"), version == name
    ax.hlines(place, rates.low[row], rates.high[row], color="C0", linewidth=4)
    ax.plot(
        rates.rate[row], place, "o", color="C0", markersize=9, label="corrected, with 90 % interval" if place else None
    )
    ax.plot(
        (matrix[on] == "good").sum() / given[on].sum(),
        place,
        "s",
        color="C1",
        label="share of the votes" if place else None,
    )
    ax.plot(is_good[on].mean(), place, "kD", label="actual" if place else None)
ax.set(yticks=range(2), yticklabels=SHARE, ylim=(1.5, -0.5), xlabel="share of good answers", xlim=(0.3, 0.9))
ax.legend(loc="lower right")
plt.show()

# %%
# The interval of the difference lies above zero: the new version is better, and that is more than chance.
#
# The same from the command line, without embeddings:
#
# .. code-block:: sh
#
#     whoknows judges votes.jsonl --gold people.csv --by model --by topic --fail-under kappa=0.6
#
# See also: :doc:`/llm_judges`, :doc:`/files` for the logs of evaluation tools.
