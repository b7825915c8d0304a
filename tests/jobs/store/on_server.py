"""Stores on the tests' server, and whoever is there beside them."""

from __future__ import annotations

from contextlib import closing, contextmanager
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

    from otpy.jobs.store.postgres import PostgresStore

__all__ = ["connected", "opened"]


def opened(url: str, **options: Any) -> closing[PostgresStore]:
    """A store, until the block ends."""
    from otpy.jobs.store.postgres import PostgresStore  # noqa: PLC0415 - an extra

    return closing(PostgresStore(url, **options))


@contextmanager
def connected(url: str) -> Iterator[Any]:
    """Somebody else's connection, in a transaction."""
    import psycopg  # noqa: PLC0415 - an extra

    with psycopg.connect(url) as db:
        yield db
        db.rollback()
