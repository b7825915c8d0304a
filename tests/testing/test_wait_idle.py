"""`system.wait_idle`: it returns when nothing waits or runs, no earlier, and at once."""

from __future__ import annotations

import asyncio
import threading
from collections import deque
from typing import TYPE_CHECKING, Any

import pytest

import otpy
from otpy.runtime import seat as seats
from otpy.runtime.caller import Caller
from otpy.runtime.wait_idle import is_idle
from otpy.testing import Gate

if TYPE_CHECKING:
    from collections.abc import Iterator


class Passer(otpy.GenServer):
    """Passes a number on to the next, one less each time."""

    def init(self) -> None:
        self.seen: list[int] = []

    @otpy.cast
    def pass_on(self, ring: list[otpy.Ref[Passer]], number: int) -> None:
        self.seen.append(number)
        if number:
            ring[number % len(ring)].cast(Passer.pass_on, ring, number - 1)

    @otpy.call
    def count(self) -> int:
        return len(self.seen)

    @otpy.call
    def ask(self, other: otpy.Ref[Passer]) -> int:
        return other.call(Passer.count)

    @otpy.call
    def hold(self, gate: Gate) -> str:
        gate.wait()
        return "held"


@pytest.fixture
def system() -> Iterator[otpy.System]:
    system = otpy.System("i")
    yield system
    assert system.stop(timeout=30.0) == []


def on_thread(work: Any) -> threading.Thread:
    thread = threading.Thread(target=work, name="otpy-test", daemon=True)
    thread.start()
    return thread


@pytest.mark.parametrize("place", ["pool", "thread"])
def test_it_waits_for_the_last_message_of_many(system: otpy.System, place: Any) -> None:
    ring = [system.start(otpy.child(Passer).opts(place=place)) for _ in range(7)]
    ring[0].cast(Passer.pass_on, ring, 300)

    system.wait_idle()

    assert sum(ref.call(Passer.count) for ref in ring) == 301


class Slow(deque[Any]):
    """A mailbox whose sender does not come to its end."""

    def __init__(self) -> None:
        super().__init__()
        self.begun, self.go = threading.Event(), threading.Event()

    def append(self, message: Any) -> None:
        self.begun.set()
        self.go.wait()
        super().append(message)


@pytest.mark.parametrize("place", ["pool", "thread"])
def test_who_is_about_to_call_is_not_at_rest(system: otpy.System, place: Any) -> None:
    """Its target is not in line yet, and nobody else works: who waited for rest was let go on now and then."""
    target, slow = system.start(Passer), Slow()
    target.mailbox = slow
    asker = system.start(otpy.child(Passer).opts(place=place))
    asking = on_thread(lambda: asker.call(Passer.ask, target))
    slow.begun.wait()

    try:
        with pytest.raises(TimeoutError, match="is not idle"):
            system.wait_idle(timeout=0.01)
    finally:
        slow.go.set()
        asking.join()


def test_an_actor_held_at_a_gate_counts_as_resting(system: otpy.System) -> None:
    gate, ref = Gate(), system.start(Passer)
    caller = on_thread(lambda: ref.call(Passer.hold, gate))
    gate.reached()

    system.wait_idle(timeout=5.0)

    gate.open()
    caller.join()


def test_a_thread_that_goes_to_sleep_inside_otpy_counts_as_resting(system: otpy.System) -> None:
    ready, go = threading.Event(), threading.Event()

    def work() -> None:
        ready.set()
        go.wait()
        otpy.sleep(1e6)

    ref = system.start(work)
    ready.wait()
    waiter = on_thread(lambda: system.wait_idle(timeout=10.0))
    go.set()
    waiter.join(30.0)

    assert not waiter.is_alive()
    ref.kill()
    system.wait_idle()


