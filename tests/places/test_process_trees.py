"""The place `process`: whole trees in one process, and refs of the actors inside."""

from __future__ import annotations

import os
import signal
from typing import Any

import pytest

import otpy
from otpy.core.reason import RestartLimit
from otpy.errors import CallExitError, NoProcError, SpecError
from support.far import Near
from support.inner import Branch, Leaf, Shared, Slow, Stuck, Waiter


@pytest.fixture
def near(farm: otpy.System) -> otpy.Ref[Near]:
    return farm.start(otpy.child(Near).opts(name="near"))


def branch(near: otpy.Ref[Near]) -> otpy.ChildSpec:
    return otpy.child(Branch, near).opts(place="process")


def heard(near: otpy.Ref[Near]) -> list[Any]:
    return near.call(Near.read)


def crash(near: otpy.Ref[Near], place: int = 0) -> None:
    """Have one of those inside crash: the one that was up as the `place`th."""
    near.call(Near.met_so_far, place + 1)[place].cast(Leaf.crash, "ouch")


def test_a_tree_runs_in_one_process_with_all_its_places(farm: otpy.System, near: otpy.Ref[Near]) -> None:
    farm.start(branch(near))
    words = [(what, word) for what, word, _ in heard(near)]
    (pid,) = {pid for _, _, pid in heard(near)}
    assert words == [("up", "pool"), ("up", "thread"), ("up", "loop")]
    assert pid != os.getpid()


def test_its_children_stop_in_reverse_order_before_it_ends(farm: otpy.System, near: otpy.Ref[Near]) -> None:
    ref = farm.start(branch(near))
    ref.stop(otpy.Shutdown())
    assert heard(near)[3:] == [("down", "thread", otpy.Shutdown()), ("down", "pool", otpy.Shutdown())]


def test_a_tree_that_does_not_stop_in_time_is_killed_as_a_whole(farm: otpy.System) -> None:
    outer = farm.start(Outer)
    (info,) = outer.call(Outer.which_children)
    assert info.ref is not None
    monitor = info.ref.monitor()
    outer.stop()
    assert monitor.wait().reason == otpy.Killed()


class Outer(otpy.Supervisor):
    def children(self) -> list[otpy.ChildSpec]:
        return [otpy.child(Stuck).opts(place="process", shutdown=0.2)]


def test_refs_of_actors_inside_work_outside(farm: otpy.System, near: otpy.Ref[Near]) -> None:
    ref = farm.start(branch(near))
    pool, thread, loop = near.call(Near.met_so_far, 3)
    assert [one.path for one in (pool, thread, loop)] == [f"{ref.path}/{word}" for word in ("pool", "thread", "loop")]
    assert pool.call(Leaf.thread).startswith("otpy-")
    assert thread.call(Leaf.thread).endswith("-thread")
    assert loop.call(Waiter.sum, 2, 3) == 5
    near.call(Near.echo, pool)
    assert near.call(Near.echo, pool) is pool


def test_one_inside_that_crashes_is_restarted_inside(farm: otpy.System, near: otpy.Ref[Near]) -> None:
    ref = farm.start(branch(near))
    first = near.call(Near.met_so_far, 3)[0]
    crash(near)
    second = near.call(Near.met_so_far, 4)[3]
    assert second.path == first.path
    assert second.call(Leaf.thread)
    with pytest.raises((CallExitError, NoProcError), match="ouch"):
        first.call(Leaf.thread)
    assert ref.call(Branch.count_children).active == 3


def test_a_tree_that_gives_up_says_so_in_its_exit_reason(farm: otpy.System, near: otpy.Ref[Near]) -> None:
    ref = farm.start(branch(near))
    monitor = ref.monitor()
    for place in (0, 3, 4):
        crash(near, place)
    reason = monitor.wait().reason
    assert isinstance(reason, otpy.Shutdown)
    assert isinstance(reason.detail, RestartLimit)
    assert reason.detail.path == ref.path
    assert isinstance(reason.detail.reason, otpy.Crashed)
    assert reason.detail.reason.text == "ouch"


def test_a_killed_tree_takes_the_refs_inside_along(farm: otpy.System, near: otpy.Ref[Near]) -> None:
    ref = farm.start(branch(near))
    (pool, *_) = near.call(Near.met_so_far, 3)
    watch = pool.monitor()
    os.kill(heard(near)[0][2], signal.SIGSTOP)  # before it can handle what comes
    future = pool.ask("what", block=False)
    ref.kill()
    assert watch.wait().reason == otpy.Killed()
    with pytest.raises(CallExitError):
        future.get(timeout=5)
    assert not pool.is_alive()
    assert {one.uptime for one in farm.exits(pool.path) if one.path == pool.path} == {None}


def test_a_supervisor_in_a_process_does_what_it_is_asked(farm: otpy.System, near: otpy.Ref[Near]) -> None:
    ref = farm.start(branch(near))
    assert [info.id for info in ref.call(Branch.which_children)] == ["loop", "thread", "pool"]
    ref.call(Branch.terminate_child, "loop")
    counts = ref.call(Branch.count_children)
    assert (counts.specs, counts.active) == (3, 2)
    again = ref.call(Branch.restart_child, "loop")
    assert again is not None
    assert again.call(Waiter.sum, 1, 1) == 2


def test_a_dynamic_supervisor_in_a_process_starts_children_there(farm: otpy.System) -> None:
    ref = farm.start(otpy.dynamic(Slow).opts(id="many", place="process"))
    first, second = [ref.call(otpy.DynamicSupervisor.start_with) for _ in range(2)]
    assert first is not None
    assert second is not None
    assert (first.path, second.path) == ("t/many/1", "t/many/2")
    first.cast(Slow.note, 1)
    assert (first.call(Slow.read), second.call(Slow.read)) == ([1], [])
    ref.call(otpy.DynamicSupervisor.terminate_child, first)
    assert first.monitor().wait().reason in (otpy.Shutdown(), otpy.NoProc())
    assert ref.call(otpy.DynamicSupervisor.count_children).active == 1
    assert second.kill()
    assert second.monitor().wait().reason in (otpy.Killed(), otpy.NoProc())


def test_names_inside_are_those_of_their_process(farm: otpy.System) -> None:
    one, other = [farm.start(otpy.child(Shared).opts(id=ident, place="process")) for ident in ("one", "other")]
    assert one.call(Shared.count_children).active == other.call(Shared.count_children).active == 1
    assert farm.whereis("slow") is None


def test_the_same_name_in_two_processes_of_one_tree_is_no_mistake(farm: otpy.System) -> None:
    assert farm.start(Twice).call(Twice.count_children).active == 2


class Twice(otpy.Supervisor):
    def children(self) -> list[otpy.ChildSpec]:
        return [otpy.child(Shared).opts(id=ident, place="process") for ident in ("one", "other")]


def test_a_supervisor_in_a_process_has_no_bounded_mailbox(farm: otpy.System, near: otpy.Ref[Near]) -> None:
    with pytest.raises(SpecError, match="max_queue"):
        farm.start(branch(near).opts(max_queue=3))
    assert farm.alive == 1


def test_a_mistake_in_a_declaration_inside_fails_the_start(farm: otpy.System) -> None:
    with pytest.raises(otpy.errors.StartError, match="two children have this id"):
        farm.start(otpy.child(Wrong).opts(place="process"))


class Wrong(otpy.Supervisor):
    def children(self) -> list[otpy.ChildSpec]:
        return [otpy.child(Slow), otpy.child(Slow)]
