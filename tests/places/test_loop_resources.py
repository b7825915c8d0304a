"""The place `loop`: async context managers that an actor has entered."""

from __future__ import annotations

import asyncio
import threading
from contextlib import AbstractAsyncContextManager, asynccontextmanager, contextmanager
from typing import TYPE_CHECKING, Any

import pytest

import otpy
from otpy.core.reason import Crashed, Killed, Shutdown
from otpy.errors import CallExitError, StartError, StartTimeoutError
from otpy.places.loop_worker import LoopWorker
from otpy.testing import Gate
from support.doer import BOOM, AsyncDoer, Doer
from support.waits import LONG, hold, note_cancelled, stay

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Iterator

    from otpy.testing import VirtualClock


@asynccontextmanager
async def opened(log: list[Any], name: str) -> AsyncIterator[str]:
    await asyncio.sleep(0)
    log.append(f"open {name}")
    try:
        yield name
    finally:
        await asyncio.sleep(0)
        log.append(f"close {name}")


@contextmanager
def held(log: list[Any], name: str) -> Iterator[str]:
    log.append(f"open {name}")
    yield name
    log.append(f"close {name}")


async def open_three(actor: Any, log: list[Any]) -> None:
    assert await actor.ause(opened(log, "first")) == "first"
    assert actor.use(held(log, "second")) == "second"
    assert await actor.ause(opened(log, "third")) == "third"


class Several(AsyncDoer):
    max_concurrency = 3


OPENED = ["open first", "open second", "open third"]
CLOSED = ["close third", "close second", "close first"]
ENDS: dict[str, Any] = {
    "stop": lambda ref: ref.stop(),
    "exit": lambda ref: ref.exit(BOOM),
    "kill": lambda ref: ref.kill(),
    "crash": lambda ref: ref.cast(Doer.run, lambda _: 1 / 0),
    "decision": lambda ref: ref.cast(Doer.run, lambda _: otpy.Stop(BOOM)),
}


@pytest.mark.parametrize("cls", [AsyncDoer, Several])
@pytest.mark.parametrize("state", ["idle", "in a handler"])
@pytest.mark.parametrize("end", ENDS)
def test_all_that_was_entered_is_closed_in_one_reverse_order_whatever_the_end(
    system: otpy.System, end: str, state: str, cls: Any
) -> None:
    log: list[Any] = []
    gate = Gate()
    ref = system.start(cls, deed=lambda actor: open_three(actor, log))
    if state != "idle":
        ref.cast(Doer.run, hold, gate)
        gate.reached()
        if end not in {"exit", "kill"}:
            gate.open()
    ENDS[end](ref)
    system.wait_idle()
    assert not ref.is_alive()
    assert log == OPENED + CLOSED


@pytest.mark.parametrize("cls", [AsyncDoer, Several])
def test_a_kill_at_the_very_end_of_a_turn_closes_it_as_any_other(
    system: otpy.System, monkeypatch: pytest.MonkeyPatch, cls: Any
) -> None:
    """The turn had looked whether its actor lives, and nobody had looked after what has to be awaited."""
    log: list[Any] = []
    looks = LoopWorker._is_spoilt
    at_its_end = [True]

    def look(worker: LoopWorker) -> bool:
        ref = worker.ref
        if ref is not None and at_its_end:
            at_its_end.clear()
            in_thread(ref.kill)
        return looks(worker)

    monkeypatch.setattr(LoopWorker, "_is_spoilt", look)
    ref = system.start(cls, deed=lambda actor: open_three(actor, log))
    system.wait_idle()
    assert ref.reason == Killed()
    assert log == OPENED + CLOSED
    assert ref.actor is None
    assert system.zombies() == []


def in_thread(what: Callable[[], object]) -> None:
    thread = threading.Thread(target=what)
    thread.start()
    thread.join()


@pytest.mark.parametrize("outcome", ["crash", "stop", "ignore", "fail"])
def test_what_a_failed_init_has_entered_is_closed(system: otpy.System, outcome: str) -> None:
    log: list[Any] = []
    outcomes = {"stop": otpy.Stop(BOOM), "ignore": otpy.Ignore(), "fail": otpy.Fail(BOOM)}

    async def begin(actor: Any) -> Any:
        await open_three(actor, log)
        if outcome == "crash":
            raise ValueError("init")
        return outcomes[outcome]

    with pytest.raises(StartError):
        system.start(AsyncDoer, deed=begin)
    assert log == OPENED + CLOSED


def test_an_init_that_is_cancelled_while_it_enters_closes_what_it_has(timed: otpy.System, clock: VirtualClock) -> None:
    log: list[Any] = []
    gate = Gate()

    @asynccontextmanager
    async def slow() -> AsyncIterator[None]:
        try:
            await gate.await_open()
            yield
        finally:
            log.append("close slow")

    async def begin(actor: Any) -> None:
        await actor.ause(opened(log, "first"))
        await actor.ause(slow())

    async def main() -> None:
        task = asyncio.create_task(timed.astart(otpy.child(AsyncDoer, deed=begin).opts(start_timeout=2.0)))
        await asyncio.to_thread(gate.reached)
        assert timed.record("t/AsyncDoer").resources == ("_AsyncGeneratorContextManager",)
        await asyncio.to_thread(clock.advance, 2.0)
        with pytest.raises(StartTimeoutError):
            await task

    asyncio.run(main())
    timed.wait_idle()
    assert log == ["open first", "close slow", "close first"]


