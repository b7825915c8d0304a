"""The frames of another thread, as they are at one moment."""

from __future__ import annotations

import gc
import sys
from itertools import accumulate, chain, repeat, takewhile
from operator import truth
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from types import FrameType

__all__ = ["frames_of"]

COLLECTS_AMID = sys.version_info < (3, 12)
"""Whether garbage is looked for where a frame is made; later Pythons do so between two steps of Python code."""


def frames_of(ident: int) -> list[FrameType]:
    """What a thread runs, the outermost first; nothing when there is no such thread.

    While it is looked at the thread gets no turn, so that no frame ends meanwhile. On CPython 3.11 nothing is collected
    either: the code of a finaliser would let others run in the middle of the making of a frame, which then belongs to a
    call that has ended (python/cpython#106092 and #106883 are of that kind: a crash, and a deadlock).
    """
    if not (COLLECTS_AMID and gc.isenabled()):
        return _walk(ident)
    gc.disable()
    try:
        return _walk(ident)
    finally:
        gc.enable()


def _walk(ident: int) -> list[FrameType]:
    top = sys._current_frames().get(ident)  # noqa: SLF001 - the documented way to see other threads
    # In C from the first to the last, for between two steps of Python another thread may get its turn.
    steps: chain[FrameType | str | None] = chain((top,), repeat("f_back"))
    return [*takewhile(truth, accumulate(steps, getattr))][::-1]  # type: ignore[arg-type]  # of frames
