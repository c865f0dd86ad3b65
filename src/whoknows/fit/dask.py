"""The same sums on a Dask cluster: chunks live on its workers, only parameters and sums travel.

Everything is a task the scheduler knows: reading a chunk, what is computed from it, the arguments that go
out. When a worker is lost, others do its tasks again, beginning with the parts that chunks were made of.
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
from whoknows.fit.engines import Branch, Sums, climb

CONNECT = 10.0  # seconds a scheduler has to answer
WORKERS = 60.0  # seconds to wait for a worker where there is none, or none is left
LOOK = 5.0  # seconds after which a wait looks whether there is still somebody to wait for
TRANSFER = 600.0  # seconds that results, once they are there, may take to arrive
SMALL = 200_000  # bytes of arguments that go out with every task; larger ones go out once
TOGETHER = 16  # workers whose sums are added up by one of them, where there are more
_TRIM_THRESHOLD, _MMAP_THRESHOLD = -1, -3  # as malloc.h has them
RETRIES = 2  # of reading a part: files may lie behind a network


class DaskEngine:
    """The workers of a Dask cluster.

    Parameters
    ----------
    client : distributed.Client
        Connected to the cluster.
    own : tuple
        What was opened for this engine, and is closed with it, in this order.
    """

    def __init__(self, client: Any, own: tuple[Any, ...] = ()) -> None:
        self.client, self._own = client, own
        try:
            self._refuse_closed()
            self._need_workers()
            self._need_whoknows()
        except Exception:
            self.close()
            raise

    @classmethod
    def of(cls, cluster: Any) -> Self:
        """Return the engine for "dask", the processes of this machine, for an address, or for a client."""
        distributed = _distributed()
        if isinstance(cluster, distributed.Client):
            return cls(cluster)
        if not isinstance(cluster, str) or (cluster != "dask" and "://" not in cluster):
            raise InputError(
                "engine must be None, 'dask', the address of a scheduler such as 'tcp://10.0.0.1:8786', a "
                f"distributed.Client, or an object with keep(), sum() and close(); got {cluster!r}."
            )
        return cls._here() if cluster == "dask" else cls._at(cluster)

    @classmethod
    def _here(cls) -> Self:
        """Use the cluster this process is connected to, or start a process for each core."""
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
        """Return futures of make(part, *args): beside the chunks in a part, or spread over the workers."""
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
        """Return Σ over chunks, or over parts nobody keeps, of function(chunk, *args), as `Serial` does.

        Each worker adds up what it has. Of many workers some add up for the others too: what arrives here
        stays small.
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
        """Let parts and arguments be in the graph: from there the scheduler can send them once more."""
        import dask

        self._refuse_closed()
        with dask.config.set({"distributed.admin.large-graph-warning-threshold": "1 PiB"}), self._in_words():
            try:
                yield
            except ConnectionError:  # has its words already
                raise
            except OSError as error:
                raise _scheduler_lost(error) from error

    def _submit(self, home: str, function: Callable[..., Any], *args: Any, retries: int = 0) -> Any:
        """Submit a call to a worker, or to any; if it is lost, any other will do."""
        where = {"workers": [home], "allow_other_workers": True} if home else {}
        return self.client.submit(function, *args, pure=False, retries=retries, **where)

    def _tasks(
        self, function: Callable[..., Any], parts: Sequence[Any], args: tuple[Any, ...]
    ) -> Iterator[tuple[str, list[int], tuple[Any, list[Any]]]]:
        """Give for each task a worker, the places of its parts, and what it gets: a call, and the parts."""
        call: Any = _Packed.of((function, args))
        if len(call.content) > SMALL:
            call = self._submit("", _itself, call)  # once, whatever the number of tasks
        kept = all(_chunks_in(part) for part in parts)
        for home, places in self._beside(parts) if kept else self._spread(len(parts)):
            mine = [parts[place] for place in places]
            yield home, places, (call, mine if kept else [_Packed.of(part) for part in mine])

    def _beside(self, parts: Sequence[Any]) -> list[tuple[str, list[int]]]:
        """Return for each thread of a worker the places of parts whose first chunk is there.

        One task for each: few messages, and none that waits and could be taken, with its chunks, elsewhere.
        """
        chunks = [_chunks_in(part)[0] for part in parts]
        holders, threads = self.client.who_has(chunks), self.client.nthreads()
        at: dict[str, list[int]] = {}
        for place, chunk in enumerate(chunks):
            at.setdefault(next(iter(holders[chunk.key]), ""), []).append(place)  # "" where it is lost
        lost = len(at.get("", ()))  # each to whoever has time to make it again
        return [
            (home, share.tolist())
            for home, places in at.items()
            for share in np.array_split(places, min(threads.get(home, 1) if home else lost, len(places)))
        ]

    def _spread(self, n_parts: int) -> list[tuple[str, list[int]]]:
        """Return a worker for each part: consecutive ones together, as many for each as it has threads."""
        self._need_workers()
        threads = [name for name, n in sorted(self.client.nthreads().items()) for _ in range(n)]
        return [(threads[place * len(threads) // n_parts], [place]) for place in range(n_parts)]

    def _wait(self, futures: list[Any]) -> None:
        """Wait until all are done or have failed; not for ever where nobody is left to do them."""
        while True:
            try:
                with self._in_words(), self.client.as_current():
                    _distributed().wait(futures, timeout=LOOK)
                return
            except TimeoutError:
                self._need_workers()

    def _gather(self, futures: list[Any]) -> list[Any]:
        with self._in_words():
            found = self.client.sync(
                partial(self.client.gather, asynchronous=True), futures, callback_timeout=TRANSFER
            )
        return list(found)

    def _refuse_closed(self) -> None:
        if self.client.status != "running":
            raise ConnectionError(
                f"The Dask client is {self.client.status}. Pass one that is connected, or the address of its "
                "scheduler."
            )

    def _need_workers(self) -> None:
        address = self.client.scheduler.address
        try:
            with self._in_words():
                self.client.wait_for_workers(1, timeout=WORKERS)
        except TimeoutError as error:
            raise ConnectionError(
                f"The Dask cluster at {address} has had no worker that takes tasks for {WORKERS:g} s. Start "
                f"some, on any machine that reaches it: dask worker {address}"
            ) from error
        except ConnectionError:
            raise
        except OSError as error:
            raise _scheduler_lost(error) from error

    def _need_whoknows(self) -> None:
        """Refuse workers that could not read what they are sent: it would take them down."""

        def version() -> str:  # travels whole, as functions inside functions do
            from importlib import metadata

            try:
                return metadata.version("whoknows")
            except metadata.PackageNotFoundError:
                return "none"

        here = version()
        for worker, there in self.client.run(version, on_error="return").items():
            if isinstance(there, str) and there != here:
                raise RuntimeError(
                    f"Dask workers need the whoknows of this process, {here}; {worker} has {there}. Run "
                    f"there: pip install 'whoknows[dask]=={here}'"
                )

    @contextmanager
    def _in_words(self) -> Iterator[None]:
        """Turn what Dask raises when machines fail into what it means."""
        distributed = _distributed()
        try:
            yield
        except CancelledError as error:
            raise _scheduler_lost(error) from error
        except distributed.KilledWorker as error:
            raise RuntimeError(
                "One chunk of items took down several Dask workers, one after the other; most often they run "
                "out of memory. Give workers more of it ('dask worker --memory-limit'), or fewer threads."
            ) from error


@dataclass(frozen=True)
class _Packed:
    """Things on their way to a worker, which unpacks them itself: arrays then lie in its memory as here.

    (Taken as they are from a message they begin at odd bytes, and some sums are taken in another order.)
    """

    content: bytes

    @classmethod
    def of(cls, things: Any) -> Self:
        import cloudpickle

        return cls(cloudpickle.dumps(things))

    def open(self) -> Any:
        _settle()
        return pickle.loads(self.content)


def _scheduler_lost(error: Exception) -> ConnectionError:
    return ConnectionError(
        f"The Dask scheduler was lost in the middle of a fit ({error}). Start it again and fit again."
    )


def _chunks_in(part: Any) -> list[Any]:
    """Return the futures in a part: itself, or in the tuple it is."""
    future = _distributed().Future
    return [thing for thing in (part if isinstance(part, tuple) else (part,)) if isinstance(thing, future)]


# --- what workers do ------------------------------------------------------------------------------


def _itself(packed: _Packed) -> _Packed:
    return packed


def _make(call: _Packed, parts: list[Any]) -> list[Any]:
    function, args = call.open()
    return [_apply(function, part, args) for part in parts]


def _sum(call: _Packed, parts: list[Any], places: list[int], n_chunks: int) -> dict[Branch, Sums]:
    function, args = call.open()
    work = zip(places, parts, strict=True)
    return climb({(place, 1): partial(_apply, function, part, args) for place, part in work}, 0, n_chunks)


def _apply(function: Callable[..., Any], part: Any, args: tuple[Any, ...]) -> Any:
    return function(part.open() if isinstance(part, _Packed) else part, *args)


def _merge(found: list[dict[Branch, Sums]], n_chunks: int) -> dict[Branch, Sums]:
    known = {branch: partial(tuple, sums) for part in found for branch, sums in part.items()}
    return climb(known, 0, n_chunks)


@cache
def _settle() -> None:
    """Make a worker's process, once, one in which linear algebra is quick."""
    import scipy.linalg  # noqa: F401  (has a BLAS of its own)

    ThreadpoolController().limit(limits=1, user_api="blas")  # other cores are busy with other chunks
    # Dask's nannies have their workers hand back freed memory at once. To sums, whose arrays come and go by
    # the megabyte, that is half of the time; these are the limits that a process finds by itself.
    if "MALLOC_TRIM_THRESHOLD_" in os.environ and sys.platform == "linux":
        change = getattr(ctypes.CDLL(None), "mallopt", None)
        for setting, size in ((_MMAP_THRESHOLD, 32 << 20), (_TRIM_THRESHOLD, 64 << 20)):
            if change is not None:
                change(setting, size)


def _distributed() -> Any:
    try:
        import distributed
    except ModuleNotFoundError:
        raise ModuleNotFoundError(
            "An engine on a cluster needs Dask. Run: pip install 'whoknows[dask]'"
        ) from None
    return distributed
