"""What is in a line stays in it: secrets are hidden, foreign text breaks nothing, a storm is told as a number."""

from __future__ import annotations

import io
import json
import logging
import re
import shlex
from dataclasses import fields
from http import HTTPStatus
from typing import TYPE_CHECKING, Any, NoReturn

import pytest

import otpy
from otpy import events, logs
from otpy.errors import SpecError
from otpy.events import BreakerChanged, DeadLetter, Event, UnknownMessage
from otpy.logs.fields import names_of
from otpy.logs.handler import Handler
from otpy.logs.keys import CONTEXT
from otpy.logs.line import BASE
from otpy.resilience import Breaker, RetryError, retry
from support.source import ROOT

if TYPE_CHECKING:
    from otpy.testing import VirtualSystem

    from .conftest import Log

app = logging.getLogger("app")

EVENTS = [
    kind for kind in vars(events).values() if isinstance(kind, type) and issubclass(kind, Event) and kind is not Event
]
FOREIGN = 'a\nlevel=critical\r\x1b[2J\u202e"quoted" \x85 {"event": "forged"}'


# The seed of it all.


class ServiceError(Exception):
    def __init__(self, status: int) -> None:
        super().__init__(f"payments answered {status}")
        self.status = status


@pytest.mark.parametrize("format", ["json", "logfmt", "console"])
def test_one_line_says_which_service_and_status_after_how_many_retries_and_that_its_breaker_is_open(
    log: Log, virtual_system: VirtualSystem, format: str
) -> None:
    log.configure(format)
    payments = Breaker("payments", failures=5, cooldown=30.0)
    virtual_system.start(payments.child())

    @retry(on=ServiceError, attempts=5, breaker=payments, backoff=otpy.Backoff(first=0.0, most=0.0))
    def pay() -> NoReturn:
        raise ServiceError(HTTPStatus.SERVICE_UNAVAILABLE)

    with pytest.raises(RetryError):
        pay()
    virtual_system.wait_idle()

    [text] = log.text.splitlines()
    if format == "json":
        line = json.loads(text)
        assert (line["service"], line["status"], line["attempts"], line["breaker"]) == ("payments", 503, 5, "open")
        assert (line["before"], line["level"], line["otpy"]) == ("closed", "warning", "BreakerChanged")
        assert 30.0 <= line["retry_after"] <= 33.0
        assert "payments answered 503" in line["error"]
    else:
        words = set(shlex.split(text))
        assert words >= {"service=payments", "status=503", "attempts=5", "breaker=open", "before=closed"}
        assert re.search(r" retry_after=3\d\.\d+", text)
    assert "5 failures in a row" in text
    assert "after 4 retries" in text


# What the reference says.


def test_every_key_stands_in_the_reference() -> None:
    page = (ROOT / "docs/reference/logs.md").read_text()
    rows = dict(re.findall(r"^\| `(\w+)` \| (.+) \|$", page, re.MULTILINE))

    assert {key: rows.get(key) for key in BASE | CONTEXT} == BASE | CONTEXT
    told = {kind.__name__: [key for name, key in names_of(kind).items() if name != "path"] for kind in EVENTS}
    assert {name: rows.get(name) for name in told} == {
        name: ", ".join(f"`{key}`" for key in keys) or "none" for name, keys in told.items()
    }


def test_no_key_of_an_event_is_one_of_every_line() -> None:
    assert {kind.__name__ for kind in EVENTS if {*names_of(kind).values()} & BASE.keys()} == set()
    renamed = [[*names_of(kind).values()] for kind in EVENTS]
    assert [keys for keys in renamed if len(set(keys)) < len(keys)] == []


KINDS = {"str": "text", "float": "number", "int": "number", "bool": "bool", "Reason": "text", "Restart": "text"}


def kind_of(annotation: str) -> str:
    """What a field of this type is in a line: one or a list of numbers, texts, or true and false."""
    inner = re.fullmatch(r"tuple\[(.+), \.\.\.\]", annotation.removesuffix(" | None"))
    return KINDS.get(annotation.removesuffix(" | None") if inner is None else inner[1], "text")


