"""How it stands with the store is told once and seen by anybody, and looks go on whatever writes."""

from __future__ import annotations

import logging
import threading
from contextlib import ExitStack, closing
from typing import TYPE_CHECKING, Any

import pytest

from otpy import jobs
from otpy.core.clock import wall_clock
from otpy.events import StaleWrite, StoreFailed, StoreRecovered
from otpy.jobs.engine import Engine
from otpy.jobs.errors import ArgumentsError, StoreError, StoreFullError
from otpy.jobs.model.claim import Settled
from otpy.jobs.model.look import Look
from otpy.jobs.model.news import Stale
from otpy.jobs.store.sql import looks
from otpy.jobs.store.sqlite import SqliteStore
from otpy.jobs.store.sqlite.readers import SqliteReaders
from otpy.testing import Gate, Recorder
from support.forks import in_a_child

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    import otpy
    from otpy.testing import VirtualClock


def nothing(_: str = "") -> None:
    """Is done at once."""


NOTHING: Any = jobs.job(nothing)
LARGE = "x" * 100_000


@pytest.fixture
def client(timed: otpy.System, tmp_path: Path, quiet: None) -> jobs.Client:
    timed.start(jobs.engine(tmp_path / "jobs.db", [NOTHING]))
    timed.wait_idle()
    return jobs.of(timed)


def limit_pages(client: jobs.Client, spare: int) -> None:
    """Have the file grow by so many pages and no more, as on a full disk."""

    def limit(tx: Any) -> None:
        (pages,) = tx._db.execute("pragma page_count").fetchone()
        tx._db.execute(f"pragma max_page_count = {pages + spare}")

    client._run(limit)


@pytest.mark.report("J14", "celery/celery#8030")
def test_a_full_disk_is_told_once_and_so_is_its_end(
    timed: otpy.System, clock: VirtualClock, client: jobs.Client, tmp_path: Path
) -> None:
    """Small writes, as those of who leads, still find room, and end nothing."""
    kept = client.enqueue(NOTHING.new())
    timed.wait_idle()
    limit_pages(client, 3)
    with Recorder(timed) as told:
        for _ in range(5):
            with pytest.raises(StoreFullError):
                client.enqueue(NOTHING.new(LARGE))
        seen, writer = client.store(), timed.names["jobs/writer"].kind
        for _ in range(4):
            clock.advance(4.0)
            client.pause("other")
            assert client.store().problem is None
            with pytest.raises(StoreFullError):
                client.enqueue(NOTHING.new(LARGE))
        clock.advance(1.0)
        limit_pages(client, 1_000)
        clock.advance(6.0)
        client.enqueue(NOTHING.new(LARGE))
    (failed,), (recovered,) = told.of(StoreFailed), told.of(StoreRecovered)
    assert (failed.store, failed.error, failed.level) == (str(tmp_path / "jobs.db"), "StoreFullError", logging.ERROR)
    assert str(failed) == f"t/jobs/writer: {failed.store} keeps nothing any more: {failed.problem}"
    assert (seen.problem, seen.since, seen.path) == (failed.problem, 0.0, failed.store)
    assert writer.startswith("Writer without its store: the disk is full")
    assert recovered.seconds == 16.0
    assert recovered.refused >= 9
    assert client.store() == jobs.StoreLook(path=failed.store)
    assert client.get(kept.id) is not None


def test_a_write_about_an_attempt_that_is_over_is_counted_and_told(
    timed: otpy.System, tmp_path: Path, quiet: None
) -> None:
    with Gate() as gate:

        def hold() -> None:
            gate.wait()

        kind: Any = jobs.job(timeout=None)(hold)
        timed.start(jobs.engine(tmp_path / "jobs.db", [kind]))
        client = jobs.of(timed)
        made = client.enqueue(kind.new())
        gate.reached()
        client._run(lambda tx: tx._db.execute("update otpy_job set token = token + 1"))  # another has it now
        with Recorder(timed, StaleWrite) as told:
            gate.open()
            timed.wait_idle()
    (event,) = told.of(StaleWrite)
    assert (event.job, event.token, event.what) == (made.id, 1, "end")
    assert "job 1: the end of an attempt that was over, token 1, is dropped" in str(event)
    assert client.store().stale == 1


def test_nothing_is_late_of_an_attempt_that_has_ended_its_job_by_itself(
    timed: otpy.System, tmp_path: Path, quiet: None
) -> None:
    """A job that is acknowledged early is done when it begins."""
    early: Any = jobs.job(early_ack=True)(nothing)
    timed.start(jobs.engine(tmp_path / "jobs.db", [early]))
    made = jobs.of(timed).enqueue(early.new())
    timed.wait_idle()
    found = jobs.of(timed).get(made.id)
    assert found is not None
    assert (found.state, jobs.of(timed).store().stale) == ("done", 0)


