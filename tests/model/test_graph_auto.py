"""AutoGraph: which graph for how many items, and that it is told."""

from importlib.util import find_spec

import numpy as np
import pytest
from sklearn.base import clone

from whoknows import (
    AnchorGraph,
    AutoCrowdClassifier,
    CrowdClassifier,
    CrowdRegressor,
    GraphTruth,
    KnnGraph,
    LogisticTruth,
    SpectralMap,
)
from whoknows.apps.report.overview import overview
from whoknows.estimators.auto.members import Member
from whoknows.insight.summary import summarize
from whoknows.model import graph as auto
from whoknows.model.graph import AutoGraph, GaussianGraph, PrecomputedGraph
from whoknows.model.truth import LinearTruth
from whoknows.model.truth import graph as truth_on_graph

RNG = np.random.default_rng(0)
X = np.vstack([RNG.normal(size=(60, 3)), RNG.normal(size=(60, 3)) + 3])
Z = np.repeat([0, 1], 60)
Y = np.where(RNG.random((120, 4)) < 0.3, np.where(RNG.random((120, 4)) < 0.8, Z[:, None], 1 - Z[:, None]), np.nan)
EXACT = "10 nearest neighbours of 120 items"


@pytest.fixture(params=[True, False], ids=["faiss", "no faiss"])
def faiss(request, monkeypatch):
    monkeypatch.setattr(auto, "is_installed", lambda: request.param)
    return request.param


@pytest.fixture
def small(monkeypatch):
    """A world in which 100 items are many."""
    monkeypatch.setattr(auto, "MOST_EXACT", 100)


def test_the_number_of_items_chooses(faiss):
    many = KnnGraph(7, search="faiss") if faiss else AnchorGraph()
    chosen = {1: KnnGraph(7), 20_000: KnnGraph(7), 20_001: many, 100_000: many, 100_001: AnchorGraph()}
    assert {n: AutoGraph(k=7).choose(n) for n in chosen} == chosen


def test_it_is_seen_whether_faiss_is_installed(monkeypatch):
    assert auto.is_installed() == (find_spec("faiss") is not None)
    monkeypatch.setattr("whoknows.model.graph.ann.find_spec", lambda name: None)
    assert not auto.is_installed()


def test_of_few_items_it_is_the_graph_of_nearest_neighbours():
    mine, theirs = AutoGraph(k=6).build(X), KnnGraph(k=6).build(X)
    assert abs(mine.Phi - theirs.Phi).max() == 0


def test_every_graph_says_what_it_is():
    built = {
        EXACT: KnnGraph(),
        "12 anchors for 120 items": AnchorGraph(anchors=12),
        "all pairs of 120 items": GaussianGraph(),
        "precomputed weights of 120 items": PrecomputedGraph(np.ones((120, 120))),
    }
    assert [graph.build(X).description for graph in built.values()] == list(built)
    assert AnchorGraph(9).build(RNG.normal(size=(12_000, 1))).description == "9 anchors for 12 000 items"


PIECES = {
    "lgp": ("truth", CrowdClassifier(LogisticTruth("auto"), map="linear"), LogisticTruth(KnnGraph())),
    "gp": ("truth", CrowdClassifier(GraphTruth("auto"), map="linear"), GraphTruth(KnnGraph())),
    "map": ("map", CrowdClassifier("id", map=SpectralMap("auto")), SpectralMap(KnnGraph())),
    "real": ("truth", CrowdRegressor(LinearTruth("auto"), map="linear"), LinearTruth(KnnGraph())),
}


