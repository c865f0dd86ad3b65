"""Messages of the library in the words of the command line."""

from __future__ import annotations

import re

TEXTS_NEED = "Texts need TextFeatures."

_FLAGS = (
    (r"columns=\{'(\w+)': '([^']*)'\}", r"--column \1='\2'"),
    (r"columns=\{'(\w+)': \.\.\.\}", r"--column \1=..."),
    (
        r"columns=\{'item': \.\.\., 'annotator': \.\.\., 'label': \.\.\.\}",
        "--column item=... --column annotator=... --column label=...",
    ),
    (r"\bwith size_limit\(bytes\)", "--max-size 8GB"),
    (r"\bpredictions=True", "--predictions"),
    (r"\bmissing_label=", "--missing "),
    (r"\bformat=\.\.\.", "--format ..."),
    (r"\bvector=\.\.\.", "--vector ..."),
    (r"\bduplicates='", "--duplicates '"),
    (re.escape(TEXTS_NEED), "If it is text, say --text with the name of the column."),
    (
        r"name both with Annotations\.from_\.\.\.\(…, labels=\[…, …\]\)\.",
        "name an item of it with --gold FILE; if this is the wrong column, say --column label=NAME.",
    ),
    (r"use Annotations\.from_matrix\(y, missing_label=-1\)", "say --missing=-1"),
    (
        r"\b(?:Item|Annotation)Folds\(n_splits=(\d+)\) needs as many ([\w ]+); y has",
        r"--folds \1 needs as many \2; there are",
    ),
    (r"Use fewer splits\b", "Use fewer folds"),
    (r"not in (item|annotator|label)s=", r"not among the known \1s"),
    (r"\b(item|annotator|label)s= holds", r"the known \1s are"),
    (r"Turn both into one kind, e\.g\. with \.astype\(str\)\.", "Write both in one way."),
    (r"are written by model\.save\(path\)\.", "are written by whoknows fit, as model.whoknows."),
    (r"\blevels=\[…\]", "--levels A,B,C"),
    (r"\blevels='", "--levels '"),
    (r"\btruth='ordered'", "--model ordered"),
    (r"Use CrowdRegressor;", "Say --model regression;"),
    (r"^CrowdRegressor needs", "--model regression needs"),
    (r"use CrowdClassifier;", "take another --model;"),
    (r"\bid_column=\.\.\.", "--id-column ..."),
    (r"\bmax_iter=(\d+) iterations", r"\1 iterations"),
    (r"Raise max_iter, or tol=\S+ if that is enough\.", "Raise --max-iter if that matters."),
)


def count(n: int, noun: str) -> str:
    """Say "1 item", "2 items".

    >>> count(1, "item"), count(2, "item")
    ('1 item', '2 items')
    """
    return f"{n} {noun}" if n == 1 else f"{n} {noun}s"


def in_flags(text: str) -> str:
    """Say with the options of the command line what a message says with arguments of Python.

    >>> in_flags("Say which one: columns={'label': 'mood'}.")
    "Say which one: --column label='mood'."
    """
    for pattern, flag in _FLAGS:
        text = re.sub(pattern, flag, text)
    return text
