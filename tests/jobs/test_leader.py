"""Two programs on one store: one leads, and the other takes over."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

import otpy
from otpy.jobs.client import Client, of
from otpy.jobs.cron import cron
from otpy.jobs.engine import engine
from otpy.jobs.kind import job
from otpy.testing import VirtualClock

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

LEASE = 10.0


def where() -> None:
    """Does nothing: who did it is what counts."""


WHERE: Any = job(where)


class Pair:
    """Two systems on one clock, whose stores are one file."""

    def __init__(self, folder: Path) -> None:
        self.clock = VirtualClock()
        self.systems = [otpy.System(name, clock=self.clock) for name in ("a", "b")]
        self.engines = [system.start(engine(folder / "jobs.db", [WHERE], lease=LEASE)) for system in self.systems]
        self.settle()

    def settle(self) -> None:
        for system in self.systems:
            system.wait_idle()

    def leads(self) -> list[str]:
        """Who has the duties."""
        self.settle()
        return [system.name for system in self.systems if system.names.get("jobs/scheduler") is not None]

    def client(self, number: int) -> Client:
        return of(self.systems[number])


@pytest.fixture
def pair(quiet: None, tmp_path: Path) -> Iterator[Pair]:
    made = Pair(tmp_path)
    yield made
    for system in made.systems:
        assert system.stop(timeout=5.0) == []


@pytest.mark.report("J5", "oban-bg/oban-py#32")
def test_one_leads(pair: Pair) -> None:
    assert pair.leads() == ["a"]
    pair.clock.advance(LEASE * 3)
    assert pair.leads() == ["a"]


def test_a_clean_stop_hands_over_at_once(pair: Pair) -> None:
    pair.engines[0].stop()
    pair.clock.advance(LEASE * 0.1)
    assert pair.leads() == ["b"]


def test_a_leader_that_is_gone_is_followed_within_its_lease(pair: Pair) -> None:
    pair.systems[0].names["jobs/leader"].kill()
    pair.engines[0].kill()
    pair.clock.advance(LEASE * 0.85)
    assert pair.leads() == []
    pair.clock.advance(LEASE * 0.3)
    assert pair.leads() == ["b"]


def test_who_stands_by_enqueues_and_the_leader_does_it(pair: Pair) -> None:
    made = pair.client(1).enqueue(WHERE.new())
    pair.clock.advance(0.2)
    pair.settle()
    found = pair.client(1).get(made.id)
    assert found is not None
    assert found.state == "done"


@pytest.mark.report("J23", "riverqueue/river#342")
def test_a_schedule_is_fired_once_a_time_whoever_leads(quiet: None, tmp_path: Path) -> None:
    clock = VirtualClock()
    done: list[str] = []

    @job
    def tick() -> None:
        done.append("tick")

    systems = [otpy.System(name, clock=clock) for name in ("a", "b")]
    plans: list[Any] = [[cron("0 * * * *", tick.new())], []]
    engines = [
        system.start(engine(tmp_path / "jobs.db", [tick], lease=600.0, poll=60.0, cron=plan))
        for system, plan in zip(systems, plans, strict=True)
    ]
    for _ in range(3):
        clock.advance(3_600.0)
    assert len(done) == 3
    engines[0].stop()
    for _ in range(3):
        clock.advance(3_600.0)
    assert len(done) == 6
    for system in systems:
        assert system.stop(timeout=5.0) == []
