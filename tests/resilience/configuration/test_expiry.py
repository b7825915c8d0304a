"""A configuration that is too old is served all the same, degrades the agent, or ends it."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

import otpy
from otpy.errors import NoProcError, SpecError, StartError
from otpy.events import ConfigurationDegraded, ConfigurationRecovered
from otpy.resilience import Autonomy, Configuration, Document, NoConfigurationError
from otpy.resilience.configuration.age import Moment, Stamp
from otpy.resilience.configuration.folder import Folder
from otpy.testing import Recorder, VirtualSystem
from support.configurations import Rates, limits_of, program, running

if TYPE_CHECKING:
    from pathlib import Path

HOUR = 3_600.0


@pytest.fixture
def hub() -> Rates:
    made = Rates()
    made.has(1)
    return made


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "limits"


def test_serve_stale_tells_of_it_and_goes_on(folder: Path, hub: Rates) -> None:
    one = running(folder, hub, max_age=HOUR)
    system = program(one)
    hub.error = ConnectionError("no hub")
    with Recorder(system) as events:
        system.clock.advance(2 * HOUR)
        look = one.look()
        assert (one.current(), look.is_expired, look.version) == (10, True, 1)
        assert look.why == "fetch failed: ConnectionError: no hub; version 1 is older than 3600 s"
        hub.error = None
        system.clock.advance(70.0)
    assert [event.age for event in events.of(ConfigurationDegraded)][1] == pytest.approx(HOUR, abs=1.0)
    assert len(events.of(ConfigurationRecovered)) == 1
    assert (one.look().is_expired, one.look().why) == (False, None)
    system.stop()


def test_degrade_holds_the_whole_agent_degraded_until_the_hub_has_spoken(folder: Path, hub: Rates) -> None:
    agent = Autonomy("agent", connect=lambda: None)
    one = running(folder, hub, max_age=HOUR, expired="degrade", autonomy=agent)
    system = program(one)
    system.start(agent.child())
    system.clock.advance(10.0)
    assert agent.state == "normal"
    hub.error = ConnectionError("no hub")
    system.clock.advance(2 * HOUR)
    assert (agent.state, agent.look().held) == ("degraded", {"configuration limits": "version 1 is older than 3600 s"})
    assert one.current() == 10
    hub.error = None
    system.clock.advance(70.0)
    assert agent.state == "normal"
    system.stop()


class Agent(otpy.Supervisor):
    def init(self, one: Configuration[int]) -> None:
        self.one = one

    def children(self) -> list[otpy.ChildSpec]:
        return [self.one.child()]


def test_stop_gives_none_out_and_ends_the_agent(folder: Path, hub: Rates) -> None:
    one = running(folder, hub, max_age=HOUR, expired="stop")
    system = VirtualSystem("agent", seed=1)
    root = system.start_root(otpy.child(Agent, one))
    hub.error = ConnectionError("no hub")
    asked = len(hub.asked)
    system.clock.advance(HOUR + 10.0)
    assert not root.is_alive()
    with pytest.raises(NoConfigurationError, match="older than 3600 s"):
        one.current()
    with pytest.raises(NoProcError):
        one.refresh()
    assert len(hub.asked) > asked
    system.stop()


def kept_at(folder: Path, hub: Rates, hours_ago: float) -> Any:
    """What tells the time, so that what is kept is so old."""
    program(running(folder, hub)).stop()
    held = Folder(str(folder))
    now = Moment(1_800_000_000_000, "this", 50.0)
    held.commit(replace(held.record, stamp=Stamp(hours_ago * HOUR, now.wall, now.boot, now.uptime)))
    held.close()
    return lambda clock: lambda: Moment(now.wall, now.boot, now.uptime + clock.now())


@pytest.mark.parametrize(("hours", "starts"), [(0.5, True), (2.0, False)])
def test_a_start_on_one_that_is_too_old_asks_the_hub_first(
    folder: Path,
    hub: Rates,
    hours: float,
    starts: bool,  # noqa: FBT001
) -> None:
    moments = kept_at(folder, hub, hours)
    hub.error = ConnectionError("no hub")

    def again() -> Configuration[int]:
        one = running(folder, hub, max_age=HOUR, expired="stop")
        one.moments = moments
        return one

    if starts:
        program(again()).stop()
    else:
        with pytest.raises(StartError, match="it is too old, and fetch failed: ConnectionError: no hub"):
            program(again())
    hub.error = None
    one = again()
    system = program(one)
    assert one.version == 1
    assert (one.look().age or 0.0) < HOUR
    system.stop()


OPTIONS: list[dict[str, Any]] = [
    {"name": "a/b"},
    {"name": 3},
    {"folder": 3},
    {"fetch": None},
    {"check": 3},
    {"apply": 3},
    {"every": 0},
    {"timeout": float("nan")},
    {"startup": 10.0, "good_after": 5.0},
    {"max_age": -1.0},
    {"expired": "never"},
    {"expired": "stop"},
    {"expired": "degrade", "max_age": 1.0},
    {"backoff": 3},
    {"autonomy": 3},
    {"default": {"limit": 1}},
]


@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_options_that_cannot_be_are_refused(options: dict[str, Any]) -> None:
    given = {"name": "limits", "folder": "limits", "fetch": print} | options
    with pytest.raises(SpecError):
        Configuration(given.pop("name"), given.pop("folder"), **given)


def test_functions_that_may_not_be_awaited_are_refused() -> None:
    async def check(data: Any) -> int:
        return limits_of(data)

    with pytest.raises(SpecError, match="a plain function"):
        Configuration("limits", "limits", fetch=print, check=check)  # type: ignore[arg-type]


def test_a_default_that_does_not_pass_the_check_is_none(folder: Path) -> None:
    with pytest.raises(StartError, match="none that can be used"):
        program(running(folder, Rates(), default=Document(0, {"limit": -1})))


def test_its_handle_says_how_it_stands(folder: Path, hub: Rates) -> None:
    one = running(folder, hub)
    assert repr(one) == "<Configuration limits none>"
    system = program(one)
    assert repr(one) == "<Configuration limits version 1 (trial), 0 s old>"
    kinds = {record.path: record.kind for record in system.records()}
    assert kinds["agent/limits/configuration"] == "Configuration version 1 (trial), 0 s old"
    assert "version = 1" in system.state("agent/limits/configuration").state
    system.stop()
    assert one.current() == 10, "who is stopped later than it still has it"
