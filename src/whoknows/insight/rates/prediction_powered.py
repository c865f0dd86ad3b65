"""Shares of classes from predictions of all items and the truth of a few: prediction-powered inference.

θ̂ = λ f̄ + mean of (z − λ f) over the gold items: predictions f of all items, corrected by what they get wrong
on the gold (the rectifier). λ, between 0 and 1, says how much the predictions are worth: with λ = 0 the
estimate is that of the gold alone, so useless predictions do no harm.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from whoknows._array import Array

CONTRADICTING = 0.2  # share of the imagined gold items on which prediction and truth differ


@dataclass(frozen=True, eq=False)
class KnownItems:
    """Items whose truth is known, or imagined.

    Parameters
    ----------
    truth : (n_items, n_classes)
        1 in the column of the true class, 0 elsewhere.
    prediction : (n_items, n_classes)
        Probabilities that were estimated without this truth.
    weight : (n_items,)
        Its sum is the number of items that they are worth.
    """

    truth: Array
    prediction: Array
    weight: Array

    @property
    def worth(self) -> float:
        """Number of items that these are worth."""
        return float(self.weight.sum())

    def mean(self, values: Array) -> Array:
        """Weighted mean over the items."""
        return np.asarray(self.weight @ values / self.worth)

    @property
    def power(self) -> float:
        """λ that minimises the variance of z − λ f, summed over classes: cov(z, f) / var(f), within [0, 1]."""
        z, f = self.truth - self.mean(self.truth), self.prediction - self.mean(self.prediction)
        spread = float(self.mean(f**2).sum())
        return float(np.clip(self.mean(z * f).sum() / spread, 0, 1)) if spread > 0 else 0.0

    def with_prior(self, prior: KnownItems, worth: float) -> KnownItems:
        """Return these items and those of a prior, weighted to be worth this many items."""
        return KnownItems(
            np.vstack([self.truth, prior.truth]),
            np.vstack([self.prediction, prior.prediction]),
            np.append(self.weight, prior.weight * (worth / prior.worth)),
        )

    def __getitem__(self, rows: Array) -> KnownItems:
        """Return some of the items."""
        return KnownItems(self.truth[rows], self.prediction[rows], self.weight[rows])


def imagined_items(n_classes: int) -> KnownItems:
    """Every combination of a true and a predicted class once, mostly right: the prior of the rectifier.

    Without it, the interval from ten gold items that are all predicted correctly would have no width. Agresti
    and Coull (1998) add z² such items to estimate a share, Agresti and Min (2005) a difference of shares.
    """
    truth, prediction = np.divmod(np.arange(n_classes**2), n_classes)
    differs = truth != prediction
    weight = np.where(differs, CONTRADICTING / (n_classes - 1), 1 - CONTRADICTING) / n_classes
    one_hot = np.eye(n_classes)
    return KnownItems(one_hot[truth], one_hot[prediction], weight)


@dataclass(frozen=True, eq=False)
class Estimate:
    """Estimates of several shares of one group, each with what its interval is made of.

    Attributes
    ----------
    value : (n_shares,)
        Unbiased, up to the choice of λ.
    centre, variance : (n_shares,)
        Of the interval. The centre is pulled towards the prior, as in the interval of Wilson.
    power : float
        λ; NaN for an estimate without gold.
    """

    value: Array
    centre: Array
    variance: Array
    power: float

    def interval(self, reach: float) -> tuple[Array, Array]:
        """Limits at ``reach`` standard deviations, within [0, 1] and around the estimate."""
        half = reach * np.sqrt(self.variance)
        low, high = np.clip(self.centre - half, 0, 1), np.clip(self.centre + half, 0, 1)
        return np.minimum(low, self.value), np.maximum(high, self.value)


def estimate_with_gold(
    gold: KnownItems,
    prior: KnownItems,
    mean_prediction: Array,
    share_known: float,
    shares: Array,
    reach: float,
    lent: float = 0.0,
) -> Estimate:
    """Estimate shares by predictions and gold.

    Parameters
    ----------
    gold : KnownItems
        May be empty: the rectifier is then that of the prior, and the interval is wide.
    prior : KnownItems
        Weighted to be worth ``reach``² items.
    mean_prediction : (n_classes,)
        Mean of the predictions of all items of the group.
    share_known : float
        Share of the items of the group that are gold: there is no error on these. 0 if gold was drawn with
        unequal probabilities.
    shares : (n_classes, n_shares)
        Each column weights the classes: an identity matrix, or scores of the classes.
    reach : float
        Quantile of the normal distribution at the level of the interval.
    lent : float
        How many items more the prior is worth for λ alone: the predictions of a group are about as good as those
        of all, and a few gold items say little about that.
    """
    known = gold.with_prior(prior, reach**2)
    power = gold.with_prior(prior, reach**2 + lent).power
    residual = (known.truth - power * known.prediction) @ shares
    smooth = known.mean(residual)
    spread = known.mean((residual - smooth) ** 2)
    exact = gold.mean(residual[: len(gold.weight)]) if gold.worth else smooth
    predicted = power * mean_prediction @ shares
    return Estimate(
        value=np.clip(predicted + exact, 0, 1),
        centre=predicted + share_known * exact + (1 - share_known) * smooth,
        variance=(1 - share_known) * spread / known.worth,
        power=power,
    )


def estimate_without_gold(prob: Array, replicates: Array, shares: Array) -> Estimate:
    """Estimate shares by the posterior alone: its mean, its own uncertainty, and that about the annotators.

    Parameters
    ----------
    prob : (n_items, n_classes)
    replicates : (n_replicates, n_classes)
        Mean posterior without each of the annotators in turn; a jackknife of the annotators.
    shares : (n_classes, n_shares)
    """
    value = prob.mean(axis=0) @ shares
    n, repeated = len(replicates), replicates @ shares
    of_annotators = (n - 1) / n * ((repeated - repeated.mean(axis=0)) ** 2).sum(axis=0) if n > 1 else 0.0
    of_items = (prob @ shares**2 - (prob @ shares) ** 2).sum(axis=0) / len(prob) ** 2
    return Estimate(value, value, of_items + of_annotators, np.nan)
