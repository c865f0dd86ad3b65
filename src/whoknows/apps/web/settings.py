"""What the person who starts the server decides."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

DATABASE = "whoknows.db"  # file in the folder of the server
LOOPBACK = ("127.0.0.1", "localhost", "[::1]")


@dataclass(frozen=True)
class ServerSettings:
    """Settings of a server.

    Parameters
    ----------
    folder : Path
        Where the state is kept, unless it is in PostgreSQL.
    database : str, optional
        URL of a database. Default: a file of SQLite in the folder.
    auth : bool
        Whether people sign in. Without it everybody may do everything, on this machine only.
    hosts : tuple of str
        Names by which browsers may call the server; others are refused.
    secure : bool
        Whether cookies are sent over HTTPS only.
    works : bool
        Whether this server runs fits.
    max_upload, max_body : int
        Bytes of an uploaded file, and of any other request.
    max_rows : int
        Rows of an import, and labels of a request.
    """

    folder: Path
    database: str | None = None
    auth: bool = False
    hosts: tuple[str, ...] = field(default=LOOPBACK)
    secure: bool = False
    works: bool = True
    max_upload: int = 64 << 20
    max_body: int = 4 << 20
    max_rows: int = 200_000

    @property
    def url(self) -> str:
        """URL of the database."""
        return self.database or f"sqlite:///{self.folder.absolute() / DATABASE}"
