"""What is said of an agent whose hub is away: it works on by itself, which is a warning; it is ready all the same."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

import otpy
from otpy.control.doctor import actors
from otpy.drain.roll_desk import Rolls
from otpy.drain.roll_plan import Terms
from otpy.health import readiness
from otpy.resilience import Autonomy, Outbox, OutboxFullError, Topic
from otpy.testing import VirtualSystem
from support.configurations import Rates, running
from support.outboxes import Hub, kept, outbox

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

HOUR = 3_600.0


@pytest.fixture
def system() -> Iterator[VirtualSystem]:
    started = VirtualSystem("agent", seed=1)
    yield started
    started.stop()


@pytest.fixture
def hub(tmp_path: Path) -> Hub:
    return Hub(tmp_path / "hub.db", mood="down")


def found(system: VirtualSystem) -> list[str]:
    return [f"{one.level} {one}" for one in actors(system)]


def readings(system: VirtualSystem, path: Path, hub: Hub, topic: Topic) -> Outbox:
    """An outbox in which four rows wait, whose hub has been away for an hour."""
    one = kept(system, outbox(path / "o.db", hub.post, topics=[topic]))
    for number in range(4):
        one.put("t", number)
    system.clock.advance(HOUR)
    return one


def test_an_outbox_whose_receiver_is_away_is_a_warning(system: VirtualSystem, tmp_path: Path, hub: Hub) -> None:
    one = readings(system, tmp_path, hub, Topic("t"))

    (away,) = found(system)
    assert away == (
        "warning agent/readings/outbox: it works on by itself: Outbox 4 rows, 4B, 60m old, "
        "degraded for 60m: ConnectionError: the hub is down"
    )
    assert one.look().full == ()


@pytest.mark.parametrize(("rows", "state", "done"), [(100, "done", 3), (4, "stopped", 2)], ids=["room", "full"])
def test_a_roll_and_readiness_judge_it_alike(
    system: VirtualSystem, tmp_path: Path, hub: Hub, rows: int, state: str, done: int
) -> None:
    """Who is ready without the hub is no bad replacement without it."""
    one = outbox(tmp_path / "o.db", hub.post, topics=[Topic("t", rows=rows, overflow="drop_new")])
    system.start_root(one.child())
    rolls = Rolls.of(system)
    rolls.begin(Terms(path="agent", workers=True, healthy_after=200.0), "a test")
    for _ in range(9):
        system.clock.advance(100.0)
        one.put("t", 1)
    look = rolls.look("agent")

    assert look is not None
    assert (look.state, look.done) == (state, done)
    assert one.look().degraded is not None
    assert readiness(system).is_well


def test_one_that_is_full_is_an_error_until_there_is_room(system: VirtualSystem, tmp_path: Path, hub: Hub) -> None:
    one = readings(system, tmp_path, hub, Topic("t", rows=4))
    just = found(system)
    with pytest.raises(OutboxFullError):
        one.put("t", 5)
    (full,) = found(system)
    look = one.look()
    hub.mood = "well"
    system.clock.advance(200.0)

    assert [line.partition(" ")[0] for line in just] == ["warning"], "nobody was turned away yet"
    assert full == (
        "error agent/readings/outbox: it is in trouble: full in t; degraded for 60m: ConnectionError: the hub is down"
    )
    assert look.full == ("t",)
    assert (found(system), one.look().full) == ([], ())


def test_one_that_drops_its_oldest_is_full_as_well(system: VirtualSystem, tmp_path: Path, hub: Hub) -> None:
    readings(system, tmp_path, hub, Topic("t", rows=3, overflow="drop_oldest"))

    (full,) = found(system)
    assert full.startswith("error agent/readings/outbox: it is in trouble: full in t; degraded for 60m: ")


def test_rows_that_grow_too_old_make_room(system: VirtualSystem, tmp_path: Path, hub: Hub) -> None:
    one = kept(system, outbox(tmp_path / "o.db", hub.post, topics=[Topic("t", rows=1, age=60.0, overflow="drop_new")]))
    one.put("t", 1)
    one.put("t", 2)
    before = one.look().full
    system.clock.advance(100.0)

    assert (before, one.look().full) == (("t",), ())


def test_a_configuration_without_word_from_its_hub_is_a_warning_and_an_error_when_it_is_too_old(
    system: VirtualSystem, tmp_path: Path
) -> None:
    rates = Rates()
    rates.has(1)
    system.start(running(tmp_path / "limits", rates, max_age=2 * HOUR).child())
    well = found(system)
    rates.error = ConnectionError("no route")
    system.clock.advance(HOUR)
    (away,) = found(system)
    system.clock.advance(2 * HOUR)
    (old,) = found(system)

    assert well == []
    assert away.startswith(
        "warning agent/limits/configuration: it works on by itself: Configuration version 1 (good), "
    )
    assert away.endswith(" s: fetch failed: ConnectionError: no route")
    assert old.startswith("error agent/limits/configuration: it is in trouble: degraded ")
    assert old.endswith(" s: fetch failed: ConnectionError: no route; version 1 is older than 7200 s")


def test_an_agent_that_is_degraded_is_a_warning_once_it_has_tried(system: VirtualSystem) -> None:
    def connect() -> None:
        raise ConnectionError("no route")

    agent = Autonomy("hub", connect=connect, backoff=otpy.Backoff(first=1.0, most=60.0, jitter=0.0))
    system.start(agent.child())
    first = found(system)
    system.clock.advance(HOUR)

    assert first == []
    assert found(system) == [
        "warning agent/hub/autonomy: it works on by itself: Autonomy degraded, for 3600 s: ConnectionError: no route"
    ]
