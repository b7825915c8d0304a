"""What a commit has made possible, and who is told."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

import otpy
from otpy.core.spec import Name
from otpy.jobs.herald import Herald
from otpy.jobs.model.claim import Ask, Settled
from otpy.jobs.model.lead import Fence
from otpy.jobs.model.new import NewJob
from otpy.jobs.model.news import News
from otpy.jobs.store.sqlite import SqliteStore
from otpy.runtime.request import cast
from otpy.testing import Probe

if TYPE_CHECKING:
    from collections.abc import Iterator

NOTHING = News(frozenset(), None)


@pytest.fixture
def store() -> Iterator[SqliteStore]:
    made = SqliteStore(":memory:", now=lambda: 1_000)
    yield made
    made.close()


@pytest.fixture
def running(store: SqliteStore) -> tuple[int, int]:
    """A job of the queue `q` that runs: its number and its token."""
    fence = elected(store)
    with store.transaction() as tx:
        tx.insert([new()])
        job = (tx.claim([Ask(queues=("q",), owners=("a",), lease_ms=9_000)], fence) or [])[0]
    return job.id, job.token


def new(**words: Any) -> NewJob:
    return NewJob(**{"kind": "k", "queue": "q", "args": b"", "run_at": 0, **words})


def elected(store: SqliteStore) -> Fence:
    with store.transaction() as tx:
        return Fence(name="jobs", epoch=tx.elect("jobs", "us", 60_000) or 0)


@pytest.mark.parametrize(
    ("words", "news"),
    [
        ({}, News({"q"}, None)),
        ({"run_at": 3_000}, News(frozenset(), 3_000)),
        ({"deadline_at": 2_000}, News({"q"}, 2_000)),
        ({"run_at": 3_000, "deadline_at": 2_000}, News(frozenset(), 2_000)),
    ],
)
def test_of_a_new_job_it_is_its_queue_or_its_time(store: SqliteStore, words: Any, news: News) -> None:
    with store.transaction() as tx:
        tx.insert([new(**words)])
        assert tx.news[:2] == news[:2]


@pytest.mark.parametrize(
    ("state", "run_at", "news"),
    [
        ("done", None, NOTHING),
        ("ready", 1_000, News({"q"}, None)),
        ("scheduled", 2_000, News(frozenset(), 2_000)),
    ],
)
def test_of_an_attempt_it_is_what_it_led_to(
    store: SqliteStore, running: tuple[int, int], state: Any, run_at: int | None, news: News
) -> None:
    with store.transaction() as tx:
        tx.settle([Settled(id=running[0], token=running[1], state=state, run_at=run_at)])
        assert tx.news[:2] == news[:2]


def test_of_a_key_that_is_taken_it_is_nothing(store: SqliteStore) -> None:
    with store.transaction() as tx:
        tx.insert([new(key="a")])
    with store.transaction() as tx:
        tx.insert([new(key="a", deadline_at=2_000)])
        assert tx.news[:2] == NOTHING[:2]


def test_of_a_queue_that_is_resumed_it_is_its_name(store: SqliteStore) -> None:
    with store.transaction() as tx:
        tx.resume("q")
        assert tx.news[:2] == ({"q"}, None)


def test_of_a_time_it_is_told_once_unless_an_earlier_one_comes(store: SqliteStore) -> None:
    told = []
    for at in (5_000, 6_000, 4_000, 4_000):
        with store.transaction() as tx:
            tx.insert([new(run_at=at)])
            told.append(tx.news.due)
    assert told == [5_000, None, 4_000, None]


def test_who_looks_when_the_next_one_is_due_knows_of_no_other(store: SqliteStore) -> None:
    with store.transaction() as tx:
        job = tx.insert([new(run_at=3_000)])[0].id
    with store.transaction() as tx:
        tx.cancel([job], "not wanted")
        assert tx.due() is None
    with store.transaction() as tx:
        tx.insert([new(run_at=4_000)])
        assert tx.news.due == 4_000


def test_a_time_that_was_not_kept_hides_no_later_one(store: SqliteStore) -> None:
    with pytest.raises(ZeroDivisionError), store.transaction() as tx:
        tx.insert([new(run_at=3_000)])
        raise ZeroDivisionError
    with store.transaction() as tx:
        tx.insert([new(run_at=4_000)])
        assert tx.news.due == 4_000


class Hears(otpy.GenServer):
    def init(self, probe: Probe) -> None:
        self.probe = probe

    def handle_info(self, message: object) -> None:
        self.probe.ref.tell(message)


class HearsHope(Hears):
    @cast
    def hope(self, queues: set[str]) -> None:
        self.probe.ref.tell(("hope", queues))


def test_the_scheduler_hears_of_queues_and_the_janitor_of_times(
    system: otpy.System, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("otpy.jobs.scheduler.scheduler.Scheduler.hope", HearsHope.hope)
    probe = Probe(system)
    for cls, name in ((HearsHope, "scheduler"), (Hears, "janitor")):
        system.start(otpy.child(cls, probe).opts(id=name, name=Name(f"jobs/{name}", cls)))
    herald = Herald(system, "jobs")
    for news in (News({"a", "b"}, None), NOTHING, News(frozenset(), 5)):
        herald(news)
    system.wait_idle()
    assert probe.messages == [("hope", {"a", "b"}), ("due", 5)]


def test_where_nobody_has_the_duties_nobody_is_told(system: otpy.System) -> None:
    letters: list[object] = []
    system.events.attach(letters.append, otpy.events.DeadLetter)
    Herald(system, "jobs")(News({"a"}, 5))
    assert letters == []
