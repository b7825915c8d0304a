"""`otpy info --state|--stack|--mailbox`, `otpy suspend`, `otpy resume`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from otpy.control.snapshot import from_plain
from otpy.core.exit_codes import ExitCode
from otpy.core.record import MailboxRecord, StateRecord
from support.fake_system import FakeSystem, shop, worker

if TYPE_CHECKING:
    from collections.abc import Callable

    from click.testing import Result

    from otpy.control.server import ControlServer

    Otpy = Callable[..., Result]
    Serve = Callable[..., ControlServer]


@pytest.mark.parametrize(
    ("words", "lines"),
    [
        (["shop/cache", "--state"], ["shop/cache is idle", "items = {}"]),
        (
            ["shop/feed", "--state", "--within", "0.5"],
            ["shop/feed is running", "no state: busy for 0.5 s", '  File "feed.py", line 7, in poll'],
        ),
        (["shop/cache", "--stack"], ["shop/cache is idle: it runs on no thread now"]),
        (["shop/feed", "--stack"], ["shop/feed is running in init", '  File "feed.py", line 7, in poll']),
        (
            ["shop/cache", "--mailbox", "--limit", "2"],
            ["shop/cache: 4 messages waiting", "it is at rest", "  call get from shop/web", "  cast put", "  … 2 more"],
        ),
        (["shop/feed", "--mailbox"], ["shop/feed: 0 messages waiting", "it is at rest"]),
    ],
)
def test_parts_of_info(otpy: Otpy, serve: Serve, words: list[str], lines: list[str]) -> None:
    serve(rights="full")

    result = otpy("info", *words)

    assert [line.rstrip() for line in result.output.splitlines()] == lines
    assert result.exit_code == ExitCode.CLEAN


def test_the_stack_of_a_child_without_a_process_says_so(otpy: Otpy, serve: Serve) -> None:
    serve(FakeSystem([worker("shop/feed", status="restarting", number=0, next_start=18.0)]))

    assert otpy("info", "shop/feed", "--stack").output == "shop/feed is restarting and has no process\n"


def test_parts_as_json(otpy: Otpy, serve: Serve) -> None:
    serve(rights="full")

    state = from_plain(StateRecord, json.loads(otpy("info", "shop/cache", "--state", "--json").output))
    mailbox = from_plain(MailboxRecord, json.loads(otpy("info", "shop/cache", "--mailbox", "--json").output))

    assert (state.state, mailbox.length) == (("items = {}",), 4)


def test_one_part_at_a_time(otpy: Otpy, serve: Serve) -> None:
    serve()

    result = otpy("info", "shop/cache", "--state", "--mailbox")

    assert (result.exit_code, result.output) == (ExitCode.USAGE, "Error: one at a time: --mailbox or --state\n")


def test_state_needs_the_right_to_reach_into_it(otpy: Otpy, serve: Serve) -> None:
    """Decision 10: a state may hold secrets that no rule hides."""
    serve(rights="operate")

    result = otpy("info", "shop/cache", "--state")

    assert result.exit_code == ExitCode.FAILED
    assert "full" in result.output


def test_suspend_and_resume(otpy: Otpy, serve: Serve, system: FakeSystem) -> None:
    serve()

    outputs = [
        otpy("suspend", "shop/cache").output,
        otpy("suspend", "shop/cache", "--for", "60").output,
        otpy("resume", "shop/cache").output,
    ]

    assert outputs == [
        "shop/cache is suspended until otpy resume shop/cache\n",
        "shop/cache is suspended until 60 s have gone by\n",
        "shop/cache goes on\n",
    ]
    assert [what for what, _ in system.done] == ["suspend", "suspend for 60", "resume"]


def test_a_busy_actor_is_an_error_that_says_what_it_does(otpy: Otpy, serve: Serve) -> None:
    serve()

    result = otpy("suspend", "shop/feed", "--within", "0.5")

    assert result.exit_code == ExitCode.FAILED
    assert "not done within 0.5 s: it is busy for 9.0 s in init" in result.output
    assert "; it is done after that message" in result.output


def test_looking_gives_no_right_to_suspend(otpy: Otpy, serve: Serve, system: FakeSystem) -> None:
    serve(rights="read")

    assert otpy("suspend", "shop/cache").exit_code == ExitCode.FAILED
    assert system.done == []


@pytest.mark.parametrize("words", [["--for", "0"], ["--for", "-1"], ["--within", "0"], ["--within", "61"]])
def test_times_nobody_means_are_refused(otpy: Otpy, words: list[str]) -> None:
    assert otpy("suspend", "shop/cache", *words).exit_code == ExitCode.USAGE


def test_the_tree_and_info_show_a_suspension_and_a_wait(otpy: Otpy, serve: Serve, system: FakeSystem) -> None:
    cache = worker("shop/cache", status="suspended", suspended=65.0)
    web = worker("shop/web", status="running", busy=2.1, current="info", waiting="shop/db in call get")
    system.all = [shop()[0], cache, web]
    serve()

    assert "suspended 1m" in otpy("tree", "shop").output.splitlines()[1]
    assert "suspended    for 1m" in otpy("info", "shop/cache").output
    assert "waits for    shop/db in call get" in otpy("info", "shop/web").output


def commands_of_the_page() -> list[list[str]]:
    """Every `otpy` command of the how-to, without its comment."""
    page = (Path(__file__).parents[2] / "docs/how-to/find-out-why.md").read_text()
    lines = [line.partition("#")[0].split() for line in page.splitlines() if line.startswith("otpy ")]
    return [words[1:] for words in lines]


def test_the_commands_of_the_how_to_work(otpy: Otpy, serve: Serve) -> None:
    serve(rights="full")
    pages_words = commands_of_the_page()

    results = {" ".join(words): otpy(*words).exit_code for words in pages_words}

    assert len(results) >= 10
    # The feed of this shop is always busy, so it cannot be suspended.
    assert {words for words, code in results.items() if code != ExitCode.CLEAN} == {"suspend shop/feed --for 60"}
