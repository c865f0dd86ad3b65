"""Write docs/results.md from the CSV files of the benchmarks.

    python -m benchmarks.page [--results benchmarks/results] [--out docs/results.md]

Every number on the page is computed from those files. A benchmark without a file is shown as not run yet.
"""

import argparse
import json
import os
import re
from pathlib import Path

import pandas as pd

from benchmarks.common.command import RESULTS
from benchmarks.common.machine import hardware
from benchmarks.common.tables import fixed, markdown
from benchmarks.overview import overview
from benchmarks.paper import claims, protocol
from benchmarks.parts import PARTS, Part

ROOT = Path(__file__).parents[1]
PAGE, DATA_SETS = ROOT / "docs" / "results.md", ROOT / "docs" / "data_sets.md"
LINK = re.compile(r"!\[[^\]]*\]\(([^)]+)\)")  # of an image


def section(part: Part, results: Path, out: Path) -> str:
    """Heading, description, pictures and tables of a benchmark."""
    if not part.is_there(results):
        return f"## {part.heading}\n\nNot run yet (`python -m {part.module}`)."
    note = f"**Not complete: {part.done(results)} of {part.draws} draws.**"
    pictures = [f"![{words}]({relative(results / name, out)})" for name, words in part.images]
    body = part.body((results / part.file).parent)
    words = [f"## {part.heading}", *([] if part.is_complete(results) else [note]), part.how, *pictures, body]
    return "\n\n".join(words)


# --- how the numbers were made --------------------------------------------------------------------------


def machines(results: Path, part: Part) -> list[dict[str, str]]:
    """Machines that a benchmark ran on."""
    path = results / Path(part.file).with_suffix(".machine.json")
    return json.loads(path.read_text("utf-8")) if path.exists() else []


def effort(results: Path) -> str:
    """One row per benchmark: draws done, CPU time, commits, machine."""
    rows = {}
    for part in PARTS.values():
        if part.is_there(results):
            cells = part.read(results)
            ran_on = [hardware(machine) for machine in machines(results, part)] or cells["machine"]
            rows[part.heading] = [
                f"{part.done(results)} of {part.draws}",
                f"{fixed(cells[part.seconds].sum() / 3600, 1)} h",
                commits(cells),
                "; ".join(dict.fromkeys(ran_on)),
            ]
    columns = ["draws", "CPU time", "measured at commit", "machine"]
    table = pd.DataFrame.from_dict(rows, orient="index", columns=columns)
    return markdown(table.rename_axis("benchmark"), words=True) if rows else "Nothing was run yet."


def commits(cells: pd.DataFrame) -> str:
    """Commits that the rows were measured at, if they carry them."""
    return ", ".join(dict.fromkeys(cells["commit"])) if "commit" in cells else "not recorded"


def software(results: Path) -> str:
    """Versions of the libraries, without repetitions."""
    every = [machine for part in PARTS.values() for machine in machines(results, part)]
    known = ("processor", "cores", "memory", "system")
    versions = [f"{name} {m[name]}" for m in every for name in m if name not in known]
    return f"Versions: {', '.join(dict.fromkeys(versions))}.\n\n" if versions else ""


