"""The place `loop`: actors of all places call and start each other."""

from __future__ import annotations

import asyncio
import threading
from typing import TYPE_CHECKING, Any

import pytest

import otpy
from otpy.errors import (
    CallExitError,
    StartError,
)
from support.doer import AsyncDoer, Doer
from support.waits import note_cancelled

if TYPE_CHECKING:
    from otpy.testing import VirtualClock


def test_plain_and_async_actors_call_each_other(system: otpy.System) -> None:
    plain, served = system.start(Doer), system.start(AsyncDoer)

    async def ask_plain(actor: Any, n: int) -> int:
        return 1 + int(await plain.acall(Doer.do, lambda _: n))

    assert plain.call(Doer.do, lambda _: served.call(Doer.do, lambda _: "loop")) == "loop"
    assert served.call(Doer.do, ask_plain, 1) == 2


def test_a_users_own_loop_may_await_every_kind_of_actor(system: otpy.System) -> None:
    refs = [system.start(Doer), system.start(AsyncDoer), system.start(otpy.child(Doer).opts(place="thread"))]
    name = otpy.name(AsyncDoer, "named")
    system.start(otpy.child(AsyncDoer).opts(name=name))

    async def main() -> list[Any]:
        calls = [ref.acall(Doer.do, lambda _: "call") for ref in refs]
        asks = [ref.within(5.0).aask("ask") for ref in refs]
        started = await system.astart(AsyncDoer)
        assert await started.astop()
        return await asyncio.gather(*calls, *asks, system.ref(name).acall(AsyncDoer.do, lambda _: "named"))

    assert asyncio.run(main()) == ["call"] * 3 + ["ask"] * 3 + ["named"]


def test_starts_are_awaited(system: otpy.System) -> None:
    async def start(actor: Any, cls: Any, **options: Any) -> otpy.Ref[Any]:
        return await actor.aspawn_link(otpy.child(cls, **options))

    async def fail(actor: Any) -> None:
        await asyncio.sleep(0)
        raise ValueError("init")

    ref = system.start(AsyncDoer)
    for cls in (Doer, AsyncDoer):
        assert ref.call(Doer.do, start, cls).parent is ref
    with pytest.raises(CallExitError, match="StartError"):
        ref.call(Doer.do, lambda actor: start(actor, AsyncDoer, deed=fail))


def test_a_failed_init_is_the_starts_failure(system: otpy.System) -> None:
    async def fail(actor: Any) -> None:
        await asyncio.sleep(0)
        raise ValueError("init")

    with pytest.raises(StartError, match="ValueError: init"):
        system.start(AsyncDoer, deed=fail)
    assert system.alive == 0


def test_init_may_take_too_long(timed: otpy.System, clock: VirtualClock) -> None:
    log: list[str] = []
    sup = timed.start(otpy.dynamic())
    asked: list[object] = []

    def ask() -> None:
        spec = otpy.child(AsyncDoer, deed=lambda a: note_cancelled(a, log)).opts(start_timeout=2.0)
        asked.extend(sup.call(otpy.DynamicSupervisor.start_children, [spec]))

    thread = threading.Thread(target=ask)
    begun = timed.start(Doer)
    thread.start()
    while not log:
        begun.call(Doer.read)
        timed.wait_idle()
        clock.advance(2.0)
    thread.join()
    assert "took longer than 2 s" in str(asked[0])
    assert log == ["cancelled", "cleaned up"]
