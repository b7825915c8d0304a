"""What a drain waits for: messages, and what is in flight; and what it does not."""

from __future__ import annotations

import contextvars
import threading
from typing import TYPE_CHECKING, Any

import pytest

import otpy
from otpy.drain.begin import begin
from otpy.drain.look import look_at
from otpy.drain.plan import Phase
from otpy.errors import DrainingError, NoSuchActorError
from otpy.events import DrainLate
from otpy.testing import Gate

if TYPE_CHECKING:
    from otpy.core.strategy import Strategy
    from otpy.events import Event
    from otpy.testing import VirtualClock

BUDGET = 10.0


class Worker(otpy.GenServer):
    """Needs a second for each thing."""

    def init(self) -> None:
        self.done: list[int] = []
        self.told = 0

    @otpy.cast
    def work(self, number: int) -> None:
        otpy.sleep(1.0)
        self.done.append(number)

    @otpy.cast
    def fall(self) -> None:
        raise RuntimeError

    @otpy.call
    def what(self) -> tuple[list[int], int]:
        return self.done, self.told

    def handle_drain(self, _: otpy.Drain) -> None:
        self.told += 1


class Plain(otpy.GenServer):
    """Has no hook."""

    @otpy.cast
    def wait(self, gate: Gate) -> None:
        gate.wait()

    @otpy.cast
    def pass_on(self, target: otpy.Ref[Worker], number: int) -> None:
        otpy.sleep(0.5)
        target.cast(Worker.work, number)


class Clerk(otpy.GenServer):
    """Is late, and gives back what it has when it is stopped."""

    trap_exit = True

    def handle_drain(self, drain: otpy.Drain) -> otpy.NoReply:
        self.drain = drain
        return otpy.NoReply()

    def terminate(self, _: object) -> None:
        self.drain.done()


def test_a_turn_that_has_just_begun_is_not_late_where_somebody_else_is(shop: otpy.System, clock: VirtualClock) -> None:
    """Whoever ticked at the end of what another one held up was said to be left undone."""
    ticker, tick = shop.start(Plain), Gate()
    shop.start(Clerk)
    course = begin(shop, "by hand", BUDGET)
    clock.advance(course.plan.end(Phase.DRAIN) - 0.01)
    ticker.cast(Plain.wait, tick)
    tick.reached()
    clock.advance(0.01)
    tick.open()
    shop.stop(timeout=30.0)

    assert [late.path for late in course.late] == ["shop/Clerk"]
    assert course.undone == []


def test_a_turn_that_has_just_begun_is_not_late_where_the_last_are_done_at_the_end(
    shop: otpy.System, clock: VirtualClock
) -> None:
    """As that of a supervisor whose child was told to leave at the end, and has."""
    first, second = shop.start(otpy.child(Plain).opts(id="a")), shop.start(otpy.child(Plain).opts(id="b"))
    work, tick = Gate(), Gate()
    first.cast(Plain.wait, work)
    work.reached()
    course = begin(shop, "by hand", BUDGET)
    clock.advance(course.plan.end(Phase.DRAIN) - 0.01)
    work.open()
    second.cast(Plain.wait, tick)
    tick.reached()
    shop.wait_idle()
    clock.advance(0.01)
    tick.open()
    clock.advance(0.05)

    assert course.has_ended()
    assert (course.late, course.undone) == ([], [])


def test_a_tree_that_never_rests_names_who_has_work_at_the_end(shop: otpy.System, clock: VirtualClock) -> None:
    first, second = shop.start(otpy.child(Plain).opts(id="a")), shop.start(otpy.child(Plain).opts(id="b"))
    gates = [Gate(), Gate()]
    first.cast(Plain.wait, gates[0])
    gates[0].reached()
    course = begin(shop, "by hand", BUDGET)
    clock.advance(course.plan.end(Phase.DRAIN) - 0.01)
    second.cast(Plain.wait, gates[1])
    gates[1].reached()
    gates[0].open()
    shop.wait_idle()
    clock.advance(0.05)  # its work might be a mere tick: a moment later it is not
    gates[1].open()
    shop.stop(timeout=30.0)

    assert [late.path for late in course.late] == ["shop/b"]
    assert [one.partition(":")[0] for one in course.undone] == ["shop/b"]


