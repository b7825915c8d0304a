"""What can be asked of a program's fleets over its control socket: by label, and who is in which state."""

from __future__ import annotations

from dataclasses import fields
from typing import TYPE_CHECKING, Any, cast

from otpy.control.errors import BadRequestError
from otpy.control.verbs import integer_of, register, text_of
from otpy.core.suggest import did_you_mean
from otpy.core.text import visible
from otpy.fleet.looks import STATES
from otpy.fleet.server import views_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from otpy.control.snapshot import Inspected
    from otpy.fleet.handle import FleetView
    from otpy.fleet.looks import AgentState
    from otpy.runtime.system import System

    Params = Mapping[str, object]

__all__: list[str] = []

MOST = 1_000
"""Groups, or agents, in one reply."""


@register("fleet", right="read")
def fleet(system: Inspected, params: Params) -> object:
    """How a fleet stands; its groups `by` a label; its agents in a `state`, or with `labels`; at most `limit` each."""
    view = _view(system, params)
    limit = min(integer_of(params, "limit", 50), MOST)
    by, state, labels = text_of(params, "by"), _state(params), _labels(params)
    look = view.look()
    if by is not None and by not in look.labels:
        raise BadRequestError(f"no label {visible(by, 80)!r}: {did_you_mean(by[:80], map(visible, look.labels))}")
    groups = [] if by is None else view.groups(by)
    agents = view.agents(state, labels=labels, limit=limit + 1) if state or labels else []
    return {
        "fleet": view.name,
        "look": _plain(look) | {"whole": _plain(look.whole), "labels": list(look.labels[:MOST])},
        "groups": [_plain(group) for group in groups[:limit]],
        "groups_left_out": max(0, len(groups) - limit),
        "agents": [_plain(agent) for agent in agents[:limit]],
        "has_more_agents": len(agents) > limit,
    }


def _view(system: Inspected, params: Params) -> FleetView:
    """The one that is meant; without a name the only one. Raises BadRequestError."""
    found = {view.name: view for _, view in views_of(cast("System", system))}
    wanted = text_of(params, "fleet")
    if wanted is None and len(found) == 1:
        return next(iter(found.values()))
    if not found:
        raise BadRequestError(f"no fleet is seen from {visible(system.name)}")
    if wanted is None:
        raise BadRequestError(f"several fleets are seen from here, name one: {', '.join(map(visible, sorted(found)))}")
    if wanted not in found:
        raise BadRequestError(f"no fleet {visible(wanted, 80)!r}: {did_you_mean(wanted[:80], map(visible, found))}")
    return found[wanted]


def _state(params: Params) -> AgentState | None:
    state = text_of(params, "state")
    if state is not None and state not in STATES:
        raise BadRequestError(f"no state {visible(state, 40)!r}: {did_you_mean(state[:40], STATES)}")
    return state


def _labels(params: Params) -> dict[str, str]:
    labels = params.get("labels", {})
    if not isinstance(labels, dict) or not all(isinstance(one, str) for pair in labels.items() for one in pair):
        raise BadRequestError("the parameter 'labels' must be a map of texts")
    return labels


def _plain(look: Any) -> dict[str, object]:  # Any: one of the looks
    return {each.name: getattr(look, each.name) for each in fields(look)}
