"""The helpers that start process children, forked from an interpreter that has begun: see `support.forked`."""

from __future__ import annotations

import subprocess
from types import SimpleNamespace

import pytest

from otpy.places.process import helm
from support.forked import Forked

__all__ = ["forked_helpers"]

STARTING = SimpleNamespace(**{**vars(subprocess), "Popen": Forked})


@pytest.fixture(autouse=True)
def forked_helpers(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where it is not a helper's start that a test is about: that costs more than all that its children do."""
    monkeypatch.setattr(helm, "subprocess", STARTING)
