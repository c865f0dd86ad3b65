"""How much memory a command may use, and work in blocks of items that fit into it."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path

from whoknows.apps.cli.console import Update
from whoknows.apps.cli.errors import USAGE, CommandError

SHARE = 4  # features may use a quarter of the memory: a fit holds several copies
UNITS = {"": 1, "k": 10**3, "m": 10**6, "g": 10**9, "t": 10**12}
BINARY = {"": 1, "k": 1 << 10, "m": 1 << 20, "g": 1 << 30, "t": 1 << 40}


def bytes_of(size: str | None, option: str = "--memory") -> int:
    """Return the number of bytes of a size; a share of the machine's memory if none is given.

    >>> bytes_of("500MB"), bytes_of("1.5 GiB"), bytes_of("64")
    (500000000, 1610612736, 64)
    """
    if size is None:
        return _machine_memory() // SHARE
    match = re.fullmatch(r"(\d+\.?\d*) ?([kmgt]?)(i?)b?", size.strip().lower())
    if match is None or float(match[1]) <= 0:
        raise CommandError(f"{option} expects a size such as 500MB or 8GB; got {size!r}.", USAGE)
    return max(int(float(match[1]) * (BINARY if match[3] else UNITS)[match[2]]), 1)


def _machine_memory() -> int:
    """Return the bytes of memory that this process may use; 8 GiB if the system does not report it."""
    found = []
    if hasattr(os, "sysconf") and "SC_PHYS_PAGES" in os.sysconf_names:
        found.append(os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"))
    limit = Path("/sys/fs/cgroup/memory.max")  # of a container
    if limit.is_file() and (text := limit.read_text().strip()).isdigit():
        found.append(int(text))
    return min(found, default=8 << 30)


def item_blocks(n_items: int, update: Update, size: int = 100_000) -> Iterator[slice]:
    """Yield slices that cover all items; report progress after each."""
    for start in range(0, n_items, size):
        rows = slice(start, min(start + size, n_items))
        yield rows
        update(rows.stop, n_items)
