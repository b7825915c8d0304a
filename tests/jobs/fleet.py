"""Programs on one server, as systems on one clock in this process: each works, one leads."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import otpy
from otpy.jobs.agents.context import current
from otpy.jobs.client import Client, of
from otpy.jobs.engine import engine
from otpy.jobs.kind import job
from otpy.jobs.setup import Crew
from otpy.runtime.seat import here
from otpy.testing import Gate, Recorder, VirtualClock
from support.postgres import fresh_url, server

if TYPE_CHECKING:
    from otpy.runtime.ref import Ref

__all__ = ["DOERS", "FOUR", "LEASE", "ONE", "Fleet", "held"]

LEASE = 6.0
ONE = [Crew(name="one", size=1, spare=0)]
FOUR = [Crew(name="four", size=4, spare=0)]
DOERS: dict[int, str] = {}
"""Which program has done a job, or does it."""


def held(gate: Gate, **options: Any) -> Any:
    """A kind whose jobs wait at a gate."""

    def hold() -> None:
        ref = here().ref
        assert ref is not None
        DOERS[current().id] = ref.path.partition("/")[0]
        gate.wait()

    return job(timeout=None, **options)(hold)


class Fleet:
    """Systems `a`, `b` and so on; the first one leads."""

    def __init__(self, number: int, kinds: list[Any], **options: Any) -> None:
        self.clock = VirtualClock()
        self.url = fresh_url()
        self.schema = self.url.rpartition("%3D")[2]
        self.kinds, self.options = kinds, {"lease": LEASE, **options}
        self.systems: dict[str, otpy.System] = {}
        self.engines: dict[str, Ref[Any]] = {}
        self.records: dict[str, Recorder] = {}
        for name in "abc"[:number]:
            self.begin(name)

    def begin(self, name: str, **different: Any) -> None:
        """Start one, for the first time or again."""
        if name not in self.systems:
            self.systems[name] = otpy.System(name, clock=self.clock)
            self.records[name] = Recorder(self.systems[name]).__enter__()
        options = {"kinds": self.kinds, **self.options, **different}
        self.engines[name] = self.systems[name].start(engine(self.url, options.pop("kinds"), **options))
        self.settle()

    def settle(self) -> None:
        for system in self.systems.values():
            system.wait_idle()

    def client(self, name: str) -> Client:
        return of(self.systems[name])

    def kill(self, name: str) -> None:
        """End one without a word: nothing of it writes any more."""
        for role in ("leader", "membership", "scheduler"):
            self.named(name, role).kill()
        self.engines[name].kill()
        self.settle()

    def named(self, name: str, role: str) -> Any:
        return self.systems[name].names.get(f"jobs/{role}")

    def now(self) -> int:
        """The time that is written down."""
        return int(self.engines["b"].actor.setup.now())

    def leads(self) -> list[str]:
        """Who has what is done once."""
        self.settle()
        roles = ("janitor", "timekeeper")
        return [name for name in self.systems if all(self.named(name, role) is not None for role in roles)]

    def rows(self, what: str = "*", where: str = "true") -> list[Any]:
        """Jobs as the server has them."""
        return server().sql(f"select {what} from otpy_job where {where} order by id", self.schema)  # noqa: S608

    def running(self) -> dict[str, int]:
        """How many jobs run, by the program that has claimed them."""
        owners = [owner.partition("/")[0] for (owner,) in self.rows("owner", "state = 'running'")]
        return {name: owners.count(name) for name in sorted(set(owners))}

    def activate(self, version: str | None) -> None:
        """Switch, by hand at one of the programs, and let the others find that out."""
        self.client("b").activate(version, force=version not in ("blue", "green"))
        self.clock.advance(3.0)

    def hosts(self) -> list[Any]:
        """Programs as the server knows them: name of the system is not among that, so by their order."""
        return server().sql("select id, until, draining_since from otpy_host order by arrived_at, id", self.schema)

    def told(self, name: str, *kinds: type[Any]) -> list[Any]:
        return [event for kind in kinds for event in self.records[name].of(kind)]

    def stop(self) -> None:
        self.settle()  # who was killed at a gate leaves it only now
        for record in self.records.values():
            record.__exit__(None, None, None)
        for system in self.systems.values():
            assert system.stop(timeout=10.0) == []
