"""Write docs/results.md, the pages in docs/results and the comparison in README.md from the CSV files.

    python -m benchmarks.page [--results benchmarks/results] [--out docs/results.md]

Every number on the pages is computed from those files. A benchmark without a file is shown as not run yet.
README.md is written only with the default options. `python -m benchmarks.claims` checks all of them.
"""

import argparse
import json
import os
import re
from dataclasses import dataclass
from pathlib import Path

import pandas as pd

from benchmarks import doc_tables, readme
from benchmarks.common.command import RESULTS
from benchmarks.common.tables import fixed, markdown
from benchmarks.overview import conclusions, paper_summary
from benchmarks.paper import claims, protocol
from benchmarks.parts import PARTS, Part

ROOT = Path(__file__).parents[1]
PAGE, DATA_SETS = ROOT / "docs" / "results.md", ROOT / "docs" / "data_sets.md"
LINK = re.compile(r"!\[[^\]]*\]\(([^)]+)\)")  # of an image
WRITTEN = "<!-- Written by `python -m benchmarks.page` from the CSV files of the benchmarks. Do not edit. -->"


@dataclass(frozen=True)
class Topic:
    """A page of results: its heading, what it tells the reader, and the benchmarks on it."""

    heading: str
    tells: str
    parts: tuple[str, ...] = ()


TOPICS = {
    "paper": Topic(
        "The paper's data sets",
        "how accurate the models are on the data sets of the paper, compared with its baselines",
        ("figure3",),
    ),
    "medical": Topic(
        "Medical studies", "what replaces the paper's cardiac study, and how the methods do there", ("figures45",)
    ),
    "claims": Topic("Claims of the paper", "which claims of the paper hold in these experiments, and which do not"),
    "crowds": Topic(
        "Real crowds", "how the library compares with other packages on labels of real annotators", ("crowds",)
    ),
    "rivals": Topic(
        "Stronger rivals", "what is left of the lead if every method has the same preprocessing", ("rivals",)
    ),
    "who_is_right": Topic(
        "Who is right where", "how well each method predicts which labels are right", ("who_is_right",)
    ),
    "unlabelled": Topic("Unlabelled items", "when items without labels help", ("unlabelled",)),
    "speed": Topic("Speed and memory", "how long a fit takes, and how much memory it needs", ("speed", "engines")),
    "method": Topic(
        "How the numbers were made",
        "which seeds, settings and commits the numbers are from, and what the defaults were chosen on",
    ),
}


def section(part: Part, results: Path, out: Path, lead: str = "") -> str:
    """Description of a benchmark, what it shows (``lead``), pictures and tables."""
    if not part.is_there(results):
        return f"Not run yet (`python -m {part.module}`)."
    note = f"**Not complete: {part.done(results)} of {part.draws} draws.**"
    pictures = [f"![{words}]({relative(results / name, out)})" for name, words in part.images]
    body = part.body((results / part.file).parent)
    return "\n\n".join(
        [*([] if part.is_complete(results) else [note]), part.how, *filter(None, [lead]), *pictures, body]
    )


def topic_page(name: str, results: Path, out: Path) -> str:
    """A page of one topic; ``out`` is the file that it is written to."""
    topic = TOPICS[name]
    parts = [PARTS[part] for part in topic.parts]
    if name == "claims":
        body = [RULED, claims.page(results / "paper")]
    elif name == "method":
        body = [effort(results), software(results) + HOW.format(seed=protocol.SEED).rstrip()]
    elif len(parts) == 1:
        lead = paper_summary(results) if name == "paper" else ""
        body = [section(parts[0], results, out, lead).replace("\n### ", "\n## ")]
    else:
        body = [f"## {part.heading}\n\n{section(part, results, out)}" for part in parts]
    return _joined(f"# {topic.heading}", WRITTEN, f"This page shows {topic.tells}.", *body)


def _joined(*parts: str) -> str:
    return "\n\n".join(filter(None, parts)) + "\n"


# --- how the numbers were made --------------------------------------------------------------------------


def effort(results: Path) -> str:
    """One row per benchmark: draws done, CPU time, commits, machine."""
    rows = {}
    for part in PARTS.values():
        if part.is_there(results):
            cells = part.read(results)
            rows[part.heading] = [
                f"`{part.file}`",
                f"{part.done(results)} of {part.draws}",
                f"{fixed(cells[part.seconds].sum() / 3600, 1)} h",
                ", ".join(dict.fromkeys(cells["commit"])),
                "; ".join(dict.fromkeys(cells["machine"])),
            ]
    columns = ["file", "draws", "CPU time", "measured at commit", "machine"]
    table = pd.DataFrame.from_dict(rows, orient="index", columns=columns)
    if not rows:
        return "Nothing was run yet."
    mixed = SEVERAL if len(set(table["measured at commit"])) > 1 else ""
    return "\n\n".join(filter(None, [markdown(table.rename_axis("benchmark"), words=True), mixed]))


def software(results: Path) -> str:
    """Versions of the libraries, without repetitions."""
    files = [results / Path(part.file).with_suffix(".machine.json") for part in PARTS.values()]
    every = [machine for file in files if file.exists() for machine in json.loads(file.read_text("utf-8"))]
    known = ("processor", "cores", "memory", "system")
    versions = [f"{name} {m[name]}" for m in every for name in m if name not in known]
    return f"Versions: {', '.join(dict.fromkeys(versions))}.\n\n" if versions else ""


