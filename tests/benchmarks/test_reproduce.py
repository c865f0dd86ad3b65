"""Published rows are sampled, computed again and compared digit by digit."""

import pytest

from benchmarks.common.cells import Table
from benchmarks.reproduce import Benchmark, benchmarks, differences, sample

KEY, VALUES = ("set", "repeat", "method"), ("accuracy", "seconds", "error")


@pytest.fixture
def published(tmp_path):
    """A table of two methods with ten rows each; the rows of repeat 9 took long, that of repeat 8 failed."""
    table = Table(tmp_path / "figure.csv", KEY, VALUES)
    table.append(
        {
            "set": "iris",
            "repeat": repeat,
            "method": method,
            "accuracy": repeat / 10,
            "seconds": 100 if repeat == 9 else 1,
            "error": "ValueError: x" if repeat == 8 else "",
        }
        for repeat in range(10)
        for method in ("vote", "auto")
    )
    return table


def benchmark(table, compute=lambda group, method: {"accuracy": group[1] / 10, "seconds": 7, "error": ""}):
    return Benchmark(table, ("vote", "auto"), (str, int), compute, "seconds")


def test_the_sample_is_fixed_by_its_seed_and_takes_methods_in_turn(published):
    every = [benchmark(published)]
    first, again, other = ([row for _, row in sample(every, 6, seed, longest=60.0)] for seed in (0, 0, 1))
    assert first == again != other
    assert sorted(row["method"] for row in first) == ["auto"] * 3 + ["vote"] * 3


def test_slow_and_failed_rows_are_not_sampled(published):
    rows = [row for _, row in sample([benchmark(published)], 20, 0, longest=60.0)]
    assert len(rows) == 16
    assert {row["repeat"] for row in rows} == set("01234567")


def test_equal_scores_are_reproduced_whatever_the_time(published, tmp_path):
    folder = tmp_path / "again"
    row = published.rows()[6]
    assert differences(row, benchmark(published).again(row, folder)) == []
    assert (folder / "figure.csv").exists()


def test_a_difference_in_the_last_digit_is_named(published, tmp_path):
    changed = benchmark(published, lambda group, method: {"accuracy": 0.30000000000000004, "error": ""})
    row = published.rows()[6]
    found = differences(row, changed.again(row, tmp_path / "again"))
    assert found == ["accuracy 0.3 → 0.30000000000000004"]


def test_benchmarks_without_results_are_left_out(tmp_path):
    assert benchmarks(tmp_path) == []
