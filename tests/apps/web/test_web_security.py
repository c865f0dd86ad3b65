"""Who may do what: every route, every role; other sites; passwords, links and tokens."""

import re
from dataclasses import replace

import pytest
from fastapi.routing import iter_route_contexts
from fastapi.testclient import TestClient

from tests.apps.web.databases import BOTH
from whoknows.apps.web.application import create_app
from whoknows.apps.web.security.access import PUBLIC, may
from whoknows.apps.web.security.passwords import digest, hashed
from whoknows.apps.web.store import accounts

pytestmark = BOTH

API = "/api/v1/projects/example"
PASSWORD = "correct horse"
VALUES = {"name": "example", "key": "tumour 001", "id": "1", "account": "lea", "token": "0", "annotator": "anna"}


@pytest.fixture
def app(settings, store):
    with store.write() as db:
        for role, name in (("lead", "lea"), ("viewer", "vic"), ("annotator", "anna")):
            accounts.add(db, name, role, hashed(PASSWORD))
    return create_app(replace(settings, auth=True), store)


@pytest.fixture
def guest(app):
    return TestClient(app, follow_redirects=False)


@pytest.fixture
def signed_in(app):
    def sign_in(name):
        client = TestClient(app, follow_redirects=False)
        assert client.post("/sign-in", data={"name": name, "password": PASSWORD}).status_code == 303
        return client

    return sign_in


def csrf(client, store):
    """The secret of a signed-in browser, as its pages carry it."""
    with store.read() as db:
        return accounts.session_of(db, "cookie", digest(client.cookies["whoknows_session"])).csrf


def routes(app):
    """Every method and path that the app answers, with example values."""
    for route in iter_route_contexts(app.routes):
        path = re.sub(r"{(\w+)(:path)?}", lambda found: VALUES.get(found[1], "x"), route.path)
        for method in sorted(route.methods or {"GET"}):
            yield method, path


def test_every_route_without_credentials_is_refused(app, guest):
    found = list(routes(app))
    assert len(found) > 30
    answers = {(method, path): guest.request(method, path) for method, path in found if not PUBLIC.fullmatch(path)}
    for (method, path), answer in answers.items():
        if path.startswith("/api/"):
            assert (answer.status_code, method, path) == (401, method, path)
        else:
            assert (answer.status_code, answer.headers["location"], path) == (303, "/sign-in", path)
    public = {path for _, path in found if PUBLIC.fullmatch(path) and not path.startswith("/static")}
    tools = {path for path in public if path.startswith("/label-studio/")}  # their secret is in the path
    assert public - tools <= {"/sign-in", "/sign-in/0", "/healthz"}
    assert {guest.request(method, path).status_code for method, path in found if path in tools} == {404}


def test_annotators_see_nothing_but_their_task(app):
    allowed = {path for method, path in routes(app) if may("annotator", method, path)}
    assert {re.sub("/example", "", path) for path in allowed if not PUBLIC.fullmatch(path)} <= {
        *("/", "/label", "/projects/label", "/projects/label/next", "/sign-out", "/api/v1/me"),
        *(f"/api/v1/projects/{what}" for what in ("next", "annotations", "skips", "undo")),
    }
    assert not may("annotator", "GET", f"{API}/annotations")


def test_viewers_change_nothing(app):
    assert {path for method, path in routes(app) if method not in ("GET", "HEAD") and may("viewer", method, path)} == {
        "/sign-out"
    }


def test_an_annotator_labels_under_their_own_name_only(signed_in, store):
    anna = signed_in("anna")
    assert anna.get(f"{API}/next").json()["state"] == "ask"
    assert anna.get(f"{API}/next?annotator=bruno").status_code == 403
    headers = {"X-CSRF-Token": csrf(anna, store)}
    answer = {"item": "tumour 001", "label": "benign"}
    assert anna.post(f"{API}/annotations", json=answer, headers=headers).status_code == 200
    assert anna.post(f"{API}/annotations", json={**answer, "annotator": "bruno"}, headers=headers).status_code == 403
    assert anna.get(f"{API}/consensus").status_code == 403


