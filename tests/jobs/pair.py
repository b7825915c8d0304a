"""Two programs on one store, as two systems on one clock: the store of each may fail, its wall clock may be set."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import otpy
from otpy.jobs.client import Client, of
from otpy.jobs.engine import Engine, engine
from otpy.jobs.errors import StoreBusyError
from otpy.jobs.kind import job
from otpy.jobs.store.sqlite import SqliteStore
from otpy.testing import Gate, Recorder, VirtualClock

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    import pytest

__all__ = ["LEASE", "WHERE", "Flaky", "Pair"]

LEASE = 10.0


def where() -> None:
    """Does nothing: who did it is what counts."""


WHERE: Any = job(where)


class Flaky(SqliteStore):
    """A store that fails or is slow as told."""

    error: Exception | None = None
    before: Gate | None = None
    """Where each transaction waits before it begins."""
    after: Gate | None = None
    """Where one that extends the lead waits when it is committed, before anybody knows."""

    @contextmanager
    def transaction(self) -> Iterator[Any]:
        if self.before is not None:
            self.before.wait()
        if self.error is not None:
            raise self.error
        with super().transaction() as tx:
            extended, extend = [], tx.lead_on

            def lead_on(*args: Any) -> bool:
                extended.append(extend(*args))
                return extended[-1]

            tx.lead_on = lead_on  # type: ignore[method-assign]  # to hear of it
            yield tx
        if self.after is not None and extended:
            self.after.wait()

    def lead(self, name: str) -> Any:
        if self.error is not None:
            raise self.error
        return super().lead(name)


class Pair:
    """Systems `a` and `b`, and their engines, the same but for what `different` says."""

    def __init__(self, folder: Path, patch: pytest.MonkeyPatch, *different: dict[str, Any], **options: Any) -> None:
        self.clock = VirtualClock()
        self.stores: dict[str, Flaky] = {}
        self.shift = {"a": 0, "b": 0}
        patch.setattr(Engine, "_open", self._opening())
        patch.setattr(Engine, "init", _shifted(Engine.init, self.shift))
        self.systems = [otpy.System(name, clock=self.clock) for name in ("a", "b")]
        self.records = [Recorder(system).__enter__() for system in self.systems]
        self.options = [
            {"lease": LEASE, "kinds": [WHERE], **options, **(different[number] if different else {})}
            for number in range(2)
        ]
        self.folder = folder
        self.engines = []
        for number in range(2):
            self.engines.append(self.begin(number))
            self.settle()  # the first one leads

    def begin(self, number: int) -> Any:
        """Start the engine of one, for the first time or again."""
        own = dict(self.options[number])
        return self.systems[number].start(engine(self.folder / "jobs.db", own.pop("kinds"), **own))

    def _opening(self) -> Any:
        def opened(made: Engine) -> SqliteStore:
            store = self.stores[made.system.name] = Flaky(made.setup.path, now=made.setup.now)
            return store

        return opened

    def settle(self) -> None:
        for system in self.systems:
            system.wait_idle()

    def leads(self, name: str = "jobs") -> list[str]:
        """Who has the duties."""
        self.settle()
        return [system.name for system in self.systems if system.names.get(f"{name}/scheduler") is not None]

    def fail(self, name: str, *, still: bool = True) -> None:
        """The store of one does not answer any more."""
        self.stores[name].error = StoreBusyError("jobs.db", "locked") if still else None

    def kill(self, number: int) -> None:
        """End one without a word."""
        self.systems[number].names["jobs/leader"].kill()
        self.engines[number].kill()

    def client(self, number: int) -> Client:
        return of(self.systems[number])

    def told(self, number: int, *kinds: type[Any]) -> list[Any]:
        """Events of one."""
        return [event for kind in kinds for event in self.records[number].of(kind)]

    def stop(self) -> None:
        self.settle()  # who was killed at a gate leaves it only now
        for record in self.records:
            record.__exit__(None, None, None)
        for system in self.systems:
            assert system.stop(timeout=30.0) == []


def _shifted(init: Any, shift: dict[str, int]) -> Any:
    def wrapped(self: Engine, setup: Any) -> None:
        init(self, setup)
        now, name = self.setup.now, self.system.name
        self.setup = replace(self.setup, now=lambda: now() + shift[name])

    return wrapped
