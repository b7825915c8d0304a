"""Which queue has its turn when, and how soon what is given back begins again."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from otpy import jobs
from otpy.jobs.scheduler.turns import Turns

from .rows import row

if TYPE_CHECKING:
    from pathlib import Path

    import otpy

DONE: list[str] = []


def note(name: str) -> None:
    DONE.append(name)


def doze(name: str) -> object:
    DONE.append(name)
    return jobs.Snooze(0.0) if jobs.current().token == 1 else None


NOTE: Any = jobs.job(note)
DOZE: Any = jobs.job(doze)


def started(system: otpy.System, folder: Path, size: int) -> jobs.Client:
    """An engine with so many agents, at rest."""
    DONE.clear()
    crews = [jobs.Crew(name="one", size=size, spare=0)]
    system.start(jobs.engine(folder / "jobs.db", [NOTE, DOZE], crews=crews))
    system.wait_idle()
    return jobs.of(system)


def test_a_queue_with_one_job_is_not_starved_by_one_with_many(system: otpy.System, tmp_path: Path) -> None:
    client = started(system, tmp_path, 1)
    client.enqueue(NOTE.new("first").opts(queue="a"))
    system.wait_idle()

    client.enqueue_all([*(NOTE.new("many").opts(queue="a") for _ in range(100)), NOTE.new("one").opts(queue="b")])
    system.wait_idle()

    assert len(DONE) == 102
    assert DONE.index("one") < 50


def test_what_is_snoozed_for_no_time_goes_on_at_once(timed: otpy.System, tmp_path: Path) -> None:
    client = started(timed, tmp_path, 2)
    began = timed.clock.now()

    client.enqueue(DOZE.new("again"))
    timed.wait_idle()

    assert DONE == ["again", "again"]
    assert timed.clock.now() - began < 0.01


def test_tenants_have_turns_as_long_as_they_weigh(system: otpy.System, tmp_path: Path) -> None:
    """Also over wishes: each of them is for the one agent."""
    DONE.clear()
    queue = jobs.Queue("default", weights={"gold": 3})
    crews = [jobs.Crew(name="one", size=1, spare=0)]
    system.start(jobs.engine(tmp_path / "jobs.db", [NOTE, DOZE], crews=crews, queues=[queue]))
    client = jobs.of(system)
    client.pause("default")
    client.enqueue_all([NOTE.new(who).opts(tenant=who) for who in ["tin"] * 4 + ["gold"] * 12])
    client.resume("default")
    system.wait_idle()

    assert DONE == ["gold", "gold", "gold", "tin"] * 4


def test_a_turn_ends_with_a_job_of_another_or_of_nobody() -> None:
    turns = Turns()
    for tenant in ("a", "a", "b", "b", "b"):
        turns.given(row(queue="q", tenant=tenant))
    assert (turns.tenants(["q", "p"]), turns.streak("q")) == ({"q": "b"}, 3)

    turns.given(row(queue="q", tenant=""))
    turns.given(row(queue="p", tenant="a"))
    assert (turns.tenants(["q", "p"]), turns.streak("q")) == ({"p": "a"}, 1)
