"""The floors of design.md, kept honest: who imports whom."""

from __future__ import annotations

from graphlib import CycleError, TopologicalSorter
from typing import TYPE_CHECKING

import pytest

from support.source import Import, Module, house

if TYPE_CHECKING:
    from collections.abc import Iterator

FLOORS = {
    "errors": 0,
    "events": 0,
    "core": 0,
    "disk": 1,
    "runtime": 1,
    "actors": 2,
    "state": 2,
    "places": 3,
    "control": 3,
    "drain": 4,
    "health": 4,
    "resilience": 4,
    "fleet": 5,
    "jobs": 5,
    "testing": 5,
    "app": 6,
    "logs": 6,
    "metrics": 6,
    "front": 7,
    "": 7,  # the front door, otpy/__init__.py
    "demo": 8,
    "cli": 9,
    "__main__": 10,
}
USERS = {"demo"}
"""Pieces written as users write: by the front door, which they so prove."""
GROUND = 0
"""`errors`, `events` and `core` are one piece in three places: a spec raises an error, an error carries a reason."""

FRONT = "otpy.front"
"""The other half of the front door, which is loaded at its first name."""
PYKKA_DOOR = "otpy.runtime.pykka"


def piece(module: str) -> str:
    """The part of the house a module belongs to: `core` of `otpy.core.spec`, empty for the root."""
    return module.partition(".")[2].partition(".")[0]


def target(item: Import, modules: dict[str, Module]) -> str | None:
    """The module of the house that an import reaches, or None when it leaves the house."""
    if item.module.partition(".")[0] != "otpy":
        return None
    longer = f"{item.module}.{item.name}"
    return longer if longer in modules else item.module


def broken_rules(module: Module, modules: dict[str, Module]) -> Iterator[str]:
    """Each import of `module` that breaks a rule, as a sentence."""
    for item in module.imports:
        where = f"{module.name}:{item.line}"
        reached = target(item, modules)
        if reached is not None:
            yield from (f"{where}: {problem}" for problem in problems(module, item, reached, modules))
        elif item.module.partition(".")[0] == "pykka" and module.name != PYKKA_DOOR:
            yield f"{where}: imports pykka; only {PYKKA_DOOR} does"


def problems(module: Module, item: Import, reached: str, modules: dict[str, Module]) -> Iterator[str]:
    """What is wrong with one import inside the house."""
    own, other = piece(module.name), piece(reached)
    if reached == "otpy" and own in USERS:
        return
    if reached == "otpy":
        yield "imports the root otpy; name the defining module"
        return
    if reached not in modules:
        yield f"{reached} does not exist"
        return
    if FLOORS[other] > FLOORS[own]:
        yield f"{own or 'the front door'} (floor {FLOORS[own]}) imports {reached} (floor {FLOORS[other]}) above it"
    elif FLOORS[other] == FLOORS[own] != GROUND and own != other and reached != FRONT:
        yield f"{own} imports its neighbour {reached}"
    if item.name and reached != FRONT and passes_on(item.name, modules[reached]):
        yield f"{item.name} is not defined in {reached}; name the defining module"


def passes_on(name: str, module: Module) -> bool:
    """Whether `module` has `name` only because it imported it from elsewhere in the house."""
    brought = {item.alias for item in module.imports if item.module.partition(".")[0] == "otpy"}
    return name in brought - module.defined


def cycle(modules: dict[str, Module]) -> list[str]:
    """A circle of imports, or nothing; imports for the type checker alone do not count."""
    graph = {
        name: {target(item, modules) for item in module.imports if not item.typing_only} - {None, name}
        for name, module in modules.items()
    }
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        return [str(name) for name in error.args[1]]
    return []


def test_every_piece_of_the_house_has_a_floor() -> None:
    homeless = {piece(name) for name in house()} - FLOORS.keys()

    assert homeless == set(), "give it a floor in design.md and in FLOORS"


def test_files_import_only_from_their_own_floor_or_below_and_neighbours_keep_apart() -> None:
    modules = house()

    broken = [rule for module in modules.values() for rule in broken_rules(module, modules)]

    assert broken == []


def test_no_file_imports_itself_through_others() -> None:
    assert cycle(house()) == []


SAMPLE = {
    "otpy": "",
    "otpy.errors": "class OtpyError(Exception): ...",
    "otpy.core.spec": "from otpy.errors import OtpyError",
    "otpy.runtime.pykka": "import pykka",
    "otpy.runtime.ref": "from otpy.core.spec import child",
    "otpy.places.thread": "import threading",
    "otpy.control.wire": "import msgpack",
    "otpy.demo.tree": "import otpy",
}


@pytest.mark.parametrize(
    ("name", "source", "rule"),
    [
        ("otpy.core.bad", "from otpy.runtime import ref", "core (floor 0) imports otpy.runtime.ref"),
        ("otpy.core.bad", "from ..runtime.ref import Ref", "core (floor 0) imports otpy.runtime.ref"),
        ("otpy.core.bad", "def f():\n    import otpy.runtime.ref", "core (floor 0) imports otpy.runtime.ref"),
        ("otpy.control.bad", "import otpy.places.thread", "control imports its neighbour otpy.places.thread"),
        ("otpy.actors.bad", "import otpy", "imports the root otpy"),
        ("otpy.actors.bad", "from otpy import GenServer", "imports the root otpy"),
        ("otpy.actors.bad", "from otpy.core.spec import OtpyError", "OtpyError is not defined in otpy.core.spec"),
        ("otpy.actors.bad", "from otpy.core.gone import x", "otpy.core.gone does not exist"),
        ("otpy.runtime.bad", "from pykka import ActorRef", "imports pykka"),
        ("otpy.runtime.bad", "if TYPE_CHECKING:\n    import otpy.actors", "otpy.actors does not exist"),
    ],
)
def test_a_broken_rule_is_named(name: str, source: str, rule: str) -> None:
    modules = {known: Module(known, text) for known, text in SAMPLE.items()}

    found = list(broken_rules(Module(name, source), modules))

    assert len(found) == 1
    assert rule in found[0]


@pytest.mark.parametrize(
    "name", ["otpy.errors", "otpy.core.spec", "otpy.runtime.pykka", "otpy.runtime.ref", "otpy.demo.tree"]
)
def test_a_good_import_passes(name: str) -> None:
    modules = {known: Module(known, text) for known, text in SAMPLE.items()}

    assert list(broken_rules(modules[name], modules)) == []


def test_a_circle_is_named_but_not_one_for_the_type_checker_alone() -> None:
    one = Module("otpy.core.one", "import otpy.core.two")
    back = Module("otpy.core.two", "import otpy.core.one")
    typed = Module("otpy.core.two", "if TYPE_CHECKING:\n    import otpy.core.one")

    assert set(cycle({"otpy.core.one": one, "otpy.core.two": back})) == {"otpy.core.one", "otpy.core.two"}
    assert cycle({"otpy.core.one": one, "otpy.core.two": typed}) == []
