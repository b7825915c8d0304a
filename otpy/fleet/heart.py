"""The actors that send an agent's beats: one for plain functions, one for coroutine functions."""

from __future__ import annotations

import asyncio
import math
from types import CoroutineType
from typing import TYPE_CHECKING, Any

from otpy.actors.gen_server import GenServer
from otpy.actors.keeping import Keeping
from otpy.core.reason import Normal, Shutdown
from otpy.core.value import value
from otpy.runtime.request import cast

if TYPE_CHECKING:
    from collections.abc import Callable

    from otpy.core.reason import Reason
    from otpy.fleet.beat import Beat
    from otpy.fleet.heartbeat import Heartbeat
    from otpy.runtime.drain import Drain

__all__ = ["AsyncHeart", "Heart", "PlainHeart"]

GRAIN = 0.25
"""Seconds between two moments at which the beats of one program come; other programs have moments of their own."""


@value
class Due:
    """It is time for a beat; a message of its actor to itself."""

    number: int


@value
class Overdue:
    """A beat has had its time; as above."""

    number: int


class Heart(GenServer):
    """What both have in common."""

    trap_exit = True  # so that it says goodbye

    def init(self, heartbeat: Heartbeat) -> None:
        """The first beat comes within a period, at any time of it."""
        self.heartbeat = heartbeat
        self.use(Keeping(self.ref, heartbeat.keep, heartbeat.release))
        self._number = 0
        self._rest(self.system.random.random() * heartbeat.period)

    @property
    def otpy_kind(self) -> str:
        """What it is, in the tree, which so shows how the beats go."""
        return f"Heartbeat {self.heartbeat.words()}" if hasattr(self, "heartbeat") else "Heartbeat"

    @cast
    def look(self) -> None:
        """The agent has something to say at once."""
        self._number += 1
        self.ref.tell(Due(self._number))

    def handle_drain(self, drain: Drain) -> None:  # noqa: ARG002 - `Heartbeat` sees it by itself
        """The hub is to know at once; the beats go on until the stop."""
        self.look()

    def _is_due(self, message: object) -> bool:
        if isinstance(message, Due):
            return message.number == self._number
        self.unknown(message)
        return False

    def _again(self, begun: float) -> None:
        """The next one; what was to come before is not any more."""
        period, chance = self.heartbeat.period, self.system.random.random()
        pause = begun + period * (0.5 + chance) - self.system.clock.now()
        self._rest(max(pause, period / 2))

    def _rest(self, pause: float) -> None:
        """Those of one program that are due at about the same time come together: what costs most is to wake up."""
        system, grain = self.system, min(self.heartbeat.period / 100, GRAIN)
        now, phase = system.clock.now(), 0.0 if system.is_virtual else system.started_at
        self._number += 1
        self.send_after(math.ceil((now + pause - phase) / grain) * grain + phase - now, Due(self._number))


class PlainHeart(Heart):
    """Calls a plain function."""

    def handle_info(self, message: Any) -> None:
        """A time has come."""
        if self._is_due(message):
            begun = self.system.clock.now()
            self._send(begun, is_last=False)
            self._again(begun)

    def terminate(self, reason: Reason) -> None:
        """Say goodbye, unless it is going to be started again."""
        if isinstance(reason, Normal | Shutdown):
            self._send(self.system.clock.now(), is_last=True)

    def _send(self, now: float, *, is_last: bool) -> None:
        one = self.heartbeat
        error: Exception | None = None
        one.begin(now)
        try:
            answer = one.send(one.last_beat() if is_last else one.next_beat())
            if answer.__class__ is CoroutineType:
                answer.close()
                error = TypeError("it returned a coroutine: declare it `async`")
        except Exception as raised:  # noqa: BLE001 - the user's code
            error = raised
        one.done(self.system.clock.now(), error)


class AsyncHeart(Heart):
    """Awaits a coroutine function, and cancels it when its time is over."""

    max_concurrency = 2  # a beat, and what cuts it short

    def init(self, heartbeat: Heartbeat) -> None:
        """None is under way yet."""
        super().init(heartbeat)
        self._task: asyncio.Task[Any] | None = None
        self._is_cut = self._is_wanted = False
        self._beats = 0

    async def handle_info(self, message: Any) -> None:
        """A time has come, or is over."""
        if isinstance(message, Overdue):
            self._cut(message)
        elif self._is_due(message):
            if self._task is not None:
                self._is_wanted = True
                return
            begun = self.system.clock.now()
            await self._send()
            if self._is_wanted:
                self._is_wanted = False
                self.ref.tell(Due(self._number))
            else:
                self._again(begun)

    async def terminate(self, reason: Reason) -> None:
        """Say goodbye, unless it is going to be started again; the time for that is its supervisor's."""
        if isinstance(reason, Normal | Shutdown):
            await self._awaited(self.heartbeat.last_beat)

    async def _send(self) -> None:
        self._task, self._is_cut = asyncio.current_task(), False
        self._beats += 1
        timer = self.send_after(self.heartbeat.timeout, Overdue(self._beats))
        try:
            await self._awaited(self.heartbeat.next_beat)
        finally:
            timer.cancel()
            self._task = None

    async def _awaited(self, beat: Callable[[], Beat]) -> None:
        one = self.heartbeat
        error: Exception | None = None
        one.begin(self.system.clock.now())
        try:
            await one.send(beat())
        except asyncio.CancelledError:
            if not self._is_cut or self._task is None or self._task.uncancel():  # it is the actor that is to end
                raise
            error = TimeoutError(f"send did not come back in {one.timeout:g} s")
        except Exception as raised:  # noqa: BLE001 - the user's code
            error = raised
        one.done(self.system.clock.now(), error)

    def _cut(self, overdue: Overdue) -> None:
        if self._task is not None and overdue.number == self._beats and not self._is_cut:
            self._is_cut = self._task.cancel()
