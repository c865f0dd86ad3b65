"""The pass over all items with kernels on a GPU, and without: the same answers."""

from contextlib import nullcontext

import numpy as np
import pytest

from whoknows import CrowdClassifier, _array
from whoknows.data import Annotations
from whoknows.model import distances
from whoknows.model.graph import fused
from whoknows.model.graph.anchors import sums_over, ties

torch = pytest.importorskip("torch", reason="torch is not installed: pip install torch")

DEVICES = ["cpu", *(["cuda"] if torch.cuda.is_available() else [])]
SIZES = [(150, 4, 20, 5), (9001, 64, 400, 5), (1000, 70, 65, 1), (700, 1, 13, 4), (300, 130, 7, 7)]
everywhere = pytest.mark.parametrize("device", DEVICES)
every_size = pytest.mark.parametrize("sizes", SIZES, ids=str)


def world(n_items, n_features, n_anchors, _):
    rng = np.random.default_rng(0)
    anchors = rng.normal(size=(n_anchors, n_features)) + 10
    return (anchors[rng.integers(n_anchors, size=n_items)] + rng.normal(size=(n_items, n_features))), anchors


@pytest.fixture
def of_any_size(monkeypatch):
    monkeypatch.setattr(fused, "MANY", 1)


@pytest.mark.usefixtures("of_any_size")
@everywhere
@every_size
def test_ties_are_those_in_double_precision(sizes, device):
    X, anchors = world(*sizes)
    x, k = torch.as_tensor(X, dtype=torch.float32, device=device), sizes[-1]
    assert fused.takes(x, k) == (device == "cuda")
    index, weights, gap = map(_array.to_numpy, ties(x, anchors, k))
    squared = distances.squared_distances(_array.to_numpy(x).astype(float), anchors)
    expected = np.sort(squared, axis=1)[:, :k]
    assert index.dtype == np.int64
    np.testing.assert_allclose(np.take_along_axis(squared, index, 1), expected, rtol=1e-5, atol=1e-5)
    assert np.all(np.diff(np.sort(index, axis=1)) > 0)
    np.testing.assert_allclose(gap, expected[:, 0], rtol=1e-4, atol=1e-4)
    exact = np.exp(-expected / expected[:, -1:])
    np.testing.assert_allclose(weights, exact / exact.sum(axis=1)[:, None], atol=1e-4)


@pytest.mark.usefixtures("of_any_size")
@everywhere
@every_size
def test_sums_are_taken_in_double_precision(sizes, device):
    X, anchors = world(*sizes)
    x, k = torch.as_tensor(X, dtype=torch.float32, device=device), sizes[-1]
    sums, X = sums_over(x, x, anchors, k), _array.to_numpy(x).astype(float)
    index, weights, _ = map(_array.to_numpy, ties(x, anchors, k))
    Z = np.zeros((len(X), len(anchors)))
    np.put_along_axis(Z, index, weights.astype(float), 1)
    for found, expected in ((sums.by_anchor, Z.T @ X), (sums.joint, Z.T @ Z), (sums.mass, Z.sum(axis=0))):
        np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-12)


@everywhere
def test_a_fit_is_the_same(monkeypatch, device):
    monkeypatch.setattr(distances, "ENOUGH", 200)
    X = world(600, 5, 8, None)[0]
    rng = np.random.default_rng(1)
    item = np.repeat(rng.choice(600, 80, replace=False), 3)
    said = np.where(rng.random(240) < 0.8, X[item, 0] > 10, X[item, 0] <= 10).astype(int)
    Y = Annotations.from_arrays(item, np.tile(["anna", "bob", "cleo"], 80), said, items=np.arange(600))
    x = torch.as_tensor(X, dtype=torch.float32, device=device)
    model = CrowdClassifier(map="spectral")
    expected = model.fit(_array.to_numpy(x).astype(float), Y).posterior_
    assert expected.max() - expected.min() > 0.5
    for many in (1, 10**9):
        monkeypatch.setattr(fused, "MANY", many)
        np.testing.assert_allclose(model.fit(x, Y).posterior_, expected, rtol=0, atol=1e-4)


@pytest.mark.usefixtures("of_any_size")
def test_what_the_kernels_are_not_for_goes_the_plain_way():
    X = np.zeros((3, 2), dtype=np.float32)
    assert not fused.takes(X, 1)
    assert not fused.takes(torch.as_tensor(X), 1)
    for device in DEVICES:
        assert not fused.takes(torch.as_tensor(X, dtype=torch.float64, device=device), 1)


def test_kernels_are_tried_before_they_are_relied_on(monkeypatch):
    """A GPU they are made for, and no Triton (or one that has no GPU): the plain way, without a word."""
    monkeypatch.setattr(torch.cuda, "get_device_capability", lambda device: (9, 0))
    assert not fused._runs.__wrapped__(torch, torch.device("cpu"), 2, 1)
    monkeypatch.setattr(fused, "_compiled", lambda: (Fills(4), Fills(3)))
    monkeypatch.setattr(torch.cuda, "device", lambda device: nullcontext())
    assert fused._runs.__wrapped__(torch, torch.device("cpu"), 2, 1)
    monkeypatch.setattr(torch.cuda, "get_device_capability", lambda device: (8, 6))
    assert not fused._runs.__wrapped__(torch, torch.device("cpu"), 2, 1)


class Fills:
    """Stands for a kernel: whatever the grid, it fills what it is to write with zeros."""

    def __init__(self, first):
        self.first = first

    def __getitem__(self, grid):
        return lambda *arrays, **settings: [array.zero_() for array in arrays[self.first :]]


def test_kernels_are_for_many_items_alone():
    for device in DEVICES:
        assert not fused.takes(torch.zeros((10, 2), device=device), 1)


def test_what_takes_items_is_asked_with_what_it_needs(monkeypatch):
    """Where there is no GPU: stand-ins are called in place of kernels, with items in single precision."""
    X, anchors = world(150, 4, 20, 5)
    x, asked = torch.as_tensor(X, dtype=torch.float32), []
    plain = sums_over(x, x, anchors, 5)

    def find(items, nodes, k):
        asked.append("nearest")
        return distances.nearest(items, nodes, k)

    def add(items, index, weights, n_anchors):
        assert (items.dtype, weights.dtype) == (torch.float32, torch.float32)
        asked.append("sums")
        return (
            torch.zeros((n_anchors, len(items)), dtype=torch.float64).scatter_(0, index.T, weights.T.double())
            @ items.double()
        )

    monkeypatch.setattr(fused, "takes", lambda items, k: True)
    monkeypatch.setattr(fused, "nearest", find)
    monkeypatch.setattr(fused, "sums_by_anchor", add)
    found = sums_over(x, x, anchors, 5)
    assert asked == ["nearest", "sums"]
    np.testing.assert_allclose(found.by_anchor, plain.by_anchor, rtol=1e-12)
