"""Crashes on purpose, drawn from a seed: the same claim meets the same fate in every run."""

from __future__ import annotations

import logging
import random
from dataclasses import dataclass
from typing import TYPE_CHECKING

import otpy
from otpy.events.supervision import ChildStartFailed

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["AFTER", "BEFORE", "MOMENTS", "WHILE", "CrashOnPurpose", "Trouble", "mute"]

MOMENTS = BEFORE, WHILE, AFTER = "before reading", "while reading", "after sending"
"""The moments at which an agent may crash; each is drawn by itself."""
LOOK = 0.1
"""Seconds after which who pauses looks again whether it is to leave."""


class CrashOnPurpose(Exception):  # noqa: N818 - it is what the demo is about, and nobody's error
    """Ends an agent."""


@dataclass(frozen=True, slots=True)
class Trouble:
    """What agents meet with on their way."""

    crash: float = 0.0
    """The probability of a crash at each of the three moments of a claim."""
    seed: int = 0
    """Other seeds, other crashes."""
    pause: float = 0.0
    """Seconds before each file, for people who want to look at the tree."""

    def wait(self, is_to_leave: Callable[[], bool] = lambda: False) -> bool:
        """Pause; False when it is to leave before that is over."""
        left = self.pause
        while left > 0.0 and not is_to_leave():
            otpy.sleep(min(left, LOOK))
            left -= LOOK
        return left <= 0.0

    def strike(self, token: int, moment: str) -> None:
        """Raise CrashOnPurpose if this claim is to crash at this moment.

        The draw depends on seed, token and moment alone, not on which thread comes first. So how often agents crash in
        a whole run is the same each time, although who reads what is not.
        """
        if self.crash and random.Random(f"{self.seed}/{token}/{moment}").random() < self.crash:
            raise CrashOnPurpose(moment)


def mute() -> None:
    """Keep what crashes on purpose bring about out of the log, for the rest of this process; all else stays in it.

    But for starts that fail in order, as on a file that is no store: each level would say what the command ends with.
    """
    log = logging.getLogger("otpy")
    log.addFilter(_has_another_cause)
    log.addFilter(_is_no_orderly_refusal)


def _has_another_cause(record: logging.LogRecord) -> bool:
    reason = getattr(getattr(record, "otpy", None), "reason", None)
    return CrashOnPurpose.__name__ not in str(reason)  # a supervisor that gives up names the reason of the last crash


def _is_no_orderly_refusal(record: logging.LogRecord) -> bool:
    event = getattr(record, "otpy", None)
    return not (isinstance(event, ChildStartFailed) and isinstance(event.reason, otpy.Shutdown))
