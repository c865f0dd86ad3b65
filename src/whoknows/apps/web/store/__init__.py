"""State of the web app in SQLite or PostgreSQL, without HTTP: one module per subject, functions of a connection.

``with store.read() as db:`` reads a consistent state; ``with store.write() as db:`` is one transaction.
"""

from whoknows.apps.web.store.database import Store

__all__ = ["Store"]
