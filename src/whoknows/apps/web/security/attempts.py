"""How often someone may try to sign in."""

from __future__ import annotations

import time
from collections import defaultdict, deque
from threading import Lock

WINDOW = 60.0  # seconds
PER_NAME, PER_ADDRESS = 5, 20  # failed attempts in that time
MOST = 10_000  # names and addresses that are remembered


class Attempts:
    """Failed attempts by name and by address, of the last minute."""

    def __init__(self) -> None:
        self._failed: defaultdict[str, deque[float]] = defaultdict(deque)
        self._lock = Lock()

    def allowed(self, name: str, address: str) -> bool:
        """Whether another attempt is allowed."""
        limits = ((f"name {name}", PER_NAME), (f"from {address}", PER_ADDRESS))
        with self._lock:
            return all(self._recent(key) < limit for key, limit in limits)

    def failed(self, name: str, address: str) -> None:
        """Count a failed attempt."""
        with self._lock:
            if len(self._failed) > MOST:
                self._failed.clear()
            for key in (f"name {name}", f"from {address}"):
                self._failed[key].append(time.monotonic())

    def _recent(self, key: str) -> int:
        times = self._failed.get(key, deque())
        while times and times[0] < time.monotonic() - WINDOW:
            times.popleft()
        return len(times)
