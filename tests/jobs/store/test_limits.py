"""Limits of kinds and tenants, rates, turns and age, as each store keeps them."""

from __future__ import annotations

import random
from collections import Counter
from contextlib import closing
from typing import TYPE_CHECKING

import pytest

from otpy.jobs.model.claim import Ask, Rate
from otpy.jobs.model.lead import Fence
from otpy.jobs.model.look import Want
from otpy.jobs.store.picking import ReadyJob, pick
from otpy.jobs.store.sql.fair import AGE, AGED
from otpy.jobs.store.sqlite import SqliteStore

from .shop import claim, get, insert, new, settle

if TYPE_CHECKING:
    from otpy.jobs.store.protocol import Store

    from .conftest import Clock


def test_a_tenant_with_a_thousand_jobs_keeps_nobody_waiting(store: Store, fence: Fence) -> None:
    insert(store, *[new(tenant="a") for _ in range(100)], new(tenant="b"), new(), new(tenant="c"))
    assert sorted(job.tenant for job in claim(store, fence, 4)) == ["", "a", "b", "c"]
    assert [job.tenant for job in claim(store, fence, 2, turns={"q": "b"})] == ["a", "a"]


def test_turns_go_on_behind_the_one_that_had_the_last(store: Store, fence: Fence) -> None:
    insert(store, *[new(tenant=tenant) for tenant in "abcabc"])
    first = claim(store, fence, 2)
    then = claim(store, fence, 2, turns={"q": first[-1].tenant})
    assert [job.tenant for job in first + then] == ["a", "b", "c", "a"]


@pytest.mark.report("J29", "janbjorge/pgqueuer#475")
def test_a_limit_of_a_tenant_counts_those_that_run(store: Store, fence: Fence) -> None:
    insert(store, *[new(tenant="a") for _ in range(5)], new(tenant="b"))
    assert [job.tenant for job in claim(store, fence, 5, tenant_limit=2, tenant_counts={"a": 1})] == ["a", "b"]


def test_a_limit_of_tenants_is_none_of_those_who_have_no_tenant(store: Store, fence: Fence) -> None:
    """Before, a claim gave as many of them as one tenant may have, and the next one as many again."""
    insert(store, *[new() for _ in range(5)], *[new(tenant="a") for _ in range(5)])
    assert Counter(job.tenant for job in claim(store, fence, 9, tenant_limit=2)) == {"": 5, "a": 2}


def test_a_limit_of_a_kind_holds_behind_any_number_of_others(store: Store, fence: Fence) -> None:
    insert(store, *[new("few") for _ in range(50)], *[new("many", priority=1) for _ in range(3)])
    found = claim(store, fence, 4, kind_rooms={"few": 2})
    assert [job.kind for job in found] == ["few", "few", "many", "many"]
    assert [job.kind for job in claim(store, fence, 4, kind_rooms={"few": 0})] == ["many"]


@pytest.mark.parametrize("seed", range(8))
def test_as_many_of_each_priority_are_given_as_if_all_were_looked_at(store: Store, fence: Fence, seed: int) -> None:
    """No more of a kind with a limit are looked at than could be given, and of others behind them as many."""
    chance = random.Random(seed)
    jobs = [
        new(chance.choice("klmn"), tenant=chance.choice(("", "a", "b", "c")), priority=chance.choice((0, 0, 1)))
        for _ in range(60)
    ]
    if seed % 2:  # in blocks: each kind is in the way of the next one
        jobs.sort(key=lambda job: job.kind)
    made = [inserted.id for inserted in insert(store, *jobs)]
    rooms = {kind: chance.choice((0, 1, 2, 9)) for kind in "klm"}
    candidates = [ReadyJob(one, job.kind, job.tenant, job.priority) for one, job in zip(made, jobs, strict=True)]
    candidates.sort(key=lambda one: (one.priority, one.id))
    ask = Ask(queues=("q",), owners=("agent",) * 40, lease_ms=1, kind_rooms=rooms)
    found = claim(store, fence, 40, kind_rooms=rooms)
    assert sorted(job.priority for job in found) == [one.priority for one in pick(ask, candidates)]
    assert all(number <= rooms.get(kind, 40) for kind, number in Counter(job.kind for job in found).items())


def test_a_rate_lets_a_burst_begin_and_then_one_by_one(store: Store, fence: Fence, clock: Clock) -> None:
    insert(store, *[new() for _ in range(20)])
    rate = Rate(10, per=1.0, burst=3)
    assert len(claim(store, fence, 8, rate=rate)) == 3
    assert claim(store, fence, 8, rate=rate) == []
    clock.now += 99
    assert claim(store, fence, 8, rate=rate) == []
    clock.now += 1
    assert len(claim(store, fence, 8, rate=rate)) == 1
    clock.now += 10_000
    assert len(claim(store, fence, 8, rate=rate)) == 3


def test_what_a_rate_allows_and_nobody_wants_is_not_used_up(store: Store, fence: Fence) -> None:
    rate = Rate(10, per=1.0, burst=3)
    assert claim(store, fence, 8, rate=rate) == []
    insert(store, *[new() for _ in range(5)])
    assert len(claim(store, fence, 8, rate=rate)) == 3


