"""The place `loop`: what is seen of it from outside."""

from __future__ import annotations

import asyncio
import threading
from typing import Any

import pytest

import otpy
from otpy.errors import SpecError
from otpy.events import LoopBlocked
from otpy.runtime.system import LOOP_BLOCKED_AFTER
from otpy.testing import Gate
from support.doer import AsyncDoer, Doer
from support.waits import hold, note_cancelled


def test_the_stack_of_a_suspended_handler_is_shown(system: otpy.System) -> None:
    gate = Gate()
    ref = system.start(AsyncDoer)
    ref.cast(Doer.run, hold, gate)
    gate.reached()
    system.wait_idle()
    record = system.record(ref.path)
    assert (record.status, record.thread, record.waiting) == ("running", "otpy-loop", "gate")
    assert record.busy is not None
    stack = system.stack(ref.path)
    assert stack is not None
    assert "in hold" in stack
    assert "await gate.await_open()" in stack
    gate.open()


def test_a_handler_that_blocks_the_loop_is_reported_with_its_place(system: otpy.System) -> None:
    ref = system.start(AsyncDoer)
    found: list[LoopBlocked] = []
    heard = threading.Event()

    def note(event: LoopBlocked) -> None:
        found.append(event)
        heard.set()

    def block(actor: Any) -> bool:
        return heard.wait(30.0)

    async def block_later(actor: Any) -> bool:
        heard.clear()
        await asyncio.sleep(0)
        return block(actor)

    detach = system.events.attach(note, LoopBlocked)
    assert ref.call(Doer.do, block)
    assert ref.call(Doer.do, block_later)
    detach()
    assert len(found) >= 2  # more: a busy machine keeps any handler waiting for its processor
    assert {event.path for event in found} == {ref.path}
    assert any("in block" in str(event) or "in wait" in str(event) for event in found)


@pytest.mark.parametrize("seconds", [0, -1.0, True, "0.1", None, float("inf"), float("nan")])
def test_what_is_no_time_for_a_blocked_loop_is_refused(seconds: Any) -> None:
    with pytest.raises(SpecError, match=r"loop_blocked_after=.*: seconds > 0"):
        otpy.System("t", loop_blocked_after=seconds)
    with (
        pytest.raises(SpecError, match=r"loop_blocked_after=.*: seconds > 0"),
        otpy.run(AsyncDoer, loop_blocked_after=seconds),
    ):
        pass


def test_how_long_a_handler_may_keep_the_loop_is_the_systems_choice() -> None:
    system = otpy.System("own", loop_blocked_after=0.002)
    ref, heard = system.start(AsyncDoer), threading.Event()
    seconds: list[float] = []
    system.events.attach(lambda event: (seconds.append(event.seconds), heard.set()), LoopBlocked)
    for _ in range(100):  # a busy machine may keep who looks after it for longer, but not each time
        heard.clear()
        assert ref.call(Doer.do, lambda _: heard.wait(30.0))
        if min(seconds) < LOOP_BLOCKED_AFTER:
            break
    assert 0.002 <= min(seconds) < LOOP_BLOCKED_AFTER
    assert system.stop() == []


def test_a_system_that_stops_ends_what_is_suspended(system: otpy.System) -> None:
    own = otpy.System("own")
    log: list[str] = []
    ref = own.start(AsyncDoer)
    ref.cast(Doer.run, note_cancelled, log)
    own.wait_idle()
    assert [unstopped.path for unstopped in own.stop(timeout=0.0)] == ["own/AsyncDoer"]
    assert ref.reason is not None
    own.wait_idle()
    assert log == ["cancelled", "cleaned up"]
