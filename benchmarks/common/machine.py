"""Description of the machine a benchmark ran on, stored with its results."""

import json
import os
import platform
import subprocess
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

LIBRARIES = ("whoknows", "numpy", "scipy", "scikit-learn")
STAMP = ("commit", "machine")  # columns that every row of a benchmark carries
LIBRARY = "src"  # what is measured: rows are of one state of the code if they carry one commit
MEASURED = (LIBRARY, "benchmarks/*.py")  # files whose uncommitted changes are told
ROOT = Path(__file__).parents[2]


def describe() -> dict[str, str]:
    """Processor, cores, memory, operating system and versions."""
    words = {"processor": _processor(), "cores": str(os.cpu_count()), "memory": _memory()}
    words |= {"system": f"{platform.system()} {platform.machine()}", "Python": platform.python_version()}
    return words | {name: _version(name) for name in LIBRARIES}


def _version(library: str) -> str:
    """Version of a library, or "not installed", as when the code runs from its folder."""
    try:
        return version(library)
    except PackageNotFoundError:
        return "not installed"


@cache
def stamp() -> dict[str, str]:
    """Commit of the library and hardware, for the columns `STAMP` of a row."""
    return {"commit": commit(ROOT), "machine": hardware(describe())}


def commit(folder: Path) -> str:
    """Short hash of the last commit that changed the library, with "+" if code was changed since; or "unknown"."""
    found = git(folder, "log", "-1", "--abbrev=7", "--format=%h", "--", LIBRARY)
    changed = git(folder, "status", "--porcelain", "--", *MEASURED)
    return f"{found}{'+' if changed else ''}" if found else "unknown"


def git(folder: Path, *arguments: str) -> str:
    """Output of a git command; empty if it fails or there is no git."""
    try:
        done = subprocess.run(["git", "-C", folder, *arguments], capture_output=True, text=True, check=False)
    except FileNotFoundError:
        return ""
    return done.stdout.strip()


def record(path: Path) -> None:
    """Add this machine to the list in a JSON file, unless it is there already."""
    known = json.loads(path.read_text("utf-8")) if path.exists() else []
    if describe() not in known:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps([*known, describe()], indent=1) + "\n", "utf-8")


def hardware(description: dict[str, str]) -> str:
    """One line with the hardware of a description, without versions."""
    words = [description["processor"], f"{description['cores']} cores"]
    return ", ".join([*words, description["memory"], description["system"]])


def is_only_this(path: Path) -> bool:
    """Whether a JSON file names this machine and no other."""
    return path.exists() and json.loads(path.read_text("utf-8")) == [describe()]


def _processor() -> str:
    """Name of the processor, if the operating system knows it."""
    info = Path("/proc/cpuinfo")
    lines = info.read_text("utf-8").splitlines() if info.exists() else []
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor() or "unknown"


def _memory() -> str:
    if not hasattr(os, "sysconf"):
        return "unknown"
    return f"{os.sysconf('SC_PAGE_SIZE') * os.sysconf('SC_PHYS_PAGES') / 2**30:.0f} GiB"
