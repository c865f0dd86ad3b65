"""Who judges the judges? Five LLM judges and two people grade the answers of a chatbot, good or bad.

Each judge is accurate on some topics, one is lenient, and two share a base model and make the same mistakes.
People are nearly always right but expensive, so they graded few answers. Answers are embeddings. All data are
simulated; the model sees embeddings and grades only, and the true labels are used only to evaluate it.
"""

from copy import deepcopy
from types import SimpleNamespace as Chat

import numpy as np

from whoknows import Annotations, BernoulliAnnotators, CrowdClassifier
from whoknows.insight import copying_suspects, expected_pairs

TOPICS = ["code", "maths", "chat", "law"]
SKILL = {  # accuracy per topic
    "atlas": [0.95, 0.92, 0.60, 0.60],
    "atlas-mini": [0.85, 0.82, 0.60, 0.60],  # copies atlas four times in five
    "birch": [0.60, 0.62, 0.94, 0.65],
    "cedar": [0.60, 0.60, 0.65, 0.95],
    "dune": [0.97, 0.97, 0.97, 0.97],  # on good answers; it passes nearly half of the bad ones
    "hana": [0.97, 0.97, 0.97, 0.97],
    "ivo": [0.97, 0.97, 0.97, 0.97],
}
NAMES, PEOPLE = list(SKILL), ["hana", "ivo"]


def main() -> None:
    chat = simulate()
    grades = np.where(chat.asked, chat.grades, None)
    y = Annotations.from_matrix(grades, annotators=NAMES)
    y_weighted = Annotations.from_matrix(grades, annotators=NAMES, confidence=chat.sure)
    # two_coin: separate accuracies on good and on bad answers, so that a judge can be lenient.
    plain = CrowdClassifier(annotators=BernoulliAnnotators(two_coin=True)).fit(chat.X, y)
    model = CrowdClassifier(annotators=BernoulliAnnotators(two_coin=True)).fit(chat.X, y_weighted)
    vote = np.where(2 * (grades == "good").sum(axis=1) > y.labels_per_item, "good", "bad")
    heading("Which answers are good?")
    print(f"{y.n_annotations} grades of {y.n_items} answers. Accuracy:")
    print(f"  majority vote                        {(vote == chat.truth).mean():.1%}")
    print(f"  whoknows                             {accuracy(plain, chat):.1%}")
    print(f"  whoknows, with confidences           {accuracy(model, chat):.1%}")
    print_expertise(plain, chat, y)
    print_rates(plain, chat, y)
    repeats = print_copying(plain, chat, y)
    print_questions(model, chat, y_weighted, [name for name in NAMES if name not in [*repeats, *PEOPLE]])


def print_expertise(model: CrowdClassifier, chat: Chat, y: Annotations) -> None:
    heading("Whom to trust on what?")
    print("Estimated probability of being right, and in brackets the actual accuracy.")
    print(f"{'':<12}{'grades':>6}" + "".join(f"{name:>13}" for name in TOPICS))
    expertise, right = model.expertise(chat.X), chat.grades == chat.truth[:, None]
    for t, name in enumerate(NAMES):
        on = [chat.topic == k for k in range(len(TOPICS))]
        cells = [f"{expertise[rows, t].mean():.0%} ({right[rows, t].mean():.0%})" for rows in on]
        print(f"{name:<12}{y.labels_per_annotator[t]:>6}" + "".join(f"{cell:>13}" for cell in cells))
    print("The people gave few grades, so their estimates are shrunk towards those of the other judges.")
    passed = np.array([model.confusion(name)[0, 1] for name in NAMES])  # p(says good | is bad)
    t = int(passed.argmax())
    really = (chat.grades[chat.truth == "bad", t] == "good").mean()
    print(f"The most lenient is {NAMES[t]}: it passes {passed[t]:.0%} ({really:.0%}) of the bad answers.")


def print_rates(model: CrowdClassifier, chat: Chat, y: Annotations) -> None:
    heading("How good is the chatbot?")
    gold = {i: str(chat.truth[i]) for i in range(0, len(chat.X), 5)}  # a panel of people checked every fifth
    rates = model.rate(chat.X, y, gold=gold, by=np.take(TOPICS, chat.topic))
    print(f"Good answers: share of the grades, corrected with {len(gold)} checked answers, and the actual share.")
    for group in ["all items", *TOPICS]:
        rows = np.ones(len(chat.X), dtype=bool) if group == "all items" else chat.topic == TOPICS.index(group)
        graded, row = (chat.grades == "good")[rows][chat.asked[rows]].mean(), rates.row(group, "good")
        limits = f"({rates.low[row]:.0%} to {rates.high[row]:.0%})"
        actual = (chat.truth[rows] == "good").mean()
        print(f"{group:<12}{graded:>5.0%}  {rates.rate[row]:>5.0%} {limits:<13} {actual:>5.0%}")


