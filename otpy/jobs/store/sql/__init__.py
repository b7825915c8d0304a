"""Jobs in SQL: what the stores on SQLite and on PostgreSQL do alike."""

from __future__ import annotations

__all__: list[str] = []
