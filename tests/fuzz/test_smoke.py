"""The fuzzers themselves: a few seconds of them find nothing, and what they look for is found."""

import random

import pytest

from tests.fuzz import runner


@pytest.fixture(autouse=True)
def any_memory(monkeypatch):
    """This process holds the memory of all tests before, so its peak says nothing about a case."""
    monkeypatch.setattr(runner, "BYTES", 1 << 40)


@pytest.mark.parametrize("name", sorted(runner.targets()))
def test_a_few_cases_of_every_target_are_read_or_refused(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    known = runner.targets()
    for number in range(1 if name.startswith(("bombs", "numbers")) else 5):
        outcome, place = runner.outcome_of(f"{name}:0:{number}", known)
        assert outcome in ("read", "refused"), place


def test_failures_are_counted_with_a_case_to_repeat():
    counts = runner.Counts()
    counts.add("readers.labels:0:1", "read", "")
    counts.add("readers.labels:0:2", "traceback", "KeyError at tabular.py:7")
    assert str(counts).splitlines() == [
        "read 1, refused 0, traceback 1, hang 0, memory 0",
        "traceback ×1: KeyError at tabular.py:7",
        "    repeat: --case readers.labels:0:2",
    ]


def test_an_error_that_is_not_ours_is_a_traceback(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)

    def broken(rng: random.Random, folder):
        return {}[folder.name]

    outcome, place = runner.outcome_of("broken:0:0", {"broken": broken})
    assert outcome == "traceback"
    assert place.startswith("KeyError at test_smoke.py:")
