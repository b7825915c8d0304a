"""The command `otpy`: what it prints, and the status it ends with."""

from __future__ import annotations

import json
import os
import runpy
import subprocess
import sys
import threading
from typing import TYPE_CHECKING

import click
import pytest
from click.testing import CliRunner, Result

from otpy.cli import COMMANDS, main
from otpy.cli.lazy import LazyGroup
from otpy.control.claim import claim_name
from otpy.control.snapshot import Snapshot, from_plain
from otpy.core.exit_codes import ExitCode
from support.fake_system import FakeSystem, shop, supervisor, worker
from support.forked import Forked
from support.source import ROOT

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from otpy.control.server import ControlServer

    Serve = Callable[..., ControlServer]
    Otpy = Callable[..., Result]


def test_the_tree_of_the_only_program_needs_no_name(otpy: Otpy, serve: Serve) -> None:
    serve()

    result = otpy("tree")

    assert result.exit_code == ExitCode.CLEAN
    assert result.output.splitlines()[1].startswith("├── cache           Cache")


def test_part_of_a_tree_is_named_by_its_path(otpy: Otpy, serve: Serve) -> None:
    serve()

    result = otpy("tree", "shop/sessions", "--limit", "1")

    assert [line.split()[:2] for line in result.output.splitlines()] == [
        ["sessions", "DynamicSupervisor"],
        ["├──", "1"],
        ["└──", "…"],
    ]


def test_several_programs_must_be_told_apart(otpy: Otpy, serve: Serve) -> None:
    serve()
    serve(FakeSystem(name="mail"))

    result = otpy("tree")

    assert result.exit_code == ExitCode.USAGE
    assert result.output == "Error: several programs run, name one: mail, shop\n"


def test_a_tree_without_any_program_is_one_line(otpy: Otpy, directory: Path) -> None:
    result = otpy("tree")

    line = f"Error: no otpy program of yours is running in {directory}\n"
    assert (result.exit_code, result.output) == (ExitCode.USAGE, line)


def test_a_tree_as_json_can_be_read_back(otpy: Otpy, serve: Serve) -> None:
    serve()

    snapshot = from_plain(Snapshot, json.loads(otpy("tree", "shop", "--json").output))

    assert list(snapshot.records) == shop()


@pytest.mark.parametrize(
    ("words", "code", "line"),
    [
        (("tree", "shpo"), 2, "no program 'shpo' runs: did you mean 'shop'?"),
        (("info", "shop/cahce"), 70, "no actor 'shop/cahce': there are shop/cache, shop/feed, shop/sessions"),
        (("stop", "shop/no"), 70, "no actor 'shop/no': there are shop/cache, shop/feed, shop/sessions"),
        (("kill", "shop"), 70, "'shop' is the whole program: name an actor in it, as shop/cache"),
        (("restart", "shop"), 70, "'shop' is the whole program: name an actor in it, as shop/cache"),
        (("tree", "\x1b[31m"), 2, r"no program '\x1b[31m' runs: did you mean 'shop'?"),
    ],
)
def test_an_error_is_one_line_and_a_status(otpy: Otpy, serve: Serve, words: list[str], code: int, line: str) -> None:
    serve()

    result = otpy(*words)

    assert result.exit_code == code
    if "\x1b" not in words[1]:
        assert result.output == f"Error: {line}\n"
    assert result.output.count("\n") == 1
    assert "\x1b" not in result.output


@pytest.mark.parametrize("words", [("tree", "--no"), ("stop",), ("nothing",), ("tree", "--limit", "-1")])
def test_a_wrong_command_line_is_a_usage_error(otpy: Otpy, words: list[str]) -> None:
    assert otpy(*words).exit_code == ExitCode.USAGE


def test_running_programs_are_listed(otpy: Otpy, serve: Serve) -> None:
    serve()
    serve(rights="read")

    lines = otpy("ps").output.splitlines()

    assert [line.split()[0] for line in lines] == ["name", "shop", "shop-2"]
    assert all(word in line.split() for word, line in zip(["control", "operate", "read"], lines, strict=True))


