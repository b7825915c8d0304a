"""Several event loops in one system, each with a name and a thread; and uvloop, where it is installed."""

from __future__ import annotations

import asyncio
import threading
from typing import Any

import pytest

import otpy
from otpy.actors.survey import survey
from otpy.errors import BlockingError, CallExitError, SpecError
from otpy.testing import Gate, explore
from support.doer import AsyncDoer, Doer

LONG = 1_000.0


def thread_name(_: Any) -> str:
    return threading.current_thread().name


def on(loop: str | None, start: Any = AsyncDoer) -> otpy.ChildSpec:
    return otpy.child(start).opts(loop=loop)


def test_each_name_is_a_loop_with_a_thread_of_its_own(system: otpy.System) -> None:
    refs = [system.start(on(loop)) for loop in (None, "io", "io", "db")]
    assert [ref.call(Doer.do, thread_name) for ref in refs] == [
        "otpy-loop",
        "otpy-loop-io",
        "otpy-loop-io",
        "otpy-loop-db",
    ]
    assert [system.record(ref.path).place for ref in refs] == ["loop", "loop:io", "loop:io", "loop:db"]
    assert len(system.threads) == 3


def test_a_plain_class_may_say_place_and_loop(system: otpy.System) -> None:
    ref = system.start(otpy.child(Doer).opts(place="loop", loop="io"))
    assert ref.call(Doer.do, thread_name) == "otpy-loop-io"


def test_a_coroutine_function_may_have_a_loop(system: otpy.System) -> None:
    names: list[str] = []

    async def note() -> None:
        names.append(threading.current_thread().name)

    system.start(on("io", note)).monitor().wait()
    assert names == ["otpy-loop-io"]


def test_the_inspector_shows_the_loop_of_a_handler_that_waits(system: otpy.System) -> None:
    gate = Gate()
    ref = system.start(on("io"))
    ref.cast(Doer.run, lambda _: gate.await_open())
    gate.reached()
    system.wait_idle()
    record = system.record(ref.path)
    assert (record.thread, record.waiting) == ("otpy-loop-io", "gate")
    gate.open()


def test_a_loop_that_is_blocked_holds_up_no_other(system: otpy.System) -> None:
    blocked, go_on = threading.Event(), threading.Event()
    stuck, free = system.start(on("stuck")), system.start(on("free"))
    stuck.cast(Doer.run, lambda _: blocked.set() or (go_on.wait(30.0) and None))
    assert blocked.wait(30.0)
    assert free.call(Doer.do, thread_name) == "otpy-loop-free"
    go_on.set()


def test_actors_of_different_loops_call_each_other(system: otpy.System) -> None:
    one, other = system.start(on("one")), system.start(on("other"))

    async def there_and_back(_: Any, rounds: int) -> int:
        return 1 + await other.acall(Doer.do, back, rounds - 1) if rounds else 0

    async def back(_: Any, rounds: int) -> int:
        return rounds

    assert [one.call(Doer.do, there_and_back, n) for n in range(4)] == [0, 1, 2, 3]


def test_a_circle_of_calls_through_two_loops_is_found(system: otpy.System) -> None:
    one, other = system.start(on("one")), system.start(on("other"))

    async def ask_back(_: Any) -> Any:
        return await one.acall(Doer.do, thread_name)

    with pytest.raises(CallExitError, match="DeadlockError"):
        one.call(Doer.do, lambda _: other.acall(Doer.do, ask_back))


def test_a_blocking_call_from_one_loop_to_another_is_refused(system: otpy.System) -> None:
    one, other = system.start(on("one")), system.start(on("other"))

    def block(_: Any) -> str:
        with pytest.raises(BlockingError, match="acall"):
            other.call(Doer.read)
        return "refused"

    assert one.call(Doer.do, block) == "refused"


def test_a_kill_from_one_loop_cancels_a_handler_on_another(system: otpy.System) -> None:
    log: list[str] = []
    begun = threading.Event()
    one, other = system.start(on("one")), system.start(on("other"))

    async def hang(_: Any) -> None:
        begun.set()
        try:
            await asyncio.sleep(LONG)
        finally:
            log.append("cleaned up")

    other.cast(Doer.run, hang)
    assert begun.wait(30.0)
    assert one.call(Doer.do, lambda _: other.kill())
    system.wait_idle()
    assert log == ["cleaned up"]
    assert system.zombies() == []


def test_a_restart_comes_back_to_its_loop(system: otpy.System) -> None:
    class Tree(otpy.Supervisor):
        def children(self) -> list[otpy.ChildSpec]:
            return [otpy.child(AsyncDoer).opts(loop="io", name="it")]

    system.start(Tree)
    system.ref("it").kill()
    system.wait_idle()
    assert system.ref("it").call(Doer.do, thread_name) == "otpy-loop-io"


def test_in_a_program_of_asyncio_a_named_loop_has_its_own_thread_too() -> None:
    class Tree(otpy.Supervisor):
        def children(self) -> list[otpy.ChildSpec]:
            return [on("io").opts(name="io", id="io"), on(None).opts(name="own", id="own")]

    async def main() -> list[str]:
        async with otpy.run_async(Tree, control="off") as system:
            return [await system.ref(name).acall(Doer.do, thread_name) for name in ("io", "own")]

    assert asyncio.run(main()) == ["otpy-loop-io", "MainThread"]


def test_explorations_have_one_loop_for_all() -> None:
    def scenario(system: otpy.System) -> None:
        one, other = system.start(on("one")), system.start(on("other"))
        assert one.call(Doer.do, lambda _: other.acall(Doer.do, lambda _: "there")) == "there"

    explore(scenario, seeds=5)


@pytest.mark.parametrize(
    ("spec", "problem"),
    [
        (on("io", Doer), "loop='io', but Doer runs in the place 'pool': leave it out"),
        (on("io", otpy.Supervisor), "runs in the place 'pool'"),
        (otpy.child(Doer).opts(place="thread", loop="io"), "runs in the place 'thread'"),
        (on(""), "loop='': a name for an event loop"),
        (on("a\nb"), "a name for an event loop"),
        (on(2), "loop=2: a name for an event loop"),  # type: ignore[arg-type]
    ],
)
def test_a_loop_where_none_can_be_is_refused(system: otpy.System, spec: otpy.ChildSpec, problem: str) -> None:
    with pytest.raises(SpecError) as caught:
        system.start(spec)
    assert problem in str(caught.value)
    assert system.alive == 0


def test_check_knows_the_loop_without_starting_anything() -> None:
    class Tree(otpy.Supervisor):
        def children(self) -> list[otpy.ChildSpec]:
            return [on("io"), on(None).opts(id="own")]

    root = survey("tree", otpy.child(Tree)).root
    assert root is not None
    assert [part.place for part in root.children] == ["loop:io", "loop"]


def test_loops_are_those_of_uvloop_where_it_is_installed(system: otpy.System) -> None:
    uvloop = pytest.importorskip("uvloop")

    async def loop_class(_: Any) -> type:
        return type(asyncio.get_running_loop())

    refs = [system.start(on(loop)) for loop in (None, "io")]
    assert [ref.call(Doer.do, loop_class) for ref in refs] == [uvloop.Loop] * 2
