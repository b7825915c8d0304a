"""One attempt: a handler is called, and whatever it does is told as plain data."""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING, Any, TypeAlias

from otpy.core.late import is_cancelled
from otpy.core.number import is_number
from otpy.core.reason import Crashed
from otpy.core.text import aloud, exception_line, safe_repr, safe_str, type_name, visible_lines
from otpy.jobs.args import pack
from otpy.jobs.decisions import MOST_SECONDS, Cancel, Dead, Snooze
from otpy.jobs.errors import ArgumentsError, JobCancelledError, LostJobError

if TYPE_CHECKING:
    from otpy.jobs.kind import Kind
    from otpy.jobs.model.job import Job

__all__ = ["Report", "may_begin", "report_of", "report_of_failure"]

NOT_YET = 1.0
"""Seconds after which a job is begun whose end could not be written first: the writer asks the disk again by then."""

MOST_LINE = 1_000
"""Characters of what was raised."""

MOST_TRACE, MOST_TRACE_LINES = 4_000, 40
"""Characters and lines of where: the last ones."""

MOST_TEXT = 2_000
"""Characters of a reason."""

NOTHING = pack(None)
"""What most jobs return."""

Report: TypeAlias = tuple[str, Any]
"""How an attempt went, as plain data: it may come out of a process."""


class _NotYet(Exception):  # noqa: N818 - never seen by anybody
    """The store has failed before the job began, which costs no attempt."""


def may_begin(job: Job, answer: tuple[str, Any]) -> None:
    """Go on when its end is written already; raises what is reported instead when it is not."""
    match answer:
        case ("held", _):
            return
        case ("cancelled", _):
            raise JobCancelledError(job.id)
        case ("store", _):
            raise _NotYet
    raise LostJobError(job.id)


def report_of(kind: Kind[..., Any], result: object) -> Report:
    """What a handler returned; a result that cannot be kept is a failure of its own, which no retry mends."""
    match result:
        case Snooze(seconds=seconds):
            return _snoozed(kind, seconds)
        case Cancel(reason=reason):
            return "cancelled", safe_str(reason, MOST_TEXT)
        case Dead(reason=reason):
            return "dead", safe_str(reason, MOST_TEXT)
    if result is not None and (
        inspect.isawaitable(result) or inspect.isgenerator(result) or inspect.isasyncgen(result)
    ):
        return _unkept(kind, f"it returned a {_close(result)}: nothing of its code has run; declare it with async def")
    try:
        return "done", NOTHING if result is None else pack(result)
    except ArgumentsError as error:
        return _unkept(kind, f"its result cannot be kept: {error.problem}")


def report_of_failure(kind: Kind[..., Any], error: BaseException, *, is_leaving: bool = False) -> Report:
    """What a handler raised, in the error's own words: its code runs where the handler has run.

    One that was told to leave, for its program stops, and does so has not failed.
    """
    if is_leaving and (isinstance(error, JobCancelledError) or is_cancelled(error)):
        return "released", None
    if isinstance(error, JobCancelledError):
        return "cancelled", "it was cancelled"
    if isinstance(error, _NotYet):
        return "snoozed", NOT_YET
    text, wish = exception_line(error, MOST_LINE, box=aloud), None
    try:
        wish = kind.retry.wish(error)
    except Exception as failed:  # noqa: BLE001 - the user's function, or an attribute of the error that fails itself
        text = f"{text} (retry_after raised {exception_line(failed)})"
    trace = visible_lines(Crashed.of(error, aloud).traceback, MOST_TRACE, MOST_TRACE_LINES)
    facts = {"failure": "error", "text": text, "action": kind.retry.action(error), "retry_after": wish}
    return "failed", {**facts, "trace": trace}


def _snoozed(kind: Kind[..., Any], seconds: object) -> Report:
    if is_number(seconds) and seconds < MOST_SECONDS:
        return "snoozed", max(0.0, float(seconds))  # a moment that has just gone by is now
    text = f"{kind.name} returned Snooze({safe_repr(seconds)}): a number of seconds"
    return "failed", {"failure": "error", "text": text, "action": "retry", "retry_after": None}


def _unkept(kind: Kind[..., Any], text: str) -> Report:
    action = next((kind.retry.table[one] for one in ArgumentsError.__mro__ if one in kind.retry.table), "dead")
    return "failed", {"failure": "stale", "text": f"{kind.name}: {text}", "action": action, "retry_after": None}


def _close(result: Any) -> str:  # Any: some kind of coroutine or generator
    """Have Python not complain that it was never awaited; returns what it is."""
    if hasattr(result, "close"):
        result.close()
    return type_name(type(result))
