"""Cells are computed once, even if a run is interrupted."""

import io
import json
import platform
import re
import subprocess

import pytest

from benchmarks.common import cells, machine
from benchmarks.common.cells import Progress, Table, run

GROUPS = [("iris", 0), ("iris", 1)]


@pytest.fixture
def table(tmp_path):
    return Table(tmp_path / "new" / "t.csv", ("set", "repeat", "method"), ("accuracy", *machine.STAMP, "error"))


class Work:
    """Records its calls; methods in ``failing`` return an error."""

    def __init__(self, *failing):
        self.calls, self.failing = [], failing

    def __call__(self, group, methods):
        self.calls.append((group, methods))
        return [
            {"method": m, "error": "bad\nluck"} if m in self.failing else {"method": m, "accuracy": 0.5}
            for m in methods
        ]


def test_rows_come_back_as_text_with_their_key(table):
    run(table, GROUPS, ["vote", "auto"], Work(), jobs=1)
    assert len(table.rows()) == 4
    assert table.rows()[0] == {
        "set": "iris", "repeat": "0", "method": "vote", "accuracy": "0.5", **machine.stamp(), "error": ""
    }  # fmt: skip


def test_existing_cells_are_not_computed_again(table):
    run(table, GROUPS[:1], ["vote"], Work(), jobs=1)
    work = Work()
    run(table, GROUPS, ["vote", "auto"], work, jobs=1)
    assert work.calls == [(("iris", 0), ("auto",)), (("iris", 1), ("vote", "auto"))]
    again = Work()
    run(table, GROUPS, ["vote", "auto"], again, jobs=1)
    assert again.calls == []


def test_failed_cells_are_retried_only_on_request(table):
    run(table, GROUPS[:1], ["vote", "auto"], Work("auto"), jobs=1)
    assert [row["error"] for row in table.rows()] == ["", "bad luck"]
    work = Work()
    run(table, GROUPS[:1], ["vote", "auto"], work, jobs=1)
    assert work.calls == []
    run(table, GROUPS[:1], ["vote", "auto"], work, jobs=1, retry=True)
    assert work.calls == [(("iris", 0), ("auto",))]
    assert [row["error"] for row in table.rows()] == ["", ""]


def test_cells_are_recomputed_on_request_and_the_others_stay(table):
    run(table, GROUPS, ["vote", "auto"], Work("auto"), jobs=1)
    work = Work()
    run(table, GROUPS[:1], ["auto"], work, jobs=1, again=True)
    assert work.calls == [(("iris", 0), ("auto",))]
    assert sorted(row["error"] for row in table.rows()) == ["", "", "", "bad luck"]
    assert len(table.path.read_text().splitlines()) == 5  # a header, and every cell once


def test_cells_to_recompute_are_missing_until_they_are_computed(table):
    run(table, GROUPS, ["vote"], Work(), jobs=1)
    assert table.missing([("iris", 1, "vote")], again=True) == [("iris", 1, "vote")]
    assert table.missing([("iris", 0, "vote"), ("iris", 1, "vote")]) == [("iris", 1, "vote")]


def test_cells_of_another_commit_are_renewed_one_by_one_and_stay_until_then(table, monkeypatch):
    run(table, GROUPS, ["vote", "auto"], Work(), jobs=1)
    now = cells.stamp()
    monkeypatch.setattr(cells, "stamp", lambda: now | {"commit": "abc1234"})
    work = Work()
    run(table, GROUPS[:1], ["auto"], work, jobs=1, renew=True)
    assert work.calls == [(("iris", 0), ("auto",))]
    assert [row["commit"] == "abc1234" for row in table.rows()] == [False, True, False, False]
    assert len(table.path.read_text().splitlines()) == 5  # a header, and every cell once
    run(table, GROUPS, ["vote", "auto"], work, jobs=1, renew=True)
    assert work.calls[1:] == [(("iris", 0), ("vote",)), (("iris", 1), ("vote", "auto"))]
    assert {row["commit"] for row in table.rows()} == {"abc1234"}


