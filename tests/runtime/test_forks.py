"""A forked child has its parent's memory and none of its threads: the actors are not its own."""

from __future__ import annotations

import os
import threading
from typing import TYPE_CHECKING

import pytest

import otpy
from otpy.errors import NoProcError, SystemStoppedError
from support.doer import Doer, flush
from support.forks import in_a_child

if TYPE_CHECKING:
    from collections.abc import Callable

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")


def raises(error: type[Exception], deed: Callable[[], object]) -> bool:
    try:
        deed()
    except error:
        return True
    return False


DEEDS: dict[str, Callable[[otpy.System, otpy.Ref[Doer]], bool]] = {
    "not alive": lambda _, ref: not ref.is_alive(),
    "call": lambda _, ref: raises(NoProcError, lambda: ref.within(None).call(Doer.read)),
    "ask": lambda _, ref: raises(NoProcError, lambda: ref.ask("x", timeout=None)),
    "future": lambda _, ref: raises(NoProcError, lambda: ref.ask("x", block=False).get(timeout=5)),
    "cast": lambda _, ref: ref.cast(Doer.run, lambda self: self) is None,
    "tell": lambda _, ref: ref.tell("x") is None,
    "stop": lambda _, ref: raises(NoProcError, ref.stop),
    "monitor": lambda _, ref: ref.monitor().wait(None).reason == otpy.NoProc(),
    "whereis": lambda system, _: system.whereis("it") is None,
    "name": lambda system, _: raises(NoProcError, lambda: system.ref("it").ask("x")),
    "find": lambda system, _: system.find("t/Doer") is None,
    "start": lambda system, _: raises(SystemStoppedError, lambda: system.start(Doer)),
    "stop the system": lambda system, _: system.stop() == [],
    "kill": lambda _, ref: ref.kill() in (True, False),
    "timer": lambda system, _: system.timers.after(0.0, int) is not None,
    "a system of its own": lambda *_: _works(otpy.System("own")),
}


def _works(system: otpy.System) -> bool:
    ref = system.start(Doer)
    works = ref.call(Doer.do, lambda _: 1) == 1
    return works and system.stop() == []


@pytest.mark.parametrize("deed", DEEDS)
def test_a_forked_child_does_not_own_its_parents_actors(system: otpy.System, deed: str) -> None:
    """Nothing hangs, nothing is claimed to be alive, and the parent does not notice."""
    ref = system.start(otpy.child(Doer).opts(name="it"))
    assert in_a_child(lambda: DEEDS[deed](system, ref)) == 0
    assert flush(ref) == []
    assert system.whereis("it") is ref


@pytest.mark.report("D133", "python/cpython#105464", "python/cpython#105829", "python/cpython#90622")
def test_locks_that_were_held_at_the_fork_do_not_hang_the_child(system: otpy.System) -> None:
    """The thread that would release them is not in the child."""
    ref = system.start(Doer)
    system.timers.after(60.0, int)
    held, done = threading.Event(), threading.Event()

    def hold() -> None:
        with system.lock, system.timers.guard, system.pool._lock:
            held.set()
            done.wait()

    holder = threading.Thread(target=hold)
    holder.start()
    held.wait(30)
    assert (
        in_a_child(lambda: all(deed(system, ref) for name, deed in DEEDS.items() if name != "a system of its own")) == 0
    )
    done.set()
    holder.join(30)


def test_an_actor_may_fork(system: otpy.System) -> None:
    """In the child its thread is the only one; the parent's actor goes on."""
    ref, other = system.start(Doer), system.start(Doer)

    def fork(_: Doer) -> int:
        return in_a_child(lambda: raises(NoProcError, lambda: other.call(Doer.read)) and not other.is_alive())

    assert ref.within(20).call(Doer.do, fork) == 0
    assert flush(other) == []
