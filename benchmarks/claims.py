"""Check that README.md, the pages of results and tables of the docs follow from the CSV files, and tell their commits.

    python -m benchmarks.claims [--one-commit]

Lists every figure of README.md's comparison, every page of results with its tables, every other table of the docs
that has a CSV file, and for each CSV file the commits that its rows were measured at. The exit status is 1 if a page
differs from what the files give, and with ``--one-commit`` also if the rows of all files are not from one commit.
"""

import argparse
import re
import sys
from collections import Counter
from pathlib import Path

import pandas as pd

from benchmarks import doc_tables, page, readme
from benchmarks.common.command import RESULTS
from benchmarks.common.machine import ROOT, git
from benchmarks.parts import PARTS

NUMBER = re.compile(r"\d+(?:\.\d+)?")
AGAIN = "Run python -m benchmarks.page, and look at what changes."


def since(commit: str) -> str:
    """How many commits changed the library after this one."""
    count = git(ROOT, "rev-list", "--count", f"{commit}..HEAD", "--", "src/whoknows")
    return f", library changed in {count} commits since" if count else ""


def files(results: Path) -> dict[str, pd.DataFrame]:
    """Rows of each CSV file in the folder of results, by its name."""
    found = {part.file: part.read(results) for part in PARTS.values() if part.is_there(results)}
    tables = (doc_tables.file_of(name, results) for name in doc_tables.TABLES)
    return {file.relative_to(results).as_posix(): pd.read_csv(file, dtype=str) for file in tables} | found


def provenance(results: Path) -> tuple[list[str], set[str]]:
    """One line per CSV file and commit that rows were measured at, and all commits."""
    lines, every = [], set()
    for name, rows in files(results).items():
        found = Counter(rows["commit"])
        lines += [f"    {name}: {n} rows at {commit}{since(commit.rstrip('+'))}" for commit, n in found.most_common()]
        every |= set(found)
    return lines, every


def tables_of_docs() -> list[str]:
    """One line per table of the docs: its page, and its file."""
    tables = doc_tables.TABLES.items()
    return [
        f"    docs/{table.page}: {name} [{doc_tables.file_of(name).relative_to(RESULTS)}]" for name, table in tables
    ]


def stale(results: Path, out: Path) -> list[Path]:
    """Pages that are not what the CSV files give."""
    written = page.pages(results, out)
    written[readme.README] = readme.with_comparison(readme.README.read_text("utf-8"), results)
    written |= doc_tables.pages(results)
    return [file for file, text in written.items() if not file.exists() or file.read_text("utf-8") != text]


def figures_of_readme(results: Path) -> list[str]:
    """Every figure of the comparison in README.md with its files; several lines if it is a table."""
    lines = []
    for figure in readme.figures(results):
        lines += [f"    {text}" for text in figure.text.splitlines()]
        lines[-1] += f"  {figure.what} [{', '.join(figure.files)}]"
    return lines


def figures_of_pages(out: Path) -> list[str]:
    """One line per page of results: how many numbers it has, and from which files."""
    lines = []
    for name, topic in page.TOPICS.items():
        file = out.with_suffix("") / f"{name}.md"
        numbers = NUMBER.findall(file.read_text("utf-8")) if file.exists() else []
        sources = [PARTS[part].file for part in topic.parts] or ["all files"]
        lines.append(f"    {file.relative_to(ROOT)}: {len(numbers)} numbers [{', '.join(sources)}]")
    return lines


def main() -> None:
    command = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    command.add_argument("--one-commit", action="store_true", help="fail if the rows are of several commits")
    options = command.parse_args()
    print("README.md", *figures_of_readme(RESULTS), "Pages of results", *figures_of_pages(page.PAGE), sep="\n")
    lines, every = provenance(RESULTS)
    print("Tables of the docs", *tables_of_docs(), "CSV files", *lines, sep="\n")
    wrong = stale(RESULTS, page.PAGE)
    if wrong:
        names = ", ".join(str(file.relative_to(ROOT)) for file in wrong)
        print(f"NOT what the CSV files give: {names}. {AGAIN}")
    else:
        print("README.md, all pages of results and these tables are what the CSV files give.")
    if len(every) > 1:
        print(f"The rows are of {len(every)} commits, not of one state of the code: {', '.join(sorted(every))}.")
    sys.exit(bool(wrong) or (options.one_commit and len(every) > 1))


if __name__ == "__main__":
    main()
