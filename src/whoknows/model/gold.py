"""What gold says about the posterior: a logistic regression on the votes, with the model as its prior mean.

The model of the annotators counts every label as if annotators erred independently. If they err together, thousands of
labels outweigh a few gold items. So gold also corrects the posterior directly: the log-odds of class k are

    a log p(z = k | x, labels) + c log g(z = k | x) + Σ_t w_t [y_t = k] + b_k

with Gaussian priors, fitted to gold items; g is a classifier that gold alone teaches. Candidates differ in the prior:
the model as it is, since a few gold items on which it is right should not change it; the model with a temperature and
biases; that and weights w_t of the votes, more or less shrunk; the vote of a single annotator; each of these with g
or without; or g in place of the model. Their predictions are averaged with the marginal likelihood of gold as
weights. For two classes a may be negative: the model found the mirror image of the truth.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import product

import numpy as np

from whoknows._array import Array, Rows, log_softmax
from whoknows.data.annotations import Annotations

SINGLE_VOTE = 1.4  # prior mean of the log-odds of a single annotator's vote: right four times out of five
BIAS_VARIANCE = 0.3  # of b_k
AS_STATED, TEMPERED = 0.25, 1.0  # variances of a: around 1, or around 1 where log p is scaled to variance 1
MIRRORED = 0.1  # prior probability that most annotators are wrong, so that the model of two classes is inverted
VOTE_VARIANCES = (0.01, 0.1, 1.0)  # of w_t
OF_CLASSIFIER = 1.0  # variance of c, around 1
FIXED = 1e-9  # variance of what does not move
LEAST_WEIGHT = 1e-3  # of a candidate that is kept
FLOOR = 1e-9  # of probabilities, whose logarithms must be finite
NOBODY = -1
NEWTON_STEPS, NEWTON_TOL = 50, 1e-8


@dataclass(frozen=True)
class GoldCorrection:
    """Candidates and their weights.

    Attributes
    ----------
    weight : (n_candidates,)
    of_model : (n_candidates,)
        a.
    of_classifier : (n_candidates,)
        c.
    of_votes : (n_candidates, n_annotators)
        w_t; 0 for annotators without gold.
    bias : (n_candidates, n_classes)
        b_k.
    single : (n_candidates,)
        The only annotator of a candidate, whose vote replaces the model; −1 if there is none.
    """

    weight: Array
    of_model: Array
    of_classifier: Array
    of_votes: Array
    bias: Array
    single: Rows

    def corrected(self, prob: Array, Y: Annotations, log_g: Array | None = None) -> Array:
        """Return p(z | x, labels) of items, given the model's and that of the classifier: (n_items, n_classes)."""
        log_p, counts = _centred(np.log(np.maximum(prob, FLOOR))), Y.counts
        log_g = np.zeros_like(prob) if log_g is None else _centred(log_g)
        cell = Y.item.astype(np.intp) * Y.n_classes + Y.label
        found = np.zeros_like(prob)
        for weight, a, c, w, b, single in zip(
            self.weight, self.of_model, self.of_classifier, self.of_votes, self.bias, self.single, strict=True
        ):
            w = np.append(w, 0.0)  # of annotators not seen in training
            votes = np.bincount(cell, counts * w[Y.annotator], prob.size).reshape(prob.shape)
            scale = a * _without(Y, single) if single != NOBODY else a
            found += weight * np.exp(log_softmax(np.reshape(scale, (-1, 1)) * log_p + c * log_g + votes + b))
        return found


