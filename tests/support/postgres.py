"""A PostgreSQL of the tests' own: in a temporary directory, behind a Unix socket, begun by the first test that asks."""

from __future__ import annotations

import atexit
import os
import pwd
import shutil
import signal
import subprocess
import tempfile
from contextlib import contextmanager
from functools import cache
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator

try:
    import psycopg
except ImportError:  # an extra
    psycopg = None  # type: ignore[assignment]  # then there is no server

__all__ = ["Server", "empty_url", "fresh_url", "server"]

SETTINGS = """
listen_addresses = ''
fsync = off
full_page_writes = off
shared_buffers = 32MB
max_connections = 60
autovacuum = off
logging_collector = off
"""
"""Nothing here must outlive a power failure."""

PICKY = "picky"
"""A user of whom a password is wanted, once a test has made it."""

NAMES = count(1)


def programs() -> Path | None:
    """Where the server's programs are: those on the path, or the newest of Debian's."""
    found = shutil.which("initdb")
    if found is not None:
        return Path(found).resolve().parent
    return max(Path("/usr/lib/postgresql").glob("*/bin"), key=lambda one: int(one.parent.name), default=None)


class Server:
    """One that runs as long as this process."""

    def __init__(self, where: Path) -> None:
        self.where = where
        self.user = _user()
        self.folder = Path(tempfile.mkdtemp(prefix="otpy-pg-"))
        if self.user is not None:
            os.chown(self.folder, self.user.pw_uid, self.user.pw_gid)
        self.run("initdb", "-U", "otpy", "-A", "trust", "--no-sync", "--no-locale", "-E", "UTF8", str(self.data))
        with (self.data / "postgresql.conf").open("a") as file:
            file.write(SETTINGS)
        rights = self.data / "pg_hba.conf"
        rights.write_text(f"local all {PICKY} scram-sha-256\n{rights.read_text()}")
        self.start()
        atexit.register(self.remove)

    @property
    def data(self) -> Path:
        return self.folder / "data"

    def url(self, schema: str = "public", user: str = "otpy") -> str:
        return f"postgresql://{user}@/postgres?host={self.folder}&options=-csearch_path%3D{schema}"

    def start(self) -> None:
        self._control("start", "-l", str(self.folder / "log"), "-o", f"-k {self.folder}")

    def stop(self, how: str = "immediate") -> None:
        """`immediate` is as when the machine dies."""
        self._control("stop", "-m", how)

    def restart(self) -> None:
        self.stop()
        self.start()

    @contextmanager
    def frozen(self) -> Iterator[None]:
        """It says nothing in this block, and neither accepts nor closes anything: its processes are stopped."""
        first = int((self.data / "postmaster.pid").read_text().split()[0])
        of_first = Path(f"/proc/{first}/task/{first}/children").read_text().split()
        stopped = [first, *map(int, of_first)]
        for pid in stopped:
            os.kill(pid, signal.SIGSTOP)
        try:
            yield
        finally:
            for pid in stopped:
                os.kill(pid, signal.SIGCONT)

    @contextmanager
    def down(self) -> Iterator[None]:
        """It is not there in this block."""
        self.stop()
        try:
            yield
        finally:
            self.start()

    def remove(self) -> None:
        if (self.data / "postmaster.pid").exists():
            self.stop()
        shutil.rmtree(self.folder, ignore_errors=True)

    def sql(self, text: str, schema: str = "public") -> list[Any]:
        """Do it, in a transaction of its own."""
        with psycopg.connect(self.url(schema), autocommit=True) as db:
            rows = db.execute(text)
            return rows.fetchall() if rows.description else []

    def run(self, program: str, *args: str) -> str:
        """Never as root, whom the server refuses; in files, for what a server inherits stays open."""
        with tempfile.TemporaryFile() as said:
            user = {} if self.user is None else {"user": self.user.pw_uid, "group": self.user.pw_gid}
            command = [str(self.where / program), *args]
            done = subprocess.run(
                command,
                stdout=said,
                stderr=said,
                cwd=self.folder,
                extra_groups=[] if user else None,
                check=False,
                **user,
            )
            said.seek(0)
            text = said.read().decode()
        assert done.returncode == 0, f"{program}: {text}"
        return text

    def _control(self, *args: str) -> None:
        self.run("pg_ctl", "-w", "-t", "60", "-D", str(self.data), *args)


def _user() -> pwd.struct_passwd | None:
    """Who runs it; None means who runs the tests."""
    if os.getuid() != 0:
        return None
    known = {one.pw_name: one for one in pwd.getpwall()}
    return known.get("postgres") or known["nobody"]


@cache
def server() -> Server:
    """The one of this run. Without PostgreSQL the test is skipped, and fails where OTPY_POSTGRES=require is set."""
    where = programs()
    problem = "no PostgreSQL: no initdb on the path, nor in /usr/lib/postgresql (Debian: postgresql)"
    if psycopg is None:
        where, problem = None, "no psycopg (the extra `postgres`)"
    if where is None:
        say = pytest.fail if os.environ.get("OTPY_POSTGRES") == "require" else pytest.skip
        say(problem)
    return Server(where)


def fresh_url() -> str:
    """A place for one store: a schema of its own, without tables."""
    name = f"test_{next(NAMES)}"
    server().sql(f"create schema {name}")
    return server().url(name)


@cache
def _shared() -> tuple[str, str]:
    """A schema whose tables are used again and again, for they take long to make; and what empties it."""
    from otpy.jobs.store.postgres import PostgresStore  # noqa: PLC0415 - an extra

    url = fresh_url()
    PostgresStore(url).close()
    schema = url.rpartition("%3D")[2]
    tables = server().sql(f"select table_name from information_schema.tables where table_schema = '{schema}'")  # noqa: S608
    emptied = [name for (name,) in tables if name not in ("otpy_schema", "otpy_tally")]
    texts = [f"delete from {name}" for name in emptied]  # noqa: S608 - our own tables
    return schema, "; ".join([*texts, "alter table otpy_job alter id restart"])


def empty_url() -> str:
    """A place for a store that is the only one until the next is asked for: quickly had, with empty tables."""
    server()
    schema, text = _shared()
    server().sql(text, schema)
    return server().url(schema)
