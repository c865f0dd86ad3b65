"""Where annotators are strong and weak, on a map and in words; samples where there is much."""

import base64

import numpy as np
import pytest

from tests.insight.summary_worlds import FEATURES, fitted, split_crowd, summary_of
from whoknows import Annotations, BernoulliAnnotators, CrowdClassifier
from whoknows.insight.summary import summarize
from whoknows.insight.summary.annotators import MAX_ITEMS, project
from whoknows.insight.summary.categorical import CategoricalFit
from whoknows.insight.summary.gaussian import GaussianFit
from whoknows.insight.summary.items import embed
from whoknows.insight.summary.text import region_name

PNG = b"\x89PNG\r\n\x1a\n" + bytes(50)


def of(summary, name):
    return next(profile for profile in summary.profiles if profile["annotator"] == name)


def test_regions_are_those_of_the_world():
    summary = summary_of("classes")
    anna, bruno = of(summary, "anna"), of(summary, "bruno")
    assert anna["varies"]
    assert bruno["varies"]
    assert any(condition.startswith("depth > ") for condition in anna["strong"]["where"])
    assert any(condition.startswith("depth ≤ ") for condition in anna["weak"]["where"])
    assert any(condition.startswith("depth ≤ ") for condition in bruno["strong"]["where"])


@pytest.mark.parametrize("side", ["strong", "weak"])
def test_regions_say_how_good_and_how_large(side):
    model, X, said = fitted("classes")
    region = of(summary_of("classes"), "anna")[side]
    inside = np.ones(len(X), dtype=bool)
    for condition in region["where"]:
        name, sign, limit = condition.rsplit(" ", 2)
        value = X[:, FEATURES.index(name)]
        inside &= value > float(limit) if sign == ">" else value <= float(limit)
    skill = model.expertise(X)[:, 0]
    assert region["share"] == pytest.approx(inside.mean(), abs=0.01)  # limits are told to three digits
    assert region["skill"] == pytest.approx(skill[inside].mean(), abs=0.01)
    mine = inside[said.item] & (said.annotator == 0)
    assert region["n_labels"] == pytest.approx(mine.sum(), abs=1)
    best = skill[[case["item"] for case in region["examples"]]]
    np.testing.assert_allclose([case["skill"] for case in region["examples"]], best, atol=1e-5)
    limit = np.sort(skill[inside])[-3] if side == "strong" else np.sort(skill[inside])[2]
    assert (best >= limit - 1e-9).all() if side == "strong" else (best <= limit + 1e-9).all()


def test_categories_are_told_as_such():
    _, _, said = fitted("classes")
    X = split_crowd()[0]
    X[:, 0] = X[:, 0] > 0
    summary = summarize(CrowdClassifier("id").fit(X, said), X, said, features=["city=Rome", "width"])
    anna = of(summary, "anna")
    assert "city is Rome" in anna["strong"]["where"]
    assert "city is not Rome" in anna["weak"]["where"]


def test_where_nothing_varies_it_is_said():
    model, X, _ = fitted("alone")
    profile = summary_of("alone").profiles[0]
    assert not profile["varies"]
    assert profile["strong"] is None
    np.testing.assert_allclose(profile["range"], np.quantile(model.expertise(X), [0.05, 0.95]), atol=1e-5)
    constant = "Whether expertise depends on the item was not tested: the model assumes that it does not."
    assert constant in summary_of("alone").lines()


def test_errors_vary_too():
    summary = summary_of("numbers")
    third = of(summary, 2)
    assert third["varies"]
    assert any(condition.startswith("depth >") for condition in third["strong"]["where"])
    assert third["strong"]["skill"] < third["weak"]["skill"]


def test_texts_are_told_by_their_words():
    model, X, said = fitted("classes")
    text = ["deep blue sea" if deep else "flat green meadow" for deep in X[:, 0] > 0]
    region = of(summarize(model, X, said, text=dict(enumerate(text))), "anna")["strong"]
    assert set(region["words"]) == {"deep", "blue", "sea"}
    assert region["examples"][0]["text"] == "deep blue sea"


