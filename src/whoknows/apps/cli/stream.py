"""Tables of any length, written a block after the other."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from whoknows.apps.cli.console import Update

Columns = Mapping[str, Any]


def write_blocks(blocks: Iterable[Columns], path: Path, kinds: Columns | None = None) -> None:
    """Write a table that comes in blocks of equal columns, whole or not at all.

    Parameters
    ----------
    blocks : iterable of mappings from name to values
    path : Path
        Ends in .csv, .tsv, .parquet or .jsonl. A file of that name is replaced.
    kinds : mapping from name to values, optional
        Values as there are in columns that may be empty for a whole block: Parquet asks what they hold.
    """
    from whoknows.io.atomic import replace

    if path.suffix.lower() == ".parquet":
        replace(path, lambda temporary: _write_parquet(blocks, temporary, kinds or {}))
    else:
        replace(path, lambda temporary: _write_text(blocks, temporary, path.suffix))


def steps(n_items: int, size: int = 100_000) -> Iterator[slice]:
    """Blocks of rows that are written one after the other."""
    return (slice(start, min(start + size, n_items)) for start in range(0, n_items, size))


def told_of(blocks: Iterable[slice], n_items: int, update: Update) -> Iterator[slice]:
    """Tell how far it is when a block has been dealt with."""
    for rows in blocks:
        yield rows
        update(rows.stop, n_items)


def _write_text(blocks: Iterable[Columns], temporary: str, suffix: str) -> None:
    """Blocks as text below one header."""
    from whoknows.io.labels import write_table

    part = Path(f"{temporary}{suffix}")
    try:
        with open(temporary, "xb") as file:
            for place, block in enumerate(blocks):
                write_table({name: [] for name in block}, part)
                header = part.stat().st_size
                write_table(block, part)
                file.write(part.read_bytes()[header if place else 0 :])
    finally:
        part.unlink(missing_ok=True)


def _write_parquet(blocks: Iterable[Columns], temporary: str, kinds: Columns) -> None:
    """Blocks as row groups of one file."""
    import pyarrow as pa
    from pyarrow import parquet

    writer: Any = None
    try:
        for block in blocks:
            if writer is None:
                seen = {name: pa.array(kinds.get(name, values)).type for name, values in block.items()}
                writer = parquet.ParquetWriter(temporary, pa.schema(seen))
            writer.write_table(pa.table(dict(block), writer.schema))
    finally:
        if writer is not None:
            writer.close()
