"""
A million items
===============

A million items with 16 features each, five thousand of them labelled by three of sixty annotators. The features stay on
disk. This example shows how to

* fit features that need not fit into memory,
* classify all items, labelled or not,
* estimate what a larger data set will cost.

The data are simulated. Set the environment variable ``WHOKNOWS_ITEMS`` for another number of items.
"""

import os
import tempfile
import time
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

from whoknows import Annotations, CrowdClassifier, RbfMap

plt.style.use("tableau-colorblind10")

N_ITEMS = int(os.environ.get("WHOKNOWS_ITEMS", "1_000_000"))
N_LABELLED, N_ANNOTATORS, BLOCK = 5_000, 60, 100_000
rng = np.random.default_rng(0)

# %%
# Features on disk
# ----------------
# The file is written and read in blocks. ``np.load(..., mmap_mode="r")`` opens it without reading it. A folder of
# Parquet files works too: ``whoknows.io.ParquetFeatures("folder")``.

path = Path(tempfile.mkdtemp()) / "features.npy"
centres = 1.3 * rng.normal(size=(12, 16))
cluster = rng.integers(12, size=N_ITEMS)
truth = cluster % 2
file = np.lib.format.open_memmap(path, mode="w+", dtype=np.float32, shape=(N_ITEMS, 16))
for start in range(0, N_ITEMS, BLOCK):
    rows = cluster[start : start + BLOCK]
    file[start : start + BLOCK] = centres[rows] + rng.normal(size=(len(rows), 16))
file.flush()
X = np.load(path, mmap_mode="r")
print(f"{path.stat().st_size / 1e6:.0f} MB on disk")

# %%
# Labels
# ------
# Annotators are right 55 to 95 % of the time.

right = rng.uniform(0.55, 0.95, size=N_ANNOTATORS)


def labels_of(n_items: int) -> Annotations:
    """Three labels each on labelled items that are drawn from the first n_items."""
    labelled = rng.choice(n_items, min(N_LABELLED, n_items // 2), replace=False)
    who = rng.random((len(labelled), N_ANNOTATORS)).argsort(axis=1)[:, :3].ravel()
    item = np.repeat(labelled, 3)
    label = np.where(rng.random(len(item)) < right[who], truth[item], 1 - truth[item])
    return Annotations.from_arrays(item, who, label, items=range(n_items), annotators=range(N_ANNOTATORS))


# %%
# Time
# ----
# The cost of a fit depends on the number of labels, plus a few passes over the features. ``truth="id"`` needs no
# graph of all items, and 80 features of the map are enough for a dozen clusters. Each fit includes the posterior of
# every item.

sizes, seconds = [N_ITEMS // 100, N_ITEMS // 10, N_ITEMS], []
for n_items in sizes:
    y = labels_of(n_items)
    begin = time.perf_counter()
    model = CrowdClassifier("id", map=RbfMap(rank=80)).fit(X[:n_items], y)
    seconds.append(time.perf_counter() - begin)

fig, ax = plt.subplots(figsize=(6.5, 3.2), layout="constrained")
ax.loglog(sizes, seconds, "o-", color="C0")
for n_items, took in zip(sizes, seconds, strict=True):
    ax.annotate(f"{took:.1f} s", (n_items, took), xytext=(0, 8), textcoords="offset points", ha="center")
ax.set(
    xlabel="items",
    ylabel="seconds per fit",
    xlim=(sizes[0] / 2, sizes[-1] * 2),
    ylim=(min(seconds) / 2, max(seconds) * 3),
)
plt.show()

# %%
# The result
# ----------
# ``posterior_`` has one row per item.

consensus = model.classes_[model.posterior_.argmax(axis=1)]
accuracy = float((consensus == truth)[~y.labelled].mean())
print(f"{y.n_annotations} labels; accuracy on {(~y.labelled).sum()} unlabelled items: {accuracy:.1%}")

# %%
# And the annotators, with 90 % intervals:

ranking = model.ranking(level=0.9)
actual = right[ranking.annotator.astype(int)]
fig, ax = plt.subplots(figsize=(5.4, 4.2), layout="constrained")
ax.errorbar(
    actual,
    ranking.expertise,
    [ranking.expertise - ranking.low, ranking.high - ranking.expertise],
    fmt="o",
    color="C0",
    ecolor="C2",
    markersize=4,
)
ax.axline((0.6, 0.6), slope=1, color="0.5", linestyle=":")
ax.set(xlabel="actual accuracy", ylabel="estimated accuracy")
plt.show()

# %%
# See also: :doc:`/scale` for Parquet files, checkpoints, Dask and GPUs.
