"""How often the store on PostgreSQL goes there and back: each way costs more than what most statements do."""

from __future__ import annotations

from contextlib import closing
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import pytest

from otpy.jobs.endings import Round
from otpy.jobs.model.claim import Ask, Settled
from support.postgres import empty_url

from .shop import LEASE, insert, lead, new, one

if TYPE_CHECKING:
    from collections.abc import Iterator

    from otpy.jobs.store.postgres import PostgresStore

pytestmark = pytest.mark.any_python

READ = "select seq_tup_read + idx_tup_fetch from pg_stat_xact_user_tables where relname = 'otpy_job'"
AROUND = 2
"""The begin and the commit."""


@pytest.fixture
def store() -> Iterator[PostgresStore]:
    """On tables of its own."""
    url = empty_url()
    from otpy.jobs.store.postgres import PostgresStore  # noqa: PLC0415 - an extra

    with closing(PostgresStore(url)) as made:
        yield made


@pytest.fixture
def ways(store: PostgresStore, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What was sent, one text for each way."""
    from psycopg import Cursor  # noqa: PLC0415 - an extra

    sent: list[str] = []
    execute = Cursor.execute

    def noted(self: Any, text: str, *args: Any, **options: Any) -> Any:
        sent.append(text)
        return execute(self, text, *args, **options)

    monkeypatch.setattr(Cursor, "execute", noted)
    return sent


@pytest.mark.parametrize("number", [1, 100])
def test_those_without_keys_are_counted_on_their_way(store: PostgresStore, ways: list[str], number: int) -> None:
    insert(store, *[new(args=bytes([number])) for number in range(number)])
    assert len(ways) == AROUND + 1


def test_many_with_keys_go_together(store: PostgresStore, ways: list[str]) -> None:
    insert(store, *[new(key=f"key {number}") for number in range(50)], *[one(f"key {number}") for number in range(50)])
    assert len(ways) == AROUND + 2


def test_what_ends_and_what_begins_cost_the_same_for_one_and_for_many(store: PostgresStore, ways: list[str]) -> None:
    fence, counts, ended = lead(store), [], []
    for number in (1, 1, 30, 30, 1):
        insert(store, *[new()] * number)
        ways.clear()
        with store.transaction() as tx:
            tx.settle([Settled(id=job.id, token=job.token, state="done") for job in ended])
            ended = tx.claim([Ask(queues=("q",), owners=("agent",) * number, lease_ms=LEASE)], fence) or []
        counts.append(len(ways))
        assert len(ended) == number
    first, *others = counts
    assert others == [first + 1] * 4  # before the first nothing has ended
    assert first == AROUND + 4  # who leads, which queues have something, the jobs, the counts


def test_tenants_share_a_queue_in_few_ways_however_many_they_are(store: PostgresStore, ways: list[str]) -> None:
    fence, counts = lead(store), []
    for tenants in (2, 60):
        insert(store, *[new(tenant=f"tenant {number % tenants}") for number in range(60)])
        ways.clear()
        with store.transaction() as tx:
            jobs = tx.claim([Ask(queues=("q",), owners=("agent",) * 60, lease_ms=LEASE)], fence) or []
        counts.append(len(ways))
        assert len({job.tenant for job in jobs}) == tenants
        assert len(jobs) == 60
    assert counts[0] == counts[1] <= 12


def test_kinds_with_limits_share_a_queue_in_few_ways_however_many_they_are(
    store: PostgresStore, ways: list[str]
) -> None:
    """Each was looked at by itself: with hundreds of them a claim took seconds, in which nobody else could claim."""
    fence, counts = lead(store), []
    for kinds in (2, 200):
        insert(store, *[new(f"kind {number % kinds}", tenant=f"tenant {number % 7}") for number in range(60)])
        ways.clear()
        rooms = {f"kind {number}": 5 for number in range(kinds)}
        with store.transaction() as tx:
            ask = Ask(queues=("q",), owners=("agent",) * 8, lease_ms=LEASE, kind_rooms=rooms)
            assert len(tx.claim([ask], fence) or []) == 8
        counts.append(len(ways))
    assert max(counts) <= 16


def test_those_who_wait_for_jobs_that_go_on_are_looked_after_in_one_way(store: PostgresStore, ways: list[str]) -> None:
    """Each was looked at by itself, with its attempts, twenty times a second: a thousand kept a processor busy."""
    made = insert(store, *[new() for _ in range(300)])
    ways.clear()
    look = Round({one.id for one in made})
    with store.transaction() as tx:
        look(tx)
    assert (look.jobs, len(ways)) == ({}, AROUND + 1)


def test_a_claim_and_an_end_read_no_more_where_more_is_ready_and_has_ended(store: PostgresStore) -> None:
    """Before, the server read all that was ready to say which queues have something, and all leases there had been."""
    fence, ended, read = lead(store), [], []
    ask = Ask(queues=("q", "z"), owners=("agent",), lease_ms=LEASE, kinds=("k",), needs=("",))
    insert(store, *[new() for _ in range(600)])
    for _ in range(30):  # the first ones have plans of their own
        with store.transaction() as tx:
            tx.settle([Settled(id=job.id, token=job.token, state="done") for job in ended])
            ended = tx.claim([ask], fence) or []
            read.append(tx._db.execute(READ).fetchone()[0])
        assert len(ended) == 1
    # They add up, until they are handed in. What was claimed is read once more each time, as long as anybody in the
    # database, the server's own `analyze` as well, has a look that began before.
    assert max(after - before for before, after in pairwise(read)) < 120
