"""In a notebook: results as tables with ids and names."""

from xml.etree import ElementTree

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from tests.estimators.worlds import line_world
from whoknows import Annotations, AutoCrowdClassifier, CrowdClassifier, CrowdRegressor
from whoknows.insight import agreement


@pytest.fixture(scope="module")
def world():
    X, matrix, _ = line_world(n_items=40)
    ids = [f"img {row}" for row in range(40)]
    y = Annotations.from_matrix(matrix, items=ids, annotators=["anna", "bob", "<cleo>"])
    return X, y, CrowdClassifier(map="linear").fit(X, y)


def cells(page):
    """Return the columns of the table in a page, which must be well-formed."""
    head, *rows = ([cell.text for cell in row] for row in ElementTree.fromstring(page).iter("tr"))
    return {name: list(column) for name, *column in zip(head, *rows, strict=True)}


def test_a_table_of_labels(world):
    _, y, _ = world
    table = cells(y._repr_html_())
    assert list(table) == ["item", "annotator", "label"]
    for name, column in table.items():
        assert column == y.to_frame("pandas")[name][:10].astype(str).tolist()
    assert f"{y.n_annotations} labels, 40 items, 3 annotators" in y._repr_html_()
    assert f"… and {y.n_annotations - 10} more" in y._repr_html_()
    assert "<cleo>" not in y._repr_html_()
    none = Annotations.from_arrays([], [], [], items=[1, 2])
    assert none._repr_html_() == "<div><p>0 labels, 2 items, 0 annotators</p></div>"
    zoe = Annotations.from_arrays(["img 0"], ["zoe"], [1], items=y.items)
    assert cells(zoe.recode(y.annotators, y.labels, unknown="population")._repr_html_())["annotator"][0] == "unknown"


def test_a_table_of_the_ranking(world):
    model = world[2]
    ranking = model.ranking()
    table = cells(ranking._repr_html_())
    assert table["annotator"] == ranking.annotator.tolist()
    assert table["right"] == [f"{share:.1%}" for share in ranking.expertise]
    rows = zip(*table.values(), strict=True)
    assert [line.split() for line in repr(ranking).splitlines()[1:]] == [" ".join(row).split() for row in rows]


def test_a_table_of_suggestions(world):
    X, y, model = world
    asked = model.suggest(X, y, 12)
    table = cells(asked._repr_html_())
    assert table["item"] == asked.item[:10].tolist()
    assert "… and 2 more" in asked._repr_html_()
    nothing = model.suggest(X, y, 3, min_gain=99)
    assert "No label to ask for: no other label gains" in nothing._repr_html_()
    assert "<table" not in nothing._repr_html_()


def test_agreement_as_text_that_is_escaped(world):
    page = agreement(world[1])._repr_html_()
    assert page.startswith("<pre>")
    assert "Krippendorff" in page
    assert "<cleo>" not in page


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame, pa.table])
def test_a_dataframe_in_a_dataframe_out(world, frame):
    X, y, model = world
    given = frame({"width": X[:, 0], "height": X[:, 1]})
    fitted = CrowdClassifier(map="linear").fit(given, y)
    found = fitted.to_frame(given, y)
    assert type(found) is type(given)
    truth = pd.DataFrame({"truth": pl.DataFrame(found)["truth"].to_list()})["truth"]
    np.testing.assert_array_equal(truth, model.classes_[model.posterior(X, y).argmax(axis=1)])
    assert pl.DataFrame(found)["item"].to_list() == y.items.tolist()


def test_columns_of_results(world):
    X, y, model = world
    index = pd.Index([f"img {row}" for row in range(40)])
    given = pd.DataFrame(X, index=index)
    found = model.to_frame(given)
    assert found.columns.tolist() == ["item", "truth", "p(0)", "p(1)"]
    assert found["item"].tolist() == index.tolist()
    np.testing.assert_array_equal(found[["p(0)", "p(1)"]], model.predict_proba(X))
    skill = model.to_frame(X, of="expertise", backend="pandas")
    assert skill.columns.tolist() == ["item", "anna", "bob", "<cleo>"]
    assert skill["item"].tolist() == list(range(40))
    np.testing.assert_array_equal(skill.iloc[:, 1:], model.expertise(X))
    with pytest.raises(ValueError, match="of must be 'truth' or 'expertise'; got 'labels'"):
        model.to_frame(X, of="labels")
    same_name = Annotations.from_matrix(y.to_matrix(), annotators=["item", "bob", "cleo"])
    taken = CrowdClassifier(map="linear").fit(X, same_name)
    with pytest.raises(ValueError, match="An annotator is called 'item'"):
        taken.to_frame(X, of="expertise")


def test_an_ensemble_and_numbers(world):
    X, y, _ = world
    auto = AutoCrowdClassifier(selection=False).fit(X[:20], y[:20])
    assert auto.to_frame(X[:20], y[:20], backend="polars").shape == (20, 4)
    scores = np.column_stack([X[:, 0], X[:, 0] + 1])
    real = CrowdRegressor(map="linear").fit(X, scores)
    found = real.to_frame(X, scores, backend="pandas")
    assert found.columns.tolist() == ["item", "truth", "std"]
    np.testing.assert_array_equal(found["truth"], real.posterior(X, scores)[0])
    np.testing.assert_array_equal(real.to_frame(X, backend="pandas")["std"], real.predict(X, return_std=True)[1])


def test_log_probabilities(world):
    X, _, model = world
    np.testing.assert_allclose(np.exp(model.predict_log_proba(X)), model.predict_proba(X), rtol=1e-12)


def test_expertise_behind_a_pipeline(world):
    X, y, _ = world
    pipeline = make_pipeline(StandardScaler(), CrowdClassifier(map="linear")).fit(X, y)
    *steps, (_, model) = pipeline.steps
    expertise = model.expertise(pipeline[:-1].transform(X))
    assert len(steps) == 1
    assert expertise.shape == (40, 3)


def test_masked_arrays_are_refused(world):
    X, y, _ = world
    matrix = np.ma.masked_invalid(y.to_matrix())
    with pytest.raises(TypeError, match=r"masked array\. Pass y\.astype\(float\)\.filled"):
        CrowdClassifier().fit(X, matrix)
    with pytest.raises(TypeError, match=r"X is a masked array.*X\.filled"):
        CrowdClassifier().fit(np.ma.masked_array(X, mask=X > 1), y)


def test_a_fitted_model_writes_its_report(world, tmp_path):
    X, y, model = world
    model.report(X, y, tmp_path / "fit.html", title="Two lines")
    page = (tmp_path / "fit.html").read_text("utf-8")
    assert "Two lines" in page
    assert "&lt;cleo&gt;" in page
    assert "<cleo>" not in page
