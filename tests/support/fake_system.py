"""A system made of records alone, for what only looks at one: `FakeSystem` beside builders of records."""

from __future__ import annotations

import threading
from dataclasses import replace
from typing import TYPE_CHECKING

from otpy.core.record import ActorRecord, MailboxRecord, StateRecord
from otpy.errors import ActorBusyError, NoSuchActorError

if TYPE_CHECKING:
    from collections.abc import Iterable

    from otpy.core.exits import ExitRecord

__all__ = ["FakeSystem", "shop", "supervisor", "worker"]

STARTED_AT = 1_000_000_000.0


def worker(path: str, **changes: object) -> ActorRecord:
    """An idle worker; `changes` are fields of the record."""
    plain = ActorRecord(
        path=path,
        id=path.rpartition("/")[2],
        kind="Cache",
        type="worker",
        status="idle",
        place="pool",
        number=7,
        name=None,
        uptime=120.0,
        restarts=0,
        queue=0,
        busy=None,
        current=None,
        thread=None,
        strategy=None,
        children=0,
        trap_exit=False,
        links=(),
        monitors=0,
        resources=(),
        last_exit=None,
    )
    return replace(plain, **changes)  # type: ignore[arg-type] - fields by name, of the right types by the tests' care


def supervisor(path: str, children: int, **changes: object) -> ActorRecord:
    """An idle supervisor."""
    facts = {"kind": "Supervisor", "type": "supervisor", "strategy": "one_for_one", "children": children}
    return worker(path, **(facts | {"trap_exit": True} | changes))


def shop() -> list[ActorRecord]:
    """The tree of design.md, with a feed that has been restarted and is at work."""
    return [
        supervisor("shop", 3, kind="Shop", strategy="rest_for_one"),
        worker("shop/cache", name="cache", queue=4, monitors=1, resources=("file",), links=("shop",)),
        worker(
            "shop/feed",
            kind="poll_feed",
            status="running",
            place="thread",
            uptime=3.0,
            restarts=2,
            busy=0.8,
            current="init",
            thread="otpy-feed",
            last_exit="ValueError: no feed",
        ),
        supervisor("shop/sessions", 500, kind="DynamicSupervisor"),
        worker("shop/sessions/1", kind="Session"),
        worker("shop/sessions/2", kind="Session"),
    ]


class FakeSystem:
    """Answers from a list of records; operating verbs are written down in `done`."""

    def __init__(self, records: Iterable[ActorRecord] | None = None, name: str = "shop") -> None:
        """Be a system of this name with these actors, those of `shop()` by default."""
        self.name = name
        self.started_at = STARTED_AT
        self.all = list(shop() if records is None else records)
        self.done: list[tuple[str, str]] = []
        self.dead: list[ActorRecord] = []
        self.ended: list[ExitRecord] = []
        self.told: tuple[str, float | None] | None = None
        self.stopping = threading.Event()
        self.stuck_on: dict[str, threading.Event] = {}
        """Paths whose operating verbs wait for their event."""
        self.entered = threading.Semaphore(0)
        """Released once by each operating verb that has begun."""

    def asks_processes(self) -> bool:
        """It has none."""
        return False

    def records(self, path: str | None = None, limit: int = 200) -> list[ActorRecord]:
        """Those below `path`; the limit counts the children of each supervisor."""
        seen: dict[str, int] = {}
        kept = []
        for record in self.all:
            parent = record.path.rpartition("/")[0]
            seen[parent] = seen.get(parent, 0) + 1
            inside = path is None or record.path == path or record.path.startswith(path + "/")
            if inside and (seen[parent] <= limit or record.path == path):
                kept.append(record)
        if path is not None and not kept:
            raise NoSuchActorError(path)
        return kept

    def record(self, path: str) -> ActorRecord:
        """The one with this path."""
        for record in self.all:
            if record.path == path:
                return record
        raise NoSuchActorError(path, "there are shop/cache, shop/feed, shop/sessions")

    def zombies(self) -> list[ActorRecord]:
        """Those in `dead`."""
        return self.dead

    def stack(self, path: str) -> str | None:
        """A stack for whoever runs."""
        return '  File "feed.py", line 7, in poll' if self.record(path).status == "running" else None

    def exits(self, path: str | None = None, limit: int = 20) -> list[ExitRecord]:
        """Those in `ended`; without any, the path must exist."""
        if path is not None and not self.ended:
            self.record(path)
        return self.ended[:limit]

    def state(self, path: str, *, timeout: float = 2.5) -> StateRecord:
        """One attribute; whoever runs is busy."""
        record = self.record(path)
        if record.status == "running":
            return StateRecord(path=path, status="running", problem=f"busy for {timeout:g} s", stack=self.stack(path))
        return StateRecord(path=path, status=record.status, state=("items = {}",))

    def mailbox(self, path: str, limit: int = 20) -> MailboxRecord:
        """As many messages as its record says."""
        record = self.record(path)
        words = ("call get from shop/web", "cast put", *["info"] * record.queue)[: min(record.queue, limit)]
        return MailboxRecord(path=path, status=record.status, length=record.queue, messages=words, doing="at rest")

    def counts(self) -> dict[str, int]:
        """As many actors as there are records."""
        return {"actors": len(self.all), "zombies": len(self.dead), "threads": 3, "run_queue": 0}

    def terminate_child(self, path: str) -> None:
        """Write it down."""
        self._do("stop", path)

    def restart_child(self, path: str) -> None:
        """Write it down."""
        self._do("restart", path)

    def kill(self, path: str) -> None:
        """Write it down."""
        self._do("kill", path)

    def suspend(self, path: str, *, timeout: float = 5.0, seconds: float | None = None) -> None:
        """Write it down; whoever runs is busy."""
        if self.record(path).status == "running":
            raise ActorBusyError(path, "suspend", timeout, "busy for 9.0 s in init")
        self._do("suspend" if seconds is None else f"suspend for {seconds:g}", path)

    def resume(self, path: str, *, timeout: float = 5.0) -> None:
        """Write it down."""
        self._do("resume", path)

    def ending(self) -> tuple[str, float | None] | None:
        """As it was set."""
        return self.told

    def request_stop(self, reason: str = "", *, within: float | None = None) -> None:
        """Write it down and return at once."""
        self.done.append(("request_stop", self.name))
        self.told = (reason, within or 25.0)
        self.stopping.set()

    def _do(self, what: str, path: str) -> None:
        self.record(path)
        self.entered.release()
        if path in self.stuck_on:
            self.stuck_on[path].wait()
        self.done.append((what, path))
