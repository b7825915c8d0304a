"""Two programs on one store: one leads, and the other takes over."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

import otpy
from otpy.events import LeaderElected, LeaderLost, LeaderResigned
from otpy.jobs.client import of
from otpy.jobs.cron import cron
from otpy.jobs.engine import engine
from otpy.jobs.errors import NotLeadingError
from otpy.jobs.kind import job
from otpy.jobs.staff import Staff
from otpy.jobs.store.sqlite.transaction import SqliteTransaction
from otpy.jobs.timekeeper import Timekeeper
from otpy.testing import Gate, VirtualClock

from .pair import LEASE, WHERE, Pair

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

HOUR_MS = 3_600_000


@pytest.fixture
def pair(make: Callable[..., Pair]) -> Pair:
    return make()


@pytest.mark.report("J5", "oban-bg/oban-py#32")
def test_one_leads(pair: Pair) -> None:
    assert pair.leads() == ["a"]
    pair.clock.advance(LEASE * 3)
    assert pair.leads() == ["a"]
    assert [event.epoch for event in pair.told(0, LeaderElected)] == [1]
    assert pair.told(1, LeaderElected) == []


def test_a_clean_stop_hands_over_at_once(pair: Pair) -> None:
    pair.engines[0].stop()
    pair.clock.advance(LEASE * 0.1)
    assert pair.leads() == ["b"]
    assert [(event.is_well, event.why) for event in pair.told(0, LeaderResigned)] == [(True, "it was told to stop")]
    assert [event.epoch for event in pair.told(1, LeaderElected)] == [2]


def test_a_leader_that_is_gone_is_followed_within_its_lease(pair: Pair) -> None:
    pair.kill(0)
    pair.clock.advance(LEASE * 0.95)
    assert pair.leads() == []
    pair.clock.advance(LEASE * 0.2)
    assert pair.leads() == ["b"]


def test_a_leader_killed_alone_has_left_no_duties_to_the_next_one(pair: Pair) -> None:
    first = pair.systems[0].names["jobs/scheduler"]
    pair.systems[0].names["jobs/leader"].kill()
    pair.settle()
    assert not first.is_alive()
    pair.clock.advance(LEASE * 1.1)
    assert len(pair.leads()) == 1


@pytest.mark.report("J43", "fabric8io/kubernetes-client PR #7258")
def test_a_lead_lasts_as_long_as_its_owner_said(make: Callable[..., Pair]) -> None:
    pair = make({"lease": 4 * LEASE}, {"lease": LEASE})
    pair.kill(0)
    pair.clock.advance(LEASE * 3.9)
    assert pair.leads() == []
    pair.clock.advance(LEASE * 0.2)
    assert pair.leads() == ["b"]


@pytest.mark.report("J44", "riverqueue/river#742")
def test_engines_of_other_names_lead_beside_each_other_on_one_file(make: Callable[..., Pair]) -> None:
    pair = make({"name": "mail"}, {"name": "films"})
    assert (pair.leads("mail"), pair.leads("films")) == (["a"], ["b"])
    pair.engines[0].stop()
    pair.clock.advance(LEASE * 2)
    assert (pair.leads("mail"), pair.leads("films")) == ([], ["b"])


@pytest.mark.report("J22", "riverqueue/river#1161")
def test_who_cannot_do_its_duties_lets_another_one(pair: Pair, monkeypatch: pytest.MonkeyPatch) -> None:
    _sick(monkeypatch, "b", times=100)
    pair.engines[0].stop()
    pair.clock.advance(LEASE * 0.1)
    restarted = pair.systems[0].start(engine(pair.stores["a"].path, [WHERE], lease=LEASE))
    pair.clock.advance(LEASE)
    assert pair.leads() == ["a"]
    resigned = pair.told(1, LeaderResigned)
    assert [event.is_well for event in resigned] == [False] * len(resigned)
    assert 1 <= len(resigned) <= 3
    assert "its duties did not start" in resigned[0].why
    restarted.stop()


def test_who_cannot_do_its_duties_tries_again_less_and_less_often(
    make: Callable[..., Pair], monkeypatch: pytest.MonkeyPatch
) -> None:
    _sick(monkeypatch, "a", times=5)
    _sick(monkeypatch, "b", times=5)
    pair = make()
    pair.clock.advance(300.0)
    assert len(pair.leads()) == 1
    assert len(pair.told(0, LeaderResigned)) + len(pair.told(1, LeaderResigned)) >= 5


def test_duties_that_reach_their_restart_limit_end_the_lead_and_not_the_engine(pair: Pair) -> None:
    for _ in range(4):
        pair.systems[0].names["jobs/scheduler"].kill()
        pair.settle()
    pair.clock.advance(0.5)
    pair.settle()
    assert [event.is_well for event in pair.told(0, LeaderResigned)] == [False]
    assert pair.engines[0].is_alive()
    pair.clock.advance(LEASE * 0.1)
    assert pair.leads() == ["b"]


@pytest.mark.report("J4", "oban-bg/oban#1488")
def test_whose_store_is_gone_steps_down_before_another_may_lead(pair: Pair) -> None:
    pair.fail("a")
    pair.clock.advance(LEASE * 0.6)
    assert pair.leads() == ["a"]
    pair.clock.advance(LEASE * 0.35)
    assert pair.leads() == []
    (lost,) = pair.told(0, LeaderLost)
    assert "locked" in lost.why
    pair.clock.advance(LEASE * 0.2)
    assert pair.leads() == ["b"]
    pair.fail("a", still=False)
    pair.clock.advance(LEASE)
    assert pair.leads() == ["b"]


def test_one_failure_of_the_store_is_survived(pair: Pair) -> None:
    pair.fail("a")
    pair.clock.advance(LEASE * 0.4)
    pair.fail("a", still=False)
    pair.clock.advance(LEASE * 3)
    assert pair.leads() == ["a"]
    assert pair.told(0, LeaderLost) == []


@pytest.mark.parametrize("who", ["a", "b", "ab"])
@pytest.mark.parametrize("jump", [HOUR_MS, -HOUR_MS])
def test_after_a_jump_of_the_clock_one_leads(pair: Pair, who: str, jump: int) -> None:
    for name in who:
        pair.shift[name] += jump
    pair.clock.advance(LEASE * 3)
    assert len(pair.leads()) == 1
    elected = sorted(event.epoch for number in (0, 1) for event in pair.told(number, LeaderElected))
    assert elected == list(range(1, len(elected) + 1))


def test_a_clock_set_back_keeps_nobody_from_taking_over(pair: Pair) -> None:
    pair.clock.advance(LEASE)
    pair.kill(0)
    for name in "ab":
        pair.shift[name] -= HOUR_MS
    pair.clock.advance(LEASE * 1.2)
    assert pair.leads() == ["b"]


def test_an_extension_that_lands_after_its_time_is_none(pair: Pair) -> None:
    """The request waits in the leader's program while its lease passes, and the other one is elected."""
    with Gate() as gate:
        pair.stores["a"].before = gate
        pair.clock.advance(LEASE * 1.2)
        assert pair.leads() == ["b"]
        pair.stores["a"].before = None
    pair.clock.advance(LEASE)
    assert pair.leads() == ["b"]
    assert len(pair.told(0, LeaderLost)) == 1


