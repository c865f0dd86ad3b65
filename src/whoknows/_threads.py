"""How many threads linear algebra may use, and several fits side by side in place of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from threading import Lock
from typing import Any, TypeVar

from threadpoolctl import ThreadpoolController

Answer = TypeVar("Answer")
MOST = 4  # threads: between products it is one interpreter's turn


class OneThread:
    """A context with a single BLAS thread: in many small products more only wait for each other.

    The limit is the whole process's. So the first thread to come in sets it, and the last to leave lifts it.
    """

    def __init__(self) -> None:
        self._lock, self._inside, self._limit = Lock(), 0, None

    def __enter__(self) -> None:
        with self._lock:
            if not self._inside:
                self._limit: Any = _libraries().limit(limits=1, user_api="blas")
            self._inside += 1

    def __exit__(self, *error: object) -> None:
        with self._lock:
            self._inside -= 1
            if not self._inside:
                self._limit.restore_original_limits()


one_thread = OneThread()


def side_by_side(tasks: Sequence[Callable[[], Answer]]) -> Iterator[Answer]:
    """Carry out tasks in as many threads as BLAS may use, and give their answers in order."""
    n_threads = min(max((library["num_threads"] for library in _libraries().info()), default=1), MOST)
    if n_threads == 1:
        yield from (task() for task in tasks)
        return
    with one_thread, ThreadPoolExecutor(n_threads) as pool:
        yield from pool.map(lambda task: task(), tasks)


@cache
def _libraries() -> ThreadpoolController:
    return ThreadpoolController()  # reads what the process has loaded: once is enough
