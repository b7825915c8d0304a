"""Crashes are the input of these tests: they are not printed."""

from __future__ import annotations

from support.systems import quiet

__all__ = ["quiet"]
