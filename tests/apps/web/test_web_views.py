"""Pages show what the store and the last fit say."""

import re
from types import SimpleNamespace

import numpy as np
import pytest

from tests.insight.summary_worlds import fitted
from whoknows.apps.charts import join
from whoknows.apps.web.jobs.worker import fit_now
from whoknows.apps.web.pages.item_page import ItemFacts, item_page
from whoknows.apps.web.pages.shell import PageLinks, Visit
from whoknows.apps.web.results import Why
from whoknows.apps.web.store import fits, gold, items, labels, projects
from whoknows.apps.web.store.labels import Answer
from whoknows.apps.web.store.search import Search, search
from whoknows.insight.contributions import Contributions
from whoknows.insight.summary import Summary

PAGES = ("", "annotators", "annotators/anna", "map", "items", "items/tumour%20001", "ask", "fits")


@pytest.fixture
def project(store):
    with store.read() as db:
        return projects.by_name(db, "example")


@pytest.fixture
def summary(store, project):
    with store.read() as db:
        return Summary.from_json(fits.summary(db, fits.latest(db, project.id).id))


def text(client, address):
    answer = client.get(f"/projects/example/{address}")
    assert answer.status_code == 200, answer.text
    return answer.text


@pytest.mark.parametrize("address", PAGES)
def test_every_page_answers_without_inline_script_or_style(client, address):
    page = text(client, address)
    assert page.count("<h1") == 1
    assert "style=" not in page
    assert "<script>" not in page
    assert "onclick" not in page


@pytest.mark.parametrize("address", PAGES)
def test_before_the_first_fit_every_page_says_what_to_do(client, store, address):
    with store.write() as db:
        new = projects.create(db, "new", "New")
        items.put(db, new.id, [items.Item("tumour 001", text="a <b> & c")])
        labels.record(db, new, [Answer("tumour 001", "anna", "benign")], "x")
    page = client.get(f"/projects/new/{address}")
    assert page.status_code == 200
    assert "There is no fit yet" in page.text
    assert "<b> &" not in page.text
    assert "map.js" not in page.text  # it has nothing to draw


def test_the_overview_counts_what_came_since_the_fit(client, store, project, summary):
    with store.write() as db:
        labels.record(db, project, [Answer(f"tumour 00{k}", "zoe", "benign") for k in range(1, 4)], "zoe")
    page = text(client, "")
    assert "3 labels since." in page
    assert f"<dd>{summary.agreement['alpha']:.2f}</dd><dt>agreement (alpha)</dt>" in page
    assert '<a href="/projects/example/annotators/zoe">' in page


def test_annotators_are_ranked_and_have_a_page_each(client, store, project, summary):
    page = text(client, "annotators")
    places = [page.index(f">{name}</bdi></a>") for name in summary.annotators["annotator"]]
    assert places == sorted(places)
    best = text(client, f"annotators/{summary.annotators['annotator'][0]}")
    assert "<dd>1 of 5</dd>" in best
    assert "Confusion matrix" in best
    assert client.get("/projects/example/annotators/zoe").status_code == 404
    with store.write() as db:
        labels.record(db, project, [Answer("tumour 001", "zoe", "benign")], "x")
    assert "does not know this annotator yet" in text(client, "annotators/zoe")


def test_the_page_of_an_item_shows_labels_and_their_contributions(client, store, project):
    with store.read() as db:
        said = labels.every(db, project.id)
    page = text(client, f"items/{said[0].item}")
    for row in (row for row in said if row.item == said[0].item):
        assert f"<b><bdi>{row.annotator}</bdi></b> said <q><bdi>{row.label}</bdi></q>: " in page
    assert "From the features alone" in page
    with store.write() as db:
        gold.decide(db, project, {said[0].item: "benign"}, "lea")
    decided = text(client, f"items/{said[0].item}")
    assert "Gold: the truth is <q><bdi>benign</bdi></q>" in decided
    assert "From the features alone" not in decided


def test_a_change_that_cannot_be_seen_is_called_none():
    said = [SimpleNamespace(annotator=who, label="yes", source="web", created=0.0) for who in ("anna", "bo")]
    final, without = [0.036, 0.964], [[0.043, 0.957], [0.1, 0.9]]  # 96 % with and without the first label
    found = Contributions(np.array(final), np.array([0.5, 0.5]), np.array(without))
    prediction = SimpleNamespace(label="yes", probabilities={"no": 0.036, "yes": 0.964}, overruled=False)
    facts = ItemFacts(items.Item("a"), said, ("no", "yes"), None, prediction, Why(["no", "yes"], said, found))
    page = join(item_page(facts, Visit("")))
    assert "<bdi>anna</bdi></b> said <q><bdi>yes</bdi></q>: makes hardly any difference." in page
    assert "from 90% to 96%." in page


