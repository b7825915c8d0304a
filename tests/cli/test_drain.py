"""`otpy drain`: a program, or a part of it, finishes what it has and stops, and that is seen going to nought."""

from __future__ import annotations

import io
import json
import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import pytest
from rich.console import Console

import otpy as library
from otpy.cli import drain as command
from otpy.cli.drain_views import drain_line, drain_view, ended_view, is_clean
from otpy.testing import Gate
from support.doer import Doer
from support.systems import quiet

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from contextlib import AbstractContextManager
    from pathlib import Path

    from click.testing import Result

__all__ = ["quiet"]


class Server(library.GenServer):
    """Has work in flight until somebody says that it is done."""

    def init(self, gate: Gate | None = None) -> None:
        self.gate = gate

    def handle_drain(self, drain: library.Drain) -> object:
        if self.gate is None:
            return None
        drain.working(2, ["a", "b"])
        threading.Thread(target=self.finish, args=(drain,), daemon=True).start()
        return library.NoReply()

    def finish(self, drain: library.Drain) -> None:
        assert self.gate is not None
        self.gate.wait()
        drain.done()


def shop(gate: Gate | None = None) -> type[library.Supervisor]:
    class Shop(library.Supervisor):
        def children(self) -> list[library.ChildSpec]:
            return [library.child(Server, gate).opts(id="a"), library.child(Doer).opts(id="b")]

    return Shop


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is looked at all the time."""
    monkeypatch.setattr(command, "INTERVAL", 0.01)


@pytest.fixture
def program(directory: Path) -> Callable[..., AbstractContextManager[list[library.Application]]]:
    """Runs a tree as a program does, in a thread, until it was told to stop and has."""

    @contextmanager
    def run(tree: Any, **options: Any) -> Iterator[list[library.Application]]:
        begun, ended = threading.Event(), threading.Event()
        systems: list[library.Application] = []

        def main() -> None:
            with library.run(tree, name="shop", control_directory=directory, **options) as system:
                systems.append(system)
                begun.set()
                system.wait()
            ended.set()

        thread = threading.Thread(target=main)
        thread.start()
        begun.wait(10.0)
        try:
            yield systems
        finally:
            systems[0].request_stop()
            thread.join(10.0)
            assert ended.is_set()

    return run


def test_a_program_drains_and_that_is_told(otpy: Callable[..., Result], program: Any) -> None:
    with program(shop()):
        result = otpy("drain", "shop")
    assert (result.exit_code, result.stderr) == (0, "")
    assert result.stdout.startswith("shop has drained and stopped in ")


def test_a_part_drains_and_the_rest_goes_on(otpy: Callable[..., Result], program: Any) -> None:
    with program(shop()) as (system,):
        result = otpy("drain", "shop/a", "--json")
        assert system.record("shop/a").status == "stopped"
        assert system.record("shop/b").status == "idle"
    assert result.exit_code == 0
    assert json.loads(result.stdout)["phase"] == "exit"


def test_what_is_in_flight_is_seen_until_it_is_done(
    otpy: Callable[..., Result], program: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    def line(path: str, seen: Any) -> str:
        if seen["in_flight"]:
            gate.open()  # somebody has seen it
        return drain_line(path, seen)

    monkeypatch.setattr(command, "drain_line", line)
    with Gate() as gate, program(shop(gate)):
        result = otpy("drain", "shop", "--watch")
    assert result.exit_code == 0
    lines = result.stdout.splitlines()
    busy = next(line for line in lines if "in flight 2" in line)
    assert busy.startswith("shop: phase ")
    assert busy.endswith("waits for shop/a (2 in flight: a, b)")
    assert lines[-1].startswith("shop has drained and stopped in ")


def test_who_overruns_it_is_told_with_its_work(otpy: Callable[..., Result], program: Any) -> None:
    with Gate() as gate, program(shop(gate)) as (system,):
        held = system.find("shop/b")
        assert held is not None
        held.cast(Doer.run, lambda _: gate.wait())
        gate.reached()
        result = otpy("drain", "shop", "--within", "1")
    assert result.exit_code == 75
    text = " ".join(result.stdout.split())  # long lines are folded
    assert "late shop/a: late in drain: 2 in flight: a, b; " in text
    assert "left shop/b: busy for " in text
    assert "in cast run" in text
    assert "and something was left undone" in text


def test_it_may_be_asked_for_and_not_waited_for(otpy: Callable[..., Result], program: Any) -> None:
    with program(shop()):
        result = otpy("drain", "shop", "--no-wait")
    assert (result.exit_code, result.stdout) == (0, "shop was asked to drain and stop\n")


def test_who_is_not_there_is_told(otpy: Callable[..., Result], program: Any) -> None:
    with program(shop()):
        assert otpy("drain", "shop/nobody").exit_code == 70
        assert otpy("drain", "shop", "--within", "0").exit_code == 2
    assert otpy("drain", "shop").exit_code == 2


def test_on_a_terminal_it_is_shown_in_one_place(monkeypatch: pytest.MonkeyPatch) -> None:
    screen = Console(file=io.StringIO(), force_terminal=True, width=80)
    monkeypatch.setattr(command, "console", lambda: screen)
    with command._Shown("shop", as_json=False) as shown:
        for left in (9.0, 8.0):
            shown.show({"phase": "drain", "reason": "otpy drain", "left": left})
    assert isinstance(screen.file, io.StringIO)
    written = screen.file.getvalue()
    assert written.count("shop drains: otpy drain") >= 2
    assert "\x1b[2K" in written  # what stood there before is wiped out
    assert "8s left" in written


def drawn(view: Any) -> list[str]:
    console = Console(width=200)
    with console.capture() as text:
        console.print(view)
    return [line.rstrip() for line in text.get().splitlines()]


def test_what_is_left_to_be_done_stands_line_by_line() -> None:
    seen = {
        "phase": "drain",
        "reason": "otpy drain by user 0",
        "left": 17.0,
        "in_flight": 3,
        "queue": 1,
        "resources": 4,
        "waits_for": [{"path": f"shop/{n}", "why": "its flush", "count": n, "names": []} for n in range(7)],
        "late": ["x: late\n"],
    }
    assert drawn(drain_view("shop", seen)) == [
        "shop drains: otpy drain by user 0",
        "  phase     drain, 17s left",
        "  in flight 3",
        "  queue     1 message",
        "  resources 4 open",
        (
            "  waits for shop/0 (its flush), shop/1 (1 in flight), shop/2 (2 in flight), shop/3 (3 in flight), "
            "shop/4 (4 in flight) and 2 more"
        ),
        r"  x: late\n",
    ]
    assert drain_line("shop", seen).startswith("shop: phase drain, 17s left, in flight 3, queue 1 message, ")


@pytest.mark.parametrize(
    ("seen", "lines", "code"),
    [
        ({}, ["shop has ended, and has not told how"], 75),
        ({"phase": "flush", "since": 3.0}, ["shop has been seen last in flush, after 3 s"], 75),
        ({"phase": "exit", "since": 3.0}, ["shop has drained and stopped in 3 s"], 0),
        (
            {"phase": "exit", "since": 3.0, "late": ["a\x1b"], "undone": ["b"]},
            [r"late  a\x1b", "left  b", "shop has stopped after 3 s, and something was left undone"],
            75,
        ),
        (
            {"phase": "exit", "since": 3.0, "late": ["a"]},
            ["late  a", "shop has drained and stopped in 3 s, with some late, who have given back what they had"],
            0,
        ),
        ({"phase": 4, "late": "x", "undone": 3}, ["shop has been seen last in 4, after 0 s"], 75),
    ],
)
def test_how_it_has_ended_is_told(seen: dict[str, Any], lines: list[str], code: int) -> None:
    assert drawn(ended_view("shop", seen)) == lines
    assert is_clean(seen) == (code == 0)
