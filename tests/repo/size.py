"""Counts of the source: ``python -m tests.repo.size`` prints them, `test_size.py` holds them to limits.

A line of code has a token other than a comment or a docstring on it. Functions are counted without their
docstrings, from ``def`` to their last line.
"""

from __future__ import annotations

import ast
import io
import sys
import tokenize
from collections import Counter
from pathlib import Path
from statistics import median, quantiles

import numpy as np

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "src" / "whoknows"
QUIET = {tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT}
ASKING = {"isinstance", "hasattr", "getattr"}


def modules() -> list[Path]:
    """Return every source file."""
    return sorted(SOURCE.rglob("*.py"))


def code_lines(path: Path) -> set[int]:
    """Return the numbers of the lines that hold code."""
    text = path.read_text("utf-8")
    lines: set[int] = set()
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type not in QUIET:
            lines |= set(range(token.start[0], token.end[0] + 1))
    return {line for line in lines - docstring_lines(ast.parse(text)) if line <= text.count("\n")}


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
    return [len(lines & set(range(f.lineno, (f.end_lineno or 0) + 1))) for f in functions]


def questions(path: Path) -> int:
    """Return how often a file asks an object what it is: isinstance, hasattr, getattr with a default."""
    calls = (n for n in ast.walk(ast.parse(path.read_text("utf-8"))) if isinstance(n, ast.Call))
    names = ((call.func.id, len(call.args)) for call in calls if isinstance(call.func, ast.Name))
    return sum(name in ASKING and (name != "getattr" or n_args == 3) for name, n_args in names)


def calls_in(action) -> tuple[set[str], set[str], Counter[str]]:
    """Run ``action``; return the classes whose methods ran, the modules, and the calls of each function."""
    classes: set[str] = set()
    files: set[str] = set()
    calls: Counter[str] = Counter()

    def watch(frame, event, _):
        code = frame.f_code
        if event != "call" or not code.co_filename.startswith(str(SOURCE)):
            return
        files.add(code.co_filename)
        calls[code.co_name] += 1
        outer = code.co_qualname.split(".<locals>")[0].rpartition(".")[0]
        if outer:
            classes.add(f"{Path(code.co_filename).stem}.{outer}")

    sys.setprofile(watch)
    try:
        action()
    finally:
        sys.setprofile(None)
    return classes, files, calls


def small_crowd():
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
    rooms = Counter()
    counts = Counter()
    for path in files:
        room = path.relative_to(SOURCE).parts[0]
        rooms[room] += total[path]
        counts[room] += 1
    for room in sorted(rooms):
        print(f"  {room:20} {rooms[room]:6} lines, {counts[room]:3} modules")
    asked = {
        room: sum(map(questions, (SOURCE / room).rglob("*.py"))) for room in ("model", "fit", "estimators")
    }
    print(f"isinstance, hasattr, getattr(…, default): {asked}, {sum(asked.values())} in all")

    from whoknows import AutoCrowdClassifier, CrowdClassifier

    X, y = small_crowd()
    fits = {}
    for estimator in (CrowdClassifier(), AutoCrowdClassifier()):
        classes, used, calls = calls_in(lambda estimator=estimator: estimator.fit(X, y))
        fits[type(estimator).__name__] = used
        print(
            f"{type(estimator).__name__}().fit: {len(classes)} classes in {len(used)} modules, "
            f"check_features {calls['check_features']} times"
        )
        print("   " + ", ".join(sorted(classes)))
    path_of_fit = {Path(name) for used in fits.values() for name in used}
    core = {p for p in files if p.relative_to(SOURCE).parts[0] in ("model", "fit")} | path_of_fit
    print(f"model + fit + the path of both fits: {sum(total[p] for p in core)} lines")


if __name__ == "__main__":
    main()
