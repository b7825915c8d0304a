"""The place `loop`: how an actor with several handlers in flight ends."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import pytest

import otpy
from otpy.core.reason import Crashed, Killed, Normal, Shutdown
from otpy.errors import CallExitError
from otpy.events import ActorCrashed, DeadLetter
from otpy.testing import Gate
from support.doer import BOOM, Doer
from support.several import Pair, Several, fail, fail_late
from support.waits import LONG, hold, note_cancelled, stay

if TYPE_CHECKING:
    from otpy.testing import Recorder, VirtualClock


def test_a_crash_of_one_cancels_the_others_and_then_terminate_runs(system: otpy.System, events: Recorder) -> None:
    gate = Gate()
    log: list[Any] = []
    ref = system.start(Several, log)
    calls: list[Any] = []

    async def main() -> None:
        deeds = (lambda a: note_cancelled(a, log), lambda a: fail_late(a, gate))
        calls.extend(asyncio.create_task(ref.acall(Doer.do, deed)) for deed in deeds)
        await asyncio.to_thread(gate.reached)
        gate.open()
        for call in calls:
            with pytest.raises(CallExitError, match="ValueError: boom"):
                await call

    asyncio.run(main())
    assert log == ["cancelled", "cleaned up", ("terminate", ref.reason)]
    assert isinstance(ref.reason, Crashed)
    (report,) = events.of(ActorCrashed)
    assert report.message is not None
    assert report.message.startswith("call do(")
    assert report.callers == ("outside", "outside")


def test_what_waits_is_buried_when_one_has_crashed(system: otpy.System, events: Recorder) -> None:
    gate, never = Gate(), Gate()
    ref = system.start(Pair)
    ref.cast(Doer.run, hold, never)
    ref.cast(Doer.run, fail_late, gate)
    ref.cast(Doer.run, hold, never)
    never.reached()
    gate.reached()
    gate.open()
    system.wait_idle()
    assert isinstance(ref.reason, Crashed)
    assert [letter.message for letter in events.of(DeadLetter)] == ["cast run"]


def test_only_the_first_crash_is_the_reason(system: otpy.System) -> None:
    gate = Gate()
    ref = system.start(Several)

    async def fail_too(actor: Any) -> None:
        try:
            await gate.await_open()
        finally:
            raise KeyError("second")

    monitor = ref.monitor()
    ref.cast(Doer.run, fail_too)
    gate.reached()
    ref.cast(Doer.run, fail)
    assert "boom" in str(monitor.wait().reason)
    gate.open()


@pytest.mark.parametrize("how", ["kill", "exit", "stop decided"])
def test_all_in_flight_are_cancelled(system: otpy.System, how: str) -> None:
    log: list[Any] = []
    ref = system.start(Several)
    monitor = ref.monitor()
    for _ in range(2):
        ref.cast(Doer.run, note_cancelled, log)
    system.wait_idle()

    async def decide(actor: Any) -> Any:
        return otpy.Stop(BOOM)

    {"kill": ref.kill, "exit": lambda: ref.exit(BOOM), "stop decided": lambda: ref.cast(Doer.run, decide)}[how]()
    assert monitor.wait().reason == (Killed() if how == "kill" else BOOM)
    system.wait_idle()
    assert log in (["cancelled", "cleaned up"] * 2, ["cancelled", "cancelled", "cleaned up", "cleaned up"])
    assert system.zombies() == []
    assert ref.actor is None


def test_one_that_decides_to_stop_replies_after_terminate(system: otpy.System) -> None:
    log: list[Any] = []
    ref = system.start(Several, log)
    ref.cast(Doer.run, note_cancelled, log)

    async def decide(actor: Any) -> Any:
        return otpy.Stop(BOOM, "bye")

    assert ref.call(Doer.do, decide) == "bye"
    assert log == ["cancelled", "cleaned up", ("terminate", BOOM)]


def test_a_wish_to_stop_waits_for_those_before_it(system: otpy.System) -> None:
    gate = Gate()
    log: list[Any] = []
    ref = system.start(Several, log)
    for _ in range(2):
        ref.cast(Doer.run, hold, gate)
    gate.reached(2)
    ref.stop(block=False)
    system.wait_idle()
    assert ref.is_alive()
    gate.open()
    system.wait_idle()
    assert ref.reason == Normal()
    assert log == [("terminate", Normal())]


def test_one_that_crashes_while_a_stop_waits_is_the_reason(system: otpy.System) -> None:
    gate = Gate()
    log: list[Any] = []
    ref = system.start(Several, log)
    ref.cast(Doer.run, note_cancelled, log)
    ref.cast(Doer.run, fail_late, gate)
    gate.reached()
    ref.stop(block=False)
    gate.open()
    system.wait_idle()
    assert isinstance(ref.reason, Crashed)
    assert log == ["cancelled", "cleaned up", ("terminate", ref.reason)]


def test_an_exit_signal_cancels_those_that_a_stop_waits_for(system: otpy.System) -> None:
    log: list[Any] = []
    ref = system.start(Several, log)
    ref.cast(Doer.run, note_cancelled, log)
    ref.stop(block=False)
    system.wait_idle()
    ref.exit(BOOM)
    system.wait_idle()
    assert ref.reason == BOOM
    assert log == ["cancelled", "cleaned up"]


def test_the_shutdown_time_cancels_those_of_one_that_traps_exits(timed: otpy.System, clock: VirtualClock) -> None:
    log: list[str] = []
    sup = timed.start(otpy.dynamic())
    ref = sup.call(otpy.DynamicSupervisor.start_child, otpy.child(Several, traps=True).opts(shutdown=2.0))
    assert ref is not None
    for _ in range(2):
        ref.cast(Doer.run, note_cancelled, log)
    timed.wait_idle()
    sup.stop(Shutdown(), block=False)
    timed.wait_idle()
    assert log == []
    clock.advance(2.0)
    assert ref.reason == Killed()
    assert sorted(log) == ["cancelled", "cancelled", "cleaned up", "cleaned up"]


def test_one_that_swallows_its_cancellation_makes_the_actor_a_fenced_zombie(system: otpy.System) -> None:
    gate = Gate()
    log: list[Any] = []
    other = system.start(Doer, log)

    async def swallow(actor: Any) -> None:
        await stay(actor, gate)
        other.cast(Doer.run, lambda self: self.log.append("sent"))

    ref = system.start(Several)
    ref.cast(Doer.run, swallow)
    ref.cast(Doer.run, note_cancelled, log)
    gate.reached()
    system.wait_idle()
    ref.kill()
    gate.reached(2)
    assert [record.path for record in system.zombies()] == [ref.path]
    assert ref.actor is not None
    gate.open()
    system.wait_idle()
    assert system.zombies() == []
    assert log == ["cancelled", "cleaned up"]
    assert ref.actor is None


def test_the_callers_of_all_in_flight_hear_of_a_kill_at_once(system: otpy.System) -> None:
    gate = Gate()
    ref = system.start(Several)
    futures = [ref.ask(lambda a, _: stay(a, gate), block=False) for _ in range(2)]
    gate.reached(2)
    ref.kill()
    for future in futures:
        with pytest.raises(CallExitError):
            future.get(timeout=5.0)
    (record,) = system.exits(ref.path)
    assert (record.message, len(record.waiting)) == ("call request", 2)
    gate.open()


def test_trapped_exits_and_downs_are_handled_beside_those_in_flight(system: otpy.System) -> None:
    gate = Gate()
    log: list[Any] = []
    plain = system.start(Doer)
    ref = system.start(Several, log, traps=True)
    ref.call(Doer.do, lambda self: self.link(plain))
    ref.call(Doer.do, lambda self: self.monitor(plain))
    ref.cast(Doer.run, hold, gate)
    gate.reached()
    plain.stop(BOOM)
    system.wait_idle()
    assert {type(message) for message in log} == {otpy.Down, otpy.ExitSignal}
    gate.open()


def test_one_that_cancels_its_own_task_has_crashed(system: otpy.System) -> None:
    async def cancel_own(actor: Any) -> None:
        task = asyncio.current_task()
        assert task is not None
        task.cancel()
        await asyncio.sleep(LONG)

    with pytest.raises(CallExitError, match="CancelledError"):
        system.start(Several).call(Doer.do, cancel_own)


def test_a_cancellation_in_the_first_step_reaches_what_it_awaits(system: otpy.System) -> None:
    log: list[str] = []

    async def beside() -> None:
        try:
            await asyncio.sleep(LONG)
        finally:
            log.append("beside")

    async def wait(actor: Any) -> None:
        inner = asyncio.create_task(beside())
        await asyncio.sleep(0)
        task = asyncio.current_task()
        assert task is not None
        asyncio.get_running_loop().call_soon(task.cancel)
        await inner

    with pytest.raises(CallExitError, match="CancelledError"):
        system.start(Several).call(Doer.do, wait)
    assert log == ["beside"]
