"""The file of the SQLite store: rights, versions, other programs, damage, a full disk."""

from __future__ import annotations

import os
import resource
import sqlite3
import stat
import subprocess
import sys
import threading
from contextlib import closing, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from otpy.disk import sqlite
from otpy.disk.files import FileLock, make_file
from otpy.jobs.errors import StoreBrokenError, StoreBusyError, StoreError, StoreFullError, StoreVersionError
from otpy.jobs.store.sqlite import SqliteStore, store, versions
from support.forked import Forked

from .conftest import Clock
from .shop import claim, get, insert, lead, new, numbers, settle

if TYPE_CHECKING:
    from collections.abc import Iterator

NOW = Clock()


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "jobs.db"


def opened(path: Path, **options: object) -> closing[SqliteStore]:
    return closing(SqliteStore(path, now=NOW, **options))  # type: ignore[arg-type]  # as they come


# Rights.


@pytest.mark.parametrize("umask", [0o000, 0o077, 0o277])
def test_its_files_are_for_their_owner_alone_whatever_the_umask(path: Path, umask: int) -> None:
    before = os.umask(umask)
    try:
        with opened(path) as one:
            insert(one, new())
            modes = {file.name: stat.S_IMODE(file.stat().st_mode) for file in path.parent.iterdir()}
    finally:
        os.umask(before)
    assert modes == dict.fromkeys(["jobs.db", "jobs.db-wal", "jobs.db-shm", "jobs.db-open"], 0o600)


