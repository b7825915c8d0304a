"""`enqueue_in`: jobs that are enqueued with what the caller writes, or not at all."""

from __future__ import annotations

import sqlite3
import sys
from contextlib import closing
from typing import TYPE_CHECKING, Any

import pytest

from otpy.events import StoreExposed
from otpy.jobs.client import of
from otpy.jobs.engine import engine
from otpy.jobs.errors import KeyTakenError, StaleEpochError, StoreBusyError, StoreError, StoreVersionError
from otpy.jobs.inside import enqueue_in
from otpy.jobs.kind import job
from otpy.jobs.model.lead import Fence
from otpy.jobs.store.sqlite import SqliteStore
from otpy.testing import Recorder

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    import otpy

DONE: list[int] = []


@job
def note(number: int) -> None:
    DONE.append(number)


@job(unique=str, on_conflict="raise")
def note_alone(number: int) -> None:
    DONE.append(number)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A file with jobs, and a table of somebody else's."""
    path = tmp_path / "shop.db"
    with closing(SqliteStore(path)):
        pass
    with closing(sqlite3.connect(path)) as db:
        db.execute("create table sale (number integer)")
    return path


def found(path: Path) -> tuple[int, dict[str, int]]:
    """How many sales, and how many jobs in which state."""
    with closing(sqlite3.connect(path)) as db, closing(SqliteStore(path)) as store, store.transaction() as tx:
        numbers = {state: number for look in tx.queues() for state, number in look.numbers.items() if number}
        return db.execute("select count(*) from sale").fetchone()[0], numbers


def test_what_the_caller_writes_can_be_fenced_by_the_epoch_of_a_name(path: Path) -> None:
    mine = Fence(name="billing", epoch=1)
    with closing(SqliteStore(path)) as store, closing(sqlite3.connect(path)) as db:
        with store.transaction() as tx:
            assert tx.elect("names/billing", "us", 3_600_000) == 1
        db.execute("insert into sale values (1)")
        assert enqueue_in(db, under=mine) == []
        (made,) = enqueue_in(db, note.new(1), under=mine)
        assert made.is_new
        db.commit()
        with store.transaction() as tx:
            assert tx.elect("names/billing", "us", 3_600_000) == 2
        with db, pytest.raises(StaleEpochError, match="epoch 1 is over"):
            enqueue_in(db, note.new(2), under=mine)
        db.rollback()
    assert found(path) == (1, {"ready": 1})
    with closing(sqlite3.connect(path.with_name("new.db"))) as db, pytest.raises(StaleEpochError):
        enqueue_in(db, note.new(3), under=mine)


WAYS: dict[str, dict[str, Any]] = {
    "as it comes": {},
    "immediate": {"isolation_level": "IMMEDIATE"},
    "exclusive": {"isolation_level": "EXCLUSIVE"},
    "by hand": {"isolation_level": None},
}
if sys.version_info >= (3, 12):
    WAYS |= {"never alone": {"autocommit": False}, "always": {"autocommit": True}}
BY_HAND = ("by hand", "always")


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("first", ["job", "sale"])
@pytest.mark.parametrize("end", ["commit", "rollback"])
def test_jobs_are_there_with_what_the_caller_writes_or_not_at_all(path: Path, way: str, first: str, end: str) -> None:
    with closing(sqlite3.connect(path, **WAYS[way])) as db:
        if way in BY_HAND:
            db.execute("begin")
        steps: list[Callable[[], object]] = [
            lambda: enqueue_in(db, note.new(1), note.new(2).opts(delay=60.0)),
            lambda: db.execute("insert into sale values (1)"),
        ]
        for step in steps if first == "job" else reversed(steps):
            step()
        assert db.in_transaction
        db.execute(end) if way in BY_HAND else getattr(db, end)()
    assert found(path) == ((1, {"ready": 1, "scheduled": 1}) if end == "commit" else (0, {}))


@pytest.mark.parametrize("way", [way for way in WAYS if way in BY_HAND])
def test_without_a_transaction_it_is_refused(path: Path, way: str) -> None:
    with closing(sqlite3.connect(path, **WAYS[way])) as db, pytest.raises(StoreError, match="no transaction is open"):
        enqueue_in(db, note.new(1))
    assert found(path) == (0, {})


def test_what_it_does_is_undone_alone_when_a_key_is_taken(path: Path) -> None:
    with closing(sqlite3.connect(path)) as db:
        db.execute("insert into sale values (1)")
        first = enqueue_in(db, note.new(1).opts(key="a"))
        assert enqueue_in(db, note.new(1).opts(key="a"))[0].id == first[0].id
        with pytest.raises(KeyTakenError, match="'a' belongs to job 1"):
            enqueue_in(db, note.new(3), note.new(2).opts(key="a"))
        db.commit()
    assert found(path) == (1, {"ready": 1})


