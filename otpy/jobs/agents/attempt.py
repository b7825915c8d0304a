"""One attempt: a handler is called, and whatever it does is told as plain data."""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING, Any, TypeAlias

from otpy.core.text import exception_line, type_name
from otpy.jobs.args import pack
from otpy.jobs.decisions import Cancel, Dead, Snooze
from otpy.jobs.errors import ArgumentsError, JobCancelledError

if TYPE_CHECKING:
    from otpy.jobs.kind import Kind

__all__ = ["Report", "report_of", "report_of_failure"]

Report: TypeAlias = tuple[str, Any]
"""How an attempt went, as plain data: it may come out of a process."""


def report_of(kind: Kind[..., Any], result: object) -> Report:
    """What a handler returned; a result that cannot be kept is a failure of its own, which no retry mends."""
    match result:
        case Snooze(seconds=seconds):
            return "snoozed", float(seconds)
        case Cancel(reason=reason):
            return "cancelled", str(reason)
        case Dead(reason=reason):
            return "dead", str(reason)
    if inspect.isawaitable(result) or inspect.isgenerator(result) or inspect.isasyncgen(result):
        return _unkept(kind, f"it returned a {_close(result)}: nothing of its code has run; declare it with async def")
    try:
        return "done", pack(result)
    except ArgumentsError as error:
        return _unkept(kind, f"its result cannot be kept: {error.problem}")


def report_of_failure(kind: Kind[..., Any], error: BaseException) -> Report:
    """What a handler raised."""
    if isinstance(error, JobCancelledError):
        return "cancelled", "it was cancelled"
    action, wish = kind.retry.action(error), kind.retry.wish(error)
    return "failed", {"failure": "error", "text": exception_line(error), "action": action, "retry_after": wish}


def _unkept(kind: Kind[..., Any], text: str) -> Report:
    action = next((kind.retry.table[one] for one in ArgumentsError.__mro__ if one in kind.retry.table), "dead")
    return "failed", {"failure": "stale", "text": f"{kind.name}: {text}", "action": action, "retry_after": None}


def _close(result: Any) -> str:  # Any: some kind of coroutine or generator
    """Have Python not complain that it was never awaited; returns what it is."""
    if hasattr(result, "close"):
        result.close()
    return type_name(type(result))
