"""Crashes are the input of these tests: they are not printed."""

from __future__ import annotations

from support.systems import clock, events, quiet, system, timed

__all__ = ["clock", "events", "quiet", "system", "timed"]
