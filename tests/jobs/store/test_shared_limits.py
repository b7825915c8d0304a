"""Limits that hold over all programs that claim: the store counts, one claim after the other."""

from __future__ import annotations

import threading
from collections import Counter
from contextlib import closing
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from otpy.jobs.model.claim import Ask, Limits, Rate
from otpy.jobs.model.host import Host, Station
from otpy.jobs.store.sql import limits
from otpy.jobs.store.sqlite import SqliteStore
from support.postgres import fresh_url

from .on_server import opened
from .shop import HOUR, LEASE, get, insert, new, settle

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from contextlib import AbstractContextManager

    from otpy.jobs.model.job import Job
    from otpy.jobs.model.lead import Fence
    from otpy.jobs.store.protocol import Store, Transaction

    from .conftest import Clock

FIVE = Limits(queue=5)


def wish(number: int, limits: Limits, **fields: Any) -> Ask:
    return Ask(**{"queues": ("q",), "owners": ("agent",) * number, "lease_ms": LEASE, "limits": limits, **fields})


def station(store: Store, id: str = "a") -> Station:
    with store.transaction() as tx:
        tx.appear(Host(id=id, name=f"{id}:1"), HOUR)
    return Station(id)


def given(store: Store, by: Fence | Station, *asks: Ask) -> list[Job]:
    with store.transaction() as tx:
        jobs = tx.claim(asks, by)
    assert jobs is not None
    return jobs


@pytest.fixture
def us(store: Store) -> Station:
    return station(store)


# What is counted.


def test_a_limit_counts_what_others_have(store: Store, us: Station, fence: Fence) -> None:
    insert(store, *[new() for _ in range(9)])
    assert len(given(store, us, wish(3, FIVE))) == 3
    others = station(store, "b")
    last = given(store, others, wish(3, FIVE))
    assert len(last) == 2
    for by in (us, others, fence):
        assert given(store, by, wish(3, FIVE)) == []
    settle(store, last[0], "done")
    assert len(given(store, us, wish(3, FIVE))) == 1


def test_limits_of_tenants_and_kinds_count_what_others_have(store: Store, us: Station) -> None:
    few = Limits(tenant=2, kinds={"k": 3})
    insert(store, *[new(tenant=tenant) for tenant in "aaaabbbb"], *[new("free", tenant="c")] * 4)
    first = given(store, us, wish(2, few))
    second = given(store, station(store, "b"), wish(8, few))
    assert Counter(job.kind for job in first + second) == {"k": 3, "free": 2}
    assert Counter(job.tenant for job in first + second) == {"a": 2, "b": 1, "c": 2}
    assert given(store, us, wish(8, few)) == []


def test_a_limit_of_a_kind_holds_in_all_queues(store: Store, us: Station) -> None:
    insert(store, *[new(queue=queue) for queue in "pqpqpq"], new("free", queue="p"))
    two = Limits(kinds={"k": 2})
    first = given(store, us, wish(1, two, queues=("p",)), wish(1, two, queues=("q",), owners=("b",)))
    assert [(job.queue, job.kind) for job in first] == [("p", "k"), ("q", "k")]
    assert [job.kind for job in given(store, us, wish(9, two, queues=("q", "p")))] == ["free"]


def test_two_wishes_of_one_call_share_what_is_left(store: Store, us: Station) -> None:
    insert(store, *[new() for _ in range(9)])
    both = given(store, us, wish(3, FIVE), wish(3, FIVE, owners=("b",) * 3))
    assert Counter(job.owner for job in both) == {"agent": 3, "b": 2}


def test_what_a_wish_leaves_by_itself_is_no_more_than_a_limit_does(store: Store, us: Station) -> None:
    """A breaker lets one try, whatever the kind's limit; and a limit holds, however many it lets try."""
    insert(store, *[new() for _ in range(9)])
    assert len(given(store, us, wish(9, Limits(kinds={"k": 3}), kind_rooms={"k": 1}))) == 1
    assert len(given(store, us, wish(9, Limits(kinds={"k": 3}), kind_rooms={"k": 9}))) == 2
    assert len(given(store, us, wish(9, Limits(queue=5), room=1))) == 1


# Those of dead programs.


def test_jobs_of_a_dead_program_count_until_their_leases_are_over(store: Store, us: Station, clock: Clock) -> None:
    insert(store, *[new() for _ in range(12)])
    gone = given(store, station(store, "b"), wish(5, FIVE))
    clock.now += LEASE - 1
    assert given(store, us, wish(5, FIVE)) == []
    clock.now += 1
    assert len(given(store, us, wish(5, FIVE))) == 5
    assert {get(store, job.id).lease_until for job in gone} == {0}


