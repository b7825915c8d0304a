"""A laboratory for each test, at rest and empty when it ends."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

import pytest

from support.lab import Lab

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture
def lab() -> Iterator[Lab]:
    """A system on virtual time; its reports are not printed."""
    logging.getLogger("otpy").setLevel(logging.CRITICAL)
    one = Lab()
    yield one
    one.close()
    logging.getLogger("otpy").setLevel(logging.NOTSET)
    assert one.system.alive == 0