@pytest.mark.parametrize("cut", [1, 4, 9])
def test_an_incomplete_line_of_a_killed_run_is_computed_again(table, cut):
    run(table, GROUPS, ["vote", "auto"], Work(), jobs=1)
    whole = table.path.read_bytes()
    table.path.write_bytes(whole[:-cut])
    work = Work()
    run(table, GROUPS, ["vote", "auto"], work, jobs=1)
    assert work.calls == [(("iris", 1), ("auto",))]
    assert table.path.read_bytes() == whole


def test_an_incomplete_header_is_written_again(table):
    table.append([{"set": "iris", "repeat": 0, "method": "vote", "accuracy": 1, "error": ""}])
    whole = table.path.read_bytes()
    table.path.write_bytes(whole[:7])
    assert table.rows() == []
    table.append([{"set": "iris", "repeat": 0, "method": "vote", "accuracy": 1, "error": ""}])
    assert table.path.read_bytes() == whole


def test_a_file_with_other_columns_is_refused(table):
    table.append([])
    other = Table(table.path, table.key, ("auc", "error"))
    with pytest.raises(ValueError, match=r"t\.csv: expected the columns .* auc, error, got .* accuracy"):
        other.rows()


def test_each_group_is_written_as_soon_as_it_is_finished(table):
    class Killed(BaseException):
        pass

    def dies_on_the_second(group, methods):
        if group[1] == 1:
            raise Killed
        return Work()(group, methods)

    with pytest.raises(Killed):
        run(table, GROUPS, ["vote"], dies_on_the_second, jobs=1)
    assert [row["repeat"] for row in table.rows()] == ["0"]


def test_progress_estimates_the_remaining_time_from_the_cost(monkeypatch):
    now = iter([0.0, 10.0, 20.0])
    monkeypatch.setattr(cells.time, "monotonic", lambda: next(now))
    stream = io.StringIO()
    progress = Progress(cost=4.0, groups=2, stream=stream)
    progress.add(1.0, "small")
    progress.add(3.0, "large")
    assert stream.getvalue().splitlines() == [
        "1/2  0:00:10 elapsed, 0:00:30 left  small",
        "2/2  0:00:20 elapsed, 0:00:00 left  large",
    ]


def test_a_machine_is_recorded_once_and_without_its_host_name(tmp_path):
    path = tmp_path / "results" / "machine.json"
    machine.record(path)
    machine.record(path)
    (described,) = json.loads(path.read_text("utf-8"))
    assert {"processor", "cores", "memory", "system", "Python", "numpy"} <= set(described)
    assert platform.node() not in described.values()


def test_rows_carry_the_commit_and_tell_whether_the_code_was_changed(tmp_path):
    assert machine.commit(tmp_path) == "unknown"
    (tmp_path / "src").mkdir()
    (tmp_path / "src" / "model.py").write_text("one = 1\n")
    author = ("-c", "user.name=a", "-c", "user.email=a@b.c")
    for arguments in (("init", "-q"), ("add", "."), (*author, "commit", "-qm", "first")):
        subprocess.run(["git", *arguments], cwd=tmp_path, check=True)
    clean = machine.commit(tmp_path)
    assert re.fullmatch("[0-9a-f]{7}", clean)
    (tmp_path / "notes.txt").write_text("not code\n")
    assert machine.commit(tmp_path) == clean
    for arguments in (("add", "."), (*author, "commit", "-qm", "second")):
        subprocess.run(["git", *arguments], cwd=tmp_path, check=True)
    assert machine.commit(tmp_path) == clean  # the library did not change
    (tmp_path / "src" / "model.py").write_text("one = 2\n")
    assert machine.commit(tmp_path) == f"{clean}+"
    assert set(machine.stamp()) == set(machine.STAMP)


def test_a_library_that_is_not_installed_does_not_stop_a_benchmark(tmp_path, monkeypatch):
    monkeypatch.setattr(machine, "LIBRARIES", ("no-such-library",))
    assert machine.describe()["no-such-library"] == "not installed"
