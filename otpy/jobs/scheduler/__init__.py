"""Who decides what is done when, and by whom."""

from __future__ import annotations

__all__: list[str] = []
