"""Claims, leases and tokens."""

from __future__ import annotations

from contextlib import closing
from itertools import count
from typing import TYPE_CHECKING, Any

import pytest

from otpy.jobs.model.claim import Ask, Settled
from otpy.jobs.model.job import Attempt, Earlier
from otpy.jobs.model.lead import Fence
from otpy.jobs.store.sqlite import SqliteStore

from .shop import LEASE, claim, get, insert, new, numbers, settle

if TYPE_CHECKING:
    from otpy.jobs.store.protocol import Store

    from .conftest import Clock


def test_the_first_due_of_the_first_priority_comes_first(store: Store, fence: Fence) -> None:
    made = insert(store, new(priority=1), new(run_at=5), new(run_at=3), new(priority=-1, run_at=9), new(run_at=3))
    late, later, soon, first, then = (one.id for one in made)
    assert [job.id for job in claim(store, fence, 9)] == [first, soon, then, later, late]


def test_a_claim_gives_a_token_a_lease_and_an_owner(store: Store, fence: Fence, clock: Clock) -> None:
    insert(store, new())
    (job,) = claim(store, fence)
    assert (job.state, job.attempt, job.token, job.owner, job.lease_until) == (
        "running",
        1,
        1,
        "agent",
        clock.now + LEASE,
    )


def test_of_many_jobs_those_are_known_that_are_still_to_end(store: Store, fence: Fence) -> None:
    made = insert(store, *[new() for _ in range(600)], new(run_at=10**15))
    settle(store, claim(store, fence)[0], "done")
    with store.transaction() as tx:
        assert tx.living({*(one.id for one in made), 0, 10**6, 2**70}) == {one.id for one in made[1:]}
        assert tx.living(set()) == set()


def test_each_agent_gets_one(store: Store, fence: Fence) -> None:
    insert(store, new(), new(), new())
    ask = Ask(queues=("q",), owners=("a", "b"), lease_ms=LEASE)
    with store.transaction() as tx:
        assert [job.owner for job in tx.claim([ask], fence) or ()] == ["a", "b"]


@pytest.mark.parametrize("wish", [{"kinds": ("b",)}, {"kinds": ("b", "c"), "needs": ("", "gpu")}])
def test_a_claim_in_vain_costs_the_same_however_much_is_ready_for_others(wish: dict[str, Any]) -> None:
    assert _steps(10, **wish) == _steps(1_000, **wish)


def _steps(others: int, **wish: Any) -> int:
    """Instructions of SQLite for a claim of which nothing comes."""
    with closing(SqliteStore(":memory:")) as store:
        insert(store, *[new("a") for _ in range(others)], *[new("b", needs="disk") for _ in range(others)])
        with store.transaction() as tx:
            fence = Fence(name="jobs", epoch=tx.elect("jobs", "me", 1_000) or 0)
        steps = count()
        store._db.set_progress_handler(lambda: next(steps) < 0, 1)
        assert claim(store, fence, **wish) == []
        return next(steps)


def test_one_statement_finds_those_of_many_queues_that_have_something() -> None:
    """Before, each of them was asked alone, and thousands of which nothing came kept a core busy."""
    with closing(SqliteStore(":memory:")) as store:
        insert(store, *[new("other", queue=f"q{number}") for number in range(200)], new(queue="q7"), new(queue="q9"))
        with store.transaction() as tx:
            fence = Fence(name="jobs", epoch=tx.elect("jobs", "me", 1_000) or 0)
        said: list[str] = []
        store._db.set_trace_callback(said.append)
        assert claim(store, fence, kinds=("k",), queues=tuple(f"q{number}" for number in range(0, 200, 2))) == []
    assert len([text for text in said if "otpy_job" in text]) == 1


def test_a_wish_takes_from_the_first_queues_first(store: Store, fence: Fence) -> None:
    insert(store, *[new(queue=queue) for queue in "aabbcc"])
    assert [job.queue for job in claim(store, fence, 5, queues=("c", "x", "a", "b"))] == ["c", "c", "a", "a", "b"]


@pytest.mark.parametrize(
    "limit",
    [{"room": 3}, {"kind_rooms": {"k": 3}}, {"tenant_limit": 3}, {"tenant_limit": 4, "tenant_counts": {"t": 1}}],
)
def test_limits_hold_over_all_wishes_of_one_call(store: Store, fence: Fence, limit: dict[str, Any]) -> None:
    insert(store, *[new(tenant="t") for _ in range(9)])
    asks = [Ask(queues=("q",), owners=owners, lease_ms=LEASE, **limit) for owners in (("a", "b"), ("c", "d"))]
    with store.transaction() as tx:
        assert [job.owner for job in tx.claim(asks, fence) or ()] == ["a", "b", "c"]


