"""Fitted models whose truth is one of several classes, ordered or not."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from scipy.special import entr
from scipy.stats import hypergeom

from whoknows._array import Array, Rows
from whoknows.data.annotations import Annotations
from whoknows.data.errors import InputError
from whoknows.data.vocabulary import Ids, codes_of, elements, show
from whoknows.estimators.ask.suggestions import Suggestions
from whoknows.estimators.baselines.two_step import votes
from whoknows.estimators.inputs.training_data import gold_codes, with_classes_of
from whoknows.insight.blocks import contradicting_blocks
from whoknows.insight.coefficients import Level, fleiss_kappa, percent_agreement
from whoknows.insight.kinds import by_kind
from whoknows.insight.pair_expectations import expected_pairs, rows_to_compare
from whoknows.insight.pairwise import ExpectedPairs, copying_suspects, pairwise_agreement
from whoknows.insight.rates.hidden_gold import posterior_without_own_gold
from whoknows.insight.summary.base import BINS, FittedData
from whoknows.insight.summary.text import (
    Facts,
    Table,
    annotator_name,
    class_columns,
    copying_finding,
    count,
    json_ids,
    percent,
    probabilities,
    thousands,
)
from whoknows.insight.together import effect_sentence, shared_errors
from whoknows.insight.worse import worse_than_chance

CERTAIN = 0.9  # probability from which a consensus counts as certain
SKILL_GAP = 0.1  # difference in the probability of being correct worth a mention
CLEARLY_BETTER = 0.02  # the same, between those who contradict each other on an item
RANKING_WORK = 1_000_000  # items × annotators × classes² of a ranking with intervals
MIN_RANKED, MAX_RANKED = 50, 1_000  # items that a ranking is averaged over
MAX_MATRIX = 10  # classes up to which a confusion matrix is readable
MAX_CONFUSIONS = 5  # most frequent confusions to list
GOLD_FOLDS = 3  # fits that hide a part of the gold
MAX_SUSPECTS = 20  # pairs listed
FEW_LABELS = 5  # of a class
CONSTANT_SHARE = 0.95  # share of one label from which an annotator is suspected of not looking
USUAL_SHARE = 0.8  # share of a label among the other annotators' from which it is normal
FALSE_ALARM = 0.01  # probability that anyone is suspected by chance
SHOWN = 3  # classes and annotators named in warnings


class CategoricalFit(FittedData):
    """A model of classes without an order.

    `GaussianFit` has the same attributes and methods; the second meaning of an attribute is for numbers.

    Attributes
    ----------
    kind : {"classes", "levels", "numbers"}
    level : {"nominal", "ordinal", "interval"}
        Measurement scale of the labels.
    sign : {1, -1}
        1 if a higher skill is better (a probability), −1 if a lower one is (an error).
    classes : list
        For JSON; empty for numbers.
    consensus : (n_items,)
        Code of the most probable class, or expected value.
    uncertainty : (n_items,)
        Probability that the consensus is wrong, or its standard deviation.
    is_uncertain : bool array of shape (n_items,)
        Whether an item may need review.
    vote : (n_items,)
        Code of the most frequent label, or mean; NaN for ties and without labels.
    overruled : bool array of shape (n_items,)
        Whether the consensus contradicts the vote.
    margin : (n_items,)
        How clearly it does: difference in number of labels, or distance.
    entropy : (n_items,)
        Entropy of the posterior, or its standard deviation, which grows with it.
    agrees : (n_labels,)
        1 where a label equals the consensus, else 0; NaN for numbers.
    disagreement : (n_items,)
        Entropy of the labels of each item in bits, or their standard deviation.
    """

    kind = "classes"
    level: ClassVar[Level] = "nominal"
    sign = 1
    pair_measure = "Cohen's kappa"
    left_out_event = f"Left-out labels agree with a consensus of at least {percent(CERTAIN)} probability"

    # --- consensus ---------------------------------------------------------------------------------

    def __init__(self, model: Any, X: Any, y: Any) -> None:
        self.posterior = np.asarray(model.posterior_)
        super().__init__(model, X, y, len(self.posterior))
        self.classes = json_ids(self.annotations.labels)
        self.label_counts = np.bincount(self.annotations.label, minlength=self.n_outcomes)
        self.label_shares = self.label_counts / self.annotations.n_annotations
        self.consensus = self.posterior.argmax(axis=1)
        self.uncertainty = 1 - self.posterior.max(axis=1)
        self.entropy = entr(self.posterior).sum(axis=1)
        self.is_uncertain = self.uncertainty > 1 - CERTAIN
        counts = votes(self.annotations, weighted=False)  # as a reader counts
        most = counts.max(axis=1)
        has_majority = (most > 0) & ((counts == most[:, None]).sum(axis=1) == 1)
        self.vote = np.where(has_majority, counts.argmax(axis=1), np.nan)
        self.overruled = has_majority & (self.vote != self.consensus)
        self.agrees = (self.annotations.label == self.consensus[self.annotations.item]).astype(float)
        self.margin = most - counts[np.arange(len(counts)), self.consensus]
        shares = counts / np.maximum(self.annotations.labels_per_item, 1)[:, None]
        self.disagreement = entr(shares).sum(axis=1) / np.log(2)

    def consensus_columns(self) -> Table:
        """Consensus, its probability, the majority, and the probability of each class."""
        columns = zip(class_columns(self.classes), self.posterior.T, strict=True)
        return {
            "consensus": [self.classes[k] for k in self.consensus],
            "confidence": probabilities(1 - self.uncertainty),
            "n_labels": self.annotations.labels_per_item.tolist(),
            "vote": [self.classes[int(k)] if k == k else None for k in self.vote],
            "overruled": self.overruled.tolist(),
            **{name: probabilities(column) for name, column in columns},
        }

    def consensus_facts(self) -> Facts:
        """Class balance, and how certain the consensus is."""
        annotations, K = self.annotations, self.n_outcomes
        certain = ~self.is_uncertain
        items = np.bincount(self.consensus, minlength=K)
        return {
            "sure_above": CERTAIN,
            "n_sure": int(certain.sum()),
            "n_sure_labelled": int((certain & annotations.labelled).sum()),
            "histogram": self.histogram(1 - self.uncertainty, np.linspace(1 / K, 1, BINS + 1)),
            "balance": {
                "class": self.classes,
                "items": items.tolist(),
                "share": items / self.n_items,
                "share_of_labels": self.label_shares,
            },
        }

    # --- annotators --------------------------------------------------------------------------------

    def skill(self, rows: Rows, annotators: Any = slice(None)) -> Array:
        """Probability of being correct on some items: (n_rows, n_annotators)."""
        ids = self.annotations.annotators[annotators]
        return np.asarray(self.model.expertise(self.features(rows), annotators=ids, unknown="population"))

    def ranking(self) -> tuple[Rows, Table]:
        """Expertise averaged over items, with limits; over fewer items where limits are expensive."""
        n = RANKING_WORK // (self.n_annotators * self.n_outcomes**2)
        rows = None if n >= MAX_RANKED else self.features(self.sample(max(n, MIN_RANKED)))
        ranking = self.model.ranking(rows)
        order = codes_of(elements(ranking.annotator), self.annotations.annotators).astype(np.intp)
        agreement = self.annotator_mean(self.agrees)[order]
        columns = {name: getattr(ranking, name).tolist() for name in ("expertise", "low", "high")}
        return order, columns | {"agreement_with_consensus": agreement.tolist()}

    def check_gold(self, gold: Any) -> Array:
        """Gold as class codes."""
        known = set(self.annotations.labels.tolist())
        unknown = set(with_classes_of(gold, self.annotations).labels.tolist()) - known
        if unknown:
            raise InputError(
                f"gold has labels that the model does not know: {show(sorted(unknown, key=str))}. Pass gold to fit too."
            )
        return np.asarray(gold_codes(gold, self.annotations))

    def kinds(self, by: Mapping[str, Any]) -> Facts:
        """How often each annotator is right on each kind of item, by the name of the kinds."""
        found = {name: by_kind(self.annotations, self.posterior, values).columns() for name, values in by.items()}
        ids = ("annotator", "kind")  # to their last digit, also if they are numbers
        return {name: table | {key: json_ids(table[key]) for key in ids} for name, table in found.items()}

    def gold_columns(self, gold: Array) -> dict[str, Array]:
        """Share of correct labels."""
        truth = gold[self.annotations.item]
        correct = (self.annotations.label == truth).astype(float)
        return {"right_on_gold": self.annotator_mean(correct, np.isfinite(truth))}

    def profiles(self, annotators: list[int], rows: Rows) -> list[Facts]:
        """Confusions of some annotators."""
        return [self._confusions(t) for t in annotators]

    def _confusions(self, annotator: int) -> Facts:
        """p(label | truth): the matrix if it is readable, and the most frequent confusions."""
        matrix = self.model.confusion(elements(self.annotations.annotators)[annotator])
        mistakes = np.where(np.eye(len(matrix), dtype=bool), 0.0, matrix)
        order = np.argsort(-mistakes, axis=None, kind="stable")[:MAX_CONFUSIONS]
        truth, label = np.unravel_index(order, mistakes.shape)
        frequent = [
            {"truth": self.classes[z], "says": self.classes[y], "share": mistakes[z, y]}
            for z, y in zip(truth, label, strict=True)
            if mistakes[z, y] > 0
        ]
        return {"confusion": matrix if len(matrix) <= MAX_MATRIX else None, "mistakes": frequent}

    def skills_differ(self, low: float, high: float) -> bool:
        """Compare the difference of two probabilities."""
        return bool(high - low > SKILL_GAP)

    def color_domain(self, skill: Array) -> list[float]:
        """Range of probabilities in steps of 5 %, at least 10 % wide."""
        low, high = np.quantile(skill, [0.02, 0.98]).tolist()
        low, high = np.floor(low * 20) / 20, np.ceil(high * 20) / 20
        return [float(max(min(low, high - 0.1), 0.0)), float(min(max(high, low + 0.1), 1.0))]

    # --- agreement ---------------------------------------------------------------------------------

    def pair_values(self, annotations: Annotations) -> tuple[Ids, Ids, Array, Array]:
        """Cohen's kappa of all pairs."""
        pairs = pairwise_agreement(annotations)
        return pairs.first, pairs.second, pairs.n_items.astype(float), pairs.kappa

    def agreement_facts(self) -> Facts:
        """Percent agreement, agreement expected by chance, Fleiss' kappa, copying, and who errs together."""
        return {
            "percent": percent_agreement(self.annotations),
            "by_chance": self.label_shares @ self.label_shares,
            "fleiss": fleiss_kappa(self.annotations),
            "copying": self._copying(),
            "together": self._together(),
        }

    def _together(self) -> Facts | None:
        """How many independent labels those of an item are worth; None where annotators do not err together."""
        by_gold = shared_errors(self.annotations, self.gold) if self.is_gold.any() else None
        found = by_gold or shared_errors(self.annotations[self._compared], expected=self._expected_pairs)
        effects = getattr(self.model, "item_effect_", np.zeros(1))  # Gaussian annotators have none
        facts = {"worth": found.worth, "mean": found.mean, "finding": found.sentence(), "by_gold": found is by_gold}
        return facts | {"by_annotator": effect_sentence(effects, self.model.annotators_)} if found.matters else None

    @cached_property
    def _compared(self) -> Rows:
        """Items on which pairs of annotators are compared."""
        return rows_to_compare(self.annotations, self.n_members)

    @cached_property
    def _expected_pairs(self) -> ExpectedPairs:
        return expected_pairs(self.model, self.features(self._compared), self.annotations[self._compared])

    def _copying(self) -> Facts:
        """Pairs that agree more than the model expects, on items with several labels."""
        rows = self._compared
        suspects = copying_suspects(self.annotations[rows], self.posterior[rows], expected=self._expected_pairs)
        columns = ("first", "second", "n_items", "observed", "expected", "mistakes", "p_adjusted")
        facts = {
            "n_suspects": len(suspects),
            "n_pairs": suspects.n_tested,
            "n_items": int((self.annotations.labels_per_item[rows] > 1).sum()),
            "suspects": {name: json_ids(getattr(suspects, name)[:MAX_SUSPECTS]) for name in columns},
        }
        return facts | {"finding": copying_finding(facts), "caveat": suspects.caveat}

    # --- items -------------------------------------------------------------------------------------

    def left_out(
        self, rows: Rows, others: Annotations, annotations: Annotations, left: Rows
    ) -> tuple[Array, Array, Array]:
        """Stated probability of a consensus without some labels, and expected and actual agreement of these.

        ``others`` are the annotations of these items without the labels ``left``, one per item at most.
        """
        item, annotator = annotations.item[left], annotations.annotator[left]
        posterior = self.model.posterior(self.features(rows), others)[item]
        stated, right = posterior.max(axis=1), self.skill(rows)[item, annotator]
        expected = stated * right + (1 - stated) * (1 - right) / (self.n_outcomes - 1)
        return stated, expected, (annotations.label[left] == posterior.argmax(axis=1)).astype(float)

    def suggest(self, rows: Rows, n: int, costs: Any) -> Suggestions:
        """Choose by the model's own `suggest`."""
        return self.model.suggest(self.features(rows), self.annotations[rows], n, costs=costs)

    def predictions(self, rows: Rows) -> list[Facts]:
        """Classes predicted from the features; a graph over the items has no such prediction."""
        if any(pair.prepared.model.truth.couples_items for pair in self.model.pairs_):
            return [{}] * len(rows)
        predicted = self.model.predict_proba(self.features(rows))
        return [
            {
                "from_features": self.classes[prob.argmax()],
                "p_from_features": prob.max(),
                "p_consensus_from_features": prob[consensus],
            }
            for prob, consensus in zip(predicted, self.consensus[rows], strict=True)
        ]

    def explanation(self, row: int, case: Facts, skill: Array, annotators: Any, labels: Any) -> Iterator[str]:
        """Who said what, how often they are correct on such items, and what the features predict."""
        said, consensus = labels == self.vote[row], labels == self.consensus[row]
        yield f"{thousands(said.sum())} of {thousands(len(labels))} said “{case['vote']}”."
        against, backing = skill[said], skill[consensus]
        if len(backing) and backing.max() > against.max() + CLEARLY_BETTER:
            best = annotators[consensus][backing.argmax()]
            name = annotator_name(json_ids(self.annotations.annotators[[best]])[0])
            yield (
                f"But {name}, who is right on {percent(backing.max())} of items like this, said "
                f"“{case['consensus']}”; those who said “{case['vote']}” are right on at most "
                f"{percent(against.max())}."
            )
        elif against.max() < 1 / self.n_outcomes:
            yield "But on items like this they are usually wrong, so their label speaks against that class."
        elif len(against) and against.mean() < 0.7:
            yield f"But on items like this they are right only {percent(against.mean())} of the time."
        probability = case.get("p_consensus_from_features", 0)
        if probability > 0.5:
            yield f"The features alone predict “{case['consensus']}” with probability {percent(probability)}."

    def prob_without_own_gold(self) -> Array | None:
        """Posterior of gold items, from fits in which a part of the gold is hidden; None if items are a sample."""
        training = self.model._training_data
        if training.annotations.n_items != self.n_items:
            return None
        if training.gold is None:
            return np.asarray(self.posterior[self.is_gold])
        prob = posterior_without_own_gold(self.model, self.X, self.annotations, self.gold, GOLD_FOLDS, 0)
        return np.asarray(prob[self.is_gold])

    def gold_warnings(self) -> Iterator[str]:
        """Annotators worse than chance; blocks that contradict each other, with too little gold to choose."""
        if self.is_gold.any():
            for one in worse_than_chance(self.model, self.X, self.annotations, self.gold)[:SHOWN]:
                yield one.sentence()
        blocks = contradicting_blocks(self.annotations)
        if blocks is not None and self.is_gold.sum() < blocks.gold_needed:
            yield blocks.sentence()

    def label_warnings(self) -> Iterator[str]:
        """Rare labels, and annotators who give the same label to every item."""
        labels = self.annotations
        for k in np.flatnonzero(self.label_counts < FEW_LABELS)[:SHOWN]:
            n = int(self.label_counts[k])
            how_often = f"given only {count(n, 'time')}" if n else "never given"
            yield f"The label {self.classes[k]!r} was {how_often}, so little can be learned about it."
        for t, k, often in constant_annotators(labels)[:SHOWN]:
            name, n = annotator_name(json_ids(labels.annotators)[t]), labels.labels_per_annotator[t]
            of_all = f"all {thousands(n)}" if often == n else f"{thousands(often)} of {thousands(n)}"
            yield f"{name} said {self.classes[k]!r} for {of_all} items they labelled."


