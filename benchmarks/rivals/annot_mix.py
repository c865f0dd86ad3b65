"""AnnotMixClassifier of scikit-activeml: a network for the truth, and a confusion matrix per annotator.

The package leaves the network and its training to the user. Here it is one hidden layer of 64 units, trained
by Adam for 50 epochs; all else is default. These settings were chosen on draws that are not reported.
Expertise then depends on an item through its class. An embedding of the item can be added to it, but with one
the network mistook the classes for each other on a real crowd, so it is left out, as it is by default.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks.crowds.cases import Answer
from whoknows import Annotations

HIDDEN = 64
TRAINING = {"max_epochs": 50, "lr": 0.001, "batch_size": 32, "verbose": 0}


def fitted(X: np.ndarray, Y: Annotations) -> Any:
    """Fit to the labelled items; X is standardised."""
    import torch
    from skactiveml.classifier.multiannotator import AnnotMixClassifier

    class Network(torch.nn.Module):
        """Logits of the classes, and the hidden layer."""

        def __init__(self) -> None:
            super().__init__()
            self.hidden = torch.nn.Linear(X.shape[1], HIDDEN)
            self.out = torch.nn.Linear(HIDDEN, Y.n_classes)

        def forward(self, x: Any) -> Any:
            hidden = torch.relu(self.hidden(x))
            return self.out(hidden), hidden

    rows = np.flatnonzero(Y.labelled)
    torch.manual_seed(0)  # random_state does not reach the network
    model = AnnotMixClassifier(
        Network,
        classes=list(range(Y.n_classes)),
        neural_net_param_dict={"optimizer": torch.optim.Adam, **TRAINING},
        random_state=0,
    )
    model.fit(X[rows].astype(np.float32), Y[rows].to_matrix())
    return model


def answer(X: np.ndarray, Y: Annotations, X_new: np.ndarray) -> Answer:
    """Probabilities of its classifier; it has no other consensus of the labelled items."""
    model = fitted(X, Y)
    belief = model.predict_proba(X[Y.labelled].astype(np.float32))
    return Answer(belief.argmax(axis=1), belief, model.predict_proba(X_new.astype(np.float32)))


def expertise(X: np.ndarray, Y: Annotations, X_new: np.ndarray) -> np.ndarray:
    """Probability that each annotator is right on each new item: (n_new, n_annotators)."""
    _, right = fitted(X, Y).predict_proba(X_new.astype(np.float32), extra_outputs="annotator_perf")
    return np.asarray(right)
