"""The place `loop`: handlers that are coroutine functions, on one event loop of the system."""

from __future__ import annotations

import asyncio
import contextvars
import threading
from typing import TYPE_CHECKING, Any

import pytest

import otpy
from otpy.core.reason import Crashed, Killed, Normal, Shutdown
from otpy.errors import (
    BlockingError,
    CallExitError,
    CallTimeoutError,
    DeadlockError,
    NoProcError,
    SpecError,
    StartError,
)
from otpy.events import LoopBlocked
from otpy.testing import Gate, explore
from support.doer import BOOM, AsyncDoer, Doer, flush

if TYPE_CHECKING:
    from otpy.testing import Recorder, VirtualClock

LONG = 1_000.0


async def hold(actor: Any, gate: Gate) -> None:
    await gate.await_open()


async def stay(actor: Any, gate: Gate) -> None:
    """Swallow each cancellation until the gate is open."""
    while True:
        try:
            await gate.await_open()
        except asyncio.CancelledError:
            continue
        return


async def note_cancelled(actor: Any, log: list[str]) -> None:
    try:
        await otpy.asleep(LONG)
    except asyncio.CancelledError:
        log.append("cancelled")
        raise
    finally:
        log.append("cleaned up")


# --- where it runs


def test_a_class_with_a_coroutine_function_runs_on_the_loop_without_saying_so(system: otpy.System) -> None:
    ref = system.start(AsyncDoer)
    assert AsyncDoer.place == "loop"
    assert system.record(ref.path).place == "loop"
    assert ref.call(Doer.do, lambda _: threading.current_thread().name) == "otpy-loop"


def test_a_plain_class_may_run_on_the_loop(system: otpy.System) -> None:
    ref = system.start(otpy.child(Doer).opts(place="loop"))
    assert system.record(ref.path).place == "loop"
    assert ref.call(Doer.do, lambda _: threading.current_thread().name) == "otpy-loop"


@pytest.mark.parametrize("place", ["pool", "thread"])
def test_coroutine_functions_run_nowhere_else(system: otpy.System, place: Any) -> None:
    with pytest.raises(SpecError, match=r"AsyncDoer\.\w+ is async; leave place out"):
        system.start(otpy.child(AsyncDoer).opts(place=place))
    assert system.alive == 0


@pytest.mark.parametrize("start", [otpy.Supervisor, otpy.DynamicSupervisor, print])
def test_what_blocks_does_not_run_on_the_loop(system: otpy.System, start: Any) -> None:
    with pytest.raises(SpecError, match="cannot run on an event loop"):
        system.start(otpy.child(start).opts(place="loop"))


def test_all_loop_actors_share_one_thread_and_nobody_has_one_unasked(system: otpy.System) -> None:
    system.start(Doer)
    assert not system.threads
    refs = [system.start(AsyncDoer) for _ in range(3)]
    assert len({ref.call(Doer.do, lambda _: threading.get_ident()) for ref in refs}) == 1
    assert len(system.threads) == 1


def test_ten_thousand_actors(system: otpy.System) -> None:
    sup = system.start(otpy.dynamic(AsyncDoer))
    refs = sup.call(otpy.DynamicSupervisor.start_children, [otpy.child(AsyncDoer)] * 10_000)
    assert all(ref.is_alive() for ref in refs if isinstance(ref, otpy.Ref))
    assert len(refs) == 10_000
    system.wait_idle()
    sup.stop(Shutdown())
    assert system.alive == 0


def test_explorations_refuse_them_clearly() -> None:
    def scenario(system: otpy.System) -> None:
        with pytest.raises(StartError, match="loop actors do not run in explorations yet"):
            system.start(AsyncDoer)
        assert system.alive == 0

    explore(scenario, seeds=1)


# --- messages


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


# --- asyncio inside


def test_timeouts_of_asyncio_work_inside(system: otpy.System) -> None:
    async def wait(actor: Any) -> str:
        try:
            async with asyncio.timeout(0.001):
                await asyncio.Event().wait()
        except TimeoutError:
            return "in time"
        return "never"

    ref = system.start(AsyncDoer)
    assert [ref.call(Doer.do, wait) for _ in range(3)] == ["in time"] * 3


