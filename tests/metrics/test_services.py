"""What the metrics of breakers, outboxes, configurations and autonomies say."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from otpy.fleet import FleetView
from otpy.metrics import Metrics
from otpy.metrics.reading import Bound, Sheet
from otpy.resilience import Autonomy, Outbox, Topic
from support.configurations import Rates, running
from support.prometheus import figure, figures
from support.services import Service, kept, outcome

if TYPE_CHECKING:
    from pathlib import Path

    import otpy
    from otpy.testing import VirtualClock

pytestmark = pytest.mark.any_python


def state(metrics: Metrics, name: str, of: str) -> list[str]:
    """The states whose value is 1."""
    return [key[1] for key, value in figures(metrics, name).items() if key[0] == of and value == 1]


def test_a_breaker_that_opens(timed: otpy.System, clock: VirtualClock) -> None:
    metrics = Metrics(timed)
    service = Service()
    ask = kept(timed, failures=2, cooldown=30.0)(service.ask)
    assert state(metrics, "otpy_breaker_state", "service") == ["closed"]
    assert figure(metrics, "otpy_breaker_transitions_total", "service", "open") == 0

    service.is_ill = True
    for _ in range(2):
        outcome(ask)
        timed.wait_idle()
    outcome(ask)

    assert state(metrics, "otpy_breaker_state", "service") == ["open"]
    assert figure(metrics, "otpy_breaker_transitions_total", "service", "open") == 1
    assert figure(metrics, "otpy_breaker_rejected_total", "service") == 1
    service.is_ill = False
    clock.advance(40.0)
    outcome(ask)
    timed.wait_idle()
    assert state(metrics, "otpy_breaker_state", "service") == ["closed"]
    assert figure(metrics, "otpy_breaker_transitions_total", "service", "closed") == 1


def test_an_outbox_whose_receiver_is_away(timed: otpy.System, clock: VirtualClock, tmp_path: Path) -> None:
    metrics = Metrics(timed)

    def post(_: object) -> None:
        raise ConnectionError("away")

    topic = Topic("t", rows=3, overflow="drop_oldest")
    outbox = Outbox("hub", tmp_path / "o.db", senders=[post], topics=[topic])
    timed.start(outbox.child())
    for number in range(5):
        outbox.put("t", number)
    clock.advance(100.0)

    assert figure(metrics, "otpy_edge_queue_depth", "hub") == 3
    assert figure(metrics, "otpy_edge_queue_bytes", "hub") == 3
    assert figure(metrics, "otpy_edge_queue_age_seconds", "hub") == pytest.approx(100.0)
    assert figure(metrics, "otpy_edge_dropped_total", "hub", "oldest") == 2
    assert figure(metrics, "otpy_edge_degraded", "hub") == 1
    assert figure(metrics, "otpy_edge_sent_total", "hub") == 0


def test_a_configuration_that_gets_old(timed: otpy.System, clock: VirtualClock, tmp_path: Path) -> None:
    metrics, hub = Metrics(timed), Rates()
    hub.has(7)
    timed.start(running(tmp_path, hub).child())
    timed.wait_idle()
    assert figure(metrics, "otpy_config_version", "limits") == 7
    assert figure(metrics, "otpy_config_degraded", "limits") == 0

    hub.error = ConnectionError("away")
    clock.advance(600.0)

    assert 500.0 < figure(metrics, "otpy_config_age_seconds", "limits") <= 600.0
    assert figure(metrics, "otpy_config_degraded", "limits") == 1


def test_an_autonomy_that_is_on_its_own(timed: otpy.System, clock: VirtualClock) -> None:
    metrics = Metrics(timed)
    autonomy = Autonomy("hub", connect=lambda: None)
    timed.start(autonomy.child())
    clock.advance(60.0)
    assert state(metrics, "otpy_autonomy_state", "hub") == ["normal"]

    autonomy.hold("gps", "no fix")

    assert state(metrics, "otpy_autonomy_state", "hub") == ["degraded"]


def test_a_fleet_of_which_some_are_silent(timed: otpy.System, clock: VirtualClock) -> None:
    metrics = Metrics(timed)
    fleet = FleetView("fleet", period=10.0)
    timed.start(fleet.child())
    for name in ("a", "b", "c", "d"):
        fleet.beat(name, state="degraded" if name == "d" else "normal")
    fleet.expect(["e"])

    clock.advance(50.0)
    fleet.beat("a")

    states = {state: number for (_, state), number in figures(metrics, "otpy_fleet_agents").items() if number}
    assert sum(states.values()) == 5
    assert states["alive"] == 1
    assert states["silent"] + states.get("dead", 0) == 3
    assert states["never_seen"] == 1
    assert figure(metrics, "otpy_fleet_share", "fleet") == pytest.approx(0.2)
    assert figure(metrics, "otpy_fleet_beats_total", "fleet") == 5


@pytest.mark.parametrize("name", ["x" * 400, "one too many"])
def test_what_is_beyond_the_bound_keeps_its_states_apart(name: str) -> None:
    """Else all states of it are one, and a breaker is open and closed at once."""
    sheet = Sheet(Bound(1))
    sheet.set("otpy_breaker_state", 1, "known", "closed")
    for state in ("closed", "open", "half_open"):
        sheet.set("otpy_breaker_state", state == "open", name, state)

    found = sheet.reading["otpy_breaker_state"]
    assert [found["other", state] for state in ("closed", "open", "half_open")] == [0, 1, 0]