def test_a_session_needs_its_secret_to_change_anything(signed_in, store):
    lea = signed_in("lea")
    assert lea.post(f"{API}/fits").status_code == 403
    assert lea.post(f"{API}/fits", headers={"X-CSRF-Token": "0"}).status_code == 403
    assert lea.post(f"{API}/fits", headers={"X-CSRF-Token": csrf(lea, store)}).status_code == 202
    other = {"X-CSRF-Token": csrf(lea, store), "Origin": "http://evil.example"}
    assert lea.post(f"{API}/fits", headers=other).status_code == 403
    assert lea.post("/sign-out", data={"csrf": csrf(lea, store)}).status_code == 303
    assert lea.get(f"{API}/fits").status_code == 401


@pytest.mark.parametrize("kind", ["application/x-www-form-urlencoded", "text/plain", "multipart/form-data; boundary=x"])
def test_without_sign_in_forms_of_other_sites_change_nothing(client, kind):
    answer = client.post(f"{API}/fits", content=b"", headers={"Content-Type": kind})
    assert answer.status_code == 403
    assert client.post(f"{API}/fits", json={}, headers={"Origin": "http://evil.example"}).status_code == 403
    assert len(client.get(f"{API}/fits").json()) == 1


def test_other_sites_sign_nobody_in(guest):
    right = {"name": "lea", "password": PASSWORD}
    assert guest.post("/sign-in", data=right, headers={"Origin": "http://evil.example"}).status_code == 403
    assert guest.post("/sign-in", data=right, headers={"Origin": "http://testserver"}).status_code == 303


def test_characters_that_no_database_holds_are_refused(client):
    below = ("items/%00", "items?q=%00", "label?as=%00")
    addresses = ["/projects/a%00b/", f"{API}/next?not=%00", *(f"/projects/example/{each}" for each in below)]
    assert {client.get(address).status_code for address in addresses} == {400}
    body = '{"item": "tumour 001", "annotator": "\\ud800", "label": "benign", "\\ud800": 1e999}'
    answer = client.post(f"{API}/annotations", content=body, headers={"Content-Type": "application/json"})
    assert answer.status_code == 422
    assert answer.json()["detail"][0]["loc"][0] == "body"
    with_csrf = {"csrf": client.app.state.csrf, "title": "a\0b"}
    assert client.post("/projects", data=with_csrf).status_code == 422


def test_tokens_act_for_an_account_without_cookie(guest, signed_in, store):
    lea = signed_in("lea")
    headers = {"X-CSRF-Token": csrf(lea, store)}
    token = lea.post("/api/v1/accounts/lea/tokens", headers=headers).json()["secret"]
    bearer = {"Authorization": f"Bearer {token}"}
    assert guest.post(f"{API}/fits", headers=bearer).status_code == 202
    assert guest.get(f"{API}/fits", headers={"Authorization": f"Bearer {token}x"}).status_code == 401
    assert lea.request("DELETE", "/api/v1/accounts/lea/links", headers=headers).status_code == 204
    assert guest.get(f"{API}/fits", headers=bearer).status_code == 401


def test_a_link_signs_an_annotator_in(guest, signed_in, store):
    lea = signed_in("lea")
    link = lea.post("/api/v1/accounts/anna/links", headers={"X-CSRF-Token": csrf(lea, store)}).json()["secret"]
    answer = guest.get(link)
    assert (answer.status_code, answer.headers["refresh"]) == (200, "0; url=/label")
    cookie = answer.headers["set-cookie"].lower()
    assert "httponly" in cookie
    assert "samesite=strict" in cookie
    assert guest.get("/api/v1/me").json() == {"name": "anna", "role": "annotator", "annotator": "anna"}
    assert guest.get(f"{link}x").status_code == 401


def test_passwords_are_tried_five_times_a_minute_on_all_servers_together(guest, settings, store, monkeypatch):
    other = TestClient(create_app(replace(settings, auth=True), store), follow_redirects=False)
    wrong, right = ({"name": "lea", "password": word} for word in ("wrong", PASSWORD))
    assert guest.post("/sign-in", data=right).status_code == 303  # not counted
    tries = [each.post("/sign-in", data=wrong).status_code for each in (guest, other) * 3]
    assert tries == [401] * 5 + [429]
    assert guest.post("/sign-in", data=right).status_code == 429
    monkeypatch.setattr("whoknows.apps.web.store.attempts.WINDOW", 0)
    assert other.post("/sign-in", data=right).status_code == 303


def test_one_address_tries_few_names(guest, monkeypatch):
    monkeypatch.setattr("whoknows.apps.web.store.attempts.PER_ADDRESS", 2)
    tries = [guest.post("/sign-in", data={"name": name, "password": "wrong"}).status_code for name in "abc"]
    assert tries == [401, 401, 429]
