"""The writer: requests share transactions, and a failure of the store is told to all whom it concerns."""

from __future__ import annotations

import threading
import time
from contextlib import contextmanager
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest

import otpy
from otpy.jobs.errors import KeyTakenError, StoreConflictError, StoreError, StoreFullError, StoreLockedError
from otpy.jobs.health import Health
from otpy.jobs.insertion import Insertion
from otpy.jobs.kind import job
from otpy.jobs.model.look import Look
from otpy.jobs.model.new import Inserted, NewJob
from otpy.jobs.model.news import News
from otpy.jobs.store.sqlite import SqliteStore
from otpy.jobs.writer import WARY, Writer
from otpy.runtime.caller import request_future
from otpy.runtime.pykka import Future
from otpy.testing import Gate, VirtualClock

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from otpy.jobs.store.protocol import Transaction


@job
def noted(number: int) -> int:
    return number


class Slow:
    """A store that notes how much is done together, waits at a gate, and fails as told."""

    news = News(frozenset(), None)

    def __init__(self) -> None:
        self.gate = Gate()
        self.commits: list[int] = []
        self.failures: list[Exception] = []
        self.steps = 0

    @contextmanager
    def transaction(self) -> Iterator[Any]:
        self.gate.wait()
        self.steps = 0
        yield self
        if self.failures:
            raise self.failures.pop(0)
        self.commits.append(self.steps)

    def step(self) -> int:
        self.steps += 1
        return self.steps

    def changes(self) -> int:
        return 0

    def close(self) -> None:
        self.gate.open()


@pytest.fixture
def slow() -> Iterator[Slow]:
    made = Slow()
    yield made
    made.gate.open()


def asked(writer: otpy.Ref[Writer], step: Any, number: int) -> list[Any]:
    """Futures of so many requests, all in the mailbox."""
    message = writer.message_for(Writer.run, (step,), {})
    futures = [Future() for _ in range(number)]
    for future in futures:
        request_future(writer, message, future)
    return futures


def test_who_comes_while_a_commit_lasts_shares_the_next_one(system: otpy.System, slow: Slow) -> None:
    writer = system.start(Writer, lambda: slow)
    first = asked(writer, Slow.step, 1)
    slow.gate.reached()
    others = asked(writer, Slow.step, 16)
    slow.gate.open()
    assert [future.get(timeout=5) for future in first + others] == [1, *range(1, 17)]
    assert slow.commits == [1, 16]


def _nap(patch: pytest.MonkeyPatch, nap: Callable[[float], object]) -> None:
    """What the writer does when it waits for others, however late it is; other threads sleep as ever."""
    patch.setattr("otpy.core.gathering.LATELY", 60.0)
    patch.setattr("otpy.jobs.writer.time", SimpleNamespace(monotonic=time.monotonic, sleep=nap))


