"""Forty crowd workers answer 500 yes/no questions: a few are experts, some answer at random, some lie.

Each question has four answers, from workers drawn at random. Who are the spammers, and what are the true
answers? All data are simulated; the true answers and types of workers are used only for evaluation.
"""

import numpy as np

from whoknows import Annotations, BernoulliAnnotators, CrowdClassifier
from whoknows.data.simulate import adversaries, constant_accuracies, hide, spammers

KINDS = {"expert": 3, "so-so": 19, "random answers": 8, "always yes": 5, "liar": 5}
KIND = {f"w{i + 1:02}": kind for i, kind in enumerate(np.repeat(list(KINDS), list(KINDS.values())))}


def main() -> None:
    X, truth, answers = simulate()
    y = hide(Annotations.from_matrix(answers, annotators=list(KIND)), per_item=4)
    # two_coin: separate accuracies if the truth is yes and if it is no. Workers who always say yes have a
    # high and a low one; a single accuracy for both can bias the whole fit towards yes.
    model = CrowdClassifier(annotators=BernoulliAnnotators(two_coin=True)).fit(X, y)
    heading("The true answers")
    print(f"{y.n_annotations} answers to {y.n_items} questions. Accuracy:")
    print(f"  majority vote   {(majority(y) == truth).mean():.1%}")
    print(f"  whoknows        {accuracy(model, truth):.1%}")
    print_people(model, (answers == truth[:, None]).mean(axis=0))
    print_more(model, X, y, answers, truth)


def print_people(model: CrowdClassifier, right: np.ndarray) -> None:
    heading("Who knows?")
    print("Estimated probability of being right, its 90% interval, and in brackets the actual accuracy.")
    best = model.ranking(level=0.9)  # print(best) shows it as a table
    kind = np.array([KIND[name] for name in best.annotator])
    really = np.array([right[list(KIND).index(name)] for name in best.annotator])
    for i in [0, 1, 2, -3, -2, -1]:
        limits = f"{best.low[i]:.0%} to {best.high[i]:.0%}"
        print(f"  {best.annotator[i]}  {best.expertise[i]:.0%}, {limits} ({really[i]:.0%})  {kind[i]}")
    verdict = np.where(best.low > 0.5, "above", np.where(best.high < 0.5, "below", "around"))
    print(f"Interval compared with 50%:  {'above':>8}{'around':>8}{'below':>8}")
    for name in KINDS:
        counts = [(verdict[kind == name] == where).sum() for where in ("above", "around", "below")]
        print(f"  {name:<27}" + "".join(f"{count:>8}" for count in counts))
    missed = ((really < best.low) | (really > best.high)).sum()
    print(f"{missed} of the {len(best)} intervals do not contain the actual accuracy; about four are expected.")
    says_yes = {name: model.confusion(name)[:, 1] for name in KIND}  # if the truth is no, if it is yes
    always = [name for name, p in says_yes.items() if p.min() > 0.75]
    print(f"Say yes whatever the true answer: {', '.join(always)}.")


def print_more(model: CrowdClassifier, X: np.ndarray, y: Annotations, answers: np.ndarray, truth: np.ndarray) -> None:
    heading("300 more answers")
    best = model.suggest(X, y, n=300)
    asked = [KIND[name] for name in best.annotator]
    print("Most informative to ask: " + ", ".join(f"{asked.count(name)} {name}" for name in KINDS) + ".")
    print("A worker who is known to lie is as informative as an expert.")
    given = answers[best.item, [list(KIND).index(name) for name in best.annotator]]
    new = Annotations.from_arrays(best.item, best.annotator, given, items=y.items)
    heard = np.isin(y.to_matrix(), y.labels)
    others = Annotations.from_matrix(np.where(heard, None, answers), annotators=list(KIND))
    anyone = hide(others, items=0.6, per_item=1)
    fresh = CrowdClassifier(annotators=BernoulliAnnotators(two_coin=True))
    chance = accuracy(fresh.fit(X, y.updated_with(anyone)), truth)
    updated = accuracy(model.update(X, new), truth)
    print(f"Accuracy: {updated:.1%}; with 300 answers of random workers: {chance:.1%}.")
    iterations = fresh.fit(X, y.updated_with(new)).n_iter_
    print(f"update() took {model.n_iter_} iterations, a new fit {iterations}.")


def majority(y: Annotations) -> np.ndarray:
    votes = np.zeros((y.n_items, y.n_classes))
    np.add.at(votes, (y.item, y.label), 1)
    return y.labels[votes.argmax(axis=1)]


def accuracy(model: CrowdClassifier, truth: np.ndarray) -> float:
    return float((model.classes_[model.posterior_.argmax(axis=1)] == truth).mean())


def heading(text: str) -> None:
    print(f"\n{text}\n{'-' * len(text)}")


def simulate(n: int = 500) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Features, true answers, and the answers of all forty workers."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 5))
    truth = np.where(X[:, 0] + X[:, 1] * X[:, 2] + 0.5 * rng.normal(size=n) > 0, "yes", "no")
    crowd = [
        constant_accuracies(truth, np.full(KINDS["expert"], 0.95), random_state=rng),
        constant_accuracies(truth, rng.uniform(0.6, 0.75, KINDS["so-so"]), random_state=rng),
        spammers(truth, KINDS["random answers"], random_state=rng),
        np.full((n, KINDS["always yes"]), "yes"),
        adversaries(truth, KINDS["liar"], error=0.85, random_state=rng),
    ]
    return X, truth, np.column_stack(crowd)


if __name__ == "__main__":
    main()