def test_names_with_any_characters_have_pages(client, store, project):
    key, who = "a/b?c#d <i> 9%", "Zoë/ & co"
    with store.write() as db:
        items.put(db, project.id, [items.Item(key)])
        labels.record(db, project, [Answer(key, who, "benign")], "x")
    address = PageLinks("example").to("items", key)
    assert "a/b?c#d &lt;i&gt; 9%" in client.get(address).text
    assert client.get(PageLinks("example").to("annotators", who)).status_code == 200


# --- search -----------------------------------------------------------------------------------------


def found(store, project, **wanted):
    with store.read() as db:
        return search(db, project.id, fits.latest(db, project.id).id, Search(**wanted))


def test_search_finds_filters_and_sorts(store, project, summary):
    rows, n = found(store, project, q="TUMOUR 00")
    assert n == len(rows) == 9
    rows, n = found(store, project, show="uncertain", sort="uncertain", size=300)
    confidence = [row.confidence for row in rows]
    assert confidence == sorted(confidence)
    assert n == len(rows) == sum(value < 0.9 for value in summary.consensus["confidence"])
    _, n = found(store, project, show="overruled")
    assert n == summary.answer["n_overruled"]
    rows, _ = found(store, project, show="disagreement", sort="disagreement")
    assert all(row.disagreement > 0 for row in rows)
    _, n = found(store, project, consensus="malignant")
    assert n == summary.consensus["consensus"].count("malignant")
    assert found(store, project, q="100%")[1] == found(store, project, q="_")[1] == 0  # no patterns


def test_pages_of_the_list_follow_each_other(store, project):
    first, second = (found(store, project, page=page, size=7)[0] for page in (1, 2))
    everything, n = found(store, project, size=1000)
    assert n == 300
    assert [row.key for row in (*first, *second)] == [row.key for row in everything[:14]]


def test_gold_replaces_the_consensus_of_the_list(store, project, client):
    with store.write() as db:
        gold.decide(db, project, {"tumour 005": "benign"}, "lea")
    rows, n = found(store, project, show="gold")
    assert (n, rows[0].gold) == (1, "benign")
    assert "tumour 005" in text(client, "items?show=gold&consensus=benign")
    assert "No item matches" in text(client, "items?show=gold&consensus=malignant")


# --- other kinds of labels --------------------------------------------------------------------------


def test_classes_that_nobody_listed_are_those_of_the_labels(client, store):
    with store.write() as db:
        new = projects.create(db, "open", "Open")
        items.put(db, new.id, [items.Item(key) for key in ("a", "b")])
    assert "This project has no classes yet." in client.get("/projects/open/label?as=zoe").text
    with store.write() as db:
        labels.record(db, new, [Answer("a", "zoe", "yes"), Answer("b", "zoe", "no")], "zoe")
    assert fit_now(store, new.id).state == "done"
    for address in ("items", "items/a", "label?as=bo"):
        assert ">yes<" in client.get(f"/projects/open/{address}").text
    assert client.get("/api/v1/projects/open/next?annotator=bo").json()["classes"] == ["no", "yes"]
    with store.write() as db:
        projects.change(db, new, "Open", projects.ProjectSettings(model="regression"))
    for address in ("items", "items/a", "label?as=bo"):
        page = client.get(f"/projects/open/{address}")
        assert page.status_code == 200
    assert 'type="number"' in page.text


@pytest.mark.parametrize("kind", ["numbers", "levels"])
def test_pages_of_numbers_and_levels(client, store, kind):
    """Labels are text in the store; pages show numbers with three digits, and levels as they are called."""
    _, X, said = fitted(kind)
    model, classes = ("regression", ()) if kind == "numbers" else ("ordered", tuple(map(str, said.labels)))
    with store.write() as db:
        new = projects.create(
            db, kind, kind, projects.ProjectSettings(classes, model=model, features=("depth", "width"))
        )
        items.put(db, new.id, [items.Item(str(i), features=x) for i, x in enumerate(X)])
        rows = zip(said.item, said.annotators[said.annotator], said.labels[said.label], strict=True)
        labels.record(db, new, [Answer(str(i), str(who), str(label)) for i, who, label in rows], "x")
    assert fit_now(store, new.id).state == "done"
    who, item = str(said.annotators[0]), str(said.item[0])
    for address in ("", "annotators", f"annotators/{who}", "map", "items", f"items/{item}", "ask", "fits", "data"):
        page = client.get(f"/projects/{kind}/{address}")
        assert page.status_code == 200, page.text
        assert "nan" not in page.text.lower().split()
    shown = client.get(f"/projects/{kind}/annotators/{who}").text
    assert ("Bias" if kind == "numbers" else "Severity") in shown
    if kind == "numbers":
        assert not re.search(r"\d\.\d{5}", client.get("/projects/numbers/items").text)
        assert 'type="number"' in client.get("/projects/numbers/label?as=zoe").text
