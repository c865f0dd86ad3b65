"""Together: many small writes in one transaction, as commits wait for the disk, and statements for the database."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import Future
from contextlib import AbstractContextManager
from queue import Empty, SimpleQueue
from threading import Lock, Thread
from typing import Generic, TypeVar

from sqlalchemy import Connection

Given = TypeVar("Given")
Result = TypeVar("Result")
Work = Callable[[Connection, Sequence[Given]], Sequence[Result | Exception]]
MOST = 256  # requests per transaction


class Together(Thread, Generic[Given, Result]):
    """A thread that carries out the requests of all others, those that wait in one transaction.

    The result of each is known when the transaction is on the disk.

    Parameters
    ----------
    write : function without arguments
        Opens a transaction.
    work : function
        Carries out several requests; for each, it returns the result, or an error after which nothing of it is left.
    """

    def __init__(self, write: Callable[[], AbstractContextManager[Connection]], work: Work[Given, Result]) -> None:
        super().__init__(name="whoknows-writer", daemon=True)
        self._write, self._work, self._starting = write, work, Lock()
        self._waiting: SimpleQueue[tuple[Given, Future[Result]] | None] = SimpleQueue()

    def submit(self, request: Given) -> Future[Result]:
        """Carry out a request; the future has its result, or its error."""
        future: Future[Result] = Future()
        self._waiting.put((request, future))
        with self._starting:
            if not self.is_alive():
                self.start()
        return future

    def close(self) -> None:
        """Carry out what waits, and end."""
        if self.is_alive():
            self._waiting.put(None)
            self.join()

    def run(self) -> None:
        """Carry out requests until the end."""
        going_on = True
        while going_on:
            batch = self._next_batch()
            going_on = batch[-1] is not None
            self._carry_out([each for each in batch if each is not None])

    def _next_batch(self) -> list[tuple[Given, Future[Result]] | None]:
        """Wait for a request; return it and all others that wait. The last one is None at the end."""
        batch = [self._waiting.get()]
        while len(batch) < MOST and batch[-1] is not None:
            try:
                batch.append(self._waiting.get_nowait())
            except Empty:
                break
        return batch

    def _carry_out(self, batch: list[tuple[Given, Future[Result]]]) -> None:
        try:
            with self._write() as db:
                results = self._work(db, [request for request, _ in batch])
        except Exception as error:  # nothing was stored
            self._one_by_one(batch, error)
            return
        for (_, future), result in zip(batch, results, strict=True):
            if isinstance(result, Exception):
                future.set_exception(result)
            else:
                future.set_result(result)

    def _one_by_one(self, batch: list[tuple[Given, Future[Result]]], error: Exception) -> None:
        """Repeat requests that failed together, each on its own, so that the error is of those that cause it."""
        if len(batch) == 1:
            batch[0][1].set_exception(error)
        else:
            for each in batch:
                self._carry_out([each])
