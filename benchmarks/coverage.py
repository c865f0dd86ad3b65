"""Coverage of the 90 % intervals of `CrowdRegressor`: ``python -m benchmarks.coverage [WORLDS]`` prints it.

Each world has items with four features, a linear truth plus noise, and annotators with a bias and a spread
each, drawn from the prior of the model. Rows with one label per item have nothing that separates the noise of
the truth from that of the annotators. docs/uncertainty.md shows the table.
"""

from __future__ import annotations

import sys
import warnings

import numpy as np
from scipy.stats import norm

from whoknows import CrowdRegressor

HALF = norm.ppf(0.95)
CROWDS = [
    *({"n_items": 300, "n_annotators": 8, "per_item": k} for k in (1, 2, 3)),
    *({"n_items": 300, "n_annotators": 20, "per_item": k} for k in (1, 3, 5)),
    *({"n_items": 100, "n_annotators": 5, "per_item": k} for k in (1, 3)),
]


def draw(seed: int, n_items: int, n_annotators: int, per_item: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return features, truth, and labels (n_items, n_annotators) with NaN."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_items, 4))
    z = X @ rng.normal(size=4) / 2 + 0.5 * rng.normal(size=n_items)
    bias, spread = 0.5 * rng.normal(size=n_annotators), np.exp(rng.normal(-1.0, 0.5, size=n_annotators))
    y = z[:, None] + bias + spread * rng.normal(size=(n_items, n_annotators))
    asked = rng.random(y.shape).argsort(axis=1) < per_item
    return X, z, np.where(asked, y, np.nan)


def held(seed: int, **crowd: int) -> tuple[float, float]:
    """Return the shares of truths inside the intervals of `posterior_`, and of `predict` for new items."""
    n_items = crowd.pop("n_items")
    X, z, y = draw(seed, n_items=2 * n_items, **crowd)
    model = CrowdRegressor(map="linear").fit(X[:n_items], y[:n_items])
    mean, std = model.predict(X[n_items:], return_std=True)
    labelled = np.abs(z[:n_items] - model.posterior_mean_) < HALF * model.posterior_std_
    return float(np.mean(labelled)), float(np.mean(np.abs(z[n_items:] - mean) < HALF * std))


def main(n_worlds: int) -> None:
    """Print a row per crowd."""
    print("| items | annotators | labels per item | truth of labelled items | prediction |")
    print("|--:|--:|--:|--:|--:|")
    for crowd in CROWDS:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            shares = np.mean([held(seed, **crowd) for seed in range(n_worlds)], axis=0)
        told = " | ".join(f"{share:.2f}".lstrip("0") for share in shares)
        print(f"| {crowd['n_items']} | {crowd['n_annotators']} | {crowd['per_item']} | {told} |", flush=True)


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 40)
