"""Whether a program lives, and whether it is ready: for orchestrators, service managers and load balancers."""

from __future__ import annotations

from otpy.health.alive import STALLED_AFTER, liveness
from otpy.health.look import HealthLine, HealthLook
from otpy.health.ready import readiness

__all__ = ["STALLED_AFTER", "HealthLine", "HealthLook", "liveness", "readiness"]