HOW = """\
- **Seeds.** Simulated labelers, folds and labels of the paper's data sets are drawn with seeds from {seed}
  upwards; smaller seeds were used to choose the library's defaults. The simulated study and the real crowds
  have their own seeds, stated in their modules. Standard errors treat repeats × folds as independent. They
  are not, so the standard errors are somewhat too small.
- **Truth** is used to stratify folds and to compute scores. No method sees it. Only "single annotator, best"
  is selected by it.
- **The paper's baselines.** Logistic regression with scikit-learn's defaults on standardised features,
  trained on the majority vote or on one annotator. "Single annotator, mean" averages over annotators. ML
  original has Gaussian annotators, as in the paper, and the library's fixed priors. SVM-light is replaced by
  a transductive linear SVM of this library; its penalty and the weight of unlabelled items are chosen by grid
  search on held-out votes, as in the paper.
- **Other packages** run with default settings. Methods without a classifier are followed by logistic
  regression on their consensus. With many features its default penalty is too weak, so the vote, Dawid-Skene
  and CROWDLAB are also shown with a penalty tuned by cross-validation ("tuned LR").
- **Preprocessing.** `AutoCrowdClassifier` takes square roots of skewed columns; the baselines and other
  packages of Figs. 3 to 5 and of the real crowds get standardised columns, which favours it. "Stronger
  rivals" and "Who is right where" give everybody the same.
- **This library** runs with default settings. `AutoCrowdClassifier` weights its members by annotations that
  it holds out itself.
- **Clusters.** The paper's labelers are experts on one of five k-means clusters. Some members of
  `AutoCrowdClassifier` let expertise vary between four or eight k-means clusters, so Fig. 3 favours them.
- **What was tuned on what.** The library's defaults (maps, priors, members and how they are averaged) were
  chosen by looking at the truth of the paper's seven data sets, digits, two moons and these real crowds.
  Rules were chosen on other draws of labelers, folds and labels than those reported here, except for LabelMe
  with all labels, which has only one draw. The reported results were also inspected several times during
  development and guided it. So trust differences between our own models less than differences to the
  baselines, and do not read these results as results on unseen data. No baseline was weakened, and no draw,
  cell or data set was selected or left out.
- **Reproducing.** `python -m benchmarks.reproduce` re-runs a sample of the published rows and compares every
  digit.
"""

INTRODUCTION = """\
# Results

<!-- Written by `python -m benchmarks.page` from the CSV files of the benchmarks. Do not edit. -->

This page reports the paper's experiments repeated with this library, a comparison with other packages on real
crowds and with stronger rivals, how well each method knows who is right where, the gain from unlabelled
items, and run time and memory. All numbers are computed from the CSV files in `{results}`, which
have one row per fit. A test checks that docs/results.md agrees with them.
{machine}

```sh
make bench        # everything; takes hours, and continues where it was stopped
make bench-quick  # a small part in minutes; writes a page like this one to benchmarks/results-quick
```

`WHOKNOWS_DATA` names the folder of the [data sets]({data_sets}); without it, some of them are downloaded.
"""


def page(results: Path, out: Path) -> str:
    """The whole page; links are relative to ``out``, the file it is written to."""
    named = results.resolve()
    shown = named.relative_to(ROOT).as_posix() if named.is_relative_to(ROOT) else named.name
    every = [m for part in PARTS.values() for m in machines(results, part)]
    ran_on = " and on ".join(dict.fromkeys(map(hardware, every)))
    machine = f"The benchmarks ran on {ran_on}." if ran_on else "Nothing was run yet."
    sections = [section(part, results, out) for part in PARTS.values()]
    judged = f"## Which of the paper's claims hold\n\n{claims.page(results / 'paper')}"
    parts = [
        INTRODUCTION.format(results=shown, machine=machine, data_sets=relative(DATA_SETS, out)).rstrip(),
        overview(results),
        *sections[:2],
        judged,
        *sections[2:],
        f"## How the numbers were made\n\n{effort(results)}",
        software(results) + HOW.format(seed=protocol.SEED).rstrip(),
    ]
    return "\n\n".join(filter(None, parts)) + "\n"


def relative(path: Path, out: Path) -> str:
    """Return a path as a link on the page."""
    return Path(os.path.relpath(path.resolve(), out.resolve().parent)).as_posix()


def main():
    command = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    command.add_argument("--results", type=Path, default=RESULTS, metavar="FOLDER", help="folder of the CSV files")
    command.add_argument("--out", type=Path, default=PAGE, metavar="FILE", help="page to write")
    options = command.parse_args()
    text = page(options.results, options.out)
    missing = [link for link in LINK.findall(text) if not (options.out.parent / link).exists()]
    if missing:
        raise SystemExit(
            f"{', '.join(missing)}: not drawn yet. Run python -m benchmarks.paper.charts and "
            "python -m benchmarks.crowds.charts first."
        )
    options.out.write_text(text, encoding="utf-8")
    print(options.out)


if __name__ == "__main__":
    main()
