"""Bytes of files, decompressed and decoded: sizes bounded, encodings detected, binary content refused."""

from __future__ import annotations

import codecs
import io
import os
import re
import stat
import struct
import zipfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

from whoknows.data.errors import Advice, InputError, Message
from whoknows.io.errors import FileError, Path, import_pyarrow, reading

MAX_SIZE = 1 << 29  # bytes that any file may decompress to
MAX_RATIO = 16  # a file may also decompress to this many times its own length: real data compress less
CELL = 8  # bytes that a value of a table takes at least once it is in memory
CSV_CELL = 30  # bytes that a cell of a text table takes while it is read, about
JSON_VALUE = 100  # bytes that a parsed JSON value takes, about
MAX_FILE = 1 << 30  # bytes of one file of labels
MAX_FEATURES = 1 << 34  # bytes of one file of features
MAX_LINE = 1 << 24  # characters of one line of CSV or JSONL

ZIP = (b"PK\x03\x04", b"PK\x05\x06")
_ZSTD = 93  # a method of packing that zipfile knows from Python 3.14 on
_METHODS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, _ZSTD)
_BROKEN = (zipfile.BadZipFile, zlib.error, struct.error, EOFError, RuntimeError, ValueError)
_NOT_UNPACKED = "cannot be unpacked ({}). Export it again, without a password."
_BLOCK = 1 << 20  # bytes decompressed at a time
_PART = 1 << 26  # bytes read at a time
_MARKS = ((codecs.BOM_UTF8, "utf-8"), (codecs.BOM_UTF16_LE, "utf-16-le"), (codecs.BOM_UTF16_BE, "utf-16-be"))
_NOT_TEXT = (
    (b"\x1f\x8b", "is compressed with gzip. Unpack it first"),
    (b"\xd0\xcf\x11\xe0", "is an Excel workbook of an old kind. Save it as .xlsx or CSV"),
    (b"%PDF", "is a PDF document. Export the data as CSV, JSON or Parquet"),
    (b"SQLite format 3", "is a SQLite database. Export the table as CSV"),
    (b"\x93NUMPY", "is a NumPy array, which can hold features but no annotations. Pass it as features"),
)
_CONTROL = re.compile("[\\x00-\\x08\\x0e-\\x1f\\x7f-\\x9f]")
_NAME_ENCODING = Advice("encoding", "encoding=...")
_RAISE_LIMIT = Advice("max_size", "with size_limit(bytes)")

_max_size: ContextVar[int | None] = ContextVar("max_size", default=None)


@contextmanager
def size_limit(max_size: int | None) -> Iterator[None]:
    """Set how many bytes a file that is read in this context may have, and may decompress to.

    A small compressed file can expand to more than any memory holds, so that what a file decompresses to is
    bounded: by 512 MiB, or by 16 times the length of the file if that is more.

    Parameters
    ----------
    max_size : int or None
        Number of bytes. None keeps the limit that is in force.

    Examples
    --------
    >>> from whoknows.io import read_labels, size_limit
    >>> with size_limit(8 << 30):
    ...     read_labels("nowhere.parquet")
    Traceback (most recent call last):
    ...
    whoknows.io.errors.FileError: nowhere.parquet: there is no such file.
    """
    if max_size is not None and max_size < 1:
        raise InputError(f"max_size must be a number of bytes of 1 or more; got {max_size}.")
    token = _max_size.set(_max_size.get() if max_size is None else max_size)
    try:
        yield
    finally:
        _max_size.reset(token)


def allowed_size(length: int) -> int:
    """Return the bytes that a file of this length may decompress to."""
    return _max_size.get() or max(MAX_SIZE, MAX_RATIO * length)


def refuse_expansion(size: int, limit: int, path: Path) -> None:
    """Refuse a file that takes more than the limit once it is decompressed or parsed."""
    if size > limit:
        raise FileError(
            path,
            f"takes more than {_amount(limit)} once decompressed or parsed, which is the limit. "
            "If you trust the file, raise the limit: ",
            _RAISE_LIMIT,
            ".",
        )


