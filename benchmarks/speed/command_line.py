"""Run time and memory of `whoknows fit` with default options, from files to report.

    python benchmarks/speed/command_line.py [--items 100000] [--features 64] [--labels 5] [--annotators 200]

The files are simulated: labels.csv and features.csv (or .npy with --npy). The command runs in its own
process, whose wall-clock and CPU seconds and peak memory are printed. `floor` is the time to read both files
as text.
"""

import argparse
import os
import platform
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
from scipy.special import expit


def make_files(folder, n_items, n_features, per_item, n_annotators, npy):
    """Write labels and features; return the arguments of `whoknows fit`."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n_items, n_features)).astype(np.float32)
    z = X[:, 0] + 0.5 * X[:, 1] * X[:, 2] > 0
    who = (np.arange(n_items * per_item) * 7 + np.repeat(rng.integers(n_annotators, size=n_items), per_item)) % (
        n_annotators
    )
    item = np.repeat(np.arange(n_items), per_item)
    right = rng.random(len(item)) < expit(1.2 + rng.normal(size=n_annotators)[who] + 0.5 * X[item, 3])
    labels = np.where(right, z[item], ~z[item]).astype(int)
    lines = (f"i{i:06},w{w:04},{s}\n" for i, w, s in zip(item, who, labels, strict=True))
    (folder / "labels.csv").write_text("item,annotator,label\n" + "".join(lines))
    names = [f"i{i:06}" for i in range(n_items)]
    if npy:
        np.save(folder / "features.npy", X)
        (folder / "items.csv").write_text("item\n" + "\n".join(names) + "\n")
        return ["labels.csv", "--features", "features.npy", "--items", "items.csv"]
    rows = (f"{name},{','.join(f'{x:.4f}' for x in row)}\n" for name, row in zip(names, X, strict=True))
    head = ",".join(["item", *(f"x{j}" for j in range(n_features))])
    (folder / "features.csv").write_text(f"{head}\n" + "".join(rows))
    return ["labels.csv", "--features", "features.csv"]


def run(folder, arguments):
    """Wall-clock seconds, CPU seconds and peak MB of the command."""
    whoknows = Path(sys.executable).with_name("whoknows")
    started = time.perf_counter()
    process = subprocess.Popen([whoknows, "fit", *arguments, "--out", "out", "--quiet"], cwd=folder)
    _, status, usage = os.wait4(process.pid, 0)
    if status:
        raise SystemExit(f"whoknows fit ended with status {os.waitstatus_to_exitcode(status)}")
    return time.perf_counter() - started, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--items", type=int, default=100_000)
    parser.add_argument("--features", type=int, default=64)
    parser.add_argument("--labels", type=int, default=5, help="labels per item")
    parser.add_argument("--annotators", type=int, default=200)
    parser.add_argument("--npy", action="store_true", help="write the features as a .npy matrix instead of CSV")
    options = parser.parse_args()
    print(f"Python {platform.python_version()}, numpy {np.__version__}, {os.cpu_count()} cores")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        sizes = options.items, options.features, options.labels, options.annotators
        arguments = make_files(folder, *sizes, options.npy)
        started = time.perf_counter()
        read = sum(len((folder / file).read_bytes().splitlines()) for file in arguments[::2])
        floor = time.perf_counter() - started
        seconds, processor, memory = run(folder, arguments)
        report = (folder / "out" / "report.html").stat().st_size / 1e6
    print(f"{options.items} items x {options.features}, {options.items * options.labels} labels, {read} lines")
    print(f"wall {seconds:.1f} s, CPU {processor:.1f} s, peak {memory:.0f} MB, report {report:.2f} MB")
    print(f"floor: reading the files {floor:.2f} s; ratio {seconds / floor:.0f}")


if __name__ == "__main__":
    main()
