"""The place `loop`: several handlers in flight, suspended, limited and seen, and in circles of calls."""

from __future__ import annotations

import threading
from typing import Any

import pytest

import otpy
from otpy.errors import CallExitError, DeadlockError, MailboxFullError
from otpy.testing import Gate
from support.doer import Doer
from support.several import Pair, Several
from support.waits import hold, stay

# --- suspended, limited, seen


def test_a_suspended_actor_begins_nothing_and_has_nothing_in_flight(system: otpy.System) -> None:
    gate = Gate()
    log: list[Any] = []
    ref = system.start(Several, log)
    ref.cast(Doer.run, hold, gate)
    gate.reached()
    thread = threading.Thread(target=system.suspend, args=(ref.path,))
    thread.start()
    while not ref.is_suspended():
        system.record(ref.path)
    assert thread.is_alive()
    gate.open()
    thread.join()
    ref.tell("later")
    system.wait_idle()
    assert log == []
    system.resume(ref.path)
    system.wait_idle()
    assert log == ["later"]


def test_a_bounded_mailbox_counts_what_waits_alone(system: otpy.System) -> None:
    gate = Gate()
    ref = system.start(otpy.child(Pair).opts(max_queue=1))
    futures = []
    for number in (1, 2):
        futures.append(ref.ask(lambda a, _: hold(a, gate), block=False))
        gate.reached(number)
    futures.append(ref.ask("third", block=False))
    with pytest.raises(MailboxFullError):
        ref.ask("fourth")
    gate.open()
    assert [future.get(timeout=5.0) for future in futures] == [None, None, "third"]


def test_those_in_flight_are_shown_each_with_its_stack(system: otpy.System) -> None:
    gate = Gate()
    ref = system.start(Several)
    ref.cast(Doer.run, hold, gate)
    future = ref.ask(lambda a, _: stay(a, gate), block=False)
    gate.reached(2)
    system.wait_idle()
    record = system.record(ref.path)
    assert (record.status, record.handlers, record.max_concurrency) == ("running", 2, 3)
    assert (record.current, record.waiting) == ("cast run", "2 of 3 handlers")
    assert record.busy is not None
    stack = system.stack(ref.path)
    assert stack is not None
    first, second = stack.split("in call request")
    assert first.startswith("in cast run\n")
    assert ("in hold" in first, "in stay" in second) == (True, True)
    assert system.state(ref.path).state == ("log = []",)
    gate.open()
    assert future.get(timeout=5.0) is None
    system.wait_idle()
    assert system.record(ref.path).status == "idle"


# --- circles


def test_a_call_to_itself_is_served_while_there_is_room(system: otpy.System) -> None:
    async def ask_self(actor: Any, depth: int) -> int:
        return 1 + int(await actor.ref.acall(Doer.do, ask_self, depth - 1)) if depth else 0

    ref = system.start(Pair)
    assert ref.call(Doer.do, ask_self, 1) == 1
    with pytest.raises(CallExitError, match="DeadlockError"):
        ref.call(Doer.do, ask_self, 2)


def test_a_circle_through_a_handler_is_found_though_there_is_room(system: otpy.System) -> None:
    plain, served = system.start(Doer), system.start(Several)

    async def ask_plain(actor: Any) -> Any:
        return await plain.acall(Doer.do, lambda _: None)

    with pytest.raises(CallExitError, match="DeadlockError"):
        plain.call(Doer.do, lambda _: served.call(Doer.do, ask_plain))


def test_a_call_back_to_one_with_room_is_no_circle(system: otpy.System) -> None:
    plain, served = system.start(Doer), system.start(Pair)

    async def ask_plain(actor: Any) -> Any:
        return await plain.acall(Doer.do, lambda _: served.call(Doer.do, lambda _: "room"))

    assert served.call(Doer.do, ask_plain) == "room"


def test_a_call_to_one_that_is_full_is_a_circle_only_when_all_of_them_wait_for_the_caller(system: otpy.System) -> None:
    gate = Gate()
    plain, served = system.start(Doer), system.start(Pair)

    async def ask_plain(actor: Any) -> Any:
        return await plain.acall(Doer.do, lambda _: served.call(Doer.do, lambda _: "room"))

    free = served.ask(lambda a, _: hold(a, gate), block=False)
    gate.reached()
    future = served.ask(lambda a, _: ask_plain(a), block=False)
    system.wait_idle()
    gate.open()
    assert (free.get(timeout=5.0), future.get(timeout=5.0)) == (None, "room")

    begun = Gate()

    async def ask_when_full(actor: Any, _: Any) -> Any:
        await begun.await_open()
        return await ask_plain(actor)

    both = [served.ask(ask_when_full, block=False) for _ in range(2)]
    begun.reached(2)
    begun.open()
    for one in both:
        with pytest.raises(CallExitError, match="DeadlockError"):
            one.get(timeout=5.0)


@pytest.mark.parametrize("way", ["stop", "wait"])
def test_a_handler_does_not_wait_for_its_own_actors_end(system: otpy.System, way: str) -> None:
    async def wait(actor: Any) -> str:
        with pytest.raises(DeadlockError):
            await (actor.ref.astop() if way == "stop" else actor.ref.monitor().await_down())
        return "refused"

    assert system.start(Several).call(Doer.do, wait) == "refused"
