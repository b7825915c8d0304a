"""A drain that begins at any moment loses no message that was accepted: played in many orders of turns."""

from __future__ import annotations

from typing import TYPE_CHECKING

import otpy
from otpy.drain.begin import begin
from otpy.testing import explore

if TYPE_CHECKING:
    from otpy.testing.system import VirtualSystem


class Counter(otpy.GenServer):
    """The end of the line."""

    def init(self) -> None:
        self.count = 0

    @otpy.cast
    def add(self) -> None:
        self.count += 1

    @otpy.call
    def total(self) -> int:
        return self.count


class Relay(otpy.GenServer):
    """Passes on what it is given, the first one after a while; from the drain on nothing of its own."""

    def init(self, target: otpy.Ref[Counter], source: list[int]) -> None:
        self.target, self.source = target, source
        self.send_interval(0.01, "fetch")
        self.is_open = True

    def handle_info(self, _: object) -> None:
        if self.is_open:
            self.source[0] += 1
            otpy.sleep(0.02)
            self.target.cast(Counter.add)

    def handle_drain(self, _: otpy.Drain) -> None:
        self.is_open = False


def test_all_that_was_taken_in_has_reached_the_end_of_the_line() -> None:
    def scenario(system: VirtualSystem) -> None:
        counter = system.start(Counter)
        fetched = [[0], [0]]
        for source in fetched:
            system.start(otpy.child(Relay, counter, source))
        system.clock.advance(system.random.random() * 0.1)

        course = begin(system, "by hand", 10.0)

        assert course.wait(30.0)
        assert course.undone == []
        taken = [source[0] for source in fetched]
        assert counter.call(Counter.total) == sum(taken)
        system.clock.advance(1.0)
        assert [source[0] for source in fetched] == taken

    explore(scenario, 60)