def fit_correction(
    prob: Array, Y: Annotations, gold: Array, counts: Array, log_g: Array | None = None
) -> GoldCorrection:
    """Fit the candidates to gold items.

    Parameters
    ----------
    prob : (n_items, n_classes)
        p(z | x, labels) of the model.
    Y : Annotations
        Labels of the gold items.
    gold : (n_items,)
        Class codes.
    counts : (n_items,)
        Weight of each item.
    log_g : (n_items, n_classes), optional
        log p(z | x) of a classifier that gold teaches, of each item by one that did not see it.
    """
    fitted = [_fitted(candidate, gold.astype(int), counts) for candidate in _candidates(prob, Y, log_g)]
    score = np.array([log_prior + evidence for log_prior, evidence, *_ in fitted])
    weight = np.exp(score - score.max())
    weight /= weight.sum()
    kept = np.flatnonzero(weight >= min(LEAST_WEIGHT, weight.max()))
    parts = (np.array([fitted[m][place] for m in kept]) for place in (2, 3, 4, 5, 6))
    return GoldCorrection(weight[kept] / weight[kept].sum(), *parts)


@dataclass(frozen=True)
class _Candidate:
    """A conditional logit model: features (n_items, n_classes, n_columns), and a Gaussian prior of their weights.

    The first columns are the model's log p and the classifier's log g, the next ones the biases, the others votes of
    ``voters``. A column of zeros leaves out what belongs there.
    """

    features: Array
    mean: Array
    variance: Array
    scale: float  # of log p in the first column
    voters: Rows
    n_annotators: int
    log_prior: float
    single: int = NOBODY


def _candidates(prob: Array, Y: Annotations, log_g: Array | None) -> Iterator[_Candidate]:
    """Give the candidates.

    The model as it is and with a temperature have prior probability 1/3 each, votes beside it and single annotators
    1/6 each.
    With a classifier, half of each is for the same beside the classifier; and the classifier in place of the model is
    half as probable as the model.
    """
    (n_items, K), T = prob.shape, Y.n_annotators
    log_p = _centred(np.log(np.maximum(prob, FLOOR)))
    biases, nothing = np.broadcast_to(np.eye(K), (n_items, K, K)), np.zeros((n_items, K))
    votes, seen = _votes(Y, n_items, K), Y.labels_per_annotator
    voters, judges = np.flatnonzero(seen > 0), np.flatnonzero(2 * seen >= n_items)
    spread = float(np.sqrt((log_p**2).mean())) + FLOOR
    beside = [nothing] if log_g is None else [nothing, _centred(log_g)]

    def candidate(prior: _Prior, model: Array, g: Array, who: Rows, single: int = NOBODY) -> _Candidate:
        features = np.concatenate([np.stack([model, g], axis=2), biases, votes[:, :, who]], axis=2)
        mean = np.r_[prior.mean, float(g is not nothing), np.zeros(K), np.full(len(who), prior.vote)]
        of_biases, of_votes = np.full(K, prior.of_biases), np.full(len(who), prior.of_votes)
        variance = np.r_[prior.variance, OF_CLASSIFIER, of_biases, of_votes]
        return _Candidate(features, mean, variance, prior.scale, who, T, float(np.log(prior.share)), single)

    def with_votes(prior: _Prior, model: Array, g: Array) -> Iterator[_Candidate]:
        yield candidate(prior, model, g, voters[:0])
        for variance in VOTE_VARIANCES:
            share = prior.share / (2 * len(VOTE_VARIANCES))
            yield candidate(replace(prior, of_votes=variance, share=share), model, g, voters)

    yield candidate(_Prior(1.0, 1.0, FIXED, share=1.0, of_biases=FIXED), log_p, nothing, voters[:0])
    for g, prior in product(beside, _priors_of_model(spread, K)):
        yield from with_votes(replace(prior, share=prior.share / len(beside)), prior.scale * log_p, g)
    for g in beside[1:]:
        yield from with_votes(_Prior(0.0, 0.0, 1.0, 0.5), nothing, g)
    for g, t in product(beside, judges):
        prior = _Prior(1.0, 1 / spread, TEMPERED, 0.5 / (len(judges) * len(beside)), SINGLE_VOTE)
        yield candidate(prior, _without(Y, int(t))[:, None] * log_p / spread, g, np.array([t]), int(t))


@dataclass(frozen=True)
class _Prior:
    """Mean and variance of a, for log p times ``scale``; weight of this prior; mean and variance of w_t; that of b."""

    mean: float
    scale: float
    variance: float
    share: float
    vote: float = 0.0
    of_votes: float = 1.0
    of_biases: float = BIAS_VARIANCE


