"""The API: everything that the pages do, with errors that say what to do."""

import json
import re

import pytest
from fastapi.routing import iter_route_contexts

from tests.apps.web.databases import BOTH
from whoknows.apps.web.store import fits, projects

pytestmark = BOTH

API = "/api/v1/projects/example"


def test_projects_are_added_changed_and_removed(client):
    new = {"name": "cats", "title": "Cats", "settings": {"classes": ["cat", "dog"], "refit_every": 0}}
    assert client.post("/api/v1/projects", json=new).status_code == 201
    assert client.post("/api/v1/projects", json=new).status_code == 409
    assert [each["name"] for each in client.get("/api/v1/projects").json()] == ["cats", "example"]
    changed = client.put("/api/v1/projects/cats", json={"title": "Pets", "settings": {"classes": ["cat"]}}).json()
    assert (changed["title"], changed["settings"]["classes"]) == ("Pets", ["cat"])
    assert client.delete("/api/v1/projects/cats").status_code == 204
    assert client.get("/api/v1/projects/cats").json() == {"detail": "There is no project 'cats'."}


def test_items_and_labels_of_a_new_project(client):
    client.post("/api/v1/projects", json={"name": "pets", "settings": {"classes": ["cat", "dog"]}})
    pair = {"key": "a/b", "text": "left", "second_text": "right"}
    assert client.post("/api/v1/projects/pets/items", json={"items": [pair, {"key": "é"}]}).json() == {"n_items": 2}
    task = client.get("/api/v1/projects/pets/next", params={"annotator": "zoe"}).json()
    assert (task["state"], task["item"]["key"], task["item"]["second_text"]) == ("ask", "a/b", "right")
    client.post("/api/v1/projects/pets/annotations", json={"item": "a/b", "annotator": "zoe", "label": "cat"})
    found = client.get("/api/v1/projects/pets/items/a/b").json()
    assert [each["label"] for each in found["labels"]] == ["cat"]
    assert client.get("/api/v1/projects/pets/next?annotator=zoe").json()["item"]["key"] == "é"
    assert client.get("/api/v1/projects/pets/next?annotator=max").json()["item"]["key"] == "a/b"  # é is before zoe


def test_items_are_searched_as_on_their_page(client):
    every = client.get(f"{API}/search", params={"sort": "uncertain", "size": 1000}).json()
    doubts = [each["confidence"] for each in every["items"]]
    assert every["n_found"] == len(doubts) > 100
    assert doubts == sorted(doubts)
    second = client.get(f"{API}/search", params={"sort": "uncertain", "size": 10, "page": 2}).json()
    assert (second["n_found"], second["items"]) == (every["n_found"], every["items"][10:20])
    first = every["items"][0]
    assert first in client.get(f"{API}/search", params={"q": first["key"].upper()}).json()["items"]
    chosen = client.get(f"{API}/search", params={"show": "labelled", "consensus": first["label"]}).json()["items"]
    assert {each["label"] for each in chosen} == {first["label"]}
    assert all(each["n_labels"] for each in chosen)
    assert client.get(f"{API}/search", params={"show": "secrets"}).status_code == 422


def test_labels_in_bulk_are_stored_together_or_not_at_all(client):
    def bulk(*pairs):
        given = [{"item": item, "annotator": "zoe", "label": label, "request_id": item} for item, label in pairs]
        return client.post(f"{API}/annotations", json={"annotations": given})

    assert bulk(("tumour 001", "benign"), ("tumour 002", "maybe")).status_code == 422
    assert bulk(("tumour 001", "benign"), ("nothing", "benign")).status_code == 404
    assert client.get(f"{API}/annotations?annotator=zoe").json() == []
    assert bulk(("tumour 001", "benign"), ("tumour 002", "malignant")).json()["outcomes"] == ["stored", "stored"]
    assert bulk(("tumour 001", "benign"), ("tumour 003", "malignant")).json()["outcomes"] == ["repeated", "stored"]
    assert len(client.get(f"{API}/annotations?annotator=zoe").json()) == 3


def test_a_label_is_given_changed_taken_back_and_undone(client):
    def give(label):
        return client.post(f"{API}/annotations", json={"item": "tumour 005", "annotator": "zoe", "label": label})

    give("benign")
    give("malignant")
    assert client.get(f"{API}/annotations?annotator=zoe").json()[0]["label"] == "malignant"
    one = {"item": "tumour 005", "annotator": "zoe"}
    assert client.request("DELETE", f"{API}/annotations", json=one).json()["outcomes"] == ["stored"]
    assert client.get(f"{API}/annotations?annotator=zoe").json() == []
    give("benign")
    assert client.post(f"{API}/undo", json={"annotator": "zoe"}).json() == {"item": "tumour 005"}
    assert client.post(f"{API}/undo", json={"annotator": "zoe"}).json() == {"item": None}
    kinds = [event["kind"] for event in client.get(f"{API}/history?item=tumour 005&annotator=zoe").json()]
    assert kinds == ["delete", "set", "delete", "set", "set"]


