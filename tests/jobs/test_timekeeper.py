"""The timekeeper: each time of a schedule is fired once, whatever the clock does, and as it was declared."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

import otpy
from otpy import jobs
from otpy.jobs.agents.context import current
from otpy.jobs.client import of
from otpy.jobs.cron import cron
from otpy.jobs.engine import engine
from otpy.jobs.kind import job
from otpy.jobs.writer import Writer
from otpy.testing import Recorder

from .pair import Pair

if TYPE_CHECKING:
    from pathlib import Path

    from otpy.testing import VirtualClock

SIX_MINUTES_MS = 360_000


def nothing() -> None:
    """Is done at once."""


NOTHING: Any = job(nothing)


@pytest.mark.parametrize("jump", [SIX_MINUTES_MS, -SIX_MINUTES_MS])
def test_a_clock_that_is_set_fires_no_time_twice(
    quiet: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, jump: int
) -> None:
    done: list[str] = []

    @job
    def tick() -> None:
        done.append(current().key)

    often = cron("* * * * *", tick.new(), missed="latest")
    pair = Pair(tmp_path, monkeypatch, kinds=[tick], cron=[often], lease=60.0, poll=10.0)
    pair.clock.advance(360.0)
    assert len(done) == 6
    for name in "ab":
        pair.shift[name] += jump
    pair.clock.advance(360.0)
    assert len(done) == (13 if jump > 0 else 6)
    times = [one.run_at for one in pair.client(0).find(limit=100)]
    assert len(times) == len(set(times))
    pair.stop()


def test_a_schedule_that_another_program_declares_is_fired_soon(
    quiet: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    done: list[str] = []

    @job
    def tick() -> None:
        done.append("tick")

    pair = Pair(tmp_path, monkeypatch, {"kinds": [tick]}, {"kinds": [tick], "cron": [cron("* * * * *", tick.new())]})
    assert pair.leads() == ["a"]
    pair.clock.advance(61.0)
    assert len(done) == 1
    pair.stop()


def test_a_job_of_a_schedule_has_its_delay_and_its_deadline_from_the_time_that_came(
    timed: otpy.System, clock: VirtualClock, tmp_path: Path
) -> None:
    """The deadline of what is declared once was counted from 1970, and each of its jobs was dead at once."""
    spec = NOTHING.new().opts(delay=5.0, deadline=30.0)
    timed.start(engine(tmp_path / "jobs.db", [NOTHING], cron=[cron("* * * * *", spec)]))
    clock.advance(130.0)
    found = of(timed).find()
    assert [(one.state, one.run_at % 60_000, (one.deadline_at or 0) % 60_000) for one in found] == [
        ("done", 5_000, 30_000)
    ] * 2


def test_a_schedule_is_seen_paused_resumed_and_dropped(timed: otpy.System, clock: VirtualClock, tmp_path: Path) -> None:
    timed.start(engine(tmp_path / "jobs.db", [NOTHING], cron=[cron("* * * * *", NOTHING.new(), id="tick")]))
    client = of(timed)
    timed.wait_idle()
    (seen,) = client.schedules()
    assert (seen.id, seen.kind, seen.queue, seen.is_paused) == ("tick", NOTHING.name, "default", False)
    assert seen.next_at is not None
    assert 0 < seen.next_at - seen.last_at <= 60_000
    client.pause_schedule("tick")
    clock.advance(150.0)
    (paused,) = client.schedules()
    assert (paused.is_paused, paused.next_at, client.find()) == (True, None, [])
    client.resume_schedule("tick")
    clock.advance(60.0)
    assert len(client.find()) == 1, "what passed in the pause is left out"
    with pytest.raises(jobs.NoSuchScheduleError, match="there is no schedule 'tock'"):
        client.drop_schedule("tick", "tock")
    assert len(client.schedules()) == 1, "all of them, or none"
    client.drop_schedule("tick")
    clock.advance(120.0)
    assert (client.schedules(), len(client.find())) == ([], 1)


def test_a_schedule_whose_zone_is_not_known_here_holds_up_no_other(
    timed: otpy.System, clock: VirtualClock, tmp_path: Path
) -> None:
    """Another program has declared it, whose machine knows more zones."""
    timed.start(engine(tmp_path / "jobs.db", [NOTHING], cron=[cron("* * * * *", NOTHING.new(), id="tick")]))
    client = of(timed)
    timed.wait_idle()
    writer = timed.ref(otpy.name(Writer, "jobs/writer"))

    def declare(tx: Any) -> None:
        (known,) = tx.schedules()
        tx.plan([replace(known, id="a", tz="Moon/Far_Side")])

    with Recorder(timed) as told:
        writer.call(Writer.run, declare)
        clock.advance(121.0)
        assert [event for event in told.events if "Child" in type(event).__name__] == []
    assert len(client.find()) == 2
    odd, tick = client.schedules()
    assert (odd.next_at, tick.problem) == (None, None)
    assert "a zone of the IANA database" in (odd.problem or "")
