"""Jobs in a drain: nothing begins, what runs goes on and is waited for, and what is not done goes back."""

from __future__ import annotations

import signal
from typing import TYPE_CHECKING, Any

import pytest

from otpy.drain.begin import begin
from otpy.events import DrainLate, DrainPhase, JobsDrained
from otpy.jobs.agents.context import current
from otpy.jobs.cron import cron
from otpy.jobs.decisions import Snooze
from otpy.jobs.kind import job
from otpy.jobs.setup import Crew
from otpy.jobs.store.sqlite import SqliteStore
from otpy.jobs.store.sqlite.transaction import SqliteTransaction
from otpy.testing import Gate, Recorder
from support.programs import Program

from .agents.works import crew, seen, started
from .pair import LEASE

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    import otpy
    from otpy.drain.course import Course
    from otpy.jobs.client import Client
    from otpy.testing import VirtualClock

    from .pair import Pair

BUDGET = 100.0
SOFT = 60.0
"""Seconds of it in which jobs may end by themselves."""


@pytest.fixture
def claims(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The jobs that are claimed."""
    made: list[int] = []
    claim = SqliteTransaction.claim

    def noted(tx: SqliteTransaction, *args: Any) -> Any:
        found = claim(tx, *args)
        made.extend(one.id for one in found or ())
        return found

    monkeypatch.setattr(SqliteTransaction, "claim", noted)
    return made


def states(client: Client) -> dict[str, int]:
    """How many jobs are in which state."""
    return {state: number for look in client.queues() for state, number in look.numbers.items() if number}


def told(system: otpy.System) -> Course:
    """The program is told to stop."""
    return begin(system, "by hand", BUDGET)


@pytest.mark.report("J40", "taskiq-python/taskiq#380")
def test_nothing_is_claimed_from_the_moment_that_it_is_told_while_more_is_enqueued(
    timed: otpy.System, clock: VirtualClock, tmp_path: Path, claims: list[int], gate: Gate
) -> None:
    def hold() -> None:
        gate.wait()

    kind: Any = job(timeout=None)(hold)
    client = started(timed, tmp_path, kind, crews=[crew("pool", size=2, spare=0)])
    client.enqueue_all([kind.new() for _ in range(6)])
    gate.reached(2)
    course = told(timed)
    before = len(claims)
    for _ in range(5):
        client.enqueue(kind.new())
        clock.advance(1.0)
    gate.open()
    clock.advance(1.0)
    assert course.has_ended()
    assert (len(claims), states(client)) == (before, {"done": 2, "ready": 9})
    assert {one.attempt for one in client.find(state="ready")} == {0}


@pytest.mark.report("J56", "temporalio/sdk-java#2903")
def test_a_job_of_five_leases_goes_on_under_its_heartbeat_and_is_done_once(
    timed: otpy.System, clock: VirtualClock, tmp_path: Path, gate: Gate
) -> None:
    runs: list[float | None] = []

    def work() -> str:
        runs.append(current().draining)
        gate.wait()
        runs.append(current().draining)
        return "done"

    kind: Any = job(timeout=None)(work)
    client = started(timed, tmp_path, kind, lease=10.0)
    made = client.enqueue(kind.new())
    gate.reached()
    course = told(timed)
    clock.advance(50.0)
    assert not course.has_ended()
    assert course.near is not None
    with Recorder(timed, JobsDrained) as recorded:
        gate.open()
        clock.advance(1.0)
    assert (course.has_ended(), seen(client, made.id).state) == (True, "done")
    assert runs == [None, pytest.approx(SOFT - 50.0)]
    (event,) = recorded.of(JobsDrained)
    assert (event.finished, event.released, event.checkpointed, event.left) == (1, 0, 0, ())


def test_a_job_that_sees_the_drain_keeps_a_checkpoint_and_goes_on_later(
    timed: otpy.System, clock: VirtualClock, tmp_path: Path, gate: Gate
) -> None:
    def work() -> object:
        gate.wait()
        assert current().draining
        current().checkpoint(17)
        return Snooze(0.0)

    kind: Any = job(timeout=None)(work)
    client = started(timed, tmp_path, kind)
    made = client.enqueue(kind.new())
    gate.reached()
    course = told(timed)
    clock.advance(1.0)
    with Recorder(timed, JobsDrained) as recorded:
        gate.open()
        clock.advance(1.0)
    found = seen(client, made.id)
    assert (course.has_ended(), found.state, found.attempt, found.checkpoint is not None) == (True, "ready", 0, True)
    (event,) = recorded.of(JobsDrained)
    assert (event.finished, event.released, event.checkpointed) == (0, 0, 1)


@pytest.mark.parametrize("place", ["pool", "thread"])
def test_at_the_deadline_a_job_that_asks_leaves_and_is_given_back(
    timed: otpy.System, clock: VirtualClock, tmp_path: Path, place: str
) -> None:
    steps = [Gate(), Gate()]

    def work() -> None:
        for step in steps:
            step.wait()
            current().raise_if_cancelled()

    kind: Any = job(timeout=None)(work)
    client = started(timed, tmp_path, kind, crews=[crew(place, spare=0)])
    made = client.enqueue(kind.new())
    steps[0].reached()
    course = told(timed)
    clock.advance(1.0)
    steps[0].open()
    steps[1].reached()
    with Recorder(timed, DrainLate, JobsDrained) as recorded:
        clock.advance(SOFT)
        steps[1].open()
        clock.advance(1.0)
    (late,) = recorded.of(DrainLate)
    assert (late.path.rpartition("/")[2], late.names) == ("scheduler", (f"job {made.id} of {kind.name}",))
    (event,) = recorded.of(JobsDrained)
    assert (event.released, event.left, course.undone) == (1, (), [])
    assert given_back(client, made.id) == ("ready", 0, 1)


def given_back(client: Client, id: int) -> tuple[str, int, int]:
    found = seen(client, id)
    assert found.errors == found.crashes == 0
    return found.state, found.attempt, found.releases


def test_at_the_deadline_a_coroutine_is_cancelled_and_given_back(
    timed: otpy.System, clock: VirtualClock, tmp_path: Path
) -> None:
    gate, cleaned = Gate(), list[bool]()

    async def work() -> None:
        try:
            await gate.await_open()
        finally:
            cleaned.append(True)

    kind: Any = job(timeout=None)(work)
    client = started(timed, tmp_path, kind)
    made = client.enqueue(kind.new())
    gate.reached()
    course = told(timed)
    with Recorder(timed, JobsDrained) as recorded:
        clock.advance(SOFT + 1.0)
    assert cleaned == [True]
    assert given_back(client, made.id) == ("ready", 0, 1)
    assert ([one.released for one in recorded.of(JobsDrained)], course.undone) == ([1], [])


@pytest.mark.report("J58", "graphile/worker#526", "graphile/worker#352")
def test_a_thread_that_cannot_be_stopped_is_left_to_its_lease_and_told(
    timed: otpy.System, clock: VirtualClock, tmp_path: Path
) -> None:
    gate = Gate()

    def stubborn() -> None:
        gate.wait()

    kind: Any = job(timeout=None)(stubborn)
    client = started(timed, tmp_path, kind, crews=[crew("thread", spare=0)], lease=600.0, grace=5.0)
    made = client.enqueue(kind.new())
    gate.reached()
    told(timed)
    clock.advance(SOFT + 10.0)
    assert timed.zombies()
    found = seen(client, made.id)
    assert (found.state, found.attempt) == ("running", 1)  # for its code may still do something
    with Recorder(timed, JobsDrained) as recorded:
        left = timed.stop(timeout=1.0)
    assert [one.left for one in recorded.of(JobsDrained)] == [(made.id,)]
    assert left
    gate.open()


def test_no_schedule_fires_in_a_drain(timed: otpy.System, clock: VirtualClock, tmp_path: Path, gate: Gate) -> None:
    def hold() -> None:
        gate.wait()

    tick: Any = job(name="tick")(lambda: None)
    kind: Any = job(timeout=None)(hold)
    client = started(timed, tmp_path, kind, tick, cron=[cron("* * * * *", tick.new(), id="tick")])
    client.enqueue(kind.new())
    gate.reached()
    begin(timed, "by hand", 1_000.0)
    clock.advance(130.0)
    assert states(client) == {"running": 1}
    gate.open()
    clock.advance(1.0)


def test_an_agent_that_ends_is_not_replaced_and_readiness_says_why(
    timed: otpy.System, clock: VirtualClock, tmp_path: Path, gate: Gate
) -> None:
    def hold() -> None:
        gate.wait()

    kind: Any = job(timeout=None)(hold)
    client = started(timed, tmp_path, kind, crews=[Crew(name="pool", size=2, spare=0)])
    client.enqueue(kind.new())
    gate.reached()
    timed.wait_idle()
    assert client.readiness().problem is None
    begin(timed, "SIGTERM", BUDGET)
    assert client.readiness().problem == "the program drains: SIGTERM"
    (resting,) = (one.path for one in timed.records() if one.kind == "Agent")
    timed.kill(resting)
    clock.advance(1.0)
    assert [one.kind for one in timed.records() if one.kind.startswith("Agent")] == [
        one.kind for one in timed.records() if one.kind.startswith("Agent at job")
    ]
    gate.open()
    clock.advance(1.0)


def test_on_a_file_who_works_leads_on_until_its_work_has_ended(make: Callable[..., Pair], gate: Gate) -> None:
    def hold() -> None:
        gate.wait()

    kind: Any = job(timeout=None)(hold)
    pair = make(kinds=[kind])
    pair.client(0).enqueue(kind.new())
    gate.reached()
    course = begin(pair.systems[0], "by hand", BUDGET)
    pair.clock.advance(5 * LEASE)
    assert (pair.leads(), course.has_ended()) == (["a"], False)
    gate.open()
    pair.clock.advance(1.0)
    assert (pair.leads(), course.has_ended(), states(pair.client(1))) == (["a"], True, {"done": 1})
    assert pair.systems[0].stop(timeout=30.0) == []
    pair.clock.advance(1.0)
    assert pair.leads() == ["b"]


def test_a_program_that_drains_is_not_elected(make: Callable[..., Pair]) -> None:
    pair = make()
    begin(pair.systems[1], "by hand", BUDGET)
    pair.clock.advance(1.0)
    pair.kill(0)
    pair.clock.advance(3 * LEASE)
    assert pair.leads() == []


PROGRAM = """
    from otpy import jobs
    @jobs.job
    def work():
        say("begun")
        threading.Event().wait()
    class Tree(otpy.Supervisor):
        def children(self):
            return [jobs.engine(FOLDER / "jobs.db", [work], crews=[jobs.Crew(name="one", size=1, spare=0)], lease=60.0)]
    class Asker(otpy.GenServer):
        def init(self):
            self.spawn_link(Tree)
            jobs.of(self.system).enqueue_all([work.new() for _ in range(3)])
    sys.exit(otpy.main(Asker, control="off", shutdown=3.0))
"""


def test_a_program_that_leaves_a_job_to_its_lease_ends_with_75(tmp_path: Path) -> None:
    """Of those that were not begun none is claimed, and no attempt is spent."""
    with Program(tmp_path, PROGRAM) as program:
        assert program.line() == "begun"
        program.send(signal.SIGTERM)
        out, err = program.process.communicate(timeout=20)
        assert (program.process.returncode, out) == (75, b"")
    assert b"job 1 of __main__.work" in err
    store = SqliteStore(tmp_path / "jobs.db")
    with store.transaction() as tx:
        found = [tx.get(number) for number in (1, 2, 3)]
    store.close()
    states = [(one.state, one.attempt) for one in found if one is not None]
    assert states == [("running", 1), ("ready", 0), ("ready", 0)]


@pytest.mark.report("J31", "Bogdanp/dramatiq#148")
def test_a_drain_waits_until_a_slow_store_has_kept_what_was_done(make: Callable[..., Pair], gate: Gate) -> None:
    def hold() -> None:
        gate.wait()

    kind: Any = job(timeout=None)(hold)
    pair = make(kinds=[kind])
    made = pair.client(0).enqueue(kind.new())
    gate.reached()
    slow = pair.stores["a"].before = Gate()
    gate.open()
    slow.reached()
    course = begin(pair.systems[0], "by hand", BUDGET)
    pair.clock.advance(5.0)
    assert not course.has_ended()
    slow.open()
    pair.clock.advance(5.0)
    assert (course.has_ended(), course.undone, seen(pair.client(1), made.id).state) == (True, [], "done")


def test_a_look_at_the_store_that_is_under_way_at_the_end_is_no_work_left(
    system: otpy.System, tmp_path: Path, gate: Gate, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It was said to be, and the program ended with 75, where the end of the drain met one of ten looks a second."""
    changes = SqliteStore.changes

    def changes_later(store: SqliteStore) -> Any:
        gate.wait()
        return changes(store)

    monkeypatch.setattr(SqliteStore, "changes", changes_later)
    with Recorder(system, DrainPhase) as phases:
        started(system, tmp_path, job(timeout=None)(print))
        gate.reached()
        course = begin(system, "by hand", 2.0)
        phases.expect(2)
        gate.open()
        assert course.wait(20.0)
    assert [one.phase for one in phases.of(DrainPhase)][:2] == ["quiesce", "drain"]
    assert course.undone == []


def test_a_store_that_is_away_makes_the_engine_late_and_is_named(make: Callable[..., Pair], gate: Gate) -> None:
    def hold() -> None:
        gate.wait()

    kind: Any = job(timeout=None)(hold)
    pair = make(kinds=[kind], lease=60.0)
    made = pair.client(0).enqueue(kind.new())
    gate.reached()
    course = begin(pair.systems[0], "by hand", 10.0)
    pair.clock.advance(1.0)
    pair.fail("a")
    gate.open()
    pair.clock.advance(9.5)
    assert course.has_ended()
    assert {(one.phase, one.path.rpartition("/")[2]) for one in pair.told(0, DrainLate)} >= {
        ("drain", "scheduler"),
        ("flush", "scheduler"),
    }
    assert [line for line in course.undone if "scheduler: was not flushed" in line]
    pair.fail("a", still=False)
    pair.clock.advance(3.0)
    assert seen(pair.client(1), made.id).state == "done"
