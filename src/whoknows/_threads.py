"""The number of BLAS threads, and independent tasks in several threads instead."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import cache
from threading import Lock, local
from typing import Any, TypeVar

from threadpoolctl import ThreadpoolController

Answer = TypeVar("Answer")
MOST = 4  # threads: between matrix products they compete for the interpreter lock

_lock = Lock()
_limits: list[Any] = []  # one entry per thread inside `one_thread`; the first one holds the limit
_n_before = [1]  # threads of BLAS before that limit
_pool = local()  # ``inside``: this thread runs a task of `side_by_side`


@contextmanager
def one_thread() -> Iterator[None]:
    """Limit BLAS to a single thread: with many small products, more threads only wait for each other.

    Sums are also rounded in the same way then, whatever the number of threads. Solvers need this: where a
    likelihood is flat, they stop elsewhere if their input differs in the last digit. The limit applies to the
    whole process. So the first thread to enter sets it, and the last to leave restores the original number.
    """
    with _lock:
        if not _limits:
            _n_before[0] = _n_threads()
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
    with one_thread():
        n_threads = 1 if getattr(_pool, "inside", False) else min(_n_before[0], MOST)
        if n_threads == 1:
            yield from (task() for task in tasks)
            return
        with ThreadPoolExecutor(n_threads, initializer=lambda: setattr(_pool, "inside", True)) as pool:
            yield from pool.map(lambda task: task(), tasks)


def _n_threads() -> int:
    return max((library["num_threads"] for library in _libraries().info()), default=1)


@cache
def _libraries() -> ThreadpoolController:
    return ThreadpoolController()  # inspects the loaded libraries, which is slow
