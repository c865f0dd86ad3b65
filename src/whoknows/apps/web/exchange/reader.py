"""Reader: reads uploads in a process of its own, which a hostile file may crash or keep busy."""

from __future__ import annotations

import multiprocessing
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures import TimeoutError as TooSlow
from concurrent.futures.process import BrokenProcessPool
from threading import Lock

from whoknows.apps.web.exchange import uploads
from whoknows.apps.web.exchange.uploads import Reading, Upload
from whoknows.apps.web.store.errors import TooLarge
from whoknows.data.errors import InputError

SECONDS = 120.0  # to read a file
EXPANSION = 8  # times its size that a file may take once it is decompressed


class Reader:
    """Reads one file at a time."""

    def __init__(self) -> None:
        self._pool: ProcessPoolExecutor | None = None
        self._lock = Lock()

    def read(self, upload: Upload, max_rows: int) -> Reading:
        """Return what a file holds; an error says what is wrong with it."""
        with self._lock:
            if self._pool is None:
                self._pool = ProcessPoolExecutor(1, multiprocessing.get_context("spawn"))
            try:
                found = self._pool.submit(_read, upload).result(SECONDS)
            except (BrokenProcessPool, TooSlow):
                self._give_up()
                raise InputError(f"{upload.name}: could not be read; it is damaged, or takes too long.") from None
        if isinstance(found, str):
            raise InputError(found)
        if max(len(found.items), len(found.labels)) > max_rows:
            raise TooLarge(f"{upload.name}: has more than {max_rows} rows, which is the limit of this server.")
        return found

    def _give_up(self) -> None:
        """End a process that does not answer; the next file gets a new one."""
        assert self._pool is not None
        for process in list((self._pool._processes or {}).values()):
            process.kill()
        self.close()

    def close(self) -> None:
        """End the process."""
        if self._pool is not None:
            self._pool.shutdown(wait=False, cancel_futures=True)
            self._pool = None


def _read(upload: Upload) -> Reading | str:
    """Return what a file holds, or the message of an error."""
    from whoknows.io.encoding import size_limit

    try:
        with size_limit(max(EXPANSION * len(upload.content), 1 << 24)):
            return uploads.read(upload)
    except (InputError, MemoryError, RecursionError, OverflowError) as error:
        return str(error) or f"{upload.name}: is too large to be read."