def refuse_large_json(text: str | bytes, path: Path) -> None:
    """Refuse JSON of so many values that they would fill the memory once parsed."""
    marks: Any = (b",", b"[", b"{") if isinstance(text, bytes) else (",", "[", "{")
    n_values: int = sum(text.count(mark) for mark in marks)
    refuse_expansion(JSON_VALUE * n_values, allowed_size(len(text)), path)


def refuse_many_cells(data: bytes, path: Path) -> None:
    """Refuse a text table in an archive if it has so many cells that reading them would take minutes."""
    limit = _max_size.get()
    if limit is not None:
        n_cells = data.count(b"\n") + max(map(data.count, b",;\t|"))
        refuse_expansion(CSV_CELL * n_cells, limit, path)


def _amount(size: int) -> str:
    return f"{size >> 20:,} MiB" if size >= 1 << 20 else f"{size} bytes"


def read_bytes(path: Path, limit: int = MAX_FILE) -> bytes:
    """Read a whole file; one that is empty or larger than the limit is refused."""
    limit = _max_size.get() or limit
    with reading(path, "cannot be read ({}).", ValueError), open(path, "rb") as file:
        if stat.S_ISCHR(os.fstat(file.fileno()).st_mode) and not file.isatty():  # /dev/zero has no end
            raise FileError(path, "is a device; expected a file.")
        parts: list[bytes] = []
        while sum(map(len, parts)) <= limit and (part := file.read(_PART)):
            parts.append(part)
        data = b"".join(parts)
    if len(data) > limit:
        raise FileError(
            path,
            f"is larger than {_amount(limit)}, which is the limit. Split it, or raise the limit: ",
            _RAISE_LIMIT,
            ".",
        )
    if not data or data.isspace():
        raise FileError(path, "is empty.")
    return data


def decode(data: bytes, path: Path, encoding: str | None = None) -> tuple[str, list[str]]:
    """Decode text, and return a note if its encoding had to be guessed.

    Parameters
    ----------
    data : bytes
    path : str or path
    encoding : str, optional
        Its encoding. Default: UTF-8 or UTF-16, with or without a byte order mark; Windows-1252 if it is
        neither, and holds no control characters.
    """
    for magic, what in _NOT_TEXT:
        if data.startswith(magic):
            raise FileError(path, f"{what}.")
    name, start = (encoding, 0) if encoding else _encoding(data)
    notes: list[Any] = []
    try:
        text = data[start:].decode(name)
    except LookupError:
        raise InputError(f"encoding= must be one that Python knows, such as 'cp1252'; got {name!r}.") from None
    except UnicodeError as error:
        western = None if encoding or name != "utf-8" else _western(data)
        if western is None:
            raise _invalid(error, data, start, name, path) from None
        text, sign = western
        notes.append(
            Message(
                f"the text is not UTF-8 and was read as Windows-1252, with {sign!r}. If such characters are ",
                "wrong, name its encoding: ",
                _NAME_ENCODING,
            )
        )
    if "\0" in text:
        offset = start + len(text[: text.index("\0")].encode(name))
        raise _binary(offset, path)
    if not text or text.isspace():
        raise FileError(path, "is empty.")
    if text[:1000].lstrip()[:9].lower().startswith(("<!doctype", "<html")):
        raise FileError(path, "is a web page, perhaps a login page, and not a table. Download the file itself.")
    return text, notes


def _binary(offset: int, path: Path) -> FileError:
    """Return the error for a file with a zero byte, which text has not."""
    return FileError(path, f"is binary (a zero byte at offset {offset}). Expected CSV, JSON, JSONL or Parquet.")


def _western(data: bytes) -> tuple[str, str] | None:
    """Return a text in Windows-1252, and a character of it; None if it is binary, or damaged UTF-8."""
    try:
        text = data.decode("cp1252")
    except UnicodeDecodeError:
        return None
    if _CONTROL.search(text) or not data.decode("utf-8", "ignore").isascii():
        return None
    return text, next(character for character in text if ord(character) > 127)


