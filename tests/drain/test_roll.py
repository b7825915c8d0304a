"""Rolls of whole trees on the virtual clock."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

import pytest

import otpy
from otpy.drain.roll_desk import Rolls
from otpy.drain.roll_plan import Terms
from otpy.errors import ChildStateError, NoSuchActorError
from otpy.events import RollBegun, RollEnded, RollStep, RollStopped
from otpy.testing import Recorder
from support.doer import Doer

if TYPE_CHECKING:
    from collections.abc import Callable

    from otpy.testing import VirtualClock


class Worker(otpy.GenServer):
    """Does what it is told as it starts, by its name."""

    orders: ClassVar[dict[str, Callable[[Worker], object]]] = {}

    def init(self, name: str) -> object:
        order = self.orders.get(name)
        return None if order is None else order(self)

    def handle_info(self, message: Any) -> Any:
        raise ValueError(message)


class Fleet(otpy.Supervisor):
    """Four of them; it bears no restart."""

    max_restarts = 0

    def children(self) -> list[otpy.ChildSpec]:
        return [otpy.child(Worker, name).opts(id=name) for name in "abcd"]


@pytest.fixture(autouse=True)
def orders(monkeypatch: pytest.MonkeyPatch) -> dict[str, Callable[[Worker], object]]:
    """What workers do as they start."""
    own: dict[str, Callable[[Worker], object]] = {}
    monkeypatch.setattr(Worker, "orders", own)
    return own


def numbers(system: otpy.System, path: str) -> list[int]:
    """The incarnations below a path, without the roll itself."""
    return [record.number for record in system.records(path)[1:] if not record.path.startswith("t/roll")]


def worn_out_after(seconds: float) -> Callable[[Worker], object]:
    """What has a worker crash later."""

    def order(worker: Worker) -> None:
        worker.send_after(seconds, "worn out")

    return order


def rolled(system: otpy.System, path: str = "t", **words: Any) -> Rolls:
    rolls = Rolls.of(system)
    rolls.begin(Terms(path=path, **words), "a test")
    return rolls


def test_children_are_started_again_one_after_the_other(timed: otpy.System, clock: VirtualClock) -> None:
    timed.start_root(otpy.child(Fleet))
    before = numbers(timed, "t")
    with Recorder(timed, RollBegun, RollStep, RollEnded) as seen:
        rolls = rolled(timed, healthy_after=10.0)
        clock.advance(5.0)
        middle = numbers(timed, "t")
        assert [old == new for old, new in zip(before, middle, strict=True)] == [False, True, True, True]
        look = rolls.look("t")
        assert look is not None
        assert (look.state, look.done, look.units, look.active[0][:2]) == ("rolling", 0, 4, ("t/a", "proving"))
        clock.advance(40.0)
    after = numbers(timed, "t")
    assert not {*before} & {*after}
    steps = [(event.path, event.step) for event in seen.of(RollStep)]
    assert [step for step in steps if step[1] == "started"] == [(f"t/{name}", "started") for name in "abcd"]
    assert [step for step in steps if step[1] == "healthy"] == [(f"t/{name}", "healthy") for name in "abcd"]
    (ended,) = seen.of(RollEnded)
    assert (ended.path, ended.children) == ("t", 4)
    assert ended.seconds >= 40.0
    done = rolls.look("t")
    assert done is not None
    assert (done.state, done.done, done.active) == ("done", 4, ())
    assert [record.restarts for record in timed.records("t")[1:]] == [1, 1, 1, 1]


def test_no_more_than_so_many_are_away_at_a_time(timed: otpy.System, clock: VirtualClock) -> None:
    timed.start_root(otpy.child(Fleet))
    before = numbers(timed, "t")
    rolled(timed, healthy_after=10.0, max_unavailable=3)
    clock.advance(1.0)
    assert [old == new for old, new in zip(before, numbers(timed, "t"), strict=True)] == [False, False, False, True]
    clock.advance(20.0)
    assert not {*before} & {*numbers(timed, "t")}


def test_the_first_replacement_that_ends_stops_the_roll(
    timed: otpy.System, clock: VirtualClock, orders: dict[str, Callable[[Worker], object]]
) -> None:
    timed.start_root(otpy.child(Fleet))  # which bears no restart: it stays stopped, and takes nobody along
    before = numbers(timed, "t")
    orders["b"] = worn_out_after(3.0)
    with Recorder(timed, RollStopped) as seen:
        rolls = rolled(timed, healthy_after=10.0)
        clock.advance(15.0)
    (stopped,) = seen.of(RollStopped)
    assert (stopped.path, stopped.done, stopped.left) == ("t", 1, 2)
    assert stopped.why.startswith("t/b ended within 10 s of its start (ValueError")
    assert numbers(timed, "t")[2:] == before[2:]
    look = rolls.look("t")
    assert look is not None
    assert (look.state, look.why) == ("stopped", stopped.why)
    assert timed.record("t/b").status == "stopped"
    assert timed.trials == {}
    orders.clear()
    timed.restart_child("t/b")
    clock.advance(100.0)
    assert timed.record("t/b").status == "idle"


def test_a_replacement_that_ends_at_once_takes_nobody_along(
    timed: otpy.System, clock: VirtualClock, orders: dict[str, Callable[[Worker], object]]
) -> None:
    timed.start_root(otpy.dynamic(Worker, max_restarts=0))
    root = timed.root
    assert root is not None
    for name in "ab":
        root.call(otpy.DynamicSupervisor.start_with, name)
    before = numbers(timed, "t")
    orders["a"] = lambda _: otpy.Continue("and fail, for it has no handle_continue")
    with Recorder(timed, RollStopped) as seen:
        rolled(timed)
        clock.advance(10.0)
    (stopped,) = seen.of(RollStopped)
    assert stopped.why.startswith("t/1 ended within 2 s of its start (NotImplementedError")
    assert stopped.why.endswith("), and stays stopped")
    assert timed.record("t/1").status == "stopped"
    assert numbers(timed, "t")[1:] == before[1:]
    orders.clear()
    timed.restart_child("t/1")
    timed.wait_idle()  # its start is over before its first turn is
    assert timed.record("t/1").status == "idle"


def test_a_roll_that_is_gone_judges_nobody(
    timed: otpy.System, clock: VirtualClock, orders: dict[str, Callable[[Worker], object]]
) -> None:
    class Lenient(Fleet):
        max_restarts = 5

    timed.start_root(otpy.child(Lenient))
    orders["a"] = worn_out_after(3.0)
    rolled(timed, healthy_after=10.0)
    clock.advance(1.0)
    orders.clear()
    timed.kill("t/roll")
    clock.advance(10.0)
    assert timed.record("t/a").status == "idle"  # its supervisor has started it again


def test_a_start_that_fails_is_tried_again_after_a_pause(
    timed: otpy.System, clock: VirtualClock, orders: dict[str, Callable[[Worker], object]]
) -> None:
    timed.start_root(otpy.child(Fleet))
    fails = iter([True, True, False])
    orders["b"] = lambda _: otpy.Fail(otpy.Exit("not yet")) if next(fails) else None
    with Recorder(timed, RollStep, RollEnded) as seen:
        rolled(timed, healthy_after=1.0)
        clock.advance(60.0)
    assert [event.step for event in seen.of(RollStep) if event.path == "t/b" and event.step != "drained"] == [
        "start failed",
        "start failed",
        "started",
        "healthy",
    ]
    assert len(seen.of(RollEnded)) == 1


def test_a_start_that_fails_too_often_stops_the_roll(
    timed: otpy.System, clock: VirtualClock, orders: dict[str, Callable[[Worker], object]]
) -> None:
    timed.start_root(otpy.child(Fleet))
    before = numbers(timed, "t")
    orders["a"] = lambda _: otpy.Fail(otpy.Exit("never"))
    with Recorder(timed, RollStopped) as seen:
        rolled(timed, tries=2)
        clock.advance(60.0)
    (stopped,) = seen.of(RollStopped)
    assert stopped.why.startswith("t/a did not start, 2 times: ")
    assert numbers(timed, "t")[1:] == before[1:]


def test_a_start_that_hangs_stops_the_roll(
    timed: otpy.System, clock: VirtualClock, orders: dict[str, Callable[[Worker], object]]
) -> None:
    timed.start_root(otpy.child(Fleet))
    before = numbers(timed, "t")
    orders["a"] = lambda _: otpy.sleep(1_000.0)
    with Recorder(timed, RollStopped) as seen:
        rolled(timed)
        clock.advance(59.0)
        assert seen.events == []
        clock.advance(2.0)
    (stopped,) = seen.of(RollStopped)
    assert (stopped.why, stopped.left) == ("t/a has not started within 60 s", 3)
    assert numbers(timed, "t")[1:] == before[1:]
    clock.advance(2_000.0)


def test_who_is_deleted_between_two_tries_is_left_out(
    timed: otpy.System, clock: VirtualClock, orders: dict[str, Callable[[Worker], object]]
) -> None:
    timed.start_root(otpy.child(Fleet))
    orders["a"] = lambda _: otpy.Fail(otpy.Exit("not yet"))
    with Recorder(timed, RollStep, RollEnded) as seen:
        rolled(timed, healthy_after=1.0)
        clock.advance(0.1)
        assert [event.step for event in seen.of(RollStep)] == ["drained", "start failed"]
        root: otpy.Ref[Any] = timed.tops["Fleet"]
        root.call(otpy.Supervisor.delete_child, "a")
        clock.advance(60.0)
    assert [event.step for event in seen.of(RollStep) if event.path == "t/a"] == ["drained", "start failed", "left out"]
    assert [event.children for event in seen.of(RollEnded)] == [3]
    assert [record.path for record in timed.records("t")[1:]] == ["t/b", "t/c", "t/d"]


def test_who_dies_meanwhile_counts_as_away(
    timed: otpy.System, clock: VirtualClock, orders: dict[str, Callable[[Worker], object]]
) -> None:
    class Slow(otpy.Supervisor):
        def children(self) -> list[otpy.ChildSpec]:
            pause = otpy.Backoff(first=50.0, most=50.0, jitter=0.0)
            return [otpy.child(Worker, name).opts(id=name, backoff=pause) for name in "abcd"]

    timed.start_root(otpy.child(Slow))
    before = numbers(timed, "t")
    rolls = rolled(timed, healthy_after=10.0)
    clock.advance(5.0)
    timed.kill("t/d")
    clock.advance(10.0)  # a is done, and d is away for 50 s
    look = rolls.look("t")
    assert look is not None
    assert (look.done, look.active[0][0]) == (1, "t/d")  # it is down anyway: its turn comes first
    clock.advance(100.0)
    assert not {*before} & {*numbers(timed, "t")}


def test_dynamic_children_are_started_from_the_same_spec(timed: otpy.System, clock: VirtualClock) -> None:
    timed.start_root(otpy.dynamic(Doer))
    root = timed.root
    assert root is not None
    logs: list[list[Any]] = [[f"{place}"] for place in range(3)]
    for log in logs:
        root.call(otpy.DynamicSupervisor.start_with, log)
    before = numbers(timed, "t")
    rolled(timed, healthy_after=1.0)
    clock.advance(20.0)
    refs = [child.ref for child in root.call(otpy.DynamicSupervisor.which_children)]
    assert sorted(ref.call(Doer.read)[0] for ref in refs if ref is not None) == ["0", "1", "2"]
    assert not {*before} & {*numbers(timed, "t")}


def test_a_dynamic_child_that_its_supervisor_has_forgotten_is_added_again(
    timed: otpy.System, clock: VirtualClock, orders: dict[str, Callable[[Worker], object]]
) -> None:
    timed.start_root(otpy.dynamic(Worker))
    root = timed.root
    assert root is not None
    root.call(otpy.DynamicSupervisor.start_with, "a")
    fails = iter([True, False])
    orders["a"] = lambda _: otpy.Fail(otpy.Exit("not yet")) if next(fails) else None
    with Recorder(timed, RollEnded) as seen:
        rolled(timed, healthy_after=1.0)
        clock.advance(20.0)
    assert len(seen.of(RollEnded)) == 1
    assert [record.path for record in timed.records("t")[1:]] == ["t/2"]


def test_workers_below_are_rolled_one_by_one(timed: otpy.System, clock: VirtualClock) -> None:
    class Two(otpy.Supervisor):
        def children(self) -> list[otpy.ChildSpec]:
            return [otpy.child(Fleet).opts(id="x"), otpy.child(Fleet).opts(id="y")]

    timed.start_root(otpy.child(Two))
    before = numbers(timed, "t")
    rolls = rolled(timed, workers=True, healthy_after=1.0)
    clock.advance(60.0)
    look = rolls.look("t")
    assert look is not None
    assert (look.state, look.done) == ("done", 8)
    same = [old for old, new in zip(before, numbers(timed, "t"), strict=True) if old == new]
    assert len(same) == 2  # the supervisors
    with Recorder(timed, RollStep) as seen:
        rolled(timed, healthy_after=1.0)
        clock.advance(60.0)
    assert {event.path for event in seen.of(RollStep)} == {"t/x", "t/y"}


def test_a_worker_below_a_new_supervisor_that_ends_stops_the_roll(
    timed: otpy.System, clock: VirtualClock, orders: dict[str, Callable[[Worker], object]]
) -> None:
    class Lenient(Fleet):
        max_restarts = 5

    class Two(otpy.Supervisor):
        def children(self) -> list[otpy.ChildSpec]:
            return [otpy.child(Lenient).opts(id="x"), otpy.child(Lenient).opts(id="y")]

    timed.start_root(otpy.child(Two))
    orders["c"] = worn_out_after(1.0)
    with Recorder(timed, RollStopped) as seen:
        rolled(timed, healthy_after=2.0)
        clock.advance(3.0)
    (stopped,) = seen.of(RollStopped)
    assert stopped.why.startswith("t/x/c ended after the start of t/x: ValueError")


def test_who_was_stopped_by_hand_stays_so(timed: otpy.System, clock: VirtualClock) -> None:
    timed.start_root(otpy.child(Fleet))
    timed.terminate_child("t/b")
    rolls = rolled(timed, healthy_after=3.0)
    clock.advance(1.0)
    timed.terminate_child("t/d")
    clock.advance(60.0)
    look = rolls.look("t")
    assert look is not None
    assert (look.state, look.units, look.done) == ("done", 3, 2)
    assert [record.status for record in timed.records("t")[1:]] == ["idle", "stopped", "idle", "stopped"]


def test_there_is_one_roll_at_a_time(timed: otpy.System, clock: VirtualClock) -> None:
    timed.start_root(otpy.child(Fleet))
    rolls = rolled(timed)
    with pytest.raises(ChildStateError, match="t is being rolled: otpy roll t --look"):
        rolled(timed, workers=True)
    rolls.stop("t", "enough")
    clock.advance(10.0)
    look = rolls.look("t")
    assert look is not None
    assert (look.state, look.done, look.why) == ("stopped", 0, "enough")
    with pytest.raises(ChildStateError, match="not being rolled"):
        rolls.stop("t", "again")
    rolled(timed)
    clock.advance(60.0)
    again = rolls.look("t")
    assert again is not None
    assert again.state == "done"


def test_a_roll_that_is_killed_is_over(timed: otpy.System, clock: VirtualClock) -> None:
    timed.start_root(otpy.child(Fleet))
    rolls = rolled(timed)
    clock.advance(1.0)
    timed.kill("t/roll")
    look = rolls.look("t")
    assert look is not None
    assert (look.state, look.why) == ("stopped", "it was ended itself: killed")
    clock.advance(10.0)


def test_the_end_of_the_supervisor_ends_the_roll(timed: otpy.System, clock: VirtualClock) -> None:
    class Two(otpy.Supervisor):
        def children(self) -> list[otpy.ChildSpec]:
            return [otpy.child(Fleet).opts(id="x")]

    timed.start_root(otpy.child(Two))
    rolls = rolled(timed, "t/x")
    clock.advance(1.0)
    timed.kill("t/x")
    clock.advance(10.0)
    look = rolls.look("t/x")
    assert look is not None
    assert look.state == "stopped"


@pytest.mark.parametrize(("path", "error"), [("t/nobody", NoSuchActorError), ("t/a", ChildStateError)])
def test_what_cannot_be_rolled_is_refused(timed: otpy.System, path: str, error: type[Exception]) -> None:
    timed.start_root(otpy.child(Fleet))
    with pytest.raises(error):
        rolled(timed, path)
    assert Rolls.of(timed).look(path) is None


def test_the_tree_shows_how_far_it_is(timed: otpy.System, clock: VirtualClock) -> None:
    timed.start_root(otpy.child(Fleet))
    rolled(timed, healthy_after=2.0)
    clock.advance(3.0)
    assert timed.record("t/roll").kind == "Roll of t, 1 of 4"
