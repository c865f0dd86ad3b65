"""Neighbours by faiss: nearly all of them, exactly as far away as they are, the same on every run."""

import copy
import pickle
import subprocess
import sys

import numpy as np
import pytest
import scipy.sparse as sp

from whoknows import CrowdClassifier, SpectralMap, load
from whoknows.model.distances import neighbors
from whoknows.model.graph import KnnGraph, PrecomputedGraph, ann
from whoknows.model.graph.ann import Lists

pytest.importorskip("faiss")

RNG = np.random.default_rng(0)
CLUMPS = RNG.normal(size=(30, 8))[RNG.integers(30, size=1500)] + 0.2 * RNG.normal(size=(1500, 8))
CLOUD = RNG.normal(size=(1500, 20))  # no clumps: neighbours lie in many lists


def found(X, index, k=10):
    """Share of the true neighbours that are among those found."""
    return np.mean([len(set(mine) & set(theirs)) / k for mine, theirs in zip(index, neighbors(X, k)[0], strict=True)])


@pytest.mark.parametrize("X", [CLUMPS, CLOUD], ids=["clumps", "cloud"])
def test_nearly_all_neighbours_are_found_and_it_says_how_many(X):
    lists = Lists.of(X, 10)
    recall = found(X, lists.neighbors(10)[0])
    assert recall > 0.94
    assert lists.recall >= 0.95
    assert lists.recall == pytest.approx(recall, abs=0.02)
    assert lists.quality == f"recall {lists.recall:.3f} on 500 rows"


def test_more_lists_are_looked_into_until_enough_are_found():
    assert found(CLOUD, Lists(CLOUD, 0, n_probe=1).neighbors(10)[0]) < 0.8
    assert 1 < Lists.of(CLOUD, 10).n_probe <= Lists.of(CLOUD, 10).n_lists == 38


def test_all_lists_give_all_neighbours(monkeypatch):
    monkeypatch.setattr(ann, "ENOUGH", 1.1)
    lists = Lists.of(CLOUD, 10)
    assert lists.n_probe == lists.n_lists
    index, squared = lists.neighbors(10)
    np.testing.assert_array_equal(index, neighbors(CLOUD, 10)[0])
    np.testing.assert_allclose(squared, neighbors(CLOUD, 10)[1], rtol=1e-9)
    exact, by_lists = KnnGraph().build(CLOUD), KnnGraph(search="faiss").build(CLOUD)
    assert abs(exact.Phi - by_lists.Phi).max() < 1e-9
    new = CLOUD[:50] + 0.1
    np.testing.assert_allclose(by_lists.attach(new).toarray(), exact.attach(new).toarray(), atol=1e-9)
    np.testing.assert_allclose(by_lists.nearness(3 * new), exact.nearness(3 * new), rtol=1e-9)


@pytest.mark.parametrize(("unit", "place"), [(1e-6, 0.0), (1e6, 0.0), (1.0, 1e6), (1e60, 0.0)])
def test_distances_are_of_double_precision_whatever_the_unit(unit, place):
    """Single precision, which faiss has, cannot tell 1e6 from 1e6 + 0.01, nor square 1e60."""
    X = unit * CLUMPS + place
    lists = Lists.of(X, 10)
    index, squared = lists.neighbors(10)
    assert lists.recall >= 0.95
    np.testing.assert_array_equal(squared, ((X[index] - X[:, None]) ** 2).sum(axis=2))
    assert np.all(np.diff(squared, axis=1) >= 0)


def test_the_same_seed_gives_the_same_neighbours():
    mine, theirs = (KnnGraph(search="faiss").build(CLOUD, 3) for _ in range(2))
    assert abs(mine.Phi - theirs.Phi).max() == 0
    assert mine.description == theirs.description


HASH = """
import faiss, hashlib, numpy as np
faiss.omp_set_num_threads({threads})
from whoknows.model.graph import KnnGraph
built = KnnGraph(search="faiss").build(np.random.default_rng(0).normal(size=(3000, 12)), 1)
print(hashlib.sha256(built.Phi.indices.tobytes() + built.Phi.data.tobytes()).hexdigest(), built.description)
"""


def test_the_number_of_threads_does_not_matter():
    said = [
        subprocess.run([sys.executable, "-c", HASH.format(threads=n)], capture_output=True, text=True, check=True)
        for n in (1, 3)
    ]
    assert said[0].stdout == said[1].stdout != ""


def test_an_item_is_no_neighbour_of_its_own_and_copies_are():
    X = np.repeat(RNG.normal(size=(100, 3)), 6, axis=0)
    index, squared = Lists.of(X, 5).neighbors(5)
    assert not (index == np.arange(600)[:, None]).any()
    np.testing.assert_array_equal(squared, 0)