def test_groups_of_tasks_work_inside(system: otpy.System) -> None:
    server = system.start(Doer)

    async def ask_many(actor: Any) -> list[int]:
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(server.acall(Doer.do, lambda _, n: n, n)) for n in range(10)]
        return [task.result() for task in tasks]

    assert system.start(AsyncDoer).call(Doer.do, ask_many) == list(range(10))


def test_a_task_that_a_handler_starts_belongs_to_its_actor(system: otpy.System) -> None:
    async def look(actor: Any) -> otpy.Ref[Any]:
        async def who() -> otpy.Ref[Any]:
            return otpy.current()

        return await asyncio.create_task(who())

    ref = system.start(AsyncDoer)
    assert ref.call(Doer.do, look) is ref
    assert ref.call(Doer.do, lambda _: otpy.current()) is ref


def test_each_handler_has_a_task_of_its_own_for_its_whole_length(system: otpy.System) -> None:
    """Also while one lends another its step, as a call to an actor that rests does."""
    server, client = system.start(AsyncDoer), system.start(AsyncDoer)

    async def look(actor: Any) -> Any:
        before = asyncio.current_task()
        await asyncio.sleep(0)
        assert asyncio.current_task() is before
        return id(before)

    async def ask(actor: Any) -> None:
        own = asyncio.current_task()
        for _ in range(100):
            assert await server.acall(Doer.do, look) != id(own)
            assert await server.acall(Doer.do, lambda _: id(asyncio.current_task())) != id(own)
            assert asyncio.current_task() is own

    client.call(Doer.do, ask)


def test_a_cancellation_reaches_the_task_that_a_lent_handler_awaits(system: otpy.System) -> None:
    log: list[str] = []
    begun = threading.Event()

    async def beside() -> None:
        begun.set()
        try:
            await asyncio.sleep(LONG)
        finally:
            log.append("beside")

    async def wait(actor: Any) -> None:
        try:
            await asyncio.create_task(beside())
        finally:
            log.append("handler")

    async def ask(actor: Any, server: Any) -> None:
        await server.acall(Doer.do, lambda _: None)  # now a worker rests, to which the next one lends its step
        await server.acall(Doer.do, wait)

    server, client = system.start(AsyncDoer), system.start(AsyncDoer)
    client.cast(Doer.run, ask, server)
    assert begun.wait(5.0)
    server.kill()
    system.wait_idle()
    assert log == ["beside", "handler"]
    assert not client.is_alive()


def test_a_handler_that_awaits_its_own_task_is_told_so(system: otpy.System) -> None:
    server, client = system.start(AsyncDoer), system.start(AsyncDoer)

    async def ask(actor: Any) -> None:
        await server.acall(Doer.do, lambda _: None)
        await server.acall(Doer.do, lambda _: asyncio.current_task())  # it is awaited there

    with pytest.raises(CallExitError, match="cannot await on itself"):
        client.call(Doer.do, ask)


def test_a_long_chain_of_calls_does_not_exhaust_the_stack(system: otpy.System) -> None:
    async def pass_on(actor: Any, rest: list[Any]) -> int:
        return 1 + await rest[0].acall(Doer.do, pass_on, rest[1:]) if rest else 1

    refs = [system.start(AsyncDoer) for _ in range(500)]
    assert [refs[0].call(Doer.do, pass_on, refs[1:]) for _ in range(3)] == [500] * 3


# --- across places


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


# --- blocking


BLOCKING = {
    "call": lambda ref: ref.call(Doer.read),
    "ask": lambda ref: ref.ask("raw"),
    "stop": lambda ref: ref.stop(),
    "monitor": lambda ref: ref.monitor().wait(),
    "start": lambda ref: ref.system.start(Doer),
    "sleep": lambda ref: otpy.sleep(1.0),
}


@pytest.mark.parametrize("way", BLOCKING)
def test_blocking_is_refused_before_anything_is_sent(system: otpy.System, way: str) -> None:
    other = system.start(Doer)
    ref = system.start(AsyncDoer)
    alive = system.alive

    def attempt(actor: Any) -> str:
        with pytest.raises(BlockingError, match=r"t/AsyncDoer, which runs on an event loop, must not block: await"):
            BLOCKING[way](other)
        return "refused"

    assert ref.call(Doer.do, attempt) == "refused"
    assert system.alive == alive
    assert flush(other) == []


# --- ends


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


# --- waiting


