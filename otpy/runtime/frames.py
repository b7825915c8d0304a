"""The frames of another thread. Only the GIL makes it safe to look at them; otpy runs on no build without it."""

from __future__ import annotations

import gc
import os
import sys
import threading
from itertools import accumulate, chain, repeat, takewhile
from operator import truth
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from types import FrameType

__all__ = ["frames_of"]

COLLECTS_AMID = sys.version_info < (3, 12)
"""Whether garbage is looked for where a frame is made; later Pythons do so between two steps of Python code."""

# Guards that nobody switches the collector on while another one looks. RLock: the handler of a signal may look, too.
_pausing = threading.RLock()


def _after_fork_in_child() -> None:
    global _pausing  # noqa: PLW0603 - a new lock in its place
    _pausing = threading.RLock()  # a thread that is gone now may have held it


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork_in_child)


def frames_of(ident: int) -> list[FrameType]:
    """What a thread runs, the outermost first; nothing when there is no such thread.

    From the innermost frame on, which may be over by then, the thread gets no turn meanwhile. On CPython 3.11 nothing
    is collected either: the code of a finaliser would let others run in the middle of the making of a frame, which then
    belongs to a call that has ended (python/cpython#106092 and #106883 are of that kind: a crash, and a deadlock).
    """
    if not COLLECTS_AMID:
        return _walk(ident)
    with _pausing:
        was_on = gc.isenabled()
        gc.disable()
        try:
            return _walk(ident)
        finally:
            if was_on:
                gc.enable()


def _walk(ident: int) -> list[FrameType]:
    top = sys._current_frames().get(ident)  # noqa: SLF001 - the documented way to see other threads
    # In C from the first to the last, for between two steps of Python another thread may get its turn.
    steps: chain[FrameType | str | None] = chain((top,), repeat("f_back"))
    return [*takewhile(truth, accumulate(steps, getattr))][::-1]  # type: ignore[arg-type]  # of frames
