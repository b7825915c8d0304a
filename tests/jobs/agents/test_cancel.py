"""Jobs that are cancelled: while they wait, while they run, from another program."""

from __future__ import annotations

from typing import TYPE_CHECKING

from otpy.jobs.agents.context import current
from otpy.jobs.errors import JobCancelledError
from otpy.jobs.kind import job
from otpy.jobs.store.sqlite import SqliteStore
from otpy.testing import Gate

from .works import AT_ONCE, Ends, crew, ended, seen, started

if TYPE_CHECKING:
    from pathlib import Path

    import otpy
    from otpy.testing import VirtualClock


def test_what_waits_ends_at_once_and_never_runs(system: otpy.System, tmp_path: Path) -> None:
    runs: list[int] = []
    kind = job(runs.append)
    client = started(system, tmp_path, kind)
    made = client.enqueue(kind.new(1).opts(delay=3600.0))
    client.cancel(made.id, reason="not needed")
    assert (seen(client, made.id).state, seen(client, made.id).reason, runs) == ("cancelled", "not needed", [])


def test_one_that_runs_is_told_and_ends_cancelled_whatever_it_returns(
    system: otpy.System, ends: Ends, tmp_path: Path
) -> None:
    gate, told = Gate(), []

    def ask() -> str:
        gate.wait()
        told.append(current().is_cancelled)
        return "all is well"

    kind = job(ask)
    client = started(system, tmp_path, kind)
    made = client.enqueue(kind.new())
    gate.reached()
    client.cancel(made.id, reason="not needed")
    system.wait_idle()
    gate.open()
    ends.wait(1)
    cancelled = seen(client, made.id)
    assert (cancelled.state, cancelled.reason, cancelled.result, told) == ("cancelled", "not needed", None, [True])


def test_one_that_raises_after_it_was_cancelled_is_not_tried_again(
    system: otpy.System, ends: Ends, tmp_path: Path
) -> None:
    gate, raised = Gate(), []

    def leave() -> None:
        gate.wait()
        try:
            current().raise_if_cancelled()
        except JobCancelledError as error:
            raised.append(str(error))
            raise

    kind = job(retry=AT_ONCE)(leave)
    client = started(system, tmp_path, kind)
    made = client.enqueue(kind.new())
    gate.reached()
    client.cancel(made.id)
    system.wait_idle()
    gate.open()
    assert ends.wait(1) == [(made.id, "cancelled")]
    assert raised == ["job 1 was cancelled"]
    assert (seen(client, made.id).state, seen(client, made.id).attempts) == ("cancelled", ())


def test_a_coroutine_is_cancelled_where_it_awaits(system: otpy.System, ends: Ends, tmp_path: Path) -> None:
    gate, cleaned = Gate(), []

    async def hang() -> None:
        try:
            await gate.await_open()
        finally:
            cleaned.append(True)

    async def reply() -> str:
        return "there is another agent"

    hangs, replies = job(hang), job(reply)
    client = started(system, tmp_path, hangs, replies, crews=[crew("loop", spare=0)])
    made = client.enqueue(hangs.new())
    gate.reached()
    client.cancel(made.id)
    assert ends.wait(1) == [(made.id, "cancelled")]
    assert (cleaned, seen(client, made.id).state) == ([True], "cancelled")
    assert ended(client, ends, replies.new()).state == "done"


def test_one_that_does_not_listen_is_killed_after_the_grace_and_never_runs_again(
    timed: otpy.System, clock: VirtualClock, ends: Ends, tmp_path: Path
) -> None:
    gate, runs = Gate(), []

    def hang() -> None:
        runs.append(current().token)
        gate.wait()

    kind = job(timeout=None)(hang)
    client = started(timed, tmp_path, kind, lease=600.0, grace=5.0)
    made = client.enqueue(kind.new())
    gate.reached()
    client.cancel(made.id)
    clock.advance(4.0)
    assert _busy(timed) == [made.id]
    clock.advance(1.5)
    assert _busy(timed) == []
    assert seen(client, made.id).state == "running"  # its code is
    gate.open()
    timed.wait_idle()
    clock.advance(1.0)
    assert (ends.wait(1), runs) == ([(made.id, "cancelled")], [1])


def test_the_word_of_another_program_arrives_with_the_beat(
    timed: otpy.System, clock: VirtualClock, ends: Ends, tmp_path: Path
) -> None:
    gate, told = Gate(), []

    def ask() -> None:
        gate.wait()
        told.append(current().is_cancelled)

    kind = job(ask)
    client = started(timed, tmp_path, kind, lease=12.0, grace=60.0)
    made = client.enqueue(kind.new())
    gate.reached()
    other = SqliteStore(tmp_path / "jobs.db")
    with other.transaction() as tx:
        tx.cancel([made.id], "from elsewhere")
    other.close()
    clock.advance(2.0)
    gate.open()
    ends.wait(1)
    assert (told, seen(client, made.id).state, seen(client, made.id).reason) == ([True], "cancelled", "from elsewhere")


def _busy(system: otpy.System) -> list[int]:
    """Which jobs the scheduler knows agents for."""
    books = system.whereis("jobs/scheduler").actor.books  # type: ignore[union-attr]  # it runs, and is at rest
    return [worker.job.id for worker in books._workers.values() if worker.job is not None]
