"""The server: a connection that is made anew when it is gone, and what its failures mean."""

from __future__ import annotations

import os
import random
import time
import uuid
from contextlib import contextmanager
from threading import Lock
from typing import TYPE_CHECKING, Literal, TypeVar

import psycopg

from otpy.core.points import point
from otpy.jobs.errors import StoreError
from otpy.jobs.store.postgres import leading
from otpy.jobs.store.postgres.calls import CALL, Listener
from otpy.jobs.store.postgres.counts import Counts, Mark
from otpy.jobs.store.postgres.failures import failures
from otpy.jobs.store.postgres.link import SilentError
from otpy.jobs.store.postgres.session import Session
from otpy.jobs.store.postgres.transaction import PostgresTransaction
from otpy.jobs.store.postgres.versions import migrate
from otpy.jobs.store.sql.tally import Known
from otpy.jobs.store.where import shown

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from otpy.jobs.model.lead import Lead

__all__ = ["PostgresStore"]

T = TypeVar("T")

GATHER = 1_000
"""Rows of counts that one program adds before it makes few of many."""
LOOK = 1.0
"""Seconds between two looks at what others have written, though none of them has called."""
READ_ONLY = "25006"
"""The SQLSTATE of who is asked to write and may not: a standby, as the server is that was the first one before."""

LAST = """
insert into otpy_commit (program, number, at) values (?, 0, ?) on conflict (program) do update set at = excluded.at
returning number
"""
"""The number of a program's last commit. A transaction that is still about to end has the row, and is waited for."""

_LEFT: list[Session] = []
"""Connections that came into this process by a fork. To close them here would end those of the parent."""


