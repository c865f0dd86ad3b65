"""The number of BLAS threads, and independent tasks in several threads instead."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import cache
from threading import Lock
from typing import Any, TypeVar

from threadpoolctl import ThreadpoolController

Answer = TypeVar("Answer")
MOST = 4  # threads: between matrix products they compete for the interpreter lock

_lock = Lock()
_limits: list[Any] = []  # one entry per thread inside `one_thread`; the first one holds the limit


@contextmanager
def one_thread() -> Iterator[None]:
    """Limit BLAS to a single thread: with many small products, more threads only wait for each other.

    The limit applies to the whole process. So the first thread to enter sets it, and the last to leave
    restores the original number.
    """
    with _lock:
        _limits.append(None if _limits else _libraries().limit(limits=1, user_api="blas"))
    try:
        yield
    finally:
        with _lock:
            limit = _limits[0]
            _limits.pop()
            if not _limits:
                limit.restore_original_limits()


def side_by_side(tasks: Sequence[Callable[[], Answer]]) -> Iterator[Answer]:
    """Run tasks in as many threads as BLAS may use, and give their results in order."""
    n_threads = min(max((library["num_threads"] for library in _libraries().info()), default=1), MOST)
    if n_threads == 1:
        yield from (task() for task in tasks)
        return
    with one_thread(), ThreadPoolExecutor(n_threads) as pool:
        yield from pool.map(lambda task: task(), tasks)


@cache
def _libraries() -> ThreadpoolController:
    return ThreadpoolController()  # inspects the loaded libraries, which is slow
