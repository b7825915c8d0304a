"""Process children that do not answer."""

from __future__ import annotations

import logging

from otpy.core.value import value
from otpy.events.event import Event

__all__ = ["ProcessAnswers", "ProcessSilent"]


@value(kw_only=True)
class ProcessSilent(Event):
    """The process of an actor gives no sign of life: no thread of it runs Python code. One that is busy does."""

    seconds: float
    """For how long."""
    pid: int
    """The process."""
    state: str
    """What the operating system says of it, as `it is stopped (T)`."""

    def __str__(self) -> str:
        return f"{self.path} (process {self.pid}) is silent for {self.seconds:.0f} s: {self.state}"


@value(kw_only=True)
class ProcessAnswers(Event):
    """The process of an actor that was silent gives signs of life again."""

    seconds: float
    """How long it was silent."""

    @property
    def level(self) -> int:
        """Good news."""
        return logging.INFO

    def __str__(self) -> str:
        return f"{self.path}: its process answers again, after {self.seconds:.0f} s"
