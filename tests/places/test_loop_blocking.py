"""The place `loop`: nothing blocks it, neither from a handler nor from a task or a callback beside one."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import pykka
import pytest

import otpy
from otpy.errors import BlockingError, DeadlockError
from otpy.runtime.pykka import Future
from otpy.testing import Gate, Probe, Recorder, VirtualClock
from support.doer import AsyncDoer, Doer, flush

if TYPE_CHECKING:
    from collections.abc import Callable

BLOCKING: dict[str, tuple[Callable[[Any], object], str]] = {
    "call": (lambda ref: ref.call(Doer.read), "Ref.call: await ref.acall"),
    "within": (lambda ref: ref.within(1.0).call(Doer.read), "Within.call: await ref.within(…).acall"),
    "named": (lambda ref: ref.system.ref("other").call(Doer.read), "NamedRef.call: await ref.acall"),
    "name wait": (lambda ref: _patient(ref, "nobody").call(Doer.read), "NamedRef.call: await ref.acall"),
    "named stop": (lambda ref: ref.system.ref("other").stop(), "NamedRef.stop: await ref.astop"),
    "ask": (lambda ref: ref.ask("raw"), "Ref.ask: await ref.aask"),
    "within ask": (lambda ref: ref.within(1.0).ask("raw"), "Within.ask: await ref.within(…).aask"),
    "future": (lambda ref: _held(ref).get(), "Future.get: await the future itself"),
    "futures": (lambda ref: pykka.get_all([_held(ref)]), "Future.get: await the future itself"),
    "proxy": (lambda ref: setattr(ref.proxy(), "log", []), "Ref.ask: await ref.aask"),
    "stop": (lambda ref: ref.stop(), "Ref.stop: await ref.astop"),
    "monitor": (lambda ref: ref.monitor().wait(), "OutsideMonitor.wait: await monitor.await_down"),
    "start": (lambda ref: ref.system.start(Doer), "System.start: await system.astart"),
    "spawn_link": (lambda ref: ref.actor.spawn_link(Doer), "Actor.spawn_link: await self.aspawn_link"),
    "sleep": (lambda _: otpy.sleep(1.0), "sleep: await otpy.asleep"),
    "wait_idle": (lambda ref: ref.system.wait_idle(), "System.wait_idle: it has no form to be awaited"),
    "state": (lambda ref: ref.system.state(ref.path), "System.state: it has no form"),
    "suspend": (lambda ref: ref.system.suspend(ref.path), "System.suspend: it has no form"),
    "resume": (lambda ref: ref.system.resume(ref.path), "System.resume: it has no form"),
    "run": (lambda _: otpy.run(Doer).__enter__(), "run: await otpy.run_async"),
    "another system": (lambda _: otpy.System("another").stop(), "System.stop: await system.astop"),
    "gate": (lambda _: Gate().wait(), "Gate.wait: await gate.await_open"),
    "reached": (lambda _: Gate().reached(), "Gate.reached: it has no form"),
    "probe": (lambda ref: Probe(ref.system), "Probe.__init__: it has no form"),
    "recorder": (lambda ref: Recorder(ref.system).expect(1), "Recorder.expect: it has no form"),
    "clock": (lambda _: VirtualClock().advance(1.0), "VirtualClock.advance: it has no form"),
}


def _patient(ref: otpy.Ref[Any], name: str) -> Any:
    return ref.system.ref(name).within(1.0, wait_for_name=1.0)


def _held(ref: Any) -> Future[Any]:
    """A future that is not filled before its `get` was tried."""
    made: Future[Any] = Future()
    ref.system.timers.after(1_000.0, made.set, None)
    return made


@pytest.fixture
def other(system: otpy.System) -> otpy.Ref[Doer]:
    return system.start(otpy.child(Doer).opts(name="other"))


@pytest.mark.parametrize("way", BLOCKING)
def test_blocking_is_refused_before_anything_is_sent(system: otpy.System, other: otpy.Ref[Doer], way: str) -> None:
    block, words = BLOCKING[way]
    ref = system.start(AsyncDoer)
    alive = system.alive

    def attempt(actor: Any) -> str:
        with pytest.raises(BlockingError) as found:
            block(other)
        return str(found.value)

    who = "t/AsyncDoer, which runs on an event loop, must not block in "
    assert ref.call(Doer.do, attempt).startswith(who + words)
    assert system.alive == alive
    assert flush(other) == []


def test_a_task_beside_a_handler_must_not_block_either(system: otpy.System, other: otpy.Ref[Doer]) -> None:
    async def beside() -> str:
        with pytest.raises(BlockingError, match=r"t/AsyncDoer, which runs .* must not block in Ref\.call"):
            other.call(Doer.read)
        return "refused"

    ref = system.start(AsyncDoer)
    assert ref.call(Doer.do, lambda _: asyncio.create_task(beside())) == "refused"


def test_a_callback_of_the_loop_that_is_no_actors_must_not_block_either(
    system: otpy.System, other: otpy.Ref[Doer]
) -> None:
    def attempt() -> str:
        with pytest.raises(BlockingError, match=r"the thread of an event loop must not block in Ref\.call: await"):
            other.call(Doer.read)
        return "refused"

    async def look(actor: Any) -> str:
        from contextvars import Context  # noqa: PLC0415 - one test's own

        told = asyncio.get_running_loop().create_future()
        asyncio.get_running_loop().call_soon(lambda: told.set_result(attempt()), context=Context())
        return str(await told)

    assert system.start(AsyncDoer).call(Doer.do, look) == "refused"


def test_an_actor_that_would_stop_its_own_system_is_told_of_the_circle(system: otpy.System) -> None:
    def attempt(actor: Any) -> str:
        with pytest.raises(DeadlockError):
            actor.system.stop()
        return "refused"

    assert system.start(AsyncDoer).call(Doer.do, attempt) == "refused"


def test_what_has_no_form_to_be_awaited_may_be_called_on_another_thread(
    system: otpy.System, other: otpy.Ref[Doer]
) -> None:
    async def elsewhere(actor: Any) -> list[Any]:
        state = await asyncio.to_thread(actor.system.state, other.path)
        return list(state.state)

    assert system.start(AsyncDoer).call(Doer.do, elsewhere) == ["log = []"]


def test_a_future_of_pykkas_is_awaited(system: otpy.System, other: otpy.Ref[Doer]) -> None:
    gate = Gate()

    async def ask(actor: Any) -> Any:
        future = other.ask(lambda *_: gate.wait() or "answer", block=False)
        asyncio.get_running_loop().call_soon(gate.open)
        return await future, await other.ask("again", block=False)

    assert system.start(AsyncDoer).call(Doer.do, ask) == ("answer", "again")
    assert asyncio.run(ask(None)) == ("answer", "again")


def test_who_awaits_a_future_may_be_killed(system: otpy.System) -> None:
    async def wait(actor: Any) -> None:
        await Future()

    ref = system.start(AsyncDoer)
    ref.cast(Doer.run, wait)
    system.wait_idle()
    assert system.record(ref.path).waiting == "future"
    assert ref.kill()
    system.wait_idle()
    assert system.zombies() == []


def test_a_named_actor_is_stopped_by_a_coroutine(system: otpy.System, other: otpy.Ref[Doer]) -> None:
    async def stop(actor: Any) -> list[bool]:
        named = actor.system.ref("other")
        return [await named.astop(), await named.astop()]

    assert system.start(AsyncDoer).call(Doer.do, stop) == [True, False]