def test_texts_without_a_common_word_have_none():
    model, X, said = fitted("classes")
    region = of(summarize(model, X, said, text=[str(i) for i in range(len(X))]), "anna")["strong"]
    assert region["words"] == []


def test_features_made_of_texts_are_never_named():
    model, X, said = fitted("classes")
    text = ["deep blue sea" if deep else "flat green meadow" for deep in X[:, 0] > 0]
    for given in (None, text):
        summary = summarize(model, X, said, features=["text_0", "text_7"], text=given)
        region = of(summary, "anna")["strong"]
        assert region["where"] == []
        assert [axis["features"] for axis in summary.map["axes"]] == [[], []]
        (line,) = (line for line in summary.lines() if line.startswith("anna is strong"))
        such = ", ".join(str(case["item"]) for case in region["examples"])
        assert (f"strong on items such as {such} (" in line) == (given is None)
        assert ("strong on texts with the words" in line) == (given is not None)
        assert not any("text_" in line for line in summary.lines())


def test_numbered_features_of_an_embedding_are_not_named():
    """Regions of embeddings are described by typical items, since f3 means nothing to a reader."""
    X, said = split_crowd(120)
    rng = np.random.default_rng(0)
    embedding = X @ rng.normal(size=(2, 60)) + 0.1 * rng.normal(size=(120, 60))
    model = CrowdClassifier("id").fit(embedding, said)
    summary = summarize(model, embedding, said, features=[f"f{j}" for j in range(60)])
    regions = [profile["strong"] for profile in summary.profiles if profile["varies"]]
    assert regions
    for region in regions:
        assert region["where"] == []
        assert region_name(region) == f"on items such as {', '.join(str(c['item']) for c in region['examples'])}"
    assert [axis["features"] for axis in summary.map["axes"]] == [[], []]


# --- the map ---------------------------------------------------------------------------------------


def test_map_has_the_skill_of_everybody_at_every_item():
    model, X, said = fitted("classes")
    drawn = summary_of("classes").map
    assert drawn["n_items"] == len(drawn["item"]) == len(X)
    place = [said.annotators.tolist().index(name) for name in drawn["annotators"]]
    np.testing.assert_allclose(np.transpose(drawn["skill"]), model.expertise(X)[:, place], atol=0.006)
    for t, rows in zip(place, drawn["labelled"], strict=True):
        assert rows == said.item[said.annotator == t].tolist()
    assert min(drawn["x"]) >= 0
    assert max(drawn["y"]) <= 1


def test_small_maps_average_the_skill_in_their_cells():
    model, X, _ = fitted("classes")
    drawn, columns = summary_of("classes").map, summary_of("classes").map["grid"]["columns"]
    lines = drawn["grid"]["lines"]
    cell = np.minimum(np.array(drawn["x"]) * columns, columns - 1).astype(int)
    cell = cell + columns * np.minimum(np.array(drawn["y"]) * lines, lines - 1).astype(int)
    busiest = np.bincount(cell).argmax()
    value = of(summary_of("classes"), "anna")["map"][drawn["grid"]["cell"].index(busiest)]
    assert value == pytest.approx(model.expertise(X)[cell == busiest, 0].mean(), abs=0.02)


def test_projection_keeps_neighbours_and_names_directions():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 3)) * [1.0, 100.0, 1.0]
    X[:, 2] = X[:, 1] / 100 + 0.1 * X[:, 2]  # two features that say the same, in different units
    xy, axes = project(X, ["a", "b", "c"])
    assert set(axes[0]["features"][:2]) == {"b", "c"}
    assert abs(np.corrcoef(xy[:, 0], X[:, 1])[0, 1]) > 0.95
    xy[:, 0].sort()
    assert (xy >= 0).all()
    assert (xy <= 1).all()


