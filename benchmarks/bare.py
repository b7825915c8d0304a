"""What processes of bare `multiprocessing` run: nothing of otpy, so that a start of one costs no more than it must."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from multiprocessing.connection import Connection


def crunch(rounds: int) -> int:
    """Keep one core busy in pure Python."""
    total = 0
    for number in range(rounds):
        total += number & 7
    return total


def echo(pipe: Connection) -> None:
    """Send back what comes."""
    pipe.send(None)
    with suppress(EOFError):
        while True:
            pipe.send(pipe.recv())


def work(pipe: Connection) -> None:
    """Compute for as many rounds as come."""
    pipe.send(None)
    with suppress(EOFError):
        while True:
            pipe.send(crunch(pipe.recv()))


def drain(queue: Any, pipe: Connection) -> None:
    """Take what comes through a queue; say when it was None."""
    pipe.send(None)
    while True:
        if queue.get() is None:
            pipe.send(None)
