"""Many queues whose jobs nobody can do cost nothing until something has changed, and are in nobody's way."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from otpy import jobs
from otpy.jobs.errors import StoreFullError
from otpy.jobs.scheduler.exchange import Exchange
from otpy.jobs.store.sqlite.transaction import SqliteTransaction

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    import otpy
    from otpy.jobs.model.claim import Ask

MANY = 300
DONE: list[str] = []


def note(name: str) -> None:
    DONE.append(name)


NOTE: Any = jobs.job(note)
NARROW: Any = jobs.job(name="narrow", limit=1)(note)
ELSEWHERE: Any = jobs.job(name="elsewhere", needs={"gpu"})(note)


@pytest.fixture
def claims(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The number of queues of each claim."""
    found: list[int] = []
    claim = SqliteTransaction.claim

    def counted(self: SqliteTransaction, asks: Sequence[Ask], *by: Any) -> Any:
        found.append(sum(len(ask.queues) for ask in asks))
        return claim(self, asks, *by)

    monkeypatch.setattr(SqliteTransaction, "claim", counted)
    return found


@pytest.fixture
def started(timed: otpy.System, tmp_path: Path) -> Callable[..., jobs.Client]:
    """Starts an engine with one agent, beside many queues of which nobody can do anything."""

    def start(**options: Any) -> jobs.Client:
        DONE.clear()
        crews = [jobs.Crew(name="one", size=1, spare=0)]
        timed.start(jobs.engine(tmp_path / "jobs.db", [NOTE, NARROW, ELSEWHERE], crews=crews, **options))
        timed.wait_idle()
        client = jobs.of(timed)
        client.enqueue_all([ELSEWHERE.new("no").opts(queue=f"q{number:03}") for number in range(MANY)])
        timed.wait_idle()
        return client

    return start


def test_nobody_is_asked_again_before_something_has_changed(
    timed: otpy.System, clock: Any, started: Callable[..., jobs.Client], claims: list[int]
) -> None:
    client = started()
    claims.clear()
    clock.advance(60.0)
    timed.wait_idle()
    assert (claims, len(client.unroutable())) == ([], MANY)


def test_all_of_them_are_asked_at_once(
    timed: otpy.System, started: Callable[..., jobs.Client], claims: list[int]
) -> None:
    client = started()
    assert len(claims) < 5
    claims.clear()
    client.enqueue(NOTE.new("yes").opts(queue="q150"))
    timed.wait_idle()
    assert DONE == ["yes"]
    assert sum(claims) < 5


@pytest.mark.parametrize("what", ["delay", "limit", "kind"])
def test_what_was_in_the_way_is_told_when_it_is_over(
    timed: otpy.System, clock: Any, started: Callable[..., jobs.Client], claims: list[int], what: str
) -> None:
    client = started(queues=[jobs.Queue("q007", limit=1)])
    kind = NARROW if what == "kind" else NOTE
    specs = [kind.new(f"{number}").opts(queue="q007") for number in range(3)]
    claims.clear()
    client.enqueue_all([spec.opts(delay=5.0) if what == "delay" else spec for spec in specs])
    timed.wait_idle()
    clock.advance(10.0)
    timed.wait_idle()
    assert DONE == ["0", "1", "2"]
    assert len(claims) < 12


def test_a_store_that_fails_under_a_wish_over_many_of_them_is_asked_again(
    timed: otpy.System, quiet: None, clock: Any, started: Callable[..., jobs.Client], monkeypatch: pytest.MonkeyPatch
) -> None:
    client = started()
    before, play, asked = timed.names["jobs/scheduler"], Exchange.__call__, list[int]()

    def full(exchange: Exchange, tx: Any) -> None:
        if exchange.asks and not asked:
            asked.append(max(len(ask.queues) for ask in exchange.asks))
            raise StoreFullError("jobs.db", "full")
        play(exchange, tx)

    monkeypatch.setattr(Exchange, "__call__", full)
    client.enqueue_all([NOTE.new("yes").opts(queue=f"q{number:03}") for number in range(3)])
    timed.wait_idle()
    clock.advance(1.0)
    timed.wait_idle()
    assert DONE == ["yes"] * 3
    assert asked > [1]
    assert timed.names["jobs/scheduler"] is before