def test_an_extension_told_too_late_is_not_trusted(pair: Pair) -> None:
    """It was written down in time, but nobody was told so before the time was over."""
    with Gate() as gate:
        pair.stores["a"].after = gate
        pair.clock.advance(LEASE * 0.95 + LEASE / 3)
        assert pair.leads() == []
        pair.stores["a"].after = None
    pair.settle()
    assert len(pair.told(0, LeaderLost)) == 1
    pair.clock.advance(LEASE)
    assert len(pair.leads()) == 1


def test_who_leads_is_seen_from_outside(pair: Pair) -> None:
    states = [system.state(f"{system.name}/jobs/leader").state for system in pair.systems]
    assert ["is_leader = True" in lines for lines in states] == [True, False]
    assert ["epoch = 1" in lines for lines in states] == [True, False]


def test_who_stands_by_has_no_agents_to_scale(pair: Pair) -> None:
    assert [len(pair.client(number).crews()) for number in (0, 1)] == [1, 0]
    with pytest.raises(NotLeadingError, match="jobs does not lead in this program"):
        pair.client(1).scale("pool", 2)


def test_who_has_no_foreman_does_not_lead(pair: Pair, monkeypatch: pytest.MonkeyPatch) -> None:
    """As in the moment between the start of the scheduler and that of the crews."""
    monkeypatch.setattr(Staff, "is_here", property(lambda _: True))
    monkeypatch.setattr("otpy.jobs.staff.PATIENCE", 0.0)
    with pytest.raises(NotLeadingError, match="jobs does not lead in this program"):
        pair.client(1).scale("pool", 2)


