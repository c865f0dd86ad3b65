"""The label page is blind, works without script, and stores what annotators say."""

import re
from dataclasses import replace

import pytest
from fastapi.testclient import TestClient

from whoknows.apps.web.application import create_app
from whoknows.apps.web.security.passwords import hashed
from whoknows.apps.web.store import accounts, fits, items, labels, projects
from whoknows.apps.web.store.labels import Answer

AS = {"as": "zoe"}


@pytest.fixture
def project(store):
    with store.read() as db:
        return projects.by_name(db, "example")


def shown(page):
    """Key of the item on the screen."""
    return re.search(r'data-item="([^"]*)"', page.text)[1]


def send(client, page, **fields):
    """Press a button of the form."""
    csrf = re.search(r'name="csrf" value="([^"]+)"', page.text)[1]
    item = re.search(r'name="item" value="([^"]*)"', page.text)[1]
    return client.post("/projects/example/label", data={"csrf": csrf, "as": "zoe", "item": item, **fields})


@pytest.mark.parametrize("address", ["/projects/example/label", "/projects/example/label/next"])
def test_nothing_tells_what_others_said_or_what_the_model_thinks(client, store, project, address):
    """Two stores that differ in everything but the item give the same page."""
    with store.read() as db:
        key = labels.every(db, project.id)[0].item
    before = client.get(address, params={**AS, "item": key})
    with store.write() as db:
        rows = labels.of_item(db, project.id, key)
        other = {"benign": "malignant", "malignant": "benign"}
        labels.record(db, project, [Answer(key, row.annotator, other[row.label]) for row in rows], "x")
        db.exec_driver_sql("UPDATE prediction SET label = 'benign', confidence = 0.123, vote = 'malignant'")
    after = client.get(address, params={**AS, "item": key})
    assert shown(after) == key
    assert after.text == before.text
    assert not any(row.annotator in before.text for row in rows)


def test_answers_skips_and_undo_without_script(client, store, project):
    page = client.get("/label", params=AS)
    first = shown(page)
    page = send(client, page, label="benign")
    second = shown(page)
    assert second != first
    assert 'id="done" data-of="300">1</span> of 300 items' in page.text
    page = send(client, page, act="skip")
    assert shown(page) not in (first, second)
    page = send(client, page, act="undo")
    assert shown(page) == first
    with store.read() as db:
        assert "zoe" not in labels.counts(db, project.id)
        assert [row.kind for row in labels.history(db, project.id, annotator="zoe")] == ["delete", "set"]
    send(client, page, label="malignant")
    with store.read() as db:
        assert [(row.item, row.label) for row in labels.every(db, project.id, annotator="zoe")] == [
            (first, "malignant")
        ]


def test_an_answer_without_the_token_of_the_page_is_refused(client, store, project):
    answer = client.post("/projects/example/label", data={"as": "zoe", "item": "tumour 001", "label": "benign"})
    assert answer.status_code == 403
    with store.read() as db:
        assert "zoe" not in labels.counts(db, project.id)


def test_the_questions_of_the_last_fit_come_first(client, store, project):
    with store.read() as db:
        best = fits.questions(db, fits.latest(db, project.id).id, "anna", 2)
    page = client.get("/projects/example/label", params={"as": "anna"})
    assert shown(page) == best[0].item
    ahead = client.get("/projects/example/label/next", params={"as": "anna", "not": best[0].item})
    assert shown(ahead) == best[1].item


def test_it_says_when_it_is_enough(client, store, project):
    assert "Enough for now" not in client.get("/projects/example/label", params={"as": "anna"}).text
    with store.write() as db:
        db.exec_driver_sql("UPDATE question SET information = 0.001")
    assert "Enough for now" in client.get("/projects/example/label", params={"as": "anna"}).text


def test_pairs_images_and_what_is_left(client, store):
    with store.write() as db:
        project = projects.create(db, "pairs", "Pairs", projects.ProjectSettings(("left", "right")))
        image = "data:image/gif;base64,R0lGODlhAQABAAAAACw="
        items.put(db, project.id, [items.Item("1", "<i>one</i>", "two"), items.Item("2", image=image)])
    page = client.get("/label", params=AS)  # the newest project
    assert '<div class="pair"><div class="text" dir="auto">&lt;i&gt;one' in page.text
    with store.write() as db:
        labels.record(db, project, [Answer("1", "zoe", "left")], "zoe")
    assert f'<img src="{image}"' in client.get("/label", params=AS).text
    with store.write() as db:
        labels.record(db, project, [Answer("2", "zoe", "left")], "zoe")
    page = client.get("/label", params=AS).text
    assert "You have seen every item." in page
    assert re.search(r'<button[^>]*value="skip"[^>]* hidden>', page)


def test_a_lead_says_who_labels(client):
    page = client.get("/projects/example/label").text
    assert "Who labels?" in page
    assert 'href="/projects/example/label?as=anna"' in page


# --- other forms ------------------------------------------------------------------------------------


def press(client, page, action, **fields):
    csrf = re.search(r'name="csrf" value="([^"]+)"', client.get(page).text)[1]
    return client.post(action, data={"csrf": csrf, **fields})


