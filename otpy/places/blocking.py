"""The refusal of a blocking call on an event loop's thread, which names what to await instead.

Nothing of it is passed down by the calls themselves, for they must stay fast everywhere else: what was called is the
frame of otpy's nearest to the code of its user.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from otpy.core.frames import is_own
from otpy.errors import BlockingError

if TYPE_CHECKING:
    from types import FrameType

__all__ = ["refuse_to_block"]

FORMS = {
    "Ref.call": "ref.acall(…)",
    "NamedRef.call": "ref.acall(…)",
    "Within.call": "ref.within(…).acall(…)",
    "Ref.ask": "ref.aask(…)",
    "NamedRef.ask": "ref.aask(…)",
    "Within.ask": "ref.within(…).aask(…)",
    "Ref.stop": "ref.astop(…)",
    "NamedRef.stop": "ref.astop(…)",
    "OutsideMonitor.wait": "monitor.await_down(…)",
    "Actor.spawn_link": "self.aspawn_link(…)",
    "System.start": "system.astart(…)",
    "Future.get": "the future itself",
    "sleep": "otpy.asleep(…)",
    "Application.wait": "system.await_end()",
    "Application.stop": "system.astop(…)",
    "System.stop": "system.astop(…)",
    "run": "otpy.run_async(…)",
    "Gate.wait": "gate.await_open()",
}
"""What has a form to be awaited."""

PARTS = ("Starting.", "Inspection.")
"""Parts of `System`, by whose names its users do not know it."""


def refuse_to_block(path: str | None) -> None:
    """Raise BlockingError for what the user's code has just called."""
    verb = _verb(sys._getframe(1))  # noqa: SLF001 - the documented way to the own frames
    raise BlockingError(path, verb, FORMS.get(verb))


def _verb(frame: FrameType | None) -> str:
    """The function of otpy's, or pykka's, that was called by code which is neither's."""
    name = ""
    while frame is not None and is_own(frame.f_code.co_filename):
        name = frame.f_code.co_qualname
        frame = frame.f_back
    return f"System.{name.partition('.')[2]}" if name.startswith(PARTS) else name
