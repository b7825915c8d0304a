"""What can be asked over the control socket of all programs on a store: which there are, whose turn it is, names."""

from __future__ import annotations

from typing import TYPE_CHECKING

from otpy.control.errors import BadRequestError
from otpy.control.verbs import register, text_of
from otpy.jobs.addressee import Addressee
from otpy.jobs.shown import host_line, name_line

if TYPE_CHECKING:
    from collections.abc import Mapping

    from otpy.control.snapshot import Inspected

    Params = Mapping[str, object]

__all__: list[str] = []


@register("jobs.hosts", right="read")
def hosts(system: Inspected, params: Params) -> object:
    """The programs that work on the store, and the version that is active; with `all` also those that ended lately."""
    engine = Addressee.of(system, params)
    found, now, active = engine.client.hosts(), engine.now(), engine.client.active()
    shown = found if params.get("all") is True else [one for one in found if one.is_alive]
    return {"active": active, "hosts": [host_line(one, now) for one in shown]}


@register("jobs.activate", right="operate")
def activate(system: Inspected, params: Params) -> object:
    """Have the programs of `version` lead and work, or with `any` those of any; `force` also when none says it."""
    version, is_any = text_of(params, "version"), params.get("any") is True
    if (version is None) != is_any:
        raise BadRequestError("the parameter 'version' must be a text, or 'any' true for programs of any version")
    before = Addressee.of(system, params).client.activate(version, force=params.get("force") is True)
    return {"active": version, "before": before}


@register("jobs.names", right="read")
def names(system: Inspected, params: Params) -> object:
    """All names that programs share, with who holds them, or was the last to."""
    engine = Addressee.of(system, params)
    now = engine.now()
    return [name_line(one, now) for one in engine.client.names()]
