"""Mark for tests that run on SQLite and on PostgreSQL."""

import pytest

BOTH = pytest.mark.parametrize("database", ["sqlite", "postgresql"], indirect=True)
