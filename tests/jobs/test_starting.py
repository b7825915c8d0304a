"""`start_within`: a job that nobody has begun in time is dead, and no attempt is made."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

import otpy
from otpy.jobs.client import Client, of
from otpy.jobs.engine import engine
from otpy.jobs.kind import job
from otpy.jobs.retry import Retry
from otpy.jobs.store.sqlite.transaction import SqliteTransaction
from otpy.jobs.verdict import given_back, not_begun, snoozed

from .rows import row

if TYPE_CHECKING:
    from pathlib import Path

    from otpy.testing import VirtualClock

BEGUN: list[int] = []
SLOWLY = Retry(errors=2, backoff=otpy.Backoff(first=100.0, most=100.0))


@job(start_within=30.0, retry=SLOWLY)
def code(number: int) -> str:
    """Of no use to anybody after half a minute."""
    BEGUN.append(number)
    if len(BEGUN) == 1:
        raise ConnectionError
    return "sent"


@pytest.fixture
def client(timed: otpy.System, quiet: None, tmp_path: Path) -> Client:
    BEGUN.clear()
    timed.start(engine(tmp_path / "jobs.db", [code]))
    return of(timed)


def now(client: Client, made: Any) -> tuple[str, str, int]:
    found = client.get(made.id)
    assert found is not None
    return found.state, found.reason, len(found.attempts)


def test_what_is_not_begun_in_time_is_dead_and_is_not_tried(client: Client, clock: VirtualClock) -> None:
    client.pause("default")
    made = client.enqueue(code.new(1))
    later = client.enqueue(code.new(2).opts(start_within=None))
    clock.advance(29.0)
    assert now(client, made) == ("ready", "", 0)
    clock.advance(2.0)
    assert now(client, made) == ("dead", "schedule_to_start", 0)
    assert [one.id for one in client.find(state="dead")] == [made.id]
    client.resume("default")
    clock.advance(500.0)
    assert (BEGUN, now(client, later)[0]) == ([2, 2], "done")


def test_the_time_counts_from_when_it_is_due(client: Client, clock: VirtualClock) -> None:
    client.pause("default")
    made = client.enqueue(code.new(1).opts(delay=100.0))
    clock.advance(129.0)
    assert now(client, made)[0] == "ready"
    clock.advance(2.0)
    assert now(client, made)[:2] == ("dead", "schedule_to_start")


def test_what_was_begun_in_time_may_be_tried_again_later(client: Client, clock: VirtualClock) -> None:
    made = client.enqueue(code.new(1))
    clock.advance(200.0)
    assert (BEGUN, now(client, made)) == ([1, 1], ("done", "", 1))


def test_a_replay_has_as_much_time(client: Client, clock: VirtualClock) -> None:
    client.pause("default")
    made = client.enqueue(code.new(1))
    clock.advance(90.0)
    (again,) = client.replay(made.id)
    found = client.get(again.new or 0)
    assert found is not None
    assert found.start_by == found.run_at + 30_000


def test_what_comes_to_its_agent_too_late_is_not_begun(
    client: Client, timed: otpy.System, monkeypatch: pytest.MonkeyPatch
) -> None:
    claim = SqliteTransaction.claim

    def late(tx: SqliteTransaction, *wishes: Any) -> Any:
        return [one._replace(start_by=1) for one in claim(tx, *wishes) or ()]

    monkeypatch.setattr(SqliteTransaction, "claim", late)
    made = client.enqueue(code.new(1))
    timed.wait_idle()
    assert (BEGUN, now(client, made)) == ([], ("dead", "schedule_to_start", 0))


def test_only_what_was_not_begun_must_still_begin_in_time() -> None:
    one = row(start_by=7)
    assert not_begun(one, 5).start_by == 7
    assert given_back(one, 5).start_by is None
    assert snoozed(one, 1.0, 5).start_by is None