def test_what_waits_moves_up_and_what_is_urgent_does_not(store: Store, fence: Fence, clock: Clock) -> None:
    made = insert(store, *[new(priority=priority, run_at=clock.now) for priority in (-1, 0, 1, 3)])
    for _ in range(3):
        clock.now += 60_000
        with store.transaction() as tx:
            tx.age(60_000, 100, fence)
    assert [get(store, one.id).priority for one in made] == [-1, 0, 0, 0]


def test_a_round_of_ageing_moves_each_job_one_step_at_most(store: Store, fence: Fence, clock: Clock) -> None:
    made = insert(store, *[new(priority=9, run_at=clock.now - 60_000 * number) for number in range(3)])
    clock.now += 10 * 60_000
    with store.transaction() as tx:
        assert tx.age(60_000, 2, fence) == 2
    with store.transaction() as tx:
        assert tx.age(60_000, 100, fence) == 3
    assert sorted(get(store, one.id).priority for one in made) == [7, 7, 8]


@pytest.mark.parametrize(("statement", "values"), [(AGED, (1,)), (AGE, (0, 1, 1))])
def test_ageing_looks_at_none_that_have_not_waited_long_enough(statement: str, values: tuple[int, ...]) -> None:
    """It holds up all writers, and a scan of two hundred thousand ready jobs took half a second."""
    with closing(SqliteStore(":memory:")) as store:
        plan = [row[-1] for row in store._db.execute(f"explain query plan {statement}", values)]
    assert [line for line in plan if line.startswith("SCAN")] == []
    assert any("otpy_job_ageing" in line for line in plan)


def test_a_look_at_queues_sees_what_the_transaction_has_done(store: Store) -> None:
    with store.transaction() as tx:
        tx.insert([new(queue="a"), new(queue="a"), new(queue="b", run_at=tx.now + 1)])
        before = [(look.name, look.numbers) for look in tx.queues()]
        tx.insert([new(queue="a")])
        assert tx.ready() == {"a"}
    with store.transaction() as tx:
        after = [(look.name, look.numbers) for look in tx.queues()]
    assert before == [("a", {"ready": 2}), ("b", {"scheduled": 1})]
    assert after == [("a", {"ready": 3}), ("b", {"scheduled": 1})]


def test_pauses_are_kept(store: Store, clock: Clock) -> None:
    with store.transaction() as tx:
        tx.pause("q")
    clock.now += 5
    with store.transaction() as tx:
        tx.pause("q")
        tx.pause("r")
        assert tx.paused() == {"q": clock.now - 5, "r": clock.now}
        tx.resume("q")
        assert tx.paused() == {"r": clock.now}


def test_what_ready_jobs_want_is_told(store: Store, fence: Fence) -> None:
    insert(store, new("a"), new("a"), new("a", needs="gpu"), new("b", queue="z"), new("c", run_at=2_000_000))
    with store.transaction() as tx:
        assert tx.wants(100) == [Want("q", "a", "", 2), Want("q", "a", "gpu", 1), Want("z", "b", "", 1)]
    (job,) = claim(store, fence, needs=("gpu",))
    settle(store, job, "done")


def test_tenants_with_nothing_to_give_are_in_nobodys_way(store: Store, fence: Fence) -> None:
    """Before, a wish looked at 64 tenants: those behind them waited for ever when none of these could be served."""
    idle = [f"t{number:03}" for number in range(100)]
    insert(store, *(new("gone", tenant=one) for one in idle), *(new(tenant=one) for one in idle[:70]), new(tenant="z"))
    full = dict.fromkeys(idle, 1)
    (job,) = claim(store, fence, 3, kinds=("k",), tenant_limit=1, tenant_counts=full)
    assert job.tenant == "z"


def test_many_tenants_fill_a_wish_for_many(store: Store, fence: Fence) -> None:
    insert(store, *(new(tenant=f"t{number}") for number in range(80)))
    assert len(claim(store, fence, 70)) == 70


def test_the_jobs_of_a_tenant_are_found_by_their_index() -> None:
    """Before, all that was ready was looked through, once for each tenant."""
    said: list[str] = []
    with closing(SqliteStore(":memory:")) as store:
        insert(store, new(tenant="t1"))
        with store.transaction() as tx:
            fence = Fence(name="jobs", epoch=tx.elect("jobs", "me", 1_000) or 0)
        store._db.set_trace_callback(said.append)
        claim(store, fence)
        store._db.set_trace_callback(None)
        looks = [one for one in said if "tenant >" in one or "tenant in" in one]
        assert len(looks) == 3  # who there is, nobody's, those of the one
        asked = [store._db.execute(f"explain query plan {one}", (1,) * one.count("?")) for one in looks]
        plans = [[step[3] for step in rows if "otpy_job" in step[3] or "job" in step[3].split()] for rows in asked]
    assert [[step.startswith("SEARCH") and "otpy_job_tenant" in step for step in plan] for plan in plans] == [
        [True, True],
        [False],
        [True],
    ]
