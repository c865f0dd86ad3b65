"""A worker carries out a fit that was claimed for it, and says every second that it is alive."""

from __future__ import annotations

import multiprocessing
import os
import traceback
from collections.abc import Callable
from threading import Event, Thread
from typing import Any

from whoknows.apps.web.jobs import fitting
from whoknows.apps.web.jobs.progress import Progress
from whoknows.apps.web.store import Store, fits, projects
from whoknows.apps.web.store.fits import Fit
from whoknows.data.errors import InputError

BEAT = 1.0  # seconds between two signs of life
NICER = 10  # how much lower the priority of a fit is than that of the server


def main(url: str, fit: Fit) -> None:
    """Carry out a fit as a process of its own, with low priority and one core left to the server."""
    from threadpoolctl import threadpool_limits

    os.nice(NICER)
    threadpool_limits(max(1, (os.cpu_count() or 2) - 1))
    store = Store(url)
    progress = Progress()
    with Heartbeat(store, fit, progress) as heartbeat:
        carry_out(store, fit, progress, heartbeat.beat)


def fit_now(store: Store, project_id: int, worker: str = "here") -> Fit:
    """Fit a project in this process; return the fit, done or failed."""
    with store.write() as db:
        fits.request(db, project_id)
        claimed = fits.claim(db, worker)
    if claimed is None:
        raise InputError("The project is being fitted already. Wait for that fit, or cancel it.")
    progress = Progress()

    def beat() -> None:
        with store.write() as db:
            fits.beat(db, claimed.id, worker, progress.facts())

    carry_out(store, claimed, progress, beat)
    with store.read() as db:
        return fits.by_id(db, claimed.id)


class Heartbeat(Thread):
    """Reports progress; ends the process if the fit was cancelled, or the server is gone."""

    def __init__(self, store: Store, fit: Fit, progress: Progress) -> None:
        super().__init__(daemon=True)
        self.store, self.fit, self.progress = store, fit, progress
        self._ended = Event()

    def __enter__(self) -> Heartbeat:
        self.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._ended.set()
        self.join()

    def run(self) -> None:
        """Beat until the fit ends."""
        while not self._ended.wait(BEAT):
            self.beat()

    def beat(self) -> None:
        """Tell how far the fit is; end the process if nobody waits for it."""
        server = multiprocessing.parent_process()
        with self.store.write() as db:
            is_own = fits.beat(db, self.fit.id, str(self.fit.worker), self.progress.facts())
        if not is_own or (server is not None and not server.is_alive()):
            os._exit(1)  # the fit itself cannot be interrupted otherwise


def carry_out(store: Store, fit: Fit, progress: Progress, beat: Callable[[], None]) -> None:
    """Read the project, fit it and store the results, or why it failed; the last beat tells the whole progress."""
    worker = str(fit.worker)
    try:
        results = _results(store, fit, progress)
    except Exception as error:  # whatever went wrong is shown with the fit: nobody reads this process's output
        with store.write() as db:
            fits.fail(db, fit.id, worker, _explanation(error))
        return
    beat()
    with store.write() as db:
        fits.finish(db, fit.id, worker, results)


def _results(store: Store, fit: Fit, progress: Progress) -> Any:
    with store.read() as db:
        data = fitting.read(db, projects.by_id(db, fit.project_id))
    with store.write() as db:
        fits.start(db, fit.id, data.annotations.n_annotations, data.last_event)
    return fitting.fit(data, progress)


def _explanation(error: Exception) -> str:
    """Return the message of an error that a user can act on; otherwise also where it happened."""
    if isinstance(error, (InputError, FloatingPointError)):
        return str(error)
    return "".join(traceback.format_exception(error)[-3:])
