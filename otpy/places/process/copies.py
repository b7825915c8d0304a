"""A process child whose handler forks: the copy is no actor, and may do what it wants until it speaks as one."""

from __future__ import annotations

import os
import sys
from contextlib import suppress
from typing import TYPE_CHECKING, Any, NoReturn

from otpy.places.process.loop_main import LoopMain

if TYPE_CHECKING:
    from otpy.places.process.inside import Inside

__all__ = ["mind_copies"]


def mind_copies(inside: Inside) -> None:
    """Have each copy of this process let go of the pipe, which two must not read, and end when it comes back.

    So a handler may use `os.fork`, or `multiprocessing` with forks, where the copy ends by itself. Nothing of the
    runtime works in it: of all threads it has one.
    """
    os.register_at_fork(after_in_child=lambda: _let_go(inside))


def _let_go(inside: Any) -> None:  # Any: what its methods are is changed
    inside.line.socket.close()
    inside.line.send = inside.line.say = inside.read = _leave
    if isinstance(inside.home, LoopMain):
        inside.home.event_loop.call_soon(_leave)  # its loop has no other thread: what is next there is this
    elif inside.home is not None:
        inside.home.queue = _NoTurns()


class _NoTurns:
    """The run queue of a copy: it has come back from the handler that made it."""

    def popleft(self) -> NoReturn:
        _leave()

    def append(self, _: object) -> None:
        """Nobody will take it."""

    def __len__(self) -> int:
        return 0


def _leave(*_: object, **__: object) -> NoReturn:
    with suppress(Exception):
        sys.stderr.write(
            "a copy of a process child, made by os.fork, has ended: it came back to otpy, and is no actor\n"
        )
        sys.stderr.flush()
    os._exit(1)
