"""Run the command line in this process, and write small input files."""

import csv
import json
import os
from pathlib import Path
from types import SimpleNamespace

import numpy as np
from typer.testing import CliRunner

from whoknows.apps.cli import app

ALL_FILES = {"annotators.csv", "consensus.csv", "model.whoknows", "report.html", "settings.toml", "summary.json"}
LARGE_FILES = (ALL_FILES - {"consensus.csv"}) | {"consensus.parquet"}  # of an out-of-core fit


def run(*args, code=0):
    """Run `whoknows ARGS`; return what it printed on standard output and error."""
    result = CliRunner().invoke(app, [str(arg) for arg in args], catch_exceptions=False)
    assert result.exit_code == code, result.stdout + result.stderr
    return SimpleNamespace(out=result.stdout, err=result.stderr)


def failure(*args, code):
    """Run a command that fails; return its one message, on standard error, without line ends."""
    said = run(*args, code=code)
    assert said.out == ""
    assert "Traceback" not in said.err
    return " ".join(said.err.replace("│", " ").split())


def as_json(*args, code=0):
    """Run a command with --json; return the one object it prints."""
    return json.loads(run(*args, "--json", code=code).out)


def table(path):
    """Rows of a CSV file, each a dict."""
    with open(path, encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def write(path, text):
    path = Path(path)
    path.write_text(text, "utf-8")
    return path


def contents(folder):
    """Every file under a folder and its bytes."""
    return {p.relative_to(folder).as_posix(): p.read_bytes() for p in Path(folder).rglob("*") if p.is_file()}


def make_crowd(folder, n=60, seed=0):
    """Write labels.csv, features.csv and truth.csv: three annotators, two thirds of the items labelled."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))
    truth = np.where(X[:, 0] > 0, "yes", "no")
    rows = ["item,annotator,label"]
    for i in range(0, n - n // 3):
        for who, error in (("anna", 0.0), ("bob", 0.2), ("cleo", 0.4)):
            if rng.random() < 0.8:
                label = truth[i] if rng.random() >= error else {"yes": "no", "no": "yes"}[truth[i]]
                rows.append(f"i{i:02d},{who},{label}")
    write(os.path.join(folder, "labels.csv"), "\n".join(rows) + "\n")
    cells = [f"i{i:02d},{','.join(f'{x:.3f}' for x in X[i])}" for i in range(n)]
    write(os.path.join(folder, "features.csv"), "\n".join(["item,size,weight,age", *cells]) + "\n")
    write(
        os.path.join(folder, "truth.csv"), "\n".join(["item,truth", *(f"i{i:02d},{truth[i]}" for i in range(n))]) + "\n"
    )
    return Path(folder)


def fit_small(files, out):
    """Fit the files of `make_crowd` with the fastest model; return what was printed."""
    return run("fit", files / "labels.csv", "--features", files / "features.csv", "--model", "id", "--out", out)
