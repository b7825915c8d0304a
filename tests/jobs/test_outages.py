"""An engine whose server is away for a while, or hangs: what is refused, what goes on, and what a probe is told."""

from __future__ import annotations

import re
import threading
from typing import TYPE_CHECKING, Any

import pytest

import otpy
from otpy import jobs
from otpy.events import LeaderLost, StaleWrite, StoreFailed, StoreRecovered
from otpy.jobs import health
from otpy.jobs.engine import Engine
from otpy.testing import Gate, Recorder
from support.postgres import fresh_url, server

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from otpy.testing import VirtualClock

pytestmark = pytest.mark.any_python

RUNS: list[int] = []
LEASE = 15.0
AWAY = "the server cannot be reached|the database system is shutting down"
"""What was met last; for a while nobody asks again."""


@pytest.fixture
def gate() -> Iterator[Gate]:
    """Where a job stops."""
    RUNS.clear()
    with Gate() as gate:
        yield gate


def kinds(gate: Gate) -> list[Any]:
    @jobs.job(name="wait", timeout=None)
    def wait() -> str:
        RUNS.append(jobs.current().token)
        gate.wait()
        return "done"

    @jobs.job(name="note")
    def note() -> None:
        """Is done at once."""

    return [wait, note]


@pytest.mark.report("J14", "celery/celery#8030")
def test_a_job_goes_on_while_the_server_is_away_and_what_came_of_it_is_kept_when_that_is_back(
    system: otpy.System, gate: Gate, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(health, "CALM", 0.0)
    wait, note = kinds(gate)
    system.start(jobs.engine(fresh_url(), [wait, note], lease=30.0))
    client = jobs.of(system)
    kept = client.enqueue(wait.new())
    gate.reached()
    system.wait_idle()  # one agent may work before the others are there
    assert client.readiness() == jobs.Readiness()
    with Recorder(system, StoreFailed) as failed, Recorder(system, StoreRecovered) as recovered:
        with server().down():
            errors = [refused(client, note) for _ in range(3)]
            seen, store = client.readiness(), client.store()
            gate.open()
        assert client.wait(kept.id, 60.0).result_value == "done"
        assert client.wait(client.enqueue(note.new()).id, 60.0).state == "done"
    assert RUNS == [1], "its lease held"
    assert not seen.is_ready
    assert (seen.problem or "").startswith(f"{store.path}: nothing is kept")
    assert re.search(AWAY, seen.problem or "")
    assert seen.since is not None
    assert store.tries >= errors[-1].tries >= errors[0].tries >= 1
    assert "; nothing has been kept for " in str(refused_with(errors))
    assert (len(failed.events), len(recovered.events) >= 1) == (1, True)
    assert client.readiness().is_ready


def refused(client: jobs.Client, kind: Any) -> jobs.StoreError:
    with pytest.raises(jobs.StoreError, match=AWAY) as told:
        client.enqueue(kind.new())
    return told.value


def refused_with(errors: list[jobs.StoreError]) -> jobs.StoreError:
    """The one who was told after most tries."""
    most = max(errors, key=lambda one: one.tries)
    return type(most)(most.path, most.problem, seconds=most.seconds, tries=max(2, most.tries))


def test_a_job_whose_lease_is_over_when_the_server_is_back_is_begun_again_and_ends_once(
    timed: otpy.System, clock: VirtualClock, gate: Gate
) -> None:
    wait, note = kinds(gate)
    timed.start(jobs.engine(fresh_url(), [wait, note], lease=LEASE))
    client = jobs.of(timed)
    kept = client.enqueue(wait.new())
    gate.reached()
    timed.wait_idle()  # it need not lead before it works
    with Recorder(timed, StaleWrite, LeaderLost) as told:
        with server().down():
            clock.advance(LEASE)
        assert len(told.of(LeaderLost)) == 1, "who leads goes by its own clock"
        clock.advance(2 * LEASE)
        gate.reached(2)  # else the first may still end before anybody has looked at its lease
        gate.open()
        job = client.wait(kept.id, 60.0)
        timed.wait_idle()
    assert (job.result_value, job.crashes, len(RUNS)) == ("done", 1, 2)
    assert [one.job for one in told.of(StaleWrite)] in ([], [kept.id])


def test_nobody_waits_for_a_server_that_has_failed_and_hangs(
    system: otpy.System, gate: Gate, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each call would last until it gives up, and its caller be told that nobody knows whether it was done."""
    monkeypatch.setattr(health, "CALM", 0.0)
    from otpy.jobs.store.postgres import session  # noqa: PLC0415 - an extra

    monkeypatch.setattr(session, "IDLE", 60.0)
    _, note = kinds(gate)
    system.start(jobs.engine(fresh_url(), [note], lease=3.0, busy=0.5))
    client = jobs.of(system, seconds=30.0)
    client.wait(client.enqueue(note.new()).id, 30.0)
    recovered = threading.Event()
    system.events.attach(lambda _: recovered.set(), StoreRecovered)
    with Recorder(system, StoreFailed) as failed:
        with server().frozen():
            with pytest.raises(jobs.StoreError, match=r"no answer for 0\.6 s"):
                client.enqueue(note.new())
            seen = client.readiness()
        assert recovered.wait(30.0)
        assert client.wait(client.enqueue(note.new()).id, 30.0).state == "done"
    assert "no answer" in (seen.problem or "")
    assert len(failed.events) == 1


def test_who_hangs_is_told_of_at_once_when_it_has_failed_before() -> None:
    """An attempt that takes long is waited for by nobody else; one that has just begun may succeed."""
    state = health.Health()
    state.asked_at = 10.0
    assert state.hangs(20.0) is None
    assert state.readiness("here", 14.0, 5.0).is_ready
    assert state.readiness("here", 16.0, 5.0) == jobs.Readiness(problem="here: it does not answer", since=6.0)
    state.asked_at = None
    state.failed(jobs.StoreError("here", "it is gone"), 20.0)
    state.failed(jobs.StoreError("here", "it is gone"), 22.0)
    state.asked_at = 22.0
    assert state.hangs(22.1) is None
    state.asked_at = 21.0
    state.failed(jobs.StoreError("here", "it is gone"), 22.0)
    state.asked_at = 22.0
    assert state.hangs(22.0) is not None, "the one before has lasted long, too"
    told = state.hangs(23.0)
    assert told is not None
    assert str(told) == "here: it is gone; nothing has been kept for 3 s, in 3 tries"
    assert state.readiness("here", 24.0, 5.0) == jobs.Readiness(
        problem="here: nothing is kept, in 3 tries: it is gone", since=4.0
    )
    state.failed(jobs.StoreBusyError("here", "another has it"), 23.0)
    assert state.hangs(25.0) is None, "what others hold they may let go at any time"


def test_who_stands_by_tells_of_the_outage_and_lives_through_it(
    system: otpy.System, gate: Gate, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its looks at who leads ended the writer, and that could not be started again: the whole program gave up."""
    monkeypatch.setattr(health, "CALM", 0.0)
    _, note = kinds(gate)
    url, other = fresh_url(), otpy.System("other")
    other.start(jobs.engine(url, [note], lease=30.0))
    jobs.of(other).wait(jobs.of(other).enqueue(note.new()).id, 30.0)
    system.start(jobs.engine(url, [note], lease=6.0))
    failed, recovered = threading.Event(), threading.Event()
    system.events.attach(lambda _: failed.set(), StoreFailed)
    system.events.attach(lambda _: recovered.set(), StoreRecovered)
    with server().down():
        assert failed.wait(30.0)
        assert not jobs.of(system).readiness().is_ready
    assert recovered.wait(30.0)
    assert jobs.of(system).readiness().is_ready
    assert other.stop(timeout=10.0) == []


def test_a_probe_is_told_when_no_engine_runs_and_when_it_has_not_opened_its_store(
    system: otpy.System, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    client = jobs.of(system)
    assert client.readiness().problem == str(jobs.NoEngineError("jobs"))
    with Gate() as opening:
        real = Engine._open

        def slow(self: Engine) -> Any:
            opening.wait()
            return real(self)

        monkeypatch.setattr(Engine, "_open", slow)
        start = threading.Thread(target=lambda: system.start(jobs.engine(tmp_path / "jobs.db", kinds(opening))))
        start.start()
        opening.reached()
        assert client.readiness().problem == "the engine jobs is about to open its store"
        opening.open()
        start.join()
    assert client.readiness().is_ready