def test_programs_as_json(otpy: Otpy, serve: Serve) -> None:
    serve(rights="read")

    (program,) = json.loads(otpy("ps", "--json").output)

    assert (program["name"], program["rights"], program["problem"]) == ("shop", "read", None)
    assert program["summary"]["counts"]["actors"] == 6


def test_no_program_is_no_error(otpy: Otpy, directory: Path) -> None:
    result = otpy("ps")

    line = f"no otpy program of yours is running in {directory}\n"
    assert (result.exit_code, result.output) == (ExitCode.CLEAN, line)


def test_a_program_that_does_not_answer_is_listed_and_a_stale_socket_is_not(otpy: Otpy, directory: Path) -> None:
    silent, stale = claim_name("silent", directory), claim_name("stale", directory)
    stale.listen().close()
    with silent.listen():
        result = otpy("ps", "--timeout", "0.05")
    silent.release()
    stale.release()

    assert [line.split()[2:] for line in result.output.splitlines()[1:]] == [["does", "not", "answer"]]


@pytest.mark.parametrize("words", [("tree",), ("tree", "silent"), ("info", "silent/x"), ("kill", "silent/x")])
def test_a_program_that_does_not_answer_is_said_to_be_so_after_its_time(
    otpy: Otpy, directory: Path, words: list[str]
) -> None:
    silent = claim_name("silent", directory)
    with silent.listen():
        result = otpy(*words, "--timeout", "0.05")
    silent.release()

    assert result.exit_code == ExitCode.FAILED
    assert result.output.startswith("Error: the program does not answer: it may be in a call that keeps the interp")
    assert result.output.endswith("(silent, waited 0.05 s)\n")


def test_one_actor_in_full(otpy: Otpy, serve: Serve) -> None:
    serve()

    text, plain = otpy("info", "shop/feed"), json.loads(otpy("info", "shop/feed", "--json").output)

    assert "last exit    ValueError: no feed" in text.output
    assert text.output.rstrip().endswith('File "feed.py", line 7, in poll')
    assert plain["record"]["path"] == "shop/feed"


@pytest.mark.parametrize(
    ("verb", "line"),
    [
        ("stop", "shop/cache is stopped; unless it was temporary or dynamic, otpy restart starts it again"),
        ("restart", "shop/cache is restarted"),
        ("kill", "shop/cache is killed"),
    ],
)
def test_an_actor_is_operated(otpy: Otpy, serve: Serve, system: FakeSystem, verb: str, line: str) -> None:
    serve()

    result = otpy(verb, "shop/cache")

    assert (result.exit_code, result.output) == (ExitCode.CLEAN, f"{line}\n")
    assert system.done == [(verb, "shop/cache")]


def test_a_whole_program_is_asked_to_stop_by_its_name(otpy: Otpy, serve: Serve, system: FakeSystem) -> None:
    serve()

    assert otpy("stop", "shop").output == "shop was asked to stop\n"
    assert system.stopping.is_set()


def test_a_program_that_only_lets_itself_be_read_is_not_operated(otpy: Otpy, serve: Serve, system: FakeSystem) -> None:
    serve(rights="read")

    result = otpy("kill", "shop/cache")

    assert result.exit_code == ExitCode.FAILED
    line = "kill needs the right 'operate'; this program gives 'read': start it with --control operate"
    assert result.output == f"Error: {line}\n"
    assert system.done == []


def test_a_command_that_takes_long_is_told_from_a_program_that_hangs(
    otpy: Otpy, serve: Serve, system: FakeSystem
) -> None:
    release = system.stuck_on["shop/feed"] = threading.Event()
    serve()

    result = otpy("stop", "shop/feed", "--within", "0.05")
    release.set()

    assert result.exit_code == ExitCode.FAILED
    assert result.output == "Error: stop of shop/feed is not done after 0.05 s; the program goes on with it\n"


def test_a_directory_that_is_not_safe_is_one_line(otpy: Otpy, directory: Path) -> None:
    directory.mkdir(mode=0o755)

    result = otpy("ps")
    directory.rmdir()

    assert result.exit_code == ExitCode.FAILED
    assert "so others may enter it: chmod 700 it" in result.output


def test_the_directory_can_be_given_as_an_option(serve: Serve, directory: Path) -> None:
    serve()

    result = CliRunner().invoke(main, ["tree", "--directory", str(directory)])

    assert result.exit_code == ExitCode.CLEAN


