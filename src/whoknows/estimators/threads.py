"""How many threads linear algebra may use."""

from __future__ import annotations

from functools import cache
from typing import Any

from threadpoolctl import ThreadpoolController


def one_thread() -> Any:
    """Return a context with a single BLAS thread: in many small products more only wait for each other."""
    return _libraries().limit(limits=1, user_api="blas")


@cache
def _libraries() -> ThreadpoolController:
    return ThreadpoolController()  # reads what the process has loaded: once is enough
