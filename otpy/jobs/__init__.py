"""Floor 5: durable jobs; a scheduler, disposable agents and their supervisors, with all state in a store."""

from __future__ import annotations

__all__: list[str] = []