def test_every_command_says_what_it_does(otpy: Otpy) -> None:
    overview = otpy("--help").output

    for name, place in COMMANDS.items():
        if place != COMMANDS["demo"]:
            assert f"  {name} " in overview
            assert place[1] in overview  # whole
            assert "Usage: otpy" in otpy(name, "--help").output


def test_the_version_is_told(otpy: Otpy) -> None:
    assert otpy("--version").output.startswith("otpy, version ")


def test_a_command_whose_module_is_missing_is_no_command() -> None:
    group = LazyGroup(
        "otpy", commands_at={"gone": ("otpy.cli.not_there:gone", "Go."), "ps": ("otpy.cli.ps:ps", "List.")}
    )

    assert group.get_command(click.Context(group), "gone") is None
    assert CliRunner().invoke(group, ["gone"]).exit_code == ExitCode.USAGE
    assert "gone" not in CliRunner().invoke(group, ["--help"]).output


@pytest.mark.parametrize(
    ("raised", "code", "text"),
    [
        (KeyboardInterrupt(), 70, "Error: interrupted\n"),
        (PermissionError(13, "not yours", "file"), 70, "Error: [Errno 13] not yours: 'file'\n"),
    ],
)
def test_other_ends_are_one_line_too(raised: BaseException, code: int, text: str) -> None:
    group = LazyGroup("otpy", commands_at={})

    @group.command
    def fail() -> None:
        """Fail."""
        raise raised

    result = CliRunner().invoke(group, ["fail"])

    assert "  fail  Fail." in CliRunner().invoke(group, ["--help"]).output
    assert (result.exit_code, result.output) == (code, text)


@pytest.mark.parametrize(
    "words", [["tree"], ["tree", "--json"], ["tree", "--watch"], ["info", "shop/cache"], ["ps"], ["-h"]]
)
def test_a_command_whose_reader_has_gone_ends_without_a_word(serve: Serve, directory: Path, words: list[str]) -> None:
    """`otpy tree | head`: as for a program that SIGPIPE ends."""
    serve()
    nobody, output = os.pipe()
    os.close(nobody)

    with Forked(
        [sys.executable, "-m", "otpy.cli", *words],
        stdout=output,
        stderr=subprocess.PIPE,
        env={**os.environ, "OTPY_RUNTIME_DIR": str(directory)},
    ) as running:
        os.close(output)
        _, said = running.communicate()

    assert (said, running.returncode) == (b"", ExitCode.UNREAD)


@pytest.mark.parametrize("unbuffered", [{}, {"PYTHONUNBUFFERED": "1"}], ids=["", "1"])
@pytest.mark.parametrize("words", [["tree", "--limit", "9000"], ["tree", "--limit", "9000", "--json"]])
def test_a_reader_that_goes_after_the_first_lines_is_noticed(
    serve: Serve, directory: Path, words: list[str], unbuffered: dict[str, str]
) -> None:
    """More than a pipe holds, so that the write is cut short: without a buffer Python takes that for all of it."""
    serve(FakeSystem([supervisor("shop", 1_500), *(worker(f"shop/w{number}") for number in range(1_500))]))

    start = subprocess.Popen if unbuffered else Forked  # what Python reads as it starts is left to itself
    with start(
        [sys.executable, "-m", "otpy.cli", *words],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env={**os.environ, "OTPY_RUNTIME_DIR": str(directory), **unbuffered},
    ) as running:
        assert running.stdout is not None
        assert running.stderr is not None
        assert len(os.read(running.stdout.fileno(), 10)) == 10
        running.stdout.close()
        said = running.stderr.read()

    assert (said, running.returncode) == (b"", ExitCode.UNREAD)


@pytest.mark.parametrize("folder", ["otpy", "otpy/cli"])
def test_python_runs_the_command_as_a_module(
    folder: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", ["-m", "--version"])
    with pytest.raises(SystemExit) as ended:
        runpy.run_path(str(ROOT / folder / "__main__.py"), run_name="__main__")
    assert ended.value.code == 0
    assert capsys.readouterr().out.startswith("otpy, version ")
