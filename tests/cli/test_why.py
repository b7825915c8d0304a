"""`otpy why`: exact lines from exits, and the command against a program."""

from __future__ import annotations

import io
import json
import re
import threading
from typing import TYPE_CHECKING

import pytest
from rich.console import Console

from otpy import DynamicSupervisor, Stop, System, child, dynamic
from otpy.cli.why_view import why_view
from otpy.control.snapshot import Exits, from_plain, to_plain
from otpy.core.exit_codes import ExitCode
from otpy.core.exits import ExitAction, ExitRecord
from otpy.testing import Gate
from support.doer import BOOM, Doer

if TYPE_CHECKING:
    from collections.abc import Callable

    from click.testing import Result

    from otpy.control.server import ControlServer
    from support.fake_system import FakeSystem

    Otpy = Callable[..., Result]
    Serve = Callable[..., ControlServer]

EVIL = "\x1b[31m[red]evil[/red]\u202e"
STOPPED = ExitAction(
    what="stopped others", ago=2.0, detail="rest_for_one", others=("shop/web", "shop/mail"), others_left_out=1
)
RESTART = ExitAction(what="restart", ago=2.0, restart=3, in_window=2, max_restarts=3, max_seconds=5.0)
FEED = ExitRecord(
    path="shop/feed",
    relation="own",
    kind="poll_feed",
    number=12,
    time=1_000_000_000.0,
    ago=3.0,
    uptime=125.0,
    reason="ValueError: no feed",
    causes=("KeyError: 'url'",),
    frame="feed.py:7 in poll",
    message="cast poll",
    queue=4,
    took=("shop/helper",),
    waiting=("shop/web in call get", "MainThread in call get"),
    waiting_left_out=3,
    actions=(STOPPED, RESTART),
)


def exit_of(path: str, **facts: object) -> ExitRecord:
    plain = {
        "relation": "own",
        "kind": "Cache",
        "number": 1,
        "time": 0.0,
        "ago": 1.0,
        "uptime": 1.0,
        "reason": "killed",
    }
    return ExitRecord(path=path, **(plain | facts))  # type: ignore[arg-type]  # by name, right by the tests' care


def printed(*exits: ExitRecord, width: int = 120) -> list[str]:
    stream = io.StringIO()
    view = why_view(Exits(path="shop/feed", exits=exits))
    Console(file=stream, width=width, markup=False, emoji=False, highlight=False).print(view)
    lines = stream.getvalue().splitlines()
    assert lines == [line.rstrip() for line in lines], "a line ends in blanks"
    return lines


def test_a_crash_and_what_became_of_it() -> None:
    lines = printed(FEED, width=100)

    assert re.sub(r"2001-09-\d\d \d\d:\d\d:\d\d", "<time>", lines.pop(1)) == "  at          <time>, after 2m up"
    assert lines == [
        "shop/feed ended 3s ago: ValueError: no feed",
        "  was         poll_feed #12",
        "  caused by   KeyError: 'url'",
        "  where       feed.py:7 in poll",
        "  during      cast poll",
        "  took along  shop/helper",
        "  waiting     shop/web in call get, MainThread in call get and 3 others",
        "  queue       4 messages not handled",
        "  then        by rest_for_one it took along shop/web, shop/mail and 1 other",
        "  then        its supervisor started it again: restart 3, 2 of at most 3 in 5s",
    ]


