"""The programs that work on a store, and what they are given."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from otpy.jobs.errors import StoreBusyError
from otpy.jobs.model.claim import Ask
from otpy.jobs.model.host import Host, Station
from support.postgres import fresh_url

from .on_server import opened
from .shop import LEASE, insert, new, numbers

if TYPE_CHECKING:
    from otpy.jobs.model.host import HostLook
    from otpy.jobs.store.protocol import Store

    from .conftest import Clock

TTL = 5_000
OURS = Host(id="a", name="here:1", labels=("disk", "gpu"), version="blue", agents=4)


def appear(store: Store, host: Host = OURS) -> Station:
    with store.transaction() as tx:
        assert tx.appear(host, TTL)
    return Station(host.id, host.version)


def looks(store: Store) -> list[HostLook]:
    with store.transaction() as tx:
        return tx.hosts()


def is_given(store: Store, station: Station) -> bool:
    """Whether there is a job for it; None is said of one that may have none."""
    with store.transaction() as tx:
        jobs = tx.claim([Ask(queues=("q",), owners=("agent",), lease_ms=LEASE)], station)
    assert jobs is None or len(jobs) == 1
    return jobs is not None


def test_a_program_is_known_by_what_it_says_of_itself(store: Store, clock: Clock) -> None:
    appear(store)
    clock.now += 1_000
    appear(store, Host(id="b", name="there:2"))
    appear(store, Host(id="a", name="here:1", agents=5))
    ours, theirs = looks(store)
    assert ours.host == Host(id="a", name="here:1", agents=5)
    assert (ours.arrived_at, ours.beat_at, ours.until) == (clock.now - 1_000, clock.now, clock.now + TTL)
    assert (theirs.host.labels, theirs.draining_since, theirs.is_alive) == ((), None, True)


def test_one_that_is_not_heard_of_is_dead_and_does_not_come_back(store: Store, clock: Clock) -> None:
    appear(store)
    clock.now += TTL - 1
    appear(store)
    clock.now += TTL
    assert [look.is_alive for look in looks(store)] == [False]
    with store.transaction() as tx:
        assert not tx.appear(OURS, TTL)
        assert (tx.drain("a"), tx.leave("a")) == (False, False)


def test_those_that_live_are_seen_without_all_that_have_ended(store: Store, clock: Clock) -> None:
    """A program that is started anew again and again leaves a row each time, which each beat of all others read."""
    appear(store)
    clock.now += TTL
    appear(store, Host(id="b", name="here:2"))
    with store.transaction() as tx:
        assert [[look.host.id for look in tx.hosts(living=living)] for living in (False, True)] == [["a", "b"], ["b"]]


def test_one_that_has_left_does_not_come_back(store: Store, clock: Clock) -> None:
    appear(store)
    with store.transaction() as tx:
        assert tx.leave("a")
        assert not tx.leave("a")
        assert not tx.appear(OURS, TTL)
    assert [(look.is_alive, look.until) for look in looks(store)] == [(False, clock.now)]


def test_who_drains_does_so_until_it_leaves(store: Store, clock: Clock) -> None:
    appear(store)
    with store.transaction() as tx:
        assert tx.drain("a")
    clock.now += 1
    with store.transaction() as tx:
        assert tx.drain("a")
        assert tx.appear(OURS, TTL)
        assert not tx.drain("nobody")
    assert [(look.is_alive, look.draining_since) for look in looks(store)] == [(True, clock.now - 1)]


def test_the_dead_are_forgotten_with_the_jobs_of_their_time(store: Store, clock: Clock) -> None:
    appear(store)
    ended = clock.now + TTL
    clock.now = ended + 100
    appear(store, Host(id="b", name="there:2"))
    for before, left in ((ended, ["a", "b"]), (ended + 1, ["b"])):
        with store.transaction() as tx:
            tx.prune(before, 10)
        assert [look.host.id for look in looks(store)] == left


def test_any_program_that_is_there_is_given_jobs_and_no_other(store: Store, clock: Clock) -> None:
    insert(store, *[new() for _ in range(9)])
    first, second = appear(store), appear(store, Host(id="b", name="there:2"))
    assert is_given(store, first)
    assert is_given(store, second)
    assert not is_given(store, Station("nobody"))
    with store.transaction() as tx:
        tx.drain("a")
    assert (is_given(store, first), is_given(store, second)) == (False, True)
    clock.now += TTL
    assert not is_given(store, second)
    third = appear(store, Host(id="c", name="there:3"))
    assert is_given(store, third)
    with store.transaction() as tx:
        tx.leave("c")
    assert not is_given(store, third)
    assert numbers(store) == {"ready": 5, "running": 4}


# On a server, where they are there at the same time.


@pytest.mark.any_python
def test_nobody_is_told_to_drain_or_has_left_while_it_claims() -> None:
    """Without a lock it was told, and had jobs a moment later."""
    url = fresh_url()
    with opened(url) as store, opened(url, patience=1.0) as other:
        station = appear(store)
        insert(store, new())
        with store.transaction() as tx:
            assert tx.claim([Ask(queues=("q",), owners=("agent",), lease_ms=LEASE)], station)
            for tell in ("drain", "leave"):
                with pytest.raises(StoreBusyError), other.transaction() as theirs:
                    getattr(theirs, tell)("a")
        with other.transaction() as theirs:
            assert theirs.drain("a")


@pytest.mark.any_python
def test_the_beat_of_a_program_waits_for_none_of_its_claims() -> None:
    url = fresh_url()
    with opened(url) as store, opened(url) as beat:
        station = appear(store)
        with store.transaction() as tx:
            assert tx.claim([], station) == []
            appear(beat)
