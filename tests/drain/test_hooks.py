"""Hooks run in their actor's turn, in every place, whatever they do; who is late is named."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import pytest

import otpy
from otpy.drain.begin import begin
from otpy.drain.plan import Phase
from otpy.events import DrainFailed, DrainLate
from otpy.testing import Gate

if TYPE_CHECKING:
    from otpy.events import Event
    from otpy.testing import VirtualClock

BUDGET = 10.0


class Told(otpy.GenServer):
    """Does in its hooks what it was made to."""

    def init(self, hook: Any = None, flush: Any = None) -> None:
        self.hook, self.flush = hook, flush
        self.told: list[otpy.Drain] = []

    def handle_drain(self, drain: otpy.Drain) -> object:
        self.told.append(drain)
        return None if self.hook is None else self.hook(drain)

    def handle_flush(self, drain: otpy.Drain) -> object:
        return None if self.flush is None else self.flush(drain)

    def handle_info(self, message: dict[Any, object]) -> None:
        for wait in message:
            wait()

    @otpy.call
    def count(self) -> int:
        return len(self.told)


class Async(otpy.GenServer):
    """The same, awaited."""

    max_concurrency = 3

    async def init(self, gate: asyncio.Event | None = None) -> None:
        self.gate = gate
        self.done: list[str] = []

    async def handle_drain(self, drain: otpy.Drain) -> otpy.NoReply:
        await asyncio.sleep(0)
        drain.done()
        return otpy.NoReply()

    async def handle_flush(self, drain: otpy.Drain) -> None:
        await otpy.asleep(2.0)
        self.done.append("flushed")

    @otpy.call
    async def what(self) -> list[str]:
        return self.done


def later(_: otpy.Drain) -> otpy.NoReply:
    return otpy.NoReply()


def fail(_: otpy.Drain) -> None:
    raise ValueError("no line")


def late(told: list[Event]) -> list[DrainLate]:
    return [event for event in told if isinstance(event, DrainLate)]


def test_who_is_never_done_is_late_at_six_tenths_and_named(
    shop: otpy.System, clock: VirtualClock, told: list[Event]
) -> None:
    def busy(drain: otpy.Drain) -> otpy.NoReply:
        drain.working(30, [f"job {number}" for number in range(30)])
        return otpy.NoReply()

    shop.start(otpy.child(Told, busy).opts(id="one"))
    course = begin(shop, "by hand", BUDGET)
    clock.advance(5.9)
    assert (course.phase, late(told)) == (Phase.DRAIN, [])

    clock.advance(0.1)

    (event,) = late(told)
    assert (event.path, event.phase, event.why) == ("shop/one", "drain", "30 in flight")
    assert event.names == tuple(f"job {number}" for number in range(20))
    assert course.has_ended()
    assert course.undone == []  # it may give back what it has until it has stopped


class Lender(otpy.GenServer):
    """Gives back what it has when it is stopped, or does not."""

    trap_exit = True

    def init(self, *, gives_back: bool) -> None:
        self.gives_back = gives_back

    def handle_drain(self, drain: otpy.Drain) -> otpy.NoReply:
        self.drain = drain
        drain.working(2, ["job 1", "job 2"])
        return otpy.NoReply()

    def terminate(self, reason: otpy.Reason) -> None:
        if self.gives_back:
            self.drain.done()


@pytest.mark.parametrize("gives_back", [True, False])
def test_who_is_late_has_until_its_stop_to_give_back_what_it_has(
    shop: otpy.System, clock: VirtualClock, *, gives_back: bool
) -> None:
    shop.start(otpy.child(Lender, gives_back=gives_back).opts(id="one"))
    course = begin(shop, "by hand", BUDGET)
    clock.advance(6.0)
    assert course.undone == []

    shop.stop()
    course.end([])

    left = "shop/one: it has neither finished nor given back its 2 in flight (job 1, job 2)"
    assert course.undone == ([] if gives_back else [left])


def test_who_is_in_a_message_has_not_returned_and_its_line_is_named(
    shop: otpy.System, clock: VirtualClock, told: list[Event]
) -> None:
    with Gate() as gate:

        class Held(Told):
            @otpy.cast
            def hold(self) -> None:
                gate.wait()

        held = shop.start(otpy.child(Held).opts(id="held"))
        held.cast(Held.hold)
        gate.reached()
        course = begin(shop, "by hand", BUDGET)
        clock.advance(6.0)
        (event,) = late(told)
        gate.open()
    clock.advance(0.1)

    assert event.why.startswith("its handle_drain has not returned; busy for ")
    assert event.thread is not None
    assert event.frame is not None
    assert course.wait(30.0)
    assert held.call(Held.count) == 1


def test_a_flush_is_late_at_nine_tenths_and_then_something_is_left(
    shop: otpy.System, clock: VirtualClock, told: list[Event]
) -> None:
    shop.start(otpy.child(Told, None, later).opts(id="one"))
    course = begin(shop, "by hand", BUDGET)

    clock.advance(8.9)
    assert course.phase is Phase.FLUSH
    clock.advance(0.1)

    assert [(event.path, event.phase) for event in late(told)] == [("shop/one", "flush")]
    assert course.undone == ["shop/one: was not flushed"]


@pytest.mark.parametrize("what", [1, otpy.Stop(), "done"])
def test_a_hook_that_returns_what_it_may_not_has_failed_and_its_actor_lives(
    shop: otpy.System, clock: VirtualClock, told: list[Event], what: object
) -> None:
    one = shop.start(otpy.child(Told, lambda _: what).opts(id="one"))

    course = begin(shop, "by hand", BUDGET)
    clock.advance(0.1)

    assert course.wait(30.0)
    (event,) = [event for event in told if isinstance(event, DrainFailed)]
    assert (event.path, event.phase) == ("shop/one", "drain")
    assert event.problem.startswith("handle_drain returned ")
    assert one.is_alive()


def test_hooks_that_raise_are_reported_and_end_nobody(
    shop: otpy.System, clock: VirtualClock, told: list[Event]
) -> None:
    one = shop.start(otpy.child(Told, fail, fail).opts(id="one"))

    course = begin(shop, "by hand", BUDGET)
    clock.advance(0.1)

    assert course.wait(30.0)
    assert [event for event in told if isinstance(event, DrainFailed)] == [
        DrainFailed(path="shop/one", phase="drain", problem="ValueError: no line"),
        DrainFailed(path="shop/one", phase="flush", problem="ValueError: no line"),
    ]
    assert course.undone == ["shop/one: was not flushed"]
    assert one.is_alive()


def test_coroutine_functions_are_awaited_also_where_several_messages_are_handled_at_once(
    shop: otpy.System, clock: VirtualClock
) -> None:
    one = shop.start(Async)
    course = begin(shop, "by hand", BUDGET)

    clock.advance(2.5)

    assert course.wait(30.0)
    assert course.undone == []
    assert course.took[Phase.FLUSH] >= 2.0
    assert one.call(Async.what) == ["flushed"]


@pytest.mark.parametrize("place", ["pool", "thread", "loop"])
def test_a_hook_runs_in_its_actors_place(shop: otpy.System, clock: VirtualClock, place: Any) -> None:
    one = shop.start(otpy.child(Told).opts(place=place))

    course = begin(shop, "by hand", BUDGET)
    clock.advance(0.1)

    assert course.wait(30.0)
    assert one.call(Told.count) == 1


@pytest.mark.parametrize("place", ["pool", "thread"])
def test_a_hook_is_called_amid_messages_that_have_no_hash(shop: otpy.System, clock: VirtualClock, place: Any) -> None:
    """Its actor had crashed whose next message held a set, a list or a dict."""
    one = shop.start(otpy.child(Told).opts(place=place, id="one"))
    with Gate() as gate:
        for _ in range(3):
            one.tell({gate.wait: [1]})
        gate.reached()
        course = begin(shop, "by hand", BUDGET)
    clock.advance(1.0)
    assert (course.has_ended(), one.call(Told.count)) == (True, 1)


def test_a_full_mailbox_keeps_no_hook_from_being_called(shop: otpy.System, clock: VirtualClock) -> None:
    with Gate() as gate:
        order: list[str] = []

        class Full(Told):
            @otpy.cast
            def work(self, what: str) -> None:
                order.append(what)
                gate.wait()

        full = shop.start(otpy.child(Full, lambda _: order.append("told")).opts(max_queue=1, overflow="drop_new"))
        full.cast(Full.work, "one")
        gate.reached()
        full.cast(Full.work, "two")
        begin(shop, "by hand", BUDGET)
        clock.advance(0.1)
        gate.open()
    clock.advance(0.1)

    assert order == ["one", "told", "two"]


def test_done_may_be_said_twice_from_any_thread_and_what_is_no_number_is_refused(
    shop: otpy.System, clock: VirtualClock
) -> None:
    one = shop.start(Told, later)
    course = begin(shop, "by hand", BUDGET)
    clock.advance(0.1)
    (drain,) = one.actor.told

    with pytest.raises(ValueError, match="a whole number, 0 or more"):
        drain.working(-1)
    with pytest.raises(ValueError, match="a whole number, 0 or more"):
        drain.working(True)  # noqa: FBT003 - it is refused
    assert drain.remaining() == pytest.approx(5.9)
    drain.done()
    drain.done()
    clock.advance(0.1)

    assert course.wait(30.0)
    assert repr(drain) == "<Drain of shop/Told: by hand>"


def test_hooks_may_not_be_requests_of_other_names() -> None:
    with pytest.raises(TypeError, match="cannot be a request: Departing has a 'handle_drain' of its own"):

        class Wrong(otpy.GenServer):
            @otpy.call
            def handle_drain(self, drain: otpy.Drain) -> None: ...
