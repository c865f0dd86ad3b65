"""`whoknows sync label-studio`: pull, fit, push; tasks are then served in our order, and nothing is done twice."""

import json
from pathlib import Path

import pytest

from tests.apps.cli import as_json, failure, run
from tests.apps.web.label_studio.stand_in import LEGACY, PERSONAL, StandIn
from whoknows.apps.web.label_studio import client as client_module
from whoknows.apps.web.label_studio.client import Client, LabelStudioError
from whoknows.io import read_labels

ROOT = Path(__file__).parents[4]
CONFIG = (
    '<View><Text name="t" value="$review"/><Choices name="mood" toName="t">'
    '<Choice value="good"/><Choice value="bad"/></Choices></View>'
)
STARS = '<View><Image name="i" value="$url"/><Rating name="stars" toName="i" maxRating="5"/></View>'
WORDS = {"good": "lovely sunny warm", "bad": "awful rainy cold"}


def annotation(email, result):
    """An annotation to import; without the last entry, Label Studio makes it a ground truth."""
    return {"completed_by": {"email": email}, "result": result, "ground_truth": False}


def answer(label):
    return [{"from_name": "mood", "to_name": "t", "type": "choices", "value": {"choices": [label]}}]


def reviews(n_labelled=16, n=24):
    """Tasks to import: two annotators, of whom the second errs on every fourth, then tasks without labels."""
    tasks = []
    for i in range(n):
        truth = ("good", "bad")[i % 2]
        words = WORDS[truth].split()
        said = [truth, truth if i % 4 else {"good": "bad", "bad": "good"}[truth]]
        people = zip(("ann@example.org", "bob@example.org"), said, strict=True)
        given = [annotation(email, answer(label)) for email, label in people]
        text = " ".join([words[i % 3], words[(i + 1) % 3], "day"]) if i < n - 2 else "day"
        tasks.append({"data": {"review": text}, "annotations": given if i < n_labelled else []})
    return tasks


def make_project(server, tasks, config=CONFIG, **settings):
    api = Client(server.url, LEGACY)
    known = {user["email"] for user in api.request("GET", "/api/users/")}
    for email in {"ann@example.org", "bob@example.org"} - known:
        api.request("POST", "/api/users/", {"email": email, "username": email.partition("@")[0]})
    project = api.request("POST", "/api/projects/", {"title": "Moods", "label_config": config, **settings})["id"]
    if tasks:
        api.request("POST", f"/api/projects/{project}/import", tasks)
    return api, project


def sync(server, project, out, *options, token=LEGACY, code=0):
    how = ("--project", project, "--out", out, "--model", "id", *options)
    return as_json("sync", "label-studio", server.url, "--token", token, *how, code=code)


def predictions(api, project):
    return [p for task in api.pages("/api/tasks", "tasks", project=project, fields="all") for p in task["predictions"]]


@pytest.fixture(scope="module")
def synced(server, tmp_path_factory):
    """A project after a sync, and what the sync said."""
    api, project = make_project(server, reviews(), maximum_annotations=1)
    out = tmp_path_factory.mktemp("out")
    return api, project, out, sync(server, project, out)


def test_every_task_gets_the_consensus_and_a_score(synced):
    api, project, out, said = synced
    found = predictions(api, project)
    assert said["pushed"] == len(found) == 24
    assert {p["model_version"] for p in found} == {"whoknows"}
    assert all(0 <= p["score"] <= 1 for p in found)
    labels = {p["task"]: p["result"][0]["value"]["choices"] for p in found}
    texts = {task["id"]: task["data"]["review"] for task in api.pages("/api/tasks", "tasks", project=project)}
    clear = [task for task in texts if texts[task] != "day"]
    right = [
        labels[task] == [next(label for label in WORDS if texts[task].split()[0] in WORDS[label])] for task in clear
    ]
    assert sum(right) >= 20
    assert (out / "report.html").is_file()


def test_the_server_hands_out_the_lowest_score_first_and_shows_no_prediction(synced):
    api, project, _, _ = synced
    scores = {p["task"]: p["score"] for p in predictions(api, project)}
    tasks = api.pages("/api/tasks", "tasks", project=project, fields="all")
    unlabelled = {task["id"] for task in tasks if not task["annotations"]}
    served = []
    for _ in range(3):
        task = api.request("GET", f"/api/projects/{project}/next")
        assert task["predictions"] == []
        served.append(task["id"])
        api.request("POST", f"/api/tasks/{task['id']}/annotations/", {"result": answer("good")})
    assert [scores[task] for task in served] == sorted(scores[task] for task in unlabelled)[:3]
    assert len(set(served)) == 3