def test_lists_too_short_for_k_are_not_the_end():
    """Thirty items, none but the own list looked into, twenty neighbours wanted of each."""
    X = RNG.normal(size=(30, 2)) * 100
    index, squared = Lists(X, 0, n_probe=1).neighbors(20)
    assert index.min() >= 0
    assert all(len(set(row)) == 20 for row in index)
    np.testing.assert_array_equal(squared, ((X[index] - X[:, None]) ** 2).sum(axis=2))


@pytest.mark.parametrize("X", [np.zeros((40, 2)), np.zeros((3, 1)), RNG.normal(size=(2, 2)), np.ones((1, 2))])
def test_odd_items_make_a_sound_graph(X):
    built = KnnGraph(search="faiss").build(X)
    np.testing.assert_allclose(built.laplacian(), KnnGraph().build(X).laplacian(), atol=1e-9)


def test_a_graph_says_how_its_neighbours_were_found():
    built = KnnGraph(k=7, search="faiss").build(CLUMPS)
    assert built.description == f"7 nearest neighbours of 1 500 items by faiss, {built.lists.quality}"
    assert KnnGraph(k=7).build(CLUMPS).description == "7 nearest neighbours of 1 500 items"


def test_without_faiss_the_error_says_how_to_get_it(monkeypatch):
    monkeypatch.setitem(sys.modules, "faiss", None)
    with pytest.raises(ModuleNotFoundError, match=r"needs faiss. Run: pip install 'whoknows\[ann\]'"):
        KnnGraph(search="faiss").build(CLUMPS)
    KnnGraph().build(CLUMPS)  # does not ask for it


def test_a_search_nobody_knows_is_refused():
    with pytest.raises(ValueError, match=r"KnnGraph.search must be 'exact' or 'faiss'; got 'annoy'"):
        KnnGraph(search="annoy").check()


class TestSpectrum:
    """Eigenvectors of a sparse graph, by Lanczos, of which much is already known."""

    FAR = 10 * RNG.normal(size=(30, 4))[np.arange(900) % 30] + RNG.normal(size=(900, 4))  # thirty parts

    @pytest.mark.parametrize("rank", [5, 30, 31, 60])
    @pytest.mark.parametrize("X", [FAR, CLOUD[:900, :4]], ids=["thirty parts", "one part"])
    def test_they_are_those_of_the_whole_matrix(self, X, rank):
        built = KnnGraph(k=6).build(X)
        half = built.degree**-0.5
        S = built.Phi.toarray() * half[:, None] * half
        basis, mu = built.basis(rank, eps=0.1)
        np.testing.assert_allclose(1 - mu, np.linalg.eigvalsh(S)[::-1][:rank], atol=1e-10)
        U = basis * (1 - mu) * np.sqrt(mu + 0.1)
        np.testing.assert_allclose(S @ U, U * (1 - mu), atol=1e-9)
        np.testing.assert_allclose(U.T @ U, np.eye(rank), atol=1e-9)

    def test_a_part_is_where_its_items_are(self):
        """With more parts than eigenvectors wanted, the largest parts have one each."""
        X = np.concatenate([np.full((40 - i, 3), 1e3 * i) for i in range(10)]) + RNG.normal(size=(355, 3))
        basis, mu = KnnGraph().build(X).basis(6, eps=0.1)
        np.testing.assert_allclose(mu, 0, atol=1e-12)
        parts = np.repeat(np.arange(10), 40 - np.arange(10))
        for k in range(6):
            np.testing.assert_array_equal(basis[:, k] > 0, parts == k)

    def test_items_without_edges_take_no_part(self):
        weights = np.zeros((60, 60))
        weights[:40, :40] = np.exp(-np.abs(np.subtract.outer(np.arange(40), np.arange(40))))
        basis, mu = PrecomputedGraph(sp.csr_array(weights)).build(np.zeros((60, 1))).basis(8, eps=0.1)
        assert mu[0] == 0 < mu[1]
        np.testing.assert_allclose(basis[40:], 0, atol=1e-12)


def test_a_fit_is_the_same_after_a_copy_a_pickle_and_a_file(tmp_path):
    rng = np.random.default_rng(1)
    z = CLUMPS[:400, 0] > 0
    y = np.where(rng.random((400, 3)) < 0.8, z[:, None], ~z[:, None]).astype(int)
    model = CrowdClassifier("id", map=SpectralMap(KnnGraph(search="faiss"), rank=20)).fit(CLUMPS[:400], y)
    assert "by faiss, recall" in model.graph_
    assert np.mean((model.posterior_[:, 1] > 0.5) == z) > 0.85
    new = CLUMPS[400:500]
    model.save(tmp_path / "model.whoknows")
    for other in (copy.deepcopy(model), pickle.loads(pickle.dumps(model)), load(tmp_path / "model.whoknows")):
        assert other.graph_ == model.graph_
        np.testing.assert_array_equal(other.predict_proba(new), model.predict_proba(new))
