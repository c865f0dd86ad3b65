"""Labels per second beside a fit and ten readers: nothing lost, and how long they took.

python -m benchmarks.web.load --rate 200 --seconds 60                         SQLite
FSYNC=on .ci/postgres python -m benchmarks.web.load --rate 200 --seconds 60   SQLite, then PostgreSQL

Results: docs/web.csv, one row per database, which docs/web.md shows. Leave the machine idle.
"""

import argparse
import json
import os
import tempfile
import time
from pathlib import Path

import numpy as np

from benchmarks import doc_tables
from benchmarks.common import machine
from benchmarks.common.command import add_out
from benchmarks.web import clients
from benchmarks.web.project import add_project, stored_requests
from benchmarks.web.server import Server
from whoknows.apps.web.settings import ServerSettings

STORED = ("rate", "seconds", "acknowledged", "lost", "errors", "p50_ms", "p99_ms")  # columns of docs/web.csv


def measure(folder, rate, seconds, database=None, n_items=2000, readers=10):
    """Return what clients saw, and what the database holds."""
    server = Server(folder, database)
    try:
        add_project(server.port, n_items)
        seen, end = clients.start(server.port, rate, readers=readers, n_items=n_items)
        started = time.monotonic()
        time.sleep(seconds)
        end()
        took = time.monotonic() - started
    finally:
        server.stop()
    history, consistent, sound = stored_requests(database or ServerSettings(folder).url)
    late = np.array(seen.seconds)
    pages = np.array([each for _, each in seen.pages]) if seen.pages else np.zeros(1)
    return {
        "acknowledged": len(seen.acknowledged),
        "per_second": len(seen.acknowledged) / took,
        "lost": len(set(seen.acknowledged) - history),
        "labels_match_history": consistent,
        "integrity": sound,
        "errors": len(seen.errors),
        "first_errors": seen.errors[:3],
        "p50_ms": 1e3 * float(np.quantile(late, 0.5)),
        "p99_ms": 1e3 * float(np.quantile(late, 0.99)),
        "max_ms": 1e3 * float(late.max()),
        "pages": len(seen.pages),
        "pages_failed": sum(status >= 400 for status, _ in seen.pages),
        "pages_p99_ms": 1e3 * float(np.quantile(pages, 0.99)),
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rate", type=float, default=200)
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--items", type=int, default=2000)
    add_out(parser)
    given = parser.parse_args()
    databases = {"SQLite": None, "PostgreSQL": os.environ.get("WHOKNOWS_TEST_DATABASE")}
    table = doc_tables.cells("web", ("database",), STORED, given.out)
    for name, database in databases.items():
        if name == "SQLite" or database is not None:
            before = os.getloadavg()[0]
            with tempfile.TemporaryDirectory() as folder:
                seen = measure(Path(folder), given.rate, given.seconds, database, given.items)
            print(json.dumps({"database": name, "load_average": [before, os.getloadavg()[0]], **seen}, indent=1))
            row = {"rate": given.rate, "seconds": given.seconds} | {what: seen[what] for what in STORED if what in seen}
            table.replace([{"database": name} | row | machine.stamp()])


if __name__ == "__main__":
    main()
