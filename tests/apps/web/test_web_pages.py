"""The pages answer, with safe headers."""

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
