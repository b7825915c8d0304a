"""`otpy run module:Tree`: finds the tree, hands it over, and ends with its exit code."""

from __future__ import annotations

import sys
from types import ModuleType
from typing import TYPE_CHECKING

import pytest

from otpy.cli.lazy import CommandError, CommandUsageError
from otpy.cli.run import load

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from click.testing import Result

    Otpy = Callable[..., Result]

pytestmark = pytest.mark.usefixtures("here")

SOURCE = """
import otpy

class Shop(otpy.Supervisor):
    class Inner(otpy.Supervisor):
        pass

class Plain:
    pass

NUMBER = 3
"""


@pytest.fixture
def app(monkeypatch: pytest.MonkeyPatch) -> list[tuple[object, ...]]:
    """The composition root, replaced by one that writes down what it is given and ends with 75."""
    calls: list[tuple[object, ...]] = []

    def main(tree: object, *arguments: object, **options: object) -> int:
        calls.append((tree, arguments, options))
        return 75

    module = ModuleType("otpy.app.main")
    module.main = main  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "otpy.app.main", module)
    return calls


DEFAULTS = {"name": None, "control": "operate", "shutdown": 25.0, "switch_interval": 0.001, "gc_freeze": False} | {
    "state": None
}


def test_the_tree_is_run_and_its_exit_code_is_the_commands(otpy: Otpy, app: list[object], directory: Path) -> None:
    result = otpy("run", "otpy_test_shop:Shop", "one", "two")

    shop = sys.modules["otpy_test_shop"].Shop
    assert result.exit_code == 75
    assert app == [(shop, ("one", "two"), DEFAULTS | {"control_directory": directory})]


@pytest.mark.parametrize(
    ("name", "problem"), [("NUMBER", "is no tree, but int"), ("Plain", "Plain is no actor; subclass otpy.GenServer")]
)
def test_what_is_no_tree_is_a_mistake_of_usage(otpy: Otpy, name: str, problem: str) -> None:
    result = otpy("run", f"otpy_test_shop:{name}")

    assert result.exit_code == 2
    assert problem in result.stderr


def test_options_are_handed_on(otpy: Otpy, app: list[tuple[object, ...]]) -> None:
    options = ("--name", "mail", "--control", "read", "--shutdown", "inf", "--switch-interval", "0.01", "--gc-freeze")

    otpy("run", *options, "--state", "shop.state", "otpy_test_shop:Shop", "--", "--own")

    _, arguments, given = app[0]
    assert arguments == ("--own",)
    assert isinstance(given, dict)
    assert {name: given[name] for name in DEFAULTS} == {
        "name": "mail",
        "control": "read",
        "shutdown": float("inf"),
        "switch_interval": 0.01,
        "gc_freeze": True,
        "state": "shop.state",
    }


@pytest.mark.parametrize(
    ("words", "line"),
    [
        (("nocolon",), "'nocolon' is no module:Tree, such as shop:Shop"),
        ((":Shop",), "':Shop' is no module:Tree, such as shop:Shop"),
        (("./shop:Shop",), "'./shop' is no module: name it as an import does, such as shop or shop.tree"),
        (("src/shop:Shop",), "'src/shop' is no module: name it as an import does, such as shop or shop.tree"),
        (("otpy_test_shop:Shpo",), "otpy_test_shop has no 'Shpo': did you mean 'Shop'?"),
        (("otpy_test_shop:Zzz",), "otpy_test_shop has no 'Zzz': known are Shop"),
    ],
)
def test_a_target_that_cannot_be_meant_is_a_usage_error(otpy: Otpy, app: object, words: list[str], line: str) -> None:
    result = otpy("run", *words)

    assert (result.exit_code, result.output) == (2, f"Error: {line}\n")


@pytest.mark.parametrize("option", [("--control", "all"), ("--shutdown", "-1"), ("--own",)])
def test_a_wrong_option_is_a_usage_error(otpy: Otpy, app: list[object], option: list[str]) -> None:
    assert otpy("run", "otpy_test_shop:Shop", *option).exit_code == 2
    assert app == []


def test_the_log_is_written_as_asked_for(otpy: Otpy, app: list[object], monkeypatch: pytest.MonkeyPatch) -> None:
    """A service of the command line had no way to lines with keys, but to configure them as its module is imported."""
    asked: list[str] = []
    monkeypatch.setattr("otpy.logs.setup.configure", asked.append)

    otpy("run", "--log", "json", "otpy_test_shop:Shop")
    otpy("run", "otpy_test_shop:Shop")

    assert asked == ["json"]
    assert otpy("run", "--log", "xml", "otpy_test_shop:Shop").exit_code == 2


def test_names_may_lie_within_names() -> None:
    assert load("otpy_test_shop:Shop.Inner") is sys.modules["otpy_test_shop"].Shop.Inner


@pytest.mark.parametrize("module", ["otpy_test_gone", "otpy_test_gone.inner", "otpy_test_shop.inner"])
def test_a_module_that_is_not_there_is_a_usage_error(module: str, here: Path) -> None:
    with pytest.raises(CommandUsageError, match=f"no module '{module}' here"):
        load(f"{module}:Shop")


def test_the_name_of_a_file_is_answered_with_that_of_its_module(here: Path) -> None:
    with pytest.raises(CommandUsageError, match=r"no module 'shop.py' here .*; a module is named without .py: shop$"):
        load("shop.py:Shop")


@pytest.mark.parametrize(
    ("source", "line"),
    [
        ("import otpy_test_missing", "ModuleNotFoundError: No module named 'otpy_test_missing'"),
        ("\nraise ValueError('no \x1b[1m config')", r"ValueError: no \x1b[1m config"),
        ("import sys; sys.exit(0)", "SystemExit: 0"),
    ],
)
def test_a_module_that_fails_is_told_with_the_place(here: Path, source: str, line: str) -> None:
    (here / "otpy_test_broken.py").write_text(source)

    with pytest.raises(CommandError) as caught:
        load("otpy_test_broken:Shop")

    number = source.count("\n") + 1
    assert str(caught.value) == f"importing otpy_test_broken failed: {line} (otpy_test_broken.py, line {number})"
    assert caught.value.exit_code == 70


def test_a_module_with_a_syntax_error_is_told_with_the_place(here: Path) -> None:
    (here / "otpy_test_broken.py").write_text("x = (\n")

    with pytest.raises(CommandError, match=r"importing otpy_test_broken failed: SyntaxError: '\(' was never closed"):
        load("otpy_test_broken:Shop")
