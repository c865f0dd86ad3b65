"""Counts of the source: ``python -m tests.repo.size`` prints them, `test_size.py` holds them to limits.

A line of code has a token other than a comment or a docstring on it. Functions are counted without their
docstrings, from ``def`` to their last line.
"""

from __future__ import annotations

import ast
import io
import sys
import tempfile
import tokenize
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from statistics import median, quantiles
from types import CodeType, FrameType

import numpy as np

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "src" / "whoknows"
QUIET = {tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT}
ASKING = {"isinstance", "hasattr", "getattr"}
PIECES = {"truth", "annotators", "map", "graph", "features", "evidence", "posterior", "belief", "state", "piece"}


def modules() -> list[Path]:
    """Return every source file."""
    return sorted(SOURCE.rglob("*.py"))


@cache
def code_lines(path: Path) -> frozenset[int]:
    """Return the numbers of the lines that hold code."""
    text = path.read_text("utf-8")
    lines: set[int] = set()
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type not in QUIET:
            lines |= set(range(token.start[0], token.end[0] + 1))
    n_lines = text.count("\n")
    return frozenset(line for line in lines - docstring_lines(ast.parse(text)) if line <= n_lines)


def docstring_lines(tree: ast.Module) -> set[int]:
    """Return the numbers of the lines of docstrings."""
    lines: set[int] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            first = node.body[0] if node.body else None
            if isinstance(first, ast.Expr) and isinstance(getattr(first.value, "value", None), str):
                lines |= set(range(first.lineno, (first.end_lineno or 0) + 1))
    return lines


def function_lengths(path: Path) -> list[int]:
    """Return the lines of code of every function."""
    lines = code_lines(path)
    functions = (n for n in ast.walk(ast.parse(path.read_text("utf-8"))) if isinstance(n, ast.FunctionDef))
    return [sum(line in lines for line in range(f.lineno, (f.end_lineno or 0) + 1)) for f in functions]


def questions(path: Path) -> list[ast.Call]:
    """Return the calls that ask an object what it is: isinstance, hasattr, getattr with a default."""
    calls = (n for n in ast.walk(ast.parse(path.read_text("utf-8"))) if isinstance(n, ast.Call))
    asking = (call for call in calls if isinstance(call.func, ast.Name) and call.func.id in ASKING)
    return [call for call in asking if ast.unparse(call.func) != "getattr" or len(call.args) == 3]


def is_about_a_piece(call: ast.Call) -> bool:
    """Whether a call asks for a class of the model room, or asks a piece, by the name of the variable."""
    wanted = {getattr(n, "id", getattr(n, "attr", "")) for n in ast.walk(call.args[1])}
    last = ast.unparse(call.args[0]).rpartition(".")[2]
    return last in PIECES or not wanted.isdisjoint(classes_of_the_model())


@cache
def classes_of_the_model() -> set[str]:
    """Return the names of the classes in the model room."""
    trees = (ast.parse(path.read_text("utf-8")) for path in (SOURCE / "model").rglob("*.py"))
    return {n.name for tree in trees for n in ast.walk(tree) if isinstance(n, ast.ClassDef)}


@dataclass
class Calls:
    """What an action ran: classes whose methods ran, code of functions, and how often each was called."""

    classes: set[str] = field(default_factory=set)
    codes: set[CodeType] = field(default_factory=set)
    counts: Counter[str] = field(default_factory=Counter)

    @property
    def modules(self) -> set[Path]:
        """Files of the functions."""
        return {Path(code.co_filename) for code in self.codes}

    def lines(self, path: Path) -> frozenset[int]:
        """Lines of code of a file that belong to functions that ran."""
        mine = (code for code in self.codes if Path(code.co_filename) == path)
        ran = (range(code.co_firstlineno, last_line(code) + 1) for code in mine)
        return code_lines(path) & set().union(*ran)


def last_line(code: CodeType) -> int:
    """Return the last line of a function."""
    inner = (last_line(const) for const in code.co_consts if isinstance(const, CodeType))
    return max([code.co_firstlineno, *(line for *_, line in code.co_lines() if line), *inner])


