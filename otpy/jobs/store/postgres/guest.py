"""The caller's own connection to the server."""

from __future__ import annotations

from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, Any

from psycopg.pq import TransactionStatus
from psycopg.rows import tuple_row

from otpy.jobs.errors import StoreError
from otpy.jobs.store.guest import Guest
from otpy.jobs.store.postgres.calls import CALL
from otpy.jobs.store.postgres.counts import Counts
from otpy.jobs.store.postgres.failures import failures
from otpy.jobs.store.postgres.insertion import insert_all
from otpy.jobs.store.postgres.leading import holds
from otpy.jobs.store.postgres.session import CLOCK, Rows, Statements, Whole
from otpy.jobs.store.postgres.versions import KNOWN, make, version_of
from otpy.jobs.store.sql.tally import Known

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    import psycopg

    from otpy.jobs.model.new import Inserted, NewJob

__all__ = ["guest"]


class Own(Statements):
    """The caller's: with tuples, and with whole numbers of one type, whatever the caller likes better."""

    def _cursor(self) -> Rows:
        cursor = Rows(self.db, row_factory=tuple_row)
        cursor.adapters.register_dumper(int, Whole)
        return cursor


@contextmanager
def guest(connection: psycopg.Connection[Any]) -> Iterator[Guest]:
    """Have a transaction on it; who works on the store is called when that is committed."""
    info = connection.info
    path = f"{info.dbname} on {info.host or 'the server'}"
    with failures(path):
        if connection.autocommit and info.transaction_status == TransactionStatus.IDLE:
            raise StoreError(path, "no transaction is open on this connection: begin one, and commit it")
        db = Own(connection)
        ((now,),) = db.execute(f"select {CLOCK}").fetchall()
        counts = Counts(Known(), is_gathering=False)
        making, inserting = partial(make, db, path), partial(_insert_all, path, db, counts)
        holding, calling = partial(holds, db), partial(db.execute, CALL)
        yield Guest(path, db, now, counts, version_of(db), KNOWN, making, inserting, holding, calling)


def _insert_all(path: str, db: Own, counts: Counts, news: Sequence[NewJob], now: int) -> list[Inserted]:
    """As the engine does it. Other unique keys are in an index, which sees more than a transaction may."""
    if any(new.unique is not None and new.unique.until == "period" for new in news):
        ((level,),) = db.execute("select current_setting('transaction_isolation')").fetchall()
        if level not in ("read committed", "read uncommitted"):
            problem = (
                f"this transaction is {level}, and does not see whether others have just enqueued a job of a kind that "
                "is unique for a time: begin it as read committed"
            )
            raise StoreError(path, problem)
    return insert_all(db, counts, news, now)
