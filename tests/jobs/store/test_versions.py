"""Jobs that are for the code of one version, and those that are for the one that is active."""

from __future__ import annotations

from contextlib import closing
from itertools import count
from typing import TYPE_CHECKING

import pytest

from otpy.jobs.model.claim import Ask
from otpy.jobs.model.host import Host, Station, given_to
from otpy.jobs.model.lead import Fence
from otpy.jobs.model.look import Look
from otpy.jobs.model.schedule import Schedule
from otpy.jobs.store.sqlite import SqliteStore
from support.postgres import fresh_url

from .on_server import opened
from .shop import LEASE, claim, get, insert, new, one, settle

if TYPE_CHECKING:
    from otpy.jobs.store.protocol import Store

    from .conftest import Clock

ALL = ("", "blue", "green")


def station(store: Store, version: str) -> Station:
    with store.transaction() as tx:
        tx.appear(Host(id=f"host of {version}", name="here:1", version=version), 3_600_000)
    return Station(f"host of {version}", version)


def claimed(store: Store, by: Station | Fence, version: str = "") -> list[str]:
    """The versions of the jobs that it is given, in their order, and gives back."""
    with store.transaction() as tx:
        jobs = tx.claim([Ask(queues=("q",), owners=("agent",) * 9, lease_ms=LEASE)], by, version)
    assert jobs is not None
    for job in jobs:
        settle(store, job, "ready", run_at=0, is_free=True)
    return [job.version for job in jobs]


def activate(store: Store, version: str | None) -> None:
    with store.transaction() as tx:
        tx.activate(version)
        assert tx.active() == version


@pytest.mark.parametrize(
    ("version", "active", "given"),
    [
        ("", "", ("",)),
        ("blue", "", ("", "blue")),
        ("blue", "blue", ("", "blue")),
        ("blue", "green", ("blue",)),
        ("", "green", ()),
    ],
)
def test_what_says_no_version_is_for_the_active_one(version: str, active: str, given: tuple[str, ...]) -> None:
    assert given_to(version, active) == given


def test_blue_and_green_share_a_store(store: Store, fence: Fence) -> None:
    """Green comes, is switched to, and blue ends what is its own; and back."""
    insert(store, *[new(version=version, priority=place) for place, version in enumerate(ALL)])
    hosts = [station(store, version) for version in ALL]
    with store.transaction() as tx:
        assert tx.active() is None
    for active, given in (
        (None, [[""], ["", "blue"], ["", "green"]]),
        ("blue", [[], ["", "blue"], ["green"]]),
        ("green", [[], ["blue"], ["", "green"]]),
        ("blue", [[], ["", "blue"], ["green"]]),
        (None, [[""], ["", "blue"], ["", "green"]]),
    ):
        activate(store, active)
        assert [claimed(store, host) for host in hosts] == given
        assert [claimed(store, fence, version) for version in ALL] == given


def test_a_claim_by_kinds_keeps_to_versions(store: Store, fence: Fence) -> None:
    insert(store, new("a", version="blue"), new("b", version="blue", tenant="t"), new("b", queue="r", version="blue"))
    wish = {"queues": ("q", "r"), "kinds": ("a", "b")}
    assert claim(store, fence, 9, **wish) == []
    ask = Ask(queues=("q", "r"), owners=("agent",) * 9, lease_ms=LEASE, kinds=("a", "b"))
    with store.transaction() as tx:
        assert len(tx.claim([ask], fence, "blue") or ()) == 3


def test_others_are_told_that_what_waits_is_for_them_now(store: Store) -> None:
    insert(store, new(), new(queue="r"))
    with store.transaction() as tx:
        tx.activate("green")
        assert tx.news.ready == {"q", "r"}


def test_a_switch_holds_for_the_next_claim_of_the_same_transaction(store: Store, fence: Fence) -> None:
    insert(store, new())
    ask = Ask(queues=("q",), owners=("agent",), lease_ms=LEASE)
    with store.transaction() as tx:
        assert tx.is_current(fence)
        tx.activate("green")
        assert tx.claim([ask], fence, "blue") == []


# What keeps the version.


