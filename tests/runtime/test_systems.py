"""Systems: nothing is shared between two, and stopping one stops everything of it, within one time."""

from __future__ import annotations

import gc
import re
import threading
import weakref
from typing import Any

import pytest

import otpy
from otpy.errors import NoProcError, SpecError
from otpy.testing import Gate
from otpy.testing.remains import ends_within
from support.doer import BOOM, Doer, flush


def test_two_systems_do_not_see_each_other() -> None:
    """Design decision 2; names: see test_names."""
    one, two = otpy.System("one"), otpy.System("two")
    seen: list[object] = []
    two.events.attach(seen.append)
    a, b = one.start(Doer), two.start(Doer)
    b_log = flush(b)
    a.cast(Doer.run, lambda _: 1 // 0)
    one.wait_idle()
    assert one.stop() == []
    assert flush(b) == b_log
    assert seen == []
    assert (one.alive, two.alive) == (0, 1)
    two.stop()


def test_actors_of_two_systems_may_call_each_other() -> None:
    one, two = otpy.System("one"), otpy.System("two")
    a, b = one.start(Doer), two.start(Doer)
    assert a.call(Doer.do, lambda _: b.call(Doer.do, lambda _: "across")) == "across"
    watcher = a.call(Doer.do, lambda self: self.monitor(b))
    two.stop()
    assert [down.monitor for down in flush(a)] == [watcher]
    with pytest.raises(NoProcError):
        b.call(Doer.read)
    one.stop()


def test_nothing_runs_before_the_first_start() -> None:
    before = set(threading.enumerate())  # not their number: one of an earlier test may be about to end
    system = otpy.System("lazy")
    assert set(threading.enumerate()) <= before
    assert system.stop() == []


def test_a_stopped_system_leaves_no_thread_and_nothing_in_memory() -> None:
    before = set(threading.enumerate())
    system = otpy.System("gone")
    ref = system.start(Doer, deed=lambda self: self.send_interval(60.0, "x") and None)
    own = system.start(otpy.child(Doer).opts(place="thread"))
    flush(ref)
    flush(own)
    system.stop()
    assert all(ends_within(thread, 30) for thread in set(threading.enumerate()) - before)
    kept = weakref.ref(system)
    del system, ref, own
    gc.collect()
    assert kept() is None


@pytest.mark.otp_case(76)
def test_a_stop_ends_the_last_started_first(system: otpy.System) -> None:
    """For actors without a supervisor; each runs its terminate."""
    log: list[object] = []
    for name in "abc":
        system.start(otpy.child(Last, log, name).opts(id=name))
    assert system.stop() == []
    assert log == ["c", "b", "a"]


class Last(otpy.GenServer):
    def init(self, log: list[object], name: str) -> None:
        self.log, self.name = log, name

    def terminate(self, reason: otpy.Reason) -> None:
        self.log.append(self.name)


@pytest.mark.report("D97", "thejerf/suture#37")
def test_a_stop_reports_what_did_not_stop() -> None:
    """One of three hangs; it is named with thread and line, the others have ended."""
    system = otpy.System("t")
    log: list[object] = []
    refs = [system.start(otpy.child(Last, log, name).opts(id=name)) for name in "ac"]
    stuck = system.start(otpy.child(Doer).opts(id="b"))
    with Gate() as gate:
        stuck.cast(Doer.run, lambda _: gate.wait())
        gate.reached()
        system.wait_idle()  # it does wait there, as the report says
        left = {late.path: str(late) for late in system.stop(timeout=0.05)}
        assert stuck.reason == otpy.Killed()
        assert "t/b did not stop: it is on otpy-" in left["t/b"]
        assert "gate.py" in left["t/b"]
        # What is stopped after the time is over is killed, and late itself when a busy machine lets it not end at once.
        assert set(left) <= {"t/a", "t/b", "t/c"}
        assert log in (["c", "a"], ["c"], ["a"], [])
        assert not any(ref.is_alive() for ref in refs)


def test_stopping_twice_is_harmless(system: otpy.System) -> None:
    system.start(Doer)
    assert system.stop() == []
    assert system.stop() == []


@pytest.mark.report("D98", "thejerf/suture#38")
def test_a_stop_just_after_a_crash_is_prompt(system: otpy.System) -> None:
    for _ in range(20):
        one = otpy.System("t")
        ref = one.start(Doer)
        ref.cast(Doer.run, lambda _: otpy.exit(BOOM))
        assert one.stop(timeout=30.0) == []


@pytest.mark.report("B52", "jodal/pykka#47")
def test_a_parent_with_children_of_its_own_is_stopped_before_them_or_takes_them_along(system: otpy.System) -> None:
    """Under a supervisor: children first, in reverse."""
    log: list[object] = []

    class Trapping(Last):
        trap_exit = True

    class Tree(otpy.Supervisor):
        def children(self) -> list[otpy.ChildSpec]:
            return [otpy.child(Trapping, log, name).opts(id=name) for name in "abc"]

        def terminate(self, reason: otpy.Reason) -> None:
            log.append("tree")

    system.start(Tree).stop()
    assert log == ["c", "b", "a", "tree"]


@pytest.mark.report("D101", "pathosDev/actor-ts#915")
def test_a_stopping_supervisor_with_a_backlog_does_not_spin(system: otpy.System) -> None:
    """The system comes to rest although a child is slow to end and a thousand requests wait."""
    gate = Gate()

    class Slow(Doer):
        def terminate(self, reason: otpy.Reason) -> None:
            gate.wait()

    class Tree(otpy.Supervisor):
        def children(self) -> list[otpy.ChildSpec]:
            return [otpy.child(Slow, traps=True).opts(id="a")]

    root = system.start(Tree)
    root.stop(block=False)
    gate.reached()
    for _ in range(1_000):
        root.tell("x")
    system.wait_idle()
    turns = [worker.turns for worker in system.pool.workers]
    system.wait_idle()
    assert [worker.turns for worker in system.pool.workers] == turns
    gate.open()
    system.wait_idle()
    assert not root.is_alive()


def test_waiting_for_rest_sees_actors_with_a_thread_of_their_own(system: otpy.System) -> None:
    """One that waits inside otpy rests, and says so when it begins to."""
    begun = threading.Event()

    def poll() -> None:
        begun.set()
        while True:
            otpy.sleep(60.0)

    system.start(poll)
    begun.wait(30)
    system.wait_idle(timeout=5.0)
    server, client = system.start(Doer), system.start(otpy.child(Doer).opts(id="client", place="thread"))
    client.cast(Doer.run, lambda _: server.within(None).call(Doer.do, lambda _: otpy.NoReply()) and None)
    system.wait_idle(timeout=5.0)
    client.kill()


def test_waiting_for_rest_says_who_does_not_rest(system: otpy.System) -> None:
    begun, hold = threading.Event(), threading.Event()
    system.start(Doer).cast(Doer.run, lambda _: (begun.set(), hold.wait()) and None)
    begun.wait(30)
    with pytest.raises(TimeoutError, match=r"not idle after 0\.01 s(.|\n)*hold\.wait"):
        system.wait_idle(timeout=0.01)
    hold.set()


@pytest.mark.parametrize("name", ["", "a/b", "/", None, 3, b"shop"])
def test_a_name_that_no_path_can_begin_with_is_refused(name: Any) -> None:
    with pytest.raises(SpecError, match=rf"System: name={re.escape(repr(name))}: a text without '/'"):
        otpy.System(name)
