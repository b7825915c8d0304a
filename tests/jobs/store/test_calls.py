"""Calls from program to program on a server: who is called, and for what."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any

import pytest

from otpy.jobs.model.host import Host

from .on_server import opened
from .shop import HOUR, claim, insert, lead, new

if TYPE_CHECKING:
    from collections.abc import Callable

    from otpy.jobs.store.postgres import PostgresStore

pytestmark = pytest.mark.any_python


def test_a_program_calls_the_others_for_what_concerns_them_whoever_leads(url: str) -> None:
    called = threading.Semaphore(0)
    with opened(url, others=called.release), opened(url) as other:
        assert called.acquire(timeout=10)  # it listens
        insert(other, new(), new())
        assert called.acquire(timeout=10)
        lead(other)
        insert(other, new())
        assert called.acquire(timeout=10)
        with other.transaction() as tx:
            tx.pause("q")
        assert called.acquire(timeout=10)
        insert(other, new(run_at=HOUR * 10**6))
        with other.transaction() as tx:
            tx.elect("names/billing", "us", HOUR)
    assert not called.acquire(blocking=False)


def arrive(store: PostgresStore, name: str) -> None:
    """One more program is there, and this store hears of it with a look at all of them."""
    with store.transaction() as tx:
        assert tx.appear(Host(id=name, name=f"{name}:1"), HOUR)
        tx.hosts()


def test_a_program_calls_the_others_when_there_are_any_and_does_not_hear_itself(url: str) -> None:
    called = threading.Semaphore(0)
    with opened(url, others=called.release) as store, opened(url) as other:
        assert called.acquire(timeout=10)  # it listens
        insert(other, new(), new())
        assert called.acquire(timeout=10)  # whoever has not looked yet calls
        arrive(other, "a")
        assert called.acquire(timeout=10)  # it has come
        insert(other, new())
        arrive(other, "b")
        assert called.acquire(timeout=10)
        insert(store, new())
        insert(other, new())
        assert called.acquire(timeout=10)
    assert not called.acquire(blocking=False)


def test_who_was_alone_calls_whoever_has_come_since(url: str) -> None:
    """It did so only once it had looked around again: what it enqueued meanwhile was found by those who look."""
    heard, called = threading.Semaphore(0), threading.Semaphore(0)
    with opened(url, others=heard.release) as first:
        assert heard.acquire(timeout=10)  # it listens
        arrive(first, "a")
        with opened(url, others=called.release) as second:
            assert called.acquire(timeout=10)
            arrive(second, "b")
            assert heard.acquire(timeout=10)
            insert(first, new())
            assert called.acquire(timeout=10)
    assert not called.acquire(blocking=False)


def test_two_that_come_at_once_and_do_not_see_each_other_call_each_other(url: str) -> None:
    heard, called = threading.Semaphore(0), threading.Semaphore(0)
    with opened(url, others=heard.release) as first, opened(url, others=called.release) as second:
        assert heard.acquire(timeout=10)
        assert called.acquire(timeout=10)
        with first.transaction() as tx:
            assert tx.appear(Host(id="a", name="a:1"), HOUR)
            assert len(tx.hosts()) == 1
            arrive(second, "b")
            assert heard.acquire(timeout=10)
        assert called.acquire(timeout=10)
        insert(first, new())
        assert called.acquire(timeout=10)
        insert(second, new())
        assert heard.acquire(timeout=10)


def test_a_pause_a_switch_and_the_end_of_a_job_that_runs_are_called_out(url: str) -> None:
    called = threading.Semaphore(0)
    with opened(url, others=called.release), opened(url) as other:
        assert called.acquire(timeout=10)
        insert(other, new(), new())
        assert called.acquire(timeout=10)
        (runs,) = claim(other, lead(other))
        steps: list[Callable[[Any], object]] = [
            lambda tx: tx.pause("q"),
            lambda tx: tx.activate("blue"),
            lambda tx: tx.cancel([runs.id], "no"),
        ]
        for step in steps:
            with other.transaction() as tx:
                step(tx)
            assert called.acquire(timeout=10)
        with other.transaction() as tx:
            assert tx.cancel([runs.id + 1], "it waits") == []
    assert not called.acquire(blocking=False)