class OrdinalFit(CategoricalFit):
    """A model of ordered classes (levels), where annotators are more or less severe."""

    kind = "levels"
    level = "ordinal"

    def ranking(self) -> tuple[Rows, Table]:
        """Add how many levels each annotator scores above the crowd."""
        order, columns = super().ranking()
        return order, columns | {"severity": self.model.annotator_severity_[order].tolist()}

    def profiles(self, annotators: list[int], rows: Rows) -> list[Facts]:
        """Add the spread of each annotator's scores, averaged over some items."""
        spread = self.model.annotator_scale(self.features(rows)).mean(axis=0)
        facts = super().profiles(annotators, rows)
        return [one | {"spread": spread[t]} for one, t in zip(facts, annotators, strict=True)]


def constant_annotators(annotations: Annotations) -> list[tuple[int, int, int]]:
    """Annotators who nearly always give one label that others do not: (annotator, label, how often).

    In a large crowd, someone meets ten items of one class by chance: nobody is named whose labels could be a
    random draw from all labels, without replacement; corrected for the number of tests (Bonferroni).
    """
    table = np.zeros((annotations.n_annotators, annotations.n_classes))
    np.add.at(table, (annotations.annotator, annotations.label), 1)
    n, top, often = table.sum(axis=1), table.argmax(axis=1), table.max(axis=1)
    total, alike = annotations.n_annotations, table.sum(axis=0)[top]
    p = hypergeom.sf(often - 1, total, alike, n) * table.size
    unusual = (alike - often < USUAL_SHARE * (total - n)) & (p < FALSE_ALARM)
    suspected = unusual & (often >= CONSTANT_SHARE * n) & (n >= 2 * FEW_LABELS)
    return [(int(t), int(top[t]), int(often[t])) for t in np.flatnonzero(suspected)]
