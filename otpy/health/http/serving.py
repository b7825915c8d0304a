"""The probes' server: one thread over all its sockets, which waits for no actor and for no client.

It writes no log while it serves: a logging handler may be the very thing that is stuck.
"""

from __future__ import annotations

import selectors
import threading
import time
from http import HTTPStatus
from math import inf
from typing import TYPE_CHECKING

from otpy.control.door import Door
from otpy.control.forks import after_fork, forget
from otpy.core.text import exception_line
from otpy.health.http.page import Asked, Page, plain_page
from otpy.health.http.visitor import Visitor

if TYPE_CHECKING:
    import socket
    from collections.abc import Callable
    from types import TracebackType
    from typing import Self

    from otpy.health.http.scrape import Scrape

__all__ = ["Serving"]

GRACE = 0.5
"""Seconds, when it closes, in which what is written is taken."""


class Serving:
    """A listening socket and the thread that serves it, as a resource."""

    def __init__(
        self,
        listener: socket.socket,
        answer: Callable[[Asked], Page | None],
        *,
        name: str,
        patience: float,
        max_clients: int,
        died: Callable[[str], object],
    ) -> None:
        """Own the socket from now on.

        Args:
            listener: where clients come; it listens already.
            answer: gives the answer at once, or None: then it comes by `scrape`.
            name: of the thread.
            patience: seconds for a whole visit.
            max_clients: connections at once; the oldest makes room for the next.
            died: called in the thread when it ends by a mistake, with what that was.
        """
        self._door = Door(listener)
        self._answer = answer
        self._patience = patience
        self._max_clients = max_clients
        self._died = died
        self.scrape: Scrape | None = None
        self._visitors: dict[socket.socket, Visitor] = {}
        self._close_by: float | None = None
        self._hook = after_fork(self._let_go)
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)

    def __enter__(self) -> Self:
        """Begin to serve. Raises RuntimeError when there is no thread for it."""
        try:
            self._thread.start()
        except BaseException:
            self._let_go()
            forget(self._hook)
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Take no more clients, let those go that have their answers, and end; twice is once, from any thread."""
        self._close_by = time.monotonic() + GRACE
        self.wake()
        self._thread.join(2 * GRACE)
        forget(self._hook)
        self._let_go()

    def wake(self) -> None:
        """Have the thread look around; from any thread."""
        self._door.wake()

    def _run(self) -> None:
        try:
            self._door.open()
            while not self._is_over(now := time.monotonic()):
                self._round(now)
        except Exception as error:  # noqa: BLE001 - whoever started it decides what then
            self._let_go()
            if self._close_by is None:
                self._died(exception_line(error))

    def _is_over(self, now: float) -> bool:
        if self._close_by is None:
            return False
        return now >= self._close_by or not any(one.has_to_write for one in self._visitors.values())

    def _round(self, now: float) -> None:
        for visitor, events in self._door.wait(now, self._until()):
            self._serve(visitor, events)
        for connected in self._door.callers():
            self._welcome(connected)
        self._hand_out_scrape()
        self._end_overdue(time.monotonic())

    def _until(self) -> float:
        """When it has something to do, whoever says something before."""
        first = min((one.until for one in self._visitors.values()), default=inf)
        return first if self._close_by is None else min(first, self._close_by)

    def _welcome(self, connected: socket.socket) -> None:
        if len(self._visitors) >= self._max_clients:
            self._drop(min(self._visitors.values(), key=lambda one: one.came))
        self._visitors[connected] = visitor = Visitor(connected, time.monotonic() + self._patience)
        self._door.watch(connected, selectors.EVENT_READ, visitor)

    def _serve(self, visitor: Visitor, events: int) -> None:
        if visitor.socket not in self._visitors:  # dropped earlier in this round
            return
        try:
            if events & selectors.EVENT_WRITE:
                visitor.flush(time.monotonic())
            if events & selectors.EVENT_READ:
                self._take_in(visitor)
        except BlockingIOError:
            pass
        except OSError:
            self._drop(visitor)
            return
        self._listen(visitor)

    def _take_in(self, visitor: Visitor) -> None:
        asked = visitor.receive()
        if isinstance(asked, Asked):
            visitor.is_head = asked.method == "HEAD"
            page = self._page_for(asked)
            visitor.is_waiting = page is None
        else:
            page = asked
        if page is not None:
            visitor.answer(page, time.monotonic())

    def _page_for(self, asked: Asked) -> Page | None:
        try:
            return self._answer(asked)
        except Exception as error:  # noqa: BLE001 - the next one may be answered
            return plain_page(HTTPStatus.INTERNAL_SERVER_ERROR, exception_line(error))

    def _hand_out_scrape(self) -> None:
        page = None if self.scrape is None else self.scrape.take()
        for visitor in [one for one in self._visitors.values() if one.is_waiting] if page is not None else []:
            self._say(visitor, page)

    def _say(self, visitor: Visitor, page: Page | None) -> None:
        try:
            if page is not None:
                visitor.answer(page, time.monotonic())
        except OSError:
            self._drop(visitor)
        else:
            self._listen(visitor)

    def _listen(self, visitor: Visitor) -> None:
        """Wait for what is to be waited for; for nothing while the answer is made for one that says nothing more."""
        events = 0 if visitor.is_deaf else selectors.EVENT_READ
        events |= selectors.EVENT_WRITE if visitor.has_to_write else 0
        if visitor.is_over:
            self._drop(visitor)
            return
        self._door.watch(visitor.socket, events, visitor)

    def _end_overdue(self, now: float) -> None:
        for visitor in [one for one in self._visitors.values() if one.until <= now]:
            self._expire(visitor, now)

    def _expire(self, visitor: Visitor, now: float) -> None:
        late = HTTPStatus.SERVICE_UNAVAILABLE if visitor.is_waiting else HTTPStatus.REQUEST_TIMEOUT
        try:
            if not visitor.expire(plain_page(late, "metrics: late" if visitor.is_waiting else None), now):
                self._drop(visitor)
                return
        except OSError:
            self._drop(visitor)
            return
        self._listen(visitor)

    def _drop(self, visitor: Visitor) -> None:
        self._visitors.pop(visitor.socket, None)
        self._door.drop(visitor.socket)

    def _let_go(self) -> None:
        self._door.close(self._visitors)
        self._visitors.clear()
