"""Lines of a traceback as text, and which of them are the user's own."""

from __future__ import annotations

import linecache
import os
from pathlib import Path
from typing import TYPE_CHECKING

from otpy.core.value import value

if TYPE_CHECKING:
    from types import TracebackType

__all__ = ["Frame", "frames_of", "is_own", "user_frame"]

MAX_FRAMES = 20
"""Frames kept of a traceback, the innermost; deep recursion has a thousand."""


@value
class Frame:
    """One line of a traceback, as text."""

    file: str
    line: int
    function: str

    def __str__(self) -> str:
        source = linecache.getline(self.file, self.line).strip()
        head = f'  File "{self.file}", line {self.line}, in {self.function}'
        return f"{head}\n    {source}" if source else head


def frames_of(traceback: TracebackType | None) -> tuple[Frame, ...]:
    """The frames of a traceback without otpy's own, innermost last; of one with no others the innermost."""
    frames: list[Frame] = []
    while traceback is not None:
        code = traceback.tb_frame.f_code
        is_last = traceback.tb_next is None
        if frames or is_last or not is_own(code.co_filename):
            frames.append(Frame(code.co_filename, traceback.tb_lineno, code.co_name))
        traceback = traceback.tb_next
    return tuple(frames[-MAX_FRAMES:])


def user_frame(frames: tuple[Frame, ...]) -> str | None:
    """The innermost line of the user's own code in a traceback, as `file:line in function`.

    Failing that, one in an installed package, and failing that the innermost of all.
    """
    inward = frames[::-1]
    others = [frame for frame in inward if not frame.file.startswith(_LIBRARY) or "site-packages" in frame.file]
    others = [frame for frame in others if not is_own(frame.file)]
    own = (frame for frame in others if "site-packages" not in frame.file)
    frame = next(own, None) or next(iter(others), None) or next(iter(inward), None)
    return None if frame is None else f"{frame.file}:{frame.line} in {frame.function}"


_LIBRARY = (str(Path(os.__file__).parent) + os.sep, "<frozen ")
# otpy's own frames stand above every handler and would only hide it; the demo is a user's program.
_OWN = str(Path(__file__).parents[1]) + os.sep
_DEMO = os.path.join(_OWN, "demo", "")  # noqa: PTH118 - compared as text, for each frame of each crash


def is_own(file: str) -> bool:
    """Whether a file is one of otpy's own, by its name."""
    return file.startswith(_OWN) and not file.startswith(_DEMO)
