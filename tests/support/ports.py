"""Ports of TCP for tests that listen at one again and again."""

from __future__ import annotations

import socket
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["own_port"]


@contextmanager
def own_port() -> Iterator[int]:
    """A port of 127.0.0.1 at which one may listen in this block, and which no other program is given meanwhile.

    Linux gives nobody a port to which a socket is bound, and lets another be bound to it by name, when both have
    SO_REUSEADDR and this one does not listen.
    """
    with socket.socket() as held:
        held.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        held.bind(("127.0.0.1", 0))
        yield held.getsockname()[1]
