"""Tensors in, tensors out: the same formulas on torch, on any device, as on numpy."""

from functools import partial

import numpy as np
import pytest

from whoknows import _array
from whoknows.estimators.inputs.preprocessing import Preprocessing, fit_scale, scaled
from whoknows.estimators.inputs.rows import TransformedRows
from whoknows.model import distances
from whoknows.model.graph import AnchorGraph
from whoknows.model.graph.anchors import sums_over
from whoknows.model.maps import ClusterMap, LinearMap, MapItems, NoMap, RbfMap, SpectralMap

torch = pytest.importorskip("torch", reason="torch is not installed: pip install torch")

RNG = np.random.default_rng(0)
X = RNG.normal(size=(150, 4)) + RNG.choice([-2, 0, 2], size=(150, 1))
NODES = RNG.normal(size=(30, 4))
MAPS = {
    "linear": LinearMap(),
    "principal axes": LinearMap(),
    "none": NoMap(),
    "rbf": RbfMap(landmarks=60),
    "spectral": SpectralMap(AnchorGraph(anchors=25)),
    "clusters": ClusterMap(5),
}
DEVICES = ["cpu", *(["cuda"] if torch.cuda.is_available() else [])]
TOLERANCE = {torch.float64: 1e-10, torch.float32: 1e-4}
everywhere = pytest.mark.parametrize("device", DEVICES)
every_type = pytest.mark.parametrize("dtype", TOLERANCE, ids=str)


def tensor(values, dtype=torch.float64, device="cpu"):
    return torch.as_tensor(values, dtype=dtype, device=device)


def assert_like(found, expected, x):
    """Of the kind, the type and the device of ``x``, and equal to what numpy gives."""
    assert isinstance(found, torch.Tensor)
    assert (found.dtype, found.device) == (x.dtype, x.device)
    np.testing.assert_allclose(_array.to_numpy(found), expected, rtol=0, atol=TOLERANCE[x.dtype])


@everywhere
@every_type
def test_distances_and_neighbours(monkeypatch, dtype, device):
    monkeypatch.setattr(distances, "BLOCK", 1000)
    x = tensor(X, dtype, device)
    assert_like(distances.squared_distances(x, NODES), distances.squared_distances(X, NODES), x)
    index, squared = distances.nearest(x, NODES, 3)
    expected = distances.nearest(X, NODES, 3)
    assert_like(squared, expected[1], x)
    np.testing.assert_array_equal(_array.to_numpy(index), expected[0])


@everywhere
@every_type
@pytest.mark.parametrize("name", MAPS)
def test_maps(name, dtype, device):
    leading = 2 if name == "principal axes" else None
    features, x = MAPS[name].prepare(MapItems(X, leading=leading)), tensor(X, dtype, device)
    assert_like(features.transform(x), features.transform(X), x)
    far = tensor(X + 1e3, dtype, device)
    assert torch.isfinite(features.transform(far)).all()


@everywhere
@every_type
def test_the_pass_over_the_items(monkeypatch, dtype, device):
    monkeypatch.setattr(distances, "ENOUGH", 64)
    x = tensor(X, dtype, device)
    built, from_tensor = (AnchorGraph(anchors=20).build(items, seed=1) for items in (X, x))
    np.testing.assert_allclose(from_tensor.anchors, built.anchors, atol=TOLERANCE[dtype])
    sums, expected = (sums_over(items, items, built.anchors, 5) for items in (x, X))
    for name in ("total", "gram", "by_anchor", "mass", "joint", "reach"):
        found = getattr(sums, name)
        assert isinstance(found, (np.ndarray, float))  # what is learnt stays here
        np.testing.assert_allclose(
            found, getattr(expected, name), rtol=TOLERANCE[dtype], atol=150 * TOLERANCE[dtype], err_msg=name
        )
    row, nearness = built.place(x)
    assert_like(row.to_dense(), built.attach(X).toarray(), x)
    assert_like(nearness, built.nearness(X), x)
    features = np.column_stack([X**2, np.ones(150)])
    A = built.smoothness(x, tensor(features, dtype, device))
    np.testing.assert_allclose(A, built.smoothness(X, features), atol=150 * TOLERANCE[dtype])


@everywhere
@every_type
@pytest.mark.parametrize("standardize", [True, False, "roots"])
def test_scaled_items_and_their_views(standardize, dtype, device):
    amounts = np.column_stack([np.exp(X), np.full(150, 3.0)])
    scale, x = fit_scale(amounts, standardize), tensor(amounts, dtype, device)
    assert scale.roots[:4].all() == (standardize == "roots")
    assert_like(TransformedRows(x, partial(scaled, scale))[10:20], scaled(scale, amounts)[10:20], x)
    features = SpectralMap(AnchorGraph(anchors=25)).prepare(MapItems(scaled(scale, amounts)))
    seen = Preprocessing(scale, features, directions=2, seed=0)
    of_truth = seen.truth_features(x)
    assert_like(of_truth, seen.truth_features(amounts), x)
    expected = seen.annotator_features(amounts, seen.truth_features(amounts))
    assert_like(seen.annotator_features(x, of_truth), expected, x)


def test_what_is_no_tensor_is_numpys():
    assert _array.namespace(X) is np
    assert _array.namespace([1.0]) is np
    assert _array.namespace(tensor(X)) is torch
    assert _array.namespace(torch.nn.Parameter(tensor(X))) is torch
    assert _array.to_numpy(torch.nn.Parameter(tensor(X))).dtype == np.float64


@everywhere
def test_arrays_in_any_order_become_tensors(device):
    x = tensor(X, device=device)
    for values in (X[::-1], X.T, np.float64(2.0)):
        assert_like(_array.like(values, x), values, x)
