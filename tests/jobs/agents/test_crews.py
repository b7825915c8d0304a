"""Crews: their number is kept, failures of the machinery are paced and told, and they are resized while they run."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from otpy.errors import SpecError
from otpy.events import CrewChanged
from otpy.jobs.agents.crew import Foreman
from otpy.jobs.errors import NoSuchCrewError
from otpy.jobs.kind import job
from otpy.jobs.model.look import CrewLook, Want
from otpy.testing import Gate, Recorder

from .works import AT_ONCE, Ends, crew, ended, seen, started

if TYPE_CHECKING:
    from pathlib import Path

    import otpy
    from otpy.runtime.ref import Ref
    from otpy.testing import VirtualClock


def foreman(system: otpy.System, name: str = "pool") -> Ref[Foreman]:
    """That of a crew."""
    found: Any = system.whereis(f"jobs/foreman/{name}")
    return found


def test_agents_that_jobs_have_ended_are_replaced_and_count_as_no_failure_of_the_crew(
    system: otpy.System, ends: Ends, tmp_path: Path
) -> None:
    def leave() -> None:
        raise SystemExit

    kind = job(retry=AT_ONCE)(leave)
    with Recorder(system, CrewChanged) as events:
        client = started(system, tmp_path, kind, crews=[crew("pool", size=2, spare=1)])
        for _ in range(5):
            assert ended(client, ends, kind.new()).reason == "crashes"
        system.wait_idle()
        told = events.of(CrewChanged)
    assert (told[-1].desired, told[-1].ready) == (3, 3)
    assert {one.failures for one in told} == {0}
    assert {one.ready for one in told} == {2, 3}


def test_a_crew_whose_agents_do_not_start_tries_again_later_each_time_and_others_work(
    timed: otpy.System, clock: VirtualClock, ends: Ends, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    failing = [True]
    init = errands_agent().init

    def refuse(self: Any, engine: str, name: str, *args: Any, **words: Any) -> Any:
        if name == "thread" and failing[0]:
            raise ImportError("no module named 'left'")
        return init(self, engine, name, *args, **words)

    monkeypatch.setattr(errands_agent(), "init", refuse)
    fine, bad = job(name="fine")(lambda: "ok"), job(name="bad")(lambda: "late")
    crews = [crew("pool", kinds=("fine",)), crew("thread", kinds=("bad",))]
    with Recorder(timed, CrewChanged) as events:
        client = started(timed, tmp_path, fine, bad, crews=crews)
        late = client.enqueue(bad.new())
        assert ended(client, ends, fine.new()).state == "done"
        clock.advance(20.0)
        told = [one for one in events.of(CrewChanged) if one.crew == "thread"]
        assert [one.failures for one in told] == list(range(1, len(told) + 1))
        assert 4 <= len(told) < 40
        assert "no module named 'left'" in str(told[-1])
        assert (told[-1].ready, told[-1].desired, str(told[-1]).count("starts failed")) == (0, 2, 1)
        failing[0] = False
        clock.advance(70.0)
        assert events.of(CrewChanged)[-1].ready == 2
    assert (seen(client, late.id).state, seen(client, late.id).attempts) == ("done", ())


def test_agents_that_end_at_rest_pace_their_crew(timed: otpy.System, clock: VirtualClock, tmp_path: Path) -> None:
    kind = job(name="fine")(lambda: "ok")
    started(timed, tmp_path, kind, crews=[crew("pool", size=1, spare=0)])
    timed.wait_idle()
    failures = []
    for _ in range(3):
        (agent,) = foreman(timed).actor.alive
        agent.kill()
        timed.wait_idle()
        clock.advance(40.0)
        failures.append(foreman(timed).actor.failures)
    assert (failures, len(foreman(timed).actor.alive)) == ([1, 2, 3], 1)


def test_a_crew_grows_and_shrinks_and_the_idle_ones_go_first(system: otpy.System, ends: Ends, tmp_path: Path) -> None:
    gate = Gate()
    kind = job(gate.wait)
    client = started(system, tmp_path, kind, crews=[crew("pool", size=1, spare=0)])
    system.wait_idle()
    assert foreman(system).call(Foreman.resize, 4) == (4, 4)
    client.enqueue_all([kind.new() for _ in range(4)])
    gate.reached(4)
    assert foreman(system).call(Foreman.resize, 1)[0] == 1
    system.wait_idle()
    assert len(foreman(system).actor.alive) == 4  # all have work
    gate.open()
    ends.wait(4)
    system.wait_idle()
    assert len(foreman(system).actor.alive) == 1
    with pytest.raises(SpecError, match="size=0"):
        foreman(system).call(Foreman.resize, 0)


def test_a_crew_is_seen_and_scaled_by_a_client(system: otpy.System, tmp_path: Path) -> None:
    client = started(system, tmp_path, job(name="fine")(lambda: "ok"), crews=[crew("pool", size=2, spare=1)])
    system.wait_idle()
    seen_before = CrewLook(name="pool", place="pool", size=2, desired=3, ready=3)
    assert client.crews() == [seen_before]
    seen_after = client.scale("pool", 4, spare=0)
    assert seen_after == replace(seen_before, size=4, desired=4, ready=4)
    assert client.scale("pool", 1).desired == 1
    system.wait_idle()
    assert client.crews() == [replace(seen_after, size=1, desired=1, ready=1)]
    with pytest.raises(NoSuchCrewError, match="no crew 'pol': did you mean 'pool'"):
        client.scale("pol", 2)
    with pytest.raises(SpecError, match="spare=-1"):
        client.scale("pool", 2, spare=-1)


def test_a_foreman_that_is_started_again_keeps_the_numbers_that_it_was_given(
    system: otpy.System, tmp_path: Path
) -> None:
    client = started(system, tmp_path, job(name="fine")(lambda: "ok"), crews=[crew("pool", size=2, spare=1)])
    system.wait_idle()
    client.scale("pool", 4)
    old = foreman(system)
    old.kill()
    old.monitor().wait()
    system.wait_idle()
    assert foreman(system) is not old
    assert client.crews() == [CrewLook(name="pool", place="pool", size=4, desired=5, ready=5)]


def test_what_no_crew_can_take_is_told(system: otpy.System, tmp_path: Path) -> None:
    fine, paint = job(name="fine")(lambda: "ok"), job(name="paint", needs={"gpu"})(lambda: "never")
    client = started(system, tmp_path, fine, paint)
    client.enqueue_all([paint.new(), paint.new(), fine.new()])
    system.wait_idle()
    assert client.unroutable() == [Want("default", "paint", "gpu", 2)]


def test_a_foreman_that_is_started_again_finds_its_agents(system: otpy.System, ends: Ends, tmp_path: Path) -> None:
    kind = job(name="fine")(lambda: "ok")
    client = started(system, tmp_path, kind, crews=[crew("pool", size=2, spare=1)])
    system.wait_idle()
    before = set(foreman(system).actor.alive)
    old = foreman(system)
    old.kill()
    old.monitor().wait()
    system.wait_idle()
    assert (set(foreman(system).actor.alive), foreman(system) is old) == (before, False)
    assert ended(client, ends, kind.new()).state == "done"


def errands_agent() -> Any:
    """The class of agents that do plain functions."""
    from otpy.jobs.agents.agent import Agent  # noqa: PLC0415

    return Agent
