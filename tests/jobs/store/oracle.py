"""The contract of a store as a model: jobs in a dictionary, and what each operation does to them."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from otpy.jobs.model.job import State
    from otpy.jobs.model.new import NewJob

TAKEN: dict[str, tuple[str, ...]] = {
    "started": ("scheduled", "ready"),
    "finished": ("scheduled", "ready", "running"),
    "forever": ("scheduled", "ready", "running", "done", "dead", "cancelled"),
}


@dataclass
class Row:
    """A job, as far as the contract speaks of it."""

    id: int
    new: NewJob
    state: State
    run_at: int
    token: int = 0
    attempt: int = 0
    errors: int = 0
    crashes: int = 0
    lease_until: int | None = None
    finished_at: int | None = None
    is_cancelled: bool = False
    is_begun: bool = False

    def is_late(self, now: int) -> bool:
        """Whether its time is over, to end or to begin."""
        ends = [self.new.deadline_at, None if self.is_begun else self.new.start_by]
        return any(at is not None and at <= now for at in ends)


@dataclass
class Model:
    """What a store should say."""

    rows: dict[int, Row] = field(default_factory=dict)
    last: int = 0
    epoch: int = 0
    expires_at: int = 0
    active: str | None = None

    def leads(self, epoch: int, now: int) -> bool:
        return epoch == self.epoch and self.expires_at > now

    def elect(self, now: int, ttl: int) -> int | None:
        if self.epoch and self.expires_at > now:
            return None
        self.epoch, self.expires_at = self.epoch + 1, now + ttl
        return self.epoch

    def insert(self, new: NewJob, number: int, now: int) -> tuple[int, str]:
        """The number is the store's to choose, if it is a new one."""
        for row in self.rows.values():
            if new.key is not None and row.new.key == new.key:
                return row.id, "kept" if (row.new.kind, row.new.args) == (new.kind, new.args) else "differs"
        taken = self.taken(new)
        if taken is not None:
            return taken, "kept"
        assert number > self.last
        self.last = number
        state: State = "ready" if new.run_at <= now else "scheduled"
        self.rows[self.last] = Row(self.last, new, state, new.run_at)
        return self.last, "new"

    def taken(self, new: NewJob, but: int | None = None) -> int | None:
        """Who has its unique key."""
        for row in self.rows.values():
            mine, other = new.unique, row.new.unique
            if mine and other and mine == other and row.id != but and row.state in TAKEN[mine.until]:
                return row.id
        return None

    def is_for(self, row: Row, version: str) -> bool:
        return row.new.version == version if row.new.version else self.active in (None, version)

    def claim(self, number: int, lease: int, now: int, version: str) -> list[int]:
        ready = [row for row in self.rows.values() if row.state == "ready" and self.is_for(row, version)]
        ready = [row for row in ready if not row.is_late(now)]
        ready.sort(key=lambda row: (row.new.priority, row.run_at, row.id))
        for row in ready[:number]:
            row.state, row.lease_until = "running", now + lease
            row.token, row.attempt = row.token + 1, row.attempt + 1
        return [row.id for row in ready[:number]]

    def holds(self, id: int, token: int) -> Row | None:
        row = self.rows.get(id)
        return row if row is not None and row.state == "running" and row.token == token else None

    def settle(self, row: Row, state: State, failure: str | None, run_at: int, now: int) -> None:
        if row.is_cancelled or (state in ("ready", "scheduled") and self.taken(row.new, but=row.id) is not None):
            state = "cancelled"
        row.state, row.lease_until, row.run_at, row.is_begun = state, None, run_at, True
        row.finished_at = None if state in ("ready", "scheduled") else now
        row.errors += failure == "error"
        row.crashes += failure in ("crash", "lost")

    def promote(self, now: int) -> None:
        for row in self.rows.values():
            if row.state == "scheduled" and row.run_at <= now:
                row.state = "ready"

    def expire(self, now: int) -> list[int]:
        over = [row for row in self.rows.values() if row.state in ("scheduled", "ready") and row.is_late(now)]
        for row in over:
            row.state, row.finished_at = "dead", now
        return sorted(row.id for row in over)

    def rescue(self, lease: int, now: int) -> list[int]:
        lost = []
        for row in self.rows.values():
            if row.lease_until is not None:
                row.lease_until = min(row.lease_until, now + lease)
                if row.lease_until < now:
                    lost.append(row)
        for row in lost:
            pause = 0 if not row.crashes else min(1_000 * 2 ** min(row.crashes, 10), 60_000)
            is_dead = row.crashes + 1 >= row.new.max_crashes
            state: State = "dead" if is_dead else "scheduled" if pause else "ready"
            self.settle(row, state, "lost", row.run_at if is_dead else now + pause, now)
        return sorted(row.id for row in lost)

    def cancel(self, id: int, now: int) -> bool:
        """Whether it runs, so that somebody must be told."""
        row = self.rows.get(id)
        if row is not None and row.state == "running":
            row.is_cancelled = True
            return True
        if row is not None and row.state in ("scheduled", "ready"):
            row.state, row.finished_at = "cancelled", now
        return False

    def prune(self, before: int) -> int:
        gone = [
            row.id
            for row in self.rows.values()
            if row.finished_at is not None and row.finished_at < before and row.state != "dead"
        ]
        for one in gone:
            del self.rows[one]
        return len(gone)

    def numbers(self) -> dict[str, int]:
        return dict(Counter(str(row.state) for row in self.rows.values()))
