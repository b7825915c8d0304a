"""`otpy check module:Tree`: what it prints, and how it ends; nothing is started."""

from __future__ import annotations

import json
import threading
from typing import TYPE_CHECKING

import pytest

from otpy.runtime.systems import all_systems

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from click.testing import Result

    from otpy.control.server import ControlServer

    Otpy = Callable[..., Result]

SOURCE = """
import otpy

class Cache(otpy.GenServer):
    def init(self, size: int) -> None:
        raise AssertionError("started")

def poll(url): ...

class Inner(otpy.Supervisor):
    strategy = "one_for_all"
    def children(self):
        return [otpy.child(poll, "u").opts(restart="temporary", shutdown=otpy.BRUTAL_KILL)]

class Shop(otpy.Supervisor):
    strategy = "rest_for_one"
    def children(self):
        return [
            otpy.child(Cache, 1).opts(id="cache", name="cache"),
            otpy.child(Inner).opts(id="in"),
            otpy.dynamic(Cache, 1, max_restarts=9).opts(id="sessions"),
        ]

class Slow(otpy.Supervisor):
    def children(self):
        return [otpy.child(Cache, 1).opts(id=f"c{n}", shutdown=20.0) for n in range(2)]

class Wrong(otpy.Supervisor):
    def children(self):
        return [otpy.child(Cache).opts(id="cache"), otpy.child(poll, "u").opts(shutdown="soon"), otpy.child(Inner)]

class Port(otpy.Supervisor):
    def init(self, port):
        self.port = port
    def children(self):
        return [otpy.child(poll, self.port).opts(id=f"on-{self.port}")]

class Gentle(otpy.Supervisor):
    def children(self):
        return [otpy.child(poll, "u").opts(backoff=otpy.Backoff(), limit=otpy.Limit(9, 600.0))]

SPEC = otpy.child(Shop)
"""

SHOP = """\
shop          Shop             permanent  rest_for_one 3 in 5s
├── cache     Cache            permanent                        stop 5s  name cache
├── in        Inner            permanent  one_for_all 3 in 5s
│   └── poll  poll             temporary                        killed   on thread
└── sessions  DynamicSupervisor  permanent  one_for_one 9 in 5s
    └── *     Cache            permanent                        stop 5s

shop: nothing to say against it; nothing was started
"""


@pytest.fixture(autouse=True)
def nothing_started(here: Path) -> Iterator[None]:
    """Nothing runs at the end that did not before."""
    before = {*threading.enumerate(), *all_systems()}
    yield
    assert {*threading.enumerate(), *all_systems()} - before == set()


def words(text: str) -> list[list[str]]:
    """Lines as their words: columns may be wider or narrower."""
    return [line.split() for line in text.splitlines()]


def test_good_tree_is_shown_and_ends_well(otpy: Otpy) -> None:
    result = otpy("check", "otpy_test_shop:Shop")

    assert words(result.stdout) == words(SHOP)
    assert result.exit_code == 0


def test_what_a_tree_prints_is_no_part_of_the_answer(otpy: Otpy, here: Path) -> None:
    (here / "otpy_test_loud.py").write_text("print('imported')\nfrom otpy_test_shop import Shop\n")

    result = otpy("check", "otpy_test_loud:Shop", "--json")

    assert json.loads(result.stdout)["name"] == "shop"
    assert result.stderr == "imported\n"


def test_every_mistake_is_told_with_its_path(otpy: Otpy) -> None:
    result = otpy("check", "otpy_test_shop:Wrong")

    told = [line for line in result.stdout.splitlines() if line.startswith(("error", "warning"))]
    assert told == [
        "error   wrong/cache: Cache.init does not take the arguments it is given: missing a required argument: 'size'",
        "error   wrong/poll: shutdown='soon': seconds >= 0, otpy.INFINITY or otpy.BRUTAL_KILL",
    ]
    assert result.stdout.splitlines()[-1] == "wrong: 2 errors; nothing was started"
    assert result.exit_code == 70


