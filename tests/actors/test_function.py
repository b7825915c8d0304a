"""Functions and coroutine functions as children: they run once, in their own place, and leave when told to."""

from __future__ import annotations

import asyncio
import threading
from functools import partial
from typing import TYPE_CHECKING, Any

import pytest

import otpy
from otpy.core.reason import Crashed, Exit, Killed, Normal, RestartLimit, Shutdown
from otpy.events import ActorCrashed, ChildUnstopped, ZombieMade
from otpy.testing.recorder import Recorder
from support.lab import Asker, states, tree

if TYPE_CHECKING:
    from collections.abc import Callable

    from otpy.testing import Gate
    from support.lab import Lab

SUP = otpy.Supervisor

FUNCTION = "function"
COROUTINE = "coroutine"
both = pytest.mark.parametrize("kind", [FUNCTION, COROUTINE])


def make(kind: str, work: Callable[[], object]) -> Callable[[], Any]:
    """A function, or a coroutine function, that does the work."""

    def job() -> object:
        return work()

    async def async_job() -> object:
        await asyncio.sleep(0)
        return work()

    return job if kind == FUNCTION else async_job


def rest(kind: str) -> Callable[[float], Any]:
    """How it sleeps."""
    return otpy.sleep if kind == FUNCTION else otpy.asleep


def deaf(kind: str, gate: Gate) -> Callable[[], Any]:
    """One that stays at the gate, whatever it is told."""

    async def stay() -> None:
        while True:
            try:
                await gate.await_open()
            except asyncio.CancelledError:
                continue
            return

    return gate.wait if kind == FUNCTION else stay


def at(lab: Lab, ident: str) -> otpy.Ref[Any]:
    ref = lab.system.find(f"lab/top/{ident}")
    assert ref is not None
    return ref


def started(lab: Lab, *specs: otpy.ChildSpec, **flags: Any) -> otpy.Ref[Any]:
    return lab.start(tree(*specs, **flags))


def fail() -> None:
    raise ValueError("boom")


@both
@pytest.mark.otp_case(1)
@pytest.mark.parametrize("restart", ["transient", "temporary"])
def test_runs_once_with_its_arguments(lab: Lab, kind: str, restart: Any) -> None:
    seen: list[object] = []

    def work(*args: object, **kwargs: object) -> None:
        seen.append((args, kwargs))

    async def async_work(*args: object, **kwargs: object) -> None:
        work(*args, **kwargs)

    start = work if kind == FUNCTION else async_work
    sup = started(lab, otpy.child(start, 1, x=2).opts(id="f", restart=restart))
    lab.settle()
    assert seen == [((1,), {"x": 2})]
    assert states(sup) == ({"f": "stopped"} if restart == "transient" else {})


@both
def test_permanent_one_that_returns_is_started_again(lab: Lab, kind: str) -> None:
    runs: list[int] = []
    sup = started(lab, otpy.child(make(kind, lambda: runs.append(1))).opts(id="f"), max_restarts=2)
    lab.settle()
    assert len(runs) == 3
    assert isinstance(sup.reason, Shutdown)
    assert isinstance(sup.reason.detail, RestartLimit)
    assert sup.reason.detail.reason == Normal()


@both
def test_crash_is_reported_and_started_again(lab: Lab, kind: str) -> None:
    gate = lab.gate()
    runs: list[int] = []

    def work() -> Any:
        runs.append(1)
        if len(runs) == 1:
            fail()
        return rest(kind)(1_000)

    async def async_work() -> None:
        await work()

    with Recorder(lab.system, ActorCrashed) as recorder:
        sup = started(lab, otpy.child(work if kind == FUNCTION else async_work).opts(id="f"))
        lab.settle()
    assert len(runs) == 2
    assert [(event.path, str(event.reason)) for event in recorder.of(ActorCrashed)] == [
        ("lab/top/f", "ValueError: boom")
    ]
    assert sup.is_alive()
    assert not gate.reached(0)


def test_start_is_done_before_the_function_begins(lab: Lab) -> None:
    gate = lab.gate()
    sup = started(lab, otpy.child(gate.wait).opts(id="f", restart="transient"), lab.worker("a"))
    assert lab.trace_now() == "+a"
    assert gate.reached() == ["lab/top/f"]
    gate.open()
    lab.settle()
    assert states(sup) == {"f": "stopped", "a": "running"}


