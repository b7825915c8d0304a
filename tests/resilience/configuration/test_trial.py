"""A new configuration is on trial: good when it holds, given up for the one before when it does not."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING, Any

import pytest

import otpy
from otpy.errors import StartError
from otpy.events import ConfigurationApplied, ConfigurationFailed, ConfigurationProved
from otpy.resilience import ConfigurationError, Document, NoConfigurationError
from otpy.testing import Gate, Recorder, VirtualSystem
from support.configurations import Rates, program, running

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from otpy.resilience import Configuration


@pytest.fixture
def hub() -> Rates:
    made = Rates()
    made.has(1)
    return made


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "limits"


@pytest.fixture
def systems() -> Iterator[list[VirtualSystem]]:
    made: list[VirtualSystem] = []
    yield made
    for system in made:
        system.stop()


class Agents:
    """Programs one after the other, on what the disk has when the one before dies without a word."""

    def __init__(self, folder: Path, systems: list[VirtualSystem]) -> None:
        self.folder, self.systems, self.deaths = folder, systems, 0

    def start(self, hub: Rates, **options: Any) -> Configuration[int]:
        one = running(self.folder, hub, **options)
        self.systems.append(program(one))
        return one

    @property
    def system(self) -> VirtualSystem:
        return self.systems[-1]

    def die(self) -> None:
        """As by SIGKILL: what is on the disk now is all that is left."""
        self.deaths += 1
        left = self.folder.with_name(f"limits-{self.deaths}")
        shutil.copytree(self.folder, left)
        self.folder = left
        self.system.stop()


@pytest.fixture
def agents(folder: Path, systems: list[VirtualSystem]) -> Agents:
    return Agents(folder, systems)


def good(agents: Agents, hub: Rates, version: int = 1, **options: Any) -> Configuration[int]:
    """An agent that has one that is good."""
    hub.has(version)
    one = agents.start(hub, **options)
    agents.system.clock.advance(301.0)
    assert one.look().state == "good"
    return one


def test_it_is_good_when_it_has_been_in_use_for_long_enough(agents: Agents, hub: Rates) -> None:
    one = good(agents, hub)
    hub.has(2)
    with Recorder(agents.system) as events:
        assert one.refresh() == 2
        agents.system.clock.advance(299.0)
        assert (one.look().state, one.look().fallback) == ("trial", 1)
        agents.system.clock.advance(1.5)
        assert (one.look().state, one.current()) == ("good", 20)
    assert [event.why for event in events.of(ConfigurationApplied)] == ["fetched"]
    assert [event.version for event in events.of(ConfigurationProved)] == [2]


def test_one_that_cannot_be_applied_is_given_up_at_once(agents: Agents, hub: Rates) -> None:
    used: list[int] = []

    def apply(limit: int) -> None:
        used.append(limit)
        if limit == 20:
            raise ValueError("too much")

    one = good(agents, hub, apply=apply)
    hub.has(2)
    with (
        Recorder(agents.system) as events,
        pytest.raises(ConfigurationError, match="apply failed: ValueError: too much"),
    ):
        one.refresh()
    agents.system.wait_idle()

    assert used == [10, 20, 10]
    assert (one.current(), one.look().state, one.look().failed) == (10, "good", (2,))
    assert [(event.version, event.instead) for event in events.of(ConfigurationFailed)] == [(2, 1)]
    with pytest.raises(ConfigurationError, match="never applied again"):
        one.refresh()
    hub.has(3)
    assert one.refresh() == 3


def test_one_that_is_rejected_while_apply_hangs_is_followed_by_the_one_before_when_that_comes_back(
    agents: Agents, hub: Rates
) -> None:
    used: list[int] = []
    gate = Gate()

    def apply(limit: int) -> None:
        used.append(limit)
        if limit == 20:
            gate.wait()

    one = good(agents, hub, apply=apply, timeout=1_000.0)
    hub.has(2)
    agents.system.clock.advance(70.0)
    gate.reached()
    one.reject("nothing moves", version=2)
    assert (one.version, one.current()) == (1, 10)
    agents.system.clock.advance(130.0)
    assert used == [10, 20]
    assert "apply failed" in str(one.look().why)
    gate.open()
    agents.system.clock.advance(130.0)
    assert (used, one.version) == ([10, 20, 10], 1)
    assert "apply failed" not in str(one.look().why)


def test_a_good_one_that_cannot_be_applied_for_once_stays_in_use_and_is_applied_later(
    agents: Agents, hub: Rates
) -> None:
    is_well = True
    used: list[int] = []

    def apply(limit: int) -> None:
        if not is_well:
            raise ConnectionError("the valve does not answer")
        used.append(limit)

    good(agents, hub, apply=apply)
    agents.die()
    is_well = False
    one = agents.start(hub, apply=apply)
    assert (one.version, one.look().failed) == (1, ())
    assert one.look().why == "apply failed: ConnectionError: the valve does not answer"
    is_well = True
    agents.system.clock.advance(70.0)
    assert (used, one.look().why) == ([10, 10], None)


def test_the_agents_own_word_on_its_health_decides(agents: Agents, hub: Rates) -> None:
    said: list[object] = []
    one = good(agents, hub, healthy=lambda: said.pop(0) if said else None)
    hub.has(2)
    said[:] = [None, True, False]
    one.refresh()
    agents.system.clock.advance(20.5)
    assert (one.version, said) == (2, [False])
    agents.system.clock.advance(10.0)
    assert (one.version, said) == (1, [])


def test_a_part_of_the_agent_may_reject_it(agents: Agents, hub: Rates) -> None:
    one = good(agents, hub)
    hub.has(2)
    one.refresh()
    one.reject("no reading fits", version=1)  # too late: that one is not in use any more
    assert one.version == 2
    one.reject("no reading fits")
    assert (one.version, one.look().failed) == (1, (2,))


def test_of_a_good_one_that_is_rejected_the_good_one_before_is_in_use(agents: Agents, hub: Rates) -> None:
    one = good(agents, hub)
    hub.has(2)
    agents.system.clock.advance(400.0)
    assert (one.version, one.look().state, one.look().fallback) == (2, "good", 1)
    one.reject("it was bad all along")
    assert (one.version, one.look().state, one.look().fallback) == (1, "good", None)


def test_when_there_is_none_to_fall_back_to_none_is_given_out_until_the_hub_has_another(
    agents: Agents, hub: Rates
) -> None:
    one = agents.start(hub)
    one.reject("it is bad")
    with pytest.raises(NoConfigurationError, match="none to fall back to"):
        one.current()
    hub.has(2)
    agents.system.clock.advance(61.0)
    assert (one.current(), one.look().degraded) == (20, None)


def test_the_default_is_what_is_fallen_back_to_last(agents: Agents, hub: Rates) -> None:
    one = agents.start(hub, default=Document(0, {"limit": 5}))
    assert (one.current(), one.look().state, one.look().age) == (5, "default", None)
    assert one.refresh() == 1
    one.reject("it is bad")
    assert (one.current(), one.look().state) == (5, "default")


# The boot counter.


def test_one_that_crashes_the_agent_twice_is_skipped_and_never_applied_again(agents: Agents, hub: Rates) -> None:
    one = good(agents, hub)
    hub.has(2)
    one.refresh()
    agents.die()

    one = agents.start(hub)
    assert one.version == 2, "the first crash may be anybody's"
    agents.die()

    one = agents.start(hub)
    assert (one.version, one.look().state, one.look().failed) == (1, "good", (2,))
    with pytest.raises(ConfigurationError, match="failed before"):
        one.refresh()
    agents.die()
    one = agents.start(hub)
    assert (one.version, one.look().failed) == (1, (2,)), "nor after another start"


def test_a_good_one_is_skipped_as_well_after_two_starts_that_crashed(agents: Agents, hub: Rates) -> None:
    one = good(agents, hub)
    hub.has(2)
    agents.system.clock.advance(400.0)
    assert one.look().state == "good"
    for _ in range(2):
        agents.die()  # the first of them long after the start-up: it does not count
        one = agents.start(hub)
        assert one.version == 2
    agents.die()
    assert agents.start(hub).version == 1


def test_a_start_up_that_is_survived_counts_for_nothing(agents: Agents, hub: Rates) -> None:
    one = good(agents, hub)
    hub.has(2)
    one.refresh()
    for _ in range(4):
        agents.system.clock.advance(31.0)
        agents.die()
        one = agents.start(hub)
        assert one.version == 2


def test_to_be_told_to_stop_in_start_up_is_no_crash(agents: Agents, hub: Rates) -> None:
    """SIGTERM during start-up, as when a platform changes its mind."""
    one = good(agents, hub)
    hub.has(2)
    one.refresh()
    for _ in range(4):
        agents.system.stop()
        one = agents.start(hub)
        assert one.version == 2


class Picky(otpy.GenServer):
    """Does not start with a limit above 10."""

    def init(self, one: Configuration[int]) -> None:
        if one.current() > 10:
            raise ValueError("too much")


class Agent(otpy.Supervisor):
    max_restarts = 0

    def init(self, one: Configuration[int]) -> None:
        self.one = one

    def children(self) -> list[otpy.ChildSpec]:
        return [self.one.child(), otpy.child(Picky, self.one)]


def test_an_agent_that_does_not_come_up_with_it_counts_as_crashed(
    folder: Path, hub: Rates, systems: list[VirtualSystem]
) -> None:
    """Nobody kills it: its tree fails to start, in an orderly way."""
    systems.append(program(running(folder, hub)))
    systems[-1].clock.advance(301.0)
    systems[-1].stop()
    hub.has(2)
    one = running(folder, hub)
    systems.append(program(one))
    one.refresh()
    systems[-1].stop()

    versions = []
    for _ in range(3):
        one = running(folder, hub)
        system = VirtualSystem("agent", seed=1)
        systems.append(system)
        try:
            system.start(otpy.child(Agent, one))
        except StartError:
            versions.append(2)
        else:
            versions.append(one.version or 0)
        system.stop()

    assert versions == [2, 2, 1]


class Told(VirtualSystem):
    """A program that got SIGTERM."""

    @property
    def is_told(self) -> bool:
        return True


def test_a_program_that_is_told_to_stop_while_it_comes_up_has_not_crashed(
    agents: Agents, hub: Rates, systems: list[VirtualSystem]
) -> None:
    one = good(agents, hub)
    hub.has(2)
    one.refresh()
    agents.system.stop()
    for _ in range(3):
        one = running(agents.folder, hub)
        systems.append(Told("agent", seed=1))
        with pytest.raises(StartError):
            systems[-1].start(otpy.child(Agent, one))  # the signal has had its start ended
        systems[-1].stop()
    assert agents.start(hub).version == 2


def test_a_restart_of_its_actor_alone_is_no_crash(agents: Agents, hub: Rates) -> None:
    one = good(agents, hub)
    hub.has(2)
    one.refresh()
    for _ in range(3):
        agents.system.kill("agent/limits/configuration")
        agents.system.wait_idle()
        assert (one.version, one.look().state) == (2, "trial")


def test_a_canary_that_crashes_the_agent_twice_is_not_tried_again(agents: Agents, hub: Rates) -> None:
    good(agents, hub)
    hub.has(2)
    tried: list[int] = []

    def canary(limit: int) -> bool:
        tried.append(limit)
        left = agents.folder.with_name(f"in-canary-{len(tried)}")
        shutil.copytree(agents.folder, left)  # as the disk is when it ends the program
        agents.folder = left
        return False

    for _ in range(3):
        agents.die()
        one = agents.start(hub, canary=canary)
        with pytest.raises(ConfigurationError):
            one.refresh()

    assert (tried, one.version, one.look().failed) == ([20, 20], 1, (2,))


def test_a_canary_that_refuses_counts_for_nothing(agents: Agents, hub: Rates) -> None:
    answers: list[object] = [False, ValueError("odd"), False, True]

    def canary(limit: int) -> object:
        answer = answers.pop(0) if limit == 20 else None
        if isinstance(answer, Exception):
            raise answer
        return answer

    one = good(agents, hub, canary=canary)
    hub.has(2)
    for why in ("it returned False", "ValueError: odd", "it returned False"):
        with pytest.raises(ConfigurationError, match=why):
            one.refresh()
    assert one.refresh() == 2