@pytest.mark.parametrize(
    ("action", "line"),
    [
        (
            ExitAction(what="gave up", ago=0.0, in_window=4, max_restarts=3, max_seconds=5.0),
            "its supervisor gave up: one more than 3 restarts in 5s",
        ),
        (
            ExitAction(what="attempt", ago=0.0, restart=1, in_window=2, max_restarts=3, max_seconds=5.0),
            "its supervisor tried in vain to start it again: 2 of at most 3 in 5s",
        ),
        (
            ExitAction(what="start failed", ago=0.0, detail="exit: 'boom'"),
            "it was started by hand, and that failed: exit: 'boom'",
        ),
        (
            ExitAction(what="restart failed", ago=0.0, detail="exit: 'boom'"),
            "its start failed and is tried again: exit: 'boom'",
        ),
        (
            ExitAction(what="gave up", ago=0.0, in_window=4, max_restarts=3, max_seconds=5.0, detail="child"),
            "its supervisor gave it up: one more than 3 restarts in 5s",
        ),
        (ExitAction(what="waits", ago=0.0, detail="1.5 s"), "its supervisor waits 1.5 s before it starts it again"),
        (ExitAction(what="kept", ago=0.0), "its supervisor kept it stopped"),
        (ExitAction(what="forgot", ago=0.0), "its supervisor forgot it"),
        (
            ExitAction(what="ended itself", ago=0.0, detail="any_significant"),
            "its supervisor ended itself (auto_shutdown any_significant)",
        ),
        (ExitAction(what="something of a newer program", ago=0.0), "something of a newer program"),
    ],
)
def test_what_supervisors_do(action: ExitAction, line: str) -> None:
    assert printed(exit_of("shop/feed", actions=(action,)))[-1] == f"  then  {line}"


def test_the_chain_to_the_root_cause() -> None:
    lines = printed(exit_of("shop", relation="above", by="shop/db", origin=("shop/db: killed", "shop/disk: exit: 1")))

    assert lines[0] == "shop (above it) ended 1s ago: killed"
    assert lines[3:] == ["  because of   shop/db: killed", "  and that of  shop/disk: exit: 1"]


def test_who_killed_it() -> None:
    assert printed(exit_of("shop/feed", by="otpy-control-kill"))[-1] == "  by   otpy-control-kill"


def test_nothing_acts_on_the_terminal() -> None:
    evil = exit_of(EVIL, reason=EVIL, kind=EVIL, by=EVIL, message=EVIL, waiting=(EVIL,), time=1e300)

    text = "".join(printed(evil))

    assert text.count("[red]evil[/red]") == 6
    assert text.isprintable()


def test_a_time_that_is_not_known_is_not_told() -> None:
    assert printed(exit_of("shop/feed", uptime=None))[1].count("up") == 0


def test_exits_survive_the_wire() -> None:
    exits = Exits(path="shop", exits=(FEED, exit_of("shop", uptime=None)))

    assert from_plain(Exits, json.loads(json.dumps(to_plain(exits)))) == exits


def test_an_actor_that_never_ended(otpy: Otpy, serve: Serve) -> None:
    serve()

    assert otpy("why", "shop/cache").output == "shop/cache has not ended, as far as the program remembers\n"
    assert otpy("why", "shop/nobody").exit_code == ExitCode.FAILED


def test_json_and_last(otpy: Otpy, serve: Serve, system: FakeSystem) -> None:
    system.ended = [FEED, exit_of("shop")]
    serve()

    exits = from_plain(Exits, json.loads(otpy("why", "shop/feed", "--json", "--last", "1").output))

    assert exits.exits == (FEED,)


def test_it_answers_while_all_is_stuck_and_the_actor_gone(otpy: Otpy, serve: Serve) -> None:
    """Nothing is asked of anybody: the supervisor is stuck, and the child was temporary."""
    gate = Gate()
    system = System("shop")
    try:
        top = system.start_root(dynamic())
        stuck = child(Doer, deed=lambda _: gate.wait())
        gone = top.call(DynamicSupervisor.start_child, child(Doer).opts(restart="temporary"))
        gone.cast(Doer.run, lambda _: Stop(BOOM))
        system.wait_idle()
        starting = threading.Thread(target=lambda: top.within(None).call(DynamicSupervisor.start_child, stuck))
        starting.start()
        gate.reached()
        serve(system)

        output = otpy("why", gone.path).output

        assert output.startswith("shop/1 ended 0.")
        assert output.rstrip().endswith("its supervisor forgot it")
    finally:
        gate.open()
        starting.join()
        system.stop(timeout=30.0)
