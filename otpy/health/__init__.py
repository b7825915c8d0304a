"""Whether a program lives, and whether it is ready: for orchestrators, service managers and load balancers.

What serves is loaded when it is asked for: every program that runs can be asked by `otpy health`, few serve HTTP.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from otpy.health.alive import STALLED_AFTER, liveness
from otpy.health.look import HealthLine, HealthLook
from otpy.health.ready import readiness

if TYPE_CHECKING:
    from otpy.health.checks import Check, Checks
    from otpy.health.http.server import HttpHealth
else:  # a type checker that saw them would take any word for a name of this module's
    from importlib import import_module as _import

    _LATER = {
        "Check": "otpy.health.checks",
        "Checks": "otpy.health.checks",
        "HttpHealth": "otpy.health.http.server",
    }

    def __getattr__(name):  # noqa: ANN001, ANN202 - as above
        if name not in _LATER:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}", name=name)
        found = globals()[name] = getattr(_import(_LATER[name]), name)
        return found


__all__ = ["STALLED_AFTER", "Check", "Checks", "HealthLine", "HealthLook", "HttpHealth", "liveness", "readiness"]
