"""A private PostgreSQL: in a temporary directory, behind a Unix socket, gone with its process, unless that is killed.

The benchmark measures on one, and the tests have one of their own by the same class.
"""

from __future__ import annotations

import atexit
import os
import pwd
import shutil
import signal
import subprocess
import tempfile
import time
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["SERVER", "Server", "programs"]

SERVER = "OTPY_BENCH_SERVER"
"""The variable of the environment by which a side of the benchmark finds the server: the folder of its socket."""


def programs() -> Path | None:
    """Where the server's programs are: those on the path, or the newest of Debian's."""
    found = shutil.which("initdb")
    if found is not None:
        return Path(found).resolve().parent
    return max(Path("/usr/lib/postgresql").glob("*/bin"), key=lambda one: int(one.parent.name), default=None)


class Server:
    """One that runs as long as this process."""

    def __init__(self, where: Path, settings: str, rights: str = "") -> None:
        """Make it and start it: by the programs in this folder, with these lines beside what initdb has written.

        `settings` are after its own, where the last one counts, and `rights` before them, where the first one does.
        """
        self.where = where
        self.user = _user()
        self.folder = Path(tempfile.mkdtemp(prefix="otpy-pg-"))
        atexit.register(self.remove)  # also of one that a Ctrl-C has cut off in the middle of its start
        if self.user is not None:
            os.chown(self.folder, self.user.pw_uid, self.user.pw_gid)
        self.run("initdb", "-U", "otpy", "-A", "trust", "--no-sync", "--no-locale", "-E", "UTF8", str(self.data))
        with (self.data / "postgresql.conf").open("a") as file:
            file.write(settings)
        trusted = self.data / "pg_hba.conf"
        trusted.write_text(f"{rights}{trusted.read_text()}")
        self.start()

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
        stopped = self._stopped()
        try:
            yield
        finally:
            for pid in stopped:
                os.kill(pid, signal.SIGCONT)

    def kill(self) -> None:
        """As `kill -9` of all its processes at once: none of them can say goodbye."""
        pids = self._stopped()
        for pid in pids:
            os.kill(pid, signal.SIGKILL)
        while any(Path(f"/proc/{pid}").exists() for pid in pids):  # it is not told when nothing is left of them
            time.sleep(0.005)

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
        import psycopg  # noqa: PLC0415 - an extra

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
        if done.returncode != 0:
            raise RuntimeError(f"{program}: {text}")
        return text

    def _stopped(self) -> list[int]:
        """Its processes, which do nothing from now on; the first one first, which would begin others."""
        first = int((self.data / "postmaster.pid").read_text().split()[0])
        os.kill(first, signal.SIGSTOP)
        stopped = [first, *map(int, Path(f"/proc/{first}/task/{first}/children").read_text().split())]
        for pid in stopped[1:]:
            os.kill(pid, signal.SIGSTOP)
        return stopped

    def _control(self, *args: str) -> None:
        self.run("pg_ctl", "-w", "-t", "60", "-D", str(self.data), *args)


def _user() -> pwd.struct_passwd | None:
    """Who runs it; None means who runs this."""
    if os.getuid() != 0:
        return None
    known = {one.pw_name: one for one in pwd.getpwall()}
    return known.get("postgres") or known["nobody"]
