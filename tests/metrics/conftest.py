"""A system for each test, at rest and empty when it ends."""

from __future__ import annotations

from support.systems import clock, events, quiet, system, timed

__all__ = ["clock", "events", "quiet", "system", "timed"]
