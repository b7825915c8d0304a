"""The file of an outbox: one program has it, a full or failing disk, damage, forks, growth."""

from __future__ import annotations

import errno
import os
import sqlite3
import stat
import sys
import threading
from contextlib import closing
from typing import TYPE_CHECKING, Any

import pytest

import otpy
from otpy.errors import CallError, NameTakenError, NoProcError, StartError
from otpy.events import OutboxDropped, OutboxSetAside, StoreFailed, StoreRecovered
from otpy.resilience import OutboxFileError, Topic
from otpy.resilience.outbox.file import OutboxFile
from otpy.testing import Recorder, VirtualSystem
from support.forked import run
from support.forks import in_a_child
from support.outboxes import Hub, kept, outbox, values

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "o.db"


@pytest.fixture
def hub(tmp_path: Path) -> Hub:
    return Hub(tmp_path / "hub.db", "down")


@pytest.fixture
def system() -> Iterator[VirtualSystem]:
    made = VirtualSystem("test", seed=1)
    yield made
    made.stop()


def opened(path: Path, patience: float = 0.05) -> closing[OutboxFile]:
    return closing(OutboxFile(str(path), patience=patience))


# Whose it is.


@pytest.mark.report("J65", "rails/solid_queue#324")
def test_two_programs_on_one_file_are_refused(path: Path) -> None:
    script = """if 1:
        import sys
        from otpy.resilience import OutboxFileError
        from otpy.resilience.outbox.file import OutboxFile
        try:
            OutboxFile(sys.argv[1], patience=0.05)
        except OutboxFileError as error:
            print(error.failure, error.problem)
    """
    with opened(path):
        done = run([sys.executable, "-c", script, path], text=True, check=True)
    assert done.stdout == "busy another program, or another outbox of this one, has it open\n"


