"""Agents that are killed, and zombies: a job never runs twice at once, and late words are not kept."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import pytest

from otpy.errors import ActorExit
from otpy.jobs.agents.context import current
from otpy.jobs.kind import job
from otpy.testing import Gate

from .works import AT_ONCE, Ends, crew, result, seen, started

if TYPE_CHECKING:
    from pathlib import Path

    import otpy
    from otpy.runtime.links import OutsideMonitor
    from otpy.testing import VirtualClock

PLACES = ["pool", "thread"]


@pytest.mark.parametrize("place", PLACES)
def test_a_job_waits_for_the_end_of_its_zombie(
    timed: otpy.System, clock: VirtualClock, ends: Ends, tmp_path: Path, place: str
) -> None:
    gate, runs = Gate(), []

    def hang() -> str:
        runs.append(current().attempt)
        if current().attempt == 1:
            gate.wait()
        return f"by {current().attempt}"

    kind = job(timeout=5.0, retry=AT_ONCE)(hang)
    client = started(timed, tmp_path, kind, crews=[crew(place)], lease=600.0)
    made = client.enqueue(kind.new())
    gate.reached()
    clock.advance(60.0)
    assert (runs, seen(client, made.id).state) == ([1], "running")
    gate.open()
    ends.wait(1)
    clock.advance(1.0)
    ends.wait(2)
    done = seen(client, made.id)
    assert (result(done), done.attempt, [one.failure for one in done.attempts]) == ("by 2", 2, ["timeout"])


def test_a_job_waits_no_longer_than_a_lease_for_its_zombie(
    timed: otpy.System, clock: VirtualClock, ends: Ends, tmp_path: Path
) -> None:
    gate, left = Gate(), []

    def hang() -> str:
        if current().attempt > 1:
            return "by another"
        gate.wait()
        try:
            current().checkpoint("late")
        except ActorExit as error:
            left.append(error)
            raise
        return "late"

    kind = job(timeout=5.0, retry=AT_ONCE)(hang)
    client = started(timed, tmp_path, kind, lease=30.0)
    made = client.enqueue(kind.new())
    gate.reached()
    clock.advance(34.0)
    assert ends.so_far() == []
    clock.advance(2.0)
    assert ends.wait(2) == [(made.id, "ready"), (made.id, "done")]
    gate.open()
    timed.wait_idle()
    done = seen(client, made.id)
    assert (result(done), done.checkpoint, len(left)) == ("by another", None, 1)


def test_a_coroutine_that_takes_too_long_is_cancelled_and_another_attempt_begins_at_once(
    timed: otpy.System, clock: VirtualClock, ends: Ends, tmp_path: Path
) -> None:
    gate, cleaned = Gate(), []

    async def hang() -> str:
        if current().attempt > 1:
            return "by another"
        try:
            await gate.await_open()
        finally:
            cleaned.append(asyncio.current_task() is not None)
        return "never"

    kind = job(timeout=5.0, retry=AT_ONCE)(hang)
    client = started(timed, tmp_path, kind)
    made = client.enqueue(kind.new())
    gate.reached()
    clock.advance(5.5)
    assert ends.wait(2) == [(made.id, "ready"), (made.id, "done")]
    assert (result(seen(client, made.id)), cleaned) == ("by another", [True])


def test_a_coroutine_that_ignores_its_cancellation_is_waited_for(
    timed: otpy.System, clock: VirtualClock, ends: Ends, tmp_path: Path
) -> None:
    gate, runs = Gate(), []

    async def stubborn() -> int:
        runs.append(current().attempt)
        while current().attempt == 1:
            try:
                await gate.await_open()
                return 0
            except asyncio.CancelledError:
                continue
        return current().attempt

    kind = job(timeout=5.0, retry=AT_ONCE)(stubborn)
    client = started(timed, tmp_path, kind, lease=600.0)
    made = client.enqueue(kind.new())
    gate.reached()
    clock.advance(60.0)
    assert runs == [1]
    gate.open()
    ends.wait(1)
    clock.advance(1.0)
    ends.wait(2)
    assert result(seen(client, made.id)) == 2


def test_one_without_a_word_of_progress_is_ended_and_one_with_some_is_not(
    timed: otpy.System, clock: VirtualClock, ends: Ends, tmp_path: Path
) -> None:
    silent, steps = Gate(), [Gate() for _ in range(4)]

    def talk() -> int:
        for step in steps:
            current().checkpoint("on")
            step.wait()
        return current().attempt

    def sit() -> None:
        if current().attempt == 1:
            silent.wait()

    talks, sits = job(stall_timeout=10.0, timeout=None)(talk), job(stall_timeout=10.0, timeout=None, retry=AT_ONCE)(sit)
    client = started(timed, tmp_path, talks, sits, lease=600.0)
    first, second = (client.enqueue(one.new()).id for one in (talks, sits))
    silent.reached()
    for step in steps:
        step.reached()
        clock.advance(8.0)
        step.open()
        timed.wait_idle()
    assert result(seen(client, first)) == 1
    silent.open()
    timed.wait_idle()
    clock.advance(1.0)
    assert ends.wait(3)[0] == (first, "done")
    done = seen(client, second)
    assert (done.attempt, [one.failure for one in done.attempts]) == (2, ["stalled"])
    assert done.attempts[0].text == "no progress for 10 s"


@pytest.mark.report("J10", "celery/celery#3802")
@pytest.mark.report("J56", "temporalio/sdk-java#2903")
def test_a_clean_stop_lets_a_job_end_and_keeps_its_result(system: otpy.System, ends: Ends, tmp_path: Path) -> None:
    gate = Gate()
    kind = job(gate.wait)
    client = started(system, tmp_path, kind)
    made = client.enqueue(kind.new())
    gate.reached()
    end = _stopping(system)
    gate.open()
    end.wait(20.0)
    assert ends.so_far() == [(made.id, "done")]


@pytest.mark.report("J58", "graphile/worker#526", "graphile/worker#352")
@pytest.mark.report("D106", "celery/celery#3057")
@pytest.mark.report("D107", "Bogdanp/dramatiq#618")
def test_a_clean_stop_gives_back_what_does_not_end_and_spends_no_attempt(
    timed: otpy.System, clock: VirtualClock, ends: Ends, tmp_path: Path
) -> None:
    gate = Gate()

    async def wait() -> None:
        if current().attempt == 1 and current().token == 1:
            await gate.await_open()

    kind = job(wait)
    client = started(timed, tmp_path, kind)
    made = client.enqueue(kind.new())
    gate.reached()
    end = _stopping(timed)
    clock.advance(6.0)
    end.wait(20.0)
    assert ends.so_far() == [(made.id, "ready")]
    client = started(timed, tmp_path, kind)
    ends.wait(2)
    done = seen(client, made.id)
    assert (done.state, done.attempt, done.token, done.crashes, done.releases) == ("done", 1, 2, 0, 1)


@pytest.mark.report("J58", "graphile/worker#526", "graphile/worker#352")
def test_what_a_zombie_has_in_hand_is_left_to_its_lease_by_a_clean_stop(
    timed: otpy.System, clock: VirtualClock, ends: Ends, tmp_path: Path
) -> None:
    gate = Gate()
    kind: Any = job(gate.wait)
    client = started(timed, tmp_path, kind)
    client.enqueue(kind.new())
    gate.reached()
    end = _stopping(timed)
    clock.advance(6.0)
    end.wait(20.0)
    assert ends.so_far() == []
    gate.open()


@pytest.mark.report("J40", "taskiq-python/taskiq#380")
def test_nothing_is_begun_once_the_engine_stops(system: otpy.System, ends: Ends, tmp_path: Path) -> None:
    """There what fetches jobs went on."""
    gate, runs = Gate(), []

    def work(number: int) -> None:
        runs.append(number)
        gate.wait()

    kind = job(work)
    client = started(system, tmp_path, kind, crews=[crew("pool", size=1, spare=1)])
    client.enqueue_all([kind.new(number) for number in range(5)])
    gate.reached()
    end = _stopping(system)
    system.wait_idle()
    gate.open()
    end.wait(20.0)
    assert (runs, ends.so_far()) == ([0], [(1, "done")])


def _stopping(system: otpy.System) -> OutsideMonitor:
    """Have the engine end, and nothing else of the system."""
    engine = system.whereis("jobs/writer").parent  # type: ignore[union-attr]  # it runs
    assert engine is not None
    end = engine.monitor()
    engine.stop(block=False)
    return end