def test_a_key_is_of_one_kind_in_all_events() -> None:
    kinds: dict[str, set[str]] = {key: {"text"} for key in CONTEXT}
    kinds |= {"incarnation": {"number"}, "job": {"number"}, "attempt": {"number"}}
    for event in EVENTS:
        for each in fields(event):
            kinds.setdefault(names_of(event)[each.name], set()).add(kind_of(str(each.type)))

    assert {key: found for key, found in kinds.items() if len(found) > 1} == {}


# Foreign text, and secrets.


def test_foreign_text_breaks_no_line(log: Log) -> None:
    for kind in ("json", "logfmt", "console"):
        log.configure(kind)
        app.info("said %s", FOREIGN, extra={"note": FOREIGN, 'bad key\n="': 1})
    as_json, as_logfmt, as_console = log.text.splitlines()
    assert len(log.text.split("\n")) == 4
    assert log.text.isascii()
    line = json.loads(as_json)
    assert (line["event"], line["note"], line["level"]) == (f"said {FOREIGN}", FOREIGN, "info")
    assert "bad_key_=1" in as_logfmt
    assert [word for word in as_logfmt.split(" ") if word.startswith("level=")] == ["level=info"]
    assert "\x1b" not in as_logfmt + as_console


def test_a_traceback_is_in_its_line_and_for_people_below_it(log: Log) -> None:
    for kind in ("json", "console"):
        log.configure(kind)
        try:
            raise ValueError(FOREIGN)
        except ValueError:
            app.exception("failed")
    as_json, *rows = log.text.split("\n")
    assert json.loads(as_json)["exception"].startswith("Traceback (most recent call last):\n")
    assert "ERROR     failed  logger=app" in rows[0]
    assert [row for row in rows[1:-1] if not row.startswith("    ")] == []


def test_secrets_are_hidden_as_everywhere(log: Log, virtual_system: VirtualSystem) -> None:
    log.configure()
    app.info("to postgres://me:hunter2@db", extra={"password": "hunter2", "url": "http://me:hunter2@host/"})
    app.info("headers", extra={"headers": {"Authorization": "hunter2"}})
    try:
        raise ConnectionError("no way to amqp://me:hunter2@host")
    except ConnectionError:
        app.exception("failed")
    assert "hunter2" not in log.text
    assert log.text.count("<hidden>") == 6


def test_what_a_system_and_an_actor_redact_is_redacted(log: Log) -> None:
    class Teller(otpy.GenServer):
        @otpy.call
        def tell(self) -> None:
            app.info("told", extra={"iban": "DE02", "card": "4111"})

        def redact(self, name: str, value: object) -> object:
            return "…" if name == "card" else value

    log.configure()
    system = otpy.System("bank", redact=lambda name, value: "<gone>" if name == "iban" else value)
    system.start(Teller).call(Teller.tell)
    system.stop()
    assert [(line["iban"], line["card"]) for line in log.of("app")] == [("<gone>", "…")]


def test_nobody_takes_a_key_of_otpys(log: Log) -> None:
    log.configure()
    app.info("a file", extra={"path": "a/file", "level": 3, "otpy_storm": {}, "job": 7})
    [line] = log.lines
    assert (line["level"], line["level_"], line["path_"], line["job_"]) == ("info", 3, "a/file", 7)
    assert "path" not in line


@pytest.mark.parametrize(
    ("value", "shown"),
    [(float("inf"), "inf"), (1 << 70, str(1 << 70)), (None, None), (True, True), ((1, 2), ["1", "2"]), ([1], "[1]")],
)
def test_a_value_is_what_json_has(log: Log, value: object, shown: object) -> None:
    log.configure()
    app.info("said", extra={"value": value})
    [line] = log.lines
    assert line["value"] == shown


def test_arguments_that_do_not_fit_lose_no_line() -> None:
    log = Watched()
    log.say("%d files", "no")
    assert log.events == ["%d files (its arguments do not fit: TypeError)"]
    log.handler.close()