def test_the_next_item_is_the_best_question_not_yet_answered(client):
    best = client.get(f"{API}/questions", params={"annotator": "anna", "limit": 3}).json()
    first = client.get(f"{API}/next?annotator=anna").json()
    assert first["item"]["key"] == best[0]["item"]
    assert (
        client.get(f"{API}/next", params={"annotator": "anna", "not": best[0]["item"]}).json()["item"]["key"]
        == (best[1]["item"])
    )
    client.post(f"{API}/annotations", json={"item": best[0]["item"], "annotator": "anna", "label": "benign"})
    client.post(f"{API}/skips", json={"item": best[1]["item"], "annotator": "anna"})
    assert client.get(f"{API}/next?annotator=anna").json()["item"]["key"] == best[2]["item"]


def test_it_is_enough_when_no_label_tells_much(client):
    project = client.get(API).json()
    change = {"title": project["title"], "settings": {**project["settings"], "enough": 5.0}}
    client.put(API, json=change)
    assert client.get(f"{API}/next?annotator=anna").json()["state"] == "enough"
    assert client.get(f"{API}/next?annotator=new").json()["state"] == "ask"


def test_nothing_of_others_is_told_before_an_answer(client):
    task = client.get(f"{API}/next?annotator=anna").json()
    assert set(task) == {"state", "item", "question", "classes", "n_done", "n_items"}
    assert set(task["item"]) == {"key", "text", "second_text", "image", "features"}


def test_a_fit_is_queued_after_every_few_labels(client):
    def give(i):
        answer = {"item": f"tumour {i:03d}", "annotator": "zoe", "label": "benign"}
        return client.post(f"{API}/annotations", json=answer).json()["refit"]

    assert [give(i) for i in range(1, 23)] == [False] * 19 + [True] + [False] * 2
    assert [fit["state"] for fit in client.get(f"{API}/fits").json()] == ["queued", "done"]


def test_fits_are_queued_once_and_cancelled(client):
    first, again = (client.post(f"{API}/fits", json={}).json() for _ in range(2))
    assert first["id"] == again["id"]
    assert client.delete(f"{API}/fits/{first['id']}").json()["state"] == "cancelled"
    done = client.get(f"{API}/fits").json()[-1]
    assert client.delete(f"{API}/fits/{done['id']}").status_code == 409


def test_results_of_the_last_fit(client):
    annotators = client.get(f"{API}/annotators").json()
    assert sorted(each["annotator"] for each in annotators) == ["anna", "bruno", "chloe", "dmitri", "emeka"]
    consensus = client.get(f"{API}/consensus").json()
    assert len(consensus) == 300
    item = client.get(f"{API}/items/{consensus[0]['item']}").json()
    assert item["prediction"] == consensus[0]
    assert client.get(f"{API}/summary").json()["given"]["n_items"] == 300


def test_gold_is_decided_by_item(client):
    assert client.put(f"{API}/gold/tumour 001", json={"label": "benign"}).status_code == 204
    assert client.get(f"{API}/gold").json() == {"tumour 001": "benign"}
    assert client.put(f"{API}/gold/tumour 001", json={"label": "green"}).status_code == 422
    assert client.delete(f"{API}/gold/tumour 001").status_code == 204
    assert [each["action"] for each in client.get("/api/v1/audit").json()] == ["gold withdrawn", "gold decided"]


@pytest.mark.parametrize(
    "body",
    [
        {"item": "tumour 001", "annotator": "zoe"},
        {"item": "", "annotator": "zoe", "label": "benign"},
        {"item": "tumour 001", "annotator": "zo\0e", "label": "benign"},
        {"item": "tumour 001", "annotator": "zoe", "label": "benign", "more": 1},
        {"annotations": []},
        [],
    ],
)
def test_malformed_labels_are_refused(client, body):
    assert client.post(f"{API}/annotations", json=body).status_code == 422


# --- everything that the pages do -------------------------------------------------------------------

IN_THE_API = {  # page below /projects/{name}: routes of the API with the same content, or the same effect
    "GET /": ("GET", "GET /summary", "GET /changes", "GET /fits"),
    "GET /annotators": ("GET /annotators", "GET /summary"),
    "GET /annotators/{annotator:path}": ("GET /annotators/{annotator:path}",),
    "GET /map": ("GET /summary",),
    "GET /ask": ("GET /questions",),
    "GET /items": ("GET /search", "GET /items"),
    "GET /items/{key:path}": ("GET /items/{key:path}", "GET /why/{key:path}", "GET /history"),
    "POST /items/{key:path}": ("PUT /gold/{key:path}", "DELETE /gold/{key:path}"),
    "GET /fits": ("GET /fits",),
    "GET /fits/progress": ("GET /fits/{id}",),
    "POST /fits": ("POST /fits",),
    "POST /fits/{id}/cancel": ("DELETE /fits/{id}",),
    "GET /data": ("GET", "GET /exports/annotations.csv", "GET /exports/report.html"),
    "POST /data": ("POST /imports",),
    "GET /imports/{token}": ("POST /imports/{token}/preview",),
    "POST /imports/{token}": ("POST /imports/{token}/confirm", "DELETE /imports/{token}"),
    "POST /settings": ("PUT",),
    "GET /label": ("GET /next",),
    "GET /label/next": ("GET /next",),
    "POST /label": ("POST /annotations", "POST /skips", "POST /undo"),
}
ELSEWHERE = {
    "GET /": ("GET /projects",),
    "GET /label": ("GET /projects",),
    "GET /projects": ("GET /projects",),
    "POST /projects": ("POST /projects",),
    "GET /people": ("GET /accounts",),
    "POST /people": ("POST /accounts",),
    "POST /people/account": (
        "POST /accounts/{account}/links",
        "DELETE /accounts/{account}/links",
        "DELETE /accounts/{account}",
    ),
}
NO_PAGES = re.compile(r"\w+ (/static/|/sign-|/healthz|/metrics|/label-studio/|/api/v1/)")


