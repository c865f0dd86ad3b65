"""Data for the script of the page: all items with their labels, and the map, as compact JSON."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from whoknows.apps.charts import Html
from whoknows.apps.report.scales import CategoricalScale, scale_of
from whoknows.insight.summary import Summary
from whoknows.insight.summary.text import Facts, Table, class_columns

MAX_ITEMS = 20_000  # of a summary that does not say which items to list
FEW_CLASSES = 8  # whose probabilities are all listed
MAP = ("x", "y", "annotators", "skill", "labelled")


def script_data(summary: Summary, **more: Any) -> Html:
    """JSON that cannot close its script element, with more facts that the script needs."""
    scale, rows = scale_of(summary), listed_rows(summary)
    data = {
        "scale": scale.script,
        "n_items": summary.given["n_items"],
        "classes": summary.given["classes"],
        "items": _items(summary, rows),
        "map": _map(summary, rows, scale),
        **more,
    }
    return embedded_json(data)


def embedded_json(data: Any) -> Html:
    """JSON that cannot close the script element it is in."""
    text = json.dumps(data, ensure_ascii=True, allow_nan=False, separators=(",", ":"))
    return Html(text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026"))


def listed_rows(summary: Summary) -> Sequence[int]:
    """Items that are listed: all, unless there are very many."""
    n = len(summary.consensus["item"])
    known = summary.items.get("rows", range(min(n, MAX_ITEMS)))
    return range(n) if known is None else known


def _items(summary: Summary, rows: Sequence[int]) -> Facts:
    """Columns of the consensus, in which codes stand for classes, and the labels of the items."""
    consensus, classes = summary.consensus, summary.given["classes"]
    columns = {name: [column[row] for row in rows] for name, column in consensus.items()}
    probabilities = class_columns(classes) if len(classes) <= FEW_CLASSES else []
    certainty = "confidence" if classes else "std"
    return {
        **summary.items,
        "rows": None,
        "id": columns["item"],
        "consensus": _codes(columns["consensus"], classes),
        "certainty": _four_decimals(columns[certainty]) if classes else columns[certainty],
        "n_labels": columns["n_labels"],
        "vote": _codes(columns["vote"], classes),
        "overruled": _places(columns, "overruled"),
        "gold": _places(columns, "gold"),
        "p": [_four_decimals(columns[name]) for name in probabilities],
    }


def _codes(values: list[Any], classes: list[Any]) -> list[Any]:
    """Position of each value among the classes; numbers stay as they are."""
    code = {(type(name), name): k for k, name in enumerate(classes)}
    return [code.get((type(value), value)) for value in values] if classes else values


def _places(columns: Table, name: str) -> list[int]:
    """Positions of the items for which a column is true; none if there is no such column."""
    return [i for i, value in enumerate(columns.get(name, ())) if value not in (None, False)]


def _four_decimals(values: list[Any]) -> list[Any]:
    return [None if value is None else round(value, 4) for value in values]


def _map(summary: Summary, rows: Sequence[int], scale: CategoricalScale) -> Facts:
    """Where items lie, as positions in the list, and the skill of annotators there and on average."""
    facts, place = summary.map, {row: i for i, row in enumerate(rows)}
    if "row" not in facts:  # a summary of an earlier version knows items on the map by their ids
        row_of = {item: row for row, item in enumerate(summary.consensus["item"])}
        facts = facts | {"row": [row_of[item] for item in facts["item"]]}
    return {
        **{name: facts[name] for name in MAP},
        "place": [place[row] for row in facts["row"]],
        "domain": scale.domain(facts["domain"]),
        "mean": [profile[scale.skill_column] for profile in summary.profiles],
    }
