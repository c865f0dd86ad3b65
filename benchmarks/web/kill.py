"""Kill the server under load again and again: every acknowledged label must be there.

python -m benchmarks.web.kill --times 50
"""

import argparse
import json
import random
import tempfile
import time
from pathlib import Path

from benchmarks.web import clients
from benchmarks.web.project import add_project, stored_requests
from benchmarks.web.server import Server
from whoknows.apps.web.settings import ServerSettings


def kill_repeatedly(folder, times, seconds=1.5, rate=200, n_items=500, database=None):
    """Return how many labels were acknowledged, and how many of them are lost."""
    server, chance = Server(folder, database), random.Random(0)
    try:
        add_project(server.port, n_items, n_labels=500)
        seen, end = clients.start(server.port, rate, readers=2, n_items=n_items)
        for _ in range(times):
            time.sleep(seconds * chance.uniform(0.5, 1.5))
            server.kill()
            server.start()
        end()
    finally:
        server.stop()
    history, consistent, sound = stored_requests(database or ServerSettings(folder).url)
    return {
        "kills": times,
        "acknowledged": len(seen.acknowledged),
        "lost": len(set(seen.acknowledged) - history),
        "labels_match_history": consistent,
        "integrity": sound,
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--times", type=int, default=50)
    parser.add_argument("--database")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        print(json.dumps(kill_repeatedly(Path(folder), given.times, database=given.database), indent=1))


if __name__ == "__main__":
    main()
