"""The same seed gives exactly the same run; another seed gives another one."""

from __future__ import annotations

import os
import subprocess
import sys
from contextlib import suppress
from random import Random
from typing import TYPE_CHECKING

import pytest

import otpy
from otpy.errors import CallExitError, CallTimeoutError, StartError
from otpy.testing import ExplorationError, Gate, Probe, Recorder, explore, replay

if TYPE_CHECKING:
    from otpy.testing import VirtualSystem


class Store(otpy.GenServer):
    """Counts; dies when asked to; ticks."""

    def init(self) -> None:
        self.total = 0
        self.send_interval(0.5, "tick")

    def handle_info(self, message: object) -> None:
        self.total += 1

    @otpy.call
    def add(self, number: int) -> int:
        self.total += number
        return self.total

    @otpy.call
    def add_slowly(self, number: int) -> int:
        otpy.sleep(0.3)
        return self.add(number)

    @otpy.call
    def crash(self) -> None:
        raise ValueError("boom")


STORE = otpy.name(Store, "store")


class Client(otpy.GenServer):
    """Calls the store every now and then, and sometimes crashes by chance."""

    def init(self, number: int) -> None:
        self.number = number
        self.send_after(0.1 * number, "work")

    def handle_info(self, message: object) -> None:
        store = self.system.ref(STORE)
        try:
            store.call(Store.add, self.number)
            store.within(0.2).call(Store.add_slowly, self.number)
        except (CallExitError, CallTimeoutError):
            pass
        if self.system.random.random() < 0.1:
            raise KeyError(self.number)
        self.send_after(0.7, "work")


class Slow(otpy.GenServer):
    def init(self, seconds: float) -> None:
        otpy.sleep(seconds)


class Session(otpy.GenServer):
    trap_exit = True

    def handle_info(self, message: object) -> None:
        if message == "crash":
            raise RuntimeError("session")

    @otpy.call
    def put_off(self) -> object:
        return otpy.NoReply()


class Held(otpy.GenServer):
    def init(self, gate: Gate) -> None:
        self.gate = gate

    @otpy.cast
    def go(self) -> None:
        self.gate.wait()

    @otpy.call
    def ping(self) -> str:
        return "pong"


def work(rounds: int) -> None:
    for _ in range(rounds):
        otpy.sleep(0.4)


class Tree(otpy.Supervisor):
    strategy = "rest_for_one"
    max_restarts = 100

    def children(self) -> list[otpy.ChildSpec]:
        return [
            otpy.child(Store).opts(id="store", name=STORE),
            *(otpy.child(Client, number).opts(id=f"client{number}") for number in range(1, 4)),
            otpy.child(Slow, 0.2).opts(id="slow", start_timeout=1.0),
            otpy.child(work, 5).opts(id="work", place="thread"),
            otpy.dynamic(Session, max_restarts=100).opts(id="sessions"),
        ]


def everything(system: VirtualSystem) -> None:
    """Calls between actors, timers, crashes, restarts, start timeouts, sleeps, kills, links, late replies, names."""
    root = system.start_root(otpy.child(Tree))
    probe = Probe(system, trap_exit=True)
    with suppress(CallExitError):  # in some runs the sessions' supervisor is restarted in the middle
        disturb([sessions(root).call(otpy.DynamicSupervisor.start_with) for _ in range(6)], probe)
    system.clock.advance(1.3)
    for _ in range(2):
        with suppress(CallExitError):
            system.ref(STORE).call(Store.crash)
        system.wait_idle()
    with suppress(CallExitError, StartError):
        late = otpy.child(Slow, 9.0).opts(start_timeout=0.5)
        sessions(root).call(otpy.DynamicSupervisor.start_child, late)
    otpy.sleep(2.0)
    probe.expect(2)


def sessions(root: otpy.Ref[Tree]) -> otpy.Ref[otpy.DynamicSupervisor]:
    """Their present supervisor; the root answers when it has nothing to restart."""
    infos = root.within(60.0).call(otpy.Supervisor.which_children)
    ref = next(info.ref for info in infos if info.id == "sessions")
    assert ref is not None
    return ref


def disturb(refs: list[otpy.Ref[Session] | None], probe: Probe) -> None:
    """Watch sessions, have callers wait for them, and end some."""
    found = [ref for ref in refs if ref is not None]
    for ref in found:
        probe.link(ref)
        probe.monitor(ref)
        ref.system.start(ask, ref, probe)
    for ref in found[:3]:
        ref.tell("crash")
    found[4].kill()


