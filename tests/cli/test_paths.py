"""Whom a command is about: one manner for all of them, and errors that say what was meant."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from otpy.core.exit_codes import ExitCode
from support.fake_system import FakeSystem

if TYPE_CHECKING:
    from collections.abc import Callable

    from click.testing import Result

    from otpy.control.server import ControlServer

    Serve = Callable[..., ControlServer]
    Otpy = Callable[..., Result]

OF_A_PATH = (
    ("drain",),
    ("info",),
    ("kill",),
    ("rehearse", "drain"),
    ("restart",),
    ("resume",),
    ("stop",),
    ("suspend",),
    ("tree",),
    ("why",),
)
OF_A_PROGRAM = (("doctor",), ("fleet",), ("health",), ("jobs", "list"), ("jobs", "names"))


def refused(result: Result) -> str:
    assert result.exit_code == ExitCode.USAGE
    assert (result.stdout, result.stderr.count("\n")) == ("", 1)
    return result.stderr.removeprefix("Error: ").rstrip()


@pytest.mark.parametrize("command", OF_A_PATH, ids=" ".join)
def test_a_path_is_one_word(otpy: Otpy, serve: Serve, system: FakeSystem, command: tuple[str, ...]) -> None:
    serve()
    said = " ".join(("otpy", *command))

    assert refused(otpy(*command, "shop", "cache")) == f"a path is one word: did you mean {said} shop/cache?"
    assert refused(otpy(*command, "shop", "shop/cache")) == f"a path is one word: did you mean {said} shop/cache?"
    assert refused(otpy(*command, "shop/cache", "shop/feed")) == f"one path at a time: {said} shop/cache"
    assert system.done == []


@pytest.mark.parametrize("command", [*OF_A_PATH, ("roll",)], ids=" ".join)
@pytest.mark.parametrize(
    ("path", "meant"), [("shop/", "shop"), ("/shop/cache", "shop/cache"), ("shop//cache/", "shop/cache")]
)
def test_a_part_that_is_empty_means_nobody_above_it(
    otpy: Otpy, serve: Serve, system: FakeSystem, command: tuple[str, ...], path: str, meant: str
) -> None:
    """As in `otpy stop shop/$ID` without an ID."""
    serve()

    assert refused(otpy(*command, path)) == f"a part of the path '{path}' is empty: did you mean '{meant}'?"
    assert system.done == []


def test_a_path_of_nothing_is_refused(otpy: Otpy, serve: Serve) -> None:
    serve()

    assert refused(otpy("stop", "")) == "a part of the path '' is empty: say whom, as shop/feed"
    assert refused(otpy("stop", "shop", "/")) == "a part of the path 'shop/' is empty: did you mean 'shop'?"
    assert refused(otpy("roll", "shop", "")) == "a part of the path 'shop/' is empty: did you mean 'shop'?"
    assert refused(otpy("roll", "shop/a", "shop/b")) == "one path at a time: otpy roll shop/a"


@pytest.mark.parametrize("command", OF_A_PROGRAM, ids=" ".join)
def test_a_command_for_a_whole_program_refuses_a_path(otpy: Otpy, serve: Serve, command: tuple[str, ...]) -> None:
    serve()
    said = " ".join(("otpy", *command))

    line = f"{said} is about a whole program, and shop/cache is a path: did you mean {said} shop?"
    assert refused(otpy(*command, "shop/cache")) == line


def test_a_name_that_was_left_out_is_guessed_when_one_program_runs(otpy: Otpy, serve: Serve) -> None:
    serve()

    meant = "no program 'cache' runs: known are shop; or did you mean 'shop/cache'?"
    assert [refused(otpy(verb, "cache")) for verb in ("stop", "info")] == [meant, meant]
    assert refused(otpy("stop", "shpo/cache")) == "no program 'shpo' runs: did you mean 'shop'?"

    serve(FakeSystem(name="mail"))
    assert refused(otpy("stop", "cache")) == "no program 'cache' runs: known are mail, shop"
