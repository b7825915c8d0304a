"""Rows of jobs for tests of pure decisions."""

from __future__ import annotations

from typing import Any

from otpy.jobs.model.job import Job


def row(**fields: Any) -> Job:
    """A job in its first attempt."""
    facts: dict[str, Any] = {
        "id": 1,
        "kind": "k",
        "queue": "q",
        "state": "running",
        "args": b"",
        "run_at": 0,
        "priority": 0,
        "tenant": "",
        "needs": "",
        "unique_key": None,
        "key": None,
        "attempt": 1,
        "token": 1,
        "errors": 0,
        "crashes": 0,
        "releases": 0,
        "max_errors": 3,
        "max_crashes": 3,
        "timeout_ms": None,
        "deadline_at": None,
        "owner": "agent",
        "lease_until": 10,
        "created_at": 0,
    }
    return Job(**{**facts, **fields})
