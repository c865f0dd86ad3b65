"""whoknows serve, backup and restore, from the command line."""

import socket
import threading

import pytest
from typer.testing import CliRunner

from tests.apps.cli import failure, fit_small, make_crowd, run
from whoknows.apps.cli import app
from whoknows.apps.cli.console import Console
from whoknows.apps.cli.serve import _first_project
from whoknows.apps.web.jobs.worker import fit_now
from whoknows.apps.web.security.passwords import matches
from whoknows.apps.web.settings import ServerSettings
from whoknows.apps.web.store import Store, accounts, fits, items, labels, projects
from whoknows.apps.web.store.labels import Answer


def test_other_addresses_need_sign_in_and_sign_in_needs_a_lead(tmp_path):
    assert "add --auth" in failure("serve", tmp_path, "--host", "0.0.0.0", code=2)
    assert "--add-user NAME" in failure("serve", tmp_path, "--auth", code=2)


def test_a_file_in_place_of_the_folder_and_a_port_in_use_are_refused_before_anything_is_promised(tmp_path):
    file = tmp_path / "labels.csv"
    file.write_text("item,annotator,label\n")
    assert f"First fit the file: whoknows fit {file}" in failure("serve", file, code=2)
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        said = failure("serve", tmp_path / "new", "--port", port, code=2)
    assert f"Cannot listen on 127.0.0.1:{port}: another program uses this port." in said
    with Store(ServerSettings(tmp_path / "new").url).read() as db:
        assert not projects.every(db)


def test_users_are_added_with_a_password_from_standard_input(tmp_path):
    for name, role, word in (("lea", "lead", "correct horse\n"), ("anna", "annotator", "\n")):
        said = CliRunner().invoke(app, ["serve", str(tmp_path), "--add-user", name, "--role", role], input=word)
        assert said.exit_code == 0, said.output
    store = Store(ServerSettings(tmp_path).url)
    with store.read() as db:
        assert [(each.name, each.role) for each in accounts.every(db)] == [("anna", "annotator"), ("lea", "lead")]
        assert matches("correct horse", accounts.password_hash(db, "lea"))
        assert accounts.password_hash(db, "anna") is None
    with store.write() as db:
        accounts.open_session(db, accounts.by_name(db, "lea").id, "cookie", "digest", "csrf", 60)
    again = CliRunner().invoke(app, ["serve", str(tmp_path), "--add-user", "lea"], input="another one\n")
    assert again.exit_code == 0, again.output
    with store.read() as db:
        assert matches("another one", accounts.password_hash(db, "lea"))
        assert accounts.session_of(db, "cookie", "digest") is None
    store.close()
    twice = CliRunner().invoke(app, ["serve", str(tmp_path), "--add-user", "anna"], input="\n")
    assert (twice.exit_code, "already" in twice.stderr) == (3, True)


def test_a_database_that_cannot_be_reached_is_said_in_one_line(tmp_path):
    said = failure("serve", tmp_path, "--database", "postgresql://nobody@127.0.0.1:1/nothing", code=3)
    assert "The database cannot be opened" in said
    assert "no URL" in failure("serve", tmp_path, "--database", "nonsense", code=3)


def test_the_folder_of_a_fit_becomes_a_project(tmp_path):
    files = make_crowd(tmp_path)
    fit_small(files, tmp_path / "My fit")
    store = Store(ServerSettings(tmp_path / "My fit").url)
    _first_project(store, tmp_path / "My fit", Console(quiet=True))
    with store.read() as db:
        [project] = projects.every(db)
        assert (project.name, project.settings.classes, project.settings.model) == ("my-fit", ("no", "yes"), "id")
        assert (items.count(db, project.id), project.settings.features) == (60, ("size", "weight", "age"))
        assert labels.count(db, project.id) == len((files / "labels.csv").read_text().splitlines()) - 1
    fit = fit_now(store, project.id)
    with store.read() as db:
        consensus = {row.item: row.label for row in fits.predictions(db, fit.id)}
    rows = (line.split(",") for line in (tmp_path / "My fit" / "consensus.csv").read_text().splitlines()[1:])
    assert consensus == {row[0]: row[1] for row in rows}
    store.close()


def test_a_backup_while_labels_come_in_is_consistent_and_can_be_restored(store, settings, tmp_path):
    with store.read() as db:
        project = projects.by_name(db, "example")
    ended = threading.Event()

    def write():
        number = 0
        while not ended.is_set():
            number += 1
            with store.write() as db:
                labels.record(db, project, [Answer(f"tumour {number % 300 + 1:03d}", f"a{number}", "benign")], "zoe")

    writer = threading.Thread(target=write)
    writer.start()
    try:
        assert "monday.db: " in run("backup", settings.folder, tmp_path / "monday.db").out
    finally:
        ended.set()
        writer.join()
    assert "exists already" in failure("backup", settings.folder, tmp_path / "monday.db", code=3)
    assert "exists already" in failure("restore", tmp_path / "monday.db", settings.folder, code=3)
    run("restore", tmp_path / "monday.db", tmp_path / "again")
    restored = Store(ServerSettings(tmp_path / "again").url)
    with restored.read() as db:
        assert labels.count(db, project.id) == labels.count_since(db, project.id, 0) > 300
        assert fits.latest(db, project.id) is not None
    restored.close()


@pytest.mark.parametrize("content", [b"", b"no database", b"SQLite format 3\0" + b"\1" * 5000])
def test_what_is_no_backup_is_refused(tmp_path, content):
    (tmp_path / "bad.db").write_bytes(content)
    assert "bad.db" in failure("restore", tmp_path / "bad.db", tmp_path / "new", code=3)
    assert not (tmp_path / "new" / "whoknows.db").exists()
