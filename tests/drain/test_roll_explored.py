"""A roll in many orders: no order of turns takes two children away where one may be."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

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
    draining = {ref.path for ref in system.draining_parts}
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