def test_a_lease_that_was_counted_as_over_is_not_extended(store: Store, us: Station, clock: Clock) -> None:
    """Else six would run: that one, and those five that began in its place."""
    insert(store, *[new() for _ in range(9)])
    late, other = given(store, us, wish(1, FIVE))[0], given(store, us, wish(1, FIVE))[0]
    held = [(late.id, late.token), (other.id, other.token)]
    clock.now += LEASE
    with store.transaction() as tx:
        assert tx.renew(held, LEASE) == []  # nobody has counted
    clock.now += LEASE
    given(store, us, wish(5, FIVE))
    with store.transaction() as tx:
        assert tx.renew(held, LEASE) == held
    assert settle(store, other, "done")  # what it has done is done


def test_what_was_counted_as_over_is_taken_back_as_any_other(
    store: Store, us: Station, clock: Clock, fence: Fence
) -> None:
    insert(store, *[new() for _ in range(6)])
    given(store, us, wish(1, FIVE))
    clock.now += LEASE
    given(store, us, wish(5, FIVE))
    with store.transaction() as tx:
        (lost,) = tx.rescue(0, 9, fence) or ()
    assert (lost.lease_until, get(store, lost.id).crashes) == (0, 1)


# At the same time.


@pytest.mark.any_python
def test_a_lease_that_is_just_being_extended_counts_though_it_was_over(clock: Clock) -> None:
    """Who claims does not wait for that, and does not take it for granted that it fails."""
    url = fresh_url()
    with opened(url, now=clock) as store, opened(url, now=clock) as others:
        insert(store, *[new() for _ in range(12)])
        us = station(store)
        held = [(job.id, job.token) for job in given(others, station(others, "b"), wish(5, FIVE))]
        clock.now += LEASE
        with others.transaction() as tx:
            assert tx.renew(held[:2], LEASE) == []
            assert len(given(store, us, wish(5, FIVE))) == 3
        with others.transaction() as tx:
            assert tx.renew(held, LEASE) == held[2:]


def _file(path: Path) -> Callable[[], AbstractContextManager[Store]]:
    return lambda: closing(SqliteStore(path / "jobs.db", patience=60.0))


def _server(_: Path) -> Callable[[], AbstractContextManager[Store]]:
    return partial(opened, fresh_url(), patience=60.0)


SHARED = {"file": _file, "postgres": _server}
FOUR = 4


@pytest.fixture(params=["file", pytest.param("postgres", marks=pytest.mark.any_python)])
def opening(request: pytest.FixtureRequest, tmp_path: Path) -> Callable[[], AbstractContextManager[Store]]:
    """Opens a store for each who comes."""
    opens = SHARED[request.param](tmp_path)
    with opens():
        pass  # its tables are there
    return opens


