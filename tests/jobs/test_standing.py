"""The standing wish: who rests gets a job with the commit that makes it ready, and nobody gets one twice."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from otpy.jobs.client import of
from otpy.jobs.engine import engine
from otpy.jobs.errors import StoreFullError
from otpy.jobs.kind import job
from otpy.jobs.model.claim import Ask
from otpy.jobs.model.lead import Fence
from otpy.jobs.model.new import NewJob
from otpy.jobs.scheduler.books import Books
from otpy.jobs.scheduler.exchange import Exchange
from otpy.jobs.scheduler.rights import Right
from otpy.jobs.scheduler.standing import Standing
from otpy.jobs.setup import Crew, Queue
from otpy.jobs.store.sqlite import SqliteStore
from otpy.jobs.verdict import given_back
from otpy.jobs.writer import Writer
from otpy.testing import Gate

from .rows import row

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    import otpy
    from otpy.jobs.model.news import News
    from otpy.jobs.store.protocol import Transaction

NOW = 1_000


class Failing(SqliteStore):
    """Fails at the end of a transaction, when it is told to."""

    is_full = False

    def transaction(self) -> Any:
        if self.is_full:
            self.is_full = False
            raise StoreFullError("f", "full")
        return super().transaction()


@pytest.fixture
def stores() -> list[Failing]:
    """The store of the writer, once that is there."""
    return []


@pytest.fixture
def writer(timed: otpy.System, stores: list[Failing]) -> otpy.Ref[Writer]:
    def opened() -> SqliteStore:
        stores.append(Failing(":memory:", now=lambda: NOW))
        return stores[0]

    return timed.start(Writer, opened)


@pytest.fixture
def fence(writer: otpy.Ref[Writer]) -> Fence:
    return Fence(name="jobs", epoch=writer.call(Writer.run, lambda tx: tx.elect("jobs", "us", 60_000)))


class Wishes:
    """Makes standing wishes, and keeps what is told of them."""

    def __init__(self, writer: otpy.Ref[Writer], fence: Fence) -> None:
        self.writer, self.right = writer, Right(fence)
        self.told: list[Standing] = []
        self.is_wanted = True

    def stand(self, *asks: Ask, before: Standing | None = None) -> Standing:
        made = Standing(asks, self.right, before, is_wanted=lambda: self.is_wanted, then=self.told.append)
        self.writer.cast(Writer.stand, made)
        return made

    def exchange(self, standing: Standing | None, *asks: Ask) -> Exchange:
        made = Exchange([], {}, list(asks), self.right, 0.0, standing)
        self.writer.call(Writer.run, made)
        return made

    def running(self) -> int:
        return self.writer.call(Writer.run, lambda tx: len(tx.running()))


@pytest.fixture
def wishes(writer: otpy.Ref[Writer], fence: Fence) -> Wishes:
    return Wishes(writer, fence)


def ask(queue: str = "q", *owners: str) -> Ask:
    return Ask(queues=(queue,), owners=owners or ("a",), lease_ms=9_000)


def put(queue: str = "q", number: int = 1, run_at: int = 0) -> Callable[[Transaction], int]:
    def insert(tx: Transaction) -> int:
        return tx.insert([NewJob(kind="k", queue=queue, args=b"", run_at=run_at)] * number)[0].id

    return insert


def test_it_is_granted_once_with_the_commit_that_makes_a_job_ready(writer: otpy.Ref[Writer], wishes: Wishes) -> None:
    standing = wishes.stand(ask())
    writer.call(Writer.run, put(run_at=NOW + 1))
    assert wishes.told == []
    first, _ = writer.call(Writer.run, put()), writer.call(Writer.run, put())
    assert wishes.told == [standing]
    assert [(one.id, one.token, one.owner) for one in standing.jobs or ()] == [(first, 1, "a")]
    assert wishes.running() == 1


def test_wishes_for_the_same_agents_share_them(writer: otpy.Ref[Writer], wishes: Wishes) -> None:
    standing = wishes.stand(ask("q"), ask("r"), ask("r", "b"))
    writer.call(Writer.run, lambda tx: [put(queue)(tx) for queue in "rqr"])
    assert [(one.queues, one.owners) for one in standing.granted] == [
        (("q",), ("a",)),
        (("r",), ("a",)),
        (("r",), ("b",)),
    ]
    assert [(one.queue, one.owner) for one in standing.jobs or ()] == [("q", "a"), ("r", "b")]
    assert wishes.running() == 2


@pytest.mark.parametrize("what", ["paused", "nobody", "another queue"])
def test_it_is_not_granted(writer: otpy.Ref[Writer], wishes: Wishes, what: str) -> None:
    wishes.stand(ask("r" if what == "another queue" else "q"))
    wishes.is_wanted = what != "nobody"
    if what == "paused":
        writer.call(Writer.run, lambda tx: tx.pause("q"))
    writer.call(Writer.run, put())
    assert wishes.running() == 0


def test_an_exchange_ends_it_also_in_the_same_commit(writer: otpy.Ref[Writer], wishes: Wishes) -> None:
    standing = wishes.stand(ask())
    exchange = Exchange([], {}, [ask()], wishes.right, 0.0, standing)
    writer.call(Writer.run, lambda tx: (put(number=2)(tx), exchange(tx)))
    assert (len(exchange.jobs or ()), wishes.told, wishes.running()) == (1, [], 1)


def test_an_exchange_that_comes_after_it_was_granted_asks_for_nothing(writer: otpy.Ref[Writer], wishes: Wishes) -> None:
    standing = wishes.stand(ask())
    writer.call(Writer.run, put(number=2))
    exchange = wishes.exchange(standing, ask())
    assert (exchange.jobs, exchange.asks, wishes.running()) == ([], [], 1)


def test_another_one_takes_its_place_unless_it_was_granted(writer: otpy.Ref[Writer], wishes: Wishes) -> None:
    first = wishes.stand(ask())
    second = wishes.stand(ask(), before=first)
    writer.call(Writer.run, put())
    third = wishes.stand(ask(), before=second)
    wishes.stand(ask(), before=third)
    writer.call(Writer.run, put())
    assert (wishes.told, wishes.running()) == ([second], 1)


def test_it_stands_on_when_the_commit_fails(
    timed: otpy.System, clock: Any, writer: otpy.Ref[Writer], wishes: Wishes, stores: list[Failing]
) -> None:
    standing = wishes.stand(ask())
    stores[0].is_full = True
    with pytest.raises(StoreFullError):
        writer.call(Writer.run, put())
    assert wishes.told == []
    clock.advance(1.0)
    writer.call(Writer.run, put())
    assert wishes.told == [standing]
    timed.wait_idle()


def test_one_that_is_wrong_in_its_commit_is_left_out(writer: otpy.Ref[Writer], wishes: Wishes) -> None:
    def wrong(tx: Transaction) -> None:
        put()(tx)
        raise ZeroDivisionError

    standing = wishes.stand(ask())
    with pytest.raises(ZeroDivisionError):
        writer.call(Writer.run, wrong)
    assert (wishes.told, wishes.running()) == ([], 0)
    writer.call(Writer.run, put())
    assert wishes.told == [standing]


def test_what_it_leaves_is_news_for_others(wishes: Wishes, writer: otpy.Ref[Writer]) -> None:
    standing = wishes.stand(ask("q"), ask("r", "b"))
    news: list[News] = []
    writer.call(Writer.run, lambda tx: (put("q")(tx), put("r", 2)(tx), news.append(standing.grant(tx, 0.0))))
    assert [(one.ready, one.due) for one in news] == [({"r"}, None)]


def test_what_was_claimed_and_nobody_knows_of_is_given_back(writer: otpy.Ref[Writer], wishes: Wishes) -> None:
    first = wishes.stand(ask())
    writer.call(Writer.run, put())
    last = wishes.stand(ask(), before=first)
    writer.call(Writer.run, lambda tx: tx.settle(list(last.unseen(lambda one: given_back(one, NOW)))))
    writer.call(Writer.run, put())
    assert wishes.running() == 0


def test_what_was_never_granted_gives_nothing_back(wishes: Wishes) -> None:
    assert list(wishes.stand(ask()).unseen(lambda one: given_back(one, NOW))) == []


# What the scheduler knows.


def rests(**options: Any) -> Books[str]:
    """One crew, of which one agent rests."""
    books: Books[str] = Books({"q": Queue("q"), "narrow": Queue("narrow", limit=2)}, options.pop("kind_limits", None))
    books.join("a", "ref of a", CREW)
    books.hope(["q", "r", "narrow"])
    return books


CREW = Crew(name="c", size=1, kinds=("k",))


def test_all_queues_without_limits_are_wished_for_by_who_rests() -> None:
    books = rests()
    books.asks(9_000, {})
    assert [(one.queues, one.owners) for one in books.standing_asks(9_000)] == [(("q", "r"), ("a",))]


def test_where_somebody_has_to_count_nothing_is_wished_for() -> None:
    books = rests(kind_limits={"k": 1})
    assert books.standing_asks(9_000) == ()


@pytest.mark.parametrize("why", ["busy", "closed"])
def test_who_has_work_or_is_closed_wishes_for_nothing(why: str) -> None:
    books = rests()
    if why == "busy":
        books.take([row(owner="a")])
        assert len(list(books.deal())) == 1
    else:
        books.set_crew(CREW, is_open=False)
    assert books.standing_asks(9_000) == ()


def test_what_comes_for_a_crew_that_was_closed_meanwhile_is_given_back() -> None:
    books, claimed = rests(), row(owner="a")
    books.set_crew(CREW, is_open=False)
    assert books.take([claimed]) == [claimed]
    assert books.drop_hands() == []


# The whole engine.


def nothing() -> None:
    """Is done at once."""


@pytest.fixture
def gate() -> Iterator[Gate]:
    made = Gate()
    yield made
    made.open()


def test_an_agent_that_rests_has_its_job_when_that_is_enqueued(system: otpy.System, tmp_path: Path, gate: Gate) -> None:
    def hold() -> None:
        gate.wait()

    kind: Any = job(hold)
    system.start(engine(tmp_path / "jobs.db", [kind], poll=60.0))
    system.wait_idle()
    client = of(system)
    found = client.get(client.enqueue(kind.new()).id)
    assert found is not None
    assert (found.state, found.attempt) == ("running", 1)
    gate.open()
    assert client.wait(found.id, 5.0).state == "done"


def test_limits_hold(system: otpy.System, tmp_path: Path, gate: Gate) -> None:
    began: list[int] = []

    def hold(number: int) -> None:
        began.append(number)
        gate.wait()

    kind: Any = job(queue="q")(hold)
    system.start(engine(tmp_path / "jobs.db", [kind], queues=[Queue("q", limit=1)], poll=60.0))
    system.wait_idle()
    client = of(system)
    made = [client.enqueue(kind.new(number)) for number in range(3)]
    gate.reached()
    system.wait_idle()
    assert began == [0]
    gate.open()
    assert [client.wait(one.id, 5.0).state for one in made] == ["done"] * 3
    assert began == [0, 1, 2]


def test_a_job_that_was_granted_is_given_back_when_the_engine_stops_first(
    system: otpy.System, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nobody hears of the grant: as when the scheduler is told to stop before it."""
    kind: Any = job(nothing)
    monkeypatch.setattr(Standing, "kept", lambda self: setattr(self, "state", "over"))
    system.start(engine(tmp_path / "jobs.db", [kind], poll=60.0))
    system.wait_idle()
    made = of(system).enqueue(kind.new())
    system.stop()
    store = SqliteStore(tmp_path / "jobs.db")
    with store.transaction() as tx:
        found = tx.get(made.id)
    store.close()
    assert found is not None
    assert (found.state, found.attempt, found.token) == ("ready", 0, 1)
