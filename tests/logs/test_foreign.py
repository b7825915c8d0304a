"""Whatever is logged, by whomever: no line is lost for it, and nobody who logs fails."""

from __future__ import annotations

import io
import json
import logging
import os
import threading
from typing import TYPE_CHECKING, Any, NoReturn

import pytest
import structlog

from otpy.logs.handler import Handler

if TYPE_CHECKING:
    from .conftest import Log

app = logging.getLogger("app")


class Hostile:
    """Says nothing of itself, equals nothing, and is no key."""

    __hash__ = None  # type: ignore[assignment]  # as a list has it

    def __str__(self) -> NoReturn:
        raise RuntimeError

    def __repr__(self) -> NoReturn:
        raise RuntimeError

    def __eq__(self, other: object) -> NoReturn:
        raise RuntimeError


def record_of(said: object, *arguments: object, **extra: object) -> logging.LogRecord:
    return app.makeRecord("app", logging.WARNING, "", 0, said, arguments, None, extra=extra)


@pytest.mark.parametrize("format", ["json", "logfmt", "console"])
def test_what_cannot_be_told_is_told_as_such(format: Any) -> None:
    stream = io.StringIO()
    handler = Handler(format, stream, 1)

    handler.handle(record_of(Hostile()))
    handler.handle(record_of(Hostile()))  # counted, and told with the number
    handler.handle(record_of("with %s", Hostile()))
    handler.handle(record_of("with", path=[1], job=Hostile()))
    handler.close()

    assert len(stream.getvalue().splitlines()) == 4
    assert stream.getvalue().count("Hostile> (it says nothing: RuntimeError)") == 2


@pytest.mark.parametrize("value", [5, None, "text", ["list"]])
@pytest.mark.parametrize("key", ["otpy", "otpy_keys", "otpy_fields", "otpy_storm"])
def test_who_has_names_of_otpys_for_something_else_loses_nothing(log: Log, key: str, value: object) -> None:
    log.configure()

    app.warning("said", extra={key: value})

    (line,) = log.of("app")
    assert line["event"] == "said"
    shown = line.get(key, line.get(f"{key}_"))
    assert shown == (value if value is None or isinstance(value, int | str) else "['list']")


def test_a_record_that_is_none_is_a_line_all_the_same() -> None:
    handler = Handler("json", None, None)

    line = json.loads(handler.format(logging.makeLogRecord({"levelname": "ERROR", "msg": "when", "created": 1e300})))

    assert line["level"] == "error"
    assert line["event"].startswith("a line that cannot be told: OverflowError")


CHILD = {"otpy_keys": {"system": "s", "path": "s/child"}}


@pytest.mark.parametrize("format", ["json", "logfmt", "console"])
@pytest.mark.parametrize("said", ['{"level": 3, "event": {}, "time": null}', '{"a":' * 50_000])
def test_a_process_child_that_writes_anything_breaks_no_line(log: Log, format: str, said: str) -> None:
    log.configure(format)

    logging.getLogger("otpy.child").info("%s", said, extra={**CHILD, "otpy_text": f"\\x1e{said}"})

    assert log.text.count("\n") == 1
    assert "s/child" in log.text or '"a":' in said


def test_lines_of_a_process_child_are_one_storm_only_where_they_are_the_same() -> None:
    stream = io.StringIO()
    handler = Handler("json", stream, 2, lambda: 0.0)
    child = logging.getLogger("otpy.child").makeRecord
    texts = [*(f"line {number}" for number in range(5)), *(["again"] * 5)]

    for text in texts:
        keys: dict[str, Any] = {**CHILD, "otpy_text": text}
        handler.handle(child("otpy.child", logging.INFO, "", 0, "%s: %s", ("s/child", text), None, extra=keys))
    handler.close()

    told = [json.loads(line)["event"] for line in stream.getvalue().splitlines()]
    assert told == [*texts[:7], "3 more lines like this in 0 s; the last: again"]


@pytest.mark.parametrize("format", ["logfmt", "console"])
def test_a_stream_that_takes_ascii_alone_gets_the_line(format: Any) -> None:
    raw = io.BytesIO()
    handler = Handler(format, io.TextIOWrapper(raw, "ascii", write_through=True), None)

    handler.handle(logging.makeLogRecord({"name": "app", "levelname": "INFO", "msg": "Grüße"}))

    assert b"Gr\\xfc\\xdfe" in raw.getvalue()
    handler.close()


def test_a_storm_where_there_is_no_thread_for_it_is_told_at_the_end(monkeypatch: pytest.MonkeyPatch) -> None:
    def start(_: threading.Thread) -> NoReturn:
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(threading.Thread, "start", start)
    stream = io.StringIO()
    handler = Handler("json", stream, 1, lambda: 0.0)

    for _ in range(3):
        handler.handle(logging.makeLogRecord({"name": "app", "levelname": "INFO", "msg": "again"}))
    handler.close()

    assert [json.loads(line).get("lines") for line in stream.getvalue().splitlines()] == [None, 2]


def test_arguments_that_do_not_fit_fail_nobody_who_uses_structlog(log: Log, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(app, "handlers", [log.configure()])
    monkeypatch.setattr(app, "propagate", False)  # pytest's own handler fails for such a line
    structlog.get_logger("app").info("%d of %s", "one", "two")
    structlog.get_logger("app").info("%d of %s", 1, "two")
    structlog.get_logger("app").info("100% of", count=1)

    told = [line["event"] for line in log.of("app")]
    assert told == ["%d of %s (its arguments do not fit: TypeError)", "1 of two", "100% of"]


def test_a_copy_by_fork_tells_its_own_part_of_a_storm(monkeypatch: pytest.MonkeyPatch) -> None:
    stream = io.StringIO()
    handler = Handler("json", stream, 1, lambda: 0.0)
    record = logging.makeLogRecord({"name": "app", "levelname": "INFO", "msg": "again"})

    for times in (3, 4):
        for _ in range(times):
            handler.handle(record)
        monkeypatch.setattr(os, "getpid", lambda: -1)
    handler.close()

    assert [json.loads(line).get("lines") for line in stream.getvalue().splitlines()] == [None, None, 3]
