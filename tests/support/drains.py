"""Actors that take part in a drain inside of processes of their own, which import this."""

from __future__ import annotations

import asyncio
import os
import signal
from typing import Any

import otpy
from otpy.errors import DrainingError

__all__ = ["Dies", "Late", "Works", "flies"]


class Works(otpy.GenServer):
    """Works off what it was sent, and has a state; its flush fails."""

    place = "process"

    def init(self) -> None:
        """Have done nothing."""
        self.count = 0

    @otpy.cast
    def work(self, gate: otpy.Ref[Any]) -> None:
        """Do one thing when that actor says so."""
        gate.ask("may I?", timeout=30.0)
        self.count += 1

    def handle_drain(self, drain: otpy.Drain) -> None:
        """Say who has told it."""
        told = otpy.draining()
        self.told = None if told is None else (drain.reason, told.reason, drain.remaining() > 0)

    def persist(self) -> dict[str, Any]:
        """What it was told, and how much it has done."""
        return {"count": self.count, "told": self.told}

    def handle_flush(self, _: otpy.Drain) -> None:
        """Fail."""
        raise ValueError("no line")


class Dies(otpy.GenServer):
    """Its process is killed by the hook of that name."""

    place = "process"

    def init(self, hook: str) -> None:
        """Live until then."""
        self.hook = hook

    def persist(self) -> dict[str, Any]:
        """Nothing much."""
        self._die("persist")
        return {}

    def handle_flush(self, _: otpy.Drain) -> None:
        """Have nothing to flush."""
        self._die("handle_flush")

    def _die(self, hook: str) -> None:
        if self.hook == hook:
            os.kill(os.getpid(), signal.SIGKILL)


class Late(otpy.GenServer):
    """Is never done."""

    place = "process"

    async def handle_drain(self, drain: otpy.Drain) -> otpy.NoReply:
        """Have two things at work."""
        await asyncio.sleep(0)
        drain.working(2, ["job 1", "job 2"])
        return otpy.NoReply()


def flies(gate: otpy.Ref[Any]) -> None:
    """Have something in flight until that actor says so, and then begin no more."""
    with otpy.in_flight():
        gate.ask("may I land?", timeout=30.0)
    try:
        with otpy.in_flight():
            gate.tell("it began")
    except DrainingError as error:
        gate.tell(error.reason)
    otpy.sleep(60.0)
