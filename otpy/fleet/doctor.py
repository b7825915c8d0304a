"""What `otpy doctor` finds about the fleets that a program sees: each in one sentence, with its mend."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from otpy.control.doctor import examines
from otpy.core.part import Finding
from otpy.core.text import safe_repr, visible
from otpy.fleet.server import views_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from otpy.control.snapshot import Inspected
    from otpy.fleet.handle import FleetView
    from otpy.fleet.looks import FleetLook, GroupLook
    from otpy.runtime.system import System

__all__: list[str] = []

MANY = 20
"""Groups, and agents, that are told of."""


@examines
def fleets(system: Inspected) -> Iterator[Finding]:
    """Of each fleet: whether it is heard, whether there is room, groups that are short, names that two have."""
    for path, view in views_of(cast("System", system)):
        look = view.look()
        yield from (Finding("error", path, text) for text in _of_hub(view, look))
        yield from (Finding("warning", path, text) for text in _of_groups(view, look, system.name))
        for name in view.doubled(MANY):
            text = f"two programs seem to be the agent {safe_repr(name, 80)}: beats of an earlier life go on and on"
            yield Finding("warning", path, text)


def _of_hub(view: FleetView, look: FleetLook) -> Iterator[str]:
    if look.is_deaf:
        yield f"not one of its {look.whole.silent} agents is heard: is the way to this hub open?"
    if view.is_full():
        yield f"it has {view.plan.most} agents, and refuses others: a larger `most` has room for them"


def _of_groups(view: FleetView, look: FleetLook, program: str) -> Iterator[str]:
    short = [group for label in (None, *sorted(view.watched)) for group in _short(view, look, label)]
    for group in short[:MANY]:
        name = "the fleet" if group.label is None else f"{visible(group.label, 60)}={visible(group.value or '', 60)}"
        by = "" if group.label is None else f" --by {visible(group.label, 60)}"
        shows = f"otpy fleet {visible(program)}{by} --state silent"
        yield f"{name}: {group.alive} of {group.wanted} agents are alive; {shows} tells whom it misses"


def _short(view: FleetView, look: FleetLook, label: str | None) -> list[GroupLook]:
    return [group for group in ([look.whole] if label is None else view.groups(label)) if group.is_short]
