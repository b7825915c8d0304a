"""A PostgreSQL of the tests' own: in a temporary directory, behind a Unix socket, begun by the first test that asks."""

from __future__ import annotations

import os
from functools import cache
from itertools import count
from typing import TYPE_CHECKING

import pytest

from benchmarks.postgres import Server, programs

try:
    import psycopg
except ImportError:  # an extra
    psycopg = None  # type: ignore[assignment]  # then there is no server

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["Server", "empty_url", "fresh_url", "needed", "own_server", "server"]

SETTINGS = """
listen_addresses = ''
fsync = off
full_page_writes = off
shared_buffers = 32MB
max_connections = 60
autovacuum = off
logging_collector = off
"""
"""Nothing here must outlive a power failure."""

PICKY = "picky"
"""A user of whom a password is wanted, once a test has made it."""

NAMES = count(1)


@cache
def server() -> Server:
    """The one of this run."""
    return own_server(rights=f"local all {PICKY} scram-sha-256\n")


def own_server(settings: str = "", rights: str = "") -> Server:
    """Another one, with these settings and rights beside the usual ones."""
    return Server(needed(), SETTINGS + settings, rights)


def needed() -> Path:
    """Where its programs are. Without them the test is skipped, and fails where OTPY_POSTGRES=require is set."""
    where = programs()
    problem = "no PostgreSQL: no initdb on the path, nor in /usr/lib/postgresql (Debian: postgresql)"
    if psycopg is None:
        where, problem = None, "no psycopg (the extra `postgres`)"
    if where is None:
        say = pytest.fail if os.environ.get("OTPY_POSTGRES") == "require" else pytest.skip
        say(problem)
    return where


def fresh_url() -> str:
    """A place for one store: a schema of its own, without tables."""
    name = f"test_{next(NAMES)}"
    server().sql(f"create schema {name}")
    return server().url(name)


@cache
def _shared() -> tuple[str, str]:
    """A schema whose tables are used again and again, for they take long to make; and what empties it."""
    from otpy.jobs.store.postgres import PostgresStore  # noqa: PLC0415 - an extra

    url = fresh_url()
    PostgresStore(url).close()
    schema = url.rpartition("%3D")[2]
    tables = server().sql(f"select table_name from information_schema.tables where table_schema = '{schema}'")  # noqa: S608
    emptied = [name for (name,) in tables if name not in ("otpy_schema", "otpy_tally")]
    texts = [f"delete from {name}" for name in emptied]  # noqa: S608 - our own tables
    return schema, "; ".join([*texts, "alter table otpy_job alter id restart"])


def empty_url() -> str:
    """A place for a store that is the only one until the next is asked for: quickly had, with empty tables."""
    server()
    schema, text = _shared()
    server().sql(text, schema)
    return server().url(schema)
