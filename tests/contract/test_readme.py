"""The README's first screen: its tree runs, `otpy tree` prints what it shows, its two commands stay whole."""

from __future__ import annotations

import re
import sys
from types import ModuleType

import pytest
from click.testing import CliRunner

import otpy
from otpy.cli import main
from support.markdown import Block, blocks
from support.source import ROOT

README = ROOT / "README.md"
BLOCKS = blocks(README)
TREE_LINES = 25
FIRST_SCREEN = 60


def first(language: str) -> Block:
    """The first block of a language."""
    return next(block for block in BLOCKS if block.language == language)


def shape(text: str, name: str) -> list[str]:
    """A printed tree without what changes from run to run: figures, their units, widths of columns."""
    figure = re.compile(r"\b\d[\d.:]*\s?(ms|s|m|h|d)?\b")
    renamed = re.sub(rf"\b{re.escape(name)}\b", "shop", text)
    return [" ".join(figure.sub("#", line).split()) for line in renamed.splitlines() if line.strip()]


def test_its_tree_is_what_otpy_tree_prints(monkeypatch: pytest.MonkeyPatch) -> None:
    shop = ModuleType("shop")
    monkeypatch.setitem(sys.modules, "shop", shop)
    code = first("python").code
    exec(compile(code, str(README), "exec"), vars(shop))  # noqa: S102  # the page's own code is the input
    command, _, shown = next(b.code for b in BLOCKS if b.code.startswith("$ otpy tree")).partition("\n")

    with otpy.run(shop.Shop, name="shop") as system:
        system.wait_idle(timeout=10.0)
        printed = CliRunner().invoke(main, ["tree", system.name])

    assert command == "$ otpy tree shop"
    assert printed.exit_code == 0
    assert shape(printed.output, system.name) == shape(shown, "shop")


def test_its_tree_is_short() -> None:
    assert first("python").code.count("\n") <= TREE_LINES


def test_the_first_screen_has_tree_view_and_commands() -> None:
    shown = {block.language for block in BLOCKS if block.line <= FIRST_SCREEN}

    assert shown >= {"python", "console", "sh"}


@pytest.mark.parametrize("ending", ["otpy demo", "python -m pytest"])
def test_it_has_one_command_for_a_fresh_machine_each(ending: str) -> None:
    """`.ci/run` reads these lines and runs them on each Python."""
    lines = [line for block in BLOCKS if block.language == "sh" for line in block.code.splitlines()]

    commands = [line for line in lines if line.startswith("python3 -m venv ") and line.endswith(ending)]

    assert len(commands) == 1
