"""Jobs in PostgreSQL, which programs on several machines may share; needs the extra `postgres`."""

from __future__ import annotations

from otpy.jobs.store.postgres.store import PostgresStore

__all__ = ["PostgresStore"]