def test_what_blocks_outside_of_otpy_is_not_at_rest(system: otpy.System) -> None:
    begun, go = threading.Event(), threading.Event()
    system.start(lambda: (begun.set(), go.wait()) and None)
    begun.wait(30)

    with pytest.raises(TimeoutError, match=r"(?s)i is not idle after 0\.01 s.*go\.wait"):
        system.wait_idle(timeout=0.01)

    go.set()


def test_a_reply_on_its_way_to_the_thread_of_an_actor_is_not_at_rest(
    system: otpy.System, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A worker wakes the caller when it has nothing else to do; in that moment both seem to wait."""
    seen = []
    wake = Caller.wake

    def look_then_wake(caller: Caller) -> None:
        if caller.seat.ref is not None:
            seen.append(is_idle(system))
        wake(caller)

    server = system.start(Passer)
    asking = system.start(otpy.child(Passer).opts(place="thread"))
    monkeypatch.setattr(Caller, "wake", look_then_wake)
    asking.call(Passer.ask, server)

    assert seen == [False]


def test_a_token_on_its_way_to_a_waiting_actor_is_not_at_rest(system: otpy.System) -> None:
    """The worker that hands its token over is parked before the other wakes."""
    seen = []

    class Watched(list[Any]):
        def append(self, item: Any) -> None:
            super().append(item)
            if seats.here().ref is None and item is not None:
                seen.append(is_idle(system))

    server, asking = system.start(Passer), system.start(Passer)
    system.wait_idle()
    system.pool.parked = Watched(system.pool.parked)
    asking.call(Passer.ask, server)

    assert seen
    assert not any(seen)


def test_whoever_was_answered_before_it_waits_is_not_taken_for_one_that_rests(system: otpy.System) -> None:
    """Found by a hunt: what an actor did after a gate that was opened at once went unseen."""
    seen: list[bool] = []

    class Quick(otpy.GenServer):
        def handle_info(self, message: object) -> None:
            seat = seats.here()
            slot, turns = seats.Slot(seat), seat.turns
            on_thread(lambda: slot.resolve(None)).join()
            while seat.pool is not None and seat.turns == turns:
                pass  # until it has been handed the token
            slot.wait(None)
            seen.append(seat.waiting)

    for place in ("pool", "thread"):
        ref = system.start(otpy.child(Quick).opts(place=place))  # type: ignore[typeddict-item]
        system.pool.put_back()  # so that another worker hands the answer over before this one waits
        system.pool.limit += 1
        ref.tell("go")
        system.wait_idle()
    assert seen == [False, False]


def test_it_may_be_called_by_several_threads_at_once(system: otpy.System) -> None:
    gate, ref = Gate(), system.start(Passer)
    ring = [ref]
    waiters = [on_thread(system.wait_idle) for _ in range(3)]
    ref.cast(Passer.pass_on, ring, 200)
    system.wait_idle()
    gate.open()
    for waiter in waiters:
        waiter.join(30.0)

    assert [waiter.is_alive() for waiter in waiters] == [False] * 3
    assert system.pool.idle_watchers == []


class Canceller(otpy.GenServer):
    """Cancels the task of one of its handlers, as a user's code may."""

    max_concurrency = 2

    def init(self, ended: list[str]) -> None:
        self.ended = ended
        self.tasks: list[asyncio.Task[Any]] = []

    @otpy.cast
    async def sleep(self) -> None:
        self.tasks.append(asyncio.current_task())  # type: ignore[arg-type]  # there is one
        try:
            await otpy.asleep(1e6)
        except asyncio.CancelledError:
            self.ended.append("cancelled")

    @otpy.cast
    async def cancel(self) -> None:
        self.tasks.pop().cancel()


def test_who_was_cancelled_by_another_handler_has_not_rested_yet(system: otpy.System) -> None:
    """Virtual time went on before it had heard of it."""
    ended: list[str] = []
    ref = system.start(Canceller, ended)
    for number in range(1, 51):
        ref.cast(Canceller.sleep)
        system.wait_idle()
        ref.cast(Canceller.cancel)
        system.wait_idle()
        assert len(ended) == number
