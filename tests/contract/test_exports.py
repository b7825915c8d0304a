"""The front doors: what `__all__` promises is there, sorted, documented and used as users type it."""

from __future__ import annotations

import inspect
import re
import subprocess
import sys
from contextlib import suppress
from functools import cache
from importlib import import_module
from textwrap import dedent

import pytest

import otpy
from otpy import front
from support.source import ROOT, Module, house

HOUSE = house()
FRONT_DOORS = (
    "otpy",
    "otpy.errors",
    "otpy.events",
    "otpy.fleet",
    "otpy.health",
    "otpy.jobs",
    "otpy.logs",
    "otpy.metrics",
    "otpy.resilience",
    "otpy.testing",
    "otpy.testing.faults",
)
"""The public modules of style.md, 8; those not built yet join with their first file."""

PUBLIC = [name for name in FRONT_DOORS if name in HOUSE]
LISTED = [name for name, module in HOUSE.items() if module.exported is not None]


def order(name: str) -> tuple[int, str]:
    """The place of a name in `__all__`: constants, classes, functions (isort's order, which ruff keeps)."""
    if len(name) > 1 and name.isupper():
        return 0, name
    return (1 if name[0].isupper() else 2), name


def exported(module: Module) -> list[str]:
    """Its `__all__`, which must be there."""
    assert module.exported is not None, f"{module.name} has no __all__"
    return module.exported


def missing_in(module: Module) -> set[str]:
    """What its `__all__` names and it does not have."""
    rest = set(exported(module)) - module.defined
    return rest and rest - module.bound  # for which all of it is walked through


@cache
def words(folder: str, pattern: str) -> set[str]:
    """Every identifier in the files of a folder."""
    return {word for path in (ROOT / folder).rglob(pattern) for word in re.findall(r"\w+", path.read_text())}


def fresh(code: str) -> list[str]:
    """The lines that a fresh interpreter writes."""
    return subprocess.run(
        [sys.executable, "-c", dedent(code)], check=True, capture_output=True, text=True, timeout=60
    ).stdout.splitlines()


def signatures(thing: object) -> str:
    """As `help` writes them, of what can be called, and of a class's own methods."""
    called = [thing, *(vars(thing).values() if isinstance(thing, type) else ())]
    texts = []
    for one in filter(callable, called):
        with suppress(TypeError, ValueError):  # one of C
            texts.append(str(inspect.signature(one)))
    return " ".join(texts)


def test_all_is_sorted_and_names_what_exists() -> None:
    """In every module: one test for the whole house, which has hundreds."""
    names = {name: exported(HOUSE[name]) for name in LISTED}

    assert {name: words for name, words in names.items() if words != sorted(set(words), key=order)} == {}
    assert {name: absent for name in LISTED if (absent := missing_in(HOUSE[name]))} == {}


def test_what_others_take_from_a_module_is_in_its_all() -> None:
    """What is not in it may be changed without a look at any other file."""
    promised = {name: exported(HOUSE[name]) for name in LISTED}
    taken = {
        f"{item.module}.{item.name}": f"{module.name}:{item.line}"
        for module in HOUSE.values()
        for item in module.imports
        if item.name and not item.typing_only and item.name not in promised.get(item.module, [item.name])
    }

    assert {word: where for word, where in taken.items() if word not in HOUSE} == {}


@pytest.mark.parametrize("name", PUBLIC)
def test_all_of_a_public_module_leaves_nothing_public_out(name: str) -> None:
    assert HOUSE[name].contents - set(exported(HOUSE[name])) == set()


@pytest.mark.parametrize("name", PUBLIC)
def test_no_default_is_shown_by_its_address(name: str) -> None:
    """`help` says what is taken when nothing is given: `<object object at 0x…>` is no answer."""
    shown = {word: signatures(getattr(import_module(name), word)) for word in exported(HOUSE[name])}

    assert {word: text for word, text in shown.items() if " at 0x" in text} == {}


def test_the_front_door_has_no_logic() -> None:
    assert HOUSE["otpy"].defined == HOUSE["otpy.front"].defined == set()


def test_both_halves_of_the_front_door_have_the_same_names() -> None:
    brought = {item.alias for item in HOUSE["otpy"].imports if item.module == "otpy.front"}

    assert set(exported(HOUSE["otpy"])) == set(exported(HOUSE["otpy.front"])) == brought
    assert {name for name in exported(HOUSE["otpy"]) if getattr(otpy, name) is not getattr(front, name)} == set()


def test_the_front_door_opens_at_the_first_name() -> None:
    """What comes with it is there as well, as before; a wrong name is told as for any other module."""
    said = fresh("""
        import otpy, sys
        print("GenServer" in dir(otpy), hasattr(otpy, "__wrapped__"), "otpy.front" in sys.modules)
        print(otpy.errors.OtpyError is otpy.OtpyError, "otpy.front" in sys.modules)
        try:
            otpy.GenServr
        except AttributeError as error:
            print(error, error.name, error.obj is otpy)
    """)

    assert said == [
        "True False False",
        "True True",
        "module 'otpy' has no attribute 'GenServr' GenServr True",
    ]


def test_what_is_put_in_the_place_of_a_name_stays_there() -> None:
    """A part of the house that is asked for meanwhile brings the real one back to nobody."""
    said = fresh("""
        import otpy
        otpy.sleep = print
        from otpy import resilience
        print(otpy.sleep is print, otpy.Actor.__name__)
    """)

    assert said == ["True Actor"]


def test_a_look_at_a_program_loads_nothing_that_runs_one() -> None:
    """It were half of the time that a command takes."""
    said = fresh("""
        import sys
        from otpy.cli import info, jobs, operate, ps, tree, why
        print({name.split(".")[1] for name in sys.modules if name.startswith("otpy.")} - {"cli", "control", "core"})
        print({"asyncio", "pykka"} & sys.modules.keys())
    """)

    assert said == ["{'errors'}", "set()"]


MOST_OWN, MOST_OTHERS = 165, 155
"""Modules that a small program may have loaded when it ends: it has 162, and 150 of Python, pykka and msgpack."""


def test_a_program_without_coroutines_starts_and_ends_without_asyncio() -> None:
    """It were a fifth of its start. What else it loads is counted: each module takes about a millisecond."""
    said = fresh(f"""
        import runpy, sys
        runpy.run_path({str(ROOT / "examples/first_tree.py")!r}, run_name="__main__")
        own = [name for name in sys.modules if name.startswith("otpy")]
        print({{"asyncio", "difflib", "ssl", "subprocess"}} & sys.modules.keys())
        print(len(own), len(sys.modules) - len(own))
    """)

    assert said[-3:-1] == ["a new counter counted to 1", "set()"]
    own, others = map(int, said[-1].split())
    assert own <= MOST_OWN
    assert others <= MOST_OTHERS


def test_the_list_of_commands_loads_none_of_them() -> None:
    said = fresh("""
        import sys
        from otpy.cli import main
        main(["--help"], standalone_mode=False)
        print(sorted({name for name in sys.modules if name.startswith("otpy.cli.")}), "rich" in sys.modules)
    """)

    assert "  why " in said[-2]
    assert said[-1] == "['otpy.cli.lazy', 'otpy.cli.pipe'] False"


@pytest.mark.parametrize("name", PUBLIC)
def test_every_public_name_has_its_reference_entry(name: str) -> None:
    missing = set(exported(HOUSE[name])) - words("docs/reference", "*.md")

    assert missing == set()


def test_every_name_of_the_front_door_is_used_as_users_type_it() -> None:
    missing = set(exported(HOUSE["otpy"])) - words("tests/typing", "*.py")

    assert missing == set()
