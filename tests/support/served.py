"""Fixtures of tests that serve a made-up system on a control socket; a conftest takes them by importing them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from support.fake_system import FakeSystem

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

__all__ = ["directory", "system"]


@pytest.fixture
def directory(tmp_path: Path) -> Iterator[Path]:
    """A socket directory of this test's own, which must be empty at the end."""
    place = tmp_path / "otpy"
    yield place
    assert not place.exists() or list(place.iterdir()) == []


@pytest.fixture
def system() -> FakeSystem:
    """The tree of the design page."""
    return FakeSystem()
