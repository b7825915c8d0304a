"""What a real Prometheus says of what is exported, and the values of a metric by their labels."""

from __future__ import annotations

import os
import shutil
import subprocess
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from pathlib import Path

    from otpy.metrics import Metrics

__all__ = ["figure", "figures", "promtool"]


def promtool(*args: str | Path, given: bytes = b"") -> str:
    """What `promtool` says; the test fails with that when it does not agree.

    Without it the test is skipped, and fails where OTPY_PROMTOOL=require is set.
    """
    program = shutil.which("promtool")
    if program is None:
        say = pytest.fail if os.environ.get("OTPY_PROMTOOL") == "require" else pytest.skip
        say("no promtool (Debian: prometheus)")
    done = subprocess.run([program, *map(str, args)], input=given, capture_output=True, check=False, timeout=60)
    said = (done.stdout + done.stderr).decode()
    assert done.returncode == 0, said
    return said


def figures(metrics: Metrics, name: str) -> dict[tuple[str, ...], Any]:
    """The values of one metric, by those of its labels."""
    return metrics.read()[name]


def figure(metrics: Metrics, name: str, *labels: str) -> Any:
    """One value; 0 when there is none yet."""
    return figures(metrics, name).get(labels, 0.0)
