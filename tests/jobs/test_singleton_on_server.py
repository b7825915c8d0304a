"""A child that exists once in two programs that share a PostgreSQL server; who was it is judged by what was kept."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import pytest

import otpy
from otpy.core.clock import EPOCH, wall_clock
from otpy.jobs.client import of
from otpy.jobs.engine import Engine, engine
from otpy.jobs.errors import StaleEpochError
from otpy.jobs.inside import enqueue_in
from otpy.jobs.kind import job
from otpy.jobs.singleton import singleton
from otpy.testing import Gate, VirtualClock
from support.postgres import fresh_url

if TYPE_CHECKING:
    from collections.abc import Iterator

    from otpy.jobs.model.lead import Fence

pytestmark = pytest.mark.any_python

LEASE = 15.0
STANDBY = 0.1 * LEASE


@job
def note(program: str, epoch: int) -> None: ...


class Body(otpy.GenServer):
    trap_exit = True

    def init(self, fence: Fence, told: list[tuple[str, int]]) -> None:
        self.fence = fence
        self.write()
        told.append((self.system.name, fence.epoch))

    @otpy.call
    def whose(self) -> Fence:
        return self.fence

    @otpy.cast
    def write(self) -> None:
        of(self.system, seconds=None).under(self.fence).enqueue(note.new(self.system.name, self.fence.epoch))


BODY = otpy.name(Body, "body")


class Town:
    """Programs `a` and `b` on one server."""

    def __init__(self, patch: pytest.MonkeyPatch) -> None:
        self.url = fresh_url()
        self.clock = VirtualClock((wall_clock() - EPOCH) / 1_000)  # from now on: the server has its own for strangers
        self.told: list[tuple[str, int]] = []
        """The bodies that have begun, in their order."""
        self.gates: dict[str, Gate] = {}
        patch.setattr(Engine, "_open", _gated(Engine._open, self.gates))
        self.systems: dict[str, otpy.System] = {}
        self.parts: dict[str, list[Any]] = {}
        self.begin("a")
        self.begin("b")
        assert self.told == [("a", 1)]

    def begin(self, name: str) -> None:
        system = self.systems[name] = otpy.System(name, clock=self.clock)
        self.parts[name] = [
            system.start(engine(self.url, [note], lease=LEASE)),
            system.start(singleton("billing", self.child, lease=LEASE)),
        ]
        system.wait_idle()

    def child(self, fence: Fence) -> otpy.ChildSpec:
        return otpy.child(Body, fence, self.told).opts(name=BODY, shutdown=1.0)

    def kill(self, name: str) -> None:
        """End one without a word."""
        names = self.systems[name].names
        for one in (names["jobs/names/billing/candidate"], names["jobs/leader"], *self.parts[name]):
            one.kill()

    def next(self, seconds: float) -> tuple[str, int]:
        """The next body, which has begun when so much time has passed."""
        count = len(self.told)
        self.clock.advance(seconds)
        assert len(self.told) == count + 1
        return self.told[count]

    def kept(self, name: str) -> list[int]:
        """The epochs of what was kept, in the order in which it was."""
        found = of(self.systems[name]).find(kind=note.name)
        return [one.arguments[0][1] for one in sorted(found, key=lambda one: one.id)]

    def stop(self) -> None:
        for system in self.systems.values():
            system.stop(timeout=20.0)


def _gated(opened: Any, gates: dict[str, Gate]) -> Any:
    def wrapped(made: Engine) -> Any:
        store = opened(made)
        begin, name = store.transaction, made.system.name

        @contextmanager
        def transaction() -> Iterator[Any]:
            if name in gates:
                gates[name].wait()
            with begin() as tx:
                yield tx

        store.transaction = transaction
        return store

    return wrapped


@pytest.fixture
def town(monkeypatch: pytest.MonkeyPatch) -> Iterator[Town]:
    made = Town(monkeypatch)
    yield made
    made.stop()


def test_it_moves_when_its_program_stops_and_when_it_is_gone(town: Town) -> None:
    where = of(town.systems["b"]).whereis("billing")
    assert where is not None
    assert (where.epoch, where.is_held) == (1, True)
    assert town.systems["a"].stop(timeout=20.0) == []
    assert town.next(1.1 * STANDBY) == ("b", 2)
    town.begin("a")
    town.kill("b")
    assert town.next(1.1 * LEASE) == ("a", 3)
    assert town.kept("a") == [1, 2, 3]


def test_what_a_frozen_program_still_writes_is_refused(town: Town) -> None:
    body = town.systems["a"].ref(BODY)
    fence = body.call(Body.whose)
    with Gate() as gate:
        town.gates["a"] = gate
        body.cast(Body.write)
        gate.reached()
        assert town.next(1.1 * LEASE) == ("b", 2)
        del town.gates["a"]
    with pytest.raises(StaleEpochError):
        of(town.systems["a"], seconds=20.0).under(fence).enqueue(note.new("a", fence.epoch))
    psycopg = pytest.importorskip("psycopg")
    with psycopg.connect(town.url) as db:
        with pytest.raises(StaleEpochError):
            enqueue_in(db, note.new("a", fence.epoch), under=fence)
        enqueue_in(db, note.new("b", 2), under=town.systems["b"].ref(BODY).call(Body.whose))
    assert town.kept("b") == [1, 2, 2]
