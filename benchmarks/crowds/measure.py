"""Run one method on one case in its own process, and measure time and memory."""

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

from benchmarks.common.cells import Row
from benchmarks.crowds.cases import Answer, Case, read_given
from benchmarks.crowds.methods import METHODS, Method

LATE, ABSENT = "past the limit", "not installed"
START = 300.0  # seconds for imports and reading, before the clock starts
PATIENCE = 10.0  # wall-clock seconds per CPU second, as other programs may run


@dataclass(frozen=True)
class Outcome:
    """Result of a run.

    Attributes
    ----------
    answer : Answer or None
    error : str
        Why there is no answer: starts with `LATE` or `ABSENT`, or is the first line of the exception.
    seconds, cpu_seconds : float
        Wall-clock and CPU time of consensus and classifier together, without imports and reading.
    peak_mb : float
        Peak memory in MB, above what the process held before the method started.
    """

    answer: Answer | None = None
    error: str = ""
    seconds: float | None = None
    cpu_seconds: float | None = None
    peak_mb: float | None = None


class Late(BaseException):
    """The limit was reached; not an Exception, which a method might catch."""


def measure(case: Case, name: str, limit: float) -> Outcome:
    """Run a method for at most ``limit`` CPU seconds."""
    if not METHODS[name].is_installed:
        return Outcome(error=f"{ABSENT}: {METHODS[name].package}")
    spawn = multiprocessing.get_context("spawn")
    here, there = spawn.Pipe(duplex=False)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "given.npz"
        case.write(path)
        process = spawn.Process(target=work, args=(there, path, name, limit), daemon=True)
        process.start()
        there.close()  # the child holds the only writing end, so reading ends if it dies
        try:
            return _receive(here, START + PATIENCE * limit)
        finally:
            process.kill()
            process.join()


def _receive(here: Connection, longest: float) -> Outcome:
    """Return the outcome that the process sends, or an error if it sends none in time."""
    if not here.poll(longest):
        return Outcome(error=f"{LATE}: stopped after {longest:g} s")
    try:
        return here.recv()
    except EOFError:
        return Outcome(error="The process died, perhaps because memory ran out")


def work(there: Connection, path: Path, name: str, limit: float) -> None:
    """Body of the process, which has no access to the truth."""
    warnings.simplefilter("ignore")
    try:
        import_module(METHODS[name].module)
        outcome = run(METHODS[name].answer, read_given(path), limit)
    except Exception as error:  # any failure is recorded in the table
        line = (str(error).strip().splitlines() or [""])[0]
        outcome = Outcome(error=f"{type(error).__name__}: {line}")
    there.send(outcome)


def run(method: Callable[..., Answer], given: tuple[Any, ...], limit: float) -> Outcome:
    """Call a method; a CPU-time timer interrupts it at the limit, repeatedly if necessary."""
    before_signal = signal.signal(signal.SIGPROF, _raise_late)
    before, cpu, started = memory("VmRSS"), time.process_time(), time.perf_counter()
    signal.setitimer(signal.ITIMER_PROF, limit, 1.0)
    try:
        answer, error = method(*given), ""
    except Late:
        answer, error = None, f"{LATE}: stopped after {limit:g} CPU seconds"
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0.0)
        signal.signal(signal.SIGPROF, before_signal)
    seconds, cpu = time.perf_counter() - started, time.process_time() - cpu
    return Outcome(answer, error, seconds, cpu, memory("VmHWM") - before)


def row_of(name: str, method: Method, case: Case, limit: float, score: Callable[[Any], Row]) -> Row:
    """Run a method in this process, and return its row with the score of its answer, or with what went wrong."""
    row = {"method": name, "version": method.version}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            outcome = run(method.answer, (case.X, case.Y, case.X_new), limit)
        except Exception as error:  # any failure is recorded in the table
            return row | {"error": f"{type(error).__name__}: {error}"}
    row |= {"cpu_seconds": outcome.cpu_seconds, "error": outcome.error}
    return row if outcome.answer is None else row | score(outcome.answer)


def _raise_late(*_: Any) -> None:
    raise Late


def memory(what: str) -> float:
    """Memory of this process in MB: current ("VmRSS") or peak ("VmHWM").

    Read from /proc on Linux, since ``getrusage`` of a new process starts at the peak of its parent. On other
    systems both are the peak.
    """
    status = Path("/proc/self/status")
    if status.exists():
        lines = dict(line.split(":", 1) for line in status.read_text().splitlines())
        return int(lines[what].split()[0]) / 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (2**20 if sys.platform == "darwin" else 2**10)