def test_a_tab_hands_out_the_same_order_to_everybody(synced):
    api, project, _, _ = synced
    [tab] = [v for v in api.request("GET", "/api/dm/views/", project=project) if v["data"]["title"] == "whoknows"]
    scores = {p["task"]: p["score"] for p in predictions(api, project)}
    order = {"ordering": tab["data"]["ordering"], "selectedItems": {"all": True, "excluded": []}}
    first = api.request("POST", "/api/dm/actions", order, id="next_task", tabID=tab["id"], project=project)
    open_tasks = [t for t in api.pages("/api/tasks", "tasks", project=project, fields="all") if not t.get("is_labeled")]
    mine = {t["id"] for t in open_tasks if any(a["completed_by"] == 1 for a in t["annotations"])}
    assert scores[first["id"]] == min(scores[t["id"]] for t in open_tasks if t["id"] not in mine)


def test_the_same_labels_are_not_pushed_twice_and_new_ones_replace_them(synced, server):
    api, project, out, _ = synced
    first = sync(server, project, out)  # the labels of the test above are new
    before = predictions(api, project)
    again = sync(server, project, out)
    assert again["pushed"] == 0
    assert predictions(api, project) == before
    assert len(before) == 24
    assert first["annotations"] >= 32


def test_the_next_export_is_read_again(synced, server, tmp_path):
    api, project, _, _ = synced
    if isinstance(server, StandIn):
        export = [{**task, "predictions": [p["id"] for p in task["predictions"]]} for task in server.tasks.values()]
        export = [task for task in export if task["project"] == project]
    else:
        how = {"exportType": "JSON", "download_all_tasks": "true"}
        export = api.request("GET", f"/api/projects/{project}/export", **how)
    assert isinstance(export[0]["predictions"][0], int)
    path = tmp_path / "export.json"
    path.write_text(json.dumps(export))
    read = read_labels(path)
    assert read.format == "label-studio"
    assert read.annotations.n_items == 24
    assert read.annotations.n_annotations >= 32


def test_personal_tokens_are_renewed(tmp_path, monkeypatch):
    monkeypatch.setattr(client_module, "PAGE", 5)
    server = StandIn(allows_legacy=True, access_lasts=4)
    _, project = make_project(server, reviews())
    said = sync(server, project, tmp_path, token=PERSONAL)
    server.close()
    assert said["pushed"] == 24
    assert server.renewals > 2
    assert server.requests.count("GET /api/tasks") >= 5  # pages


def test_ratings_are_ordered(server, tmp_path):
    people = ("ann@example.org", "bob@example.org")
    tasks = []
    for i in range(15):
        value = [{"from_name": "stars", "to_name": "i", "type": "rating", "value": {"rating": 1 + i % 5}}]
        given = [annotation(email, value) for email in people]
        tasks.append({"data": {"url": f"https://example.org/{i}.png"}, "annotations": given})
    api, project = make_project(server, tasks, STARS)
    how = ("--project", project, "--out", tmp_path, "--labels-per-task", 4)
    run("sync", "label-studio", server.url, "--token", LEGACY, *how)
    assert api.request("GET", f"/api/projects/{project}/")["maximum_annotations"] == 4
    found = predictions(api, project)
    assert {p["result"][0]["value"]["rating"] for p in found} == {1, 2, 3, 4, 5}
    assert 'model = "ordered"' in (tmp_path / "settings.toml").read_text()


def test_a_prediction_with_a_label_that_was_removed_is_reported(tmp_path):
    server = StandIn()
    api, project = make_project(server, reviews())
    fewer = CONFIG.replace('<Choice value="bad"/>', "")
    api.request("PATCH", f"/api/projects/{project}/", {"label_config": fewer})
    said = sync(server, project, tmp_path, code=3)
    server.close()
    assert " of 24 predictions" in said["error"]


def test_the_commands_of_the_docs_run(server, tmp_path, monkeypatch):
    _, project = make_project(server, reviews())
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("LABEL_STUDIO_API_KEY", LEGACY)
    lines = (ROOT / "docs" / "label_studio.md").read_text("utf-8").splitlines()
    [once, again, live] = [line.split()[1:] for line in lines if line.startswith("whoknows sync")]
    here = {"http://localhost:8080": server.url, "3": str(project)}
    said = run(*(here.get(word, word) for word in once))
    assert "24 predictions pushed." in said.out
    assert again == [*once, "--every", "10"]
    assert live == [*once, "--backend", "http://127.0.0.1:8000/label-studio/SECRET"]
    assert (tmp_path / "whoknows-out" / "report.html").is_file()


def test_every_few_minutes_until_stopped(tmp_path, monkeypatch):
    server, pauses = StandIn(), []
    api, project = make_project(server, [{"data": {"review": "lovely day"}}])

    def pause(seconds):
        """Labels appear in the first pause; the third ends the run."""
        pauses.append(seconds)
        if len(pauses) == 1:
            api.request("POST", f"/api/projects/{project}/import", reviews())
        if len(pauses) == 2:
            server.close()
        if len(pauses) == 3:
            raise KeyboardInterrupt

    monkeypatch.setattr("time.sleep", pause)
    how = ("--token", LEGACY, "--project", project, "--out", tmp_path, "--model", "id", "--every", 5)
    said = run("sync", "label-studio", server.url, *how, code=130)
    assert pauses == [300, 300, 300]
    assert "no annotation of 'mood' yet" in said.err
    assert "25 predictions pushed" in said.out
    assert "Is Label Studio running there?" in said.err
    assert "The results of the last sync are kept." in said.err


