"""Who writes a line of a log: the keys of the actor, and of the job, in whose code it is written."""

from __future__ import annotations

import logging
import sys
from typing import TYPE_CHECKING, Any

from otpy.events.event import Event
from otpy.places.loop_seat import OWNER
from otpy.runtime.seat import here

if TYPE_CHECKING:
    from collections.abc import MutableMapping

    from otpy.runtime.ref import Ref

__all__ = ["CONTEXT", "OWN", "ActorKeys", "actor_keys", "own", "owner"]

CONTEXT = {
    "system": "the system's name",
    "path": "the actor's path, of a process child as its parent sees it; in a line of an event the path of that",
    "incarnation": "a number that no two incarnations of one system share, as in `<Ref shop/cache #12>`",
    "job": "the number of the job that is done",
    "kind": "its kind; in `ActorCrashed` the class of the actor",
    "queue": "its queue",
    "attempt": "which attempt this is, from 1",
}
"""The keys that say who writes, and what each is."""

OWN: dict[str, type[Any]] = {
    "otpy": Event,
    "otpy_keys": dict,
    "otpy_text": str,
    "otpy_fields": dict,
    "otpy_storm": dict,
}
"""What otpy puts on a record, and of which class it is; of any other it is somebody else's."""

JOBS = "otpy.jobs.agents.context"


def owner() -> Ref[Any] | None:
    """The actor in whose code this is: on its thread or task, or in a thread that has its context."""
    return here().ref or OWNER.get()


def keys_here() -> dict[str, Any]:
    """The keys of the actor and of the job here; nothing outside of both."""
    found: dict[str, Any] = {}
    ref = owner()
    if ref is not None:
        path = ref.path
        found |= {"system": path.partition("/")[0], "path": path, "incarnation": ref.number}
    jobs = sys.modules.get(JOBS)  # a program without jobs has not loaded them, and does not now
    running = None if jobs is None else jobs.CURRENT.get(None)
    if running is not None:
        found |= running.labels
    return found


def own(record: logging.LogRecord, name: str) -> Any:  # Any: of the class that it has
    """What otpy has put on a record under one of its names; None where it has not, whatever somebody else has."""
    found = vars(record).get(name)
    return found if issubclass(type(found), OWN[name]) else None  # not isinstance: that asks the object


class ActorKeys(logging.Filter):
    """A filter that lets all pass and puts the keys of who writes on each record, for a logging setup of your own.

    Add it to a handler, whose records come from all loggers: its formatter then has `%(system)s`, `%(path)s`,
    `%(incarnation)s`, `%(job)s`, `%(kind)s`, `%(queue)s` and `%(attempt)s`, empty where there is none, and
    `record.otpy_keys` has those that there are. Runs in the thread that writes; costs some three microseconds a record.
    """

    def filter(self, record: logging.LogRecord) -> bool:
        """Put them on it, once."""
        keys = own(record, "otpy_keys")
        if keys is None:
            foreign = vars(record).get("otpy_keys")
            if foreign is not None:
                vars(record)["otpy_keys_"] = foreign
            keys = record.otpy_keys = keys_here()
        for key in CONTEXT:
            vars(record).setdefault(key, keys.get(key, ""))
        return True


def actor_keys(logger: object, name: str, event_dict: MutableMapping[str, Any]) -> MutableMapping[str, Any]:  # noqa: ARG001 - as structlog calls it
    """A processor for a structlog setup of your own: adds the keys of who writes, and overwrites none."""
    for key, value in keys_here().items():
        event_dict.setdefault(key, value)
    return event_dict
