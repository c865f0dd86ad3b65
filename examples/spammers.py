"""Forty strangers say yes or no to 500 questions: a few know, some click anything, some lie.

Every question got four answers, of people drawn at random. Who looks at the questions at all, and what is the
truth? All of it is simulated; who is who, and the truth, are used only to check the answer.
"""

import numpy as np

from whoknows import Annotations, BernoulliAnnotators, CrowdClassifier
from whoknows.data.simulate import adversaries, constant_accuracies, hide, spammers

KINDS = {"expert": 3, "so-so": 19, "clicks anything": 8, "always yes": 5, "liar": 5}
KIND = {f"w{i + 1:02}": kind for i, kind in enumerate(np.repeat(list(KINDS), list(KINDS.values())))}


def main() -> None:
    X, truth, answers = simulate()
    said = hide(Annotations.from_matrix(answers, annotators=list(KIND)), per_item=4)
    # two_coin: one accuracy where the truth is yes and one where it is no. Those who always say yes have a
    # high and a low one; with a single one for both they can pull the whole fit towards yes.
    model = CrowdClassifier(annotators=BernoulliAnnotators(two_coin=True)).fit(X, said)
    heading("The truth of every question")
    print(f"{said.n_annotations} answers to {said.n_items} questions. Right, by the truth that no model saw:")
    print(f"  majority vote   {(majority(said) == truth).mean():.1%}")
    print(f"  whoknows        {accuracy(model, truth):.1%}")
    print_people(model, (answers == truth[:, None]).mean(axis=0))
    print_more(model, X, said, answers, truth)


def print_people(model: CrowdClassifier, right: np.ndarray) -> None:
    heading("Who knows?")
    print("Probability of being right, its 90% interval, and in brackets how often it really was.")
    best = model.ranking(level=0.9)  # print(best) shows it as a table
    kind = np.array([KIND[name] for name in best.annotator])
    really = np.array([right[list(KIND).index(name)] for name in best.annotator])
    for i in [0, 1, 2, -3, -2, -1]:
        limits = f"{best.low[i]:.0%} to {best.high[i]:.0%}"
        print(f"  {best.annotator[i]}  {best.expertise[i]:.0%}, {limits} ({really[i]:.0%})  {kind[i]}")
    verdict = np.where(best.low > 0.5, "above", np.where(best.high < 0.5, "below", "around"))
    print(f"Interval against 50%, a coin:{'above':>8}{'around':>8}{'below':>8}")
    for name in KINDS:
        counts = [(verdict[kind == name] == where).sum() for where in ("above", "around", "below")]
        print(f"  {name:<27}" + "".join(f"{count:>8}" for count in counts))
    missed = ((really < best.low) | (really > best.high)).sum()
    print(f"{missed} of the {len(best)} intervals miss how often it really was; some four are expected to.")
    says_yes = {name: model.confusion(name)[:, 1] for name in KIND}  # if the truth is no, if it is yes
    always = [name for name, p in says_yes.items() if p.min() > 0.75]
    print(f"Say yes whatever the truth: {', '.join(always)}.")


def print_more(
    model: CrowdClassifier, X: np.ndarray, said: Annotations, answers: np.ndarray, truth: np.ndarray
) -> None:
    heading("300 more answers come in")
    best = model.suggest(X, said, n=300)
    asked = [KIND[name] for name in best.annotator]
    print("Asked of those worth asking: " + ", ".join(f"{asked.count(name)} {name}" for name in KINDS) + ".")
    print("A liar who is seen through tells as much as an expert.")
    given = answers[best.item, [list(KIND).index(name) for name in best.annotator]]
    new = Annotations.from_arrays(best.item, best.annotator, given, items=said.items)
    heard = np.isin(said.to_matrix(), said.labels)
    others = Annotations.from_matrix(np.where(heard, None, answers), annotators=list(KIND))
    anyone = hide(others, items=0.6, per_item=1)
    fresh = CrowdClassifier(annotators=BernoulliAnnotators(two_coin=True))
    chance = accuracy(fresh.fit(X, said.updated_with(anyone)), truth)
    print(f"Right: {accuracy(model.update(X, new), truth):.1%}; with 300 answers of anyone: {chance:.1%}.")
    iterations = fresh.fit(X, said.updated_with(new)).n_iter_
    print(f"update() took {model.n_iter_} iterations, where a new fit takes {iterations}.")


def majority(said: Annotations) -> np.ndarray:
    votes = np.zeros((said.n_items, said.n_classes))
    np.add.at(votes, (said.item, said.label), 1)
    return said.labels[votes.argmax(axis=1)]


def accuracy(model: CrowdClassifier, truth: np.ndarray) -> float:
    return float((model.classes_[model.posterior_.argmax(axis=1)] == truth).mean())


def heading(text: str) -> None:
    print(f"\n{text}\n{'-' * len(text)}")


def simulate(n: int = 500) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Features, the truth, and what each of the forty would answer."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 5))
    truth = np.where(X[:, 0] + X[:, 1] * X[:, 2] + 0.5 * rng.normal(size=n) > 0, "yes", "no")
    crowd = [
        constant_accuracies(truth, np.full(KINDS["expert"], 0.95), random_state=rng),
        constant_accuracies(truth, rng.uniform(0.6, 0.75, KINDS["so-so"]), random_state=rng),
        spammers(truth, KINDS["clicks anything"], random_state=rng),
        np.full((n, KINDS["always yes"]), "yes"),
        adversaries(truth, KINDS["liar"], error=0.85, random_state=rng),
    ]
    return X, truth, np.column_stack(crowd)


if __name__ == "__main__":
    main()
