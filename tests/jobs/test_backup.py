"""A copy of the store, made while others write."""

from __future__ import annotations

import os
import sqlite3
import stat
import threading
from contextlib import closing
from typing import TYPE_CHECKING, Any

import pytest

from otpy import jobs
from otpy.jobs.errors import BackupError
from otpy.jobs.store.sqlite import SqliteStore, backup
from otpy.jobs.store.sqlite.readers import SqliteReaders
from otpy.testing import Gate

if TYPE_CHECKING:
    from pathlib import Path

    import otpy


def double(number: int) -> int:
    return number * 2


DOUBLE: Any = jobs.job(double)


@pytest.fixture
def client(timed: otpy.System, tmp_path: Path, quiet: None) -> jobs.Client:
    timed.start(jobs.engine(tmp_path / "jobs.db", [DOUBLE]))
    made = jobs.of(timed)
    made.enqueue_all([DOUBLE.new(number) for number in range(500)])
    timed.wait_idle()
    return made


def numbers(path: Path) -> dict[str, int]:
    with closing(SqliteStore(path)) as store, store.transaction() as tx:
        return {state: number for state, number in tx.queues()[0].numbers.items() if number}


def test_it_shows_one_moment_and_who_writes_goes_on(
    client: jobs.Client, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Held up after its first page, while more jobs are enqueued and done."""
    to = tmp_path / "copy.db"
    monkeypatch.setattr(backup, "PAGES", 1)
    steps: list[int] = []
    with Gate() as gate:

        def hold(status: int, remaining: int, total: int) -> None:
            steps.append(remaining)
            if len(steps) == 1:
                gate.wait()

        class Held(sqlite3.Connection):
            def backup(self, target: sqlite3.Connection, **words: Any) -> None:
                super().backup(target, progress=hold, **words)

        monkeypatch.setattr(
            SqliteReaders,
            "_take",
            lambda _: sqlite3.connect(
                tmp_path / "jobs.db", factory=Held, isolation_level=None, check_same_thread=False
            ),
        )
        copying = threading.Thread(target=client.backup, args=(to,))
        copying.start()
        gate.reached()
        client.enqueue_all([DOUBLE.new(number).opts(delay=60.0) for number in range(200)])
        gate.open()
        copying.join()
    assert steps == sorted(steps, reverse=True), "it never began anew"
    assert len(steps) > 10
    assert numbers(to) == {"done": 500}
    assert client.queues()[0].numbers["scheduled"] == 200


def test_it_is_one_file_for_its_owner_alone(client: jobs.Client, tmp_path: Path) -> None:
    folder = tmp_path / "copies"
    folder.mkdir()
    size = client.backup(folder / "copy.db")
    assert [one.name for one in folder.iterdir()] == ["copy.db"]
    assert (folder / "copy.db").stat().st_size == size
    assert stat.S_IMODE((folder / "copy.db").stat().st_mode) == 0o600


def test_no_file_is_overwritten(client: jobs.Client, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    to = tmp_path / "copy.db"
    to.write_text("mine")
    with pytest.raises(BackupError, match="there is a file of that name, and none is overwritten"):
        client.backup(to)
    assert to.read_text() == "mine"
    late, link = tmp_path / "late.db", os.link

    def faster(part: Any, name: Path) -> None:
        name.write_text("theirs")
        link(part, name)

    monkeypatch.setattr(os, "link", faster)
    with pytest.raises(BackupError, match="by now"):
        client.backup(late)
    assert late.read_text() == "theirs"
    assert [one.name for one in tmp_path.iterdir() if one.name.startswith(".")] == []


def test_a_place_that_cannot_be_written_is_told(client: jobs.Client, tmp_path: Path) -> None:
    with pytest.raises(BackupError, match=r"none/copy.db: no backup: there is no folder .*none$"):
        client.backup(tmp_path / "none" / "copy.db")


@pytest.mark.parametrize("name", ["\0", "\udcff\0", "a" * 300])
def test_what_can_be_no_name_of_a_file_is_told(client: jobs.Client, tmp_path: Path, name: str) -> None:
    with pytest.raises(BackupError, match=r"null|too long"):
        client.backup(tmp_path / name)


def test_nothing_is_left_of_a_copy_that_fails(
    client: jobs.Client, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = {one.name for one in tmp_path.iterdir()}

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(backup, "sync", full)
    with pytest.raises(BackupError, match="No space left"):
        client.backup(tmp_path / "copy.db")
    assert {one.name for one in tmp_path.iterdir()} == before
    assert client.get(1) is not None


def test_a_store_in_memory_has_no_file_to_copy(timed: otpy.System, tmp_path: Path) -> None:
    timed.start(jobs.engine(":memory:", [DOUBLE]))
    timed.wait_idle()
    assert jobs.of(timed).find() == []
    with pytest.raises(BackupError, match="there is no file to copy"):
        jobs.of(timed).backup(tmp_path / "copy.db")
