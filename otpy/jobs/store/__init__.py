"""Where jobs are kept: one protocol, and the stores that keep it."""

from __future__ import annotations

__all__: list[str] = []
