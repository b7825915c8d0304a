"""Metrics for those who scrape: made on a thread of their own, once for all who wait for them."""

from __future__ import annotations

import threading
import time
from http import HTTPStatus
from typing import TYPE_CHECKING, Protocol

from otpy.core.text import exception_line
from otpy.health.http.page import Page, plain_page

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["Exposed", "Scrape"]


class Exposed(Protocol):
    """What can tell metrics, as `otpy.metrics.Metrics` does."""

    def exposition(self, accept: str = "") -> tuple[str, bytes]:
        """Their content type, and they, in the form that the header `Accept` asks for; may take a while."""


class Scrape:
    """At most one thread makes an answer at any time, however many ask, and however long that takes."""

    def __init__(self, exposed: Exposed, wake: Callable[[], object]) -> None:
        """Make none yet; `wake` is called when one is there, in its thread."""
        self._exposed = exposed
        self._wake = wake
        self._since: float | None = None
        self._made: Page | None = None

    def begin(self, accept: str, within: float) -> Page | None:
        """Begin to make one, unless that goes on already; the answer at once when there will be none in time."""
        if self._since is not None:
            late = time.monotonic() - self._since
            return None if late < within else _failed(f"metrics: late, for {late:.0f} s now")
        self._since = time.monotonic()
        try:
            threading.Thread(target=self._make, args=(accept,), name="otpy-metrics", daemon=True).start()
        except RuntimeError as error:
            self._since = None
            return _failed(f"metrics: {error}")
        return None

    def take(self) -> Page | None:
        """What was made since the last look."""
        made = self._made
        if made is not None:
            self._made = self._since = None
        return made

    def _make(self, accept: str) -> None:
        try:
            content_type, body = self._exposed.exposition(accept)
            self._made = Page(HTTPStatus.OK, content_type, body)
        except BaseException as error:  # noqa: BLE001 - it may be anybody's, and whoever scrapes is to know
            self._made = plain_page(HTTPStatus.INTERNAL_SERVER_ERROR, f"metrics: {exception_line(error)}")
        self._wake()


def _failed(text: str) -> Page:
    return plain_page(HTTPStatus.SERVICE_UNAVAILABLE, text)