SEVERAL = """\
The rows are of several states of the code, all of them older than the current one, so they do not show exactly
what the current version does. `python -m benchmarks.claims` names the commits, and how often the library has
changed since."""
RULED = """\
Each claim is quoted and judged for LGP, the model that the paper proposes, and for `AutoCrowdClassifier`
("whoknows (auto)"), by these rules:"""
HOW = """\
- **Seeds.** Simulated annotators, folds and labels of the paper's data sets are drawn with seeds from {seed}
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
- **Clusters.** The paper's annotators are experts on one of five k-means clusters. Some members of
  `AutoCrowdClassifier` let expertise vary between four or eight k-means clusters, so Fig. 3 favours them.
- **What was tuned on what.** The library's defaults (maps, priors, members and how they are averaged) were
  chosen by looking at the truth of the paper's seven data sets, digits, two moons and these real crowds.
  Rules were chosen on other draws of annotators, folds and labels than those reported here, except for LabelMe
  with all labels, which has only one draw. The reported results were also inspected several times during
  development and guided it. So trust differences between our own models less than differences to the
  baselines, and do not read these results as results on unseen data. No baseline was weakened, and no draw,
  cell or data set was selected or left out.
- **Reproducing.** `python -m benchmarks.reproduce` re-runs a sample of the published rows and compares every
  digit.
"""

INTRODUCTION = """\
This page sums up how accurate and how fast the library is, compared with the baselines of the paper and with
other packages; the pages below have all tables. All numbers are computed from the CSV files in `{results}`,
which have one row per fit. {machine}
"""

AGAIN = """\
## Repeat them

```sh
make bench        # everything; takes hours, and continues where it was stopped
make bench-quick  # a small part in minutes; writes pages like these to benchmarks/results-quick
```

`WHOKNOWS_DATA` names the folder of the [data sets]({data_sets}); without it, some of them are downloaded.
`python -m benchmarks.claims` lists the figures of README and of these pages with their files and commits, and
fails if one of them does not follow from its file."""


def front(results: Path, out: Path) -> str:
    """The first page: conclusions, and the other pages."""
    named = results.resolve()
    shown = named.relative_to(ROOT).as_posix() if named.is_relative_to(ROOT) else named.name
    parts = (part.read(results) for part in PARTS.values() if part.is_there(results))
    ran_on = " and on ".join(dict.fromkeys(machine for cells in parts for machine in cells["machine"]))
    machine = f"The benchmarks ran on {ran_on}." if ran_on else "Nothing was run yet."
    return _joined(
        "# Results",
        WRITTEN,
        INTRODUCTION.format(results=shown, machine=machine).rstrip(),
        *concluded(results),
        "## Pages",
        contents(out),
        AGAIN.format(data_sets=relative(DATA_SETS, out)),
    )


def concluded(results: Path) -> list[str]:
    """Return the paragraphs of the first page, one per topic, under a heading."""
    told = conclusions(results)
    topics = {part: topic for topic in TOPICS.values() for part in topic.parts} | {"claims": TOPICS["claims"]}
    return ["## Conclusions", *(f"**{topics[name].heading}.** {words}" for name, words in told.items())] if told else []


def contents(out: Path) -> str:
    """Table of the pages, for readers and for the navigation."""
    rows = {f"[{topic.heading}]({out.stem}/{name}.md)": f"{topic.tells}" for name, topic in TOPICS.items()}
    table = pd.DataFrame({"shows": rows}).rename_axis("page")
    tree = "\n".join(f"{out.stem}/{name}" for name in TOPICS)
    return f"{markdown(table, words=True)}\n\n```{{toctree}}\n:hidden:\n\n{tree}\n```"


def pages(results: Path, out: Path) -> dict[Path, str]:
    """Text of every page by its file; ``out`` is the first, the others are in a folder of its name."""
    files = {name: out.with_suffix("") / f"{name}.md" for name in TOPICS}
    return {out: front(results, out)} | {file: topic_page(name, results, file) for name, file in files.items()}


def relative(path: Path, out: Path) -> str:
    """Return a path as a link on the page."""
    return Path(os.path.relpath(path.resolve(), out.resolve().parent)).as_posix()


def main():
    command = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    command.add_argument("--results", type=Path, default=RESULTS, metavar="FOLDER", help="folder of the CSV files")
    command.add_argument("--out", type=Path, default=PAGE, metavar="FILE", help="page to write")
    options = command.parse_args()
    written = pages(options.results, options.out)
    links = [(link, file.parent / link) for file, text in written.items() for link in LINK.findall(text)]
    missing = [link for link, picture in links if not Path(os.path.normpath(picture)).exists()]
    if missing:
        raise SystemExit(
            f"{', '.join(missing)}: not drawn yet. Run python -m benchmarks.paper.charts and "
            "python -m benchmarks.crowds.charts first."
        )
    if (options.results, options.out) == (RESULTS, PAGE):
        written[readme.README] = readme.with_comparison(readme.README.read_text("utf-8"), options.results)
        written |= doc_tables.pages(options.results)
    for file, text in written.items():
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
        print(file)


if __name__ == "__main__":
    main()
