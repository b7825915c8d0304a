"""`otpy tree --watch`: every change is shown, until the program or the reader ends it."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from rich.console import Console

from otpy.cli.reach import Reach
from otpy.cli.tree import Watched, watch
from otpy.cli.watching import ticks
from otpy.control.claim import claim_name
from support.fake_system import FakeSystem, supervisor, worker

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from click.testing import Result

    from otpy.control.server import ControlServer

    Serve = Callable[..., ControlServer]
    Otpy = Callable[..., Result]


def screen(*, terminal: bool) -> Console:
    return Console(width=80, height=20, force_terminal=terminal, markup=False, emoji=False, highlight=False)


@pytest.mark.parametrize("terminal", [True, False])
def test_watching_shows_every_change_and_the_end(
    serve: Serve, system: FakeSystem, directory: Path, capsys: pytest.CaptureFixture[str], *, terminal: bool
) -> None:
    server = serve()

    def moments() -> Iterator[None]:
        yield
        system.all = [supervisor("shop", 1), worker("shop/changed")]
        yield
        server.close()
        server.start()  # the same program, behind a new connection
        yield
        server.close()
        yield
        pytest.fail("it went on after the end")

    with Watched(Reach(directory), "shop", 50) as watched:
        watch(watched, screen(terminal=terminal), moments())

    output = capsys.readouterr().out
    assert output.index("cache") < output.index("changed") < output.index("shop has ended")


def test_watching_bears_a_program_that_does_not_answer_for_a_while(
    serve: Serve, system: FakeSystem, directory: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    silent = claim_name("shop", directory)
    listener = silent.listen()

    def moments() -> Iterator[None]:
        yield
        listener.close()
        silent.release()
        serve()
        watched._reach = Reach(directory)
        yield

    with Watched(Reach(directory, hello_time=0.02), "shop", 50) as watched:
        watch(watched, screen(terminal=False), moments())

    output = capsys.readouterr().out
    assert output.index("does not answer") < output.index("cache")


def test_watching_as_json_prints_one_object_a_line(otpy: Otpy, serve: Serve, monkeypatch: pytest.MonkeyPatch) -> None:
    serve()
    monkeypatch.setattr("otpy.cli.tree.ticks", lambda _interval: iter([None, None]))

    lines = otpy("tree", "--json", "--watch").output.splitlines()

    assert [json.loads(line)["system"]["name"] for line in lines] == ["shop", "shop"]


def test_ctrl_c_ends_watching_cleanly(monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(_seconds: float) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("time.sleep", interrupted)

    assert list(ticks(1.0)) == [None]


def test_ctrl_c_while_looking_ends_watching_cleanly(
    serve: Serve, directory: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    serve()

    def moments() -> Iterator[None]:
        yield
        raise KeyboardInterrupt

    with Watched(Reach(directory), "shop", 50) as watched:
        watch(watched, screen(terminal=False), moments())

    assert "has ended" not in capsys.readouterr().out