def test_retries_and_replays_keep_the_version(store: Store, fence: Fence) -> None:
    (made,) = insert(store, new(version="blue", meta=b"m", start_by=None))
    ask = Ask(queues=("q",), owners=("agent",), lease_ms=LEASE)
    with store.transaction() as tx:
        (job,) = tx.claim([ask], fence, "blue") or ()
    settle(store, job, "ready", "error", run_at=0)
    assert get(store, made.id).version == "blue"
    with store.transaction() as tx:
        (job,) = tx.claim([ask], fence, "blue") or ()
    settle(store, job, "dead", "error")
    with store.transaction() as tx:
        (again,) = tx.replay([made.id], is_forced=False, gap_ms=0)
    assert get(store, again.new or 0).version == "blue"


def test_schedules_keep_the_version(store: Store, fence: Fence, clock: Clock) -> None:
    kept = Schedule(
        id="s",
        expr="@daily",
        tz="UTC",
        job=new(version="blue"),
        missed="all",
        most=9,
        late=9.0,
        overlap="allow",
        jitter=0.0,
    )
    with store.transaction() as tx:
        tx.plan([kept])
        tx.fire("s", clock.now + 1, clock.now + 1, fence)
        assert [job.version for job in tx.find(Look())] == ["blue"]


def test_new_arguments_come_with_the_version_that_knows_them(store: Store) -> None:
    first, second = insert(
        store,
        one("u", on_conflict="replace", replaces=("args",), version="blue"),
        one("v", on_conflict="replace", replaces=("priority",), version="blue"),
    )
    insert(
        store,
        one("u", on_conflict="replace", replaces=("args",), version="green", args=b"b"),
        one("v", on_conflict="replace", replaces=("priority",), version="green", priority=1),
    )
    assert [(get(store, made.id).args, get(store, made.id).version) for made in (first, second)] == [
        (b"b", "green"),
        (b"a", "blue"),
    ]


# What it costs, and at the same time.


def test_a_claim_in_vain_costs_the_same_however_much_is_for_another_version() -> None:
    def steps(others: int) -> int:
        with closing(SqliteStore(":memory:")) as store:
            insert(store, *[new("b", version="blue") for _ in range(others)])
            with store.transaction() as tx:
                fence = Fence(name="jobs", epoch=tx.elect("jobs", "me", 1_000) or 0)
            number = count()
            store._db.set_progress_handler(lambda: next(number) < 0, 1)
            assert claim(store, fence, kinds=("b",)) == []
            return next(number)

    assert steps(10) == steps(1_000)


def test_a_claim_costs_the_same_however_much_waits_before_it_for_another_version() -> None:
    """Blue drains what it was given before the switch, and green has work meanwhile: each claim read all of that."""

    def steps(others: int, version: str, **fields: str) -> int:
        with closing(SqliteStore(":memory:")) as store:
            insert(store, *[new(version="blue", **fields) for _ in range(others)])
            insert(store, *[new(version=one, priority=1, **fields) for one in ("", "green")])
            with store.transaction() as tx:
                fence = Fence(name="jobs", epoch=tx.elect("jobs", "me", 1_000) or 0)
            number = count()
            store._db.set_progress_handler(lambda: next(number) < 0, 1)
            assert claimed(store, fence, version) == ["", "green"][: 1 + bool(version)]
            return next(number)

    for version in ("", "green"):
        assert steps(10, version) == steps(1_000, version)
        assert abs(steps(10, version, tenant="t") - steps(1_000, version, tenant="t")) < 50


def test_the_order_of_jobs_is_one_over_versions(store: Store, fence: Fence) -> None:
    insert(store, *[new(version=("", "blue")[place % 2], priority=place) for place in (5, 2, 3, 4, 0, 1)])
    ask = Ask(queues=("q",), owners=("agent",) * 4, lease_ms=LEASE)
    with store.transaction() as tx:
        jobs = tx.claim([ask], fence, "blue") or []
        assert [look.oldest for look in tx.queues()] == [0]
    assert [job.priority for job in jobs] == [0, 1, 2, 3]


def test_the_oldest_of_a_queue_may_be_for_any_version(store: Store) -> None:
    insert(store, new(run_at=5), new(run_at=3, version="blue", priority=2), new(run_at=4, version="green"))
    with store.transaction() as tx:
        assert [look.oldest for look in tx.queues()] == [3]


@pytest.mark.any_python
def test_of_two_that_switch_at_once_one_is_active() -> None:
    """With a row for each, which takes the place of what was there, there were two of them."""
    url = fresh_url()
    with opened(url) as store, opened(url) as other:
        activate(store, "blue")
        with store.transaction() as tx:
            tx.activate("green")
            with other.transaction() as theirs:
                assert theirs.active() == "blue"
        activate(other, "red")
        with store.transaction() as tx:
            assert tx.active() == "red"