def calls_in(action: Callable[[], object]) -> Calls:
    """Run ``action``, and return what it ran of the library."""
    counts: Counter[CodeType] = Counter()

    def watch(frame: FrameType, event: str, _: object) -> None:
        if event == "call":
            counts[frame.f_code] += 1

    sys.setprofile(watch)
    try:
        action()
    finally:
        sys.setprofile(None)
    calls, root = Calls(), str(SOURCE)
    for code in (code for code in counts if code.co_filename.startswith(root)):
        calls.codes.add(code)
        calls.counts[code.co_name] += counts[code]
        outer = code.co_qualname.split(".<locals>")[0].rpartition(".")[0]
        if outer:
            calls.classes.add(f"{Path(code.co_filename).stem}.{outer}")
    return calls


def small_crowd() -> tuple[np.ndarray, np.ndarray]:
    """Return features and labels of a small crowd."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(120, 3))
    truth = (X[:, 0] > 0).astype(float)
    y = np.where(rng.random((120, 4)) < 0.8, truth[:, None], 1 - truth[:, None])
    y[80:] = np.nan
    return X, y


def main() -> None:
    """Print the counts."""
    files = modules()
    lengths = [length for path in files for length in function_lengths(path)]
    total = {path: len(code_lines(path)) for path in files}
    print(f"lines of code          {sum(total.values())}")
    print(f"modules                {len(files)}")
    print(f"longest file           {max((len(p.read_text('utf-8').splitlines()), p.name) for p in files)}")
    print(f"functions              median {median(lengths)}, 90 % up to {quantiles(lengths, n=10)[-1]:g}")
    rooms: Counter[str] = Counter()
    counts: Counter[str] = Counter()
    for path in files:
        room = path.relative_to(SOURCE).parts[0]
        rooms[room] += total[path]
        counts[room] += 1
    for room in sorted(rooms):
        print(f"  {room:20} {rooms[room]:6} lines, {counts[room]:3} modules")
    asked = {
        room: [call for path in (SOURCE / room).rglob("*.py") for call in questions(path)]
        for room in ("model", "fit", "estimators")
    }
    pieces = {room: sum(map(is_about_a_piece, calls)) for room, calls in asked.items()}
    print(f"isinstance, hasattr, getattr(…, default): {sum(map(len, asked.values()))} in all")
    print(f"  about pieces: {pieces}, {sum(pieces.values())} in all")

    fits = fits_of_both_classifiers()
    for name, calls in fits.items():
        checks = calls.counts["check_features"]
        print(f"{name}().fit: {len(calls.classes)} classes, {len(calls.modules)} modules, {checks} checks of X")
        print("   " + ", ".join(sorted(calls.classes)))
    print(f"model + fit + functions that run in both fits: {lines_of_path(fits)} lines")
    with tempfile.TemporaryDirectory() as folder:
        print(f"whoknows fit: {calls_of_whoknows_fit(Path(folder)).counts['check_features']} checks of X")


def fits_of_both_classifiers() -> dict[str, Calls]:
    """Return what the fits of both classifiers run, with default settings."""
    from whoknows import AutoCrowdClassifier, CrowdClassifier

    X, y = small_crowd()
    return {cls.__name__: calls_in(lambda cls=cls: cls().fit(X, y)) for cls in (CrowdClassifier, AutoCrowdClassifier)}


def calls_of_whoknows_fit(folder: Path) -> Calls:
    """Return what ``whoknows fit`` runs on files of a small crowd."""
    from whoknows.apps.cli import app

    X, y = small_crowd()
    labels = [f"{item},{t},{y[item, t]:g}" for item, t in np.argwhere(np.isfinite(y)).tolist()]
    features = [",".join(map(str, [item, *x])) for item, x in enumerate(X.tolist())]
    (folder / "labels.csv").write_text("\n".join(["item,annotator,label", *labels]))
    (folder / "features.csv").write_text("\n".join(["item,a,b,c", *features]))
    files = [str(folder / "labels.csv"), "--features", str(folder / "features.csv")]
    arguments = ["fit", *files, "--model", "id", "--out", str(folder / "out"), "--quiet"]
    return calls_in(lambda: app(arguments, standalone_mode=False))


def lines_of_path(fits: dict[str, Calls]) -> int:
    """Return the lines of code of model and fit, and of all other functions that run in the fits."""
    total = 0
    for path in modules():
        inside = path.relative_to(SOURCE).parts[0] in ("model", "fit")
        total += len(code_lines(path) if inside else set().union(*(calls.lines(path) for calls in fits.values())))
    return total


if __name__ == "__main__":
    main()
