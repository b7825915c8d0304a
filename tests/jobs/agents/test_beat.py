"""The host's beat: leases are kept while jobs run, and not trusted for longer than they were granted."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from otpy.errors import SpecError
from otpy.events import ActorCrashed
from otpy.jobs.agents.context import current
from otpy.jobs.errors import StoreBusyError
from otpy.jobs.kind import job
from otpy.jobs.model.claim import Settled
from otpy.jobs.setup import Queue
from otpy.jobs.store.sqlite.transaction import SqliteTransaction
from otpy.jobs.writer import Writer
from otpy.testing import Gate, Recorder

from .works import AT_ONCE, Ends, result, seen, started

if TYPE_CHECKING:
    from pathlib import Path

    import otpy
    from otpy.testing import VirtualClock


@pytest.mark.report("J28", "janbjorge/pgqueuer#430")
def test_a_job_that_takes_many_leases_runs_once(
    timed: otpy.System, clock: VirtualClock, ends: Ends, tmp_path: Path
) -> None:
    gate, runs = Gate(), []

    def work() -> int:
        runs.append(current().token)
        gate.wait()
        return current().token

    kind = job(timeout=None)(work)
    client = started(timed, tmp_path, kind, lease=10.0)
    made = client.enqueue(kind.new())
    gate.reached()
    clock.advance(60.0)
    gate.open()
    ends.wait(1)
    assert (runs, result(seen(client, made.id))) == ([1], 1)


@pytest.mark.report("J34", "apache/airflow#12396")
@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"lease": 10.0, "beat": 10.0}, "three beats of 10 s"),
        ({"lease": 10.0, "beat": 2.0, "busy": 5.0}, "busy for 5 s"),
        ({"beat": 0.0}, "beat=0.0: seconds > 0"),
        ({"grace": float("nan")}, "grace=nan"),
    ],
)
def test_a_beat_that_does_not_fit_its_lease_is_refused(
    system: otpy.System, tmp_path: Path, options: dict[str, float], text: str
) -> None:
    with pytest.raises(SpecError, match=text):
        started(system, tmp_path, job(name="fine")(lambda: "ok"), **options)


def test_a_job_is_stopped_before_its_lease_is_over_when_nobody_can_renew_it(
    timed: otpy.System, clock: VirtualClock, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By the program's own monotonic clock, from before the last request that was answered."""
    gate, cleaned = Gate(), []

    async def hang() -> None:
        try:
            await gate.await_open()
        finally:
            cleaned.append(timed.clock.now())

    kind = job(timeout=None, retry=AT_ONCE)(hang)
    client = started(timed, tmp_path, kind, lease=60.0)
    client.enqueue(kind.new())
    gate.reached()
    begun = timed.clock.now()
    with monkeypatch.context() as patch:

        def fail(*_: object) -> list[tuple[int, int]]:
            raise StoreBusyError("jobs.db", "database is locked")

        patch.setattr(SqliteTransaction, "renew", fail)
        clock.advance(40.0)
        assert cleaned == []
        clock.advance(25.0)
    assert len(cleaned) == 1
    assert 54.0 <= cleaned[0] - begun <= 54.5


def test_a_renewal_that_cannot_be_is_told_at_once(
    timed: otpy.System, clock: VirtualClock, quiet: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It was taken for a store that fails, and leases ended without a word."""

    def mistaken(*_: object) -> list[tuple[int, int]]:
        raise TypeError("a mistake of ours")

    gate = Gate()

    async def hang() -> None:
        await gate.await_open()

    kind = job(timeout=None, retry=AT_ONCE)(hang)
    client = started(timed, tmp_path, kind, lease=60.0)
    client.enqueue(kind.new())
    gate.reached()
    with Recorder(timed, ActorCrashed) as told, monkeypatch.context() as patch:
        patch.setattr(SqliteTransaction, "renew", mistaken)
        clock.advance(10.0)
    gate.open()
    assert [event.path.rpartition("/")[2] for event in told.of(ActorCrashed)] == ["beat"]


def test_a_job_that_was_taken_back_meanwhile_is_stopped_and_its_result_dropped(
    timed: otpy.System, clock: VirtualClock, ends: Ends, tmp_path: Path
) -> None:
    gate, cleaned = Gate(), []

    async def hang() -> str:
        if current().token > 1:
            return "by another"
        try:
            await gate.await_open()
        finally:
            cleaned.append(True)
        return "late"

    async def reply() -> str:
        return "there is room"

    other = job(reply)
    kind = job(timeout=None, retry=AT_ONCE)(hang)
    client = started(timed, tmp_path, kind, other, lease=12.0, queues=[Queue("default", limit=1)])
    made = client.enqueue(kind.new())
    gate.reached()
    writer = timed.whereis("jobs/writer")
    assert writer is not None
    outcome = Settled(id=made.id, token=1, state="ready", run_at=0)
    assert writer.call(Writer.run, lambda tx: tx.settle([outcome])) == [True]
    clock.advance(4.0)
    ends.wait(2)
    assert (result(seen(client, made.id)), cleaned) == ("by another", [True])
    made = client.enqueue(other.new())  # it counts for no limit any more
    ends.wait(3)
    assert result(seen(client, made.id)) == "there is room"
