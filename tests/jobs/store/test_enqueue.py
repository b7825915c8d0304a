"""Enqueuing, and keys of which there is one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from otpy.jobs.model.new import Inserted

from .shop import claim, get, insert, new, numbers, one, settle

if TYPE_CHECKING:
    from otpy.jobs.model.lead import Fence
    from otpy.jobs.model.new import Until
    from otpy.jobs.store.protocol import Store

    from .conftest import Clock


def test_a_job_is_there_as_it_was_enqueued(store: Store, clock: Clock) -> None:
    (first,) = insert(store, new("mail", args=b"xyz", priority=3, tenant="t", needs="gpu", timeout_ms=5))
    job = get(store, first.id)
    assert (job.kind, job.args, job.priority, job.tenant, job.needs) == ("mail", b"xyz", 3, "t", "gpu")
    assert (job.state, job.attempt, job.token, job.created_at) == ("ready", 0, 0, clock.now)


def test_many_with_keys_at_once_meet_what_they_would_one_by_one(store: Store) -> None:
    held = insert(store, new(key="a"), one("x"), one("y"))
    many = [
        (new("first", key="b"), "new"),
        (new(key="a"), "kept"),
        (new(key="a", args=b"other"), "differs"),
        (one("x", on_conflict="replace", replaces=("args",), args=b"new"), "replaced"),
        (one("y", on_conflict="raise"), "refused"),
        (new("plain"), "new"),
        (one("z", kind="unique")._replace(key="c"), "new"),
        (one("z")._replace(key="d"), "kept"),
        (new("first", key="b"), "kept"),
        (one("w", until="period", period_ms=5, kind="period"), "new"),
        (new("last", key="d"), "new"),
    ]
    made = insert(store, *(job for job, _ in many))
    assert [one.how for one in made] == [how for _, how in many]
    fresh = [get(store, one.id).kind for one in made if one.how == "new"]
    assert fresh == ["first", "plain", "unique", "period", "last"]
    assert [made[place].id for place in (1, 3, 4, 7, 8)] == [*(one.id for one in held), made[6].id, made[0].id]
    assert get(store, held[1].id).args == b"new"
    assert numbers(store) == {"ready": 8}


def test_many_at_once_are_as_one_by_one(store: Store, clock: Clock) -> None:
    many = [
        new(f"k{number}", queue=f"q{number % 3}", args=bytes([number]), run_at=clock.now + number % 2, priority=number)
        for number in range(75)
    ]
    many[40] = new("keyed", key="x")
    many[50] = many[50]._replace(
        tenant="t", needs="gpu", max_errors=7, max_crashes=8, timeout_ms=9, deadline_at=10, meta=b"m"
    )
    many[60] = new("keyed", key="x")
    made = insert(store, *many)
    by_itself = [insert(store, each)[0] for each in many]
    assert [one.how for one in made] == ["kept" if number == 60 else "new" for number in range(75)]
    assert made[60].id == made[40].id
    assert len({one.id for one in made + by_itself}) == 75 - 1 + 75 - 2
    for first, second in zip(made, by_itself, strict=True):
        assert get(store, first.id)._replace(id=0) == get(store, second.id)._replace(id=0)
    with store.transaction() as tx:
        looks = tx.queues()
    assert sum(look.numbers.get("ready", 0) for look in looks) == 73
    assert sum(look.numbers.get("scheduled", 0) for look in looks) == 74


def test_a_job_whose_time_has_not_come_is_scheduled(store: Store, clock: Clock) -> None:
    insert(store, new(run_at=clock.now + 1), new(run_at=clock.now))
    assert numbers(store) == {"scheduled": 1, "ready": 1}


def test_a_callers_own_key_gives_the_first_job(store: Store) -> None:
    first, again, other = insert(store, new(key="x"), new(key="x"), new(key="x", args=b"b"))
    assert (again, other) == (Inserted(first.id, "kept"), Inserted(first.id, "differs"))


@pytest.mark.parametrize(("until", "free_after"), [("started", "claim"), ("finished", "end"), ("forever", "never")])
def test_a_unique_key_is_taken_for_as_long_as_it_says(
    store: Store, fence: Fence, until: Until, free_after: str
) -> None:
    insert(store, one("u", until=until))

    def is_free() -> bool:
        return insert(store, one("u", until=until, queue="other"))[0].how == "new"

    seen = {"enqueue": is_free()}
    (job,) = claim(store, fence)
    seen["claim"] = is_free()
    settle(store, job, "done")
    seen["end"] = is_free()
    assert next((word for word, free in seen.items() if free), "never") == free_after


def test_a_second_one_may_replace_what_has_not_started(store: Store, fence: Fence) -> None:
    (first,) = insert(store, one("u", on_conflict="replace"))
    assert insert(store, one("u", on_conflict="replace", args=b"new")) == [Inserted(first.id, "replaced")]
    (job,) = claim(store, fence)
    assert job.args == b"new"
    assert insert(store, one("u", on_conflict="replace", args=b"late")) == [Inserted(first.id, "kept")]
    assert get(store, first.id).args == b"new"


def test_what_is_replaced_may_be_chosen(store: Store, clock: Clock) -> None:
    words: dict[str, Any] = {"on_conflict": "replace", "replaces": ("args", "deadline")}
    (first,) = insert(store, one("u", run_at=clock.now + 50, priority=1, **words))
    insert(store, one("u", run_at=clock.now, priority=7, tenant="t", args=b"new", deadline_at=9_000_000, **words))
    job = get(store, first.id)
    assert (job.args, job.deadline_at, job.run_at, job.priority, job.tenant, job.state) == (
        *(b"new", 9_000_000),
        *(clock.now + 50, 1, "", "scheduled"),
    )


def test_what_comes_again_is_put_off_but_not_for_ever(store: Store, fence: Fence, clock: Clock) -> None:
    words: dict[str, Any] = {"until": "started", "on_conflict": "debounce", "max_wait_ms": 100}
    began = clock.now
    (first,) = insert(store, one("u", run_at=began + 40, start_by=began + 45, **words))
    seen = []
    for number in range(4):
        clock.now += 30
        (made,) = insert(store, one("u", args=b"%d" % number, run_at=clock.now + 40, start_by=clock.now + 45, **words))
        assert made == Inserted(first.id, "replaced")
        job = get(store, first.id)
        seen.append((job.args, job.run_at - began, (job.start_by or 0) - began, job.state))
    assert seen == [
        (b"0", 70, 75, "scheduled"),
        (b"1", 100, 105, "scheduled"),
        (b"2", 100, 105, "scheduled"),
        (b"3", 100, 105, "ready"),
    ]
    claimed = claim(store, fence)
    assert claimed == []  # nobody has begun it in time
    assert numbers(store) == {"ready": 1}


def test_what_waits_for_its_retry_is_not_begun_sooner_for_it(store: Store, fence: Fence, clock: Clock) -> None:
    words: dict[str, Any] = {"until": "started", "on_conflict": "debounce", "max_wait_ms": 100}
    insert(store, one("u", **words))
    (job,) = claim(store, fence)
    settle(store, job, "scheduled", "error", run_at=clock.now + 5_000)
    insert(store, one("u", run_at=clock.now + 40, **words))
    assert get(store, job.id).run_at == clock.now + 5_000


def test_a_key_may_be_taken_for_a_time(store: Store, fence: Fence, clock: Clock) -> None:
    """Looked back from each enqueue: two that are close together are not parted by the turn of an hour."""

    def again(**fields: Any) -> Inserted:
        return insert(store, one("u", until="period", period_ms=1_000, **fields))[0]

    first = again()
    (job,) = claim(store, fence)
    settle(store, job, "done")
    clock.now += 999
    assert again() == Inserted(first.id, "kept")
    assert again(on_conflict="replace") == Inserted(first.id, "kept")
    assert again(on_conflict="raise") == Inserted(first.id, "refused")
    clock.now += 1
    second = again()
    assert second.how == "new"
    assert again(on_conflict="replace", args=b"new") == Inserted(second.id, "replaced")


def test_what_was_dead_within_its_period_is_replayed(store: Store, fence: Fence) -> None:
    insert(store, one("u", until="period", period_ms=1_000))
    (job,) = claim(store, fence)
    settle(store, job, "dead")
    with store.transaction() as tx:
        (made,) = tx.replay([job.id], is_forced=False, gap_ms=0)
    assert made.how == "new"
    assert insert(store, one("u", until="period", period_ms=1_000)) == [Inserted(made.new or 0, "kept")]


def test_a_second_one_may_be_refused(store: Store) -> None:
    (first,) = insert(store, one("u"))
    assert insert(store, one("u", on_conflict="raise")) == [Inserted(first.id, "refused")]


@pytest.mark.report("J26", "procrastinate-org/procrastinate#1543")
def test_a_retry_whose_twin_waits_is_merged_with_it(store: Store, fence: Fence) -> None:
    insert(store, one("u", until="started"))
    (job,) = claim(store, fence)
    (twin,) = insert(store, one("u", until="started"))
    assert settle(store, job, "scheduled", "error", run_at=5)
    assert get(store, job.id).state == "cancelled"
    assert get(store, twin.id).state == "ready"
    assert numbers(store) == {"cancelled": 1, "ready": 1}


def test_nothing_of_a_transaction_that_fails_is_kept(store: Store) -> None:
    with pytest.raises(ZeroDivisionError), store.transaction() as tx:
        tx.insert([new()])
        raise ZeroDivisionError
    assert numbers(store) == {}
