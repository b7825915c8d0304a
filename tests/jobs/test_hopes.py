"""Where there may be work: who was asked comes behind those who were not."""

from __future__ import annotations

from otpy.jobs.scheduler.hopes import Hopes
from otpy.jobs.setup import Crew


def test_a_queue_that_gives_nothing_comes_behind_those_that_were_not_asked() -> None:
    """Before, the first of thousands were asked again each second, and the last of them never."""
    hopes, crew = Hopes(), Crew(name="crew")
    hopes.add({"a", "b", "c"})
    hopes.ask()
    hopes.had_turn("a")
    hopes.found_none("a", "crew")
    hopes.renew()
    assert hopes.queues(crew) == ["b", "c", "a"]


def test_a_queue_that_gave_nothing_is_left_out_until_something_is_said_of_it() -> None:
    hopes, crew = Hopes(), Crew(name="crew")
    hopes.add({"a", "b"})
    assert hopes.queues(crew) == ["a", "b"]
    hopes.ask()
    hopes.add({"b"})
    for queue in ("a", "b"):
        hopes.found_none(queue, "crew")
    assert hopes.queues(crew) == ["b"]
    hopes.add({"a", "c"})
    assert hopes.queues(crew) == ["a", "b", "c"]


def test_a_crew_that_comes_has_all_before_it_and_of_its_own_queues_alone() -> None:
    hopes = Hopes()
    hopes.add({"a", "b"})
    for queue in hopes.queues(Crew(name="first")):
        hopes.found_none(queue, "first")
    hopes.ask()
    assert hopes.queues(Crew(name="second", queues=("b", "c"))) == ["b"]
    hopes.add({"c", "d"})
    assert hopes.queues(Crew(name="second", queues=("b", "c"))) == ["b", "c"]
