"""Excel workbooks (.xlsx) as text tables, through openpyxl (extra ``excel``)."""

from __future__ import annotations

import csv
import io
import zipfile
from datetime import datetime, time
from typing import Any

from whoknows.data.vocabulary import show
from whoknows.io.encoding import ZIP, allowed_size, refuse_expansion
from whoknows.io.errors import FileError, Path, reading

_PART = b"xl/workbook.xml"  # a member of every workbook; names are not compressed
_PROBLEM = "is damaged, or is not an Excel workbook ({}). Save it again, as .xlsx or CSV."


def is_workbook(data: bytes) -> bool:
    """Whether these are the bytes of an Excel workbook, and not of another zip archive."""
    return data.startswith(ZIP) and _PART in data


def read_sheet(data: bytes, path: Path) -> tuple[str, list[str]]:
    """Return the first sheet that holds something, as CSV, and notes on the others."""
    try:
        import openpyxl
    except ImportError:
        raise FileError(path, "needs openpyxl. Run: pip install 'whoknows[excel]'") from None
    with reading(path, _PROBLEM, Exception):  # openpyxl has no errors of its own for damaged files
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            size = sum(info.file_size for info in archive.infolist())
        refuse_expansion(size, allowed_size(len(data)), path)
        book = openpyxl.load_workbook(io.BytesIO(data), read_only=True, data_only=True)
        texts = {sheet.title: _text(sheet) for sheet in book.worksheets}
    filled = [title for title, text in texts.items() if text.strip(',"\r\n ')]
    if not filled:
        raise FileError(path, "is an empty workbook.")
    others = f"; other sheets are not read: {show(filled[1:])}" if filled[1:] else ""
    notes = [f"sheet {filled[0]!r} of the workbook is read{others}"] if others else []
    return texts[filled[0]], notes


def _text(sheet: Any) -> str:
    """Return the cells of a sheet as CSV; formulas as the values that Excel has computed."""
    sheet.reset_dimensions()  # those that the file declares may be anything
    rows = [[*map(_cell, row)] for row in sheet.iter_rows(values_only=True)]
    width, out = max(map(len, rows), default=0), io.StringIO()
    full = (row + [""] * (width - len(row)) for row in rows if any(row))
    csv.writer(out, lineterminator="\n").writerows(full)
    return out.getvalue()


def _cell(value: Any) -> str:
    """Return a cell as text; days without their time."""
    if isinstance(value, datetime) and value.time() == time(0):
        return value.date().isoformat()
    return "" if value is None else str(value)
