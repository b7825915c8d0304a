"""The place `loop`: nothing blocks it."""

from __future__ import annotations

from typing import Any

import pytest

import otpy
from otpy.errors import (
    BlockingError,
)
from support.doer import AsyncDoer, Doer, flush

BLOCKING = {
    "call": lambda ref: ref.call(Doer.read),
    "ask": lambda ref: ref.ask("raw"),
    "stop": lambda ref: ref.stop(),
    "monitor": lambda ref: ref.monitor().wait(),
    "start": lambda ref: ref.system.start(Doer),
    "sleep": lambda ref: otpy.sleep(1.0),
}


@pytest.mark.parametrize("way", BLOCKING)
def test_blocking_is_refused_before_anything_is_sent(system: otpy.System, way: str) -> None:
    other = system.start(Doer)
    ref = system.start(AsyncDoer)
    alive = system.alive

    def attempt(actor: Any) -> str:
        with pytest.raises(BlockingError, match=r"t/AsyncDoer, which runs on an event loop, must not block: await"):
            BLOCKING[way](other)
        return "refused"

    assert ref.call(Doer.do, attempt) == "refused"
    assert system.alive == alive
    assert flush(other) == []
