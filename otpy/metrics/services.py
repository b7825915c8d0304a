"""What is read of breakers, outboxes, configurations, autonomies and fleets: their published state."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, get_args

from otpy.fleet.server import FleetServer
from otpy.resilience.autonomy.line import AutonomyState
from otpy.resilience.autonomy.server import AutonomyServer
from otpy.resilience.configuration.keeper import Keeper as ConfigurationKeeper
from otpy.resilience.outbox.keeper import Keeper as OutboxKeeper
from otpy.resilience.server import BreakerServer
from otpy.resilience.snapshot import State

if TYPE_CHECKING:
    from collections.abc import Callable

    from otpy.fleet.handle import FleetView
    from otpy.metrics.reading import Sheet
    from otpy.resilience.autonomy.handle import Autonomy
    from otpy.resilience.breaker import Breaker
    from otpy.resilience.configuration.handle import Configuration
    from otpy.resilience.outbox.handle import Outbox

__all__ = ["SERVICES"]


def _breaker(breaker: Breaker, sheet: Sheet) -> None:
    for state in get_args(State):
        sheet.set("otpy_breaker_state", breaker.state == state, breaker.name, state)
        sheet.set("otpy_breaker_transitions_total", 0, breaker.name, state)  # until one is counted
    sheet.set("otpy_breaker_rejected_total", breaker.rejected, breaker.name)


def _outbox(outbox: Outbox, sheet: Sheet) -> None:
    look, name = outbox.look(), outbox.name
    sheet.set("otpy_edge_queue_depth", look.rows, name)
    sheet.set("otpy_edge_queue_bytes", look.size_bytes, name)
    sheet.set("otpy_edge_queue_age_seconds", look.oldest_age or 0.0, name)
    sheet.set("otpy_edge_sent_total", look.sent, name)
    sheet.set("otpy_edge_degraded", look.degraded is not None, name)
    for why, rows in look.dropped.items():
        sheet.set("otpy_edge_dropped_total", rows, name, why)


def _configuration(configuration: Configuration[Any], sheet: Sheet) -> None:
    look, name = configuration.look(), configuration.plan.name
    if look.age is not None:
        sheet.set("otpy_config_age_seconds", look.age, name)
    if look.version is not None:
        sheet.set("otpy_config_version", look.version, name)
    sheet.set("otpy_config_degraded", look.degraded is not None, name)


def _autonomy(autonomy: Autonomy, sheet: Sheet) -> None:
    for state in get_args(AutonomyState):
        sheet.set("otpy_autonomy_state", autonomy.state == state, autonomy.name, state)


def _fleet(view: FleetView, sheet: Sheet) -> None:
    look, name = view.look(), view.name
    whole = look.whole
    states = {
        "alive": whole.alive - whole.degraded - whole.draining,
        "degraded": whole.degraded,
        "draining": whole.draining,
        "silent": whole.silent,
        "dead": whole.dead,
        "never_seen": whole.never_seen,
    }
    for state, number in states.items():
        sheet.set("otpy_fleet_agents", number, name, state)
    sheet.set("otpy_fleet_share", whole.share, name)
    sheet.set("otpy_fleet_storm", look.is_storm, name)
    sheet.set("otpy_fleet_beats_total", look.beats, name)
    for why in ("late", "fenced", "refused", "malformed"):
        sheet.set("otpy_fleet_beats_passed_over_total", getattr(look, why), name, why)


SERVICES: dict[type[Any], Callable[[Any, Sheet], None]] = {
    BreakerServer: _breaker,
    OutboxKeeper: _outbox,
    ConfigurationKeeper: _configuration,
    AutonomyServer: _autonomy,
    FleetServer: _fleet,
}
"""Who keeps one, and how it is read."""
