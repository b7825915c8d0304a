"""Looks at the server beside who writes."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

import psycopg

from otpy.jobs.errors import BackupError
from otpy.jobs.store.postgres.counts import Counts
from otpy.jobs.store.postgres.failures import failures
from otpy.jobs.store.postgres.figures import figures
from otpy.jobs.store.postgres.link import SilentError
from otpy.jobs.store.postgres.session import Session
from otpy.jobs.store.postgres.transaction import PostgresTransaction
from otpy.jobs.store.readers import KeptReaders
from otpy.jobs.store.sql.tally import Known
from otpy.jobs.store.where import shown

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from otpy.jobs.model.server import ServerLook

__all__ = ["PostgresReaders"]


class PostgresReaders(KeptReaders[Session]):
    """Each statement of a look sees what was committed before it."""

    def __init__(self, url: str, now: Callable[[], int] | None, patience: float) -> None:
        """Nothing is open; as for a `PostgresStore`."""
        super().__init__()
        self._url, self._now, self._patience = url, now, patience

    @contextmanager
    def look(self) -> Iterator[PostgresTransaction]:
        """A transaction in which nothing can be written. Raises StoreError."""
        with self._looking() as (session, now):
            yield PostgresTransaction(session, now, Counts(Known(), is_gathering=False), None)

    def server(self) -> ServerLook:
        """How it stands with the server. Raises StoreError."""
        with self._looking() as (session, _):
            return figures(session)

    @contextmanager
    def _looking(self) -> Iterator[tuple[Session, int]]:
        with failures(shown(self._url)):
            session, now = self._begun()
            try:
                yield session, now
                session.rollback()
            except BaseException:
                session.close()
                raise
        self._give_back(session)

    def back_up(self, to: Path) -> int:
        """Raises BackupError."""
        raise BackupError(str(to), "the store is on a server, whose own programs copy it: pg_dump, pg_basebackup")

    def _connect(self) -> Session:
        return Session(self._url, self._patience, is_fast=False, is_reader=True)

    def _begun(self) -> tuple[Session, int]:
        """One that works: those that were kept may have lost their server meanwhile."""
        while True:
            is_kept, session = bool(self._idle), self._take()
            try:
                return session, session.begin(self._now)
            except psycopg.OperationalError as error:
                session.close()
                if not is_kept or isinstance(error, SilentError):
                    raise
