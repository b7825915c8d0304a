"""The janitor: what is due is done at its time, what nobody does any more is done by others."""

from __future__ import annotations

import time
from collections import Counter
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import pytest

import otpy
from otpy import jobs
from otpy.events import LeaderLost
from otpy.jobs.agents.context import current
from otpy.jobs.client import Client, of
from otpy.jobs.engine import engine
from otpy.jobs.errors import StoreBusyError
from otpy.jobs.janitor import Janitor
from otpy.jobs.kind import job
from otpy.jobs.retry import Retry
from otpy.jobs.store.sqlite.transaction import SqliteTransaction
from otpy.testing import Gate, Recorder

from .pair import LEASE, Pair

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from otpy.testing import VirtualClock

HOUR_MS = 3_600_000


def fails_once() -> str:
    if current().attempt == 1:
        raise ValueError("once")
    return "done"


def nothing() -> None:
    """Is done at once."""


FAILS: Any = job(retry=Retry(errors=2, backoff=otpy.Backoff(first=0.05, most=0.05, jitter=0.0)))(fails_once)
NOTHING: Any = job(nothing)


def state(client: Client, id: int) -> str:
    found = client.get(id)
    assert found is not None
    return found.state


@pytest.fixture
def rounds(monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    """How often each message came to the janitor."""
    found: Counter[str] = Counter()
    handle = Janitor.handle_info

    def counted(self: Janitor, message: object) -> None:
        found[str(message)] += 1
        handle(self, message)

    monkeypatch.setattr(Janitor, "handle_info", counted)
    return found


def test_ten_virtual_minutes_in_which_nothing_happens_cost_little(
    timed: otpy.System, clock: VirtualClock, tmp_path: Path, rounds: Counter[str]
) -> None:
    timed.start(engine(tmp_path / "jobs.db", [NOTHING]))
    clock.advance(600.0)
    assert 0 < rounds["look"] <= 170
    assert rounds.total() <= 840


def test_a_delayed_job_and_a_retry_are_due_at_their_time(
    timed: otpy.System, clock: VirtualClock, tmp_path: Path
) -> None:
    timed.start(engine(tmp_path / "jobs.db", [NOTHING, FAILS], lease=600.0, poll=60.0))
    client = of(timed)
    late, again = client.enqueue(NOTHING.new().opts(delay=90.0)), client.enqueue(FAILS.new())
    timed.wait_idle()
    assert (state(client, late.id), state(client, again.id)) == ("scheduled", "scheduled")
    clock.advance(0.051)
    assert (state(client, late.id), state(client, again.id)) == ("scheduled", "done")
    clock.advance(89.9)
    assert state(client, late.id) == "scheduled"
    clock.advance(0.1)
    assert state(client, late.id) == "done"


def test_a_deadline_ends_what_waits(timed: otpy.System, clock: VirtualClock, tmp_path: Path) -> None:
    timed.start(engine(tmp_path / "jobs.db", [NOTHING], lease=600.0, poll=60.0))
    client = of(timed)
    made = client.enqueue(NOTHING.new().opts(delay=90.0, deadline=30.0))
    clock.advance(30.01)
    found = client.get(made.id)
    assert found is not None
    assert (found.state, found.reason) == ("dead", "deadline")


def test_a_retry_is_late_by_no_more_than_some_milliseconds(system: otpy.System, tmp_path: Path) -> None:
    began: list[float] = []

    def late() -> None:
        began.append(time.monotonic())
        if len(began) < 12:
            raise ValueError("again")

    kind: Any = job(retry=Retry(errors=12, backoff=otpy.Backoff(first=0.03, most=0.03, jitter=0.0)))(late)
    system.start(engine(tmp_path / "jobs.db", [kind], poll=60.0, profile="fast"))
    client = of(system)
    made = client.enqueue(kind.new())
    assert client.wait(made.id, timeout=20.0).state == "done"
    pauses = sorted(after - before - 0.03 for before, after in pairwise(began))
    assert pauses[0] > -0.002
    assert pauses[len(pauses) // 4] < 0.05, pauses  # 20 ms each where nothing else is to be done; else a few are late


@pytest.mark.report("J68", "oban-bg/oban#1030")
@pytest.mark.report("J14", "celery/celery#8030")
def test_a_store_that_is_busy_restarts_nobody_and_work_goes_on_when_it_is_not(
    timed: otpy.System, clock: VirtualClock, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    timed.start(engine(tmp_path / "jobs.db", [NOTHING, FAILS], lease=60.0))
    client = of(timed)
    timed.wait_idle()
    with Recorder(timed) as told, monkeypatch.context() as patch:

        def busy(*_: object) -> None:
            raise StoreBusyError("jobs.db", "locked")

        for method in ("promote", "rescue", "schedules"):
            patch.setattr(SqliteTransaction, method, busy)
        clock.advance(5.0)
        assert [event for event in told.events if "Child" in type(event).__name__] == []
    clock.advance(5.0)
    made = client.enqueue(FAILS.new())
    clock.advance(6.0)
    assert state(client, made.id) == "done"


@pytest.fixture
def held(quiet: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[Pair, Gate, list[int]]]:
    """A pair whose leader has a job that does not end before the gate is opened; the tokens it was begun with."""
    gate, tokens = Gate(), list[int]()

    def hold() -> None:
        tokens.append(current().token)
        gate.wait()

    kind: Any = job(timeout=None)(hold)
    pair = Pair(tmp_path, monkeypatch, kinds=[kind, NOTHING])
    pair.client(0).enqueue(kind.new())
    gate.reached()
    yield pair, gate, tokens
    gate.open()
    pair.stop()


@pytest.mark.report("J28", "janbjorge/pgqueuer#430")
@pytest.mark.report("J19", "rq/rq#944")
def test_a_job_of_many_leases_is_begun_once(held: tuple[Pair, Gate, list[int]]) -> None:
    pair, gate, tokens = held
    pair.clock.advance(LEASE * 5)
    gate.open()
    pair.settle()
    assert tokens == [1]
    assert state(pair.client(1), 1) == "done"


@pytest.mark.parametrize("jump", [5_000, -HOUR_MS])
def test_a_clock_that_is_set_takes_no_job_from_who_does_it_and_still_leads(
    held: tuple[Pair, Gate, list[int]], jump: int
) -> None:
    pair, _, tokens = held
    for name in "ab":
        pair.shift[name] += jump
    pair.clock.advance(LEASE * 3)
    assert tokens == [1]


@pytest.mark.report("J1", "oban-bg/oban#364")
@pytest.mark.report("J25", "procrastinate-org/procrastinate#1408")
def test_what_a_dead_program_has_left_is_done_by_the_other(held: tuple[Pair, Gate, list[int]]) -> None:
    pair, _, tokens = held
    pair.kill(0)
    pair.clock.advance(LEASE * 1.6)
    assert tokens == [1, 2]
    found = pair.client(1).get(1)
    assert found is not None
    assert [(one.failure, found.crashes) for one in found.attempts] == [("lost", 1)]


@pytest.mark.report("J14", "celery/celery#8030")
@pytest.mark.parametrize("phase", [0.0, 0.8, 1.6, 2.4, 3.2, 3.33])
def test_an_outage_of_half_a_lease_costs_neither_the_lead_nor_a_job(
    held: tuple[Pair, Gate, list[int]], phase: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The writer's pauses grew to 5 s, and outlasted what was left of the leader's trust."""
    pair, _, tokens = held
    monkeypatch.setattr(pair.systems[0].random, "random", lambda: 0.0)  # each pause as long as it can be
    pair.clock.advance(LEASE + phase)  # wherever it is between two extensions
    pair.fail("a")
    pair.clock.advance(LEASE / 2)
    pair.fail("a", still=False)
    pair.clock.advance(LEASE * 2)
    assert (pair.leads(), pair.told(0, LeaderLost), tokens) == (["a"], [], [1])


def test_nothing_is_taken_back_for_a_lease_after_all_have_slept(held: tuple[Pair, Gate, list[int]]) -> None:
    """A machine was suspended: its monotonic clock stood still, the wall clock did not."""
    pair, _, tokens = held
    pair.kill(0)
    for name in "ab":
        pair.shift[name] += HOUR_MS
    pair.clock.advance(LEASE * 0.9)
    assert pair.leads() == ["b"]
    assert tokens == [1]
    pair.clock.advance(LEASE * 0.6)
    assert tokens == [1, 2]


@pytest.mark.report("J20", "riverqueue/river#1105")
def test_a_kind_that_the_leader_does_not_know_is_taken_back_all_the_same(
    quiet: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    gate = Gate()

    def hold() -> None:
        gate.wait()

    kind: Any = job(timeout=None)(hold)
    pair = Pair(tmp_path, monkeypatch, {"kinds": [kind]}, {"kinds": [NOTHING]})
    made = pair.client(0).enqueue(kind.new())
    gate.reached()
    pair.kill(0)
    pair.clock.advance(LEASE * 2)
    assert pair.leads() == ["b"]
    assert state(pair.client(1), made.id) == "ready"
    gate.open()
    pair.stop()


@pytest.mark.report("J16", "rq/rq#2424")
@pytest.mark.report("J34", "apache/airflow#12396")
def test_what_has_ended_is_taken_back_by_nobody(held: tuple[Pair, Gate, list[int]]) -> None:
    pair, gate, tokens = held
    gate.open()
    pair.settle()
    pair.clock.advance(LEASE * 3)
    assert tokens == [1]
    assert state(pair.client(0), 1) == "done"


@pytest.mark.report("J17", "rq/rq#2061")
def test_what_is_given_to_an_agent_that_has_not_begun_is_not_taken_back(
    timed: otpy.System, clock: VirtualClock, tmp_path: Path
) -> None:
    crew = jobs.Crew(name="pool", size=1, spare=0)
    kind: Any = job(timeout=None)(nothing)
    timed.start(engine(tmp_path / "jobs.db", [kind], lease=LEASE, crews=[crew]))
    timed.wait_idle()
    (agent,) = [one.path for one in timed.records(limit=100) if one.path.endswith("/pool/1")]
    timed.suspend(agent)
    client = of(timed)
    made = client.enqueue(kind.new())
    clock.advance(LEASE * 3)
    assert state(client, made.id) == "running"
    timed.resume(agent)
    timed.wait_idle()
    found = client.get(made.id)
    assert found is not None
    assert (found.state, found.token, found.crashes) == ("done", 1, 0)


def test_jobs_that_ended_long_ago_are_forgotten(timed: otpy.System, clock: VirtualClock, tmp_path: Path) -> None:
    timed.start(engine(tmp_path / "jobs.db", [NOTHING], lease=60.0, poll=60.0, keep=600.0))
    client = of(timed)
    made = client.enqueue(NOTHING.new())
    timed.wait_idle()
    clock.advance(590.0)
    assert state(client, made.id) == "done"
    clock.advance(30.0)
    assert client.get(made.id) is None
