"""A breaker under many orders of events: many small lives, each by its seed, with the law looked after in each.

What is asserted is seen from outside: when calls of an unmodified function begin, and what the events tell.
"""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

import pytest

import otpy
from otpy.events import BreakerChanged
from otpy.resilience import Breaker, BreakerOpenError
from otpy.testing import explore
from support.services import LONG

if TYPE_CHECKING:
    from otpy.testing import VirtualSystem

PROBES = 2
SEEDS = 150


class Story:
    """What happens, in order: `call` when one begins, and the states that the breaker enters."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.is_ill = True

    def tell(self, event: BreakerChanged) -> None:
        self.lines.append(event.after)

    def check(self) -> None:
        """From one opening to the next change but half open no more calls begin than there are probes."""
        begun, is_open = 0, False
        for line in self.lines:
            if line == "call":
                begun += 1
                assert not is_open or begun <= PROBES, " ".join(self.lines)
            elif line != "half_open":
                begun, is_open = 0, line == "open"


class Caller(otpy.GenServer):
    """Calls the service; it takes its time, and may be killed in the middle of it."""

    def init(self, breaker: Breaker, story: Story) -> None:
        self._breaker = breaker
        self._story = story

    @otpy.cast
    def ask(self) -> None:
        with suppress(BreakerOpenError, ConnectionError):
            self._through()

    def _through(self) -> None:
        chance = self.system.random.random

        @self._breaker
        def call() -> None:
            self._story.lines.append("call")
            if chance() < 0.5:
                otpy.sleep(chance() * 12.0)
            if self._story.is_ill:
                raise ConnectionError

        call()


class Callers(otpy.Supervisor):
    max_restarts = 1_000_000

    def init(self, breaker: Breaker, story: Story) -> None:
        self._given = (breaker, story)

    def children(self) -> list[otpy.ChildSpec]:
        breaker = self._given[0]
        callers = [otpy.child(Caller, *self._given).opts(id=f"caller-{number}") for number in range(4)]
        return [breaker.child(), *callers]


def play(system: VirtualSystem, *, kills: bool) -> None:
    """Some minutes in which the service is ill now and then, and callers die; then it is well, and found to be so."""
    story = Story()
    breaker = Breaker("service", failures=2, cooldown=5.0, longest=40.0, probes=PROBES, probe_timeout=10.0)
    system.events.attach(story.tell, BreakerChanged)
    system.start_root(otpy.child(Callers, breaker, story))
    for _ in range(12):
        for number in range(4):
            ref = system.find(f"{system.name}/caller-{number}")
            assert ref is not None
            ref.cast(Caller.ask)
            if kills and system.random.random() < 0.2:
                ref.kill()
                system.wait_idle()
        otpy.sleep(system.random.random() * 8.0)
        story.is_ill = system.random.random() < 0.7
    otpy.sleep(LONG)
    story.check()

    story.is_ill = False
    for _ in range(10):  # one that takes its time is overdue
        ref = system.find(f"{system.name}/caller-0")
        assert ref is not None
        ref.cast(Caller.ask)
        otpy.sleep(LONG)
    assert breaker.state == "closed", " ".join(story.lines)
    story.check()


@pytest.mark.parametrize("kills", [False, True])
def test_in_every_order_the_law_holds_and_it_is_never_stuck(*, kills: bool) -> None:
    explore(lambda system: play(system, kills=kills), seeds=SEEDS)


@pytest.mark.stress
@pytest.mark.parametrize("kills", [False, True])
def test_in_thousands_of_orders_too(*, kills: bool) -> None:
    explore(lambda system: play(system, kills=kills), first=SEEDS, seeds=2_000)
