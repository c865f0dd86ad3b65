"""What the server tells about itself: a line of JSON per event on standard error, numbers at /metrics."""

from __future__ import annotations

import json
import logging
import re
import sys
import time
from collections import Counter
from threading import Lock
from typing import Any

from fastapi import APIRouter, Request
from fastapi.responses import PlainTextResponse

from whoknows.apps.web.security.access import State
from whoknows.apps.web.store import fits, statistics

LOG = logging.getLogger("whoknows.web")
STANDARD = set(vars(logging.makeLogRecord({}))) | {"message", "taskName"}
SECONDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0)  # upper limits of the histogram
SECRET = re.compile(r"(?<=/sign-in/)[^/]+|(?<=/imports/)[^/]+|(?<=/label-studio/)[^/]+")

router = APIRouter(include_in_schema=False)


class JsonLines(logging.Formatter):
    """One JSON object per line: time, level, event, and what else is known."""

    def format(self, record: logging.LogRecord) -> str:
        """Return the line."""
        more = {name: value for name, value in vars(record).items() if name not in STANDARD}
        line = {
            "time": round(record.created, 3),
            "level": record.levelname.lower(),
            "event": record.getMessage(),
            **more,
        }
        if record.exc_info:
            line["error"] = self.formatException(record.exc_info)
        return json.dumps(line, default=str)


def log_to_stderr() -> None:
    """Write the log of the server to standard error."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(JsonLines())
    LOG.handlers, LOG.propagate = [handler], False
    LOG.setLevel(logging.INFO)


def without_secrets(path: str) -> str:
    """Return a path for the log: secrets in it are replaced, and nothing is there but the path.

    >>> without_secrets("/sign-in/abc"), without_secrets("/projects/a/items/b")
    ('/sign-in/…', '/projects/a/items/b')
    """
    return SECRET.sub("…", path)


class Requests:
    """Counts of requests by method and status, and how long they took."""

    def __init__(self) -> None:
        self.answers: Counter[tuple[str, int]] = Counter()
        self.slots: Counter[float] = Counter()
        self.seconds = 0.0
        self._lock = Lock()

    def add(self, method: str, status: int, seconds: float) -> None:
        """Count a request."""
        slot = next((limit for limit in SECONDS if seconds <= limit), float("inf"))
        with self._lock:
            self.answers[method, status] += 1
            self.slots[slot] += 1
            self.seconds += seconds

    def lines(self) -> list[str]:
        """Return the counts in the text format of Prometheus."""
        lines = ["# TYPE whoknows_requests_total counter"]
        lines += [
            f'whoknows_requests_total{{method="{method}",status="{status}"}} {n}'
            for (method, status), n in sorted(self.answers.items())
        ]
        lines += ["# TYPE whoknows_request_seconds histogram"]
        total = 0
        for limit in (*SECONDS, float("inf")):
            total += self.slots[limit]
            name = "+Inf" if limit == float("inf") else limit
            lines.append(f'whoknows_request_seconds_bucket{{le="{name}"}} {total}')
        return [*lines, f"whoknows_request_seconds_sum {self.seconds:.6f}", f"whoknows_request_seconds_count {total}"]


class Observe:
    """Middleware: counts and logs every request."""

    def __init__(self, app: Any, requests: Requests) -> None:
        self.app, self.requests = app, requests

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """Handle a request."""
        if scope["type"] != "http":
            return await self.app(scope, receive, send)
        started, status = time.perf_counter(), 500

        async def noting(message: Any) -> None:
            nonlocal status
            status = message.get("status", status)
            await send(message)

        try:
            return await self.app(scope, receive, noting)
        finally:
            seconds = time.perf_counter() - started
            self.requests.add(scope["method"], status, seconds)
            seen = {"method": scope["method"], "path": without_secrets(scope["path"]), "status": status}
            LOG.log(
                logging.ERROR if status >= 500 else logging.INFO,
                "request",
                extra={**seen, "ms": round(1e3 * seconds, 1)},
            )


@router.get("/healthz")
def health(store: State) -> PlainTextResponse:
    """Whether the server answers, and its database too."""
    with store.read() as db:
        fits.count(db, "running")
    return PlainTextResponse("ok")


@router.get("/metrics")
def metrics(request: Request, store: State) -> PlainTextResponse:
    """Numbers for Prometheus."""
    with store.read() as db:
        counts = statistics.counts(db)
    gauges = [line for name, n in counts.items() for line in (f"# TYPE whoknows_{name} gauge", f"whoknows_{name} {n}")]
    lines = [*gauges, *request.app.state.requests.lines(), ""]
    return PlainTextResponse("\n".join(lines), media_type="text/plain; version=0.0.4")
