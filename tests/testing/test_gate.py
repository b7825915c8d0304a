"""Gates hold actors and threads until they are opened."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

import pytest

import otpy
from otpy.testing import Gate, Probe, Recorder

if TYPE_CHECKING:
    from collections.abc import Iterator


class Guarded(otpy.GenServer):
    def init(self, gate: Gate) -> None:
        self.gate = gate

    @otpy.cast
    def go(self) -> None:
        self.gate.wait()

    @otpy.cast
    def go_and_tell(self, probe: otpy.Ref[object]) -> None:
        self.gate.wait()
        probe.tell("through")

    @otpy.call
    def ping(self) -> str:
        return "pong"


@pytest.fixture
def system() -> Iterator[otpy.System]:
    system = otpy.System("g")
    yield system
    assert system.stop(timeout=30.0) == []


@pytest.fixture
def gate() -> Iterator[Gate]:
    with Gate() as gate:
        yield gate


def test_an_actor_stops_at_a_closed_gate_and_others_go_on(system: otpy.System, gate: Gate) -> None:
    held, free, probe = system.start(Guarded, gate), system.start(Guarded, gate), Probe(system)
    held.cast(Guarded.go_and_tell, probe.ref)

    who = gate.reached()
    pong = free.call(Guarded.ping)
    system.wait_idle()
    before = probe.messages
    gate.open()

    assert (who, pong, before) == (["g/Guarded"], "pong", [])
    assert probe.expect(1) == ["through"]


def test_many_pool_actors_are_held_at_once(system: otpy.System, gate: Gate) -> None:
    held = [system.start(Guarded, gate) for _ in range(20)]
    for ref in held:
        ref.cast(Guarded.go)

    who = gate.reached(20)
    gate.open()

    assert sorted(who) == sorted(ref.path for ref in held)
    assert {ref.call(Guarded.ping) for ref in held} == {"pong"}


def test_an_open_gate_holds_nobody(system: otpy.System, gate: Gate) -> None:
    gate.open()
    ref = system.start(Guarded, gate)

    ref.cast(Guarded.go)

    assert ref.call(Guarded.ping) == "pong"
    assert gate.reached() == ["g/Guarded"]


def test_a_gate_can_be_closed_again(system: otpy.System, gate: Gate) -> None:
    gate.open()
    gate.close()
    ref = system.start(Guarded, gate)
    ref.cast(Guarded.go)

    gate.reached()

    assert system.record(ref.path).status == "running"
    gate.open()


def test_an_ordinary_thread_is_held_too(gate: Gate) -> None:
    thread = threading.Thread(target=gate.wait, name="somebody")
    thread.start()

    who = gate.reached()
    gate.open()
    thread.join(30.0)

    assert (who, thread.is_alive()) == (["somebody"], False)


def test_who_does_not_come_is_missed(gate: Gate) -> None:
    with pytest.raises(TimeoutError, match=r"0 of 2 came within 0\.001 s: nothing"):
        gate.reached(2, timeout=0.001)


def test_leaving_the_block_opens_it() -> None:
    with pytest.raises(ZeroDivisionError), Gate() as gate:
        raise ZeroDivisionError

    gate.wait()


def test_a_killed_actor_stays_at_the_gate_as_a_zombie(system: otpy.System, gate: Gate) -> None:
    probe, recorder = Probe(system), Recorder(system)
    ref = system.start(Guarded, gate)
    ref.cast(Guarded.go_and_tell, probe.ref)
    gate.reached()

    ref.kill()
    zombies = [record.path for record in system.zombies()]
    gate.open()
    system.wait_idle()

    assert zombies == ["g/Guarded"]
    assert system.zombies() == []
    assert probe.messages == []  # fenced
    assert [type(event).__name__ for event in recorder.events] == ["ZombieMade", "ZombieEnded"]


def test_a_function_child_is_held_in_its_own_thread(system: otpy.System, gate: Gate) -> None:
    def work() -> None:
        gate.wait()

    ref = system.start(work)

    assert gate.reached() == ["g/work"]
    gate.open()
    assert ref.monitor().wait().reason == otpy.Normal() or not ref.is_alive()
