"""Where there may be work: who was asked comes behind those who were not."""

from __future__ import annotations

from otpy.jobs.scheduler.hopes import Hopes
from otpy.jobs.setup import Crew


def test_a_queue_that_gives_nothing_comes_behind_those_that_were_not_asked() -> None:
    """Before, the first of thousands were asked again each second, and the last of them never."""
    hopes, crew = Hopes(), Crew(name="crew")
    hopes.add({"a", "b", "c"})
    hopes.ask()
    hopes.found_less("a", "crew")
    hopes.renew()
    assert hopes.queues(crew) == ["b", "c", "a"]
