"""Supervisors over children of every place, and of all places at once."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

import otpy
from otpy.core.reason import RestartLimit
from otpy.errors import StartError
from otpy.events import ActorCrashed
from support import deeds
from support.lab import tree
from support.players import Plan
from support.stage import BOOM, PLACES, Notes, Place, Stage, do, ends, run
from support.steps import named

if TYPE_CHECKING:
    from collections.abc import Callable


def worker(stage: Stage, place: Place, notes: Notes, ident: str, **options: Any) -> otpy.ChildSpec:
    """A child that notes `+id` when it starts and `-id` when it ends in order."""
    return stage.spec(place, deeds.begin_as, ident, log=notes, traps=True, id=ident, **{"shutdown": 5.0, **options})


def planned(stage: Stage, place: Place, notes: Notes, ident: str, starts: str, **options: Any) -> otpy.ChildSpec:
    """The same, whose starts go as planned."""
    plan = stage.system.start(otpy.child(Plan, starts).opts(id="plan"))
    return stage.spec(place, deeds.begin_by_plan, plan, ident, log=notes, traps=True, id=ident, **options)


def started(stage: Stage, *specs: otpy.ChildSpec, **flags: Any) -> otpy.Ref[Any]:
    return stage.system.start(tree(*specs, id="sup", **flags))


def child(stage: Stage, ident: str) -> otpy.Ref[Any]:
    found = stage.system.find(f"t/sup/{ident}")
    assert found is not None
    return found


def words(entries: list[Any]) -> str:
    """The starts and ends among the notes."""
    return " ".join(entry for entry in entries if isinstance(entry, str))


class Story:
    """What is noted, awaited word by word."""

    def __init__(self, stage: Stage) -> None:
        self.notes = stage.notes()
        self._taken = 0

    def next(self, text: str) -> None:
        """The next starts and ends are these."""
        wanted, found = text.split(), []
        while len(found) < len(wanted):
            self._taken += 1
            entry = self.notes.expect(self._taken)[-1]
            found += [entry] * isinstance(entry, str)
        assert found == wanted

    def is_over(self) -> None:
        """There are no others."""
        assert words(self.notes.so_far()[self._taken :]) == ""


@pytest.fixture
def story(stage: Stage) -> Story:
    return Story(stage)


# --- start and stop


@pytest.mark.otp_case(76)
def test_children_start_in_order_and_stop_in_reverse(stage: Stage, story: Story, place: Place) -> None:
    sup = started(stage, *(worker(stage, place, story.notes, ident) for ident in "abc"))
    story.next("+a +b +c")
    sup.stop(otpy.Shutdown())
    story.next("-c -b -a")


@pytest.mark.otp_case(76)
def test_children_of_all_places_in_one_tree(stage: Stage, story: Story) -> None:
    specs = [worker(stage, place, story.notes, place.name) for place in PLACES]
    sup = started(stage, *specs, strategy="rest_for_one")
    names = [place.name for place in PLACES]
    story.next(" ".join(f"+{name}" for name in names))
    for first, name in enumerate(names):
        child(stage, name).kill()
        story.next(" ".join(f"-{late}" for late in reversed(names[first + 1 :])))
        story.next(" ".join(f"+{late}" for late in names[first:]))
    sup.stop(otpy.Shutdown())
    story.next(" ".join(f"-{name}" for name in reversed(names)))
    story.is_over()


@pytest.mark.otp_case(77)
def test_a_failed_start_stops_those_before_it(stage: Stage, story: Story, place: Place) -> None:
    specs = [
        worker(stage, place, story.notes, "a"),
        planned(stage, place, story.notes, "b", "!"),
        worker(stage, place, story.notes, "c"),
    ]
    with pytest.raises(StartError):
        started(stage, *specs)
    story.next("+a !b -a")
    story.is_over()


@pytest.mark.otp_case(80)
def test_an_ignored_child_keeps_its_spec(stage: Stage, story: Story, place: Place) -> None:
    sup = started(stage, planned(stage, place, story.notes, "a", "~"), worker(stage, place, story.notes, "b"))
    story.next("~a +b")
    assert stage.system.find("t/sup/a") is None
    assert isinstance(sup.call(otpy.Supervisor.restart_child, "a"), otpy.Ref)
    story.next("+a")


@pytest.mark.otp_case(150)
def test_a_child_that_is_late_to_stop_is_killed(stage: Stage, story: Story, place: Place) -> None:
    gate = stage.barrier()
    sup = started(
        stage,
        worker(stage, place, story.notes, "a"),
        worker(stage, place, story.notes, "b", shutdown=0.1),
        worker(stage, place, story.notes, "c"),
    )
    story.next("+a +b +c")
    late = child(stage, "b")
    do(late, deeds.end_with, deeds.hold, gate.ref)
    monitor = late.monitor()
    sup.stop(otpy.Shutdown())
    assert monitor.wait().reason in (otpy.Killed(), otpy.NoProc())
    assert late.reason == otpy.Killed()
    story.next("-c -a")


def test_a_brutal_kill_asks_for_nothing(stage: Stage, story: Story, place: Place) -> None:
    sup = started(stage, worker(stage, place, story.notes, "a", shutdown=otpy.BRUTAL_KILL))
    story.next("+a")
    victim = child(stage, "a")
    sup.call(otpy.Supervisor.terminate_child, "a")
    assert victim.reason == otpy.Killed()
    story.is_over()


@pytest.mark.otp_case(152)
def test_one_who_traps_works_off_its_queue_before_it_stops(stage: Stage, story: Story, place: Place) -> None:
    gate = stage.barrier()
    sup = started(stage, worker(stage, place, story.notes, "a"))
    busy = child(stage, "a")
    run(busy, deeds.hold, gate.ref)
    gate.reached()
    for job in ("one", "two"):
        busy.tell(job)
    sup.stop(otpy.Shutdown(), block=False)
    gate.open()
    story.next("+a one two -a")


@pytest.mark.otp_case(101, 160, 161)
def test_a_child_may_be_ended_started_again_and_forgotten(stage: Stage, story: Story, place: Place) -> None:
    sup = started(stage, worker(stage, place, story.notes, "a"))
    sup.call(otpy.Supervisor.terminate_child, "a")
    story.next("+a -a")
    again = sup.call(otpy.Supervisor.restart_child, "a")
    assert again is child(stage, "a")
    assert do(again, deeds.echo, 1) == 1
    sup.call(otpy.Supervisor.terminate_child, "a")
    sup.call(otpy.Supervisor.delete_child, "a")
    story.next("+a -a")
    assert sup.call(otpy.Supervisor.which_children) == []


# --- restarts

ENDS: dict[str, Callable[[otpy.Ref[Any]], object]] = {
    "kill": lambda ref: ref.kill(),
    "crash": lambda ref: run(ref, deeds.fail, "oops"),
    "normal": lambda ref: run(ref, deeds.stop, otpy.Normal()),
    "shutdown": lambda ref: run(ref, deeds.stop, otpy.Shutdown("x")),
}


@pytest.mark.otp_case(97, 98, 100)
@pytest.mark.parametrize(
    ("restart", "restarting"),
    [("permanent", list(ENDS)), ("transient", ["kill", "crash"]), ("temporary", [])],
)
def test_who_is_started_again_after_which_end(
    stage: Stage, story: Story, place: Place, restart: str, restarting: list[str]
) -> None:
    ids = list(ENDS)
    specs = [worker(stage, place, story.notes, ident, restart=restart) for ident in ids]
    sup = started(stage, *specs, max_restarts=10)
    refs = {ident: child(stage, ident) for ident in ids}
    for ident, end in ENDS.items():
        ends(refs[ident], lambda end=end, ident=ident: end(refs[ident]))  # type: ignore[misc]
    left = {info.id: info.ref for info in sup.call(otpy.Supervisor.which_children)}
    assert [ident for ident in ids if left.get(ident) is not None] == restarting
    assert all(ref is not refs[ident] for ident, ref in left.items())
    assert (list(left) == []) is (restart == "temporary")


STRATEGIES = [
    ("one_for_one", "+b"),
    ("rest_for_one", "-c +b +c"),
    ("one_for_all", "-c -a +a +b +c"),
]


@pytest.mark.otp_case(104, 106)
@pytest.mark.parametrize(("strategy", "trace"), STRATEGIES)
def test_a_strategy_says_who_is_started_again(
    stage: Stage, story: Story, place: Place, strategy: str, trace: str
) -> None:
    sup = started(stage, *(worker(stage, place, story.notes, ident) for ident in "abc"), strategy=strategy)
    story.next("+a +b +c")
    child(stage, "b").kill()
    story.next(trace)
    assert [info.state for info in sup.call(otpy.Supervisor.which_children)] == ["running"] * 3
    story.is_over()


@pytest.mark.otp_case(120, 121)
def test_a_restart_that_fails_is_tried_again(stage: Stage, story: Story, place: Place) -> None:
    started(stage, planned(stage, place, story.notes, "a", "+!!+"), max_restarts=5)
    story.next("+a")
    child(stage, "a").kill()
    story.next("!a !a +a")


@pytest.mark.otp_case(132, 180)
def test_too_many_restarts_end_the_supervisor(stage: Stage, story: Story, place: Place) -> None:
    sup = started(stage, *(worker(stage, place, story.notes, ident) for ident in "ab"), max_restarts=1)
    story.next("+a +b")
    child(stage, "b").kill()
    story.next("+b")
    reason = ends(sup, child(stage, "b").kill)
    assert isinstance(reason, otpy.Shutdown)
    assert isinstance(reason.detail, RestartLimit)
    story.next("-a")


@pytest.mark.otp_case(178)
def test_a_name_goes_to_the_next_incarnation(stage: Stage, story: Story, place: Place, events: Any) -> None:
    """And a call that waits for it is answered by that."""
    started(stage, worker(stage, place, story.notes, "a", name="it"))
    first = stage.system.whereis("it")
    assert first is not None
    ends(first, lambda: run(first, deeds.leave, BOOM))
    handle = stage.system.ref("it").within(5.0, wait_for_name=5.0)
    assert handle.ask(("do", named(deeds.path))) == first.path
    assert stage.system.whereis("it") is not first
    assert [event.path for event in events.of(ActorCrashed)] == [first.path]


@pytest.mark.otp_case(90)
def test_children_of_a_killed_supervisor_end_by_their_links(stage: Stage, story: Story, place: Place) -> None:
    sup = started(stage, worker(stage, place, story.notes, "a"))
    story.next("+a")
    orphan = child(stage, "a")
    assert ends(orphan, sup.kill) == otpy.Killed()
    story.next("-a")


@pytest.mark.otp_case(144, 145)
def test_a_significant_child_ends_its_supervisor(stage: Stage, story: Story, place: Place) -> None:
    specs = [
        worker(stage, place, story.notes, "a"),
        worker(stage, place, story.notes, "b", restart="transient", significant=True),
    ]
    sup = started(stage, *specs, auto_shutdown="any_significant")
    story.next("+a +b")
    reason = ends(sup, lambda: run(child(stage, "b"), deeds.stop, otpy.Normal()))
    assert isinstance(reason, otpy.Shutdown)
    story.next("-b -a")


# --- dynamic


@pytest.mark.otp_case(168, 170, 202)
def test_dynamic_children_come_and_go(stage: Stage, story: Story, place: Place) -> None:
    sup = stage.system.start(otpy.dynamic().opts(id="dyn"))
    spec = worker(stage, place, story.notes, "a")
    ref = sup.call(otpy.DynamicSupervisor.start_child, spec)
    story.next("+a")
    assert ref is not None
    path = ref.path
    ends(ref, ref.kill)
    story.next("+a")
    sup.call(otpy.DynamicSupervisor.count_children)
    again = stage.system.find(path)
    assert again is not None
    assert again is not ref
    sup.call(otpy.DynamicSupervisor.terminate_child, again)
    story.next("-a")


@pytest.mark.otp_case(153)
def test_dynamic_children_stop_at_the_same_time(stage: Stage, story: Story, place: Place) -> None:
    gate = stage.barrier()
    sup = stage.system.start(otpy.dynamic().opts(id="dyn"))
    for _ in range(3):
        ref = sup.call(otpy.DynamicSupervisor.start_child, worker(stage, place, story.notes, "a"))
        do(ref, deeds.end_with, deeds.hold, gate.ref)
    monitor = sup.monitor()
    sup.stop(otpy.Shutdown(), block=False)
    gate.reached(3)
    gate.open()
    assert monitor.wait().reason == otpy.Shutdown()
