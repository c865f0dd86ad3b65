"""Runner: a thread of the server that gives queued fits, one at a time, to a process of their own."""

from __future__ import annotations

import logging
import multiprocessing
import os
import secrets
import socket
from multiprocessing.process import BaseProcess
from threading import Event, Thread

from whoknows.apps.web.jobs import worker
from whoknows.apps.web.store import Store, fits
from whoknows.apps.web.store.fits import Fit

PAUSE = 0.5  # seconds between two looks at the queue
STALE = 15.0  # seconds without a sign of life after which a fit is queued again
LOG = logging.getLogger("whoknows.web")


class Runner(Thread):
    """Runs fits until it is stopped.

    Any number of servers may share a database: a fit is claimed by one of them, and only its worker may store
    results.
    """

    def __init__(self, store: Store) -> None:
        super().__init__(name="whoknows-runner", daemon=True)
        self.store = store
        self._ended = Event()
        self._worker = f"{socket.gethostname()}:{os.getpid()}:{secrets.token_hex(4)}"

    def stop(self) -> None:
        """Stop; a fit that is running is queued again."""
        self._ended.set()
        self.join()

    def run(self) -> None:
        """Look at the queue until the runner is stopped."""
        while not self._ended.is_set():
            try:
                fit = self._claim()
                if fit is not None:
                    self._watch(fit, _start(self.store, fit))
                    continue
            except Exception:  # such as a database that is restarted: the next look may succeed
                LOG.exception("runner")
            self._ended.wait(PAUSE)

    def _claim(self) -> Fit | None:
        with self.store.read() as db:
            if not (fits.count(db, "queued") or fits.count(db, "running")):
                return None
        with self.store.write() as db:
            n = fits.requeue_stale(db, STALE)
            if n:
                LOG.warning("queued again", extra={"fits": n})
            return fits.claim(db, self._worker)

    def _watch(self, fit: Fit, process: BaseProcess) -> None:
        """Wait for the end of a fit; end it if it was cancelled or the server stops."""
        while process.is_alive() and not self._ended.wait(PAUSE):
            with self.store.read() as db:
                if not fits.is_owned(db, fit.id, self._worker):
                    break
        process.join(PAUSE)
        if process.is_alive():
            process.kill()
            process.join()
        self._settle(fit, process.exitcode)

    def _settle(self, fit: Fit, code: int | None) -> None:
        """Leave no fit in the state "running" that nobody carries out."""
        with self.store.write() as db:
            if self._ended.is_set():
                fits.release(db, fit.id, self._worker)
            else:
                why = f"The process of the fit ended with code {code}; perhaps there was not enough memory."
                fits.fail(db, fit.id, self._worker, why)
            state = fits.by_id(db, fit.id).state
        LOG.info("fit", extra={"fit": fit.id, "project": fit.project_id, "state": state, "code": code})


def _start(store: Store, fit: Fit) -> BaseProcess:
    url = store.url.render_as_string(hide_password=False)
    process = multiprocessing.get_context("spawn").Process(target=worker.main, args=(url, fit), daemon=True)
    process.start()
    return process