def test_an_event_about_another_actor_has_the_path_of_that_one(log: Log, virtual_system: VirtualSystem) -> None:
    class Teller(otpy.GenServer):
        @otpy.call
        def tell(self) -> None:
            self.system.events.emit(UnknownMessage(path="test/other", message="'what'"))

    log.configure()
    virtual_system.start(Teller).call(Teller.tell)
    [line] = log.of("otpy")
    assert (line["path"], line["message"]) == ("test/other", "'what'")
    assert "incarnation" not in line


@pytest.mark.parametrize("options", [{"format": "jsn"}, {"level": "LOUD"}, {"level": 1.5}, {"allowance": 0}])
def test_options_that_cannot_be_are_refused(options: dict[str, Any]) -> None:
    with pytest.raises(SpecError, match=str(next(iter(options.values())))):
        logs.configure(**options)


def test_a_format_that_does_not_exist_is_refused() -> None:
    with pytest.raises(SpecError, match="did you mean 'json'"):
        logs.Formatter("jsn")  # type: ignore[arg-type]


# A storm.


class Watched:
    """A handler on a clock of its own."""

    def __init__(self, allowance: int | None = 3) -> None:
        self.stream, self.time = io.StringIO(), 0.0
        self.handler = Handler("json", self.stream, allowance, lambda: self.time)

    def say(self, message: str, *args: object, event: Event | None = None, times: int = 1) -> None:
        for _ in range(times):
            record = logging.LogRecord("app", logging.INFO, "", 0, message, args, None)
            if event is not None:
                record.otpy = event
            self.handler.handle(record)

    @property
    def events(self) -> list[str]:
        return [json.loads(line)["event"] for line in self.stream.getvalue().splitlines()]


def test_a_storm_is_told_as_a_number_and_other_lines_go_on() -> None:
    log = Watched()
    log.say("again %d", 1, times=100)
    log.say("something else")
    assert log.events == ["again 1"] * 3 + ["something else"]
    log.time = 1.5
    log.say("again %d", 2)
    more = "97 more lines like this in 1.5 s; the last: again 1"
    assert log.events == ["again 1"] * 3 + ["something else", more, "again 2"]
    line = json.loads(log.stream.getvalue().splitlines()[-2])
    assert (line["lines"], line["within"], line["level"]) == (97, 1.5, "info")
    log.handler.close()
    assert len(log.events) == 6


def test_a_storm_that_is_over_is_told_without_another_line() -> None:
    log = Watched()
    log.say("again", times=5)
    alarm = log.handler._alarm
    assert alarm is not None
    log.time = 1.0
    alarm.cancel()
    log.handler._wake()
    assert log.events[3:] == ["2 more lines like this in 1 s; the last: again"]
    assert log.handler._alarm is None
    log.handler.close()


def test_a_handler_that_is_closed_tells_what_it_has_left_out() -> None:
    log = Watched()
    log.say("again", times=5)
    log.handler.close()
    assert log.events[3:] == ["2 more lines like this in 0 s; the last: again"]
    log.say("again")
    assert len(log.events) == 5


def test_events_of_different_actors_are_different_storms() -> None:
    log = Watched(allowance=1)
    for path in ("t/a", "t/b"):
        log.say("%s", event=DeadLetter(path=path, message="'m'", why="dead"), times=3)
    log.say("%s", event=BreakerChanged(path="t/a", breaker="b", before="closed", after="open", why="", retry_after=1.0))
    assert len(log.events) == 3
    log.handler.close()
    assert [event.split(";")[0] for event in log.events[3:]] == ["2 more lines like this in 0 s"] * 2


def test_of_many_kinds_a_thousand_are_remembered() -> None:
    log = Watched(allowance=1)
    for number in range(1_500):
        log.say(f"kind {number}", times=2)
    assert len(log.handler._allowance._storms) <= 1_001
    log.handler.close()
    assert len(log.events) == 3_000


def test_without_an_allowance_all_is_written() -> None:
    log = Watched(allowance=None)
    log.say("again", times=100)
    assert len(log.events) == 100
    log.handler.close()
