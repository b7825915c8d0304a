"""The place `thread`: one OS thread for one actor, from its first turn to its end."""

from __future__ import annotations

import sqlite3
import threading
from typing import TYPE_CHECKING, Self

import pytest

import otpy
from otpy.testing import Gate
from otpy.testing.remains import ends_within
from support.doer import BOOM, Doer, flush
from support.threads import refuse_threads

if TYPE_CHECKING:
    from collections.abc import Callable

    from otpy.core.spec import ChildSpec


def own(**options: object) -> ChildSpec:
    """A doer with a thread of its own."""
    return otpy.child(Doer, **options).opts(place="thread")


def running(system: otpy.System) -> list[str]:
    """The names of the threads that belong to one actor each."""
    names = [thread.name for thread in threading.enumerate()]
    return sorted(name for name in names if name.startswith("otpy-") and "Doer" in name)


def gone(system: otpy.System) -> bool:
    """Whether no such thread is left, once those that are ending have ended."""
    for thread in threading.enumerate():
        if "Doer" in thread.name:
            ends_within(thread, 30)
    return running(system) == [] and not system.threads


def test_all_code_of_the_actor_runs_on_its_one_thread(system: otpy.System) -> None:
    seen: list[int] = []

    class Tracked(Doer):
        def terminate(self, reason: otpy.Reason) -> None:
            seen.append(threading.get_ident())

    ref = system.start(otpy.child(Tracked, deed=lambda _: seen.append(threading.get_ident())).opts(place="thread"))
    for _ in range(5):
        ref.call(Doer.do, lambda _: seen.append(threading.get_ident()))
    ref.stop()
    assert len(seen) == 7
    assert len(set(seen)) == 1
    assert threading.get_ident() not in seen


def test_a_class_may_say_that_it_needs_a_thread(system: otpy.System) -> None:
    class Bound(Doer):
        place = "thread"

    ref = system.start(Bound)
    assert system.record(ref.path).place == "thread"
    assert ref.call(Doer.do, lambda _: threading.current_thread().name) == "otpy-1-Bound"


def test_a_connection_bound_to_one_thread_works(system: otpy.System) -> None:
    """What pool actors cannot have; it is also closed on the thread that opened it."""
    closed: list[int] = []

    class Base(Doer):
        def init(self) -> None:
            super().init()
            self.db = sqlite3.connect(":memory:")
            self.use(self)

        def __enter__(self) -> Self:
            return self

        def __exit__(self, *_: object) -> None:
            self.db.close()
            closed.append(1)

    for end in (lambda ref: ref.stop(), lambda ref: ref.kill(), lambda ref: ref.exit(BOOM)):
        ref = system.start(otpy.child(Base).opts(place="thread"))
        assert ref.call(Doer.do, lambda self: self.db.execute("select 1").fetchone()) == (1,)
        end(ref)
        system.wait_idle()
    assert closed == [1, 1, 1]