def _priors_of_model(spread: float, n_classes: int) -> list[_Prior]:
    """Return priors of the model: as stated, tempered, or mirrored."""
    even = (1 - MIRRORED) / 2 if n_classes == 2 else 0.5
    priors = [_Prior(1.0, 1.0, AS_STATED, even), _Prior(1.0, 1 / spread, TEMPERED, even)]
    return [*priors, _Prior(-1.0, 1 / spread, TEMPERED, MIRRORED)] if n_classes == 2 else priors


def _fitted(candidate: _Candidate, gold: Rows, counts: Array) -> tuple[float, float, float, float, Array, Array, int]:
    """Return log prior, log evidence, a, c, w, b and the single annotator of a candidate."""
    weights, evidence = maximum(candidate.features, gold, counts, candidate.mean, candidate.variance)
    K = candidate.features.shape[1]
    of_votes = np.zeros(candidate.n_annotators)
    of_votes[candidate.voters] = weights[2 + K :]
    a, c = float(weights[0] * candidate.scale), float(weights[1])
    return candidate.log_prior, evidence, a, c, of_votes, weights[2 : 2 + K], candidate.single


def maximum(features: Array, gold: Rows, counts: Array, mean: Array, variance: Array) -> tuple[Array, float]:
    """Return the most probable weights of a conditional logit, and the log evidence by Laplace's method.

    p(gold = k) = softmax_k(features weights), weights ~ N(mean, diag(variance)).
    """
    (n, K, P), items = features.shape, np.arange(len(gold))
    flat = features.reshape(n * K, P)
    weights, precision = mean.copy(), 1 / variance

    def value(weights: Array) -> tuple[float, Array]:
        log_q = log_softmax((flat @ weights).reshape(n, K))
        prior = 0.5 * float(precision @ (weights - mean) ** 2)
        return float(counts @ log_q[items, gold]) - prior, np.exp(log_q)

    best, q = value(weights)
    for _ in range(NEWTON_STEPS):
        target = np.eye(K)[gold] - q
        gradient = flat.T @ (counts[:, None] * target).ravel() - precision * (weights - mean)
        step, gain = np.linalg.solve(_curvature(flat, q, counts) + np.diag(precision), gradient), 1.0
        while (found := value(weights + gain * step))[0] < best and gain > NEWTON_TOL:
            gain /= 2
        rise, weights, (best, q) = found[0] - best, weights + gain * step, found
        if rise < NEWTON_TOL:
            break
    log_det = float(np.linalg.slogdet(_curvature(flat, q, counts) + np.diag(precision))[1])
    return weights, best - 0.5 * (log_det + float(np.log(variance).sum()))


def _curvature(flat: Array, q: Array, counts: Array) -> Array:
    """Σ_i counts_i (Σ_k q_k φ_k φ_kᵀ − φ̄ φ̄ᵀ), φ̄ = Σ_k q_k φ_k: minus the second derivative."""
    n, K = q.shape
    weighted = flat * (counts[:, None] * q).reshape(n * K, 1)
    mean = (flat * q.reshape(n * K, 1)).reshape(n, K, -1).sum(axis=1)
    return np.asarray(flat.T @ weighted - mean.T @ (counts[:, None] * mean))


def _centred(log_p: Array) -> Array:
    """Log p with mean 0 over classes."""
    return np.asarray(log_p - log_p.mean(axis=1, keepdims=True))


def _votes(Y: Annotations, n_items: int, n_classes: int) -> Array:
    """[y_t = k]: (n_items, n_classes, n_annotators)."""
    votes = np.zeros((n_items, n_classes, Y.n_annotators))
    np.add.at(votes, (Y.item, Y.label, Y.annotator), Y.counts)
    return votes


def _without(Y: Annotations, annotator: int) -> Array:
    """1 for items that an annotator did not label, 0 for others: (n_items,)."""
    missing = np.ones(Y.n_items)
    missing[Y.item[Y.annotator == annotator]] = 0.0
    return missing
