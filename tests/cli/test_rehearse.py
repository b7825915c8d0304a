"""`otpy rehearse drain` beside a real program, which goes on."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from rich.console import Console

import otpy as library
from otpy.cli.drain_views import rehearsal_view
from otpy.drain import rehearsal
from support.doer import Doer
from support.systems import quiet

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from click.testing import Result

__all__ = ["quiet"]


def nothing(_: Doer) -> None: ...


@pytest.fixture(autouse=True)
def short(monkeypatch: pytest.MonkeyPatch) -> None:
    """Mailboxes are watched for a moment."""
    monkeypatch.setattr(rehearsal, "SAMPLE", 0.01)


def test_a_program_that_would_be_late_ends_it_with_75(directory: Path, otpy: Callable[..., Result]) -> None:
    with library.run(Doer, name="shop", control_directory=directory) as system:
        well = otpy("rehearse", "drain", "shop", "--within", "9")
        system.suspend("shop")
        system.root.cast(Doer.run, nothing)
        late = otpy("rehearse", "drain", "shop")
        plain = otpy("rehearse", "drain", "shop", "--json")
        system.resume("shop")
    assert (well.exit_code, well.stdout) == (0, "nothing would be late, if shop were drained now within 9 s\n")
    assert late.exit_code == plain.exit_code == 75
    assert late.stdout.startswith(
        "late  shop: it is suspended, and a message waits for it that nobody will handle: otpy resume lets it go on\n"
    )
    (one,) = json.loads(plain.stdout)["late"]
    assert (one["level"], one["path"], one["by"]) == ("late", "shop", None)


def test_who_is_not_there_is_told(directory: Path, otpy: Callable[..., Result]) -> None:
    with library.run(Doer, name="shop", control_directory=directory):
        assert otpy("rehearse", "drain", "shop/nobody").exit_code == 70
    assert otpy("rehearse", "drain", "shop").exit_code == 2


def test_a_long_finding_goes_on_beside_its_mark() -> None:
    console = Console(width=40)
    with console.capture() as drawn:
        console.print(rehearsal_view("s", {"late": [{"level": "late", "path": "s/a", "text": "so long " * 8}]}))
    assert drawn.get().splitlines()[:2] == [
        "late  s/a: so long so long so long so",
        "      long so long so long so long so",
    ]


def test_a_word_that_is_no_command_is_answered_with_those_there_are(otpy: Callable[..., Result]) -> None:
    assert otpy("rehearse", "shop").output.endswith("Error: no command 'shop': known are drain\n")
    assert otpy("metrics", "rule").output.endswith("Error: no command 'rule': did you mean 'rules'?\n")


@pytest.mark.parametrize(
    ("seen", "lines"),
    [
        ({}, ["nothing would be late, if shop were drained now within 0 s"]),
        ({"late": 3, "hooks": "x", "within": "y"}, ["nothing would be late, if shop were drained now within 0 s"]),
        (
            {"late": [{"level": "doubt", "path": "a\x1b", "text": "b"}, 4], "left_out": 7, "within": 5},
            [
                r"doubt a\x1b: b",
                "nothing would be late as things stand, and 1 thing may be, if shop were drained now within 5 s",
                "7 more are not shown",
            ],
        ),
        (
            {"hooks": [{"path": f"s/{n}", "hooks": "persist"} for n in range(7)]},
            [
                "nothing would be late, if shop were drained now within 0 s",
                "with persist: s/0, s/1, s/2, s/3, s/4 and 2 more",
            ],
        ),
    ],
)
def test_nothing_that_a_program_says_is_trusted(seen: dict[str, object], lines: list[str]) -> None:
    console = Console(width=200)
    with console.capture() as drawn:
        console.print(rehearsal_view("shop", seen))
    assert [line.rstrip() for line in drawn.get().splitlines()] == lines
