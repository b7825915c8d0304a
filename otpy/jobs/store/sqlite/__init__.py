"""Jobs in one SQLite file, which several programs of one machine may share."""

from __future__ import annotations

from otpy.jobs.store.sqlite.store import SqliteStore

__all__ = ["SqliteStore"]
