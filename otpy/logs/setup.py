"""`configure`: has the program's log written as lines with keys, whoever writes to it."""

from __future__ import annotations

import importlib
import importlib.util
import logging
from typing import TYPE_CHECKING, Any, TextIO

from otpy.core.suggest import did_you_mean
from otpy.core.text import safe_repr
from otpy.errors import SpecError
from otpy.logs.handler import Handler
from otpy.logs.line import RENDERED

if TYPE_CHECKING:
    from collections.abc import MutableMapping

    from otpy.logs.line import Format

__all__ = ["configure"]

ALLOWANCE = 20
"""Lines of a kind in a second that are written; as many crash reports have all their details."""

LEVELS = logging.getLevelNamesMapping()

_ours: list[Handler] = []


def configure(
    format: Format = "json",
    *,
    level: str | int = "INFO",
    stream: TextIO | None = None,
    allowance: int | None = ALLOWANCE,
) -> Handler:
    """Have all that is logged in this program written as lines with keys; nothing changes before it is called.

    Call it once, where the program starts. A second call takes the place of the first. It puts one handler on the root
    logger, beside those that are there, and sets that logger's level. Where structlog is installed (`otpy[logs]`), and
    nobody has configured it, its loggers write the same lines.

    Args:
        format: `json`, one object a line; `logfmt`, `key=value` pairs; `console`, for people.
        level: the least that is written; a name, or a number of `logging`.
        stream: where to; standard error unless given.
        allowance: lines that say the same in one second, of which more are told as a number; None: all are written.

    Returns:
        The handler: `logging.getLogger().removeHandler(it)` undoes it.

    Raises:
        SpecError: the options cannot be.
    """
    number = _level(level)
    problem = _problem(format, allowance) or ("" if number is not None else f"level={safe_repr(level)}")
    if number is None or problem:
        raise SpecError("configure", problem)
    root = logging.getLogger()
    handler = Handler(format, stream, allowance)
    root.addHandler(handler)  # first: what others log meanwhile is rather written twice than lost
    before, _ours[:] = _ours.copy(), [handler]
    for old in before:
        root.removeHandler(old)
        old.close()
    root.setLevel(number)
    _configure_structlog()
    return handler


def _level(level: object) -> int | None:
    if isinstance(level, str):
        return LEVELS.get(level.upper())
    return level if type(level) is int else None


def _problem(format: object, allowance: object) -> str:
    if format not in RENDERED:
        return f"format={safe_repr(format)}: {did_you_mean(str(format), RENDERED)}"
    if allowance is not None and (type(allowance) is not int or allowance < 1):
        return f"allowance={safe_repr(allowance)}: a whole number >= 1, or None"
    return ""


def _configure_structlog() -> None:
    """Have its loggers write to those of the standard library, unless somebody has told them otherwise."""
    if importlib.util.find_spec("structlog") is None:
        return
    structlog = importlib.import_module("structlog")
    if structlog.is_configured():
        return
    structlog.configure(
        processors=[
            structlog.contextvars.merge_contextvars,
            structlog.stdlib.filter_by_level,
            _to_record,
        ],
        wrapper_class=structlog.stdlib.BoundLogger,
        logger_factory=structlog.stdlib.LoggerFactory(),
    )


def _to_record(logger: object, name: str, event_dict: MutableMapping[str, Any]) -> tuple[tuple[Any, ...], Any]:  # noqa: ARG001 - as structlog calls it
    """The last processor: what the standard library's logger is called with."""
    options = {key: event_dict.pop(key) for key in ("exc_info", "stack_info", "stacklevel") if key in event_dict}
    said, arguments = event_dict.pop("event", ""), event_dict.pop("positional_args", ())
    return (said, *arguments), {**options, "extra": {"otpy_fields": dict(event_dict)}}