def _invalid(error: UnicodeError, data: bytes, start: int, name: str, path: Path) -> FileError:
    """Return the error for bytes that are not text in some encoding."""
    if b"\0" in data and name == "utf-8":
        return _binary(data.index(b"\0"), path)
    place = start + getattr(error, "start", 0)
    return FileError(
        path,
        f"is not {name.upper()} text: byte 0x{data[place]:02x} at offset {place} is invalid. "
        "Save it as UTF-8, or name its encoding: ",
        _NAME_ENCODING,
        ".",
    )


def refuse_long_lines(text: str, path: Path) -> None:
    """Refuse a line of more than `MAX_LINE` characters: one record cannot be that long."""
    end, start = "\n" if "\n" in text else "\r", 0
    while len(text) - start > MAX_LINE:
        last = text.rfind(end, start, start + MAX_LINE)
        if last < 0:
            where = f"{MAX_LINE >> 20} MiB in line {text.count(end, 0, start) + 1}"
            raise FileError(path, f"has more than {where}. Expected one row or record per line.")
        start = last + 1


def _encoding(data: bytes) -> tuple[str, int]:
    """Detect the encoding of a text, and where it starts, by byte order mark or the zero bytes of UTF-16."""
    for mark, encoding in _MARKS:
        if data.startswith(mark):
            return encoding, len(mark)
    head = data[:1000]
    for encoding, zeros, others in (("utf-16-le", head[1::2], head[::2]), ("utf-16-be", head[::2], head[1::2])):
        if zeros.count(0) > 0.7 * len(others) > 0 and not others.count(0):
            return encoding, 0
    return "utf-8", 0


# --- zip archives -----------------------------------------------------------------------------------


def unzip(
    data: bytes, path: Path, limit: int, keep: Callable[[str], bool], problem: str = _NOT_UNPACKED
) -> dict[str, bytes]:
    """Return the files of a zip archive by name, those that ``keep`` accepts.

    No more is decompressed than the table of contents declares, whatever the archive holds; ``keep`` is asked
    about all names before anything is decompressed, and may refuse one. ``problem`` describes a damaged file.
    """
    with reading(path, problem, *_BROKEN), zipfile.ZipFile(io.BytesIO(data)) as archive:
        if "[Content_Types].xml" in archive.namelist():
            raise FileError(path, "is an Office document, but no Excel workbook. Save the table as CSV.")
        kept = [info for info in archive.infolist() if keep(info.orig_filename)]
        infos = [info for info in kept if not info.filename.endswith("/")]
        refuse_expansion(sum(info.file_size for info in infos), limit, path)
        odd = next((info.filename for info in infos if info.compress_type not in _METHODS), None)
        if odd is not None:
            raise FileError(path, f"packs {odd!r} in an unusual way. Zip it again.")
        if any(info.compress_type == _ZSTD for info in infos):
            import_pyarrow(path)
        return {info.filename: _member(archive, info, data) for info in infos}


def _member(archive: zipfile.ZipFile, info: zipfile.ZipInfo, packed: bytes) -> bytes:
    """Decompress one member up to its declared size; ``archive.read`` would not stop there."""
    data, left = io.BytesIO(), info.file_size
    with _zstd(info, packed) if info.compress_type == _ZSTD else archive.open(info) as member:
        while left and (part := member.read(min(left, _BLOCK))):  # read at once, it would be held twice
            data.write(part)
            left -= len(part)
    if left:
        raise EOFError(f"{info.filename!r} is shorter than declared")
    if info.compress_type == _ZSTD and zlib.crc32(data.getbuffer()) != info.CRC:
        raise zipfile.BadZipFile(f"{info.filename!r} has a wrong checksum")
    return data.getvalue()


def _zstd(info: zipfile.ZipInfo, packed: bytes) -> Any:
    """Open a member that is packed with zstd: its bytes follow a local header of its own."""
    import pyarrow as pa

    lengths = struct.unpack_from("<HH", packed, info.header_offset + 26)  # of its name and of further fields
    start = info.header_offset + 30 + sum(lengths)
    if info.flag_bits & 1:
        raise RuntimeError(f"{info.filename!r} is encrypted")
    return pa.CompressedInputStream(pa.BufferReader(packed[start : start + info.compress_size]), "zstd")
