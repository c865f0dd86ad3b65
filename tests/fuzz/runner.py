"""Cases in child processes with limits of time and memory; what went wrong is counted by its place."""

from __future__ import annotations

import contextlib
import importlib
import multiprocessing
import os
import random
import resource
import sys
import tempfile
import time
import traceback
import warnings
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from whoknows.data.errors import InputError

MODULES = ("readers", "arrow", "bombs", "numbers", "models")
SECONDS = 10  # of computing
PATIENCE = 20  # times as many seconds may pass: the machine may be busy, and a process may wait for ever
BYTES = 1 << 30
ADDRESSES = 16 << 30  # virtual memory, so that a bomb ends in a MemoryError and not with the machine

Target = Callable[[random.Random, Path], None]


def targets() -> dict[str, Target]:
    """Return every target by the name of its module and its own."""
    modules = {name: importlib.import_module(f"tests.fuzz.{name}") for name in MODULES}
    return {f"{name}.{target}": run for name, m in modules.items() for target, run in m.TARGETS.items()}


@dataclass
class Counts:
    """What happened to all cases.

    Parameters
    ----------
    outcomes : Counter
        Of "read", "refused", "traceback", "hang" and "memory".
    failures : dict from kind and place to list of cases
    """

    outcomes: Counter[str] = field(default_factory=Counter)
    failures: dict[tuple[str, str], list[str]] = field(default_factory=dict)

    def add(self, case: str, outcome: str, place: str) -> None:
        """Count a case."""
        self.outcomes[outcome] += 1
        if outcome not in ("read", "refused"):
            self.failures.setdefault((outcome, place), []).append(case)

    def __str__(self) -> str:
        """Return counts, and for every failure one case to repeat."""
        kinds = ("read", "refused", "traceback", "hang", "memory")
        lines = [", ".join(f"{kind} {self.outcomes[kind]}" for kind in kinds)]
        for (kind, place), cases in self.failures.items():
            lines.append(f"{kind} ×{len(cases)}: {place}\n    repeat: --case {cases[0]}")
        return "\n".join(lines)


def run(seconds: float, seed: int, names: list[str] | None = None) -> Counts:
    """Run cases of all targets in turn until the time is over."""
    counts, end, number = Counts(), time.monotonic() + seconds, 0
    names = names or list(targets())
    child = Child()
    while time.monotonic() < end:
        case = f"{names[number % len(names)]}:{seed}:{number // len(names)}"
        counts.add(case, *child.run(case))
        number += 1
    child.stop()
    return counts


class Child:
    """A process that runs one case after the other; it is replaced if it hangs, dies or grows."""

    def __init__(self) -> None:
        context = multiprocessing.get_context("spawn")
        self.pipe, other = context.Pipe()
        self.process = context.Process(target=_serve, args=(other,), daemon=True)
        self.process.start()
        other.close()
        self.pipe.recv()  # imports are done

    def run(self, case: str) -> tuple[str, str]:
        """Return the outcome of a case, and the place of a failure."""
        try:
            self.pipe.send(case)
            outcome: tuple[str, str] | None = self.pipe.recv() if self._answers() else None
        except (EOFError, OSError):
            self._replace()
            return "traceback", f"the process died with exit code {self.process.exitcode}"
        if outcome is None or outcome[0] == "memory":
            self._replace()
        return outcome or ("hang", case.partition(":")[0])

    def _answers(self) -> bool:
        """Whether the process answers before it has computed for too long, or waited for much longer."""
        start, end = self._seconds(), time.monotonic() + PATIENCE * SECONDS
        while not self.pipe.poll(0.2):
            if self._seconds() - start > SECONDS or time.monotonic() > end:
                return False
        return True

    def _seconds(self) -> float:
        """Return the seconds that the process has computed; the machine may have other things to do."""
        fields = Path(f"/proc/{self.process.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def stop(self) -> None:
        """End the process."""
        self.process.kill()
        self.process.join()

    def _replace(self) -> None:
        self.stop()
        self.__init__()  # type: ignore[misc]


def _serve(pipe: Any) -> None:
    """Run the cases that come through a pipe."""
    known = targets()
    resource.setrlimit(resource.RLIMIT_AS, (ADDRESSES, ADDRESSES))
    pipe.send("ready")
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        while True:
            pipe.send(outcome_of(pipe.recv(), known))


def outcome_of(case: str, known: dict[str, Target]) -> tuple[str, str]:
    """Run one case; return its outcome, and the place of a failure."""
    try:
        run_case(case, known)
    except InputError:
        outcome, place = "refused", ""
    except MemoryError:
        outcome, place = "memory", case.partition(":")[0]
    except Exception as error:
        outcome, place = "traceback", _place(error)
    else:
        outcome, place = "read", ""
    peak = _peak()
    return (outcome, place) if peak <= BYTES else ("memory", f"{case.partition(':')[0]}: {peak >> 20} MiB")


def run_case(case: str, known: dict[str, Target]) -> None:
    """Run one case, named TARGET:SEED:NUMBER; errors pass."""
    Path("/proc/self/clear_refs").write_text("5")  # the peak of memory starts again
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        known[case.partition(":")[0]](random.Random(case), Path(folder))


def _peak() -> int:
    """Return the largest number of bytes that this process held."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM")) << 10


def _place(error: Exception) -> str:
    """Return where an error came from: its type and the last line of our own code."""
    frames = traceback.extract_tb(error.__traceback__)
    own = [frame for frame in frames if f"{os.sep}whoknows{os.sep}" in frame.filename] or frames
    name = os.path.basename(own[-1].filename)
    return f"{type(error).__name__} at {name}:{own[-1].lineno}: {str(error)[:120]}"


def main(seconds: float, seed: int, case: str | None, only: str) -> int:
    """Run one case, or all until the time is over; return the exit status."""
    known = targets()
    if case is not None:
        with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
            run_case(case, known)
        return 0
    counts = run(seconds, seed, [name for name in known if only in name])
    sys.stdout.write(f"{counts}\n")
    return 1 if counts.failures else 0