def print_copying(model: CrowdClassifier, chat: Chat, y: Annotations) -> list[str]:
    heading("Who repeats whom?")
    pairs = copying_suspects(y, model.posterior_, expected=expected_pairs(model, chat.X, y))
    print(f"{len(pairs)} of {pairs.n_tested} pairs agree more often than the model expects:")
    for j in range(len(pairs)):
        alike = f"{pairs.observed[j]} of {pairs.n_items[j]} grades, {pairs.expected[j]:.0f} expected"
        print(f"  {pairs.first[j]} and {pairs.second[j]} ({alike})")
    print("Copied labels would count twice, so the second of the pair is not asked below.")
    return pairs.second.tolist()


def print_questions(model: CrowdClassifier, chat: Chat, y: Annotations, judges: list[str]) -> None:
    heading("Whom to ask next?")
    for price in (1, 5, 20):
        costs = dict.fromkeys(NAMES, 1) | dict.fromkeys(PEOPLE, price)
        more = model.suggest(chat.X, y, n=60, costs=costs, annotators=[*judges, *PEOPLE])
        n = np.isin(more.annotator, PEOPLE).sum()
        print(f"If a person costs {price:>2} times a judge, people get {n:>2} of the next 60 questions.")
    print(f"At 20 times, who is asked about what:\n{'':<12}" + "".join(f"{name:>8}" for name in TOPICS))
    for name in judges:
        about = np.bincount(chat.topic[more.item[more.annotator == name]], minlength=len(TOPICS))
        print(f"{name:<12}" + "".join(f"{count:>8}" for count in about))
    item, judge = np.nonzero(~chat.asked & np.isin(NAMES, judges))
    drawn = np.random.default_rng(0).permutation(len(item))[:60]
    chosen = after(model, chat, more.item, np.array([NAMES.index(name) for name in more.annotator]))
    chance = after(model, chat, item[drawn], judge[drawn])
    print(f"Accuracy so far: {accuracy(model, chat):.1%}; with these 60 grades: {chosen:.1%};", end=" ")
    print(f"with 60 at random from the same judges: {chance:.1%}.")


def after(model: CrowdClassifier, chat: Chat, item: np.ndarray, judge: np.ndarray) -> float:
    """Accuracy after an update with these grades."""
    names, grades, sure = np.take(NAMES, judge), chat.grades[item, judge], chat.sure[item, judge]
    new = Annotations.from_arrays(item, names, grades, items=range(len(chat.X)), confidence=sure)
    return accuracy(deepcopy(model).update(chat.X, new), chat)


def accuracy(model: CrowdClassifier, chat: Chat) -> float:
    return float((model.classes_[model.posterior_.argmax(axis=1)] == chat.truth).mean())


def heading(text: str) -> None:
    print(f"\n{text}\n{'-' * len(text)}")


def simulate(n: int = 400) -> Chat:
    """Embeddings, and for every judge its grades, its confidences and whether it was asked."""
    rng = np.random.default_rng(0)
    topic, good = rng.integers(len(TOPICS), size=n), rng.random(n) < 0.6
    centre, quality = 2 * rng.normal(size=(len(TOPICS), 16)), 0.5 * rng.normal(size=16)
    X = centre[topic] + np.outer(good, quality) + rng.normal(size=(n, 16))
    skill = np.array(list(SKILL.values())).T[topic]
    skill[~good, NAMES.index("dune")] = 0.55
    right = rng.random(skill.shape) < skill
    copies = rng.random(n) < 0.8
    right[copies, NAMES.index("atlas-mini")] = right[copies, NAMES.index("atlas")]
    sure = np.where(right, rng.uniform(0.5, 1.0, right.shape), rng.uniform(0.3, 0.9, right.shape))
    sure[:, np.isin(NAMES, PEOPLE)] = 1.0
    asked = rng.random(right.shape) < np.where(np.isin(NAMES, PEOPLE), 0.1, 0.7)
    truth, grades = np.where(good, "good", "bad"), np.where(right == good[:, None], "good", "bad")
    return Chat(X=X, topic=topic, truth=truth, grades=grades, sure=sure, asked=asked)


if __name__ == "__main__":
    main()
