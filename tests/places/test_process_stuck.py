"""`on_stuck="process"`: a child whose killed code never ends is started in a process from then on. And `silence`."""

from __future__ import annotations

import os
import signal
from typing import TYPE_CHECKING, Any

import pytest

import otpy
from otpy.errors import SpecError, StartError
from otpy.events import ChildMoved
from otpy.testing.recorder import Recorder
from support.lasting import FREE, Holding, LoopSticky, Sticky

if TYPE_CHECKING:
    from collections.abc import Iterator

    from otpy.core.spec import ChildSpec


class Tree(otpy.Supervisor):
    def init(self, spec: ChildSpec) -> None:
        self.spec = spec

    def children(self) -> list[ChildSpec]:
        return [self.spec]


def sticky(**options: Any) -> ChildSpec:
    return otpy.child(Sticky).opts(name="sticky", on_stuck="process", **options)


def named(farm: otpy.System) -> otpy.Ref[Sticky]:
    ref = farm.whereis("sticky")
    assert ref is not None
    return ref


@pytest.fixture(autouse=True, scope="module")
def wide(warm_system: otpy.System) -> None:
    """The pool and a loop have their threads already, so that none is new after a test."""
    FREE.clear()
    warm_system.start(otpy.child(LoopSticky).opts(loop="own")).stop()
    refs = [warm_system.start(Sticky) for _ in range(4)]
    for ref in refs:
        ref.call(Sticky.stick)
    FREE.set()
    for ref in refs:
        ref.stop()


@pytest.fixture(autouse=True)
def free(farm: otpy.System) -> Iterator[None]:
    """What is stuck comes free at the end."""
    FREE.clear()
    yield
    FREE.set()


@pytest.mark.parametrize("place", ["pool", "thread"])
def test_a_stuck_child_is_restarted_in_a_process(farm: otpy.System, place: Any) -> None:
    root = farm.start(Tree, sticky(place=place))
    ref = named(farm)
    assert ref.call(Sticky.pid) == os.getpid()
    ref.call(Sticky.stick)
    with Recorder(farm, ChildMoved) as events:
        ref.kill()
        root.call(Tree.count_children)
    assert named(farm).call(Sticky.pid) != os.getpid()
    assert events.events == [ChildMoved(path=ref.path, place="process")]
    assert farm.record(ref.path).place == "process"
    assert root.call(Tree.get_childspec, "Sticky").options.place == "process"
    (exit_record, *_) = farm.exits(ref.path)
    assert [action.what for action in exit_record.actions] == ["moved", "restart"]


def test_one_that_blocks_its_event_loop_is_restarted_in_a_process(farm: otpy.System) -> None:
    root = farm.start(Tree, otpy.child(LoopSticky).opts(name="loop", on_stuck="process", loop="own"))
    ref = farm.ref(otpy.Name("loop", LoopSticky))
    ref.call(LoopSticky.stick)
    ref.kill()
    root.call(Tree.count_children)
    FREE.set()
    assert ref.call(LoopSticky.pid) != os.getpid()


def test_it_stays_in_a_process(farm: otpy.System) -> None:
    root = farm.start(Tree, sticky())
    ref = named(farm)
    ref.call(Sticky.stick)
    ref.kill()
    root.call(Tree.count_children)
    os.kill(named(farm).call(Sticky.pid), signal.SIGKILL)
    monitor = named(farm).monitor()
    monitor.wait()
    root.call(Tree.count_children)
    assert named(farm).call(Sticky.pid) != os.getpid()


def test_a_stuck_child_of_a_dynamic_supervisor_is_restarted_in_a_process(farm: otpy.System) -> None:
    root = farm.start(otpy.DynamicSupervisor)
    stuck = root.call(otpy.DynamicSupervisor.start_child, sticky())
    other = root.call(otpy.DynamicSupervisor.start_child, otpy.child(Sticky).opts(on_stuck="process"))
    assert stuck is not None
    assert other is not None
    stuck.call(Sticky.stick)
    stuck.kill()
    root.call(otpy.DynamicSupervisor.count_children)
    assert named(farm).call(Sticky.pid) != os.getpid()
    assert other.call(Sticky.pid) == os.getpid()


def test_one_that_is_late_to_stop_is_started_in_a_process(farm: otpy.System) -> None:
    root = farm.start(Tree, sticky(shutdown=0.05))
    named(farm).call(Sticky.stick)
    root.call(Tree.terminate_child, "Sticky")
    root.call(Tree.restart_child, "Sticky")
    assert named(farm).call(Sticky.pid) != os.getpid()


@pytest.mark.parametrize("doing", [Sticky.pid, Sticky.nap], ids=["at rest", "in a sleep"])
def test_one_whose_code_ends_when_it_is_killed_stays_where_it_was(farm: otpy.System, doing: Any) -> None:
    root = farm.start(Tree, sticky())
    ref = named(farm)
    ref.call(doing)
    ref.kill()
    root.call(Tree.count_children)
    assert named(farm).call(Sticky.pid) == os.getpid()


def test_nothing_is_moved_by_the_end_of_its_supervisor(farm: otpy.System) -> None:
    root = farm.start(Tree, sticky(shutdown=0.05))
    named(farm).call(Sticky.stick)
    with Recorder(farm, ChildMoved) as events:
        root.stop()
    assert events.events == []


class Within(otpy.Supervisor):
    def children(self) -> list[ChildSpec]:
        return []


def here() -> otpy.ChildSpec:
    class Local(otpy.GenServer):
        pass

    return otpy.child(Local)


@pytest.mark.parametrize(
    ("spec", "text"),
    [
        (sticky(place="process"), "runs in one"),
        (sticky(restart="temporary"), "never started again"),
        (otpy.child(Within).opts(on_stuck="process"), "for workers"),
        (here().opts(on_stuck="process"), "here.<locals>.Local cannot be imported"),
        (otpy.child(lambda: None).opts(on_stuck="process", id="f"), "cannot be imported"),
        (otpy.child(Sticky).opts(on_stuck="thread"), "on_stuck='thread'"),  # type: ignore[arg-type]
        (otpy.child(Sticky).opts(silence=3.0), "place='process'"),
        (otpy.child(Sticky).opts(silence=0.0, place="process"), "silence=0.0"),
    ],
)
def test_options_that_cannot_work_are_refused_before_anything_starts(
    farm: otpy.System, spec: ChildSpec, text: str
) -> None:
    with pytest.raises(SpecError, match=text):
        farm.start(spec)
    with pytest.raises(StartError, match=text):
        farm.start(Tree, spec)
    dynamic = farm.start(otpy.DynamicSupervisor)
    with pytest.raises(SpecError, match=text):
        dynamic.call(otpy.DynamicSupervisor.start_child, spec)


def test_silence_ends_a_process_when_that_was_asked_for(farm: otpy.System) -> None:
    root = farm.start(Tree, otpy.child(Holding).opts(place="process", silence=0.3, name="sticky"))
    ref = farm.whereis("sticky")
    assert ref is not None
    monitor = ref.monitor()
    os.kill(ref.call(Holding.pid), signal.SIGSTOP)
    reason = monitor.wait().reason
    assert isinstance(reason, otpy.NoConnection)
    assert "no sign of life for 0.3" in reason.text
    assert "it is stopped (T)" in reason.text
    root.call(Tree.count_children)
    again = farm.whereis("sticky")
    assert again is not None
    assert isinstance(again.call(Holding.pid), int)