def test_messages_that_wait_are_worked_off_and_what_they_lead_to(shop: otpy.System, clock: VirtualClock) -> None:
    worker = shop.start(Worker)
    plain = shop.start(Plain)
    for number in range(2):
        worker.cast(Worker.work, number)
    plain.cast(Plain.pass_on, worker, 2)

    course = begin(shop, "by hand", BUDGET)
    depths = []
    for _ in range(8):
        clock.advance(0.5)
        depths.append(look_at(shop, course)["queue"])

    assert depths == [2, 1, 1, 0, 0, 0, 0, 0]
    assert course.wait(30.0)
    assert worker.call(Worker.what) == ([0, 1, 2], 1)
    assert 3.0 <= course.took[Phase.QUIESCE] + course.took[Phase.DRAIN] <= 3.1


def test_a_message_without_end_is_late_and_left(shop: otpy.System, clock: VirtualClock, told: list[Event]) -> None:
    with Gate() as gate:
        plain = shop.start(Plain)
        plain.cast(Plain.wait, gate)
        plain.cast(Plain.wait, gate)
        gate.reached()
        course = begin(shop, "by hand", BUDGET)
        clock.advance(6.1)
        gate.open()

    (late,) = [event for event in told if isinstance(event, DrainLate)]
    assert late.path == "shop/Plain"
    assert late.why.startswith("1 message waiting; busy for ")
    assert late.frame is not None
    assert course.undone == [f"shop/Plain: {late.why}"]


def test_an_event_says_once_where_somebody_is() -> None:
    late = DrainLate(path="shop/a", phase="drain", why="2 in flight", thread=None, frame=None, names=("x", "y"))
    assert str(late) == "shop/a: late in drain: 2 in flight: x, y; it is at rest"

    busy = DrainLate(path="shop/a", phase="drain", why="busy, at a.py:5 in f", thread="otpy-2", frame="a.py:5 in f")
    assert str(busy) == "shop/a: late in drain: busy, at a.py:5 in f; it is on otpy-2"


def forever() -> None:
    while True:
        otpy.sleep(1.0)


class Ticks(otpy.GenServer):
    """Has a timer."""

    def init(self) -> None:
        self.send_interval(0.01, "tick")

    def handle_info(self, _: object) -> None: ...


def test_functions_suspended_actors_and_timers_are_not_waited_for(shop: otpy.System, clock: VirtualClock) -> None:
    shop.start(forever)
    shop.start(Ticks)
    plain = shop.start(Plain)
    shop.suspend(plain.path)
    plain.cast(Plain.wait, Gate())

    course = begin(shop, "by hand", BUDGET)
    clock.advance(0.5)

    assert course.wait(30.0)
    assert course.undone == []


def test_what_is_in_flight_is_waited_for_and_nothing_more_begins(shop: otpy.System, clock: VirtualClock) -> None:
    said: list[str] = []

    def fly() -> None:
        with otpy.in_flight():
            otpy.sleep(2.0)
            with otpy.in_flight():  # it belongs to the outer one
                said.append("landed")
        with pytest.raises(DrainingError, match="shop/fly begins nothing more, for the program drains: by hand"):
            otpy.in_flight().__enter__()
        told = otpy.draining()
        said.append("None" if told is None else told.reason)

    shop.start(otpy.child(fly).opts(id="fly"))
    shop.wait_idle()
    assert look_at(shop, None)["in_flight"] == 1

    course = begin(shop, "by hand", BUDGET)
    clock.advance(1.0)
    assert course.phase is Phase.DRAIN
    assert look_at(shop, course)["waits_for"] == [
        {"path": "shop/fly", "why": "it is in flight", "count": 1, "names": []}
    ]
    clock.advance(1.1)

    assert course.wait(30.0)
    assert said == ["landed", "by hand"]
    assert course.undone == []
    assert shop.drains.flights == {}