def test_a_file_that_is_there_is_not_opened_beside_sqlite(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """To close it would let go of the locks of every connection that this process has to it."""
    with opened(path):
        held: list[int] = []
        monkeypatch.setattr(os, "close", held.append)
        make_file(path)
        assert held == []


def test_a_place_that_cannot_be_written_is_told(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="No such file or directory"):
        SqliteStore(tmp_path / "nowhere" / "jobs.db")


# Where it may be.


def test_a_network_file_system_is_refused(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    mounts = f"36 21 0:31 / {path.parent} rw - nfs4 server:/export rw"
    monkeypatch.setattr(Path, "read_text", lambda *_, **__: mounts)
    with pytest.raises(StoreError, match="network file system \\(nfs4\\)"):
        SqliteStore(path)
    assert not path.exists()


# Forks.


@pytest.mark.report("J65", "rails/solid_queue#324")
def test_a_connection_is_not_carried_over_a_fork(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with opened(path) as one:
        parent = os.getpid()
        with monkeypatch.context() as patch:
            patch.setattr(os, "getpid", lambda: parent + 1)
            with pytest.raises(StoreError, match="opened before a fork"), one.transaction():
                pass
            one.close()
        assert insert(one, new())[0].how == "new"


def test_a_forked_child_does_not_keep_the_file_for_its_parent(path: Path) -> None:
    """It lives on; still the next program is alone, and knows that it may put things right."""
    script = """if 1:
        import os, sys, time
        from otpy.jobs.store.sqlite import SqliteStore
        one = SqliteStore(sys.argv[1])
        ready, told = os.pipe()
        if not os.fork():
            os.write(told, b"x")
            time.sleep(600)
        os.read(ready, 1)
        with one.transaction() as tx:
            tx.elect("jobs", "us", 1)
        print("done", flush=True)
        os._exit(0)
    """
    run = Forked([sys.executable, "-c", script, str(path)], stdout=subprocess.PIPE, start_new_session=True)
    try:
        assert run.stdout is not None
        assert run.stdout.readline() == b"done\n"
        run.wait()
        lock = FileLock(path, 0.0)
        assert (lock.is_alone, lock.was_unclean) == (True, True)
        lock.release()
    finally:
        os.killpg(run.pid, 9)
        run.stdout.close()


# Versions.

OLD = versions.SCRIPTS
NEWER = (*OLD, "alter table otpy_job add column colour text not null default 'red';")


def version(path: Path) -> int:
    with closing(sqlite3.connect(path)) as db:
        return versions.version_of(db)


def test_an_older_file_is_brought_up_to_date(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with opened(path) as one:
        insert(one, new("old"))
    migrate_with(monkeypatch, NEWER)
    with opened(path) as one:
        insert(one, new("fresh"))
        assert numbers(one) == {"ready": 2}
    assert version(path) == len(OLD) + 1
    with closing(sqlite3.connect(path)) as db:
        assert db.execute("select kind, colour from otpy_job order by id").fetchall() == [
            ("old", "red"),
            ("fresh", "red"),
        ]


def test_a_migration_that_fails_leaves_the_file_as_it_was(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with opened(path) as one:
        insert(one, new())
    with monkeypatch.context() as patch:
        migrate_with(patch, (*NEWER, "create table other (x);\ninsert into nowhere values (1);"))
        with pytest.raises(StoreError, match="no such table: nowhere"):
            SqliteStore(path)
    assert version(path) == len(OLD)
    with closing(sqlite3.connect(path)) as db:
        assert "colour" not in [row[1] for row in db.execute("pragma table_info(otpy_job)")]
    with opened(path) as one:
        assert numbers(one) == {"ready": 1}


def test_a_file_of_a_newer_version_is_refused(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patch:
        migrate_with(patch, NEWER)
        opened(path).thing.close()
    with pytest.raises(StoreVersionError, match="run a newer one"):
        SqliteStore(path)


def test_tables_in_use_are_not_changed_under_another_program(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with opened(path) as one:
        with monkeypatch.context() as patch:
            migrate_with(patch, NEWER)
            with pytest.raises(StoreBusyError, match=f"tables of version {len(OLD)}: stop that first"):
                SqliteStore(path)
        insert(one, new())
    assert version(path) == len(OLD)


def test_two_programs_that_come_at_once_make_the_tables_once(path: Path) -> None:
    script = "import sys; from otpy.jobs.store.sqlite import SqliteStore; input(); SqliteStore(sys.argv[1]).close()"
    runs = [
        Forked([sys.executable, "-c", script, str(path)], stdin=subprocess.PIPE, stderr=subprocess.PIPE)
        for _ in range(3)
    ]
    for run in runs:
        assert run.stdin is not None
        run.stdin.write(b"\n")
        run.stdin.flush()
    assert [(run.communicate()[1], run.returncode) for run in runs] == [(b"", 0)] * 3
    with closing(sqlite3.connect(path)) as db:
        assert db.execute("select count(*) from otpy_schema").fetchone() == (len(OLD),)


def test_the_version_number_of_the_users_own_tables_is_left_alone(path: Path) -> None:
    with closing(sqlite3.connect(path)) as db:
        db.executescript("create table job (x); pragma user_version = 77;")
    with opened(path) as one:
        insert(one, new())
    with closing(sqlite3.connect(path)) as db:
        assert db.execute("pragma user_version").fetchone() == (77,)


def migrate_with(patch: pytest.MonkeyPatch, scripts: tuple[str, ...]) -> None:
    """A version of otpy that has these."""

    def migrate(db: sqlite3.Connection, path: str, *, is_alone: bool) -> None:
        versions.migrate(db, path, is_alone=is_alone, scripts=scripts)

    patch.setattr(store, "migrate", migrate)


# Other programs.


def test_who_waits_too_long_for_another_program_is_told(path: Path) -> None:
    with opened(path, patience=0.05) as one, closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("begin immediate")
        with pytest.raises(StoreBusyError, match="another program has been writing to it for too long"):
            insert(one, new())
        other.execute("rollback")
        assert insert(one, new())[0].how == "new"


def test_who_waits_for_another_program_gets_its_turn(path: Path) -> None:
    other = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
    with opened(path, patience=30.0) as one, closing(other):
        other.execute("begin immediate")
        end = threading.Timer(0.05, other.execute, ["rollback"])
        end.start()
        assert insert(one, new())[0].how == "new"
        end.join()


def test_a_program_that_stopped_while_it_opened_is_not_waited_for_without_end(path: Path) -> None:
    lock = FileLock(path, 0.0)  # taken alone, and never shared
    with pytest.raises(StoreBusyError, match="does not get on"):
        SqliteStore(path, patience=0.05)
    lock.release()
    opened(path).thing.close()


# Damage.


@contextmanager
def crashed(path: Path) -> Iterator[Path]:
    """A copy of the file as a program leaves it that is killed in the middle of its work."""
    copy = path.with_name("crashed.db")
    with opened(path) as one:
        insert(one, *[new(args=b"x" * 500) for _ in range(2_000)])
        one._db.execute("pragma wal_checkpoint(truncate)")
        insert(one, new())
        for end in ("", "-wal"):
            Path(f"{copy}{end}").write_bytes(Path(f"{path}{end}").read_bytes())
    yield copy


def test_after_an_unclean_end_the_file_is_looked_at(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    looks: list[object] = []
    monkeypatch.setattr(store, "check", looks.append)
    with crashed(path) as copy, opened(copy) as one:
        assert numbers(one) == {"ready": 2_001}
    assert len(looks) == 1
    opened(copy).thing.close()
    assert len(looks) == 1


def test_a_damaged_file_is_told_clearly(path: Path) -> None:
    with crashed(path) as copy:
        data = bytearray(copy.read_bytes())
        for page in range(5, len(data) // 4096, 3):
            data[page * 4096 : page * 4096 + 200] = b"\xa5" * 200
        copy.write_bytes(data)
        with pytest.raises(StoreBrokenError, match="the file is damaged: restore a copy of it"):
            SqliteStore(copy)
        FileLock(copy, 0.0).release()


def test_a_file_that_is_too_large_to_be_looked_at_is_used_without(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sqlite, "CHECK", -1.0)
    monkeypatch.setattr(sqlite, "STEPS", 100)
    with crashed(path) as copy, opened(copy) as one:
        assert numbers(one) == {"ready": 2_001}


# Trouble with the disk.


def test_a_full_disk_is_told_and_nothing_of_it_is_kept(path: Path) -> None:
    with opened(path) as one:
        kept = insert(one, *[new(args=b"x" * 100) for _ in range(100)])
        pages = one._db.execute("pragma page_count").fetchone()[0]
        one._db.execute(f"pragma max_page_count = {pages + 5}")
        for _ in range(2):
            with pytest.raises(StoreFullError, match="the disk is full"):
                insert(one, *[new(args=b"x" * 4_000) for _ in range(100)])
        assert numbers(one) == {"ready": 100}
        fence = lead(one)
        assert [settle(one, job, "done") for job in claim(one, fence, 100)] == [True] * 100
        one._db.execute("pragma max_page_count = 1000000")
        insert(one, *[new(args=b"x" * 4_000) for _ in range(100)])
        assert numbers(one) == {"done": 100, "ready": 100}
        assert get(one, kept[0].id).args == b"x" * 100


@pytest.mark.report("J14", "celery/celery#8030")
def test_a_disk_that_fails_loses_nothing_that_was_told_and_works_again(path: Path) -> None:
    """Files may not grow for a while, so that writes fail in the middle of a commit."""
    with opened(path) as one:
        insert(one, new())
        with no_growth(path.with_name("jobs.db-wal").stat().st_size + 5_000):
            for _ in range(2):
                with pytest.raises(StoreError, match="the disk"):
                    insert(one, *[new(args=b"x" * 4_000) for _ in range(50)])
        assert insert(one, new())[0].how == "new"
        assert numbers(one) == {"ready": 2}
    with opened(path) as one:
        assert numbers(one) == {"ready": 2}
        assert one._db.execute("pragma integrity_check").fetchone() == ("ok",)


@contextmanager
def no_growth(size: int) -> Iterator[None]:
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


@pytest.mark.report("J64", "peter-wangxu/persist-queue#84")
def test_the_file_does_not_grow_with_the_jobs_that_went_through(path: Path) -> None:
    sizes = []
    with opened(path, profile="fast") as one:
        fence = lead(one)
        for _ in range(60):
            insert(one, *[new(args=b"x" * 300) for _ in range(50)])
            for job in claim(one, fence, 50):
                settle(one, job, "done", result=b"y" * 100)
            NOW.now += 10
            with one.transaction() as tx:
                tx.prune(NOW.now - 20, 1_000)
            sizes.append(one._db.execute("pragma page_count").fetchone()[0])
        assert max(sizes[40:]) <= max(sizes[:20]) * 1.1


def test_what_a_burst_has_taken_is_given_back(path: Path) -> None:
    with opened(path, profile="fast") as one:
        fence = lead(one)
        insert(one, *[new(args=b"x" * 4_000) for _ in range(3_000)])
        for job in claim(one, fence, 3_000):
            settle(one, job, "done")
        NOW.now += 10
        before = one._db.execute("pragma page_count").fetchone()[0]
        for _ in range(20):
            with one.transaction() as tx:
                tx.prune(NOW.now, 500)
        assert one._db.execute("pragma page_count").fetchone()[0] < before / 2


# Secrets.


def test_secrets_are_taken_out_of_what_is_written(path: Path) -> None:
    with opened(path, redact=lambda text: text.replace("boom", "***")) as one:
        fence = lead(one)
        insert(one, new(), new())
        job, other = claim(one, fence, 2)
        settle(one, job, "dead", "error", reason="it went boom")
        with one.transaction() as tx:
            tx.cancel([other.id], "boom")
        dead = get(one, job.id)
        assert (dead.reason, dead.attempts[0].text, get(one, other.id).reason) == ("it went ***", "***", "***")


def test_a_text_that_the_hook_fails_on_is_not_kept(path: Path) -> None:
    with opened(path, redact=lambda text: text[99]) as one:
        fence = lead(one)
        insert(one, new())
        (job,) = claim(one, fence)
        settle(one, job, "dead", "error")
        assert get(one, job.id).attempts[0].text == "(not kept: redact raised IndexError)"


@pytest.mark.parametrize("said", ["", "insert into otpy_schema values ('x')"])
def test_a_file_whose_version_is_none_is_damaged(tmp_path: Path, said: str) -> None:
    with closing(sqlite3.connect(tmp_path / "jobs.db")) as db:
        db.executescript(f"create table otpy_schema (version); {said}")
    with pytest.raises(StoreBrokenError, match=r"the file is damaged: .*its version is"):
        SqliteStore(tmp_path / "jobs.db")
