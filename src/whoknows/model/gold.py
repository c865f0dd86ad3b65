"""What gold says about the posterior: a logistic regression on the votes, with the model as its prior mean.

The model of the annotators counts every label as if annotators erred independently. If they err together, thousands of
labels outweigh a few gold items. So gold also corrects the posterior directly: the log-odds of class k are

    a log p(z = k | x, labels) + Σ_t w_t [y_t = k] + b_k

with Gaussian priors, fitted to gold items. Candidates differ in the prior: the model with a temperature and biases;
that and weights w_t of the votes, more or less shrunk; or the vote of a single annotator. Their predictions are
averaged with the marginal likelihood of gold as weights. For two classes a may be negative: the model found the mirror
image of the truth.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from whoknows._array import Array, Rows, log_softmax
from whoknows.data.annotations import Annotations

SINGLE_VOTE = 1.4  # prior mean of the log-odds of a single annotator's vote: right four times out of five
BIAS_VARIANCE = 0.3  # of b_k
AS_STATED, TEMPERED = 0.25, 1.0  # variances of a: around 1, or around 1 where log p is scaled to variance 1
MIRRORED = 0.1  # prior probability that most annotators are wrong, so that the model of two classes is inverted
VOTE_VARIANCES = (0.01, 0.1, 1.0)  # of w_t
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
    of_votes : (n_candidates, n_annotators)
        w_t; 0 for annotators without gold.
    bias : (n_candidates, n_classes)
        b_k.
    single : (n_candidates,)
        The only annotator of a candidate, whose vote replaces the model; −1 if there is none.
    """

    weight: Array
    of_model: Array
    of_votes: Array
    bias: Array
    single: Rows

    def corrected(self, prob: Array, Y: Annotations) -> Array:
        """Return p(z | x, labels) of items, given the model's: (n_items, n_classes)."""
        log_p, counts = _centred(prob), Y.counts
        cell = Y.item.astype(np.intp) * Y.n_classes + Y.label
        found = np.zeros_like(prob)
        for weight, a, w, b, single in zip(
            self.weight, self.of_model, self.of_votes, self.bias, self.single, strict=True
        ):
            w = np.append(w, 0.0)  # of annotators not seen in training
            votes = np.bincount(cell, counts * w[Y.annotator], prob.size).reshape(prob.shape)
            scale = a * _without(Y, single) if single != NOBODY else a
            found += weight * np.exp(log_softmax(np.reshape(scale, (-1, 1)) * log_p + votes + b))
        return found


def fit_correction(prob: Array, Y: Annotations, gold: Array, counts: Array) -> GoldCorrection:
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
    """
    fitted = [_fitted(candidate, gold.astype(int), counts) for candidate in _candidates(prob, Y)]
    score = np.array([log_prior + evidence for log_prior, evidence, *_ in fitted])
    weight = np.exp(score - score.max())
    weight /= weight.sum()
    kept = np.flatnonzero(weight >= min(LEAST_WEIGHT, weight.max()))
    parts = (np.array([fitted[m][place] for m in kept]) for place in (2, 3, 4, 5))
    return GoldCorrection(weight[kept] / weight[kept].sum(), *parts)


@dataclass(frozen=True)
class _Candidate:
    """A conditional logit model: features (n_items, n_classes, n_columns), and a Gaussian prior of their weights.

    The first column is the model's log p, the next ones are the biases, the others votes of ``voters``.
    """

    features: Array
    mean: Array
    variance: Array
    scale: float  # of log p in the first column
    voters: Rows
    n_annotators: int
    log_prior: float
    single: int = NOBODY


def _candidates(prob: Array, Y: Annotations) -> Iterator[_Candidate]:
    """Give the candidates: the model has prior probability 1/2, votes beside it and single annotators 1/4 each."""
    (n_items, K), T = prob.shape, Y.n_annotators
    log_p = _centred(prob)
    biases = np.broadcast_to(np.eye(K), (n_items, K, K))
    seen = Y.labels_per_annotator
    voters = np.flatnonzero(seen > 0)
    votes = _votes(Y, n_items, K)[:, :, voters]
    spread = float(np.sqrt((log_p**2).mean())) + FLOOR

    def candidate(prior: tuple[float, float, float, float], of_votes: float | None) -> _Candidate:
        a, scale, variance, share = prior
        who, n_alike = (voters[:0], 1) if of_votes is None else (voters, 2 * len(VOTE_VARIANCES))
        features = np.concatenate([scale * log_p[:, :, None], biases, votes[:, :, : len(who)]], axis=2)
        mean = np.append(a, np.zeros(K + len(who)))
        variances = np.r_[variance, np.full(K, BIAS_VARIANCE), np.full(len(who), of_votes or 1.0)]
        return _Candidate(features, mean, variances, scale, who, T, float(np.log(share / n_alike)))

    for prior in _priors_of_model(spread, K):
        for of_votes in (None, *VOTE_VARIANCES):
            yield candidate(prior, of_votes)
    judges = np.flatnonzero(2 * seen >= n_items)
    for t in judges:
        missing = _without(Y, int(t))[:, None, None]
        vote = votes[:, :, np.flatnonzero(voters == t)]
        features = np.concatenate([missing * log_p[:, :, None] / spread, biases, vote], axis=2)
        mean = np.r_[1.0, np.zeros(K), SINGLE_VOTE]
        variances = np.r_[TEMPERED, np.full(K, BIAS_VARIANCE), 1.0]
        yield _Candidate(features, mean, variances, 1 / spread, np.array([t]), T, -np.log(2 * len(judges)), int(t))


def _priors_of_model(spread: float, n_classes: int) -> list[tuple[float, float, float, float]]:
    """Return mean of a, scale of log p, variance of a and prior probability: as stated, tempered, or mirrored."""
    even = (1 - MIRRORED) / 2 if n_classes == 2 else 0.5
    priors = [(1.0, 1.0, AS_STATED, even), (1.0, 1 / spread, TEMPERED, even)]
    return [*priors, (-1.0, 1 / spread, TEMPERED, MIRRORED)] if n_classes == 2 else priors


def _fitted(candidate: _Candidate, gold: Rows, counts: Array) -> tuple[float, float, float, Array, Array, int]:
    """Return log prior, log evidence, a, w, b and the single annotator of a candidate."""
    weights, evidence = maximum(candidate.features, gold, counts, candidate.mean, candidate.variance)
    K = candidate.features.shape[1]
    of_votes = np.zeros(candidate.n_annotators)
    of_votes[candidate.voters] = weights[1 + K :]
    a = float(weights[0] * candidate.scale)
    return candidate.log_prior, evidence, a, of_votes, weights[1 : 1 + K], candidate.single


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


def _centred(prob: Array) -> Array:
    """Log p with mean 0 over classes."""
    log_p = np.log(np.maximum(prob, FLOOR))
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