def test_a_call_times_out_on_the_systems_clock(timed: otpy.System, clock: VirtualClock) -> None:
    gate = Gate()
    server, client = timed.start(AsyncDoer), timed.start(AsyncDoer)
    server.cast(Doer.run, hold, gate)
    log: list[str] = []

    async def ask(actor: Any) -> None:
        try:
            await server.acall(Doer.do, lambda _: None)
        except CallTimeoutError as error:
            log.append(str(error))

    client.cast(Doer.run, ask)
    clock.advance(4.9)
    assert log == []
    clock.advance(0.1)
    assert len(log) == 1
    gate.open()


def test_a_call_times_out_in_real_time(system: otpy.System) -> None:
    gate = Gate()
    server = system.start(AsyncDoer)
    server.cast(Doer.run, hold, gate)

    async def main() -> None:
        with pytest.raises(CallTimeoutError):
            await server.within(0.01).acall(Doer.do, lambda _: None)
        with pytest.raises(TimeoutError):
            await server.monitor().await_down(0.01)

    asyncio.run(main())
    gate.open()


def test_the_servers_death_ends_the_call(system: otpy.System) -> None:
    server = system.start(AsyncDoer)

    async def main() -> None:
        with pytest.raises(CallExitError):
            await server.acall(Doer.do, lambda _: otpy.exit(BOOM))
        with pytest.raises(NoProcError):
            await server.acall(Doer.do, lambda _: None)
        assert (await server.monitor().await_down()).reason == otpy.NoProc()

    asyncio.run(main())


def test_sleep_is_on_the_systems_clock(timed: otpy.System, clock: VirtualClock) -> None:
    ref = timed.start(AsyncDoer)

    async def nap(actor: Any) -> None:
        await otpy.asleep(3.0)
        actor.log.append("awake")

    ref.cast(Doer.run, nap)
    timed.wait_idle()
    assert timed.record(ref.path).waiting == "sleep"
    clock.advance(3.0)
    assert flush(ref) == ["awake"]


def test_a_circle_through_both_kinds_of_calls_is_found(system: otpy.System) -> None:
    plain, served = system.start(Doer), system.start(AsyncDoer)

    async def ask_plain(actor: Any) -> Any:
        return await plain.acall(Doer.do, lambda _: served.call(Doer.do, lambda _: None))

    with pytest.raises(CallExitError, match="DeadlockError"):
        served.call(Doer.do, ask_plain)

    async def ask_self(actor: Any) -> Any:
        with pytest.raises(DeadlockError):
            await actor.ref.acall(Doer.do, lambda _: None)
        return "refused"

    assert system.start(AsyncDoer).call(Doer.do, ask_self) == "refused"


# --- seen from outside


def test_the_stack_of_a_suspended_handler_is_shown(system: otpy.System) -> None:
    gate = Gate()
    ref = system.start(AsyncDoer)
    ref.cast(Doer.run, hold, gate)
    gate.reached()
    system.wait_idle()
    record = system.record(ref.path)
    assert (record.status, record.thread, record.waiting) == ("running", "otpy-loop", "gate")
    assert record.busy is not None
    stack = system.stack(ref.path)
    assert stack is not None
    assert "in hold" in stack
    assert "await gate.await_open()" in stack
    gate.open()


def test_a_handler_that_blocks_the_loop_is_reported_with_its_place(system: otpy.System) -> None:
    ref = system.start(AsyncDoer)
    found: list[LoopBlocked] = []
    heard = threading.Event()

    def note(event: LoopBlocked) -> None:
        found.append(event)
        heard.set()

    def block(actor: Any) -> bool:
        return heard.wait(5.0)

    async def block_later(actor: Any) -> bool:
        heard.clear()
        await asyncio.sleep(0)
        return block(actor)

    detach = system.events.attach(note, LoopBlocked)
    assert ref.call(Doer.do, block)
    assert ref.call(Doer.do, block_later)
    detach()
    assert [event.path for event in found] == [ref.path] * 2
    assert all("in block" in str(event) or "in wait" in str(event) for event in found)


def test_a_system_that_stops_ends_what_is_suspended(system: otpy.System) -> None:
    own = otpy.System("own")
    log: list[str] = []
    ref = own.start(AsyncDoer)
    ref.cast(Doer.run, note_cancelled, log)
    own.wait_idle()
    assert [unstopped.path for unstopped in own.stop(timeout=0.0)] == ["own/AsyncDoer"]
    assert ref.reason is not None
    assert log == ["cancelled", "cleaned up"]
