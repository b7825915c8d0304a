"""Two programs that share a name, whose parts die and whose store fails, under many orders of turns."""

from __future__ import annotations

import sqlite3
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from random import Random
from tempfile import TemporaryDirectory
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest

import otpy
from otpy.jobs.errors import StoreBusyError
from otpy.jobs.fenced import under
from otpy.jobs.looking import engine_name
from otpy.jobs.model.look import Look
from otpy.jobs.model.new import NewJob
from otpy.jobs.singleton import singleton
from otpy.jobs.store.sqlite import SqliteStore
from otpy.jobs.writer import Writer
from otpy.testing import explore

if TYPE_CHECKING:
    from collections.abc import Iterator

    from otpy.jobs.model.lead import Fence

pytestmark = pytest.mark.any_python

LEASE = 6.0
PROGRAMS = ("a", "b")


class Shaky(SqliteStore):
    """A store that fails when told."""

    is_failing = False

    @contextmanager
    def transaction(self) -> Iterator[Any]:
        if self.is_failing:
            raise StoreBusyError("jobs.db", "locked")
        with super().transaction() as tx:
            yield tx

    def lead(self, name: str) -> Any:
        if self.is_failing:
            raise StoreBusyError("jobs.db", "locked")
        return super().lead(name)


@dataclass
class World:
    """What both programs share, and who is alive in it."""

    path: str
    system: otpy.System
    stores: dict[str, Shaky] = field(default_factory=dict)
    bodies: list[Any] = field(default_factory=list)
    fences: list[Fence] = field(default_factory=list)

    def now(self) -> int:
        return 1_000_000 + round(self.system.clock.now() * 1_000)

    def opened(self, program: str) -> Shaky:
        self.stores[program] = Shaky(self.path, profile="fast", now=self.now)
        return self.stores[program]

    def write(self, program: str, fence: Fence) -> None:
        """As the code of a body does, and code that outlives it, in whatever thread."""
        job = NewJob(kind="k", queue="q", args=b"", run_at=0, max_errors=fence.epoch)
        writer = self.system.ref(otpy.name(Writer, f"{program}/writer"))
        writer.cast(Writer.submit, lambda tx: under(tx, fence, lambda tx: tx.insert([job])), bool)

    def living(self) -> int:
        return sum(one.is_alive() for one in self.bodies)


class Engine(otpy.Supervisor):
    """As much of one as a name needs."""

    def init(self, program: str, world: World) -> None:
        self.program, self.world = program, world
        self.setup, self.readers = SimpleNamespace(now=world.now, version=""), None

    def children(self) -> list[otpy.ChildSpec]:
        writer = otpy.child(Writer, lambda: self.world.opened(self.program))
        return [writer.opts(name=f"{self.program}/writer")]


class Body(otpy.GenServer):
    def init(self, fence: Fence, program: str, world: World) -> None:
        self.fence, self.program, self.world = fence, program, world
        world.bodies.append(self.ref)
        world.fences.append(fence)
        self.send_interval(1.0, "write")

    def handle_info(self, message: object) -> None:
        self.world.write(self.program, self.fence)


def start(world: World, program: str) -> None:
    world.system.start(otpy.child(Engine, program, world).opts(id=f"{program}-engine", name=engine_name(program)))
    made = singleton(
        "billing",
        lambda fence: otpy.child(Body, fence, program, world).opts(name=f"{program}-body", shutdown=0.5),
        engine=program,
        lease=LEASE,
    )
    world.system.start(made.opts(id=program))


def harm(world: World, chance: Random) -> None:
    """Something goes wrong in one of the programs."""
    program = chance.choice(PROGRAMS)
    what = chance.choice(["body", "candidate", "steward", "writer", "outage", "outage"])
    if what == "outage":
        world.stores[program].is_failing = not world.stores[program].is_failing
        return
    names = {"body": f"{program}-body", "writer": f"{program}/writer"}
    ref = world.system.names.get(names.get(what, f"{program}/names/billing/{what}"))
    if ref is not None:
        ref.kill()


def kept(world: World) -> list[int]:
    """The epochs of what was kept, in its order."""
    store = SqliteStore(world.path)
    with store.transaction() as tx:
        found = tx.find(Look(kind="k", limit=10_000))
    store.close()
    return [job.max_errors for job in reversed(found)]


def test_never_two_are_alive_at_once_and_nothing_old_is_kept_after_something_newer(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(sqlite3, "connect", partial(sqlite3.connect, check_same_thread=False))  # as the seed has it
    worlds: list[World] = []

    def scenario(system: otpy.System) -> None:
        with TemporaryDirectory() as folder:
            world = World(f"{folder}/jobs.db", system)
            worlds[:] = [world]
            for program in PROGRAMS:
                start(world, program)
            chance = Random(system.random.random())
            for _ in range(8):
                system.clock.advance(chance.uniform(0.1, 4.0))
                harm(world, chance)
                world.write(chance.choice(PROGRAMS), chance.choice(world.fences))
            for program in PROGRAMS:
                world.stores[program].is_failing = False
            system.clock.advance(3 * LEASE)
            assert world.living() == 1
            epochs = kept(world)
            assert epochs == sorted(epochs)
            assert len(epochs) > 5

    def alone(system: otpy.System) -> bool:
        return not worlds or worlds[0].living() <= 1

    explore(scenario, 8, invariants=[alone])
