"""The place `loop`: how its actors end."""

from __future__ import annotations

import asyncio
import gc
import threading
import warnings
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import pytest

import otpy
from otpy.core.reason import Crashed, Killed, Normal, Shutdown
from otpy.errors import CallExitError, StartError
from otpy.testing import Gate, explore
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


def test_the_reason_of_one_end_ends_the_next_actor_too(system: otpy.System) -> None:
    """As links pass it on: the very same reason, on the worker that has just seen the other end."""
    gate = Gate()
    first, second = system.start(AsyncDoer), system.start(AsyncDoer)
    first.cast(Doer.run, lambda self: self.ref.exit(BOOM))
    system.wait_idle()
    second.cast(Doer.run, hold, gate)
    gate.reached()
    monitor = second.monitor()
    second.exit(BOOM)
    assert monitor.wait().reason == BOOM


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
    assert begun.wait(30.0)
    ref.exit(BOOM)
    assert monitor.wait().reason == BOOM
    gate.open()


@pytest.mark.parametrize("calls", [0, 1, 40])
@pytest.mark.parametrize("how", ["kill", "exit"])
def test_who_is_told_to_die_by_whom_it_calls_gets_no_further(system: otpy.System, how: str, calls: int) -> None:
    """Also when its call is served in the middle of its own step, as those after the first are."""
    log: list[str] = []
    server, client = system.start(AsyncDoer), system.start(AsyncDoer)

    def end(actor: Any) -> str:
        client.kill() if how == "kill" else client.exit(BOOM)
        return "reply"

    async def ask(actor: Any) -> None:
        for _ in range(calls):
            await server.acall(Doer.do, lambda _: None)
        try:
            log.append(await server.acall(Doer.do, end))
        except asyncio.CancelledError:
            log.append("cancelled")
            raise

    client.cast(Doer.run, ask)
    system.wait_idle()
    assert log == ["cancelled"]
    assert client.reason == (Killed() if how == "kill" else BOOM)
    assert system.zombies() == []
    assert server.call(Doer.do, lambda _: "alive") == "alive"


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


def test_the_cancellation_of_one_handler_is_not_felt_by_the_next_on_its_task(system: otpy.System) -> None:
    """A TaskGroup whose task was told to cancel before takes its own cancellation for that one."""
    other = system.start(AsyncDoer)
    ends: list[object] = []

    async def end_and_send(_: Any) -> None:
        try:
            await otpy.asleep(LONG)
        finally:
            other.cast(Doer.run, fail_in_group, ends)

    ref = system.start(AsyncDoer)
    ref.cast(Doer.run, end_and_send)
    system.wait_idle()
    ref.exit(BOOM)
    system.wait_idle()
    assert ends == [0, ExceptionGroup]
    assert other.is_alive()


async def fail_in_group(_: Any, ends: list[object]) -> None:
    task = asyncio.current_task()
    assert task is not None
    ends.append(task.cancelling())
    try:
        async with asyncio.TaskGroup() as group:
            group.create_task(fail())
            await asyncio.sleep(LONG)
    except BaseException as error:
        ends.append(type(error))


async def fail() -> None:
    raise ValueError("fail")


def test_an_init_that_is_told_to_end_before_it_begins_is_not_begun() -> None:
    begun: list[bool] = []

    async def begin(_: Any) -> None:
        begun.append(True)

    def start(actor: Any) -> None:
        with suppress(StartError):
            actor.spawn_link(AsyncDoer, deed=begin)

    def push(actor: Any) -> None:
        ref = actor.system.find("seeded/Doer/AsyncDoer")
        if ref is not None:
            ref.exit(BOOM)

    outcomes: set[tuple[bool, bool]] = set()

    def scenario(system: otpy.System) -> None:
        begun.clear()
        parent = system.start(Doer, traps=True)
        parent.cast(Doer.run, start)
        system.start(Doer).cast(Doer.run, push)
        system.wait_idle()
        outcomes.add((bool(begun), system.find("seeded/Doer/AsyncDoer") is not None))

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        explore(scenario, 60)
        gc.collect()
    assert (False, False) in outcomes
    assert [str(warning.message) for warning in caught] == []