def test_they_are_closed_before_anybody_hears_of_the_end(system: otpy.System) -> None:
    log: list[Any] = []
    ref = system.start(AsyncDoer, deed=lambda actor: open_three(actor, log))
    system.start(Doer, log).call(Doer.do, lambda self: self.monitor(ref) and None)
    ref.exit(BOOM)
    system.wait_idle()
    assert log[:-1] == OPENED + CLOSED
    assert log[-1].reason == BOOM


def test_they_are_closed_after_terminate_and_after_all_handlers(system: otpy.System) -> None:
    log: list[Any] = []
    ref = system.start(Several, log, deed=lambda actor: open_three(actor, log))
    ref.cast(Doer.run, note_cancelled, log)
    system.wait_idle()
    ref.cast(Doer.run, lambda _: 1 / 0)
    system.wait_idle()
    assert isinstance(ref.reason, Crashed)
    assert log == [*OPENED, "cancelled", "cleaned up", ("terminate", ref.reason), *CLOSED]


def test_one_that_fails_to_close_keeps_none_of_the_others(system: otpy.System) -> None:
    log: list[Any] = []

    class Broken(AbstractAsyncContextManager[None]):
        async def __aexit__(self, *_: object) -> None:
            raise OSError("it is gone")

    async def begin(actor: Any) -> None:
        await actor.ause(opened(log, "first"))
        await actor.ause(Broken())
        await actor.ause(opened(log, "third"))

    system.start(AsyncDoer, deed=begin).stop()
    assert log == ["open first", "open third", "close third", "close first"]


def test_one_that_fails_to_open_is_the_handlers_failure(system: otpy.System) -> None:
    class Broken(AbstractAsyncContextManager[None]):
        async def __aenter__(self) -> None:
            raise OSError("it is not there")

        async def __aexit__(self, *_: object) -> None: ...

    with pytest.raises(CallExitError, match="it is not there"):
        system.start(AsyncDoer).call(Doer.do, lambda actor: actor.ause(Broken()))


def test_closing_shares_the_shutdown_time_and_is_cancelled_when_it_is_over(
    timed: otpy.System, clock: VirtualClock
) -> None:
    log: list[Any] = []

    class Slow(AbstractAsyncContextManager[None]):
        async def __aexit__(self, *_: object) -> None:
            await note_cancelled(None, log)

    async def begin(actor: Any) -> None:
        await actor.ause(opened(log, "first"))
        await actor.ause(Slow())

    sup = timed.start(otpy.dynamic())
    spec = otpy.child(AsyncDoer, traps=True, deed=begin).opts(shutdown=2.0)
    ref = sup.call(otpy.DynamicSupervisor.start_child, spec)
    assert ref is not None
    sup.stop(Shutdown(), block=False)
    timed.wait_idle()
    assert log == ["open first"]
    assert timed.record(ref.path).status == "stopping"
    clock.advance(2.0)
    assert ref.reason == Killed()
    assert log == ["open first", "cancelled", "cleaned up", "close first"]
    assert timed.zombies() == []


def test_a_zombies_are_closed_when_its_code_has_ended(system: otpy.System) -> None:
    log: list[Any] = []
    gate = Gate()
    ref = system.start(AsyncDoer, deed=lambda actor: open_three(actor, log))
    ref.cast(Doer.run, stay, gate)
    gate.reached()
    ref.kill()
    gate.reached(2)
    assert log == OPENED
    gate.open()
    system.wait_idle()
    assert log == OPENED + CLOSED


def test_who_was_killed_while_it_entered_leaves_nothing_open(system: otpy.System) -> None:
    log: list[Any] = []
    gate = Gate()

    @asynccontextmanager
    async def stubborn() -> AsyncIterator[None]:
        await stay(None, gate)
        yield
        log.append("closed")

    ref = system.start(AsyncDoer)
    ref.cast(Doer.run, lambda actor: actor.ause(stubborn()))
    gate.reached()
    ref.kill()
    gate.reached(2)
    gate.open()
    system.wait_idle()
    assert log == ["closed"]


def test_they_are_listed_while_they_are_open(system: otpy.System) -> None:
    log: list[Any] = []
    ref = system.start(AsyncDoer, deed=lambda actor: open_three(actor, log))
    names = ("_AsyncGeneratorContextManager", "_GeneratorContextManager", "_AsyncGeneratorContextManager")
    assert system.record(ref.path).resources == names


def test_a_task_of_the_actors_own_may_end_with_it(system: otpy.System) -> None:
    log: list[str] = []

    async def beside() -> None:
        try:
            await asyncio.sleep(LONG)
        finally:
            log.append("ended")

    class Beside(AbstractAsyncContextManager[None]):
        async def __aenter__(self) -> None:
            self.task = asyncio.create_task(beside())
            await asyncio.sleep(0)

        async def __aexit__(self, *_: object) -> None:
            self.task.cancel()
            await asyncio.wait([self.task])

    ref = system.start(AsyncDoer)
    ref.call(Doer.do, lambda actor: actor.ause(Beside()))
    ref.kill()
    system.wait_idle()
    assert log == ["ended"]
