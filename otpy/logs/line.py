"""One line of a log: its keys and values, and how they are written. Whatever text is in it, it stays one line."""

from __future__ import annotations

import json
import logging
import re
import time
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Literal

from otpy.core.masking import hide
from otpy.core.suggest import did_you_mean
from otpy.core.text import exception_line, safe_repr, visible, visible_lines
from otpy.errors import SpecError
from otpy.logs.fields import fields_of, plain
from otpy.logs.keys import CONTEXT, OWN, own, owner
from otpy.runtime.portrait import show_of
from otpy.runtime.seat import here

if TYPE_CHECKING:
    from collections.abc import Callable

    from otpy.core.masking import Show

__all__ = ["BASE", "CHILD", "RENDERED", "Format", "Formatter", "as_json", "line_of"]

Format = Literal["json", "console", "logfmt"]

BASE = {
    "time": "when, in UTC, to the millisecond",
    "level": "`debug`, `info`, `warning`, `error`, `critical`",
    "logger": "the logger it was written to: `otpy` for what otpy itself tells",
    "event": "what was said, in words",
    "otpy": "the class of the [event](events.md), where otpy tells one",
    "exception": "the traceback, where one was logged",
    "traceback": "that of a crash",
    "lines": "how many lines like this one were left out",
    "within": "in how many seconds these came",
}
"""The keys of any line, and what each is."""

CHILD = "\\x1e{"
"""What a line begins with that a process child has written for its parent, as the parent sees it."""

TEXT = 8_000
"""Characters of what was said."""
KEY = 100

STANDARD = {*vars(logging.makeLogRecord({})), "asctime", "message", "taskName"}
"""What any record has; all else somebody has put there as `extra`."""
TEXTS = ("time", "level", "logger", "event", "otpy", "exception", "traceback")
"""Keys of `BASE` whose values are texts."""

PLAIN = re.compile(r"[^\s\"=\\]+")
BAD_IN_KEYS = re.compile(r"[^\w.\-]+")


def line_of(record: logging.LogRecord) -> dict[str, Any]:
    """The keys and values of a record; a filter has noted who writes. Never fails: who logs is in trouble already."""
    try:
        return _line_of(record)
    except Exception as error:  # noqa: BLE001 - a line that says so is worth more than none
        return {
            "time": _time(time.time()),
            "level": str(record.levelname).lower(),
            "logger": str(record.name),
            "event": f"a line that cannot be told: {exception_line(error)}",
        }


def _line_of(record: logging.LogRecord) -> dict[str, Any]:
    show = _show()
    event, keys = own(record, "otpy"), own(record, "otpy_keys") or {}
    text = _said(record, event)
    if text.startswith(CHILD) and record.name == "otpy.child":
        return _child_line(record, text)
    line: dict[str, Any] = {
        "time": _time(record.created),
        "level": record.levelname.lower(),
        "logger": record.name,
        "event": plain("", text, show),
    }
    if event is not None:
        is_own = event.path == keys.get("path")  # else it is told by another actor than it is about
        line |= keys if is_own else {"system": event.path.partition("/")[0], "path": event.path}
        line |= fields_of(event, show)
    else:
        line |= keys
    line |= own(record, "otpy_storm") or {}
    for key, value in _given(record).items():
        line[_free(str(key), line)] = plain(str(key), value, show)
    trouble = _trouble(record)
    if trouble:
        line["exception"] = trouble
    return line


def as_json(line: dict[str, Any]) -> str:
    """One JSON object; all that is not printable ASCII is written as an escape."""
    return json.dumps({visible(key, KEY): value for key, value in line.items()})


def as_logfmt(line: dict[str, Any]) -> str:
    """`key=value` pairs; a value with spaces or quotes in quotes."""
    return " ".join(f"{BAD_IN_KEYS.sub('_', key)[:KEY]}={_quoted(value)}" for key, value in line.items())