def test_a_second_outbox_of_the_same_program_is_refused_until_the_first_is_gone(
    system: VirtualSystem, path: Path, hub: Hub, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(OutboxFile.__init__, "__kwdefaults__", {"profile": "full", "patience": 0.05})
    first, second = outbox(path, hub.post), otpy.resilience.Outbox("b", path, senders=[hub.post], topics=["t"])
    kept(system, first)
    with pytest.raises(StartError, match="has it open"):
        system.start(second.child())
    system.stop()
    other = VirtualSystem("other", seed=1)
    other.start(second.child())
    assert second.put("t", 1) == 1
    other.stop()


def test_one_outbox_cannot_be_in_two_trees(system: VirtualSystem, path: Path, hub: Hub) -> None:
    one = kept(system, outbox(path, hub.post))
    with pytest.raises(NameTakenError):
        one.keep(system.start(otpy.child(_Nobody)), 0)  # type: ignore[arg-type]  # another actor


class _Nobody(otpy.GenServer):
    """Somebody else."""


def test_a_keeper_that_is_killed_lets_the_next_one_go_on(system: VirtualSystem, path: Path, hub: Hub) -> None:
    one = kept(system, outbox(path, hub.post))
    for number in range(5):
        one.put("t", number)
    system.kill("test/readings/outbox")
    system.wait_idle()
    one.put("t", 5)
    hub.mood = "well"
    system.clock.advance(200.0)
    assert [value for _, value in hub.rows()] == list(range(6))
    assert len({batch.incarnation for batch in hub.batches}) == 2


def test_its_files_are_for_their_owner_alone(system: VirtualSystem, path: Path, hub: Hub) -> None:
    kept(system, outbox(path, hub.post)).put("t", 1)
    modes = {stat.S_IMODE(file.stat().st_mode) for file in path.parent.glob("o.db*")}
    assert modes == {0o600}


# Forks.


@pytest.mark.report("J65", "rails/solid_queue#324")
def test_a_fork_has_nothing_of_it(path: Path, tmp_path: Path) -> None:
    hub = Hub(tmp_path / "hub.db", "down")
    system = otpy.System("forks")
    one = kept(system, outbox(path, hub.post))
    one.put("t", 1)

    def deed() -> bool:
        try:
            one.put("t", 2)
        except NoProcError:
            return True
        return False

    try:
        assert in_a_child(deed) == 0
        one.put("t", 3)
    finally:
        system.stop()
    assert values(one) == [1, 3]


@pytest.mark.report("J65", "rails/solid_queue#324")
def test_a_connection_is_not_carried_over_a_fork(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with opened(path) as one:
        parent = os.getpid()
        with monkeypatch.context() as patch:
            patch.setattr(os, "getpid", lambda: parent + 1)
            with pytest.raises(OutboxFileError, match="opened before a fork"), one.transaction():
                pass
            one.close()
        with one.transaction() as tables:
            tables.write_clock(1)


# Disks.


def small(patch: pytest.MonkeyPatch, pages: int) -> None:
    """The disk has room for a file of so many pages."""
    connect = OutboxFile._connect

    def connected(self: OutboxFile) -> sqlite3.Connection:
        db = connect(self)
        db.execute(f"pragma max_page_count = {pages}")
        return db

    patch.setattr(OutboxFile, "_connect", connected)


def test_a_disk_that_is_full_refuses_what_is_new_and_goes_on_sending(
    system: VirtualSystem, path: Path, hub: Hub, monkeypatch: pytest.MonkeyPatch
) -> None:
    small(monkeypatch, 20)
    one = kept(system, outbox(path, hub.post))
    put = 0
    with Recorder(system, StoreFailed, StoreRecovered) as recorded:
        with pytest.raises(OutboxFileError, match="the disk is full"):
            while put < 100:
                one.put("t", b"x" * 800)
                put += 1
        assert one.look().rows == put > 10
        assert str(one.look().why).startswith("the disk is full")
        hub.mood = "well"
        system.clock.advance(200.0)
        assert (len(hub.rows()), one.look().rows) == (put, 0)
        one.put("t", 1)
    assert one.look().why is None
    assert [len(recorded.of(event)) for event in (StoreFailed, StoreRecovered)] == [1, 1]


def test_what_cannot_be_deleted_is_not_sent_again_and_goes_when_it_can(
    system: VirtualSystem, path: Path, hub: Hub, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A disk so full that not even a deletion has room for its log."""
    one = kept(system, outbox(path, hub.post))
    for number in range(30):
        one.put("t", number)
    with monkeypatch.context() as patch:
        patch.setattr("otpy.resilience.outbox.tables.Tables.remove", full)
        hub.mood = "well"
        system.clock.advance(200.0)
        calls = hub.calls
        system.clock.advance(200.0)
        assert hub.calls == calls
        assert one.look().rows == 30
    system.clock.advance(2.0)
    assert (one.look().rows, hub.calls) == (0, calls)
    assert [value for _, value in hub.rows()] == list(range(30))


def test_what_a_full_disk_has_kept_from_being_deleted_is_taken_for_seen_by_the_receiver(
    path: Path, hub: Hub, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The program ends before the disk has room again: all of it is sent a second time, and counted once."""
    first = VirtualSystem("first", seed=1)
    one = kept(first, outbox(path, hub.post))
    for number in range(5):
        one.put("t", number)
    with monkeypatch.context() as patch:
        patch.setattr("otpy.resilience.outbox.tables.Tables.remove", full)
        hub.mood = "well"
        first.clock.advance(100.0)
        assert len(hub.rows()) == 5
        first.stop()
    second = VirtualSystem("second", seed=1)
    calls = hub.calls
    kept(second, outbox(path, hub.post))
    second.clock.advance(100.0)
    second.stop()
    assert hub.calls == calls + 1
    assert [value for _, value in hub.rows()] == list(range(5))


def full(*_: object) -> None:
    error = sqlite3.OperationalError("database or disk is full")
    error.sqlite_errorname = "SQLITE_FULL"
    raise error


@pytest.mark.parametrize("code", ["SQLITE_FULL", "SQLITE_IOERR_FSYNC", "SQLITE_READONLY"])
def test_a_commit_that_fails_fails_for_all_in_it_and_the_next_may_do(
    system: VirtualSystem, path: Path, hub: Hub, monkeypatch: pytest.MonkeyPatch, code: str
) -> None:
    one = kept(system, outbox(path, hub.post, topics=[Topic("t", rows=3)]))
    one.put("t", 0)

    def fail(*_: object) -> None:
        error = sqlite3.OperationalError("no")
        error.sqlite_errorname = code
        raise error

    with monkeypatch.context() as patch:
        patch.setattr("otpy.resilience.outbox.tables.Tables.insert", fail)
        for _ in range(5):
            with pytest.raises(OutboxFileError, match=code):
                one.put("t", 99)
    assert one.look().rows == 1
    one.put("t", 1)
    one.put("t", 2)
    system.stop()
    assert values(one) == [0, 1, 2]


def test_a_file_that_cannot_be_read_ends_nothing_and_is_tried_again(
    system: VirtualSystem, path: Path, hub: Hub, monkeypatch: pytest.MonkeyPatch
) -> None:
    one = kept(system, outbox(path, hub.post))
    hub.mood = "well"

    def fail(*_: object) -> None:
        error = sqlite3.DatabaseError("database disk image is malformed")
        error.sqlite_errorname = "SQLITE_CORRUPT"
        raise error

    with monkeypatch.context() as patch, Recorder(system, StoreFailed) as recorded:
        patch.setattr("otpy.resilience.outbox.tables.Tables.take", fail)
        one.put("t", 1)
        system.clock.advance(100.0)
    assert len(recorded.of(StoreFailed)) == 1
    assert str(system.record("test/readings/outbox").trouble).startswith("it keeps nothing new: the file is damaged")
    assert system.record("test/readings/outbox").restarts == 0
    system.clock.advance(60.0)
    assert hub.rows() == [("", 1)]
    assert system.record("test/readings/outbox").trouble is None


def test_what_returned_before_a_stop_is_in_the_file(path: Path, hub: Hub) -> None:
    """Some of them are refused in the middle of it; those that were not are there."""
    system = otpy.System("stops")
    one = kept(system, outbox(path, hub.post))
    returned: list[int] = []

    def produce(first: int) -> None:
        try:
            for number in range(first, first + 100_000):
                one.put("t", number)
                returned.append(number)
        except CallError:
            pass

    threads = [threading.Thread(target=produce, args=(first * 1_000_000,)) for first in range(4)]
    for thread in threads:
        thread.start()
    one.put("t", -1)
    system.stop()
    for thread in threads:
        thread.join()
    assert set(returned) | {-1} <= set(values(one))


def test_a_place_that_cannot_be_written_fails_the_start_with_a_sentence(
    system: VirtualSystem, tmp_path: Path, hub: Hub
) -> None:
    with pytest.raises(StartError, match=os.strerror(errno.ENOENT)):
        system.start(outbox(tmp_path / "nowhere" / "o.db", hub.post).child())


# Damage.


def spoilt(path: Path, hub: Hub) -> None:
    """Fill a file, and write over pages of it."""
    system = VirtualSystem("spoils", seed=1)
    one = kept(system, outbox(path, hub.post))
    for number in range(200):
        one.put("t", b"x" * 900 + bytes([number]))
    system.stop()
    data = bytearray(path.read_bytes())
    for page in range(3, len(data) // 4096, 2):
        data[page * 4096 : page * 4096 + 100] = b"\xa5" * 100
    path.write_bytes(data)


def garbage(path: Path, _: Hub) -> None:
    path.write_bytes(b"what is this? " * 1_000)


@pytest.mark.parametrize("spoil", [spoilt, garbage])
def test_a_damaged_file_fails_the_start(system: VirtualSystem, path: Path, hub: Hub, spoil: Any) -> None:
    spoil(path, hub)
    with pytest.raises(StartError, match=r"damaged|something else"):
        system.start(outbox(path, hub.post).child())


@pytest.mark.parametrize("spoil", [spoilt, garbage])
def test_a_damaged_file_is_set_aside_where_nobody_looks_after_it(
    system: VirtualSystem, path: Path, hub: Hub, spoil: Any
) -> None:
    spoil(path, hub)
    before = path.read_bytes()
    with Recorder(system, OutboxSetAside) as recorded:
        one = kept(system, outbox(path, hub.post, damaged="set_aside"))
    one.put("t", 1)
    (event,) = recorded.of(OutboxSetAside)
    assert event.aside == f"{path}.damaged-1"
    assert path.with_name("o.db.damaged-1").read_bytes()[100:] == before[100:]
    system.stop()
    assert values(one) == [1]


def test_rows_that_are_garbage_are_dropped_and_the_others_sent(path: Path, hub: Hub) -> None:
    first = VirtualSystem("first", seed=1)
    one = kept(first, outbox(path, hub.post))
    for number in range(6):
        one.put("t", number)
    first.stop()
    with closing(sqlite3.connect(path)) as db:
        db.execute("update otpy_outbox set payload = 'text' where sequence = 2")
        db.execute("update otpy_outbox set key = x'00ff' where sequence = 3")
        db.execute("update otpy_outbox set created = 'yesterday' where sequence = 5")
        db.commit()
    second = VirtualSystem("second", seed=1)
    one = kept(second, outbox(path, hub.post))
    hub.mood = "well"
    with Recorder(second, OutboxDropped):
        second.clock.advance(60.0)
    second.stop()
    assert [value for _, value in hub.rows()] == [0, 3, 5]
    assert one.look().dropped == {"damaged": 3}


def test_a_file_of_a_newer_otpy_is_refused(system: VirtualSystem, path: Path, hub: Hub) -> None:
    with opened(path) as one, one.transaction():
        one._db.execute("update otpy_outbox_note set value = 99 where name = 'version'")
    with pytest.raises(StartError, match="version 99"):
        system.start(outbox(path, hub.post).child())


def test_a_file_that_was_lost_or_brought_back_from_a_copy_loses_nothing_new(
    path: Path, tmp_path: Path, hub: Hub
) -> None:
    """Its numbers begin again: the receiver must not take them for those it has seen."""
    hub.mood = "well"
    copy = tmp_path / "copy.db"
    for number, before in enumerate(["nothing", "lost", "copied", "lost"]):
        if before == "lost":
            path.unlink()
        if before == "copied":
            path.write_bytes(copy.read_bytes())
        system = VirtualSystem("test", seed=1)
        one = kept(system, outbox(path, hub.post))
        for each in range(3):
            one.put("t", number * 10 + each)
        one.flush()
        system.stop()
        copy.write_bytes(path.read_bytes())
    assert [value for _, value in hub.rows()] == [0, 1, 2, 10, 11, 12, 20, 21, 22, 30, 31, 32]


# Growth.


@pytest.mark.report("J64", "peter-wangxu/persist-queue#84")
def test_the_file_does_not_grow_with_what_went_through(system: VirtualSystem, path: Path, hub: Hub) -> None:
    one = kept(system, outbox(path, hub.post, profile="fast"))
    hub.mood = "well"
    sizes = []
    for _ in range(25):
        for number in range(20):
            one.put("t", b"x" * 500 + bytes([number]))
        one.flush()
        sizes.append(path.stat().st_size + path.with_name("o.db-wal").stat().st_size)
    with closing(sqlite3.connect(path)) as db:
        assert db.execute("select count(*) from otpy_outbox").fetchone() == (0,)
        assert db.execute("pragma page_count").fetchone()[0] < 60
    assert sizes[-1] < 5_000_000


def test_what_a_long_outage_has_taken_is_given_back(system: VirtualSystem, path: Path, hub: Hub) -> None:
    one = kept(system, outbox(path, hub.post, profile="fast", batch=20))
    for _ in range(400):
        one.put("t", b"x" * 3_000)
    with closing(sqlite3.connect(path)) as db:
        before = db.execute("pragma page_count").fetchone()[0]
    hub.mood = "well"
    system.clock.advance(200.0)
    assert one.look().rows == 0
    with closing(sqlite3.connect(path)) as db:
        assert db.execute("pragma page_count").fetchone()[0] < before - 50
