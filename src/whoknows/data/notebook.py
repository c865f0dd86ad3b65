"""Results as HTML tables, which notebooks show."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from html import escape


def html_table(title: str, cells: Mapping[str, Sequence[str]], notes: Iterable[str] = ()) -> str:
    """Return a table with a title above and notes below; columns of numbers are aligned right.

    >>> html_table("Two items", {"item": ["a", "b"]})
    '<div><p>Two items</p><table><thead><tr><th style="text-align: left">item</th></tr></thead><tbody>...
    """
    numbers = [all(cell[:1].isdigit() for cell in column) for column in cells.values()]
    styles = [f'style="text-align: {"right" if each else "left"}"' for each in numbers]

    def row(tag: str, texts: Iterable[str]) -> str:
        parts = (f"<{tag} {style}>{escape(text)}</{tag}>" for style, text in zip(styles, texts, strict=True))
        return f"<tr>{''.join(parts)}</tr>"

    body = "".join(row("td", texts) for texts in zip(*cells.values(), strict=True))
    table = f"<table><thead>{row('th', cells)}</thead><tbody>{body}</tbody></table>" if body else ""
    return f"<div><p>{escape(title)}</p>{table}{''.join(f'<p>{escape(note)}</p>' for note in notes)}</div>"
