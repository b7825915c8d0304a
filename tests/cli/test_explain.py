"""`otpy explain module:Tree --crash PATH`: what it prints, and how it ends."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable

    from click.testing import Result

    Otpy = Callable[..., Result]

pytestmark = pytest.mark.usefixtures("here")

SOURCE = """
import otpy

class Cache(otpy.GenServer):
    def init(self, size: int) -> None:
        raise AssertionError("started")

def poll(url): ...

class Shop(otpy.Supervisor):
    strategy = "rest_for_one"
    def children(self):
        return [
            otpy.child(Cache, 1).opts(id="cache", name="cache"),
            otpy.child(poll, "u").opts(id="feed"),
            otpy.dynamic(Cache).opts(id="sessions"),
            otpy.child(poll, "u").opts(id="once", restart="temporary"),
        ]

class Wrong(otpy.Supervisor):
    def children(self):
        return [otpy.child(Cache), otpy.child(poll)]

class Port(otpy.Supervisor):
    def init(self, port):
        self.port = port
    def children(self):
        return [otpy.child(poll, self.port).opts(id="on")]
"""


FEED = """\
shop/feed ends (crash):
  - shop/feed ends
  - shop/once is stopped by its supervisor
    shop/once is forgotten
  - shop/sessions is stopped by its supervisor
  + shop/feed is started
  + shop/sessions is started
  not touched: shop, shop/cache
The 4th time within 5 s shop gives up, and the program ends with exit code 70
"""

SESSION = """\
shop/sessions/1 ends (kill), the 1st time:
  - shop/sessions/1 ends
  + shop/sessions/1 is started
  not touched: shop, shop/cache, shop/feed, shop/sessions, shop/once
shop/sessions/1 ends (kill), the 2nd time:
  - shop/sessions/1 ends
  + shop/sessions/1 is started
  not touched: shop, shop/cache, shop/feed, shop/sessions, shop/once
The 4th time within 5 s shop/sessions gives up, and is started again by its own supervisor
The 16th time in a row shop gives up, and the program ends with exit code 70
"""

ONCE = """\
shop/once ends (normal):
  - shop/once ends
    shop/once is forgotten
  not touched: shop, shop/cache, shop/feed, shop/sessions
However often it does so, no limit is passed.
"""

ROOT = """\
shop ends (shutdown):
  - shop/once is stopped by its supervisor
  - shop/sessions is stopped by its supervisor
  - shop/feed is stopped by its supervisor
  - shop/cache is stopped by its supervisor
  - shop ends
    the program ends with exit code 0
  not touched: nobody
"""


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--crash", "shop/feed"), FEED),
        (("--crash", "shop/sessions/1", "--reason", "kill", "--times", "2"), SESSION),
        (("--crash", "shop/once", "--reason", "normal", "--times", "9"), ONCE),
        (("--crash", "shop", "--reason", "shutdown"), ROOT),
    ],
)
def test_consequences_are_told_in_order(otpy: Otpy, words: tuple[str, ...], said: str) -> None:
    result = otpy("explain", "otpy_test_shop:Shop", *words)

    assert result.output == said
    assert result.exit_code == 0


def test_json_tells_the_same(otpy: Otpy) -> None:
    result = otpy("explain", "otpy_test_shop:Shop", "--crash", "s/feed", "--name", "s", "--times", "4", "--json")

    told = json.loads(result.stdout)
    assert (told["path"], told["reason"], len(told["rounds"])) == ("s/feed", "crash", 4)
    assert told["rounds"][3]["steps"][-1] == {"kind": "exit", "path": "s", "code": 70}
    assert told["thresholds"] == [
        {"count": 4, "path": "s", "max_restarts": 3, "max_seconds": 5.0, "then": "exit", "code": 70}
    ]


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (("Shop", "--crash", "shop/fed"), 2, "shop has no child 'fed': it has cache, feed, sessions, once"),
        (("Port", "--crash", "port/on", "80"), 2, "what is below port cannot be known without starting it: "),
        (("Wrong", "--crash", "wrong/Cache"), 70, "wrong/Cache: Cache.init does not take the arguments"),
        (("Wrong", "--crash", "wrong/Cache"), 70, "(and 1 more: otpy check)"),
        (("Shop",), 2, "Missing option '--crash'"),
        (("Shop", "--crash", "shop/feed", "--reason", "boredom"), 2, "'boredom' is not one of 'normal'"),
    ],
)
def test_what_cannot_be_told_says_why(otpy: Otpy, words: tuple[str, ...], code: int, said: str) -> None:
    result = otpy("explain", f"otpy_test_shop:{words[0]}", *words[1:])

    assert said in result.output
    assert result.exit_code == code


def test_init_of_supervisors_is_run_on_demand(otpy: Otpy) -> None:
    result = otpy("explain", "otpy_test_shop:Port", "80", "--crash", "port/on", "--init")

    assert "+ port/on is started" in result.output
