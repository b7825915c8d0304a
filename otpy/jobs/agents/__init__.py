"""Who does the jobs: agents, which are cattle, and the crews that keep their number."""

from __future__ import annotations

__all__: list[str] = []
