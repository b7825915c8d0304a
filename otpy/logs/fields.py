"""What an event of otpy says in keys, as far as a line of a log has them."""

from __future__ import annotations

import math
from dataclasses import fields
from typing import TYPE_CHECKING, Any

from otpy.core.masking import hide
from otpy.core.reason import Crashed, Reason, Restart
from otpy.core.text import safe_repr, visible
from otpy.events.crash import ActorCrashed
from otpy.events.resilience import BreakerChanged, ConfigurationApplied, ConfigurationFailed, ConfigurationRefused
from otpy.events.supervision import RestartLimitReached

if TYPE_CHECKING:
    from otpy.core.masking import Show
    from otpy.events.event import Event

__all__ = ["RENAMED", "fields_of", "names_of", "plain"]

RENAMED: dict[type[Event], dict[str, str]] = {
    ActorCrashed: {"queue": "messages", "state": "crashed_state"},
    BreakerChanged: {"breaker": "service", "after": "breaker"},
    ConfigurationApplied: {"before": "version_before"},
    ConfigurationFailed: {"instead": "version_instead"},
    ConfigurationRefused: {"version": "version_given"},
    RestartLimitReached: {"restarts": "last_restarts"},
}
"""Fields that have another key: `service=payments breaker=open` is what somebody looks for; and a key is of one kind,
for what keeps logs throws lines away in which a number is suddenly a text."""

TEXT = 4_000
"""Characters of one value."""
LONGEST = 64
"""Bits of a number; a longer one is written as text, for few who read JSON can hold it."""
MOST = 20
"""Items of a list."""


def names_of(kind: type[Event]) -> dict[str, str]:
    """The key of each field of an event's class."""
    renamed = RENAMED.get(kind, {})
    return {each.name: renamed.get(each.name, each.name) for each in fields(kind)}


def fields_of(event: Event, show: Show = hide) -> dict[str, Any]:
    """The event's fields that say something, as values for a line; a crash has its `traceback` as well."""
    found = {"otpy": type(event).__name__}
    for name, key in names_of(type(event)).items():
        value = getattr(event, name)
        if value is not None and value != ():
            found[key] = plain(name, value, show)
        if isinstance(value, Crashed):
            found["traceback"] = value.traceback
    return found


def plain(name: str, value: object, show: Show = hide) -> Any:  # Any: what JSON has
    """A value as a line has it: numbers, text, a list of texts; anything else is described, and secrets are hidden."""
    value = show(name, value)
    if value is None or isinstance(value, int | float):
        return _number(value)
    if isinstance(value, str):
        return str.__str__(value)[:TEXT]  # its own methods do not run
    if isinstance(value, Reason | Restart):
        return visible(str(value), TEXT)
    if type(value) is tuple and value:
        return [_item(name, item, show) for item in value[:MOST]]
    return safe_repr(value, TEXT, name=name, show=show)


def _number(value: float | None) -> float | str | None:
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, int):
        return int(value) if value.bit_length() < LONGEST else safe_repr(value)
    return float(value) if math.isfinite(value) else str(float(value))  # JSON has no infinity, and no nan


def _item(name: str, item: object, show: Show) -> str:
    if type(item) is str:
        return str(plain(name, item, show))
    if type(item) is tuple and len(item) == 2 and all(type(each) is str for each in item):  # noqa: PLR2004 - a pair
        return f"{item[0]}={item[1]}"
    return visible(str(item), TEXT) if type(item).__module__.startswith("otpy.") else safe_repr(item, TEXT, show=show)
