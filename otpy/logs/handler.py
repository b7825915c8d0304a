"""The handler that `configure` makes: lines with keys, and of a storm of the same its number."""

from __future__ import annotations

import logging
import os
import sys
import threading
import time
from typing import TYPE_CHECKING, TextIO

from otpy.core.seconds import in_seconds
from otpy.logs.allowance import SECOND, Allowance
from otpy.logs.keys import ActorKeys, own
from otpy.logs.line import Formatter, as_json, line_of

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable

    from otpy.logs.allowance import Storm
    from otpy.logs.line import Format

__all__ = ["Handler"]

INSIDE = "otpy.places.process.inside"
"""Loaded in process children; there it says that it is one."""


class Handler(logging.StreamHandler[TextIO]):
    """Writes each record as a line with keys, in the thread that logs.

    Of lines that say the same within a second the first are written, and then how many were left out: at the latest a
    second later, when the handler is closed, or at the end of the program.
    """

    def __init__(
        self,
        format: Format,
        stream: TextIO | None,
        allowance: int | None,
        now: Callable[[], float] = time.monotonic,
    ) -> None:
        """Made by `configure`; writes to standard error without a stream."""
        super().__init__(stream)
        self.setFormatter(Formatter(format))
        self.addFilter(ActorKeys())
        self._allowance = Allowance(allowance)
        self._pid = os.getpid()
        self._now = now
        self._alarm: threading.Timer | None = None
        self._is_closed = False

    def emit(self, record: logging.LogRecord) -> None:
        """Write it, or count it; called with the handler's lock."""
        now = self._now()
        self._tell(now)
        if self._allowance.takes(_sort(record), record, now):
            super().emit(record)
        elif self._alarm is None and not self._is_closed:
            self._set_alarm()

    def format(self, record: logging.LogRecord) -> str:
        """The line; of a process child for its parent, which reads it and writes it as its own."""
        inside = sys.modules.get(INSIDE)
        if inside is None or not inside.Inside.is_here:
            return self._writable(super().format(record))
        return f"\x1e{as_json(line_of(record))}"

    def _writable(self, text: str) -> str:
        """As the stream can take it: one that writes ASCII alone would lose the line for a single letter."""
        encoding = getattr(self.stream, "encoding", None)
        if text.isascii() or not isinstance(encoding, str):
            return text
        return text.encode(encoding, "backslashreplace").decode(encoding)

    def close(self) -> None:
        """Tell what was left out, and write no more."""
        self.acquire()
        try:
            self._is_closed = True
            alarm, self._alarm = self._alarm, None
            self._tell(float("inf"))
        finally:
            self.release()
        if alarm is not None:
            alarm.cancel()
        super().close()

    def _tell(self, now: float) -> None:
        pid = os.getpid()
        if pid != self._pid:  # a copy by fork: what its parent has left out, that one tells, by its own alarm
            self._pid, self._alarm, self._allowance = pid, None, Allowance(self._allowance.each)
        for storm in self._allowance.over(now):
            super().emit(_number(storm, min(now, self._now()) - storm.began))

    def _set_alarm(self) -> None:
        self._alarm = threading.Timer(SECOND, self._wake)
        self._alarm.name = "log-storm"
        self._alarm.daemon = True
        try:
            self._alarm.start()
        except RuntimeError:  # no thread to be had: the next line tells, or the end
            self._alarm = None

    def _wake(self) -> None:
        """On a thread that lives while there is a storm, and for a second after."""
        self.acquire()
        try:
            self._alarm = None
            self._tell(self._now())
            if self._allowance.owes and not self._is_closed:
                self._set_alarm()
        finally:
            self.release()


def _sort(record: logging.LogRecord) -> Hashable:
    """What says the same: of otpy's events those of a class about an actor, else what an actor says in one place.

    Of process children each line is one of its own: they have said it, and it has one place here.
    """
    event = own(record, "otpy")
    if event is not None:
        return type(event), event.path
    said = own(record, "otpy_text") or record.msg
    path = (own(record, "otpy_keys") or {}).get("path")
    return record.name, record.levelno, *(each if type(each) is str else type(each) for each in (said, path))


def _number(storm: Storm, seconds: float) -> logging.LogRecord:
    """The line that stands for those that were left out; it has the last one's keys."""
    last: logging.LogRecord = storm.last
    record = logging.makeLogRecord(vars(last))
    record.otpy_text = f"{storm.left_out} more lines like this in {in_seconds(seconds)}; the last: {_words(last)}"
    record.exc_info = record.exc_text = record.stack_info = None
    record.otpy_storm = {"lines": storm.left_out, "within": round(seconds, 3)}
    return record


def _words(record: logging.LogRecord) -> str:
    return str(line_of(record)["event"])
