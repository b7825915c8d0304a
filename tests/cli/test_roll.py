"""`otpy roll` beside a real program, which does it."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from rich.console import Console

import otpy as library
from otpy.cli import roll as command
from otpy.cli.drain_views import roll_view, steps_since
from otpy.control.client import connect_to
from otpy.events import RollEnded
from otpy.testing import Recorder
from support.doer import Doer
from support.systems import quiet

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from click.testing import Result

__all__ = ["quiet"]

TERMS = ("--healthy-after", "0")


class Shelf(library.Supervisor):
    def children(self) -> list[library.ChildSpec]:
        return [library.child(Doer).opts(id=name) for name in "ab"]


class Shop(library.Supervisor):
    def children(self) -> list[library.ChildSpec]:
        return [library.child(Shelf).opts(id="shelf")]


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is looked at all the time."""
    monkeypatch.setattr(command, "INTERVAL", 0.01)


def test_children_are_rolled_and_each_step_is_told(directory: Path, otpy: Callable[..., Result]) -> None:
    with library.run(Shop, name="shop", control_directory=directory) as system:
        before = [record.number for record in system.records("shop/shelf")]
        none = otpy("roll", "shop", "shelf", "--look")
        result = otpy("roll", "shop", "shelf", *TERMS)
        after = [record.number for record in system.records("shop/shelf")]
        look = otpy("roll", "shop/shelf", "--look", "--json")
    assert (none.exit_code, none.stderr) == (70, "Error: shop/shelf has not been rolled since the program began\n")
    assert (result.exit_code, result.stderr) == (0, "")
    lines = result.stdout.splitlines()
    assert lines[0].startswith("shop/shelf: 2 children are rolled, at most 1 at a time: otpy roll")
    assert [line.partition(" after")[0] for line in lines if " after " in line and "drained" not in line] == [
        "shop/shelf/a: started",
        "shop/shelf/a: healthy",
        "shop/shelf/b: started",
        "shop/shelf/b: healthy",
    ]
    assert lines[-1] == "done  shop/shelf: 2 of 2 children started again"
    assert before[0] == after[0]
    assert not {*before[1:]} & {*after[1:]}
    assert json.loads(look.stdout)["state"] == "done"


def test_a_roll_goes_on_when_its_terminal_is_lost(directory: Path) -> None:
    with (
        library.run(Shelf, name="shop", control_directory=directory) as system,
        Recorder(system, RollEnded) as seen,
    ):
        with connect_to("shop", directory) as client:
            client.ask("roll", path="shop", healthy_after=0.01)
        (ended,) = seen.expect(1)
    assert isinstance(ended, RollEnded)
    assert ended.children == 2


def test_a_roll_that_is_stopped_ends_it_with_75(
    directory: Path, otpy: Callable[..., Result], monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(self: Doer, *_: Any, **__: Any) -> object:
        return library.Fail(library.Exit("worn out"))

    with library.run(Shelf, name="shop", control_directory=directory):
        monkeypatch.setattr(Doer, "init", refuse)
        result = otpy("roll", "shop", *TERMS, "--tries", "1")
    assert result.exit_code == 75
    assert "stopped  shop: 0 of 2 children started again\n  shop/a did not start: " in result.stdout


def test_what_cannot_be_done_is_told(directory: Path, otpy: Callable[..., Result]) -> None:
    with library.run(Shelf, name="shop", control_directory=directory):
        assert otpy("roll", "shop", "a").exit_code == 70
        assert otpy("roll", "shop", "shop/nobody").exit_code == 70
        assert otpy("roll", "shop", "--stop").exit_code == 70
        assert otpy("roll", "shop", "--look", "--workers").exit_code == 2
        assert otpy("roll", "shop", "--max-unavailable", "0").exit_code == 2
    assert otpy("roll", "shop").exit_code == 2


@pytest.mark.parametrize(
    ("words", "whole"),
    [
        (("shop",), "shop"),
        (("shop/shelf",), "shop/shelf"),
        (("shop", "shelf"), "shop/shelf"),
        (("shop", "/shelf/"), "shop/shelf"),
        (("shop", "shop/shelf"), "shop/shelf"),
        (("shop", "shop"), "shop"),
    ],
)
def test_a_path_may_stand_apart_from_the_name(
    directory: Path, otpy: Callable[..., Result], words: tuple[str, ...], whole: str
) -> None:
    with library.run(Shop, name="shop", control_directory=directory):
        result = otpy("roll", *words, "--look")
    assert result.stderr == f"Error: {whole} has not been rolled since the program began\n"


def test_nothing_that_a_program_says_is_trusted() -> None:
    console = Console(width=200)
    with console.capture() as drawn:
        console.print(roll_view({"state": "x\x1b", "done": "y", "active": [3, {"since": -1}], "down": ["a"], "why": 4}))
    assert [line.rstrip() for line in drawn.get().splitlines()] == [
        r"x\x1b  None: 0 of 0 children started again",
        "  None is None, for ?",
        "  without service by themselves: a",
        "  4",
    ]
    assert steps_since({"steps": 3, "step_count": 4}, 0) == []
    assert steps_since({"steps": ["a", "b\n"], "step_count": 4}, 1) == ["… 1 more", "a", r"b\n"]
    assert steps_since({"steps": ["a", "b"], "step_count": 4}, 3) == ["b"]
    assert steps_since({"steps": ["a", "b"], "step_count": 4}, 4) == []
