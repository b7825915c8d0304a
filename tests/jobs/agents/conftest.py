"""The ends of attempts, for tests that wait for them."""

from __future__ import annotations

import pytest

from .works import Ends


@pytest.fixture
def ends(monkeypatch: pytest.MonkeyPatch) -> Ends:
    """From now on."""
    return Ends(monkeypatch)
