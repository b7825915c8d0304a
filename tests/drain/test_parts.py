"""A part of a program drains alone; several who want the same; and a drain that is cut short."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any

import pytest

import otpy
from otpy.drain.begin import begin
from otpy.drain.look import look_at
from otpy.drain.plan import Phase
from otpy.errors import NoSuchActorError
from otpy.events import DrainBegun, DrainEnded, DrainPhase

if TYPE_CHECKING:
    from otpy.events import Event
    from otpy.testing import VirtualClock

BUDGET = 10.0


class Agent(otpy.GenServer):
    """Is told, and is done when somebody says so."""

    def init(self) -> None:
        self.told: list[otpy.Drain] = []

    def handle_drain(self, drain: otpy.Drain) -> otpy.NoReply:
        self.told.append(drain)
        return otpy.NoReply()

    @otpy.call
    def finish(self) -> int:
        for drain in self.told:
            drain.done()
        return len(self.told)

    @otpy.call
    def drains(self) -> str | None:
        told = otpy.draining()
        return None if told is None else told.reason


class Group(otpy.Supervisor):
    def children(self) -> list[otpy.ChildSpec]:
        return [otpy.child(Agent).opts(id=name) for name in "ab"]


class Shop(otpy.Supervisor):
    def children(self) -> list[otpy.ChildSpec]:
        return [otpy.child(Group).opts(id="feed"), otpy.child(Agent).opts(id="till")]


def agent(shop: otpy.System, path: str) -> otpy.Ref[Any]:
    found = shop.find(path)
    assert found is not None
    return found


def finish(shop: otpy.System, *paths: str) -> list[int]:
    return [agent(shop, path).call(Agent.finish) for path in paths]


def test_only_what_is_at_and_below_a_path_is_told_and_then_stopped(
    shop: otpy.System, clock: VirtualClock, told: list[Event]
) -> None:
    shop.start_root(otpy.child(Shop))

    course = begin(shop, "by hand", BUDGET, path="shop/feed")
    clock.advance(0.1)

    assert shop.draining is None
    assert [agent(shop, path).call(Agent.drains) for path in ("shop/feed/a", "shop/till")] == ["by hand", None]
    assert look_at(shop, course)["asked"] == 2
    assert finish(shop, "shop/feed/a", "shop/feed/b", "shop/till") == [1, 1, 0]
    clock.advance(0.1)
    assert course.wait(30.0)
    assert (shop.find("shop/feed"), shop.record("shop/feed").status) == (None, "stopped")
    assert shop.drains.parts == {}
    assert told[0] == DrainBegun(path="shop/feed", reason="by hand", seconds=BUDGET)
    assert [event.phase for event in told if isinstance(event, DrainPhase)] == [
        *("quiesce", "drain", "checkpoint", "flush", "release"),
    ]
    assert isinstance(told[-1], DrainEnded)
    assert told[-1].undone == ()
    shop.restart_child("shop/feed")
    assert agent(shop, "shop/feed/a").call(Agent.drains) is None


def test_a_part_may_be_drained_and_left_running_for_whoever_has_it_started_again(
    shop: otpy.System, clock: VirtualClock
) -> None:
    shop.start_root(otpy.child(Shop))
    before = agent(shop, "shop/till")

    course = begin(shop, "a roll", BUDGET, path="shop/till", has_release=False)
    clock.advance(0.1)
    finish(shop, "shop/till")
    clock.advance(0.1)

    assert course.wait(30.0)
    assert before.is_alive()
    assert before.call(Agent.drains) == "a roll"
    shop.restart_child("shop/till")
    assert agent(shop, "shop/till").call(Agent.drains) is None


def test_a_part_that_drains_is_told_again_when_the_whole_program_does(shop: otpy.System, clock: VirtualClock) -> None:
    shop.start_root(otpy.child(Shop))
    part = begin(shop, "a roll", BUDGET, path="shop/till", has_release=False)
    whole = begin(shop, "SIGTERM", BUDGET)
    clock.advance(0.1)

    assert finish(shop, "shop/till", "shop/feed/a", "shop/feed/b") == [2, 1, 1]
    clock.advance(0.1)
    assert part.wait(30.0)
    assert whole.wait(30.0)
    assert agent(shop, "shop/till").call(Agent.drains) == "SIGTERM"


def test_who_is_not_there_is_named() -> None:
    system = otpy.System("shop")
    with pytest.raises(NoSuchActorError, match="no actor 'shop/nobody'"):
        begin(system, "by hand", BUDGET, path="shop/nobody")
    system.stop()


def test_it_begins_once_and_the_earliest_deadline_of_all_holds(
    shop: otpy.System, clock: VirtualClock, told: list[Event]
) -> None:
    shop.start_root(otpy.child(Shop))
    first = begin(shop, "SIGTERM", BUDGET)
    clock.advance(1.0)
    assert begin(shop, "otpy drain", 5.0) is first
    assert begin(shop, "the block was left", 100.0) is first
    assert shop.draining == otpy.Draining("SIGTERM", 0.0, 6.0)

    clock.advance(2.9)
    assert first.phase is Phase.DRAIN  # until 60 % of the five seconds
    clock.advance(0.2)

    assert first.wait(30.0)
    assert [event.path for event in told if isinstance(event, DrainBegun)] == ["shop"]
    assert agent(shop, "shop/till").call(Agent.finish) == 1


def test_who_wants_the_same_waits_for_it_also_before_its_beginner_got_so_far(
    shop: otpy.System, clock: VirtualClock
) -> None:
    """A program that leaves its block at a signal begins the drain on two threads at the same time."""
    reached, go_on = threading.Event(), threading.Event()

    def hold(_: DrainBegun) -> None:
        reached.set()
        go_on.wait(10.0)

    shop.start_root(otpy.child(Shop))
    shop.events.attach(hold, DrainBegun)
    first = threading.Thread(target=begin, args=(shop, "SIGTERM", BUDGET))
    first.start()
    assert reached.wait(10.0)

    course = begin(shop, "the block was left", BUDGET)

    assert not course.has_ended()
    assert not course.wait(0.0)
    go_on.set()
    first.join()
    clock.advance(0.1)
    assert not course.has_ended()
    finish(shop, "shop/till", "shop/feed/a", "shop/feed/b")
    clock.advance(0.1)
    assert course.wait(30.0)


def test_who_is_cut_short_waits_for_nobody_and_says_so(shop: otpy.System, clock: VirtualClock) -> None:
    shop.start_root(otpy.child(Shop))
    course = begin(shop, "SIGTERM", BUDGET)
    clock.advance(1.0)

    course.cut("a second SIGTERM")
    course.cut("a third one")
    clock.advance(0.0)

    assert course.wait(30.0)
    assert course.undone == ["it was cut short in drain: a second SIGTERM"]
    assert sum(course.took.values()) == 1.0


def test_what_a_look_counts_goes_to_nought(shop: otpy.System, clock: VirtualClock) -> None:
    class Line:
        def __enter__(self) -> None: ...
        def __exit__(self, *_: object) -> None: ...

    class Busy(Agent):
        def init(self) -> None:
            super().init()
            self.use(Line())

        def handle_drain(self, drain: otpy.Drain) -> otpy.NoReply:
            drain.working(2)
            self.send_after(1.0, (drain.working, 1))
            self.send_after(2.0, (drain.done,))
            return super().handle_drain(drain)

        def handle_info(self, message: Any) -> None:
            message[0](*message[1:])
            otpy.sleep(0.2)

    busy = shop.start(Busy)
    course = begin(shop, "SIGTERM", BUDGET)
    seen = []
    for _ in range(3):
        clock.advance(0.9)
        busy.tell((len, ()))
        seen.append(tuple(look_at(shop, course)[word] for word in ("in_flight", "resources")))

    assert seen == [(2, 1), (1, 1), (0, 1)]
    clock.advance(1.0)
    assert course.wait(30.0)
    assert look_at(shop, course)["queue"] == 0
    shop.stop()
    assert look_at(shop, course)["resources"] == 0