class Rivals:
    """Four connections, each on a thread, that all ask at once."""

    def __init__(self, opens: Callable[[], AbstractContextManager[Store]], ask: Ask, rounds: int = 1) -> None:
        self.opens, self.ask, self.rounds = opens, ask, rounds
        self.start = threading.Barrier(FOUR)
        self.seen: list[Counter[str]] = []
        """What ran at once, of each queue, kind and tenant, as each of them found right after its claim."""
        self.failed: list[BaseException] = []

    def run(self) -> None:
        threads = [threading.Thread(target=self._guarded, args=(number,)) for number in range(FOUR)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert self.failed == []

    def _guarded(self, number: int) -> None:
        try:
            with self.opens() as store:
                own = station(store, str(number))
                for _ in range(self.rounds):
                    self._claim(store, own)
        except BaseException as error:
            self.start.abort()
            self.failed.append(error)

    def _claim(self, store: Store, own: Station) -> None:
        self.start.wait()
        with store.transaction() as tx:
            jobs = tx.claim([self.ask], own) or []
            self._look(tx)
        for job in jobs if self.rounds > 1 else ():
            settle(store, job, "ready", run_at=0, is_free=True)

    def _look(self, tx: Transaction) -> None:
        """By the rows: those that have a lease which is not over."""
        found = [job for job in tx.running() if (job.lease_until or 0) > tx.now]
        words = [word for job in found for word in ("all", f"kind {job.kind}", f"tenant {job.tenant}")]
        self.seen.append(Counter(words))


@pytest.mark.parametrize(
    ("given_limits", "most"),
    [
        (Limits(queue=5), {"all": 5}),
        (Limits(tenant=2), {"tenant a": 2, "tenant b": 2}),
        (Limits(kinds={"k": 3}), {"kind k": 3}),
        (Limits(queue=7, tenant=3, kinds={"k": 3, "l": 2}), {"all": 5, "kind k": 3, "kind l": 2, "tenant a": 3}),
    ],
    ids=["queue", "tenants", "kinds", "all"],
)
def test_four_that_ask_at_once_never_run_more_than_a_limit(
    opening: Callable[[], AbstractContextManager[Store]], given_limits: Limits, most: dict[str, int]
) -> None:
    with opening() as store:
        insert(store, *[new("kl"[number // 2 % 2], tenant="ab"[number % 2]) for number in range(60)])
    rivals = Rivals(opening, wish(5, given_limits), rounds=5)
    rivals.run()
    assert len(rivals.seen) == FOUR * rivals.rounds
    highest = {word: max(seen[word] for seen in rivals.seen) for word in most}
    assert highest == most


@pytest.mark.any_python
def test_a_database_that_shows_each_transaction_one_moment_changes_nothing() -> None:
    """Who has waited for a lock would count what was there before that, or be refused what it takes."""
    url = fresh_url() + "%20-cdefault_transaction_isolation%3Drepeatable%5C%20read"
    with opened(url) as store, opened(url) as other:
        insert(store, *[new() for _ in range(9)])
        us, them = station(store), station(other, "b")
        with other.transaction() as tx:
            tx.hosts()  # of a moment before
            given(store, us, wish(4, FIVE))
            assert len(tx.claim([wish(4, FIVE)], them) or ()) == 1


@pytest.mark.any_python
def test_skip_locked_alone_lets_twenty_run_where_five_may(monkeypatch: pytest.MonkeyPatch) -> None:
    """What the locks are for: here nobody has them, and all four have counted before the first one takes anything."""
    opens = _server(Path())
    from otpy.jobs.store.postgres.transaction import PostgresTransaction  # noqa: PLC0415 - an extra

    with opens() as store:
        insert(store, *[new() for _ in range(60)])
    rivals, count = Rivals(opens, wish(5, FIVE)), limits._count

    def count_all_at_once(*args: Any) -> limits.Running:
        found = count(*args)
        rivals.start.wait()
        return found

    ways = PostgresTransaction.ways
    monkeypatch.setattr(PostgresTransaction, "ways", replace(ways, lock=lambda *_: None))
    monkeypatch.setattr(limits, "_count", count_all_at_once)
    rivals.run()
    with opens() as store, store.transaction() as tx:
        assert tx.queues()[0].numbers["running"] == 20


def test_four_that_ask_at_once_keep_to_one_rate(opening: Callable[[], AbstractContextManager[Store]]) -> None:
    with opening() as store:
        insert(store, *[new() for _ in range(60)])
    rivals = Rivals(opening, wish(3, Limits(), rate=Rate(1, per=3_600.0, burst=5)), rounds=2)
    rivals.run()
    with opening() as store, store.transaction() as tx:
        assert sum(tx.get(number).token for number in range(1, 61)) == 5


# What it costs.


@pytest.fixture
def said(store: Store) -> Iterator[list[str]]:
    """The statements of a store, between those that begin and commit it."""
    found: list[str] = []
    if isinstance(store, SqliteStore):
        store._db.set_trace_callback(found.append)
        yield found
    else:
        session = store._session
        execute = session.execute
        session.execute = lambda text, *values: (found.append(text), execute(text, *values))[1]
        yield found


def test_a_wish_without_limits_sends_what_a_leader_sends(
    store: Store, us: Station, fence: Fence, said: list[str]
) -> None:
    """Who claims, where there is work, and the claim; on a file that is two, after one about tenants."""
    insert(store, *[new() for _ in range(9)])
    for by in (fence, us):
        said.clear()
        given(store, by, Ask(queues=("q",), owners=("agent",), lease_ms=LEASE))
        sent = [text for text in said if text.lstrip().split()[0] in ("select", "with", "update")]
        assert len([text for text in sent if "otpy_tally" not in text]) == (5 if isinstance(store, SqliteStore) else 3)
        assert not any("otpy_limit" in text for text in sent)


def test_what_runs_is_counted_by_the_index_of_leases() -> None:
    with closing(SqliteStore(":memory:")) as store:
        for text in (limits.COUNT, limits.TAKE):
            asked = f"explain query plan {text.format(limited='queue in (?) or kind in (?)')}"
            plan = [row[-1] for row in store._db.execute(asked, (1,) * asked.count("?"))]
            assert [line for line in plan if line.startswith("SCAN")] == []
            assert any("otpy_job_running" in line for line in plan)
