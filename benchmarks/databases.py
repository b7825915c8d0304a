"""What the sides on PostgreSQL have in common: a database of its own for each measurement, on the server of the run."""

from __future__ import annotations

import os
from contextlib import contextmanager
from typing import TYPE_CHECKING
from uuid import uuid4

import psycopg

from benchmarks.postgres import SERVER

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

BATCH = 100
"""Jobs of one call of the sides' own ways to enqueue many."""
CONCURRENCY = 10
"""Jobs that each side may have at once."""


def url(name: str = "postgres") -> str:
    """Where a database of the run's server is."""
    return f"postgresql://otpy@/{name}?host={os.environ[SERVER]}"


def version() -> str:
    """The server's."""
    with psycopg.connect(url()) as db:
        number = db.info.server_version
    return f"PostgreSQL {number // 10_000}.{number % 10_000}, psycopg {psycopg.__version__}"


@contextmanager
def database() -> Iterator[str]:
    """An empty one, gone afterwards with whoever is still in it."""
    name = f"bench_{uuid4().hex}"
    with psycopg.connect(url(), autocommit=True) as db:
        db.execute(f"create database {name}")
    try:
        yield url(name)
    finally:
        with psycopg.connect(url(), autocommit=True) as db:
            db.execute(f"drop database {name} with (force)")


@contextmanager
def counter(path: str, text: str) -> Iterator[Callable[[], int]]:
    """Asks a database, on a connection of its own, for one number."""
    with psycopg.connect(path, autocommit=True) as db:

        def count() -> int:
            row = db.execute(text).fetchone()
            return 0 if row is None else int(row[0])

        yield count