class PostgresStore:
    """As `otpy.jobs.store.protocol.Store` says. Opened and used by one thread."""

    def __init__(
        self,
        url: str,
        *,
        profile: Literal["full", "fast"] = "full",
        patience: float = 5.0,
        now: Callable[[], int] | None = None,
        told: Callable[[int], object] | None = None,
        redact: Callable[[str], str] | None = None,
        others: Callable[[], object] | None = None,
    ) -> None:
        """Connect, and make the tables where there are none.

        Args:
            url: `postgresql://…`, or what else libpq takes; the tables are in the first schema of its search path.
            profile: `full` has each commit on the server's disk before it returns; `fast` may lose the last commits
                when the server dies, and is never inconsistent.
            patience: seconds to wait for the server, or for another program's locks.
            now: the time, in milliseconds; the server's unless said.
            told: called with the time when this is open, and as each transaction begins.
            redact: takes secrets out of a text before it is written.
            others: called, on a thread of its own, when another program has made something ready.

        Raises:
            StoreError: the server cannot be reached, or refuses.
            StoreBusyError: the tables are of an older version, and programs that know no other one work on them.
            StoreVersionError: a newer otpy has written the tables.
        """
        self.path = shown(url)
        self._url, self._is_fast, self._patience = url, profile == "fast", patience
        self._now, self._told, self._redact = now, told, redact
        self._known, self._counted = Known(), 0
        self._program, self._commits = uuid.uuid4().hex, 0
        self._pid = os.getpid()
        self._company = Lock()  # guards that a call, told on the listener's thread, outlasts a look from before it
        self._has_company, self._heard = True, 0
        self._looks, self._looked_at = 0, self._seconds()
        self._session: Session | None = None
        with failures(self.path):
            self._session = self._connect()
            self._tell()
        self._listener = None if others is None else Listener(url, self._hears(others), self._is_own)

    @contextmanager
    def transaction(self) -> Iterator[PostgresTransaction]:
        """Begin one; on a connection that is sound."""
        self._stay()
        with failures(self.path):
            session, now = self._begun()
            if self._told is not None:
                self._told(now)
            self._commits += 1
            heard = self._heard
            mark = Mark(self._program, self._commits, now)
            counts = Counts(self._known, mark, is_gathering=self._counted > GATHER)
            transaction = PostgresTransaction(session, now, counts, self._redact)
            try:
                yield transaction
                transaction.finish()
                point("jobs.commit.before", "postgres")
            except BaseException as error:
                self._undo(session, error)
                raise
            self._commit(session, transaction)
            point("jobs.commit.after", "postgres")
            self._counted = counts.written if self._counted > GATHER else self._counted + counts.written
            transaction.committed()
            if transaction.has_company is not None:
                with self._company:
                    self._has_company = transaction.has_company or heard != self._heard

    def lead(self, name: str) -> Lead | None:
        """Who was elected last."""
        self._stay()
        with failures(self.path):
            return self._asked(lambda session: leading.lead(session, name))[1]

    def changes(self) -> int:
        """Differs once a second: whether another program has written is not asked, for that would cost no less.

        Who has made something ready says so, and is heard at once, by `others`.
        """
        now = self._seconds()
        if not 0 <= now - self._looked_at < LOOK:
            self._looks, self._looked_at = self._looks + 1, now - random.uniform(0.0, LOOK / 4)
        return self._looks

    def close(self) -> None:
        """Let go of the server."""
        if self._listener is not None:
            self._listener.close()
            self._listener = None
        session, self._session = self._session, None
        if session is None:
            return
        if self._pid == os.getpid():
            session.close()
        else:
            _LEFT.append(session)

    # The connection.

    def _tell(self) -> None:
        """What the time is, before anybody needs a transaction."""
        if self._told is not None:
            session, now = self._begun()
            session.rollback()
            self._told(now)

    def _connect(self) -> Session:
        session = Session(self._url, self._patience, is_fast=self._is_fast)
        try:
            migrate(session, self.path, now=self._now)
        except BaseException:
            session.close()
            raise
        return session

    def _sound(self) -> Session:
        """A connection that may work, and has nothing left in it of an earlier transaction."""
        if self._session is not None and not self._session.is_idle:
            self._session.close()
            self._session = None
        if self._session is None:
            self._session = self._connect()
        return self._session

    def _begun(self) -> tuple[Session, int]:
        """One that works, in a transaction, and the time."""
        return self._asked(lambda session: session.begin(self._now))

    def _asked(self, question: Callable[[Session], T]) -> tuple[Session, T]:
        """One that works, and its answer. Of a server that was started anew one hears at first use.

        A server that says nothing is not asked twice: whoever waits for it has a lease to extend.
        """
        is_old = self._session is not None
        session = self._sound()
        try:
            return session, question(session)
        except SilentError:
            raise
        except psycopg.OperationalError:
            if not is_old or session.is_sound:
                raise
        session = self._sound()
        return session, question(session)

    def _undo(self, session: Session, error: BaseException) -> None:
        """Roll back, and let go of a server that does not write: the next connection may find the one that does."""
        session.rollback()
        if getattr(error, "sqlstate", None) == READ_ONLY:
            session.close()

    def _commit(self, session: Session, transaction: PostgresTransaction) -> None:
        """Commit; when the connection breaks just then, find out what has become of it.

        Other programs are called, if there were any when one has looked last, once for all that share the commit. Who
        comes calls in any case: two that come at once do not see each other.
        """
        is_news = bool(transaction.news.ready) or transaction.is_urgent
        calls = [CALL] if transaction.has_come or (is_news and self._has_company) else []
        try:
            session.commit(*calls)
        except psycopg.OperationalError:
            if not transaction.is_marked or session.is_sound or not self._is_kept():
                raise

    def _is_kept(self) -> bool:
        """Whether the last transaction was committed, of which the answer was lost.

        Raises:
            StoreError: that stays open as long as one waits.
        """
        until = time.monotonic() + self._patience
        while True:
            try:
                return self._last_commit() == self._commits
            except psycopg.errors.LockNotAvailable:
                if time.monotonic() > until:
                    problem = "the server went away in a commit, and has not decided whether it is kept"
                    raise StoreError(self.path, problem) from None

    def _last_commit(self) -> int:
        """The number of the last one that is kept."""
        session, now = self._begun()
        try:
            ((number,),) = session.execute(LAST, (self._program, now)).fetchall()
            session.commit()
        except BaseException as error:
            self._undo(session, error)
            raise
        return int(number)

    def _hears(self, others: Callable[[], object]) -> Callable[[], object]:
        """Who is called has company, though it has looked before the other one came, and calls back from then on."""

        def called() -> None:
            with self._company:
                self._heard += 1
                self._has_company = True
            others()

        return called

    def _is_own(self, pid: int) -> bool:
        """Whether a call comes from here; on the listener's thread. One missed, or heard in vain, does no harm."""
        session = self._session
        return session is not None and session.pid == pid

    def _seconds(self) -> float:
        return time.monotonic() if self._now is None else self._now() / 1_000

    def _stay(self) -> None:
        if self._pid != os.getpid():
            raise StoreError(self.path, "it was opened before a fork: a child must open it by itself")