def test_who_was_served_together_is_expected_back_together(
    system: otpy.System, slow: Slow, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first of them to come again would else have a commit of its own, for which the others wait."""
    writer = system.start(Writer, lambda: slow)
    first = asked(writer, Slow.step, 1)
    slow.gate.reached()
    together = asked(writer, Slow.step, 4)
    again: list[Any] = []
    _nap(monkeypatch, lambda _: again or again.extend(asked(writer, Slow.step, 3)))
    slow.gate.open()
    [future.get(timeout=5) for future in first + together]
    (late,) = asked(writer, Slow.step, 1)
    late.get(timeout=5)
    [future.get(timeout=5) for future in again]
    assert slow.commits == [1, 4, 4]


def test_nobody_is_waited_for_long(system: otpy.System, slow: Slow, monkeypatch: pytest.MonkeyPatch) -> None:
    slow.gate.open()
    writer = system.start(Writer, lambda: slow)
    naps: list[float] = []
    _nap(monkeypatch, naps.append)
    for future in asked(writer, Slow.step, 9):
        future.get(timeout=5)
    naps.clear()
    writer.call(Writer.run, Slow.step)
    assert sum(naps) <= 0.002


def test_what_several_enqueue_is_one_insertion_and_a_key_that_is_taken_harms_no_other(
    system: otpy.System, tmp_path: Path
) -> None:
    writer = system.start(Writer, lambda: SqliteStore(tmp_path / "jobs.db"))
    writer.call(Writer.run, Insertion([noted.new(1).opts(key="a")]))
    held = Gate()
    block = threading.Thread(target=lambda: writer.call(Writer.run, lambda _: held.wait()))
    block.start()
    held.reached()
    specs = [noted.new(1), noted.new(2)]
    (two,), (taken,), (same,), (number,) = (
        asked(writer, step, 1)
        for step in (
            Insertion(specs),
            Insertion([noted.new(3), noted.new(2).opts(key="a")]),
            Insertion([noted.new(1).opts(key="a")]),
            lambda tx: len(tx.find(Look())),
        )
    )
    held.open()
    block.join()
    assert [one.is_new for one in two.get(timeout=5)] == [True, True]
    with pytest.raises(KeyTakenError):
        taken.get(timeout=5)
    assert [one.is_new for one in same.get(timeout=5)] == [False]
    assert number.get(timeout=5) == 3


def test_one_word_is_said_of_a_commit_after_it_and_after_its_replies(system: otpy.System, slow: Slow) -> None:
    said: list[tuple[News, list[int]]] = []
    news = slow.news = News({"mail"}, 7)
    futures: list[Any] = []

    def herald(one: News) -> None:
        replies = [future.get(timeout=0) for future in futures] if len(slow.commits) > 1 else []
        said.append((one, replies))

    writer = system.start(Writer, lambda: slow, herald)
    slow.gate.open()
    block = Gate()
    first = threading.Thread(target=lambda: writer.call(Writer.run, lambda _: block.wait()))
    first.start()
    block.reached()
    futures = asked(writer, Slow.step, 3)
    block.open()
    first.join()
    for future in futures:
        future.get(timeout=5)
    system.wait_idle()
    assert said == [(news, []), (news, [1, 2, 3])]


def test_nothing_is_said_of_a_commit_that_failed(system: otpy.System, slow: Slow) -> None:
    said: list[News] = []
    slow.gate.open()
    slow.failures = [StoreFullError("f", "full")]
    writer = system.start(Writer, lambda: slow, said.append)
    with pytest.raises(StoreFullError):
        writer.call(Writer.run, Slow.step)
    system.wait_idle()
    assert said == []


def test_what_is_in_another_programs_way_is_done_again_a_few_times(system: otpy.System, slow: Slow) -> None:
    slow.gate.open()
    writer = system.start(Writer, lambda: slow)
    slow.failures = [StoreConflictError("f", "deadlock")] * 4
    assert writer.call(Writer.run, lambda _: slow.step()) == 1
    slow.failures = [StoreConflictError("f", "deadlock")] * 5
    with pytest.raises(StoreConflictError, match="deadlock"):
        writer.call(Writer.run, lambda _: slow.step())
    assert slow.failures == []


def test_one_that_is_wrong_harms_no_other(system: otpy.System, slow: Slow) -> None:
    def wrong(_: Transaction) -> None:
        raise ZeroDivisionError

    slow.gate.open()
    writer = system.start(Writer, lambda: slow)
    held = Gate()
    block = threading.Thread(target=lambda: writer.call(Writer.run, lambda _: held.wait()))
    block.start()
    held.reached()
    good, bad, fine = asked(writer, Slow.step, 1), asked(writer, wrong, 1), asked(writer, Slow.step, 1)
    held.open()
    block.join()
    assert [future.get(timeout=5) for future in good + fine] == [1, 1]
    with pytest.raises(ZeroDivisionError):
        bad[0].get(timeout=5)


def test_a_full_disk_is_told_at_once_until_it_is_not(timed: otpy.System, clock: Any, slow: Slow) -> None:
    slow.gate.open()
    writer = timed.start(Writer, lambda: slow)
    slow.failures = [StoreFullError("f", "full"), StoreFullError("f", "still full")]
    errors = []
    for _ in range(2):
        with pytest.raises(StoreFullError, match="f: full") as caught:
            writer.call(Writer.run, Slow.step)
        errors.append(caught.value)
    assert errors[0] is not errors[1]
    assert len(slow.failures) == 1
    clock.advance(0.1)
    with pytest.raises(StoreFullError, match="still full"):
        writer.call(Writer.run, Slow.step)
    clock.advance(0.2)
    assert writer.call(Writer.run, Slow.step) == 1
    assert writer.call(Writer.run, Slow.step) == 1


def test_the_pauses_of_a_full_disk_grow_no_longer_than_told(timed: otpy.System, clock: Any, slow: Slow) -> None:
    slow.gate.open()
    writer = timed.start(Writer, lambda: slow, bool, 0.05)
    slow.failures = [StoreFullError("f", f"full for the {number}th time") for number in range(9)]
    while slow.failures:
        with pytest.raises(StoreFullError):
            writer.call(Writer.run, Slow.step)
        clock.advance(0.05)
    assert writer.call(Writer.run, Slow.step) == 1


class Ending(Writer):
    @otpy.cast
    def end(self) -> otpy.Stop:
        return otpy.Stop(otpy.Shutdown())


def test_what_was_taken_is_done_before_it_stops(system: otpy.System, tmp_path: Path) -> None:
    new = NewJob(kind="k", queue="q", args=b"", run_at=0)
    writer = system.start(Ending, lambda: SqliteStore(tmp_path / "jobs.db"))
    held = Gate()
    block = threading.Thread(target=lambda: writer.call(Writer.run, lambda _: held.wait()))
    block.start()
    held.reached()
    made = asked(writer, lambda tx: tx.insert([new])[0].how, 3)
    writer.cast(Ending.end)  # before the commit that the first of them asks for
    held.open()
    block.join()
    assert [future.get(timeout=5) for future in made] == ["new"] * 3
    store = SqliteStore(tmp_path / "jobs.db")
    with store.transaction() as tx:
        assert tx.queues()[0].numbers == {"ready": 3}
    store.close()


def test_a_store_that_cannot_be_opened_is_the_failure_of_its_start(system: otpy.System, tmp_path: Path) -> None:
    (tmp_path / "jobs.db").write_text("this is no database, but a text that is long enough to look like something")
    with pytest.raises(otpy.errors.StartError, match="not a database"):
        system.start(Writer, lambda: SqliteStore(tmp_path / "jobs.db"))
    assert issubclass(StoreFullError, StoreError)


class Tree(otpy.Supervisor):
    """A writer as an engine has it: its health outlives it."""

    def init(self, opened: Any, health: Health) -> None:
        self.opened, self.health = opened, health

    def children(self) -> list[otpy.ChildSpec]:
        return [otpy.child(Writer, self.opened, bool, 5.0, self.health).opts(id="writer", name="writer")]


@pytest.mark.parametrize("away", [1, 20])
def test_one_that_is_killed_while_the_store_is_away_lives_until_that_is_back(
    timed: otpy.System, clock: VirtualClock, away: int
) -> None:
    """Started again three times in a moment, it took the whole engine along."""
    store, health = Slow(), Health()
    store.gate.open()
    answers: list[Exception | None] = [None, *[StoreError("jobs.db", "it is away") for _ in range(away)]]

    def opened() -> Any:
        answer = answers.pop(0) if answers else None
        if answer is not None:
            raise answer
        return store

    timed.start_root(otpy.child(Tree, opened, health))
    writer = timed.ref(otpy.name(Writer, "writer"))
    timed.kill("t/Tree/writer")
    timed.wait_idle()
    for _ in range(away - 1):
        clock.advance(5.0)
        with pytest.raises(StoreError, match="it is away"):
            writer.call(Writer.run, Slow.step)
        assert health.outage is not None
    clock.advance(5.0)
    assert writer.call(Writer.run, Slow.step) == 1
    assert writer.call(Writer.changes) == 0
    timed.stop()


def test_one_whose_store_was_never_there_does_not_start(system: otpy.System) -> None:
    def opened() -> Any:
        raise StoreError("jobs.db", "no such folder")

    with pytest.raises(otpy.errors.StartError, match="no such folder"):
        system.start_root(otpy.child(Tree, opened, Health()))


def test_only_a_look_that_asks_the_store_ends_an_outage_of_looks(timed: otpy.System, slow: Slow) -> None:
    """A server is not asked for its changes, and yet they ended the outage: a probe was told that all is well."""
    health, answers = Health(), [StoreError("jobs.db", "it is away"), None]

    def lead(_: str) -> None:
        if (answer := answers.pop(0)) is not None:
            raise answer

    slow.lead = lead  # type: ignore[attr-defined]  # others of these tests ask for none
    writer = timed.start(Writer, lambda: slow, bool, 5.0, health)
    with pytest.raises(StoreError, match="it is away"):
        writer.call(Writer.lead, "jobs")
    assert writer.call(Writer.changes) == 0
    assert health.outage is not None
    assert health.outage.is_failing
    assert writer.call(Writer.lead, "jobs") is None
    assert not health.outage.is_failing


class Held(Slow):
    """A store in which somebody's open transaction has the key `k`."""

    now = 0

    def __init__(self) -> None:
        super().__init__()
        self.gate.open()
        self.is_brief = False
        self.waits: list[bool] = []
        """Of each wait for that key, whether it was brief."""

    @contextmanager
    def transaction(self) -> Iterator[Any]:
        self.is_brief = False
        with super().transaction():
            yield self

    def hurry(self) -> None:
        self.is_brief = True

    def insert(self, news: list[Any]) -> list[Inserted]:
        if any(new.key == "k" for new in news):
            self.waits.append(self.is_brief)
            raise StoreLockedError("jobs.db", "another has it")
        return [Inserted(1) for _ in news]


def test_who_comes_again_for_a_key_that_is_held_holds_up_the_others_but_for_a_moment(
    timed: otpy.System, clock: VirtualClock
) -> None:
    """Three callers that tried again and again let nobody else through, and the leader lost its lead."""
    store = Held()
    writer = timed.start(Writer, lambda: store)
    held, free = Insertion([noted.new(1).opts(key="k")]), Insertion([noted.new(2).opts(key="l")])
    for _ in range(3):
        with pytest.raises(StoreLockedError):
            writer.call(Writer.run, held)
    assert store.waits == [False, True, True]
    (made,) = writer.call(Writer.run, free)
    assert made.is_new
    clock.advance(WARY)
    with pytest.raises(StoreLockedError):
        writer.call(Writer.run, held)
    assert store.waits == [False, True, True, False]
    assert writer.call(Writer.run, Slow.step) == 1
