"""Files that come in are shown before they are stored, hostile ones refused; files that go out are safe."""

import io
import zipfile

import pytest

from tests.apps.web.databases import BOTH
from whoknows import load
from whoknows.apps.web.exchange.importing import MOST
from whoknows.apps.web.exchange.reader import Reader
from whoknows.io import read_labels

API = "/api/v1/projects/example"
LABELS = "Task,Worker,Answer,text\nt1,anna,cat,a small cat\nt1,bob,dog,a small cat\nt2,anna,dog,=1+1\n"


@pytest.fixture(scope="module")
def reader():
    """One process that reads the files of all tests."""
    reader = Reader()
    yield reader
    reader.close()


@pytest.fixture(autouse=True)
def quick(client, reader):
    own, client.app.state.reader = client.app.state.reader, reader
    yield
    client.app.state.reader = own


@pytest.fixture
def pets(client):
    client.post("/api/v1/projects", json={"name": "pets", "settings": {"refit_every": 2}})
    return "/api/v1/projects/pets"


def upload(client, address, content, kind="labels", **query):
    headers = {"Content-Type": "application/octet-stream"}
    content = content if isinstance(content, bytes) else content.encode()
    return client.post(f"{address}/imports", params={"kind": kind, **query}, content=content, headers=headers)


@BOTH
def test_labels_are_recognised_shown_and_stored_when_confirmed(client, pets):
    seen = upload(client, pets, LABELS, filename="my labels.csv").json()
    assert seen["columns"] == {"item": "Task", "annotator": "Worker", "label": "Answer", "text": "text"}
    assert (seen["n_items"], seen["n_labels"], seen["classes"]) == (2, 3, ["cat", "dog"])
    assert seen["rows"][0] == {"item": "t1", "annotator": "anna", "label": "cat"}
    assert client.get(pets).json()["n_items"] == 0
    assert client.post(f"{pets}/imports/{seen['token']}/confirm", json={}).json()["n_labels"] == 3
    found = client.get(pets).json()
    assert (found["n_items"], found["n_labels"], found["settings"]["classes"]) == (2, 3, ["cat", "dog"])
    assert client.get(f"{pets}/items/t1").json()["text"] == "a small cat"
    assert client.get(f"{pets}/fits").json()[0]["state"] == "queued"
    assert client.post(f"{pets}/imports/{seen['token']}/confirm", json={}).status_code == 404


def test_columns_can_be_chosen(client, pets):
    seen = upload(client, pets, "a,b,c,d\ni1,zoe,yes,9\ni2,max,no,8\n").json()
    assert seen["problem"].startswith("upload: is CSV with the columns 'a', 'b', 'c', 'd'")
    assert "below. Export it in one of these formats, or choose its columns." in seen["problem"]
    assert (seen["names"], seen["n_labels"]) == (["a", "b", "c", "d"], 0)
    assert client.post(f"{pets}/imports/{seen['token']}/confirm", json={}).status_code == 422
    chosen = {"columns": {"item": "a", "annotator": "b", "label": "d"}}
    assert client.post(f"{pets}/imports/{seen['token']}/preview", json=chosen).json()["classes"] == ["8", "9"]
    client.post(f"{pets}/imports/{seen['token']}/confirm", json=chosen)
    assert [each["label"] for each in client.get(f"{pets}/annotations").json()] == ["9", "8"]


def test_advice_is_about_what_people_can_do_here(client, pets):
    seen = upload(client, pets, "item;annotator;label\n1;Ömer;ja\n".encode("latin-1")).json()
    assert any("name its encoding: whoknows convert --encoding NAME" in note for note in seen["notes"])
    twice = upload(client, pets, "item,annotator,label\n1,bo,yes\n1,bo,no\n")
    assert "or pass the file through whoknows convert with --duplicates 'first'" in twice.text


def test_titles_with_spaces_are_recognised(client, pets):
    seen = upload(client, pets, "Item ID;Annotator ID;Label\ni1;zoe;yes\ni2;max;no\n").json()
    assert seen["columns"] == {"item": "Item ID", "annotator": "Annotator ID", "label": "Label"}
    assert (seen["problem"], seen["n_labels"]) == (None, 2)


