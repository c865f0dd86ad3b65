"""Parquet files: which there are, and one of them opened; whatever is wrong with one names it."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path as LocalPath
from typing import Any

from whoknows.io.arrow import import_pyarrow
from whoknows.io.errors import FileError, Path

ENDINGS = (".parquet", ".pq")
_BUFFER = 1 << 16  # bytes of a column that are read at a time where a row group does not fit


def find_files(path: Path | Sequence[Path]) -> tuple[str, ...]:
    """Files of a data set: one, those listed, or all Parquet files of a folder and its folders, by name."""
    if not isinstance(path, (str, os.PathLike)):
        files = tuple(os.fspath(each) for each in path)
        if not files:
            raise ValueError("Expected a file, a folder or a list of files of features; got an empty list.")
        return files
    if not os.path.isdir(path):
        return (os.fspath(path),)
    folder = LocalPath(path)
    inside = (each.relative_to(folder) for each in folder.rglob("*") if each.suffix.lower() in ENDINGS)
    files = tuple(
        str(folder / each) for each in sorted(inside, key=lambda each: each.parts) if _is_data(each)
    )
    if not files:
        seen = sorted(each.name for each in folder.iterdir())[:5]
        found = f"there are {', '.join(map(repr, seen))}" if seen else "it is empty"
        raise FileError(
            path,
            f"is a folder without Parquet files; expected names that end in {' or '.join(ENDINGS)}, {found}. "
            "Name the folder they are in.",
        )
    return files


def _is_data(path: LocalPath) -> bool:
    """Whether a file is not hidden, nor one of those that writers leave beside the data (_metadata)."""
    return not any(part.startswith((".", "_")) for part in path.parts)


def open_file(path: str, streamed: bool = False) -> Any:
    """Open one file; ``streamed`` keeps a few pages of it in memory and not a whole row group."""
    import_pyarrow(path)
    from pyarrow import parquet

    options: dict[str, Any] = {"pre_buffer": False, "buffer_size": _BUFFER} if streamed else {}
    with readable(path):
        return parquet.ParquetFile(path, page_checksum_verification=True, **options)


@contextmanager
def readable(path: str) -> Iterator[None]:
    """Whatever goes wrong with reading in here is a file that cannot be read."""
    import pyarrow as pa

    try:
        yield
    except FileNotFoundError:
        raise FileError(path, "there is no such file.") from None
    except PermissionError:
        raise FileError(path, "cannot be read (permission denied).") from None
    except (pa.ArrowException, OSError) as error:
        reason = str(error).partition("\n")[0].rstrip(".")[:200]
        raise FileError(
            path,
            f"is cut off or damaged, or is no Parquet file ({reason}). Write or download it again.",
        ) from None
