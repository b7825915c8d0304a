"""Hubs that are down, slow, hanging, or lie: what is in use stays in use."""

from __future__ import annotations

import asyncio
import itertools
from typing import TYPE_CHECKING, Any

import pytest

import otpy
from otpy.errors import StartError
from otpy.events import ConfigurationDegraded, ConfigurationRecovered, ConfigurationRefused
from otpy.resilience import Configuration, ConfigurationError, Document, NoConfigurationError
from otpy.testing import Gate, Recorder, VirtualSystem
from support.configurations import Rates, limits_of, program, running

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@pytest.fixture
def hub() -> Rates:
    made = Rates()
    made.has(5)
    return made


@pytest.fixture
def one(tmp_path: Path, hub: Rates) -> Configuration[int]:
    return running(tmp_path / "limits", hub, timeout=10.0)


@pytest.fixture
def system(one: Configuration[int]) -> Iterator[VirtualSystem]:
    made = program(one)
    yield made
    made.stop()


def test_an_agent_starts_without_its_hub_on_what_it_has(tmp_path: Path, hub: Rates) -> None:
    program(running(tmp_path / "limits", hub)).stop()
    hub.error = ConnectionError("no route")
    one = running(tmp_path / "limits", hub)
    asked = len(hub.asked)
    system = program(one)
    assert (one.current(), len(hub.asked)) == (50, asked), "it does not even wait for the hub"
    system.stop()


def test_the_first_start_needs_the_hub_or_a_default(tmp_path: Path, hub: Rates) -> None:
    hub.error = ConnectionError("no route")
    one = running(tmp_path / "limits", hub)
    with pytest.raises(NoConfigurationError, match="have not been started"):
        one.current()
    with pytest.raises(StartError, match="none that can be used: fetch failed: ConnectionError: no route"):
        program(one)
    hub.error = None
    system = program(one)
    assert one.current() == 50
    system.stop()


def test_a_hub_that_has_none_is_asked_again(tmp_path: Path) -> None:
    hub = Rates()
    one = running(tmp_path / "limits", hub, default=Document(0, {"limit": 1}))
    system = program(one)
    system.clock.advance(6.0)
    assert (one.current(), one.look().state, hub.asked) == (1, "default", [0])
    hub.has(1)
    system.clock.advance(70.0)
    assert one.current() == 10
    system.stop()


def test_it_is_asked_with_the_version_in_use_and_not_in_step_with_other_agents(
    system: VirtualSystem, one: Configuration[int], hub: Rates
) -> None:
    times: list[float] = []
    hub.before = lambda: times.append(system.clock.now())
    system.clock.advance(3_600.0)
    gaps = {round(later - before, 3) for before, later in itertools.pairwise(times)}
    assert hub.asked[:3] == [None, 5, 5]
    assert len(gaps) > 50
    assert all(54.0 <= gap <= 66.0 for gap in gaps)
    assert one.look().degraded is None


LIES = [
    (Document(4, {"limit": 1}), "it is older than version 5, which is in use"),
    (Document(5, {"limit": 1}), "it has the version in use, and says something else"),
    (Document(6, {"limit": "many"}), "it does not pass the check (ValueError: limit is 'many')"),
    (Document(6, {"limits": 1}), "it does not pass the check (KeyError: 'limit')"),
    (Document(6, []), "it does not pass the check (TypeError"),
    (Document("7", {"limit": 1}), "version '7': a whole number"),  # type: ignore[arg-type]
    (Document(2.5, {"limit": 1}), "version 2.5: a whole number"),  # type: ignore[arg-type]
    (Document(1 << 64, {"limit": 1}), "a whole number from 0 on, below 2**63"),
    (Document(6, {"limit": object()}), "its data is no plain data"),
    (Document(6, {"limit": 1}, "mine"), "signature 'mine': bytes, or None"),  # type: ignore[arg-type]
    (Document(6, b"x" * (16 << 20)), "bytes, more than"),
    ({"limit": 1}, "fetch returned {'limit': 1}, and no Document"),
]


