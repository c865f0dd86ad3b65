"""What a label contributes is the difference that leaving it out makes; two fits differ where they say so."""

from dataclasses import replace

import numpy as np
import pytest

from tests.insight.summary_worlds import fitted, summary_of
from whoknows import Annotations
from whoknows.insight.contributions import contributions
from whoknows.insight.summary.changes import changes


@pytest.mark.parametrize("kind", ["classes", "auto", "levels", "many classes"])
def test_contributions_are_posteriors_with_fewer_labels(kind):
    model, X, said = fitted(kind)
    row = int(said.labels_per_item.argmax())
    one = said[row : row + 1]
    who, label = one.annotators[one.annotator], one.labels[one.label]
    found = contributions(model, X[row], who, label)
    np.testing.assert_allclose(found.posterior, model.posterior(X[row : row + 1], one)[0])
    np.testing.assert_allclose(found.from_features, model.predict_proba(X[row : row + 1])[0])
    for left, prob in enumerate(found.without):
        kept = [k for k in range(len(label)) if k != left]
        others = Annotations.from_arrays([0] * len(kept), who[kept], label[kept], items=[0], labels=said.labels)
        np.testing.assert_allclose(prob, model.posterior(X[row : row + 1], others)[0])


def test_an_item_without_labels_has_the_posterior_of_its_features():
    model, X, _ = fitted("classes")
    found = contributions(model, X[3], [], [])
    np.testing.assert_allclose(found.posterior, model.predict_proba(X[3:4])[0])
    assert found.without.shape == (0, 2)


@pytest.mark.parametrize("kind", ["classes", "numbers"])
def test_a_fit_does_not_differ_from_itself(kind):
    summary = summary_of(kind)
    assert changes(summary, summary) == {"n_labels": 0, "flips": [], "moved": [], "new": []}


def test_flips_and_moves_between_two_fits_are_listed():
    after = summary_of("classes")
    flipped = list(after.consensus["consensus"])
    flipped[5] = {"yes": "no", "no": "yes"}[flipped[5]]
    lower = [0.5 * value for value in after.annotators["low"]], [0.9 * value for value in after.annotators["low"]]
    annotators = {key: column[1:] for key, column in {**after.annotators, "low": lower[0], "high": lower[1]}.items()}
    consensus = {**after.consensus, "consensus": flipped}
    given = {**after.given, "n_labels": after.given["n_labels"] - 7}
    found = changes(replace(after, given=given, consensus=consensus, annotators=annotators), after)
    assert found["n_labels"] == 7
    assert [(flip["item"], flip["before"], flip["consensus"]) for flip in found["flips"]] == [
        (after.consensus["item"][5], flipped[5], after.consensus["consensus"][5])
    ]
    assert [each["annotator"] for each in found["moved"]] == after.annotators["annotator"][1:]
    assert found["new"] == after.annotators["annotator"][:1]
