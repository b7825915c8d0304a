"""Jobs in real processes: what hangs there is gone in time, and what is said there is heard."""

from __future__ import annotations

import os
import time
from typing import TYPE_CHECKING, Any

import pytest

from otpy.drain.begin import begin
from otpy.jobs.args import unpack
from support import errands

from .works import Ends, crew, ended, result, seen, started

if TYPE_CHECKING:
    from pathlib import Path

    import otpy
    from otpy.testing import VirtualClock

TIMEOUT = 0.4
"""That of the kinds that hang."""


@pytest.fixture
def pipe(tmp_path: Path) -> str:
    """A named pipe: who reads it waits until a job has written."""
    path = tmp_path / "pipe"
    os.mkfifo(path)
    return str(path)


def read(pipe: str) -> int:
    """The number that a job says there."""
    with open(pipe) as said:  # noqa: PTH123 - a pipe
        return int(said.read())


def is_there(pid: int) -> bool:
    """Whether there is such a process."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


@pytest.mark.parametrize("kind", [errands.spin, errands.sleep_in_c], ids=lambda kind: kind.name)
def test_whatever_hangs_in_a_process_is_gone_a_second_after_its_time(
    timed: otpy.System, clock: VirtualClock, ends: Ends, tmp_path: Path, pipe: str, kind: Any
) -> None:
    client = started(timed, tmp_path, kind, errands.double, crews=[crew("process", size=1, spare=1)], poll=60.0)
    assert result(ended(client, ends, errands.double.new(1))) == 2  # the crew is there
    made = client.enqueue(kind.new(pipe))
    pid = read(pipe)
    clock.advance(TIMEOUT + 1.0)
    ends.wait(2)
    dead = seen(client, made.id)
    assert (dead.state, [one.failure for one in dead.attempts]) == ("dead", ["timeout"])
    assert not is_there(pid)
    assert result(ended(client, ends, errands.double.new(2))) == 4


@pytest.mark.parametrize("place", ["pool", "thread", "process"])
def test_what_a_job_says_is_heard_in_every_place(system: otpy.System, ends: Ends, tmp_path: Path, place: str) -> None:
    client = started(system, tmp_path, errands.talk, crews=[crew(place)])
    done = ended(client, ends, errands.talk.new())
    seen_before, paid, key, token = result(done)
    assert (seen_before, paid, key, token) == ((1, "half"), "paid in 1", done.effect_key, 2)
    assert done.progress is not None
    assert unpack(done.progress) == {"at": 1}
    assert [one.text for one in done.attempts] == ["ValueError: paid in 1"]


def test_a_cancelled_job_in_a_process_may_wind_up(system: otpy.System, ends: Ends, tmp_path: Path, pipe: str) -> None:
    client = started(system, tmp_path, errands.attentive, errands.where, crews=[crew("process", spare=0)])
    made = client.enqueue(errands.attentive.new(pipe))
    pid = read(pipe)
    client.cancel(made.id, reason="not needed")
    ends.wait(1)
    cancelled = seen(client, made.id)
    assert (cancelled.state, cancelled.reason, cancelled.result) == ("cancelled", "not needed", None)
    assert result(ended(client, ends, errands.where.new())) == pid  # the agent lives on


def test_a_coroutine_in_a_process_is_cancelled_where_it_awaits(
    system: otpy.System, ends: Ends, tmp_path: Path, pipe: str
) -> None:
    client = started(system, tmp_path, errands.wait_long, errands.where, crews=[crew("process", spare=0)])
    made = client.enqueue(errands.wait_long.new(pipe))
    pid = read(pipe)
    client.cancel(made.id)
    ends.wait(1)
    assert seen(client, made.id).state == "cancelled"
    assert result(ended(client, ends, errands.where.new())) == pid  # the agent lives on


def test_one_that_hears_of_nothing_is_killed_after_the_grace(
    timed: otpy.System, clock: VirtualClock, ends: Ends, tmp_path: Path, pipe: str
) -> None:
    client = started(timed, tmp_path, errands.deaf, crews=[crew("process")], lease=600.0, poll=60.0, grace=3.0)
    made = client.enqueue(errands.deaf.new(pipe))
    pid = read(pipe)
    client.cancel(made.id)
    clock.advance(2.9)
    assert (ends.so_far(), is_there(pid)) == ([], True)
    clock.advance(1.1)
    assert ends.wait(1) == [(made.id, "cancelled")]
    assert not is_there(pid)


@pytest.mark.parametrize("kind", [errands.attentive, errands.wait_long], ids=lambda kind: kind.name)
def test_in_a_drain_it_is_given_back_when_its_time_is_over(
    timed: otpy.System, clock: VirtualClock, ends: Ends, tmp_path: Path, pipe: str, kind: Any
) -> None:
    """One that awaits leaves, one that asks for a cancellation alone is killed; of none an attempt is spent."""
    client = started(timed, tmp_path, kind, crews=[crew("process", spare=0)], lease=600.0, poll=60.0)
    made = client.enqueue(kind.new(pipe))
    read(pipe)
    course = begin(timed, "by hand", 10.0)
    clock.advance(5.9)
    assert ends.so_far() == []
    clock.advance(4.0)
    assert ends.wait(1) == [(made.id, "ready")]
    assert course.wait(20.0)
    found = seen(client, made.id)
    assert (found.attempt, found.releases, found.errors, found.crashes) == (0, 1, 0, 0)
    assert course.undone == []


def test_a_killed_process_moves_its_job_at_once(system: otpy.System, ends: Ends, tmp_path: Path, pipe: str) -> None:
    client = started(system, tmp_path, errands.visit, crews=[crew("process")], lease=600.0)
    made = client.enqueue(errands.visit.new(pipe))
    os.kill(read(pipe), 9)
    began = time.monotonic()
    read(pipe)
    assert time.monotonic() - began < 5.0
    ends.wait(2)
    done = seen(client, made.id)
    assert (done.state, done.crashes, [one.failure for one in done.attempts]) == ("done", 1, ["crash"])


def test_nothing_is_said_of_processes_that_end_well(
    system: otpy.System, ends: Ends, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """An actor inside that ends after the one that started it spoke to the stand-in of a parent that was gone."""
    client = started(system, tmp_path, errands.double, crews=[crew("process")])
    ended(client, ends, errands.double.new(1))
    with caplog.at_level("INFO", "otpy.child"):
        engine = system.whereis("jobs/writer").parent  # type: ignore[union-attr]  # it runs
        engine.stop()  # type: ignore[union-attr]  # as above
    assert [record.getMessage() for record in caplog.records if record.name == "otpy.child"] == []
