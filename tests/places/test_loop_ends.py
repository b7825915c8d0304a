"""The place `loop`: how its actors end."""

from __future__ import annotations

import asyncio
import threading
from typing import TYPE_CHECKING, Any

import pytest

import otpy
from otpy.core.reason import Crashed, Killed, Normal, Shutdown
from otpy.errors import (
    CallExitError,
)
from otpy.testing import Gate
from support.doer import BOOM, AsyncDoer, Doer, flush
from support.waits import LONG, hold, note_cancelled, stay

if TYPE_CHECKING:
    from otpy.testing import Recorder, VirtualClock


def test_a_crash_ends_the_actor_after_terminate(system: otpy.System, events: Recorder) -> None:
    async def crash(actor: Any) -> None:
        await asyncio.sleep(0)
        raise ValueError("boom")

    log: list[Any] = []
    ref = system.start(AsyncDoer, log)
    with pytest.raises(CallExitError, match="ValueError: boom"):
        ref.call(Doer.do, crash)
    assert isinstance(ref.reason, Crashed)
    assert log == [("terminate", ref.reason)]


def test_a_kill_cancels_a_suspended_handler(system: otpy.System) -> None:
    log: list[str] = []
    ref = system.start(AsyncDoer)
    ref.cast(Doer.run, note_cancelled, log)
    system.wait_idle()
    ref.kill()
    system.wait_idle()
    assert ref.reason == Killed()
    assert log == ["cancelled", "cleaned up"]
    assert system.zombies() == []


@pytest.mark.parametrize("form", ["asyncio", "otpy", "call"])
def test_an_exit_signal_cancels_whatever_is_awaited(system: otpy.System, form: str) -> None:
    gate = Gate()
    server = system.start(AsyncDoer)
    server.cast(Doer.run, hold, gate)
    begun = threading.Event()
    forms = {
        "asyncio": lambda: asyncio.sleep(LONG),
        "otpy": lambda: otpy.asleep(LONG),
        "call": lambda: server.within(None).acall(Doer.do, lambda _: None),
    }

    async def wait(actor: Any) -> None:
        begun.set()
        await forms[form]()

    ref = system.start(AsyncDoer)
    monitor = ref.monitor()
    ref.cast(Doer.run, wait)
    assert begun.wait(5.0)
    ref.exit(BOOM)
    assert monitor.wait().reason == BOOM
    gate.open()


def test_a_stop_waits_for_the_handler(system: otpy.System) -> None:
    gate = Gate()
    log: list[Any] = []
    ref = system.start(AsyncDoer, log)
    ref.cast(Doer.run, hold, gate)
    gate.reached()
    ref.stop(block=False)
    system.wait_idle()
    assert ref.is_alive()
    gate.open()
    system.wait_idle()
    assert ref.reason == Normal()
    assert log == [("terminate", Normal())]


def test_the_shutdown_time_cancels_one_that_traps_exits(timed: otpy.System, clock: VirtualClock) -> None:
    log: list[str] = []
    sup = timed.start(otpy.dynamic())
    ref = sup.call(otpy.DynamicSupervisor.start_child, otpy.child(AsyncDoer, traps=True).opts(shutdown=2.0))
    assert ref is not None
    ref.cast(Doer.run, note_cancelled, log)
    timed.wait_idle()
    sup.stop(Shutdown(), block=False)
    timed.wait_idle()
    assert log == []
    clock.advance(2.0)
    assert ref.reason == Killed()
    assert log == ["cancelled", "cleaned up"]


def test_one_that_swallows_its_cancellation_is_a_fenced_zombie(system: otpy.System) -> None:
    gate = Gate()
    log: list[Any] = []
    other = system.start(Doer, log)

    async def swallow(actor: Any) -> None:
        await stay(actor, gate)
        other.cast(Doer.run, lambda self: self.log.append("sent"))

    ref = system.start(AsyncDoer)
    ref.cast(Doer.run, swallow)
    gate.reached()
    ref.kill()
    gate.reached(2)
    assert ref.reason == Killed()
    assert [record.path for record in system.zombies()] == [ref.path]
    gate.open()
    system.wait_idle()
    assert system.zombies() == []
    assert flush(other) == []


def test_a_cancellation_hits_the_handler_it_was_meant_for_alone(system: otpy.System) -> None:
    """The task of one that was cancelled, and ended at the same time, runs nobody else's handler."""
    gate = Gate()

    async def cancel_own(actor: Any) -> str:
        await asyncio.sleep(0)
        task = asyncio.current_task()
        assert task is not None
        task.cancel()
        return "done"

    ref, other = system.start(AsyncDoer), system.start(AsyncDoer)
    assert ref.call(Doer.do, cancel_own) == "done"
    other.cast(Doer.run, hold, gate)
    gate.reached()
    gate.open()
    assert flush(other) == []


def test_links_and_monitors_reach_and_leave_the_loop(system: otpy.System) -> None:
    plain = system.start(Doer)
    log: list[Any] = []
    ref = system.start(AsyncDoer, log, traps=True)
    ref.call(Doer.do, lambda self: self.link(plain))
    ref.call(Doer.do, lambda self: self.monitor(plain))
    plain.stop(BOOM)
    system.wait_idle()
    assert {type(message) for message in log} == {otpy.Down, otpy.ExitSignal}
    assert {message.reason for message in log} == {BOOM}
