"""Stores of several programs on one server: who waits for whom, and who is not kept waiting."""

from __future__ import annotations

import threading
from typing import Any

import pytest

from otpy.jobs.errors import StoreBusyError, StoreConflictError, StoreError
from otpy.jobs.model.lead import Fence
from otpy.jobs.model.schedule import Schedule

from .on_server import connected, opened
from .shop import HOUR, claim, get, insert, lead, new, numbers, one

pytestmark = pytest.mark.any_python


def test_a_lead_goes_on_beside_a_transaction_of_its_own_that_is_open(url: str) -> None:
    """With one row for both, whoever leaves a transaction open ends the lead."""
    with opened(url) as store, opened(url) as beat:
        fence = lead(store)
        with store.transaction() as tx:
            assert tx.claim([], fence) == []
            with beat.transaction() as other:
                assert other.lead_on(fence, "us", HOUR)


def test_nobody_is_elected_while_a_leader_writes(url: str) -> None:
    """And nobody waits for that: a frozen program that has a transaction of its own open kept all others from work."""
    with opened(url) as store, opened(url) as other:
        with store.transaction() as tx:
            epoch = tx.elect("jobs", "us", HOUR)
        fence = Fence(name="jobs", epoch=epoch or 0)
        seen = other.lead("jobs")
        with store.transaction() as tx:
            tx.claim([], fence)
            with other.transaction() as theirs:
                assert theirs.elect("jobs", "them", HOUR, seen) is None
        with other.transaction() as theirs:
            assert theirs.elect("jobs", "them", HOUR, seen) == fence.epoch + 1
        with store.transaction() as tx:
            assert tx.claim([], fence) is None


def test_a_leader_that_hangs_in_a_transaction_is_rolled_back_by_the_server(url: str) -> None:
    """One whose machine was cut off holds its locks no longer than this."""
    with opened(url, patience=1.0) as store, opened(url, patience=30.0) as other:
        fence = lead(store)
        seen = other.lead("jobs")
        with pytest.raises(StoreError), store.transaction() as tx:
            tx.claim([], fence)
            with other.transaction() as theirs:
                theirs._db.execute("select 1 from otpy_term where name = 'jobs' for update")  # waits until then
                assert theirs.elect("jobs", "them", HOUR, seen) == fence.epoch + 1
            tx.insert([new()])
        assert numbers(store) == {}


def test_who_stands_by_waits_for_nobody(url: str) -> None:
    with opened(url) as store, opened(url) as other:
        fence = lead(store)
        with store.transaction() as tx:
            tx.claim([], fence)
            with other.transaction() as theirs:
                assert theirs.elect("jobs", "them", HOUR) is None


def test_a_claim_leaves_out_what_somebody_else_is_at(url: str) -> None:
    with opened(url) as store, connected(url) as db:
        fence = lead(store)
        first, second = insert(store, new(), new())
        db.execute("select 1 from otpy_job where id = %s for update", (first.id,))
        assert [job.id for job in claim(store, fence, 2)] == [second.id]


def test_who_waits_too_long_for_another_program_is_told(url: str) -> None:
    with opened(url, patience=1.0) as store, connected(url) as db:
        (made,) = insert(store, new())
        db.execute("select 1 from otpy_job where id = %s for update", (made.id,))
        with pytest.raises(StoreBusyError, match="for too long"), store.transaction() as tx:
            tx.cancel([made.id], "no")
        assert get(store, made.id).state == "ready"


def test_two_that_wait_for_each_other_are_told_to_do_it_again(url: str) -> None:
    with opened(url) as store, opened(url) as other:
        first, second = insert(store, new(), new())
        told: list[str] = []

        def cancel() -> None:
            try:
                with other.transaction() as tx:
                    tx.cancel([second.id], "b")
                    waits.set()
                    tx.cancel([first.id], "b")
            except StoreConflictError:
                told.append("b")

        waits = threading.Event()
        beside = threading.Thread(target=cancel)
        try:
            with store.transaction() as tx:
                tx.cancel([first.id], "a")
                beside.start()
                waits.wait()
                tx.cancel([second.id], "a")
        except StoreConflictError:
            told.append("a")
        beside.join()
        assert len(told) == 1
        assert {get(store, made.id).state for made in (first, second)} == {"cancelled"}


def test_a_key_that_another_program_has_just_taken_is_found(url: str) -> None:
    with opened(url) as store, opened(url) as other:
        with other.transaction() as theirs:
            (first,) = theirs.insert([one("u")])
            made: list[Any] = []
            beside = threading.Thread(target=lambda: made.extend(insert(store, one("u"))))
            beside.start()
        beside.join()
        assert [(each.id, each.how) for each in made] == [(first.id, "kept")]


def test_the_servers_clock_is_that_of_the_store(url: str) -> None:
    with opened(url) as store, connected(url) as db:
        with store.transaction() as tx:
            now = tx.now
        assert 0 <= db.execute("select extract(epoch from clock_timestamp()) * 1000").fetchone()[0] - now < 60_000


def test_the_second_of_two_programs_that_plan_at_once_keeps_the_past_of_the_first(
    url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It had looked before the first one's commit, found nothing, and began the past anew: a time came twice."""
    from otpy.jobs.store.postgres import session  # noqa: PLC0415 - an extra

    hourly = Schedule(
        id="s",
        expr="0 * * * *",
        tz="UTC",
        job=new("tick"),
        missed="latest",
        most=10,
        late=60.0,
        overlap="allow",
        jitter=0,
    )
    execute, about = session.Statements.execute, threading.Event()

    def watched(self: Any, text: str, *values: Any) -> Any:
        if threading.current_thread() is second and "insert into otpy_schedule" in text:
            about.set()
        return execute(self, text, *values)

    def plan(now: int) -> None:
        with opened(url, now=lambda: now) as other, other.transaction() as tx:
            tx.plan([hourly])

    monkeypatch.setattr(session.Statements, "execute", watched)
    second = threading.Thread(target=plan, args=(2_000,))
    with opened(url, now=lambda: 1_000) as store:
        with store.transaction() as tx:
            tx.plan([hourly])
            second.start()
            assert about.wait(30.0)
        second.join()
        with store.transaction() as tx:
            assert [one.fired_at for one in tx.schedules()] == [1_000]
