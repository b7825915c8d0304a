"""What the tests of agents say often, said shortly."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import otpy
from otpy.jobs.args import unpack
from otpy.jobs.client import Client, of
from otpy.jobs.engine import engine
from otpy.jobs.retry import Retry
from otpy.jobs.setup import Crew
from otpy.jobs.store.sqlite.transaction import SqliteTransaction
from otpy.testing.arrivals import Arrivals

if TYPE_CHECKING:
    from pathlib import Path

    import pytest

    from otpy.jobs.model.job import Job

AT_ONCE = Retry(errors=2, crashes=2, backoff=otpy.Backoff(first=0.0, most=0.0))


def started(system: otpy.System, folder: Path, *kinds: Any, **options: Any) -> Client:
    """An engine with these kinds."""
    system.start(engine(folder / "jobs.db", kinds, **options))
    return of(system)


def crew(place: Any, size: int = 1, spare: int = 1, **fields: Any) -> Crew:
    """A crew there."""
    return Crew(name=str(place), place=place, size=size, spare=spare, **fields)


def ended(client: Client, ends: Ends, spec: Any) -> Job:
    """The job, once it has ended."""
    made = client.enqueue(spec)
    count = 1
    while True:
        log = ends.wait(count)
        if log[-1][0] == made.id and log[-1][1] in ("done", "dead", "cancelled"):
            return seen(client, made.id)
        count += 1


class Ends:
    """The ends of attempts as they are written down, for what no `wait_idle` sees: the work of processes."""

    def __init__(self, patch: pytest.MonkeyPatch) -> None:
        """From now on."""
        self._log: Arrivals[tuple[int, str]] = Arrivals()
        settle, committed = SqliteTransaction.settle, SqliteTransaction.committed
        open_: dict[SqliteTransaction, list[tuple[int, str]]] = {}

        def noted(tx: SqliteTransaction, outcomes: Any, **how: Any) -> Any:
            accepted = settle(tx, outcomes, **how)
            ends = [(one.id, one.state) for one, is_kept in zip(outcomes, accepted, strict=True) if is_kept]
            open_.setdefault(tx, []).extend(ends)
            return accepted

        def kept(tx: SqliteTransaction) -> None:
            committed(tx)
            for one in open_.pop(tx, ()):
                self._log.add(one)

        patch.setattr(SqliteTransaction, "settle", noted)
        patch.setattr(SqliteTransaction, "committed", kept)

    def wait(self, count: int = 1) -> list[tuple[int, str]]:
        """So many attempts have ended."""
        return self._log.wait(count, 20.0)

    def so_far(self) -> list[tuple[int, str]]:
        """Those until now."""
        return self._log.so_far()


def seen(client: Client, id: int) -> Job:
    """The job as it is now."""
    found = client.get(id)
    assert found is not None
    return found


def result(job: Job) -> Any:
    """What it returned."""
    assert job.state == "done", (job.state, job.reason, job.attempts)
    assert job.result is not None
    return unpack(job.result)