@pytest.mark.parametrize(
    "X", [np.zeros((5, 3)), np.arange(4.0)[:, None], np.zeros((1, 2))], ids=["alike", "one", "single"]
)
def test_projection_of_hardly_anything(X):
    xy, axes = project(X, ["a", "b", "c"])
    assert xy.shape == (len(X), 2)
    assert np.isfinite(xy).all()
    assert len(axes) == 2


def test_colours_span_most_of_the_skill():
    probability = CategoricalFit(*fitted("classes"))
    assert probability.color_domain(np.array([[0.52, 0.93]])) == pytest.approx([0.5, 0.95])
    low, high = probability.color_domain(np.full((4, 2), 0.99))
    assert high - low >= 0.1 - 1e-9
    low, high = GaussianFit(*fitted("numbers")).color_domain(np.full((4, 2), 3.0))
    assert high > low


# --- much of everything ----------------------------------------------------------------------------


def test_many_items_are_sampled_and_all_have_a_consensus():
    X, said = split_crowd(3000)
    model = CrowdClassifier("id", BernoulliAnnotators(varies_with_x=False), "linear", tol=1e-3).fit(X, said)
    summary = summarize(model, X, said)
    assert len(summary.map["item"]) == MAX_ITEMS
    assert summary.map["n_items"] == len(summary.consensus["item"]) == 3000
    assert len(set(summary.map["item"])) == MAX_ITEMS


def test_large_crowds_show_their_ends_and_their_busiest():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 2))
    truth, T = X[:, 0] > 0, 120
    right = rng.random((300, T)) < np.linspace(0.55, 0.98, T)
    y = np.where(right == truth[:, None], 1.0, 0.0)
    share = np.where(np.arange(T) == 60, 1.0, 0.15)
    y[rng.random((300, T)) > share] = np.nan
    said = Annotations.from_matrix(y)
    model = CrowdClassifier("id", BernoulliAnnotators(varies_with_x=False), "linear", tol=1e-3).fit(X, said)
    summary = summarize(model, X, said)
    shown = [profile["annotator"] for profile in summary.profiles]
    ranked = summary.annotators["annotator"]
    assert len(ranked) == T
    assert len(shown) == 40
    assert shown[:15] == ranked[:15]
    assert shown[-15:] == ranked[-15:]
    assert 60 in shown
    assert len(summary.agreement["pairs"]["annotators"]) == 30


# --- pictures --------------------------------------------------------------------------------------


def test_small_pictures_are_taken_in(tmp_path):
    (tmp_path / "a.png").write_bytes(PNG)
    assert embed(str(tmp_path / "a.png")) == f"data:image/png;base64,{base64.b64encode(PNG).decode()}"


@pytest.mark.parametrize("content", [b"\x89PNG" + bytes(50_000), b"root:x:0:0", b""], ids=["large", "text", "empty"])
def test_other_files_are_only_named(tmp_path, content):
    path = str(tmp_path / "a.png")
    (tmp_path / "a.png").write_bytes(content)
    assert embed(path) == path
    assert embed("nowhere.png") == "nowhere.png"
    assert embed("bad\0name") == "bad\0name"


def test_files_are_read_for_paths_and_never_for_strings(tmp_path):
    model, X, said = fitted("classes")
    (tmp_path / "a.png").write_bytes(PNG)
    for image, shown in ((tmp_path / "a.png", embed(str(tmp_path / "a.png"))), (str(tmp_path / "a.png"),) * 2):
        cases = summarize(model, X, said, images=[image] * len(X)).adjudicate["least_sure"]
        assert {case["image"] for case in cases} == {shown}


def test_pictures_come_with_their_items():
    model, X, said = fitted("classes")
    images = {i: f"photos/{i}.jpg" for i in range(len(X)) if i % 2}
    cases = summarize(model, X, said, images=images).adjudicate["least_sure"]
    assert all(case.get("image") == images.get(case["item"]) for case in cases)
