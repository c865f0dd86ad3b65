"""Sums along a tree: the same numbers, whoever adds up which chunks."""

import tomllib
from functools import partial
from pathlib import Path

import numpy as np
import pytest

from tests.fit.test_many_items import world
from whoknows import CrowdClassifier
from whoknows.fit import engines
from whoknows.fit.engines import Engine, Serial, opened, resolve_engine, sum_tree

ROOT = Path(__file__).parents[2]
RNG = np.random.default_rng(0)


def terms(values, places):
    return {(place, 1): partial(tuple, (values[place],)) for place in places}


@pytest.mark.parametrize("n_chunks", [1, 2, 3, 7, 8, 21])
def test_a_sum_does_not_depend_on_who_adds_up_what(n_chunks):
    values = RNG.normal(size=n_chunks) * 10.0 ** RNG.integers(-8, 8, size=n_chunks)
    whole = sum_tree(terms(values, range(n_chunks)), 0, n_chunks)
    assert list(whole) == [(0, n_chunks)]
    for n_workers in range(1, 6):
        owner = np.sort(RNG.integers(0, n_workers, size=n_chunks))
        found = {}
        for worker in range(n_workers):
            found |= sum_tree(terms(values, np.flatnonzero(owner == worker)), 0, n_chunks)
        known = {branch: partial(tuple, sums) for branch, sums in found.items()}
        assert sum_tree(known, 0, n_chunks) == whole


def test_a_worker_gives_few_sums_of_many_chunks():
    values = np.ones(1000)
    assert len(sum_tree(terms(values, range(333, 667)), 0, 1000)) < 12
    assert sum(n for _, n in sum_tree(terms(values, range(333, 667)), 0, 1000)) == 334


def test_chunks_are_let_go_once_they_are_added():
    alive, most = 0, 0

    class Part:
        def __init__(self, value):
            nonlocal alive, most
            alive, self.value = alive + 1, value
            most = max(most, alive)

        def __add__(self, other):
            return Part(self.value + other.value)

        def __del__(self):
            nonlocal alive
            alive -= 1

    (total,) = Serial().sum(lambda chunk: (Part(chunk),), list(range(64)))
    assert total.value == sum(range(64))
    assert most <= 9  # one a level of the tree, not one a chunk


def test_lists_add_up_in_the_order_of_the_chunks():
    (found,) = Serial().sum(lambda chunk: ([chunk],), list("abcdefg"))
    assert found == list("abcdefg")


def test_many_items_are_fitted_in_chunks_to_the_same_end(monkeypatch):
    X, y = world(400)
    whole = CrowdClassifier("id", map="linear").fit(X, y)
    monkeypatch.setattr(engines, "ITEMS_A_CHUNK", 60)
    parts = CrowdClassifier("id", map="linear").fit(X, y)
    np.testing.assert_allclose(parts.bound_history_, whole.bound_history_, rtol=1e-10)
    np.testing.assert_allclose(parts.posterior_, whole.posterior_, atol=1e-7)


def test_an_engine_of_ones_own_is_used_and_stays_open():
    class Mine(Serial):
        closed = False

        def close(self):
            self.closed = True

    mine = Mine()
    with opened(mine) as engine:
        assert engine is mine
    assert not mine.closed
    assert isinstance(resolve_engine(None), Serial)
    assert isinstance(mine, Engine)


def test_every_file_of_the_room_but_one_is_kept_from_dask():
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["tool"]["importlinter"]["contracts"]
    (contract,) = [c for c in contracts if c["name"] == "Only fit/dask.py knows Dask"]
    files = {path.stem for path in (ROOT / "src/whoknows/fit").glob("*.py")} - {"__init__", "dask"}
    assert {f"whoknows.fit.{name}" for name in files} <= set(contract["source_modules"])
    rooms = {path.stem for path in (ROOT / "src/whoknows").iterdir()} - {"__init__", "__pycache__", "fit", "py"}
    assert {f"whoknows.{room}" for room in rooms if room.isidentifier()} <= set(contract["source_modules"])
