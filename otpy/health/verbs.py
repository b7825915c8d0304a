"""What `otpy health` asks a program; answered by the control socket's own thread, whatever the program's do."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from otpy.control.verbs import register, seconds_of
from otpy.health.alive import STALLED_AFTER, liveness
from otpy.health.ready import readiness

if TYPE_CHECKING:
    from otpy.control.snapshot import Inspected
    from otpy.control.verbs import Params
    from otpy.health.look import HealthLook
    from otpy.runtime.system import System

__all__ = ["health"]


@register("health", right="read", inline=True)
def health(system: Inspected, params: Params) -> object:
    """Whether the program lives, and whether it is ready, each with its lines; `stalled_after` as for `liveness`."""
    whole = cast("System", system)
    stalled_after = seconds_of(params, "stalled_after", None) or STALLED_AFTER
    return {"live": plain(liveness(whole, stalled_after=stalled_after)), "ready": plain(readiness(whole))}


def plain(look: HealthLook) -> dict[str, object]:
    """A look as the wire has it."""
    lines = [{"name": line.name, "problem": line.problem, "counts": line.counts} for line in look.lines]
    return {"is_well": look.is_well, "problem": look.problem, "lines": lines}