ENDS: dict[str, Callable[[otpy.Ref[Doer]], object]] = {
    "stop": lambda ref: ref.stop(),
    "kill": lambda ref: ref.kill(),
    "exit signal": lambda ref: ref.exit(BOOM),
    "crash": lambda ref: ref.cast(Doer.run, lambda _: 1 // 0),
    "link": lambda ref: ref.cast(
        Doer.run, lambda self: self.spawn_link(Doer, deed=lambda _: otpy.Continue(_die)) and None
    ),
}


def _die(_: Doer) -> None:
    otpy.exit(BOOM)


@pytest.mark.parametrize("end", ENDS)
def test_the_thread_ends_with_its_actor(system: otpy.System, end: str) -> None:
    """Also when the actor is idle and somebody else's thread ends it."""
    ref = system.start(own())
    if end != "link":
        flush(ref)
    monitor = ref.monitor()
    ENDS[end](ref)
    monitor.wait()
    assert gone(system)


def test_a_kill_as_the_thread_goes_to_rest_still_closes_what_it_used(system: otpy.System) -> None:
    """The thread must not leave on seeing its actor dead, while the killer is about to hand it the last turn."""
    for _ in range(200):
        closed: list[int] = []

        class Resource:
            def __enter__(self) -> None:
                """Nothing to do."""

            def __exit__(self, *_: object) -> None:
                closed.append(1)  # noqa: B023 - of this round

        ref = system.start(own(deed=lambda self: self.use(Resource())))
        ref.call(Doer.do, lambda _: None)
        ref.kill()
        system.wait_idle()
        assert closed == [1]
    assert gone(system)


def test_a_failed_start_leaves_no_thread(system: otpy.System) -> None:
    for _ in range(10):
        with pytest.raises(otpy.OtpyError):
            system.start(own(deed=lambda _: otpy.Stop(BOOM)))
    assert gone(system)


@pytest.mark.report("B58", "jodal/pykka#59")
def test_a_start_that_finds_no_thread_leaves_nothing(system: otpy.System, monkeypatch: pytest.MonkeyPatch) -> None:
    refused = refuse_threads(monkeypatch, "otpy-")
    with pytest.raises(otpy.OtpyError, match="no thread"):
        system.start(own())
    assert not system.threads
    refused.clear()
    assert flush(system.start(own())) == []


def test_a_supervisor_survives_a_child_that_finds_no_thread(
    system: otpy.System, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its start fails as any other does, and may be tried again."""

    class Tree(otpy.Supervisor):
        def children(self) -> list[otpy.ChildSpec]:
            return []

    root = system.start(Tree)
    refused = refuse_threads(monkeypatch, "otpy-2-", "otpy-3-")
    with pytest.raises(otpy.OtpyError, match="no thread"):
        root.call(otpy.Supervisor.start_child, own())
    refused.clear()
    child = root.call(otpy.Supervisor.start_child, own())
    assert child is not None
    assert flush(child) == []


def test_a_call_from_its_thread_leaves_the_pool_alone(system: otpy.System) -> None:
    server, client = system.start(Doer), system.start(own())
    assert client.call(Doer.do, lambda _: [server.call(Doer.do, lambda _, n=n: n) for n in range(3)]) == [0, 1, 2]
    assert flush(client) == []


def test_many_messages_are_handled_in_order(system: otpy.System) -> None:
    ref = system.start(own())
    for number in range(2_000):
        ref.tell(number)
    assert flush(ref) == list(range(2_000))


def test_a_message_that_comes_as_the_thread_goes_to_rest_is_not_lost(system: otpy.System) -> None:
    ref = system.start(own())
    for number in range(2_000):
        ref.cast(Doer.run, lambda self, n=number: self.log.append(n))
        if number % 3 == 0:
            flush(ref)
    assert flush(ref) == list(range(2_000))


def test_a_stuck_one_holds_nobody_up(system: otpy.System) -> None:
    with Gate() as gate:
        ref = system.start(own())
        ref.cast(Doer.run, lambda _: gate.wait())
        gate.reached()
        assert flush(system.start(Doer)) == []
        assert flush(system.start(own())) == []


def test_a_function_stops_at_its_next_sleep(system: otpy.System) -> None:
    """Stopped by `ref.stop`, by the system and by a supervisor, it leaves `otpy.sleep` at once."""
    left: list[str] = []

    def poll(name: str) -> None:
        try:
            otpy.sleep(1e6)
        finally:
            left.append(name)

    class Tree(otpy.Supervisor):
        def children(self) -> list[otpy.ChildSpec]:
            return [otpy.child(poll, "supervised")]

    stopped, root = system.start(poll, "stopped"), system.start(Tree)
    system.start(poll, "of the system")
    system.wait_idle()
    assert stopped.stop() is True
    assert root.stop() is True
    assert system.stop(timeout=30.0) == []
    assert left == ["stopped", "supervised", "of the system"]


def test_a_function_that_returns_has_ended_normal(system: otpy.System) -> None:
    ref = system.start(len, "abc")
    assert ref.monitor().wait().reason in (otpy.Normal(), otpy.NoProc())
    system.wait_idle()
    assert ref.reason == otpy.Normal()
