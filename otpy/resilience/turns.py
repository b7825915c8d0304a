"""`Turns`: a receiver that has just come back tells each agent when it may come, so that all of them come evenly."""

from __future__ import annotations

import math
import time
from threading import Lock
from typing import TYPE_CHECKING

from otpy.core.number import is_number
from otpy.core.text import safe_repr
from otpy.errors import SpecError

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable

__all__ = ["Turns"]

TOLERANCE = 0.05
"""Seconds that an agent may come before its turn: two machines' clocks do not run alike. As many as have their turns in
such a time may also come in at once, as when they are late; more would be a flood."""


class Turns:
    """So many calls in a second, and for each that is too many a time to come again, from any thread and task.

    For the receiver: it answers an agent that comes too early with the seconds (as `Retry-After`), and the agent's
    sender raises `LaterError` with them. Of many agents that come at once each is so asked to come a second time, and
    no more, and they come at the receiver's own pace. Nobody can know that rate but the receiver. Those who all come
    late for their turns, as when the receiver itself was stopped for a while, come in at its pace as well: who is too
    many then gets a new turn. In any 0.1 seconds no more come in than one and a half times `rate` has, and one.

    Args:
        rate: calls in a second.
        most: agents whose turn is remembered; those beyond come after the last of them, and may have to wait again.
        clock: seconds that never go back; for tests.

    Raises:
        SpecError: the options cannot be.
    """

    def __init__(self, rate: float, *, most: int = 100_000, clock: Callable[[], float] = time.monotonic) -> None:
        """Nobody waits yet."""
        if not (is_number(rate) and 0 < rate < math.inf):
            raise SpecError("Turns", f"rate={safe_repr(rate)}: calls in a second, > 0")
        if type(most) is not int or most < 1:
            raise SpecError("Turns", f"most={safe_repr(most)}: a whole number > 0")
        self._step = 1.0 / rate
        self._most = most
        self._now = clock
        self._lock = Lock()  # guards the three below
        self._next = -math.inf
        self._full = -math.inf  # when all who have come in would have, had they come evenly
        self._turns: dict[Hashable, float] = {}

    def ask(self, agent: Hashable) -> float | None:
        """None: it may come in now. Else in how many seconds it shall come again, when its turn is.

        One that comes within its turn, or a little before, comes in; who comes much earlier is told the same again.
        Who comes late is told a new turn when too many have come in just now.
        """
        with self._lock:
            now = self._now()
            turn = self._turns.get(agent)
            if turn is not None and turn - now > TOLERANCE:
                return turn - now
            self._turns.pop(agent, None)
            if (turn is not None or self._next <= now) and self._has_room(now):
                if turn is None:
                    self._next = now + self._step
                return None
            turn = max(self._next, self._full, now)
            self._next = turn + self._step
            self._remember(agent, turn, now)
            return turn - now

    def _has_room(self, now: float) -> bool:
        """Whether one more may come in, which is noted then."""
        if self._full - now > TOLERANCE:
            return False
        self._full = max(self._full, now) + self._step
        return True

    def _remember(self, agent: Hashable, turn: float, now: float) -> None:
        """Note it, and forget those who have not come for theirs."""
        if len(self._turns) >= self._most:
            for other, its in list(self._turns.items()):  # in order of time: they were noted so
                if its >= now - self._most * self._step:
                    break
                del self._turns[other]
        if len(self._turns) < self._most:
            self._turns[agent] = turn
