"""Schedules in the store: each time once, whoever leads, and what happens when jobs overlap."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

import pytest

from otpy.jobs.model.lead import Fence
from otpy.jobs.model.new import Unique
from otpy.jobs.model.schedule import Schedule

from .shop import claim, new, numbers, settle

if TYPE_CHECKING:
    from otpy.jobs.store.protocol import Store
    from otpy.jobs.store.sqlite.transaction import SqliteTransaction

    from .conftest import Clock


def hourly(**fields: Any) -> Schedule:
    facts = {"expr": "0 * * * *", "tz": "UTC", "missed": "latest", "most": 10, "late": 60.0, "overlap": "allow"}
    return Schedule(**{"id": "s", "job": new("tick"), "jitter": 0.0, **facts, **fields})


def planned(store: Store, *schedules: Schedule) -> list[Schedule]:
    with store.transaction() as tx:
        tx.plan(schedules)
        return tx.schedules()


def fire(store: Store, fence: Fence, at: int) -> Any:
    with store.transaction() as tx:
        return tx.fire("s", at, at, fence)


def test_what_is_declared_is_kept_and_its_past_with_it(store: Store, fence: Fence, clock: Clock) -> None:
    assert planned(store, hourly()) == [hourly(fired_at=clock.now)]
    fire(store, fence, clock.now + 5)
    assert planned(store, hourly(jitter=1.0)) == [hourly(jitter=1.0, fired_at=clock.now + 5)]
    clock.now += 50
    assert planned(store, hourly(expr="5 * * * *")) == [hourly(expr="5 * * * *", fired_at=clock.now)]


@pytest.mark.report("J4", "oban-bg/oban#1488")
@pytest.mark.report("J70", "dkron-io/dkron#998")
def test_each_time_is_fired_once_and_by_the_leader(store: Store, fence: Fence, clock: Clock) -> None:
    planned(store, hourly())
    assert fire(store, Fence(name="jobs", epoch=99), clock.now + 5) is None
    for _ in range(2):
        assert fire(store, fence, clock.now + 5) == []
    assert fire(store, fence, clock.now + 4) == []
    assert numbers(store) == {"scheduled": 1}


@pytest.mark.parametrize(
    ("overlap", "beside_running", "beside_waiting"),
    [
        ("allow", {"running": 1, "ready": 1}, {"running": 1, "ready": 2}),
        ("skip", {"running": 1}, {"running": 1}),
        ("queue_one", {"running": 1, "ready": 1}, {"running": 1, "ready": 1}),
        ("cancel_old", {"running": 1, "ready": 1}, {"running": 1, "ready": 1, "cancelled": 1}),
    ],
)
def test_overlap(
    store: Store, fence: Fence, clock: Clock, overlap: Any, beside_running: Any, beside_waiting: Any
) -> None:
    planned(store, hourly(overlap=overlap))
    clock.now += 10
    fire(store, fence, clock.now - 9)
    (job,) = claim(store, fence)
    stopped = fire(store, fence, clock.now - 8)
    assert numbers(store) == beside_running
    assert [one.id for one in stopped] == ([job.id] if overlap == "cancel_old" else [])
    fire(store, fence, clock.now - 7)
    assert numbers(store) == beside_waiting
    settle(store, job, "done")


def test_one_that_is_forgotten_fires_no_more_and_begins_anew_when_it_is_declared_again(
    store: Store, fence: Fence, clock: Clock
) -> None:
    planned(store, hourly(fired_at=1))
    with store.transaction() as tx:
        assert (tx.unplan("s"), tx.unplan("s"), tx.schedules()) == (True, False, [])
    assert fire(store, fence, clock.now + 5) == []
    clock.now += 70
    assert planned(store, hourly()) == [hourly(fired_at=clock.now)]


def test_a_pause_leaves_out_what_comes_meanwhile(store: Store, fence: Fence, clock: Clock) -> None:
    planned(store, hourly())
    with store.transaction() as tx:
        assert tx.pause_schedule("s", is_paused=True)
        assert not tx.pause_schedule("other", is_paused=True)
    assert fire(store, fence, clock.now + 5) == []
    clock.now += 10
    with store.transaction() as tx:
        tx.pause_schedule("s", is_paused=False)
    assert fire(store, fence, clock.now - 1) == []
    assert fire(store, fence, clock.now + 1) == []
    assert numbers(store) == {"scheduled": 1}


def test_a_schedule_of_a_job_of_which_there_is_one_keeps_its_key(store: Store, fence: Fence, clock: Clock) -> None:
    job = new("tick", unique=Unique(key="u"))
    assert planned(store, hourly(job=job))[0].job == job
    for number in (1, 2):
        fire(store, fence, clock.now + number)
    assert numbers(store) == {"scheduled": 1}


@pytest.mark.parametrize("job", [b"\xc1", b"\x81\xa4more\x01"])
def test_a_schedule_that_a_newer_otpy_has_written_stops_no_other(store: Store, job: bytes) -> None:
    with store.transaction() as tx:
        tx.plan([hourly(id="a"), hourly(id="b")])
        cast("SqliteTransaction", tx)._db.execute("update otpy_schedule set job = ? where id = 'a'", (job,))
        assert [one.id for one in tx.schedules()] == ["b"]
        tx.plan([hourly(id="a")])  # whoever declares it can read it again
        assert [one.id for one in tx.schedules()] == ["a", "b"]
