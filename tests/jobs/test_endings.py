"""Who waits for a job hears of its end, whichever program does it."""

from __future__ import annotations

import asyncio
import sys
import threading
from typing import TYPE_CHECKING, Any

import pytest

import otpy
from otpy import jobs
from otpy.events import ActorCrashed
from otpy.jobs.engine import Engine
from otpy.jobs.looking import Looking
from otpy.jobs.store.opening import open_store
from otpy.testing import Gate, Recorder
from otpy.testing.arrivals import Arrivals

from .askers import askers

if TYPE_CHECKING:
    from pathlib import Path


def double(number: int) -> int:
    return number * 2


def fail() -> None:
    raise ValueError("no")


DOUBLE: Any = jobs.job(double)
FAIL: Any = jobs.job(retry=jobs.Retry(errors=1))(fail)


def started(system: otpy.System, folder: Path, *kinds: Any) -> jobs.Client:
    system.start(jobs.engine(folder / "jobs.db", [DOUBLE, FAIL, *kinds], profile="fast"))
    return jobs.of(system)


def test_the_end_is_told_whatever_it_is(system: otpy.System, tmp_path: Path) -> None:
    client = started(system, tmp_path)
    done, dead = client.enqueue(DOUBLE.new(4)), client.enqueue(FAIL.new())
    assert client.wait(done.id, timeout=5.0).result == b"\x08"
    assert client.wait(dead.id, timeout=5.0).state == "dead"
    assert client.wait(done.id, timeout=5.0).state == "done"


def test_it_is_awaited_in_a_task(system: otpy.System, tmp_path: Path) -> None:
    client = started(system, tmp_path)

    async def both() -> list[str]:
        made = await client.aenqueue_all([DOUBLE.new(1), DOUBLE.new(2)])
        ended = await asyncio.gather(*(client.await_end(one.id, timeout=5.0) for one in made))
        return [one.state for one in ended]

    assert asyncio.run(both()) == ["done", "done"]


def test_the_time_may_be_over_and_the_job_goes_on(system: otpy.System, tmp_path: Path) -> None:
    with Gate() as gate:

        def hold() -> None:
            gate.wait()

        kind: Any = jobs.job(hold)
        client = started(system, tmp_path, kind)
        made = client.enqueue(kind.new())
        gate.reached()
        with pytest.raises(jobs.NotEndedError, match=r"job 1 has not ended within 0\.02 s; it goes on") as caught:
            client.wait(made.id, timeout=0.02)
        assert isinstance(caught.value, TimeoutError)
        gate.open()
        assert client.wait(made.id, timeout=5.0).state == "done"


def test_a_job_that_is_not_there_is_told_at_once(system: otpy.System, tmp_path: Path) -> None:
    with pytest.raises(jobs.NoSuchJobError, match="no job 99"):
        started(system, tmp_path).wait(99)


def test_what_another_program_does_is_heard_of(quiet: None, tmp_path: Path) -> None:
    systems = [otpy.System(name) for name in ("a", "b")]
    leader, other = (started(system, tmp_path) for system in systems)
    made = other.enqueue(DOUBLE.new(8))
    found: list[str] = []
    waiting = [
        threading.Thread(target=lambda one=one: found.append(one.wait(made.id, 5.0).state)) for one in (leader, other)
    ]
    for thread in waiting:
        thread.start()
    for thread in waiting:
        thread.join()
    assert found == ["done", "done"]
    for system in systems:
        assert system.stop(timeout=30.0) == []


@pytest.mark.parametrize("is_awaited", [False, True])
def test_who_waits_goes_on_when_the_writer_is_started_again(
    system: otpy.System, quiet: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, is_awaited: bool
) -> None:
    """It was a CallExitError, though the job went on."""
    client = started(system, tmp_path)
    made = client.enqueue(DOUBLE.new(1).opts(delay=3_600.0))
    found: list[str] = []

    def wait() -> None:
        job = asyncio.run(client.await_end(made.id, 20.0)) if is_awaited else client.wait(made.id, 20.0)
        found.append(job.state)

    endings, asked = system.names["jobs/endings"], askers(monkeypatch)
    thread = threading.Thread(target=wait)
    thread.start()
    asked.wait(1, 5.0)
    gone = endings.monitor()
    system.names["jobs/writer"].kill()
    gone.wait(30.0)
    client.cancel(made.id)
    thread.join(20.0)
    assert found == ["cancelled"]


def test_who_waits_goes_on_however_long_the_engine_takes_to_be_back(
    system: otpy.System, quiet: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It was a NoProcError after a second, when an agent held up the stop of what goes with the writer."""
    client = started(system, tmp_path)
    made = client.enqueue(DOUBLE.new(1).opts(delay=3_600.0))
    found: list[str] = []
    looks, again = Arrivals[int](), Looking._raise_unless_again

    def noted(self: Looking, *args: Any) -> None:
        again(self, *args)
        looks.add(1)

    with Gate() as gate:

        def held(*args: Any) -> Any:
            gate.wait()
            return open_store(*args)

        monkeypatch.setattr("otpy.jobs.looking.PATIENCE", 0.01)
        monkeypatch.setattr(Looking, "_raise_unless_again", noted)
        monkeypatch.setattr(sys.modules[Engine.__module__], "open_store", held)
        thread = threading.Thread(target=lambda: found.append(client.wait(made.id, 20.0).state))
        thread.start()
        system.names["jobs/writer"].kill()
        gate.reached()
        looks.wait(3, 5.0)
        with pytest.raises(jobs.NotEndedError):
            client.wait(made.id, 0.0)
        gate.open()
        system.wait_idle()
        client.cancel(made.id)
        thread.join(20.0)
    assert found == ["cancelled"]


def test_a_leader_that_ends_with_its_writer_does_not_crash(
    system: otpy.System, quiet: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It could not resign, nor the scheduler say its last words, and each told a crash of its own."""
    with Gate() as gate:

        def hold() -> None:
            gate.wait()

        kind: Any = jobs.job(hold)
        client = started(system, tmp_path, kind)
        client.enqueue(kind.new())
        gate.reached()
        with Recorder(system) as record:
            gone = system.names["jobs/leader"].monitor()
            system.names["jobs/writer"].kill()
            gate.open()
            gone.wait(30.0)
            system.wait_idle()
        assert {event.kind for event in record.of(ActorCrashed)} <= {"Writer", "Agent"}


def test_who_waits_when_the_engine_ends_is_told_so(
    system: otpy.System, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = askers(monkeypatch)
    made = started(system, tmp_path).enqueue(DOUBLE.new(1).opts(delay=3_600.0))
    failed: list[BaseException] = []

    def wait() -> None:
        try:
            jobs.of(system).wait(made.id)
        except otpy.errors.CallExitError as error:
            failed.append(error)

    thread = threading.Thread(target=wait)
    thread.start()
    asked.wait(1, 5.0)
    system.names["jobs/engine"].stop()
    thread.join(30.0)
    assert len(failed) == 1