def test_everything_that_pages_do_is_in_the_api(client):
    found = {f"{way} {route.path}" for route in iter_route_contexts(client.app.routes) for way in route.methods or ()}
    pages = {f"{way} /projects/{{name}}{path}": api for way, path, api in split(IN_THE_API, "/projects/{name}")}
    pages |= {f"{way} {path}": api for way, path, api in split(ELSEWHERE, "")}
    assert {each for each in found if not NO_PAGES.match(each)} == set(pages)
    assert {each for api in pages.values() for each in api} <= found


def split(table, below):
    """Rows of a table of pages, with whole addresses in the API."""
    for page, api in table.items():
        way, path = page.split(" ")
        parts = [each.partition(" ")[::2] for each in api]
        yield way, path, [f"{way} /api/v1{below}{path}" for way, path in parts]


def test_why_an_item_has_its_consensus(client):
    given = client.get(f"{API}/annotations", params={"limit": 1}).json()[0]
    item = client.get(f"{API}/items/{given['item']}").json()
    why = client.get(f"{API}/why/{given['item']}").json()
    assert why["posterior"] == pytest.approx(item["prediction"]["probabilities"], abs=1e-3)
    assert [(each["annotator"], each["label"]) for each in why["labels"]] == [
        (each["annotator"], each["label"]) for each in item["labels"]
    ]
    for each in [why["from_features"], *(label["without"] for label in why["labels"])]:
        assert sum(each.values()) == pytest.approx(1)
    assert client.get(f"{API}/why/nothing").status_code == 404


def test_labels_of_a_class_that_the_fit_does_not_know_explain_nothing(client):
    project = client.get(API).json()
    classes = ["cyst", *project["settings"]["classes"]]
    client.put(API, json={"title": "x", "settings": {**project["settings"], "classes": classes}})
    item, before = "tumour 001", client.get(f"{API}/why/tumour 001").json()
    client.post(f"{API}/annotations", json={"item": item, "annotator": "zoe", "label": "cyst"})
    assert client.get(f"{API}/why/{item}").json() == before
    page = client.get(f"/projects/example/items/{item}").text
    top = max(before["posterior"], key=before["posterior"].get)
    assert f"the model gives <q><bdi>{top}</bdi></q>" in page


def test_what_the_last_fit_changed(client, store):
    assert client.get(f"{API}/changes").status_code == 404
    with store.write() as db:
        project = projects.by_name(db, "example")
        id = fits.latest(db, project.id).id
        summary = json.loads(fits.summary(db, id))
        item = summary["consensus"]["item"][7]
        before = summary["consensus"]["consensus"][7]
        after = "benign" if before == "malignant" else "malignant"
        summary["consensus"]["consensus"][7] = after
        fits.request(db, project.id)
        fits.finish(
            db, fits.claim(db, "here").id, "here", fits.Results(fits.model(db, id), json.dumps(summary), [], [])
        )
    found = client.get(f"{API}/changes").json()
    assert (found["n_labels"], found["moved"], found["new"]) == (0, [], [])
    assert [(each["item"], each["before"], each["consensus"]) for each in found["flips"]] == [(item, before, after)]
    anna = client.get(f"{API}/annotators/anna").json()
    assert [each["expertise"] for each in anna["history"]] == [anna["ranking"]["expertise"]] * 2
    assert anna["profile"]["annotator"] == "anna"
    assert client.get(f"{API}/annotators/nobody").status_code == 404


def test_a_project_says_how_far_it_is(client):
    before = client.get(API).json()
    client.post(f"{API}/annotations", json={"item": "tumour 001", "annotator": "zoe", "label": "benign"})
    client.put(f"{API}/gold/tumour 001", json={"label": "benign"})
    after = client.get(API).json()
    assert (before["n_since_fit"], after["n_since_fit"], after["n_gold"]) == (0, 1, 1)
    assert after["labels_by_annotator"] == before["labels_by_annotator"] | {"zoe": 1}


def test_an_item_is_shown_again_to_whoever_labels(client):
    asked = client.get(f"{API}/next", params={"annotator": "anna", "item": "tumour 001"}).json()
    assert (asked["state"], asked["item"]["key"]) == ("ask", "tumour 001")
    assert client.get(f"{API}/next", params={"annotator": "anna", "item": "nothing"}).status_code == 404