def test_a_flight_that_does_not_land_is_late_with_its_line(
    shop: otpy.System, clock: VirtualClock, told: list[Event]
) -> None:
    with shop.in_flight():
        course = begin(shop, "by hand", BUDGET)
        clock.advance(6.0)
    assert course.wait(30.0)

    (late,) = [event for event in told if isinstance(event, DrainLate)]
    assert (late.path, late.why, late.thread) == ("shop (thread MainThread)", "it is in flight", "MainThread")
    assert late.frame is not None
    assert course.undone == ["shop (thread MainThread): it is in flight"]
    with pytest.raises(DrainingError, match="MainThread begins nothing more"), shop.in_flight():
        pass
    with pytest.raises(NoSuchActorError):
        otpy.draining()


def tree(how: Strategy) -> type[otpy.Supervisor]:
    class Tree(otpy.Supervisor):
        strategy = how
        max_restarts = 5

        def children(self) -> list[otpy.ChildSpec]:
            return [otpy.child(Worker).opts(id=name, name=name) for name in "abc"]

    return Tree


@pytest.mark.parametrize(("how", "renewed"), [("one_for_one", "b"), ("rest_for_one", "bc"), ("one_for_all", "abc")])
def test_who_is_started_again_while_it_drains_is_told_as_well(
    shop: otpy.System, clock: VirtualClock, how: Any, renewed: str, quiet: None
) -> None:
    shop.start_root(otpy.child(tree(how)))
    refs = {name: shop.whereis(name) for name in "abc"}
    shop.ref(otpy.name(Worker, "a")).cast(Worker.work, 1)
    shop.ref(otpy.name(Worker, "b")).cast(Worker.fall)

    course = begin(shop, "by hand", BUDGET)
    clock.advance(3.0)

    assert course.wait(30.0)
    assert {name for name in "abc" if shop.whereis(name) is not refs[name]} == set(renewed)
    assert [shop.ref(otpy.name(Worker, name)).call(Worker.what)[1] for name in "abc"] == [1, 1, 1]


def test_nothing_comes_in_after_the_quiesce(shop: otpy.System, clock: VirtualClock) -> None:
    """A source that asks each time whether it may begins nothing any more from that moment on."""
    begun: list[float] = []

    def source() -> None:
        while otpy.draining() is None:
            with otpy.in_flight():
                begun.append(shop.clock.now())
                otpy.sleep(0.3)

    shop.start(source)
    clock.advance(1.0)

    course = begin(shop, "by hand", BUDGET)
    clock.advance(5.0)

    assert course.wait(30.0)
    assert max(begun) <= 1.0
    assert len(begun) == 4


def test_a_tree_with_nothing_to_do_is_drained_at_once_without_an_actor(shop: otpy.System) -> None:
    shop.start(Plain)
    shop.wait_idle()
    before = shop.last_number

    course = begin(shop, "by hand", BUDGET)

    assert course.has_ended()
    assert course.wait()
    assert shop.last_number == before
    assert set(course.took) == {Phase.QUIESCE, Phase.DRAIN, Phase.CHECKPOINT, Phase.FLUSH}


def test_a_task_begun_in_a_block_that_is_over_begins_nothing_more(shop: otpy.System) -> None:
    with shop.in_flight():
        inside = contextvars.copy_context()  # as a task has it that was made in here
        assert inside.run(_enters, shop)
    assert inside.run(_enters, shop)
    begin(shop, "by hand", BUDGET)
    assert not inside.run(_enters, shop)


def test_what_is_in_flight_may_land_in_another_thread_and_once(shop: otpy.System) -> None:
    flight = shop.in_flight()
    flight.__enter__()
    with pytest.raises(RuntimeError, match="in flight already"):
        flight.__enter__()
    landing = threading.Thread(target=flight.__exit__, args=(None, None, None))
    landing.start()
    landing.join()
    assert not shop.drains.flights
    flight.__exit__(None, None, None)
    begin(shop, "by hand", BUDGET)
    assert not _enters(shop)


def _enters(system: otpy.System) -> bool:
    try:
        with system.in_flight():
            return True
    except DrainingError:
        return False