def test_of_two_keys_the_one_that_is_taken_is_told(path: Path) -> None:
    with closing(sqlite3.connect(path)) as db:
        enqueue_in(db, note_alone.new(1).opts(key="a"))
        with pytest.raises(KeyTakenError, match=r"job 1 has the unique key .*note_alone:1'"):
            enqueue_in(db, note_alone.new(1).opts(key="b"))


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("end", ["commit", "rollback"])
def test_where_no_engine_has_run_yet_the_tables_come_with_the_first_job(tmp_path: Path, way: str, end: str) -> None:
    """It was refused: who wrote before the first start of the engine had nowhere to enqueue."""
    path = tmp_path / "shop.db"
    with closing(sqlite3.connect(path)) as db:
        db.execute("create table sale (number integer)")
    with closing(sqlite3.connect(path, **WAYS[way])) as db:
        if way in BY_HAND:
            db.execute("begin")
        for _ in range(2):
            enqueue_in(db, note.new(1).opts(key="a"))
        db.execute(end) if way in BY_HAND else getattr(db, end)()
        made = db.execute("select count(*) from sqlite_master where name = 'otpy_job'").fetchone()
    assert made == (end == "commit",)
    assert found(path) == (0, {"ready": 1} if end == "commit" else {})


def test_an_engine_does_what_was_enqueued_before_it_ever_ran(timed: otpy.System, tmp_path: Path) -> None:
    DONE.clear()
    with closing(sqlite3.connect(tmp_path / "jobs.db")) as db:
        enqueue_in(db, note.new(9))
        db.commit()
    timed.start(engine(tmp_path / "jobs.db", [note]))
    timed.wait_idle()
    assert DONE == [9]


def test_the_tables_go_with_the_job_that_cannot_be(tmp_path: Path) -> None:
    with closing(sqlite3.connect(tmp_path / "shop.db")) as db:
        with pytest.raises(KeyTakenError):
            enqueue_in(db, note.new(1).opts(key="a"), note.new(2).opts(key="a"))
        db.commit()
        assert db.execute("select count(*) from sqlite_master").fetchone() == (0,)


def test_what_no_engine_sees_is_refused() -> None:
    with closing(sqlite3.connect(":memory:")) as db, pytest.raises(StoreError, match=":memory:: no engine sees"):
        enqueue_in(db, note.new(1))
    with pytest.raises(TypeError, match=r"takes a sqlite3\.Connection first"):
        enqueue_in(note.new(1))  # type: ignore[arg-type]  # as in haste


@pytest.mark.parametrize("version", [2, 77])
def test_a_file_of_another_version_is_refused(path: Path, version: int) -> None:
    with closing(sqlite3.connect(path)) as db:
        db.execute("insert into otpy_schema values (?)", (version,))
        db.commit()
        with pytest.raises(StoreVersionError, match=f"has version {version}"):
            enqueue_in(db, note.new(1))


def test_how_the_caller_likes_its_rows_does_not_matter(path: Path) -> None:
    with closing(sqlite3.connect(path)) as db:
        db.row_factory = lambda _, row: {"row": row}
        db.text_factory = bytes
        for _ in range(2):
            enqueue_in(db, note.new(1).opts(key="a"))
        db.commit()
        assert db.execute("select 'x'").fetchone() == {"row": (b"x",)}
    assert found(path) == (0, {"ready": 1})


def test_a_file_that_another_program_writes_is_told_as_busy(path: Path) -> None:
    with closing(sqlite3.connect(path, timeout=0.0)) as db, closing(sqlite3.connect(path)) as other:
        other.execute("begin immediate")
        with pytest.raises(StoreBusyError):
            enqueue_in(db, note.new(1))
        other.rollback()
        enqueue_in(db, note.new(1))
        db.commit()
    assert found(path) == (0, {"ready": 1})


def test_the_leader_finds_them_when_it_looks_next(timed: otpy.System, clock: Any, tmp_path: Path) -> None:
    DONE.clear()
    timed.start(engine(tmp_path / "jobs.db", [note], poll=0.2))
    timed.wait_idle()
    with closing(sqlite3.connect(tmp_path / "jobs.db")) as db:
        (made,) = enqueue_in(db, note.new(7))
        clock.advance(0.2)
        assert DONE == []
        db.commit()
    clock.advance(0.2)
    timed.wait_idle()
    assert DONE == [7]
    job = of(timed).get(made.id)
    assert job is not None
    assert job.state == "done"


def test_a_file_that_begins_with_jobs_is_for_its_owner_alone(tmp_path: Path) -> None:
    for name, begun in (("new.db", ""), ("old.db", "create table sale (number integer)")):
        (tmp_path / name).touch()
        (tmp_path / name).chmod(0o644)
        with closing(sqlite3.connect(tmp_path / name)) as db, db:
            db.execute(begun)
            db.commit()
            enqueue_in(db, note.new(1))
    assert [(tmp_path / name).stat().st_mode & 0o777 for name in ("new.db", "old.db")] == [0o600, 0o644]


@pytest.mark.parametrize(("mode", "told"), [(0o600, []), (0o711, []), (0o640, [0o640]), (0o602, [0o602])])
def test_an_engine_warns_of_a_file_that_others_can_read(
    path: Path, timed: otpy.System, quiet: None, mode: int, told: list[int]
) -> None:
    path.chmod(mode)
    with Recorder(timed) as recorder:
        timed.start(engine(path, [note]))
        timed.wait_idle()
    exposed = recorder.of(StoreExposed)
    assert [one.mode for one in exposed] == told
    assert all(f"{path} (mode {mode:04o})" in str(one) and "chmod 600" in str(one) for one in exposed)
    assert path.stat().st_mode & 0o777 == mode
