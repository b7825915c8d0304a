"""The place `loop`: messages and decisions."""

from __future__ import annotations

import asyncio
import contextvars
from typing import TYPE_CHECKING, Any

import otpy
from otpy.testing import Gate
from support.doer import BOOM, AsyncDoer, Doer, flush
from support.waits import hold

if TYPE_CHECKING:
    from otpy.testing import VirtualClock


def test_calls_casts_and_messages_are_handled_in_order(system: otpy.System) -> None:
    ref = system.start(AsyncDoer)
    ref.cast(Doer.run, lambda self: self.log.append("cast"))
    ref.tell("told")
    assert ref.call(Doer.do, lambda self: list(self.log)) == ["cast", "told"]
    assert ref.ask("raw") == "raw"


def test_a_suspended_handler_keeps_the_mailbox_closed_and_others_go_on(system: otpy.System) -> None:
    gate = Gate()
    ref, other = system.start(AsyncDoer), system.start(AsyncDoer)
    ref.cast(Doer.run, hold, gate)
    ref.cast(Doer.run, lambda self: self.log.append("next"))
    gate.reached()
    assert other.call(Doer.do, lambda _: "alive") == "alive"
    system.wait_idle()
    assert len(ref.mailbox or ()) == 1
    gate.open()
    assert flush(ref) == ["next"]


def test_replies_may_be_put_off(system: otpy.System) -> None:
    ref = system.start(AsyncDoer)
    waiting: list[otpy.Caller] = []

    async def put_off(actor: Any) -> Any:
        waiting.append(actor.caller)
        return otpy.NoReply()

    async def main() -> Any:
        task = asyncio.create_task(ref.acall(Doer.do, put_off))
        await asyncio.sleep(0)  # it has begun
        await ref.acall(Doer.do, lambda _: None)
        assert waiting[0].reply("later")
        return await task

    assert asyncio.run(main()) == "later"


def test_decisions_are_followed(system: otpy.System) -> None:
    ref = system.start(AsyncDoer)
    log: list[Any] = []

    async def go_on(actor: Any) -> Any:
        log.extend(actor.log[0][:1])
        return otpy.Stop(BOOM)

    async def decide(actor: Any) -> Any:
        return otpy.Reply("yes", then=otpy.Continue(go_on))

    monitor = ref.monitor()
    assert ref.call(Doer.do, decide) == "yes"
    assert monitor.wait().reason == BOOM
    assert log == ["continue"]


def test_stop_replies_after_terminate(system: otpy.System) -> None:
    log: list[Any] = []
    ref = system.start(AsyncDoer, log)

    async def end(actor: Any) -> Any:
        return otpy.Stop(BOOM, "bye")

    assert ref.call(Doer.do, end) == "bye"
    assert log == [("terminate", BOOM)]
    assert not ref.is_alive()


def test_a_timeout_comes_unless_a_message_does(timed: otpy.System, clock: VirtualClock) -> None:
    log: list[Any] = []
    ref = timed.start(AsyncDoer, log)

    async def wait(actor: Any) -> Any:
        return otpy.Reply(None, timeout=2.0)

    ref.call(Doer.do, wait)
    clock.advance(2.0)
    assert log == ["timeout"]


def test_the_context_is_the_actors_own_in_all_its_handlers(system: otpy.System) -> None:
    variable: contextvars.ContextVar[str] = contextvars.ContextVar("variable", default="unset")
    one, other = system.start(AsyncDoer), system.start(AsyncDoer)

    async def put(actor: Any) -> str:
        variable.set("mine")
        await asyncio.sleep(0)
        return variable.get()

    async def get(actor: Any) -> str:
        await asyncio.sleep(0)
        return variable.get()

    assert one.call(Doer.do, put) == "mine"
    assert (one.call(Doer.do, get), other.call(Doer.do, get)) == ("mine", "unset")
    assert variable.get() == "unset"


def test_what_init_sets_in_its_context_is_the_actors_own(system: otpy.System) -> None:
    variable: contextvars.ContextVar[str] = contextvars.ContextVar("variable", default="unset")
    refs = [system.start(AsyncDoer, deed=lambda _, n=n: variable.set(n) and None) for n in ("one", "two")]
    refs.append(system.start(AsyncDoer))
    assert [ref.call(Doer.do, lambda _: variable.get()) for ref in refs] == ["one", "two", "unset"]


def test_pykkas_proxies_reach_coroutine_functions(system: otpy.System) -> None:
    class Counter(otpy.GenServer):
        async def init(self) -> None:
            self.count = 0

        async def add(self, number: int) -> int:
            await asyncio.sleep(0)
            self.count += number
            return self.count

    proxy = system.start(Counter).proxy()
    proxy.add.defer(1)
    assert proxy.add(2).get(timeout=5.0) == 3
