"""What people have done again: jobs that wait, and those that were given up."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from otpy.jobs.model.new import Replayed

from .shop import claim, get, insert, new, numbers, one, settle

if TYPE_CHECKING:
    from otpy.jobs.model.job import Job
    from otpy.jobs.model.lead import Fence
    from otpy.jobs.store.protocol import Store

    from .conftest import Clock


def dead(store: Store, fence: Fence, *jobs: Any) -> list[Job]:
    """These, given up."""
    insert(store, *jobs)
    claimed = claim(store, fence, len(jobs))
    for job in claimed:
        settle(store, job, "dead", "error", reason="errors")
    return claimed


def replay(store: Store, *ids: int, is_forced: bool = False, gap_ms: int = 0) -> list[Replayed]:
    """Run them again."""
    with store.transaction() as tx:
        return tx.replay(ids, is_forced=is_forced, gap_ms=gap_ms)


def test_what_waits_for_its_time_begins_now(store: Store, clock: Clock) -> None:
    insert(store, new(run_at=clock.now + 500), new())
    with store.transaction() as tx:
        assert tx.hasten([1, 2, 99]) == {"q"}
    assert (get(store, 1).state, get(store, 1).run_at) == ("ready", clock.now)
    assert numbers(store) == {"ready": 2}


def test_a_dead_job_is_run_again_as_a_new_one_with_fresh_attempts(store: Store, fence: Fence, clock: Clock) -> None:
    (old,) = dead(store, fence, new(key="a", deadline_at=clock.now + 70, tenant="t", priority=3))
    clock.now += 1_000
    assert replay(store, old.id) == [Replayed(old.id, 2, "q", "new")]
    before, after = get(store, old.id), get(store, 2)
    assert (before.state, len(before.attempts), before.key) == ("replayed", 1, None)
    assert (after.state, after.attempt, after.errors, after.replay_of) == ("ready", 0, 0, old.id)
    assert (after.key, after.tenant, after.priority, after.args) == ("a", "t", 3, old.args)
    assert after.deadline_at == clock.now + 70
    assert numbers(store) == {"replayed": 1, "ready": 1}


def test_its_key_for_effects_and_what_it_did_once_stay(store: Store, fence: Fence) -> None:
    insert(store, new())
    (old,) = claim(store, fence)
    with store.transaction() as tx:
        for name in ("paid", "sent"):
            tx.begin_once(old.id, old.token, name)
        tx.keep_once(old.id, old.token, "paid", b"yes")
    settle(store, old, "dead", "error")
    replay(store, old.id)
    (again,) = claim(store, fence)
    assert again.effect_key == old.effect_key
    with store.transaction() as tx:
        assert tx.begin_once(again.id, again.token, "paid").result == b"yes"
        assert tx.begin_once(again.id, again.token, "sent").how == "begun"
    settle(store, again, "dead", "error")
    assert get(store, replay(store, again.id)[0].new or 0).effect_key == old.effect_key


def test_a_job_is_replayed_once_unless_forced(store: Store, fence: Fence) -> None:
    (old,) = dead(store, fence, new())
    assert [each.how for each in replay(store, old.id, old.id)] == ["new", "replayed"]
    assert replay(store, old.id, is_forced=True) == [Replayed(old.id, 3, "q", "new")]
    assert numbers(store) == {"replayed": 1, "ready": 2}


def test_what_is_not_dead_is_not_replayed(store: Store, fence: Fence) -> None:
    insert(store, new(), new())
    settle(store, claim(store, fence)[0], "done")
    assert [each.how for each in replay(store, 1, 2, 99, is_forced=True)] == ["not_dead", "not_dead", "missing"]


@pytest.mark.parametrize("until", ["started", "finished", "forever"])
def test_a_unique_job_is_replayed_with_its_key(store: Store, fence: Fence, until: str) -> None:
    (old,) = dead(store, fence, one("u", until=until))
    assert replay(store, old.id)[0].how == "new"
    assert get(store, 2).unique_key == "u"
    assert insert(store, one("u", until=until))[0].id == 2


def test_a_unique_job_is_not_replayed_beside_its_twin_and_the_others_are(store: Store, fence: Fence) -> None:
    first, second = dead(store, fence, one("u"), new())
    (twin,) = insert(store, one("u"))
    taken, made = replay(store, first.id, second.id)
    assert taken == Replayed(first.id, twin.id, "q", "taken")
    assert (made.id, made.how, (made.new or 0) > twin.id) == (second.id, "new", True)
    assert get(store, first.id).state == "dead"
    assert numbers(store) == {"dead": 1, "ready": 2, "replayed": 1}


def test_many_begin_one_after_the_other(store: Store, fence: Fence, clock: Clock) -> None:
    jobs = dead(store, fence, new(), new(), new())
    made = replay(store, jobs[0].id, 99, jobs[1].id, jobs[2].id, gap_ms=50)
    assert [get(store, each.new).run_at - clock.now for each in made if each.new] == [0, 50, 100]
    assert numbers(store) == {"ready": 1, "scheduled": 2, "replayed": 3}