def ask(ref: otpy.Ref[Session], probe: Probe) -> None:
    try:
        ref.call(Session.put_off)
    except CallExitError as error:
        probe.ref.tell(str(error))


def test_the_same_seed_gives_the_same_run() -> None:
    runs = [replay(everything, 7) for _ in range(3)]

    assert runs[0] == runs[1] == runs[2]
    assert len(runs[0]) > 200


def test_other_seeds_give_other_runs() -> None:
    runs = {tuple(replay(everything, seed)) for seed in range(8)}

    assert len(runs) == 8


def test_what_an_exploration_ran_on_used_threads_is_replayed_exactly() -> None:
    seen: dict[int, list[str]] = {}

    def scenario(system: VirtualSystem) -> None:
        with Recorder(system) as recorder:
            everything(system)
        seen.setdefault(len(seen), []).extend(f"{event.path} {type(event).__name__}" for event in recorder.events)

    explore(scenario, seeds=[3, 4, 3])

    assert seen[0] == seen[2] != seen[1]


def test_the_steps_of_a_failed_run_are_those_of_its_replay() -> None:
    """Also when it ran late, on threads that had been used and in another order."""

    def scenario(system: VirtualSystem) -> None:
        is_ninth = system.random.getrandbits(32) == Random(9).getrandbits(32)
        everything(system)
        with Gate() as gate:
            zombie = system.start(Held, gate)
            zombie.cast(Held.go)
            gate.reached()
            zombie.kill()
            assert not is_ninth

    with pytest.raises(ExplorationError) as explored:
        explore(scenario, 20)
    with pytest.raises(ExplorationError) as replayed:
        replay(scenario, 9)

    assert explored.value.seed == 9
    assert explored.value.steps == replayed.value.steps[-len(explored.value.steps) :]
    assert any("ZombieMade" in step.message for step in explored.value.steps)


SCRIPT = """
import logging, sys
sys.path[:0] = sys.argv[1:]
logging.disable(logging.CRITICAL)
from test_replay import everything
from otpy.testing import replay
print(*replay(everything, 11), sep="\\n")
"""


def test_a_run_is_the_same_in_another_process() -> None:
    """Neither addresses nor the hashes of texts decide anything."""
    another = "2" if os.environ.get("PYTHONHASHSEED") == "1" else "1"
    here = os.path.dirname(__file__)  # noqa: PTH120 - a path for sys.path is a text
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, here],
        env={**os.environ, "PYTHONHASHSEED": another},
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )

    assert done.stdout.splitlines() == [str(step) for step in replay(everything, 11)]


def test_many_seeds_of_everything_leave_nothing_behind() -> None:
    explore(everything, seeds=60)


def test_steps_say_when_who_and_what() -> None:
    def scenario(system: VirtualSystem) -> None:
        store = system.start(Store)
        store.call(Store.add_slowly, 1)

    steps = [str(step).strip() for step in replay(scenario, 0)]

    assert steps == [
        "0.000  seeded/Store: init",
        "0.000  the scenario: goes on after the start of seeded/Store",
        "0.000  seeded/Store: call add_slowly",
        "0.300  the clock: goes on to the next timer",
        "0.300  seeded/Store: goes on after its sleep",
        "0.300  the scenario: goes on after the reply of seeded/Store to add_slowly",
        "0.300  seeded/Store: stop Shutdown(detail=None)",
        "0.300  the scenario: goes on after the end of seeded/Store",
    ]


def test_gates_hold_actors_in_a_seeded_run_too() -> None:
    def scenario(system: VirtualSystem) -> None:
        with Gate() as gate:
            held, free = system.start(Held, gate), system.start(Held, gate)
            held.cast(Held.go)
            assert gate.reached() == [held.path]
            assert free.call(Held.ping) == "pong"
            system.wait_idle()
            gate.open()
            assert held.call(Held.ping) == "pong"

    assert replay(scenario, 1) == replay(scenario, 1)
    explore(scenario, seeds=20)


def test_futures_of_pykka_are_waited_for_inside_the_run() -> None:
    class Server(otpy.GenServer):
        def handle_call(self, request: float, caller: otpy.Caller) -> float:
            otpy.sleep(request)
            return self.system.clock.now()

        @otpy.call
        def ask(self, other: otpy.Ref[Server]) -> float:
            reply: float = other.ask(1.0, block=False).get()
            return reply

    def scenario(system: VirtualSystem) -> None:
        one, two = system.start(Server), system.start(Server)
        future = one.ask(2.0, block=False)
        assert two.call(Server.ask, one) == 3.0
        assert future.get() == 2.0

    explore(scenario, seeds=20)
