"""Run times on a GPU and on a cluster: rows and extrapolations."""

import pytest

from benchmarks.common import machine
from benchmarks.common.tables import read
from benchmarks.speed import engine_tables, engines


@pytest.fixture
def folder(tmp_path):
    costs = {engines.PER_ITEM: 2e-6, engines.PER_CHUNK: 1e-4, engines.PER_SUM: 0.02}
    rows = [engines.row(engines.DASK, name, seconds) for name, seconds in costs.items()]
    rows.append(engines.row(engines.GPU, "default fit", 12.94, items=10**8, labels=10**6, machine="H200"))
    engines.table(tmp_path).append(rows)
    return tmp_path


def test_rows_carry_commit_and_machine(folder):
    rows = read(folder / "engines.csv", engines.KEY).set_index("measurement")
    assert set(rows["commit"]) == {machine.stamp()["commit"]}
    assert rows["machine"]["default fit"] == "H200"
    assert rows["machine"][engines.PER_ITEM] == machine.stamp()["machine"]


def test_a_measurement_replaces_the_earlier_one(folder):
    engines.table(folder).replace([engines.row(engines.GPU, "default fit", 11.0)])
    rows = engines.table(folder).rows()
    assert len((folder / "engines.csv").read_text("utf-8").splitlines()) == 1 + len(rows) == 5
    assert [row["seconds"] for row in rows if row["engine"] == engines.GPU] == ["11.0"]


def test_extrapolations_follow_the_measured_costs_and_are_called_so(folder):
    rows = read(folder / "engines.csv", engines.KEY)
    beyond = engine_tables.extrapolated(rows)
    assert beyond.loc["1 000 000"].tolist() == ["2.0 s", "0.2 s", "0.2 s", "0.2 s"]  # ten chunks of 100 000
    assert beyond.loc["100 000 000", "64 workers"] == "3.3 s"  # 16 chunks per worker, 0.1 s and 0.02 s
    assert beyond.loc["1 000 000 000", "1 worker"] == "33 min"
    text = engine_tables.body(folder)
    assert text.index("gpu, default fit") < text.index("**Extrapolated, not measured**")
    assert "gpu: H200" in text


def test_without_costs_nothing_is_extrapolated(tmp_path):
    engines.table(tmp_path).append([engines.row(engines.GPU, "default fit", 12.94, items=10**8)])
    assert "Extrapolated" not in engine_tables.body(tmp_path)
