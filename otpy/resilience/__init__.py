"""What a program needs to live with services that fail: circuit breakers."""

from __future__ import annotations

from otpy.resilience.breaker import Breaker
from otpy.resilience.errors import BreakerOpenError
from otpy.resilience.permit import Permit

__all__ = ["Breaker", "BreakerOpenError", "Permit"]