def test_has_a_thread_of_its_own(lab: Lab) -> None:
    threads: list[str] = []

    def work() -> None:
        threads.append(threading.current_thread().name)
        otpy.sleep(1_000)

    started(lab, *(otpy.child(work).opts(id=ident) for ident in "fg"))
    lab.settle()
    assert sorted(name.rpartition("-")[2] for name in threads) == ["f", "g"]
    record = lab.system.record("lab/top/f")
    assert (record.place, record.current) == ("thread", "run")
    assert record.kind == "test_has_a_thread_of_its_own.<locals>.work"


@both
def test_told_to_stop_it_leaves_where_it_sleeps_and_cleans_up(lab: Lab, kind: str) -> None:
    ends: list[str] = []
    begun = threading.Event()

    def work() -> None:
        try:
            begun.set()
            otpy.sleep(1_000)
        finally:
            ends.append("cleaned up")

    async def async_work() -> None:
        try:
            begun.set()
            await asyncio.sleep(1_000)
        finally:
            ends.append("cleaned up")

    sup = started(lab, otpy.child(work if kind == FUNCTION else async_work).opts(id="f"))
    ref = at(lab, "f")
    assert begun.wait(30.0)
    sup.stop(Shutdown())
    assert ref.reason == Shutdown()
    assert ends == ["cleaned up"]
    assert lab.system.zombies() == []


def test_told_to_stop_it_leaves_at_its_checkpoint(lab: Lab) -> None:
    gate = lab.gate()
    after: list[str] = []

    def work() -> None:
        gate.wait()
        otpy.checkpoint()
        after.append("went on")

    sup = started(lab, otpy.child(work).opts(id="f"))
    ref = at(lab, "f")
    gate.reached()
    sup.stop(Shutdown(), block=False)
    lab.settle()
    assert ref.is_alive()
    gate.open()
    lab.settle()
    assert ref.reason == Shutdown()
    assert after == []


def test_one_that_returns_after_it_was_told_to_stop_has_stopped_as_told(lab: Lab) -> None:
    gate = lab.gate()
    sup = started(lab, otpy.child(gate.wait).opts(id="f"))
    ref = at(lab, "f")
    gate.reached()
    sup.stop(Shutdown(), block=False)
    lab.settle()
    gate.open()
    lab.settle()
    assert ref.reason == Shutdown()
    assert sup.reason == Shutdown()


@both
def test_one_that_does_not_listen_is_killed_and_goes_on_as_a_zombie(lab: Lab, kind: str) -> None:
    gate = lab.gate()
    sup = started(lab, otpy.child(deaf(kind, gate)).opts(id="f", shutdown=2.0))
    ref = at(lab, "f")
    gate.reached()
    with Recorder(lab.system, ZombieMade) as recorder:
        sup.stop(Shutdown(), block=False)
        lab.clock.advance(2.0)
    assert ref.reason == Killed()
    assert sup.reason == Shutdown()
    assert [event.path for event in recorder.events] == ["lab/top/f"]
    assert [record.path for record in lab.system.zombies()] == ["lab/top/f"]
    gate.open()
    lab.settle()
    assert lab.system.zombies() == []


def test_coroutine_that_swallows_its_cancellation_is_killed(lab: Lab) -> None:
    gate = lab.gate()
    begun = threading.Event()

    async def stubborn() -> None:
        try:
            begun.set()
            await asyncio.sleep(1_000)
        except asyncio.CancelledError:
            await deaf(COROUTINE, gate)()

    sup = started(lab, otpy.child(stubborn).opts(id="f", shutdown=2.0))
    ref = at(lab, "f")
    assert begun.wait(30.0)
    sup.stop(Shutdown(), block=False)
    gate.reached()
    lab.clock.advance(2.0)
    assert ref.reason == Killed()
    gate.open()
    lab.settle()
    assert lab.system.zombies() == []


@both
def test_exit_reason_can_be_chosen(lab: Lab, kind: str) -> None:
    work = make(kind, lambda: otpy.exit(Exit("enough")))
    sup = started(lab, otpy.child(work).opts(id="f", restart="temporary"))
    lab.settle()
    assert states(sup) == {}