# --- what can go wrong ------------------------------------------------------------------------------------------


def fails(server, project, tmp_path, *options, token=LEGACY, code=3):
    how = ("--project", project, "--out", tmp_path / "out", *options)
    said = failure("sync", "label-studio", server.url, "--token", token, *how, code=code)
    assert token not in said
    assert not (tmp_path / "out" / "settings.toml").exists()
    return said


def test_the_backend_is_refused_with_default_settings_and_the_message_names_them(server, tmp_path):
    _, project = make_project(server, reviews())
    said = fails(server, project, tmp_path, "--backend", "http://127.0.0.1:9/label-studio/secret")
    assert "ML_BLOCK_LOCAL_IP=false" in said
    assert "SSRF_PROTECTION_ENABLED=false" in said


def test_a_backend_without_its_webhook_is_completed(tmp_path):
    server = StandIn(calls_local_backends=True)
    _, project = make_project(server, reviews())
    how = ("--backend", "http://127.0.0.1:9/label-studio/secret")
    assert "SSRF_PROTECTION_ENABLED=false" in fails(server, project, tmp_path, *how)
    server.calls_local_webhooks = True
    sync(server, project, tmp_path, *how)
    sync(server, project, tmp_path, *how)
    server.close()
    assert [each["url"] for each in server.backends] == ["http://127.0.0.1:9/label-studio/secret"]
    assert [each["url"] for each in server.webhooks] == ["http://127.0.0.1:9/label-studio/secret/webhook"]


def test_a_token_that_is_refused(server, tmp_path):
    _, project = make_project(server, reviews())
    assert "--enable-legacy-api-token" in fails(server, project, tmp_path, token="f" * 40)
    said = fails(server, project, tmp_path, token=PERSONAL[:-3] + "AAA")
    assert "personal access token" in said
    assert "Account & Settings" in said


def test_a_project_that_does_not_exist(server, tmp_path):
    _, project = make_project(server, [])
    assert f"{project} 'Moods'" in fails(server, 999_999, tmp_path)


def test_a_project_without_labels_or_with_one_only(server, tmp_path):
    _, project = make_project(server, [{"data": {"review": "fine"}}])
    assert "no annotation of 'mood' yet" in fails(server, project, tmp_path)
    one = annotation("ann@example.org", answer("good"))
    _, project = make_project(server, [{"data": {"review": "fine"}, "annotations": [one]}])
    assert "every annotation so far is 'good'" in fails(server, project, tmp_path)


def test_a_question_without_one_answer(server, tmp_path):
    boxes = '<RectangleLabels name="box" toName="i"><Label value="a"/></RectangleLabels>'
    boxes = f'<View><Image name="i" value="$u"/>{boxes}</View>'
    _, project = make_project(server, [], boxes)
    assert "<RectangleLabels name='box'>" in fails(server, project, tmp_path)


def test_a_server_that_does_not_answer_or_is_another_one(tmp_path):
    server = StandIn()
    server.close()
    assert "Is Label Studio running there?" in fails(server, 1, tmp_path)
    server = StandIn()
    server.answer = lambda *args: (302, {})
    assert "redirects to http://elsewhere.example.org/" in fails(server, 1, tmp_path)
    server.answer = lambda *args: (200, {"status": "fine"})
    assert "Is it another server?" in fails(server, 1, tmp_path)
    server.answer = lambda *args: (404, {})
    assert "there is nothing at GET /api/projects/" in fails(server, 1, tmp_path)
    server.answer = lambda *args: (503, b"busy")
    assert "failed with status 503: no details" in fails(server, 1, tmp_path)
    server.answer = lambda *args: (200, b"<html>")
    assert "something other than JSON" in fails(server, 1, tmp_path)
    server.close()


def test_no_token(monkeypatch):
    monkeypatch.delenv("LABEL_STUDIO_API_KEY", raising=False)
    said = failure("sync", "label-studio", "http://127.0.0.1:9", "--project", 1, code=2)
    assert "LABEL_STUDIO_API_KEY" in said


@pytest.mark.parametrize("url", ["localhost:8080", "ftp://example.org", "http://me:pass@example.org", "http://"])
def test_addresses_that_are_none(url):
    with pytest.raises(LabelStudioError, match="start page") as error:
        Client(url, LEGACY)
    assert "pass@" not in str(error.value)


def test_the_token_is_in_no_file_and_no_representation(synced):
    _, _, out, _ = synced
    assert LEGACY not in repr(Client("http://127.0.0.1", LEGACY))
    assert all(LEGACY.encode() not in path.read_bytes() for path in out.rglob("*") if path.is_file())
