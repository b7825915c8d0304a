"""Process children of these tests begin cheaply."""

from __future__ import annotations

from support.helpers import forked_helpers

__all__ = ["forked_helpers"]
