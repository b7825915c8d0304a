"""What a leader does besides claims, and leading itself."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from otpy.jobs.model.host import Host
from otpy.jobs.model.lead import Fence
from otpy.jobs.model.look import Look
from otpy.jobs.verdict import hand_of

from .shop import LEASE, claim, get, insert, new, numbers, one, settle

if TYPE_CHECKING:
    from otpy.jobs.store.protocol import Store

    from .conftest import Clock


def test_what_is_due_becomes_ready(store: Store, fence: Fence, clock: Clock) -> None:
    insert(store, *[new(run_at=clock.now + 5, queue=queue) for queue in "ab"], new(run_at=clock.now + 99))
    clock.now += 5
    with store.transaction() as tx:
        assert tx.promote(100, fence) == {"a", "b"}
        assert tx.promote(100, fence) == set()
    assert numbers(store) == {"ready": 1, "scheduled": 1}


@pytest.mark.report("J8", "oban-bg/oban-py#19")
def test_many_due_jobs_move_though_keys_are_taken(store: Store, fence: Fence, clock: Clock) -> None:
    insert(store, *[one(str(number), until="started", run_at=clock.now + 1) for number in range(50)])
    insert(store, *[one(str(number), until="started") for number in range(50)])
    clock.now += 1
    with store.transaction() as tx:
        tx.promote(100, fence)
    assert numbers(store) == {"ready": 50}


def test_what_is_overdue_is_given_up(store: Store, fence: Fence, clock: Clock) -> None:
    (late, _) = insert(store, new(deadline_at=clock.now + 5), new(deadline_at=clock.now + 50))
    clock.now += 5
    with store.transaction() as tx:
        assert tx.expire(100, fence) == [late.id]
    assert get(store, late.id).reason == "deadline"


def test_a_lease_that_ran_out_costs_a_crash_and_then_a_pause(store: Store, fence: Fence, clock: Clock) -> None:
    insert(store, new(max_crashes=3))
    seen = []
    for _ in range(3):
        (job,) = claim(store, fence)
        clock.now += LEASE + 1
        with store.transaction() as tx:
            tx.rescue(0, 10, fence)
        job = get(store, job.id)
        seen.append((job.state, job.run_at - clock.now if job.state != "dead" else None))
        clock.now += 60_000
        with store.transaction() as tx:
            tx.promote(10, fence)
    assert seen == [("ready", 0), ("scheduled", 2_000), ("dead", None)]
    assert get(store, job.id).reason == "crashes"


def test_what_a_lost_crew_had_at_hand_is_believed_five_times(store: Store, fence: Fence, clock: Clock) -> None:
    """It counted as a crash of each job at hand, so that one that killed its program three times took 64 along."""
    insert(store, new())
    seen = []
    for _ in range(8):
        (job,) = claim(store, fence, owners=(hand_of("pool"),))
        clock.now += LEASE + 1
        with store.transaction() as tx:
            tx.rescue(0, 10, fence)
        found = get(store, job.id)
        seen.append((found.state, found.attempt, found.releases, found.crashes))
        clock.now += 60_000
        with store.transaction() as tx:
            tx.promote(10, fence)
    assert seen[:5] == [("ready", 0, number, 0) for number in range(1, 6)]
    assert [(state, crashes) for state, _, _, crashes in seen[5:]] == [("ready", 1), ("scheduled", 2), ("dead", 3)]


def test_a_lost_job_whose_deadline_is_over_is_dead_for_that(store: Store, fence: Fence, clock: Clock) -> None:
    insert(store, new(deadline_at=clock.now + LEASE))
    (job,) = claim(store, fence)
    clock.now += LEASE + 1
    with store.transaction() as tx:
        tx.rescue(0, 10, fence)
    found = get(store, job.id)
    assert (found.state, found.reason, [one.failure for one in found.attempts]) == ("dead", "deadline", ["lost"])


@pytest.mark.report("J38", "dbos-inc/dbos-transact-py#742")
def test_a_lease_that_holds_is_not_rescued_and_none_is_twice(store: Store, fence: Fence, clock: Clock) -> None:
    insert(store, new(), new())
    first, second = claim(store, fence, 2)
    clock.now += LEASE
    with store.transaction() as tx:
        assert tx.rescue(0, 10, fence) == []
        tx.renew([(second.id, second.token)], LEASE)
    clock.now += 1
    with store.transaction() as tx:
        assert [job.id for job in tx.rescue(0, 10, fence) or ()] == [first.id]
        assert tx.rescue(0, 10, fence) == []


def test_cancelling_ends_what_waits_and_names_what_runs(store: Store, fence: Fence, clock: Clock) -> None:
    insert(store, new(), new(), new(run_at=clock.now + 9))
    (job,) = claim(store, fence)
    with store.transaction() as tx:
        assert [one.id for one in tx.cancel([1, 2, 3, 99], "not wanted")] == [job.id]
    assert numbers(store) == {"running": 1, "cancelled": 2}


def test_old_jobs_are_forgotten_but_dead_ones(store: Store, fence: Fence, clock: Clock) -> None:
    insert(store, *[new() for _ in range(4)])
    a, b, c, d = claim(store, fence, 4)
    settle(store, a, "done")
    settle(store, b, "dead", "error")
    clock.now += 10
    settle(store, c, "done")
    with store.transaction() as tx:
        assert tx.prune(clock.now, 100) == 1
        assert tx.get(a.id) is None
    assert numbers(store) == {"done": 1, "dead": 1, "running": 1}
    assert d.state == "running"


def test_jobs_are_found_page_by_page(store: Store, fence: Fence) -> None:
    insert(store, *[new(kind) for kind in "ababab"])
    with store.transaction() as tx:
        assert [job.id for job in tx.find(Look(kind="a"))] == [5, 3, 1]
        assert [job.id for job in tx.find(Look(limit=2))] == [6, 5]
        assert [job.id for job in tx.find(Look(limit=2, before=5))] == [4, 3]
        assert tx.find(Look(state="running")) == []


def test_the_oldest_that_waits_is_known(store: Store) -> None:
    insert(store, new(run_at=7, priority=-5), new(run_at=3, priority=9), new(run_at=5))
    with store.transaction() as tx:
        assert [look.oldest for look in tx.queues()] == [3]


# Leading.


@pytest.mark.report("J4", "oban-bg/oban#1488")
@pytest.mark.report("J5", "oban-bg/oban-py#32")
def test_one_leads_and_each_election_has_an_epoch_of_its_own(store: Store, clock: Clock) -> None:
    with store.transaction() as tx:
        assert (tx.elect("x", "a", 100), tx.elect("x", "b", 100), tx.elect("x", "c", 100)) == (1, None, None)
        assert tx.elect("other", "b", 100) == 1
    clock.now += 100
    with store.transaction() as tx:
        assert not tx.lead_on(Fence(name="x", epoch=1), "a", 100)
        assert tx.elect("x", "b", 100) == 2
        assert not tx.lead_on(Fence(name="x", epoch=2), "a", 100)
        assert tx.lead_on(Fence(name="x", epoch=2), "b", 100)


def test_who_resigns_leaves_the_way_free_and_the_epoch_behind(store: Store) -> None:
    with store.transaction() as tx:
        tx.elect("x", "a", 100)
        tx.resign(Fence(name="x", epoch=1), "b")
        assert tx.elect("x", "b", 100) is None
        tx.resign(Fence(name="x", epoch=1), "a")
        assert tx.elect("x", "b", 100) == 2


def test_who_does_not_know_that_it_was_elected_is_so_again_and_its_first_epoch_is_over(store: Store) -> None:
    with store.transaction() as tx:
        assert (tx.elect("x", "a", 100), tx.elect("x", "a", 100)) == (1, 2)
        assert not tx.lead_on(Fence(name="x", epoch=1), "a", 100)
        assert tx.lead_on(Fence(name="x", epoch=2), "a", 100)


def test_a_lead_that_is_over_whatever_the_clock_says_is_given_away_unless_it_was_extended(
    store: Store, clock: Clock
) -> None:
    with store.transaction() as tx:
        assert tx.elect("x", "a", 100) == 1
    clock.now -= 3_600_000
    seen = store.lead("x")
    assert seen is not None
    assert (seen.owner, seen.epoch, seen.ttl_ms) == ("a", 1, 100)
    with store.transaction() as tx:
        assert tx.lead_on(Fence(name="x", epoch=1), "a", 200)
        assert tx.elect("x", "b", 100, seen) is None
    seen = store.lead("x")
    with store.transaction() as tx:
        assert tx.elect("x", "b", 100, seen) == 2
    assert store.lead("y") is None


def test_an_epoch_is_current_until_its_time_is_over_or_it_resigns(store: Store, clock: Clock) -> None:
    mine = Fence(name="x", epoch=1)
    with store.transaction() as tx:
        assert not tx.is_current(mine)
        tx.elect("x", "a", 100)
        assert tx.is_current(mine)
        assert not tx.is_current(Fence(name="x", epoch=2))
        assert not tx.is_current(Fence(name="y", epoch=1))
    clock.now += 100
    with store.transaction() as tx:
        assert not tx.is_current(mine)
        tx.elect("x", "a", 100)
        tx.resign(Fence(name="x", epoch=2), "a")
        assert not tx.is_current(Fence(name="x", epoch=2))


def test_who_was_elected_last_is_told_name_by_name(store: Store, clock: Clock) -> None:
    with store.transaction() as tx:
        for name in ("b/2", "a/1", "b/%", "b"):
            tx.elect(name, "us", 100)
        clock.now += 1
        assert [(name, lead.owner, lead.epoch) for name, lead in tx.elected("b/")] == [
            ("b/%", "us", 1),
            ("b/2", "us", 1),
        ]
        assert [name for name, _ in tx.elected("")] == ["a/1", "b", "b/%", "b/2"]
    seen = store.lead("b/%")
    with store.transaction() as tx:
        assert tx.elected("b/%") == [("b/%", seen)]


# The clock is set.


def test_what_dead_programs_have_left_does_not_wait_for_a_clock_that_was_set_back(
    store: Store, fence: Fence, clock: Clock
) -> None:
    insert(store, new())
    (job,) = claim(store, fence)
    clock.now -= 3_000_000
    with store.transaction() as tx:
        assert tx.rescue(0, 10, fence, LEASE) == []
    clock.now += LEASE + 1
    with store.transaction() as tx:
        assert [one.id for one in tx.rescue(0, 10, fence, LEASE) or ()] == [job.id]


@pytest.mark.parametrize("ttl", [0, 9 * LEASE], ids=["renewed meanwhile", "a longer lease"])
def test_a_lease_that_another_program_trusts_is_not_cut_short(store: Store, fence: Fence, ttl: int) -> None:
    """It was, to that of who leads: two had the job when the other one did not reach the store for a while."""
    insert(store, new())
    (job,) = claim(store, fence)
    lease = max(ttl, LEASE + LEASE // 10)
    with store.transaction() as tx:
        if ttl:
            tx.appear(Host(id="slow", name="there:2"), ttl)
        tx.renew([(job.id, job.token)], lease)
    with store.transaction() as tx:
        until = tx.now + lease
        assert tx.rescue(0, 10, fence, LEASE) == []
    assert get(store, job.id).lease_until == until


def test_who_leads_goes_on_when_the_clock_is_set_forward_less_than_a_lease(store: Store, clock: Clock) -> None:
    with store.transaction() as tx:
        tx.elect("x", "a", 100)
    clock.now += 99
    with store.transaction() as tx:
        assert tx.elect("x", "b", 100) is None
        assert tx.lead_on(Fence(name="x", epoch=1), "a", 100)


def test_one_reading_of_the_clock_serves_a_transaction(store: Store, fence: Fence, clock: Clock) -> None:
    with store.transaction() as tx:
        clock.now += 1_000
        (made,) = tx.insert([new(run_at=clock.now)])
        assert tx.now == clock.now - 1_000
    assert get(store, made.id).state == "scheduled"
    assert get(store, made.id).created_at == clock.now - 1_000