@BOTH
def test_items_with_texts_images_and_features_and_gold(client, pets):
    image = "data:image/png;base64,iVBORw0KGgo="
    table = f'id,text,second_text,image,size\na,one,two,"{image}",1.5\nb,three,,http://x/y.png,2\n'
    seen = upload(client, pets, table, "items").json()
    assert seen["columns"] == {"item": "id", "text": "text", "second_text": "second_text", "image": "image"}
    assert any("1 images left out" in note for note in seen["notes"])
    client.post(f"{pets}/imports/{seen['token']}/confirm", json={})
    shown = client.get(f"{pets}/items/a").json()
    assert (shown["second_text"], shown["image"], shown["features"]) == ("two", image, {"size": 1.5})
    known = upload(client, pets, "item,truth\na,yes\nb,no\n", "gold").json()
    client.post(f"{pets}/imports/{known['token']}/confirm", json={})
    assert client.get(f"{pets}/gold").json() == {"a": "yes", "b": "no"}


def bomb():
    """A zip file of 40 kB that expands to 40 MB."""
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as file:
        file.writestr("labels.csv", "item,annotator,label\n" + "0" * (40 << 20))
    return packed.getvalue()


@pytest.mark.parametrize(
    "content",
    [b"", b"PAR1" + b"\xff" * 100 + b"PAR1", b"\x80\x04\x95pickle", b"[" * 100_000, bomb()],
    ids=["empty", "parquet", "pickle", "nested", "bomb"],
)
def test_hostile_files_are_refused(client, pets, content):
    answer = upload(client, pets, content)
    assert answer.status_code == 422, answer.text
    assert "tmp" not in answer.json()["detail"]
    assert client.get(pets).json()["n_items"] == 0


def test_a_table_without_rows_cannot_be_confirmed(client, pets):
    seen = upload(client, pets, "item,annotator,label\n").json()
    assert seen["problem"] == "upload: holds no labels (0 rows were read)."
    assert client.post(f"{pets}/imports/{seen['token']}/confirm", json={}).status_code == 422


@BOTH
def test_a_new_file_replaces_the_oldest_of_many_that_nobody_confirmed(client, pets):
    first, second, *_ = tokens = [upload(client, pets, LABELS).json()["token"] for _ in range(MOST + 1)]
    assert client.post(f"{pets}/imports/{first}/confirm", json={}).status_code == 404
    assert len(set(tokens)) == MOST + 1
    assert client.post(f"{pets}/imports/{second}/confirm", json={}).json()["n_labels"] == 3


def test_names_of_files_touch_no_disk(client, pets):
    seen = upload(client, pets, LABELS, filename="../../etc/passwd").json()
    assert client.post(f"{pets}/imports/{seen['token']}/confirm", json={}).status_code == 200
    refused = upload(client, pets, b"nothing", filename="../../etc/passwd")
    assert refused.json()["detail"].startswith("../../etc/passwd: ")


def test_exports_are_read_again(client, tmp_path):
    def get(name):
        answer = client.get(f"{API}/exports/{name}")
        assert "attachment" in answer.headers["content-disposition"]
        (tmp_path / name).write_bytes(answer.content)
        return tmp_path / name

    annotations = read_labels(get("annotations.csv")).annotations
    assert annotations.n_annotations == client.get(API).json()["n_labels"]
    assert set(load(get("model.whoknows")).annotators_) == set(annotations.annotators)
    assert len(get("consensus.csv").read_text().splitlines()) == 301
    assert get("annotators.csv").read_text().startswith("annotator,")
    assert "Example: tumours" in get("report.html").read_text()


def test_formulas_in_exports_are_neutralised(client):
    answer = {"item": "tumour 001", "annotator": "=cmd|' /C calc'!A0", "label": "benign"}
    assert client.post(f"{API}/annotations", json=answer).status_code == 200
    exported = client.get(f"{API}/exports/annotations.csv").text
    assert "=cmd" in exported
    assert ",=cmd" not in exported
    assert ',"=cmd' not in exported