@pytest.mark.parametrize("error", [SystemExit(1), KeyboardInterrupt()], ids=repr)
@both
@pytest.mark.report("A38", "Tochemey/goakt#513")
def test_system_exit_ends_the_function_alone(lab: Lab, kind: str, error: BaseException) -> None:
    def work() -> None:
        raise error

    with Recorder(lab.system, ActorCrashed) as recorder:
        sup = started(lab, otpy.child(make(kind, work)).opts(id="f", restart="temporary"), lab.worker("a"))
        lab.settle()
    assert states(sup) == {"a": "running"}
    assert [event.reason.type for event in recorder.of(ActorCrashed) if isinstance(event.reason, Crashed)] == [
        type(error).__name__
    ]


class Callable_:  # noqa: N801 - what its instances are
    def __init__(self, seen: list[str]) -> None:
        self.seen = seen

    def __call__(self) -> None:
        self.seen.append("object")

    async def later(self) -> None:
        self.seen.append("coroutine method")


def test_whatever_can_be_called_is_a_child(lab: Lab) -> None:
    seen: list[str] = []
    one = Callable_(seen)

    class Async:
        async def __call__(self) -> None:
            seen.append("async object")

    starts: list[Any] = [one, one.later, Async(), partial(seen.append, "partial"), lambda: seen.append("lambda")]
    specs = [otpy.child(start).opts(id=f"f{n}", restart="temporary") for n, start in enumerate(starts)]
    started(lab, *specs)
    lab.settle()
    assert sorted(seen) == ["async object", "coroutine method", "lambda", "object", "partial"]


def test_wrong_arguments_are_a_crash_like_any_other(lab: Lab) -> None:
    def work(url: str) -> None: ...

    with Recorder(lab.system, ActorCrashed) as recorder:
        sup = started(lab, otpy.child(work).opts(id="f"), max_restarts=1)  # type: ignore[call-overload]
        lab.settle()
    assert not sup.is_alive()
    assert "missing 1 required positional argument: 'url'" in str(recorder.of(ActorCrashed)[0].reason)


def test_restarted_together_with_its_group(lab: Lab) -> None:
    runs: list[int] = []

    def work() -> None:
        runs.append(1)
        otpy.sleep(1_000)

    started(lab, lab.worker("a"), otpy.child(work).opts(id="f"), strategy="one_for_all")
    lab.settle()
    first = at(lab, "f")
    lab.kill("a")
    lab.settle()
    assert len(runs) == 2
    assert first.reason == Shutdown()


def test_terminate_and_restart_by_hand(lab: Lab) -> None:
    sup = started(lab, otpy.child(otpy.sleep, 1_000).opts(id="f"))
    lab.settle()
    sup.call(SUP.terminate_child, "f")
    assert states(sup) == {"f": "stopped"}
    sup.call(SUP.restart_child, "f")
    assert states(sup) == {"f": "running"}


def test_many_functions_of_a_dynamic_supervisor_stop_together(lab: Lab) -> None:
    sup = lab.start(otpy.dynamic().opts(id="dyn"))
    refs = sup.call(otpy.DynamicSupervisor.start_children, [otpy.child(otpy.sleep, 1_000)] * 20)
    lab.settle()
    sup.stop(Shutdown())
    assert {ref.reason for ref in refs if isinstance(ref, otpy.Ref)} == {Shutdown()}


@both
def test_one_that_returned_as_it_was_told_to_stop_has_stopped_as_asked(lab: Lab, kind: str) -> None:
    """To return is its way to stop; OTP wants a permanent child to end with shutdown, which a function cannot say."""
    gate = lab.gate()
    sup = started(lab, otpy.child(deaf(kind, gate)).opts(id="f", restart="permanent"))
    gate.reached()
    ended = at(lab, "f").monitor()
    busy = lab.gate()
    asker = lab.system.start(otpy.child(Asker, sup, []))
    asker.cast(Asker.ask, otpy.Supervisor.start_child, (lab.worker("slow", at_start=lambda _: busy.wait()),))
    busy.reached()
    sup.stop(Shutdown(), block=False)
    gate.open()
    assert ended.wait().reason == Normal()

    with Recorder(lab.system, ChildUnstopped) as recorder:
        busy.open()
        lab.settle()
    assert sup.reason == Shutdown()
    assert recorder.events == []
