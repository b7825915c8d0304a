"""`otpy health`: what it prints, and how it ends."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
from typing import TYPE_CHECKING

import pytest

import otpy
import otpy.cli
from otpy import run
from otpy.core.standstill import Standstill

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from click.testing import Result

    from otpy.control.server import ControlServer


class Doer(otpy.GenServer):
    @otpy.cast
    def do(self, deed: Callable[[], object]) -> None:
        deed()


class Shop(otpy.Supervisor):
    def children(self) -> list[otpy.ChildSpec]:
        return []


@pytest.fixture
def shop(directory: Path) -> Iterator[otpy.Application]:
    with otpy.run(Shop, control_directory=directory) as system:
        yield system


def test_a_program_that_is_well(shop: otpy.Application, otpy: Callable[..., Result]) -> None:
    assert [(seen.exit_code, seen.stdout) for seen in (otpy("health", "shop"), otpy("health", "shop", "--ready"))] == [
        (0, "shop is live and ready\n"),
        (0, "shop is ready\n"),
    ]
    assert otpy("health", "--live").stdout == "shop is live\n"


def test_a_program_that_is_not_ready_still_lives(shop: otpy.Application, otpy: Callable[..., Result]) -> None:
    shop.request_stop()
    seen, live = otpy("health", "shop"), otpy("health", "shop", "--live")

    assert (seen.exit_code, seen.stdout, seen.stderr) == (
        70,
        "",
        "shop is not ready: draining: request_stop() was called\n",
    )
    assert live.exit_code == 0


def test_a_program_in_which_nothing_goes_on_says_why(
    shop: otpy.Application, otpy: Callable[..., Result], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert shop.watchdog is not None
    monkeypatch.setattr(shop.watchdog.pulse, "take", lambda: None)
    shop.watchdog.pulse.found = {"turns": Standstill(1, 9, 60.0)}
    seen = otpy("health", "shop", "--live", "--stalled-after", "60")

    assert seen.exit_code == 70
    assert seen.stderr == (
        "shop is not live: turns: 9 wait for a turn, and none has begun for 60 s: "
        "otpy doctor shows what has the threads\n"
    )
    assert otpy("health", "shop").exit_code == 0


def test_a_program_answers_while_all_that_its_actors_run_on_is_stuck(
    directory: Path, otpy: Callable[..., Result]
) -> None:
    entered, opened = threading.Event(), threading.Event()

    def hang() -> None:
        entered.set()
        opened.wait(30.0)

    with run(Shop, control_directory=directory, max_threads=1) as system:
        stuck, other = system.start(Doer), system.start(Doer)
        stuck.cast(Doer.do, hang)
        assert entered.wait(20.0)
        other.cast(Doer.do, opened.set)
        seen = otpy("health")
        opened.set()

    assert (seen.exit_code, seen.stdout) == (0, "shop is live and ready\n")


def test_json_has_each_line(shop: otpy.Application, otpy: Callable[..., Result]) -> None:
    shop.request_stop()
    seen = otpy("health", "shop", "--json", "--ready")
    told = json.loads(seen.stdout)

    assert (seen.exit_code, seen.stderr) == (70, "")
    assert told.keys() == {"ready"}
    assert told["ready"]["problem"] == "draining: request_stop() was called"
    assert told["ready"]["lines"][0] == {"name": "started", "problem": None, "counts": True}


def test_a_program_that_does_not_run(directory: Path, otpy: Callable[..., Result]) -> None:
    seen = otpy("health", "shop")

    nobody = f"no program 'shop' runs, nor any other of yours in {directory}: otpy run starts one"
    assert (seen.exit_code, seen.stderr) == (2, f"Error: {nobody}\n")


def test_a_program_of_an_older_otpy_is_told_apart(
    serve: Callable[..., ControlServer], otpy: Callable[..., Result], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("otpy.control.verbs.VERBS._verbs", {})
    serve()
    seen = otpy("health", "shop")

    assert (seen.exit_code, seen.stderr) == (2, "Error: shop runs an otpy that cannot tell of its health\n")


def test_it_loads_nothing_that_draws() -> None:
    """A probe runs it every few seconds."""
    code = "import sys, otpy.cli.health; print({'rich', 'asyncio', 'pykka', 'otpy.front'} & sys.modules.keys())"
    said = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True, timeout=60)

    assert said.stdout == "set()\n"