def test_wishes_with_the_same_owners_give_each_of_them_one_job(store: Store, fence: Fence) -> None:
    insert(store, new(queue="a"), *[new(queue="b") for _ in range(3)])
    asks = [Ask(queues=(queue,), owners=("x", "y"), lease_ms=LEASE) for queue in "ab"]
    with store.transaction() as tx:
        assert [(job.queue, job.owner) for job in tx.claim(asks, fence) or ()] == [("a", "x"), ("b", "y")]


@pytest.mark.parametrize(
    ("wish", "kinds"),
    [
        ({}, "abc"),
        ({"needs": ("", "gpu")}, "abcd"),
        ({"needs": ("gpu",)}, "d"),
        ({"tenant": "t"}, "b"),
        ({"not_tenants": ("t",)}, "ac"),
        ({"not_kinds": ("a", "b")}, "c"),
        ({"kinds": ("a", "c")}, "ac"),
        ({"kinds": ()}, ""),
        ({"queues": ("other",)}, ""),
    ],
)
def test_a_wish_says_which(store: Store, fence: Fence, wish: dict[str, Any], kinds: str) -> None:
    insert(store, new("a"), new("b", tenant="t"), new("c"), new("d", needs="gpu"))
    assert "".join(sorted(job.kind for job in claim(store, fence, 9, **wish))) == kinds


def test_what_is_not_due_or_is_overdue_is_not_given(store: Store, fence: Fence, clock: Clock) -> None:
    insert(store, new(run_at=clock.now + 1), new(deadline_at=clock.now))
    assert claim(store, fence, 9) == []


def test_only_the_leader_claims(store: Store, fence: Fence, clock: Clock) -> None:
    insert(store, new())
    with store.transaction() as tx:
        assert (
            tx.claim([Ask(queues=("q",), owners=("a",), lease_ms=1)], Fence(name="jobs", epoch=fence.epoch + 1)) is None
        )
    clock.now += 3_600_001
    with store.transaction() as tx:
        assert tx.claim([Ask(queues=("q",), owners=("a",), lease_ms=1)], fence) is None
    assert numbers(store) == {"ready": 1}


@pytest.mark.report("J1", "oban-bg/oban#364")
def test_what_an_old_token_says_is_refused(store: Store, fence: Fence, clock: Clock) -> None:
    insert(store, new())
    (first,) = claim(store, fence)
    clock.now += LEASE + 1
    with store.transaction() as tx:
        assert [job.id for job in tx.rescue(0, 10, fence) or ()] == [first.id]
    (second,) = claim(store, fence)
    assert (second.attempt, second.token, second.crashes) == (2, 2, 1)
    assert not settle(store, first, "done")
    with store.transaction() as tx:
        assert not tx.note(first.id, first.token, b"p", None)
        assert tx.renew([(first.id, first.token), (second.id, second.token)], LEASE) == [(first.id, first.token)]
    assert settle(store, second, "done", result=b"r")
    assert get(store, second.id).result == b"r"
    assert not settle(store, second, "done", result=b"twice")


def test_failures_are_counted_apart_and_remembered(store: Store, fence: Fence) -> None:
    insert(store, new())
    for failure in ("error", "crash", "timeout"):
        (job,) = claim(store, fence)
        settle(store, job, "ready", failure)
    job = get(store, job.id)
    assert (job.errors, job.crashes, job.attempt) == (2, 1, 3)
    assert [(one.number, one.failure, one.text) for one in job.attempts] == [
        (1, "error", "boom"),
        (2, "crash", "boom"),
        (3, "timeout", "boom"),
    ]


def test_only_the_last_failures_are_kept(store: Store, fence: Fence) -> None:
    """Of those before a number is left: a job takes a bounded room, however often it is tried."""
    insert(store, new())
    for number in range(1, 126):
        (job,) = claim(store, fence)
        attempt = Attempt(number=number, at=number * 10, failure="crash" if number == 3 else "error", text="boom")
        with store.transaction() as tx:
            tx.settle([Settled(id=job.id, token=job.token, state="ready", attempt=attempt)])
    found = get(store, job.id)
    assert [one.number for one in found.attempts] == list(range(106, 126))
    assert found.earlier == (
        Earlier(failure="error", number=104, first_at=10, last_at=1_050),
        Earlier(failure="crash", number=1, first_at=30, last_at=30),
    )
    assert found.errors + found.crashes == 125
    (job,) = claim(store, fence)
    settle(store, job, "done")
    with store.transaction() as tx:
        assert tx.prune(tx.now + 1, 10) == 1
        rows = tx._db.execute("select (select count(*) from otpy_digest), (select count(*) from otpy_failure)")  # type: ignore[attr-defined]
        assert rows.fetchone() == (0, 0)


