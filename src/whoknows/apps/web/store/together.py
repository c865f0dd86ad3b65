"""Together: many small writes in one transaction, as a commit of SQLite waits for the disk."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future
from contextlib import AbstractContextManager
from queue import Empty, SimpleQueue
from threading import Thread
from typing import Any, TypeVar

from sqlalchemy import Connection

Result = TypeVar("Result")
Work = Callable[[Connection], Any]
MOST = 64  # writes per transaction


class Together(Thread):
    """A thread that carries out the writes of all others, those that wait in one transaction.

    Each write happens as a whole or not at all. Its result is known when the transaction is on the disk.

    Parameters
    ----------
    write : function without arguments
        Opens a transaction.
    """

    def __init__(self, write: Callable[[], AbstractContextManager[Connection]]) -> None:
        super().__init__(name="whoknows-writer", daemon=True)
        self._write = write
        self._waiting: SimpleQueue[tuple[Work, Future[Any]] | None] = SimpleQueue()

    def submit(self, work: Callable[[Connection], Result]) -> Future[Result]:
        """Carry out a write; the future has its result, or its error."""
        future: Future[Result] = Future()
        self._waiting.put((work, future))
        return future

    def close(self) -> None:
        """Carry out what waits, and end."""
        if self.is_alive():
            self._waiting.put(None)
            self.join()

    def run(self) -> None:
        """Carry out writes until the end."""
        while (batch := self._next_batch())[-1] is not None:
            self._carry_out([each for each in batch if each is not None])
        self._carry_out([each for each in batch if each is not None])

    def _next_batch(self) -> list[tuple[Work, Future[Any]] | None]:
        """Wait for a write; return it and all others that wait. The last one is None at the end."""
        batch = [self._waiting.get()]
        while len(batch) < MOST and batch[-1] is not None:
            try:
                batch.append(self._waiting.get_nowait())
            except Empty:
                break
        return batch

    def _carry_out(self, batch: list[tuple[Work, Future[Any]]]) -> None:
        outcomes: list[tuple[Future[Any], Any, Exception | None]] = []
        try:
            with self._write() as db:
                for work, future in batch:
                    outcomes.append((future, *_attempt(db, work, alone=len(batch) == 1)))
        except Exception as error:  # nothing was stored
            outcomes = [(future, None, error) for _, future in batch]
        for future, result, error in outcomes:
            if error is None:
                future.set_result(result)
            else:
                future.set_exception(error)


def _attempt(db: Connection, work: Work, alone: bool) -> tuple[Any, Exception | None]:
    """Return the result of a write, or its error, after which nothing of it is left."""
    if alone:
        return work(db), None  # an error ends the transaction
    try:
        with db.begin_nested():
            return work(db), None
    except Exception as error:
        return None, error
