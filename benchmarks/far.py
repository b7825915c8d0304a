"""The process child of the benchmarks, in a module that imports otpy alone, as `bare.py` imports nothing."""

from __future__ import annotations

import os
from typing import Any

import otpy
from benchmarks.bare import crunch


class Far(otpy.GenServer):
    """A process child."""

    place = "process"

    def init(self) -> None:
        self.seen = 0

    @otpy.call
    def echo(self, value: int) -> int:
        return value

    @otpy.cast
    def hit(self, number: int) -> None:
        self.seen += 1

    @otpy.call
    def pid(self) -> int:
        return os.getpid()

    def handle_call(self, request: Any, caller: otpy.Caller) -> int:
        return crunch(request)