def test_a_store_names_what_it_has_refused(tmp_path: Path) -> None:
    with closing(SqliteStore(tmp_path / "jobs.db")) as store, store.transaction() as tx:
        ended = Settled(id=7, token=2, state="done")
        assert tx.settle([ended]) == [False]
        assert tx.settle([ended], is_again=True) == [False]
        assert tx.note(7, 2, b"1", None) is False
        assert tx.begin_once(7, 2, "a").how == "stale"
        assert tx.keep_once(7, 2, "a", b"") is False
        assert [one.what for one in tx.news.stale] == ["end", "note", "once", "once"]
        assert tx.news.stale[0] == Stale(7, 2, "end")


def test_an_enqueue_commits_while_a_long_look_is_under_way(
    client: jobs.Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All looks were in the writer's thread, and in its transactions."""
    found: list[int] = []
    with Gate() as gate:
        first = client.enqueue(NOTHING.new().opts(delay=60.0))
        find = looks.find

        def slow(*args: Any) -> Any:
            seen = find(*args)
            gate.wait()
            return seen + find(*args)

        monkeypatch.setattr(looks, "find", slow)
        look = threading.Thread(target=lambda: found.extend(job.id for job in client.find()))
        look.start()
        gate.reached()
        second = client.enqueue(NOTHING.new().opts(delay=60.0))
        assert client.get(second.id) is not None
        assert client.queues()[0].numbers["scheduled"] == 2
        gate.open()
        look.join()
    assert found == [first.id, first.id], "and a look sees one moment alone"


def test_who_waits_asks_nothing_of_the_writer(timed: otpy.System, client: jobs.Client) -> None:
    made = client.enqueue(NOTHING.new())
    timed.wait_idle()
    with Gate() as gate:
        block = threading.Thread(target=lambda: client._run(lambda _: gate.wait()))
        block.start()
        gate.reached()
        assert client.wait(made.id, timeout=20.0).state == "done"
        gate.open()
        block.join()


def test_who_looks_before_the_engine_has_begun_is_told_so(
    system: otpy.System, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It had its name, and no setup: an AttributeError came of that."""
    client, init = jobs.of(system), Engine.init
    with Gate() as gate:

        def slow(engine: Engine, setup: Any) -> None:
            gate.wait()
            init(engine, setup)

        monkeypatch.setattr(Engine, "init", slow)
        start = threading.Thread(target=lambda: system.start(jobs.engine(tmp_path / "jobs.db", [NOTHING])))
        start.start()
        gate.reached()
        assert "jobs/engine" in system.names
        for look in (client.store, client.crews):
            with pytest.raises(jobs.NoEngineError):
                look()
        gate.open()
        start.join()
    assert client.store().problem is None


@pytest.fixture
def readers(tmp_path: Path) -> Iterator[SqliteReaders]:
    """Of a file that is open to write."""
    with closing(SqliteStore(tmp_path / "jobs.db")), closing(readers_of(tmp_path / "jobs.db")) as made:
        yield made


def readers_of(path: Path) -> SqliteReaders:
    made = SqliteReaders(str(path), wall_clock, 1.0)
    made.is_open = True
    return made


def test_a_look_can_write_nothing(readers: SqliteReaders) -> None:
    with pytest.raises(StoreError, match="it may not be written"), readers.look() as tx:
        tx.pause("mail")
    with readers.look() as tx:
        assert tx.paused() == {}


def test_a_look_for_what_cannot_be_is_the_fault_of_who_looks(readers: SqliteReaders) -> None:
    with pytest.raises(ArgumentsError), readers.look() as tx:
        tx.find(Look(queue="\ud800"))


def test_a_look_at_a_file_that_is_not_there_is_told(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="it cannot be opened"), readers_of(tmp_path / "none.db").look():
        pass
    assert list(tmp_path.iterdir()) == []


def test_a_forked_child_looks_by_itself(readers: SqliteReaders) -> None:
    with readers.look():
        pass
    parents = list(readers._idle)

    def child() -> bool:
        with readers.look() as tx:
            return tx.find(Look()) == [] and list(readers._left) == parents

    assert in_a_child(child) == 0


def test_many_looks_at_once_leave_few_connections(readers: SqliteReaders) -> None:
    with ExitStack() as stack:
        for _ in range(9):
            stack.enter_context(readers.look())
    assert len(readers._idle) == 4
    with readers.look():
        readers.close()
    assert len(readers._idle) == 0
