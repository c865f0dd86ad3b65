"""Sums over chunks on a Dask cluster: chunks stay on the workers, only parameters and sums are sent.

Everything is a task known to the scheduler: reading a chunk, computations on it, and the arguments. When a
worker is lost, others repeat its tasks, starting from the parts that chunks are made of. When all are lost, a
fit continues with the first ones that connect within `WORKERS` seconds.
"""

from __future__ import annotations

import ctypes
import os
import pickle
import sys
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import CancelledError
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache, partial
from operator import getitem
from typing import Any, Self

import numpy as np
from threadpoolctl import ThreadpoolController

from whoknows.data.errors import InputError
from whoknows.fit.engines import Branch, Sums, sum_tree

CONNECT = 10.0  # seconds to wait for a scheduler
WORKERS = 60.0  # seconds to wait for a worker if there is none; then a fit ends with an error
LOOK = 5.0  # seconds between checks that there are still workers
TRANSFER = 600.0  # seconds that the transfer of finished results may take
SMALL = 200_000  # bytes of arguments that are sent with every task; larger ones are sent once
TOGETHER = 16  # sums added up by one worker if there are more
_TRIM_THRESHOLD, _MMAP_THRESHOLD = -1, -3  # as in malloc.h
RETRIES = 2  # of reading a part: files may be on a network


