"""Items and classes on a GPU: ``python -m benchmarks.speed.gpu [--items 100000000] [--out FOLDER]``.

Of a hundred million items, generated on the device, two times are measured. The pass of an anchor graph over
all items is compared with its lower bound: bytes over bandwidth or operations over rate, whichever is larger,
both measured here. The default fit includes the selection of members and the posterior of every item. A
second default fit is to embeddings of 20 classes. Results: engines.csv, one row per measurement, with the
commit and the machine.
"""

from __future__ import annotations

import argparse
import json
import time
from functools import partial

import numpy as np
import torch

from benchmarks.common import machine
from benchmarks.common.command import add_out
from benchmarks.speed import engines
from benchmarks.speed.worlds import WORLDS, World
from whoknows import AutoCrowdClassifier
from whoknows.data import Annotations
from whoknows.model.graph import AnchorGraph, fused

D, CLUSTERS, ANNOTATORS, LABELS_AN_ITEM = 64, 200, 50, 5
EMBEDDINGS = "embeddings-50k"


def main() -> None:
    """Print one line of JSON per measurement, and write the rows."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--items", type=int, default=100_000_000)
    parser.add_argument("--labels", type=int, default=1_000_000)
    parser.add_argument("--device", default="cuda")
    add_out(parser)
    asked = parser.parse_args()
    X, z = world(asked.items, asked.device)
    Y = labels(z, asked.labels)
    device = torch.cuda.get_device_name() if asked.device != "cpu" else "cpu"
    tell("device", name=device)
    bandwidth, rate = copied_bytes(asked.device), product_rate(asked.device)
    tell("ceilings", terabytes_a_second=bandwidth / 1e12, teraflops_float32=rate / 1e12)

    graph = AnchorGraph().build(X[:1_000_000])  # loads libraries and allocates memory
    seconds = best(partial(graph.joined_by, X), times=3)
    n, m = asked.items, len(graph.anchors)
    floor = max(n * D * 4 / bandwidth, 2 * n * D * (m + D) / rate)
    kernels = fused.takes(X, graph.n_nearest)
    tell("pass", seconds=seconds, floor=floor, ratio=seconds / floor, kernels=kernels)
    about = {
        "items": asked.items,
        "labels": asked.labels,
        "machine": f"{device}, torch {torch.__version__}, {machine.stamp()['machine']}",
    }
    note = f"{seconds / floor:.1f} times its lower bound"
    rows = [engines.row(engines.GPU, "pass over all items", seconds, note=note, **about)]

    model, seconds = timed(partial(AutoCrowdClassifier().fit, X, Y))
    right = model.classes_[model.posterior_.argmax(axis=1)] == z.cpu().numpy()
    tell("fit", seconds=seconds, iterations=model.n_iter_, members=len(model.members_), accuracy=right.mean())
    print(model.selection_)
    note = f"accuracy of the posterior {right.mean():.3f}"
    rows.append(engines.row(engines.GPU, "default fit", seconds, note=note, **about))
    del X, model
    rows.append(embeddings(WORLDS[EMBEDDINGS], asked.device, about["machine"]))
    engines.table(asked.out).replace(rows)


def embeddings(world: World, device: str, where: str) -> dict[str, object]:
    """Measure the default fit to embeddings of many classes."""
    X = world.features()
    Y, truth = world.crowd(X[world.labelled])
    new, answer = world.new()
    model, seconds = timed(partial(AutoCrowdClassifier(device=device).fit, X, Y))
    consensus = np.mean(model.posterior_[world.labelled].argmax(axis=1) == truth)
    predicted = np.mean(model.predict(new) == answer)
    tell("embeddings", seconds=seconds, consensus=consensus, classifier=predicted, ceiling=world.ceiling)
    print(model.selection_)
    note = f"accuracy of the posterior {consensus:.3f}, of the classifier {predicted:.3f}"
    sizes = {"items": world.n_items, "labels": world.n_labels, "machine": where}
    return engines.row(engines.GPU, "default fit to embeddings", seconds, note=note, **sizes)


def world(n_items: int, device: str) -> tuple[torch.Tensor, torch.Tensor]:
    """Generate clusters of one class each: X (n_items, D) float32, and the truth."""
    made = torch.Generator(device).manual_seed(0)
    centres = torch.randn((CLUSTERS, D), generator=made, device=device)
    cluster = torch.randint(CLUSTERS, (n_items,), generator=made, device=device)
    X = torch.empty((n_items, D), device=device)
    for start in range(0, n_items, 10_000_000):
        rows = slice(start, start + 10_000_000)
        X[rows] = torch.randn(X[rows].shape, generator=made, device=device) + centres[cluster[rows]]
    return X, cluster % 2


def labels(z: torch.Tensor, n_labels: int) -> Annotations:
    """Generate labels of some items by annotators with accuracies of 0.6 to 0.95."""
    rng = np.random.default_rng(0)
    known = np.sort(rng.choice(len(z), n_labels // LABELS_AN_ITEM, replace=False))
    item = np.repeat(known, LABELS_AN_ITEM).astype(np.int32)
    first = rng.integers(ANNOTATORS, size=(len(known), 1))
    who = (first + 10 * np.arange(LABELS_AN_ITEM)) % ANNOTATORS
    annotator = np.sort(who, axis=1).ravel().astype(np.int32)
    truth = z.cpu().numpy()[item]
    right = rng.random(len(item)) < rng.uniform(0.6, 0.95, ANNOTATORS)[annotator]
    label = np.where(right, truth, 1 - truth).astype(np.int32)
    return Annotations(item, annotator, label, np.arange(len(z)), np.arange(ANNOTATORS), np.arange(2))


def copied_bytes(device: str) -> float:
    """Bytes per second that a copy reads and writes."""
    source = torch.ones(1 << 28, device=device)
    target = torch.empty_like(source)
    return 2 * source.nbytes / best(lambda: target.copy_(source))


def product_rate(device: str) -> float:
    """Float32 operations per second of a product with the shape of the pass."""
    left, right = torch.randn((1 << 20, D), device=device), torch.randn((D, 400), device=device)
    return 2 * len(left) * D * 400 / best(lambda: left @ right)


def best(work, times: int = 5) -> float:
    """Shortest of several times, after a warm-up."""
    work()
    return min(timed(work)[1] for _ in range(times))


def timed(work):
    """Return the result of the work, and the seconds until the device has finished."""
    wait = torch.cuda.synchronize if torch.cuda.is_available() else lambda: None
    wait()
    started = time.perf_counter()
    answer = work()
    wait()
    return answer, time.perf_counter() - started


def tell(what: str, **numbers) -> None:
    """Print one measurement."""
    print(json.dumps({"what": what, **numbers}), flush=True)


if __name__ == "__main__":
    main()
