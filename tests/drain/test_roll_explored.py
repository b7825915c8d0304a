"""A roll in many orders: no order of turns takes two children away where one may be."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

import otpy
from otpy.drain.roll import is_down, units_of
from otpy.drain.roll_desk import Rolls
from otpy.drain.roll_plan import Terms
from otpy.runtime.records import children_of
from otpy.testing import explore

if TYPE_CHECKING:
    from otpy.testing import VirtualSystem


class Agent(otpy.GenServer):
    """Takes a while to end its work, and to begin."""

    def init(self) -> None:
        otpy.sleep(0.3)

    def handle_drain(self, drain: otpy.Drain) -> otpy.NoReply:
        self.send_after(0.7, drain)
        return otpy.NoReply()

    def handle_info(self, message: Any) -> None:
        message.done()


class Fleet(otpy.Supervisor):
    def children(self) -> list[otpy.ChildSpec]:
        return [otpy.child(Agent).opts(id=name) for name in "abcd"]


def away(system: otpy.System) -> set[str]:
    """Who gives no service: it drains, or has no process that is ready."""
    root = system.root
    if root is None or root.is_starting() or system.stopped or root.extras().stopping:
        return set()
    draining = {ref.path for ref in system.drains.parts}
    return draining | {child.path for child in children_of(root) if child.entry is not None and is_down(child)}


def test_no_more_are_away_than_may_be_in_whatever_order() -> None:
    most: set[int] = set()

    def at_most_two(system: otpy.System) -> bool:
        most.add(len(away(system)))
        return max(most) <= 2

    def scenario(system: VirtualSystem) -> None:
        system.start_root(otpy.child(Fleet))
        rolls = Rolls.of(system)
        terms = Terms(path="seeded", max_unavailable=2, healthy_after=1.0)
        assert len(units_of(system, terms)) == 4
        rolls.begin(terms, "a test")
        otpy.sleep(30.0)
        look = rolls.look("seeded")
        assert look is not None
        assert (look.state, look.done) == ("done", 4)

    explore(scenario, seeds=25, invariants=[at_most_two])
    assert most == {0, 1, 2}


class Frail(otpy.GenServer):
    """Its second incarnation ends as soon as it has begun, or a moment later."""

    def init(self, name: str, starts: dict[str, int]) -> object:
        starts[name] = starts.get(name, 0) + 1
        if name == "b" and starts[name] > 1:
            self.send_after(0.0, "fall")
        return otpy.Continue("fall") if name == "c" and starts[name] > 1 else None

    def handle_info(self, message: object) -> None:
        raise ValueError(message)

    def handle_continue(self, term: object) -> None:
        raise ValueError(term)


class Strict(otpy.Supervisor):
    """It bears no restart."""

    max_restarts = 0

    def init(self, names: str, starts: dict[str, int]) -> None:
        self.names, self.starts = names, starts

    def children(self) -> list[otpy.ChildSpec]:
        return [otpy.child(Frail, name, self.starts).opts(id=name) for name in self.names]


@pytest.mark.parametrize("names", ["abd", "acd"])
def test_a_bad_replacement_takes_nobody_along_in_whatever_order(names: str) -> None:
    def scenario(system: VirtualSystem) -> None:
        starts: dict[str, int] = {}
        system.start_root(otpy.child(Strict, names, starts))
        rolls = Rolls.of(system)
        rolls.begin(Terms(path="seeded", healthy_after=1.0), "a test")
        otpy.sleep(10.0)
        look = rolls.look("seeded")
        assert look is not None
        assert (look.state, look.done) == ("stopped", 1)
        assert starts == {names[0]: 2, names[1]: 2, names[2]: 1}
        assert system.trials == {}
        assert system.root is not None
        assert system.root.reason is None

    explore(scenario, seeds=25)