def as_console(line: dict[str, Any]) -> str:
    """For people: the time, the level, what was said, then what else there is; a traceback on lines of its own."""
    rest = dict(line)
    blocks = [rest.pop(key, "") for key in ("exception", "traceback")]
    clock = rest.pop("time", "")[11:23]
    words = [clock, f"{rest.pop('level', '').upper():<8}", visible(str(rest.pop("event", "")), TEXT)]
    words += [as_logfmt(rest)] if rest else []
    shown = [f"    {row}" for block in blocks if block for row in visible_lines(str(block)).split("\n")]
    return "\n".join(["  ".join(words), *shown])


RENDERED: dict[Format, Callable[[dict[str, Any]], str]] = {
    "console": as_console,
    "json": as_json,
    "logfmt": as_logfmt,
}


class Formatter(logging.Formatter):
    """Writes records as lines with keys, for a handler of your own; give that an `ActorKeys`, too.

    Args:
        format: `json`, `logfmt`, or `console`, which is for people.
    """

    def __init__(self, format: Format = "json") -> None:
        """Write so. Raises SpecError for another format."""
        super().__init__()
        if format not in RENDERED:
            raise SpecError("Formatter", f"format={safe_repr(format)}: {did_you_mean(str(format), RENDERED)}")
        self._rendered = RENDERED[format]

    def format(self, record: logging.LogRecord) -> str:
        """The line of a record."""
        return self._rendered(line_of(record))


def _show() -> Show:
    """What hides secrets here: in an actor's own code also its `redact`, which is for no other thread."""
    ref = here().ref
    if ref is not None:
        return show_of(ref)
    ref = owner()
    return hide if ref is None else ref.system.show


def _time(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="milliseconds")


def _said(record: logging.LogRecord, event: object) -> str:
    text: str | None = own(record, "otpy_text")
    if text is not None:
        return text
    if event is not None:
        return str(event).partition("\n")[0]
    try:
        return record.getMessage()
    except Exception as error:  # noqa: BLE001 - a line that cannot be made is worth more than none
        said = record.msg if type(record.msg) is str else safe_repr(record.msg)
        return f"{said} ({'its arguments do not fit' if record.args else 'it says nothing'}: {type(error).__name__})"


def _given(record: logging.LogRecord) -> dict[str, Any]:
    """What somebody has put on it: by `extra`, or by structlog."""
    extra = {key: value for key, value in vars(record).items() if key not in STANDARD and not _is_own(record, key)}
    return extra | (own(record, "otpy_fields") or {})


def _is_own(record: logging.LogRecord, key: str) -> bool:
    """Whether otpy has put it there; of what is where its keys would be that which is as they are."""
    if key not in CONTEXT:
        return key in OWN and own(record, key) is not None
    value, ours = vars(record)[key], (own(record, "otpy_keys") or {}).get(key, "")
    return value is ours or (type(value) in {str, int} and value in {"", ours})


def _free(key: str, line: dict[str, Any]) -> str:
    """A key that is not otpy's: nobody who looks for a path shall find what somebody else has called so."""
    while key in line or key in BASE or key in CONTEXT:
        key += "_"
    return key


def _trouble(record: logging.LogRecord) -> str:
    info = record.exc_info
    text = record.exc_text or (logging.Formatter().formatException(info) if info and info[1] is not None else "")
    text = "\n".join(filter(None, [text, record.stack_info]))
    return "\n".join(str(hide("", row)) for row in text.split("\n"))[-2 * TEXT :]


def _quoted(value: object) -> str:
    text = value if isinstance(value, str) else json.dumps(value)
    text = visible(text, TEXT)
    return text if PLAIN.fullmatch(text) else '"' + text.replace('"', '\\"') + '"'


def _child_line(record: logging.LogRecord, text: str) -> dict[str, Any]:
    """The line that a process child has written; whose it is, the pipe says that it came by."""
    try:
        found: dict[str, Any] = json.loads(text[len(CHILD) - 1 :])
    except (ValueError, RecursionError):
        found = {"level": "info", "logger": record.name, "event": text}
    keys = own(record, "otpy_keys") or {}
    inner, path = str(found.get("path", "")), str(keys.get("path", ""))
    if inner != path and not inner.startswith(f"{path}/"):
        found |= keys
    return found | {key: safe_repr(found[key]) for key in TEXTS if type(found.get(key, "")) is not str}
