"""The place `loop`: what is seen of it from outside."""

from __future__ import annotations

import asyncio
import threading
from typing import Any

import otpy
from otpy.events import LoopBlocked
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
        return heard.wait(5.0)

    async def block_later(actor: Any) -> bool:
        heard.clear()
        await asyncio.sleep(0)
        return block(actor)

    detach = system.events.attach(note, LoopBlocked)
    assert ref.call(Doer.do, block)
    assert ref.call(Doer.do, block_later)
    detach()
    assert [event.path for event in found] == [ref.path] * 2
    assert all("in block" in str(event) or "in wait" in str(event) for event in found)


def test_a_system_that_stops_ends_what_is_suspended(system: otpy.System) -> None:
    own = otpy.System("own")
    log: list[str] = []
    ref = own.start(AsyncDoer)
    ref.cast(Doer.run, note_cancelled, log)
    own.wait_idle()
    assert [unstopped.path for unstopped in own.stop(timeout=0.0)] == ["own/AsyncDoer"]
    assert ref.reason is not None
    assert log == ["cancelled", "cleaned up"]
