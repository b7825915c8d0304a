"""What a call failed by, for those who read of it later: `Cause`, with the attempt of it that a retry was at."""

from __future__ import annotations

from contextvars import ContextVar

from otpy.core.text import aloud, exception_line
from otpy.core.value import value

__all__ = ["ATTEMPT", "Cause", "cause_of", "status_of"]

ATTEMPT: ContextVar[int] = ContextVar("otpy_attempt", default=1)
"""Which attempt at a call this thread or task makes, in a `retry`."""

WORDS = ("status_code", "status", "code")
"""What libraries call the status of an answer: httpx and requests, aiohttp, urllib."""


@value
class Cause:
    """The failure that has tripped a breaker."""

    error: str
    """What was raised, as the last line of a traceback."""
    status: int | None
    """The status of the answer, where the error has one."""
    attempts: int
    """How often the call was made by then."""


def cause_of(error: BaseException) -> Cause:
    """What is told of an error; on the thread on which it was raised."""
    return Cause(exception_line(error, 200, box=aloud), status_of(error), ATTEMPT.get())


def status_of(error: BaseException) -> int | None:
    """The status that a service has answered with, such as 503: the error's own, or that of its `response`."""
    found = _status(error)
    return _status(_attribute(error, "response")) if found is None else found


def _status(thing: object) -> int | None:
    for word in WORDS if thing is not None else ():
        found = _attribute(thing, word)
        if isinstance(found, int) and not isinstance(found, bool):  # also http.HTTPStatus
            return int(found)
    return None


def _attribute(thing: object, name: str) -> object:
    try:
        return getattr(thing, name, None)
    except Exception:  # noqa: BLE001 - somebody's property, and a report never fails for what it reports on
        return None
