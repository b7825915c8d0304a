"""Crashes are the input of these tests: they are not printed."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture(autouse=True)
def quiet() -> Iterator[None]:
    log = logging.getLogger("otpy")
    log.setLevel(logging.CRITICAL + 1)
    yield
    log.setLevel(logging.NOTSET)