@pytest.mark.parametrize(("lie", "why"), LIES, ids=[why[:40] for _, why in LIES])
def test_a_hub_that_lies_is_refused_and_that_is_told_once(
    system: VirtualSystem, one: Configuration[int], hub: Rates, lie: object, why: str
) -> None:
    hub.document = lie
    with Recorder(system) as events:
        for _ in range(2):
            with pytest.raises(ConfigurationError) as refused:
                one.refresh()
            assert why in str(refused.value)
    assert (one.current(), one.version) == (50, 5)
    assert len(events.of(ConfigurationRefused)) == 1
    hub.has(6)
    assert one.refresh() == 6


def test_an_unsigned_one_is_refused(tmp_path: Path, hub: Rates) -> None:
    def signed(document: Document) -> bool:
        if document.signature is None:
            raise ValueError("it has none")
        return document.signature == b"mine"

    hub.has(1, signature=b"mine")
    one = running(tmp_path / "limits", hub, signed=signed)
    system = program(one)
    for signature, why in ((None, "ValueError: it has none"), (b"yours", "its signature is wrong")):
        hub.has(2, signature=signature)
        with pytest.raises(ConfigurationError, match=why):
            one.refresh()
    hub.has(2, signature=b"mine")
    assert one.refresh() == 2
    system.stop()


def test_an_outage_is_told_once_and_its_end_too(system: VirtualSystem, one: Configuration[int], hub: Rates) -> None:
    hub.error = ConnectionError("no route")
    with Recorder(system) as events:
        system.clock.advance(3_600.0)
        look = one.look()
        hub.error = None
        system.clock.advance(70.0)
    assert (look.version, look.why) == (5, "fetch failed: ConnectionError: no route")
    assert look.age is not None
    assert look.age >= 3_590.0
    assert look.degraded is not None
    assert len(events.of(ConfigurationDegraded)) == len(events.of(ConfigurationRecovered)) == 1
    assert (one.look().degraded, one.look().why) == (None, None)


def test_a_hub_that_says_when_to_come_again_is_obeyed(
    system: VirtualSystem, one: Configuration[int], hub: Rates
) -> None:
    hub.error = ConnectionError("busy")
    hub.error.retry_after = 1_000.0  # type: ignore[attr-defined]
    with pytest.raises(ConfigurationError):
        one.refresh()
    asked = len(hub.asked)
    system.clock.advance(999.0)
    assert len(hub.asked) == asked
    system.clock.advance(30.0)
    assert len(hub.asked) == asked + 1
    assert one.version == 5


def test_a_hub_that_hangs_holds_up_nothing_and_is_not_asked_twice_at_a_time(
    system: VirtualSystem, one: Configuration[int], hub: Rates
) -> None:
    system.clock.advance(6.0)
    asked = len(hub.asked)
    hub.has(6)
    with Gate() as gate:
        hub.before = gate.wait
        system.clock.advance(66.0)
        gate.reached()
        system.clock.advance(600.0)
        look = one.look()
        one.reject("this one is 5", version=6)  # its actor answers
        assert (look.version, len(hub.asked)) == (5, asked + 1)
        assert "the last call of fetch has not come back" in str(look.why)
        hub.before = lambda: None
    system.clock.advance(130.0)
    assert (one.version, one.look().degraded) == (6, None)


def test_an_async_hub_that_hangs_is_cancelled(tmp_path: Path) -> None:
    cancelled: list[int | None] = []
    hangs = False

    async def fetch(version: int | None) -> Document | None:
        try:
            if hangs:
                await otpy.asleep(1e6)
        except asyncio.CancelledError:
            cancelled.append(version)
            raise
        return Document(1, {"limit": 1})

    one: Configuration[Any] = Configuration("limits", tmp_path / "limits", fetch=fetch, check=limits_of, timeout=10.0)
    system = program(one)
    hangs = True
    system.clock.advance(200.0)
    assert set(cancelled) == {1}
    assert "come back" in str(one.look().why)
    assert one.current() == 1
    system.stop()