@pytest.mark.parametrize(("more", "code"), [((), 0), (("--strict",), 70), (("--strict", "--shutdown", "40"), 0)])
def test_warnings_fail_only_when_strict(otpy: Otpy, more: tuple[str, ...], code: int) -> None:
    result = otpy("check", "otpy_test_shop:Slow", *more)

    assert ("warning slow: to stop may take 40 s, and after 25 s" in result.stdout) is ("--shutdown" not in more)
    assert result.exit_code == code


def test_init_is_run_with_the_arguments_when_asked_for(otpy: Otpy) -> None:
    unknown = otpy("check", "otpy_test_shop:Port", "80")
    known = otpy("check", "otpy_test_shop:Port", "80", "--init")

    assert "warning port: its children cannot be known without starting it: Port has an init" in unknown.stdout
    assert "└── on-80" in known.stdout
    assert "1 error" in otpy("check", "otpy_test_shop:Port").stdout


def test_spec_is_checked_as_it_is(otpy: Otpy) -> None:
    assert words(otpy("check", "otpy_test_shop:SPEC").stdout) == words(SHOP)
    assert otpy("check", "otpy_test_shop:SPEC", "argument").exit_code == 70


def test_gentle_options_are_shown(otpy: Otpy) -> None:
    assert "back-off 1-60s  own limit 9 in 600s" in otpy("check", "otpy_test_shop:Gentle").stdout
    (poll,) = json.loads(otpy("check", "otpy_test_shop:Gentle", "--json").stdout)["tree"]["children"]
    assert poll["backoff"]["most"] == 60.0
    assert poll["limit"] == {"max_restarts": 9, "max_seconds": 600.0, "then": "give_up"}


def test_json_tells_the_same(otpy: Otpy, directory: Path) -> None:
    result = otpy("check", "otpy_test_shop:Wrong", "--name", "w", "--json")

    told = json.loads(result.stdout)
    assert result.exit_code == 70
    assert (told["name"], told["socket"]) == ("w", str(directory))
    assert [(found["level"], found["path"]) for found in told["findings"]] == [
        ("error", "w/cache"),
        ("error", "w/poll"),
    ]
    (cache, inner) = told["tree"]["children"]
    assert (cache["kind"], cache["type"], cache["shutdown"]) == ("Cache", "worker", 5.0)
    assert (inner["shutdown"], inner["supervisor"]["strategy"]) == (None, "one_for_all")


def test_name_that_is_taken_is_told(otpy: Otpy, serve: Callable[..., ControlServer]) -> None:
    serve()

    result = otpy("check", "otpy_test_shop:Shop", "--name", "shop", "--strict")

    assert result.stdout.splitlines()[0].startswith("shop-2 ")
    assert result.stdout.splitlines()[-1].endswith("; shop is running, so this one would be shop-2")
    assert result.exit_code == 0


def test_directory_that_is_not_safe_is_told(otpy: Otpy, tmp_path: Path) -> None:
    open_to_all = tmp_path / "open"
    open_to_all.mkdir(mode=0o755)
    open_to_all.chmod(0o755)

    result = otpy("check", "otpy_test_shop:Shop", "--directory", str(open_to_all))

    told = " ".join(result.stdout.split())  # lines end at the width of the screen, wherever that falls in a path
    assert "warning shop: it would run without a control socket: " in told
    assert "has mode 0755" in told
    assert result.exit_code == 0
    open_to_all.rmdir()


@pytest.mark.parametrize("words", [["check"], ["explain", "--crash", "a/b"]])
def test_name_that_cannot_be_is_an_error(otpy: Otpy, words: list[str]) -> None:
    """And no tree is shown below half of it."""
    result = otpy(*words, "otpy_test_shop:Shop", "--name", "a/b")

    assert result.output == "Error: the system name 'a/b' must be a word without '/', for paths begin with it\n"
    assert result.exit_code == 70
