"""A log that is written into a text, and taken back when the test ends."""

from __future__ import annotations

import io
import json
import logging
from typing import TYPE_CHECKING, Any

import pytest
import structlog

from otpy import logs
from support.helpers import forked_helpers

if TYPE_CHECKING:
    from collections.abc import Iterator

    from otpy.logs.handler import Handler

__all__ = ["forked_helpers"]


class Log:
    """What `configure` has made, and what it has written."""

    def __init__(self) -> None:
        self.stream = io.StringIO()
        self.handler: Handler | None = None

    def configure(self, format: Any = "json", **options: Any) -> Handler:
        self.handler = logs.configure(format, stream=self.stream, **options)
        return self.handler

    @property
    def text(self) -> str:
        return self.stream.getvalue()

    @property
    def lines(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self.text.splitlines()]

    def of(self, logger: str) -> list[dict[str, Any]]:
        return [line for line in self.lines if line["logger"] == logger]


@pytest.fixture
def log() -> Iterator[Log]:
    """One that is not configured yet."""
    root = logging.getLogger()
    level = root.level
    structlog.reset_defaults()
    one = Log()
    yield one
    if one.handler is not None:
        root.removeHandler(one.handler)
        one.handler.close()
    root.setLevel(level)
    structlog.reset_defaults()
