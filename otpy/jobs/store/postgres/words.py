"""Statements of `store.sql` in PostgreSQL's words."""

from __future__ import annotations

import re
from functools import lru_cache

__all__ = ["spoken"]

ALONE = re.compile(r"/\* (.*?) \*/", re.DOTALL)
"""What stands in comments for PostgreSQL."""
HINT = re.compile(r" indexed by \w+")
"""What SQLite must be told about its indexes; PostgreSQL counts for itself."""
NAMED = re.compile(r"(?<![:\w]):([a-z_]+)")


@lru_cache(maxsize=1_000)
def spoken(text: str) -> str:
    """The statement with psycopg's placeholders, and with what is said here alone."""
    text = HINT.sub("", ALONE.sub(r"\1", text)).replace("%", "%%")
    return NAMED.sub(r"%(\1)s", text.replace("?", "%s"))
