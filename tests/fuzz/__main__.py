"""``python -m tests.fuzz --seconds 600 --seed 0``: counts of what random input led to."""

from __future__ import annotations

import argparse
import sys

from tests.fuzz.runner import main

if __name__ == "__main__":
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    parser.add_argument("--seconds", type=float, default=600, help="how long to go on")
    parser.add_argument("--seed", type=int, default=0, help="of the random inputs")
    parser.add_argument("--only", default="", help="part of the names of the targets to run")
    parser.add_argument("--case", help="one case to repeat, with its traceback")
    options = parser.parse_args()
    sys.exit(main(options.seconds, options.seed, options.case, options.only))
