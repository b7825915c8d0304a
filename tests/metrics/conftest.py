"""A system for each test, at rest and empty when it ends."""

from __future__ import annotations

from support.helpers import forked_helpers
from support.systems import clock, events, quiet, system, timed

__all__ = ["clock", "events", "forked_helpers", "quiet", "system", "timed"]