def test_what_is_given_back_costs_nothing(store: Store, fence: Fence) -> None:
    insert(store, new())
    (job,) = claim(store, fence)
    assert settle(store, job, "ready", is_free=True)
    back = get(store, job.id)
    assert (back.attempt, back.token, back.errors, back.releases) == (0, 1, 0, 1)


def test_progress_and_checkpoint_stay_over_attempts(store: Store, fence: Fence) -> None:
    insert(store, new())
    (job,) = claim(store, fence)
    with store.transaction() as tx:
        assert tx.note(job.id, job.token, b"half", b"at 5")
        assert tx.note(job.id, job.token, b"more", None)
    settle(store, job, "ready", "error")
    (again,) = claim(store, fence)
    assert (again.progress, again.checkpoint) == (b"more", b"at 5")


def test_counts_follow_whatever_happens(store: Store, fence: Fence, clock: Clock) -> None:
    insert(store, *[new() for _ in range(6)], new(run_at=clock.now + 1), new(queue="other"))
    a, b, c, d = claim(store, fence, 4)
    settle(store, a, "done")
    settle(store, b, "dead", "error", reason="errors")
    settle(store, c, "scheduled", "error", run_at=clock.now + 9)
    with store.transaction() as tx:
        looks = {look.name: look.numbers for look in tx.queues()}
    assert looks["q"] == {"ready": 2, "running": 1, "done": 1, "dead": 1, "scheduled": 2}
    assert looks["other"] == {"ready": 1}
    assert d.state == "running"


def test_what_is_ready_does_not_wait_again_when_the_clock_is_set_back(store: Store, fence: Fence, clock: Clock) -> None:
    (made,) = insert(store, new(run_at=clock.now))
    clock.now -= 100_000
    assert [job.id for job in claim(store, fence)] == [made.id]


def test_an_end_is_counted_where_its_job_belongs(store: Store, fence: Fence) -> None:
    insert(store, new(queue="other"))
    (job,) = claim(store, fence, queues=("other",))
    assert settle(store, job, "done")
    with store.transaction() as tx:
        assert {look.name: look.numbers for look in tx.queues()}["other"] == {"ready": 0, "running": 0, "done": 1}


def test_many_claims_and_many_ends_are_few_statements() -> None:
    """Each statement has its price, however little it does, and there were two for each job."""
    with closing(SqliteStore(":memory:")) as store:
        insert(store, *[new() for _ in range(60)])
        with store.transaction() as tx:
            fence = Fence(name="jobs", epoch=tx.elect("jobs", "me", 1_000) or 0)
        said: list[str] = []
        store._db.set_trace_callback(said.append)
        jobs = claim(store, fence, 60)
        ends = [Settled(id=job.id, token=job.token, state="done", result=b"") for job in jobs]
        with store.transaction() as tx:
            assert tx.settle(ends) == [True] * 60
    assert len([text for text in said if "otpy_job" in text]) < 8


def test_each_end_has_its_own_result_and_is_refused_by_itself(store: Store, fence: Fence) -> None:
    insert(store, *[new() for _ in range(4)])
    a, b, c, d = claim(store, fence, 4)
    with store.transaction() as tx:
        tx.cancel([c.id], "why")
        ends = [(a, b"a", 0), (b, b"b", 0), (c, b"c", 0), (d, b"d", 1), (b, b"again", 0)]
        made = [Settled(id=job.id, token=job.token + late, state="done", result=result) for job, result, late in ends]
        assert tx.settle(made) == [True, True, True, False, False]
    found = [get(store, job.id) for job in (a, b, c, d)]
    assert [(job.state, job.result) for job in found] == [
        ("done", b"a"),
        ("done", b"b"),
        ("cancelled", None),
        ("running", None),
    ]
    assert numbers(store) == {"done": 2, "cancelled": 1, "running": 1}


def test_an_end_that_cannot_be_written_holds_up_no_other(store: Store, fence: Fence) -> None:
    insert(store, new(), new())
    first, second = claim(store, fence, 2)
    bad = Settled(id=first.id, token=first.token, state="cancelled", reason="\ud800")
    late = Settled(id=first.id, token=first.token, state="scheduled", run_at=2**70)
    good = Settled(id=second.id, token=second.token, state="done", result=b"r")
    with store.transaction() as tx:
        assert tx.settle([bad, late, good]) == [True, False, True]
    assert (get(store, first.id).state, get(store, second.id).state) == ("dead", "done")
    assert get(store, first.id).reason.startswith("how it ended cannot be written: UnicodeEncodeError")