class DaskEngine:
    """The workers of a Dask cluster.

    Parameters
    ----------
    client : distributed.Client
        Connected to the cluster.
    own : tuple
        What was opened for this engine and is closed with it, in this order.
    """

    def __init__(self, client: Any, own: tuple[Any, ...] = ()) -> None:
        self.client, self._own = client, own
        try:
            self._check_open()
            self._check_workers()
            self._check_versions()
        except Exception:
            self.close()
            raise

    @classmethod
    def of(cls, cluster: Any) -> Self:
        """Return the engine for "dask" (processes of this machine), an address, or a client."""
        distributed = _distributed()
        if isinstance(cluster, distributed.Client):
            return cls(cluster)
        if not isinstance(cluster, str) or (cluster != "dask" and "://" not in cluster):
            raise InputError(
                "engine must be None, 'dask', the address of a scheduler such as 'tcp://10.0.0.1:8786', a "
                f"distributed.Client, or an object with keep(), sum() and close(); got {cluster!r}."
            )
        return cls._local() if cluster == "dask" else cls._at(cluster)

    @classmethod
    def _local(cls) -> Self:
        """Use the cluster that this process is connected to, or start one process per core."""
        distributed = _distributed()
        try:
            client = distributed.Client.current()
        except ValueError:  # there is none
            client = None
        if client is not None and client.status == "running":
            return cls(client)
        quiet = {"dashboard_address": "127.0.0.1:0", "scheduler_kwargs": {"dashboard": False}}
        cluster = distributed.LocalCluster(threads_per_worker=1, **quiet)
        client = distributed.Client(cluster, set_as_default=False)
        return cls(client, (client, cluster))

    @classmethod
    def _at(cls, address: str) -> Self:
        try:
            client = _distributed().Client(address, timeout=CONNECT, set_as_default=False)
        except (OSError, ValueError) as error:
            raise ConnectionError(
                f"No Dask scheduler answered at {address} within {CONNECT:g} s ({error}). Is it running, is "
                "this the address it prints at its start, and can this machine reach it?"
            ) from error
        return cls(client, (client,))

    def keep(self, make: Callable[..., Any], parts: Sequence[Any], *args: Any) -> list[Any]:
        """Return futures of make(part, *args), computed where the chunks are, or spread over the workers."""
        made: dict[int, Any] = {}
        with self._submitting():
            for home, places, task in self._tasks(make, parts, args):
                several = self._submit(home, _make, *task, retries=RETRIES)
                made |= {place: self._submit("", getitem, several, i) for i, place in enumerate(places)}
        chunks = [made[place] for place in range(len(parts))]
        self._wait(chunks)
        self._gather([chunk for chunk in chunks if chunk.status == "error"])  # raises, if there is one
        return chunks

    def sum(self, function: Callable[..., Sums], chunks: Sequence[Any], *args: Any) -> Sums:
        """Return Σ over chunks, or over parts in memory, of function(chunk, *args), as `Serial` does.

        Each worker sums its own chunks. With many workers, some merge the sums of others, so that little is
        sent to this process.
        """
        n = len(chunks)
        with self._submitting():
            tasks = self._tasks(function, chunks, args)
            sums = [self._submit(home, _sum, *task, places, n) for home, places, task in tasks]
            while len(sums) > TOGETHER:
                groups = [sums[start : start + TOGETHER] for start in range(0, len(sums), TOGETHER)]
                sums = [self._submit("", _merge, group, n) for group in groups]
        self._wait(sums)
        return _merge(self._gather(sums), n)[0, n]

    def close(self) -> None:
        """Close the client and the cluster that were opened for this engine."""
        for mine in self._own:
            mine.close()

    @contextmanager
    def _submitting(self) -> Iterator[None]:
        """Allow parts and arguments in the task graph, from which the scheduler can send them again."""
        import dask

        self._check_open()
        with dask.config.set({"distributed.admin.large-graph-warning-threshold": "1 PiB"}), self._clear_errors():
            try:
                yield
            except ConnectionError:  # has a clear message already
                raise
            except OSError as error:
                raise _scheduler_lost(error) from error

    def _submit(self, home: str, function: Callable[..., Any], *args: Any, retries: int = 0) -> Any:
        """Submit a call to a preferred worker, or to any."""
        where = {"workers": [home], "allow_other_workers": True} if home else {}
        return self.client.submit(function, *args, pure=False, retries=retries, **where)

    def _tasks(
        self, function: Callable[..., Any], parts: Sequence[Any], args: tuple[Any, ...]
    ) -> Iterator[tuple[str, list[int], tuple[Any, list[Any]]]]:
        """Give for each task a worker, the indices of its parts, and its arguments: a call, and the parts."""
        call: Any = _Packed.of((function, args))
        if len(call.content) > SMALL:
            call = self._submit("", _itself, call)  # once for all tasks
        stored = all(_chunks_in(part) for part in parts)
        for home, places in self._beside(parts) if stored else self._spread(len(parts)):
            own = [parts[place] for place in places]
            yield home, places, (call, own if stored else [_Packed.of(part) for part in own])

    def _beside(self, parts: Sequence[Any]) -> list[tuple[str, list[int]]]:
        """Return for each thread of a worker the indices of parts whose first chunk is there.

        One task per thread: few messages, and no waiting task that could be stolen together with its chunks.
        """
        chunks = [_chunks_in(part)[0] for part in parts]
        holders, threads = self.client.who_has(chunks), self.client.nthreads()
        at: dict[str, list[int]] = {}
        for place, chunk in enumerate(chunks):
            at.setdefault(next(iter(holders[chunk.key]), ""), []).append(place)  # "" if it is lost
        lost = len(at.get("", ()))  # recomputed by any worker
        return [
            (home, share.tolist())
            for home, places in at.items()
            for share in np.array_split(places, min(threads.get(home, 1) if home else lost, len(places)))
        ]

    def _spread(self, n_parts: int) -> list[tuple[str, list[int]]]:
        """Return a worker for each part: consecutive parts, in proportion to its threads."""
        self._check_workers()
        threads = [name for name, n in sorted(self.client.nthreads().items()) for _ in range(n)]
        return [(threads[place * len(threads) // n_parts], [place]) for place in range(n_parts)]

    def _wait(self, futures: list[Any]) -> None:
        """Wait until all are done or have failed, as long as there are workers."""
        while True:
            try:
                with self._clear_errors(), self.client.as_current():
                    _distributed().wait(futures, timeout=LOOK)
                return
            except TimeoutError:
                self._check_workers()
                self._release_tasks()

    def _release_tasks(self) -> None:
        """Let any worker run the tasks whose preferred worker was lost before they started.

        If all workers are lost at once, the scheduler would keep these tasks for workers that never return.
        """

        def release(dask_scheduler: Any) -> None:  # nested, so that it is pickled by value
            waiting = [task for task in dask_scheduler.unrunnable if task.loose_restrictions]
            for task in waiting:
                task.worker_restrictions = None
            dask_scheduler.transitions({task.key: "processing" for task in waiting}, "whoknows-release")

        with self._clear_errors():
            self.client.run_on_scheduler(release)

    def _gather(self, futures: list[Any]) -> list[Any]:
        with self._clear_errors():
            found = self.client.sync(partial(self.client.gather, asynchronous=True), futures, callback_timeout=TRANSFER)
        return list(found)

    def _check_open(self) -> None:
        if self.client.status != "running":
            raise ConnectionError(
                f"The Dask client is {self.client.status}. Pass one that is connected, or the address of its scheduler."
            )

    def _check_workers(self) -> None:
        address = self.client.scheduler.address
        try:
            with self._clear_errors():
                self.client.wait_for_workers(1, timeout=WORKERS)
        except TimeoutError as error:
            raise ConnectionError(
                f"The Dask cluster at {address} has had no worker for {WORKERS:g} s. Start some on any "
                f"machine that can reach it: dask worker {address}"
            ) from error
        except ConnectionError:
            raise
        except OSError as error:
            raise _scheduler_lost(error) from error

    def _check_versions(self) -> None:
        """Refuse workers that could not read what they are sent: it would take them down."""

        def version() -> str:  # nested, so that it is pickled by value
            from importlib import metadata

            try:
                return metadata.version("whoknows")
            except metadata.PackageNotFoundError:
                return "none"

        own = version()
        for worker, there in self.client.run(version, on_error="return").items():
            if isinstance(there, str) and there != own:
                raise RuntimeError(
                    f"Dask workers need the same version of whoknows as this process, {own}; {worker} has "
                    f"{there}. Run there: pip install 'whoknows[dask]=={own}'"
                )

    @contextmanager
    def _clear_errors(self) -> Iterator[None]:
        """Replace the errors that Dask raises when machines fail by clear ones."""
        distributed = _distributed()
        try:
            yield
        except CancelledError as error:
            raise _scheduler_lost(error) from error
        except distributed.KilledWorker as error:
            raise RuntimeError(
                "The same chunk of items killed several Dask workers, most likely because they ran out of "
                "memory. Give workers more memory ('dask worker --memory-limit') or fewer threads."
            ) from error


@dataclass(frozen=True)
class _Packed:
    """Pickled objects for a worker, which unpickles them itself, so that arrays are aligned in its memory.

    (Arrays that Dask deserialises may be unaligned, and some sums are then computed in another order.)
    """

    content: bytes

    @classmethod
    def of(cls, content: Any) -> Self:
        import cloudpickle

        return cls(cloudpickle.dumps(content))

    def open(self) -> Any:
        _set_up_worker()
        return pickle.loads(self.content)


def _scheduler_lost(error: Exception) -> ConnectionError:
    return ConnectionError(f"The Dask scheduler was lost during a fit ({error}). Restart it and fit again.")


def _chunks_in(part: Any) -> list[Any]:
    """Return the futures in a part: itself, or the elements of a tuple."""
    future = _distributed().Future
    return [thing for thing in (part if isinstance(part, tuple) else (part,)) if isinstance(thing, future)]


# --- tasks of workers -----------------------------------------------------------------------------


def _itself(packed: _Packed) -> _Packed:
    return packed


def _make(call: _Packed, parts: list[Any]) -> list[Any]:
    function, args = call.open()
    return [_apply(function, part, args) for part in parts]


def _sum(call: _Packed, parts: list[Any], places: list[int], n_chunks: int) -> dict[Branch, Sums]:
    function, args = call.open()
    work = zip(places, parts, strict=True)
    return sum_tree({(place, 1): partial(_apply, function, part, args) for place, part in work}, 0, n_chunks)


def _apply(function: Callable[..., Any], part: Any, args: tuple[Any, ...]) -> Any:
    return function(part.open() if isinstance(part, _Packed) else part, *args)


def _merge(found: list[dict[Branch, Sums]], n_chunks: int) -> dict[Branch, Sums]:
    known = {branch: partial(tuple, sums) for part in found for branch, sums in part.items()}
    return sum_tree(known, 0, n_chunks)


@cache
def _set_up_worker() -> None:
    """Set up the process of a worker, once, for fast linear algebra."""
    import scipy.linalg  # noqa: F401  (loads its own BLAS)

    ThreadpoolController().limit(limits=1, user_api="blas")  # other cores work on other chunks
    # Dask makes its workers return freed memory to the system at once. For sums, which allocate and free
    # arrays of megabytes, this takes half of the time; these are the limits a process arrives at by default.
    if "MALLOC_TRIM_THRESHOLD_" in os.environ and sys.platform == "linux":
        change = getattr(ctypes.CDLL(None), "mallopt", None)
        for setting, size in ((_MMAP_THRESHOLD, 32 << 20), (_TRIM_THRESHOLD, 64 << 20)):
            if change is not None:
                change(setting, size)


def _distributed() -> Any:
    try:
        import distributed
    except ModuleNotFoundError:
        raise ModuleNotFoundError("An engine on a cluster needs Dask. Run: pip install 'whoknows[dask]'") from None
    return distributed