def test_a_lead_decides_and_withdraws(client):
    item = "/projects/example/items/tumour%20001"
    assert "Gold: the truth is <q><bdi>benign" in press(client, item, item, label="benign").text
    assert 'aria-pressed="true">benign' in client.get(item).text
    assert "Gold: the truth" not in press(client, item, item).text
    refused = press(client, item, item, label="maybe")
    assert refused.status_code == 422
    assert "'benign', 'malignant'" in refused.text


def test_a_fit_is_queued_and_cancelled(client, store, project):
    page = press(client, "/projects/example/fits", "/projects/example/fits")
    assert "A fit is waiting for its turn." in page.text
    with store.read() as db:
        id = fits.in_state(db, project.id, "queued").id
    page = press(client, "/projects/example/fits", f"/projects/example/fits/{id}/cancel")
    assert "The last fit was cancelled." in page.text


def test_progress_and_bound_are_drawn(client, store, project):
    assert "<polyline" in client.get("/projects/example/fits/progress").text  # of a fit that is done
    with store.write() as db:
        fits.request(db, project.id)
        running = fits.claim(db, "w")
    assert "A fit is running: it has just begun." in client.get("/projects/example/").text
    with store.write() as db:
        fits.beat(db, running.id, "w", {"done": 3, "total": None, "bound": [-9.0, -5.0, -4.5]})
    part = client.get("/projects/example/fits/progress").text
    assert "iteration 3" in part
    assert "-9 to -4.5. It rises" in part
    assert 'points="0.00,40.00 50.00,4.44 100.00,0.00"' in part
    assert "A fit is running" in client.get("/projects/example/").text
    with store.write() as db:
        fits.fail(db, running.id, "w", "Expected at least two classes. Label more items.")
    assert "Expected at least two classes. Label more items." in client.get("/projects/example/").text
    with store.write() as db:
        fits.request(db, project.id)
        fits.finish(db, fits.claim(db, "w").id, "w", fits.Results(b"", "{}", [], []))
    assert "There is no curve to draw" in client.get("/projects/example/fits/progress").text


@pytest.mark.parametrize(
    ("address", "status", "says", "back"),
    [
        ("/projects/nothing/", 404, "There is no project &#x27;nothing&#x27;.", "/"),
        ("/projects/example/items/nothing", 404, "There is no item &#x27;nothing&#x27;", "/projects/example/"),
        ("/nowhere", 404, "There is nothing at this address.", "/"),
        ("/static/secret.py", 404, "There is no file", "/"),
        ("/projects/example/items?page=0", 422, "page: ", "/projects/example/"),
    ],
)
def test_errors_are_pages_that_say_what_to_do(client, address, status, says, back):
    answer = client.get(address, headers={"Accept": "text/html"})
    assert answer.status_code == status
    assert says in answer.text
    assert f'<a href="{back}">Back to the' in answer.text
    assert answer.text.count("<h1") == 1
    assert client.get(address).json()["detail"]  # for programs


# --- people -----------------------------------------------------------------------------------------


def test_a_lead_adds_an_annotator_who_labels_by_a_link_and_sees_nothing_else(settings, store):
    with store.write() as db:
        accounts.add(db, "lea", "lead", hashed("correct horse"))
    app = create_app(replace(settings, auth=True), store)
    lead, annotator = TestClient(app), TestClient(app, headers={"Accept": "text/html"})
    lead.post("/sign-in", data={"name": "lea", "password": "correct horse"})
    press(lead, "/people", "/people", name="ann", role="annotator")
    page = press(lead, "/people", "/people/account", account="ann", act="link").text
    link = re.search(r'<code id="link">http://testserver(/sign-in/[^<]+)</code>', page)[1]
    assert link not in lead.get("/people").text
    assert annotator.get(link).headers["refresh"] == "0; url=/label"
    page = annotator.get("/label")
    assert page.url.path == "/projects/example/label"
    assert "Labelling as <b><bdi>ann</bdi></b>" in page.text
    assert "/annotators" not in page.text
    csrf, item = (re.search(rf'name="{name}" value="([^"]*)"', page.text)[1] for name in ("csrf", "item"))
    annotator.post("/projects/example/label", data={"csrf": csrf, "as": "ann", "item": item, "label": "benign"})
    with store.read() as db:
        assert [row.item for row in labels.every(db, 1, annotator="ann")] == [item]
    for address in ("/projects/example/", f"/projects/example/items/{item}", "/people", "/projects"):
        refused = annotator.get(address)
        assert refused.status_code == 403
        assert "Ask a lead." in refused.text
        assert '<a href="/">Back to the start</a>' in refused.text  # the project is not for them
    press(lead, "/people", "/people/account", account="ann", act="revoke")
    assert annotator.get(link).status_code == 401
    assert annotator.get("/label").url.path == "/sign-in"
    assert "<bdi>ann</bdi>" not in press(lead, "/people", "/people/account", account="ann", act="remove").text
    refused = press(lead, "/people", "/people/account", account="lea", act="remove")
    assert "You cannot remove your own account" in refused.text


def test_without_accounts_the_page_of_people_says_how_to_get_them(client):
    assert "whoknows serve --auth" in client.get("/people").text
