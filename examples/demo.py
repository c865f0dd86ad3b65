"""A first look: 569 tumours, five simulated annotators, seven items in ten without any label.

Annotators are those of the paper's Sec. 4.1: each never errs on one kind of item and is wrong on about a
third of the others. The model sees features and labels only; the truth is used afterwards, to check it.
"""

import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.metrics import roc_auc_score

from whoknows import Annotations, CrowdClassifier
from whoknows.data.simulate import cluster_experts

SHARE_LABELLED = 0.3
NAMES = ["anna", "bruno", "chloe", "dmitri", "emeka"]


def main() -> None:
    X, said, truth, right = given()
    model = CrowdClassifier().fit(X, said)
    print_given(said)
    print_truth(model, X, said, truth)
    print_annotators(model, X, said, right)


def given() -> tuple[np.ndarray, Annotations, np.ndarray, np.ndarray]:
    """Features, who said what, and to check the answer: the truth, and whether each label would be right."""
    tumours = load_breast_cancer()
    X, truth = tumours.data, tumours.target_names[tumours.target]
    labels = cluster_experts(X, truth, n_annotators=len(NAMES), random_state=0)
    labelled = np.random.default_rng(0).random(len(X)) < SHARE_LABELLED
    said = Annotations.from_matrix(np.where(labelled[:, None], labels, None), annotators=NAMES)
    return X, said, truth, labels == truth[:, None]


def print_given(said: Annotations) -> None:
    heading("What was given")
    print(f"{said.n_items} items, {said.labelled.sum()} of them labelled, {(~said.labelled).sum()} by nobody")
    print(f"{said.n_annotators} annotators, {said.n_annotations} labels: {' or '.join(said.labels)}")


def print_truth(model: CrowdClassifier, X: np.ndarray, said: Annotations, truth: np.ndarray) -> None:
    vote = majority(said)
    on, off = said.labelled, ~said.labelled
    consensus = model.classes_[model.posterior(X, said).argmax(axis=1)]
    heading("The truth of every item (checked against the real one, which the model never saw)")
    print(f"{'':<20}{'majority vote':>15}{'whoknows':>12}")
    print(f"{'labelled items':<20}{share(vote[on] == truth[on]):>15}{share(consensus[on] == truth[on]):>12}")
    print(f"{'unlabelled items':<20}{'—':>15}{share(consensus[off] == truth[off]):>12}")


def print_annotators(model: CrowdClassifier, X: np.ndarray, said: Annotations, right: np.ndarray) -> None:
    expertise = model.expertise(X)
    heading("Who knows what")
    print("Probability of being right, and in brackets how often it really was.")
    print(f"{'annotator':<12}{'labels':>7}{'on average':>14}{'where strongest':>18}{'where weakest':>16}")
    for t, name in enumerate(model.annotators_):
        order = np.argsort(-expertise[:, t])
        best, worst = order[: len(order) // 10], order[-len(order) // 10 :]
        cells = [f"{expertise[i, t].mean():.0%} ({right[i, t].mean():.0%})" for i in (order, best, worst)]
        print(f"{name:<12}{said.labels_per_annotator[t]:>7}{cells[0]:>14}{cells[1]:>18}{cells[2]:>16}")
    on = said.labelled
    auc = roc_auc_score(right[on].ravel(), expertise[on].ravel())
    print("Strongest, weakest: the tenth of all items where the model trusts the annotator most, least.")
    print(f"Expertise tells right labels from wrong ones with an AUC of {auc:.2f}.")


def majority(said: Annotations) -> np.ndarray:
    votes = np.zeros((said.n_items, said.n_classes))
    np.add.at(votes, (said.item, said.label), 1)
    return said.labels[votes.argmax(axis=1)]


def heading(text: str) -> None:
    print(f"\n{text}\n{'-' * len(text)}")


def share(right: np.ndarray) -> str:
    return f"{right.mean():.1%}"


if __name__ == "__main__":
    main()