class TestWord:
    """The word in the place of a graph."""

    @pytest.mark.parametrize(("place", "model", "same"), PIECES.values(), ids=PIECES)
    def test_it_stands_for_the_graph_that_is_chosen(self, place, model, same):
        auto = clone(model).fit(X, Y)
        plain = clone(model).set_params(**{place: same}).fit(X, Y)
        np.testing.assert_array_equal(auto.predict(X), plain.predict(X))
        assert auto.graph_ == plain.graph_ == f"{place} on {EXACT}"
        assert getattr(auto, place).graph == "auto"  # settings are left alone

    @pytest.mark.parametrize("word", ["lgp", "gp"])
    def test_the_words_for_the_papers_models_use_it(self, word):
        piece = {"lgp": LogisticTruth, "gp": GraphTruth}[word]
        mine, theirs = (CrowdClassifier(t, map="linear").fit(X, Y) for t in (word, piece(KnnGraph())))
        np.testing.assert_array_equal(mine.posterior_, theirs.posterior_)
        assert mine.graph_ == f"truth on {EXACT}"

    def test_other_words_are_refused(self):
        with pytest.raises(ValueError, match=r"graph must be 'auto' or a piece such as AutoGraph\(\); got 'knn'"):
            CrowdClassifier("id", map=SpectralMap("knn")).fit(X, Y)

    def test_an_object_has_its_way(self):
        model = CrowdClassifier(LogisticTruth(AnchorGraph(12)), map="linear").fit(X, Y)
        assert model.graph_ == "truth on 12 anchors for 120 items"

    def test_search_reaches_inside(self):
        model = CrowdClassifier(LogisticTruth(AutoGraph())).set_params(truth__graph__k=4).fit(X, Y)
        assert model.graph_ == "truth on 4 nearest neighbours of 120 items"


class TestManyItems:
    def test_a_fit_with_faiss_tells_its_recall(self, small):
        pytest.importorskip("faiss")
        model = CrowdClassifier(map=SpectralMap("auto", rank=10)).fit(X, Y)
        truth, of_map = model.graph_.split("; ")
        assert truth.startswith(f"truth on {EXACT} by faiss, recall ")
        assert truth.endswith(" on 120 rows")
        assert of_map.startswith(f"map on {EXACT} by faiss, recall ")
        assert np.mean(model.predict(X) == Z) > 0.9

    def test_a_fit_without_faiss_joins_items_through_anchors(self, small, monkeypatch):
        monkeypatch.setattr(auto, "is_installed", lambda: False)
        model = CrowdClassifier().fit(X, Y)
        assert model.graph_ == "truth on 40 anchors for 120 items"
        same = CrowdClassifier(LogisticTruth(AnchorGraph())).fit(X, Y)
        np.testing.assert_array_equal(model.posterior_, same.posterior_)

    def test_gp_takes_anchors_as_soon_as_a_matrix_over_items_is_too_large(self, monkeypatch):
        monkeypatch.setattr(truth_on_graph, "MOST_ITEMS", 100)
        model = CrowdClassifier(GraphTruth("auto")).fit(X, Y)
        assert model.graph_ == "truth on 40 anchors for 120 items"
        same = CrowdClassifier(GraphTruth(AnchorGraph())).fit(X, Y)
        np.testing.assert_array_equal(model.posterior_, same.posterior_)


class TestTold:
    @pytest.mark.parametrize(
        ("model", "told"),
        [
            (CrowdClassifier(), [f"truth on {EXACT}"]),
            (CrowdClassifier("id"), []),
            (CrowdClassifier(map="spectral"), [f"truth on {EXACT}; map on 40 anchors for 120 items"]),
            (CrowdRegressor("lgp"), [f"truth on {EXACT}"]),
            (
                AutoCrowdClassifier(members=[Member("spectral", v, False) for v in (3.0, 10.0)]),
                ["map on 40 anchors for 120 items"],
            ),
        ],
        ids=["lgp", "id", "spectral", "real", "auto"],
    )
    def test_in_the_summary_and_the_report(self, model, told):
        summary = summarize(clone(model).fit(X, Y), X, Y)
        assert summary.given["graph"] == told
        page = "".join(overview(summary))
        assert page.count("Similarity graph of the items") == len(told)
        assert all(f"Similarity graph of the items: {words}." in page for words in told)
