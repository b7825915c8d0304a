"""A connection to a server that may fall silent."""

from __future__ import annotations

from time import monotonic
from typing import TYPE_CHECKING, Any, TypeVar

import psycopg

from otpy.core.seconds import in_seconds

if TYPE_CHECKING:
    from collections.abc import Generator

__all__ = ["Link", "SilentError", "is_pooled"]

T = TypeVar("T")


class SilentError(psycopg.OperationalError):
    """The server has not answered in time; nobody knows what it has done."""


class Link(psycopg.Connection[Any]):
    """One whose server is given up when it does not answer.

    The system tells of a machine that is gone. Of a server that hangs, or of a pooler that has lost its own, it says
    nothing: their side of the connection is well, and whoever reads from it waits for ever.
    """

    patience: float | None = None
    """Seconds for one answer; None waits without end."""

    def wait(self, gen: Generator[Any, Any, T], *args: Any, **options: Any) -> T:  # psycopg's own, passed on
        """As psycopg does it, for a bounded time."""
        bounded = gen if self.patience is None else self._bounded(gen, self.patience)
        return super().wait(bounded, *args, **options)

    def _bounded(self, gen: Generator[Any, Any, T], patience: float) -> Generator[Any, Any, T]:
        """Pass on what it wants and gets, until the time is over: psycopg says every tenth of a second that it waits.

        What is half done then cannot be gone on with: the connection is closed.
        """
        until = monotonic() + patience
        try:
            wanted = next(gen)
            while True:
                ready = yield wanted
                if not ready and monotonic() > until:
                    gen.close()
                    self.close()
                    raise SilentError(f"no answer for {in_seconds(patience)}")
                wanted = gen.send(ready)
        except StopIteration as end:
            found: T = end.value
            return found


def is_pooled(db: psycopg.Connection[Any]) -> bool:
    """Whether somebody stands between, who may have another connection do the next transaction.

    A pooler has to make up the number of the server's process, by which one would have a statement interrupted.
    """
    ((pid,),) = db.execute("select pg_backend_pid()", prepare=False).fetchall()
    return bool(pid != db.pgconn.backend_pid)
