"""One method on one case, in a process of its own: its answer, seconds and memory, or why there is none."""

from __future__ import annotations

import multiprocessing
import resource
import signal
import sys
import tempfile
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from benchmarks.crowds.cases import Answer, Case, read_given
from benchmarks.crowds.methods import METHODS

LATE, ABSENT = "past the limit", "not installed"
START = 300.0  # seconds a process may take to import and to read, before the clock starts
PATIENCE = 10.0  # seconds that may pass for each second of the processor, so busy are other programs


@dataclass(frozen=True)
class Outcome:
    """How it went.

    Attributes
    ----------
    answer : Answer or None
    error : str
        Why there is no answer: begins with `LATE` or `ABSENT`, or is the first line of what was raised.
    seconds, cpu_seconds : float
        That passed, and of the processor, for consensus and classifier together; imports and reading aside.
    peak_mb : float
        Most memory held at a time, over what the process held before the method started.
    """

    answer: Answer | None = None
    error: str = ""
    seconds: float | None = None
    cpu_seconds: float | None = None
    peak_mb: float | None = None


class Late(BaseException):
    """The limit is reached; not an Exception, which a method might catch."""


def measure(case: Case, name: str, limit: float) -> Outcome:
    """Run a method for so many seconds of the processor at most: other programs do not count against it."""
    if not METHODS[name].is_installed:
        return Outcome(error=f"{ABSENT}: {METHODS[name].package}")
    spawn = multiprocessing.get_context("spawn")
    here, there = spawn.Pipe(duplex=False)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "given.npz"
        case.write(path)
        process = spawn.Process(target=work, args=(there, path, name, limit), daemon=True)
        process.start()
        there.close()  # the process holds the only end to write to: if it dies, reading ends
        try:
            return _receive(here, START + PATIENCE * limit)
        finally:
            process.kill()
            process.join()


def _receive(here: Connection, longest: float) -> Outcome:
    """Return what the process has to say, if it says it in time."""
    if not here.poll(longest):
        return Outcome(error=f"{LATE}: stopped after {longest:g} s")
    try:
        return here.recv()
    except EOFError:
        return Outcome(error="The process died, perhaps for want of memory")


def work(there: Connection, path: Path, name: str, limit: float) -> None:
    """Body of the process. It is given no truth."""
    warnings.simplefilter("ignore")
    try:
        import_module(METHODS[name].module)
        outcome = run(METHODS[name].answer, read_given(path), limit)
    except Exception as error:  # whatever it is, it goes into the table
        line = (str(error).strip().splitlines() or [""])[0]
        outcome = Outcome(error=f"{type(error).__name__}: {line}")
    there.send(outcome)


def run(method: Callable[..., Answer], given: tuple[Any, ...], limit: float) -> Outcome:
    """Call a method; a timer that runs with the processor interrupts it, again and again if need be."""
    before_signal = signal.signal(signal.SIGPROF, _raise_late)
    before, cpu, started = memory("VmRSS"), time.process_time(), time.perf_counter()
    signal.setitimer(signal.ITIMER_PROF, limit, 1.0)
    try:
        answer, error = method(*given), ""
    except Late:
        answer, error = None, f"{LATE}: stopped after {limit:g} s of the processor"
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0.0)
        signal.signal(signal.SIGPROF, before_signal)
    seconds, cpu = time.perf_counter() - started, time.process_time() - cpu
    return Outcome(answer, error, seconds, cpu, memory("VmHWM") - before)


def _raise_late(*_: Any) -> None:
    raise Late


def memory(what: str) -> float:
    """Memory of this process in MB: what it holds ("VmRSS"), or the most it ever held ("VmHWM").

    From /proc where there is one: on Linux, ``getrusage`` of a new process starts at what its parent held.
    Elsewhere both are the most it ever held.
    """
    status = Path("/proc/self/status")
    if status.exists():
        lines = dict(line.split(":", 1) for line in status.read_text().splitlines())
        return int(lines[what].split()[0]) / 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (2**20 if sys.platform == "darwin" else 2**10)