def test_who_stands_by_enqueues_and_the_leader_does_it(pair: Pair) -> None:
    made = pair.client(1).enqueue(WHERE.new())
    pair.clock.advance(0.2)
    pair.settle()
    found = pair.client(1).get(made.id)
    assert found is not None
    assert found.state == "done"


@pytest.mark.report("J23", "riverqueue/river#342")
@pytest.mark.report("J70", "dkron-io/dkron#998")
@pytest.mark.parametrize("first", [0, 1])
def test_a_schedule_is_fired_once_a_time_whoever_leads_and_whoever_declares_it(
    quiet: None, tmp_path: Path, first: int
) -> None:
    clock = VirtualClock()
    done: list[str] = []

    @job
    def tick() -> None:
        done.append("tick")

    systems = [otpy.System(name, clock=clock) for name in ("a", "b")]
    plans: list[Any] = [[], []]
    plans[first] = [cron("0 * * * *", tick.new())]
    engines = [
        system.start(engine(tmp_path / "jobs.db", [tick], lease=600.0, poll=600.0, cron=plan))
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
        assert system.stop(timeout=30.0) == []


def _sick(patch: pytest.MonkeyPatch, name: str, *, times: int) -> None:
    """The timekeeper of one program does not start, so many times."""
    left = [times]
    init = Timekeeper.init

    def wrapped(self: Timekeeper, *args: Any) -> None:
        if self.system.name == name and left[0]:
            left[0] -= 1
            raise OSError("no time")
        init(self, *args)

    patch.setattr(Timekeeper, "init", wrapped)


def test_a_scheduler_that_dies_in_an_outage_costs_no_lead(pair: Pair) -> None:
    """Its start asked the store, and so used up the restart limit of the duties."""
    pair.fail("a")
    pair.systems[0].names["jobs/scheduler"].kill()
    pair.clock.advance(LEASE * 0.45)
    pair.fail("a", still=False)
    pair.clock.advance(LEASE)
    assert pair.leads() == ["a"]
    assert pair.told(0, LeaderResigned) == pair.told(0, LeaderLost) == []
    made = pair.client(0).enqueue(WHERE.new())
    pair.clock.advance(1.0)
    assert pair.client(0).wait(made.id, 1.0).state == "done"


def test_what_was_wished_for_as_the_lead_seemed_over_is_wished_for_again(
    timed: otpy.System, clock: VirtualClock, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The clock may be set back before the leader looks; its queues waited for other news then."""
    timed.start(engine(tmp_path / "jobs.db", [WHERE]))
    client = of(timed)
    with monkeypatch.context() as patch:
        patch.setattr(SqliteTransaction, "claim", lambda *_: None)
        made = client.enqueue(WHERE.new())
        timed.wait_idle()
    clock.advance(0.5)
    assert client.wait(made.id, 1.0).state == "done"
