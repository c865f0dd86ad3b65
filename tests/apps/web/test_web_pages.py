"""The pages answer, with safe headers."""

from fastapi.testclient import TestClient

from whoknows.apps.web.security.headers import HEADERS


def test_the_only_project_is_opened(client):
    answer = client.get("/")
    assert answer.url.path == "/projects/example/"
    assert "300 items" in answer.text
    assert {name: answer.headers[name] for name in HEADERS} == HEADERS


def test_other_names_of_the_server_are_refused(client):
    assert client.get("/", headers={"Host": "evil.example"}).status_code == 421


def test_an_unknown_project_is_not_found(client):
    assert client.get("/projects/nothing/").status_code == 404


def test_what_nobody_expected_is_a_page_without_details(client, monkeypatch):
    def fail(*given):
        raise ZeroDivisionError("secret detail")

    monkeypatch.setattr("whoknows.apps.web.store.projects.by_name", fail)
    quiet = TestClient(client.app, base_url=client.base_url, raise_server_exceptions=False)
    page = quiet.get("/projects/example/", headers={"Accept": "text/html"})
    answer = quiet.get("/api/v1/projects/example")
    assert (page.status_code, answer.status_code) == (500, 500)
    assert "Its log says what" in page.text
    assert "secret" not in page.text + answer.text
    assert {name: page.headers[name] for name in HEADERS} == HEADERS
    assert answer.json()["detail"].startswith("Something went wrong")
