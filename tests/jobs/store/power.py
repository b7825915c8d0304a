"""Power failures on paper: what the disk may hold when everything that was not synced is kept, lost or torn.

SQLite writes a commit to the log and syncs that (`full`), now and then writes the log's pages into the file and syncs
that, and only then begins the log anew. So of what was written after the last sync each sector may be the old or the
new one, in the log while the file is still as it was, or in the file while the log is whole.
"""

from __future__ import annotations

from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from otpy.jobs.store.sqlite import SqliteStore

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Callable, Iterator
    from random import Random

    from otpy.jobs.store.sqlite.transaction import SqliteTransaction

SECTOR = 512
LOG = "-wal"

Facts = list[tuple[Any, ...]]


@dataclass(frozen=True)
class Moment:
    """The disk after a commit, if all was synced, and what it says."""

    file: bytes
    log: bytes
    facts: Facts


class Powered:
    """A store of which every commit is photographed."""

    def __init__(self, path: Path, profile: Literal["full", "fast"], now: Callable[[], int]) -> None:
        self.path, self.profile = path, profile
        self.store = SqliteStore(path, profile=profile, now=now)
        self.store._db.execute("pragma wal_autocheckpoint = 30")
        self.moments: list[Moment] = []
        self.synced = 0
        """The last moment that is surely on the disk."""
        self._take()

    @contextmanager
    def transaction(self) -> Iterator[SqliteTransaction]:
        with self.store.transaction() as tx:
            yield tx
        self._take()

    def close(self) -> None:
        self.store.close()

    def _take(self) -> None:
        file = self.path.read_bytes()
        log = Path(f"{self.path}{LOG}").read_bytes()
        is_moved = bool(self.moments) and file != self.moments[-1].file  # the log was synced before that
        self.moments.append(Moment(file, log, facts(self.store._db)))
        if self.profile == "full" or is_moved:
            self.synced = len(self.moments) - 1

    def cut(self, random: Random, to: Path) -> tuple[Facts, range]:
        """The power fails around the last commit: what a new start finds, and which moments it may be.

        `full`: the last commit was not told yet, so it may be there or not; the one before was told. `fast`: any moment
        since the last sync.
        """
        last = len(self.moments) - 1
        old = max(0, last - 1) if self.profile == "full" else min(self.synced, last)
        before, after = self.moments[old], self.moments[last]
        file, log = before.file, torn(random, before.log, after.log)
        least = old
        if after.file != before.file and random.random() < 0.5:  # the log was whole before the first page was moved
            file, log, least = torn(random, before.file, after.file), after.log, last
        to.write_bytes(file)
        Path(f"{to}{LOG}").write_bytes(log)
        with closing(SqliteStore(to, profile=self.profile)) as found:
            assert found._db.execute("pragma integrity_check").fetchone() == ("ok",)
            return facts(found._db), range(least, last + 1)


def torn(random: Random, old: bytes, new: bytes) -> bytes:
    """Of each sector the old or the new one; what was added is missing, torn or there."""
    share = random.choice([0.0, 0.5, 0.9, 1.0])
    size = max(len(old), len(new))
    old, wanted = old.ljust(size, b"\0"), new.ljust(size, b"\0")
    return b"".join((wanted if random.random() < share else old)[at : at + SECTOR] for at in range(0, size, SECTOR))


def facts(db: sqlite3.Connection) -> Facts:
    """All that counts."""
    jobs = db.execute("select id, state, token, errors, crashes, run_at, lease_until from otpy_job order by id")
    return [*jobs.fetchall(), *db.execute("select queue, state, number from otpy_tally order by 1, 2").fetchall()]
