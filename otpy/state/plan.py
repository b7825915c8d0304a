"""How a program keeps what its actors persist, as `run` is told."""

from __future__ import annotations

from pathlib import Path
from typing import Literal, get_args

from otpy.core.text import safe_repr
from otpy.core.value import value
from otpy.errors import SpecError

__all__ = ["MAX_STATE_BYTES", "StateFile"]

MAX_STATE_BYTES = 16 * 1024 * 1024
"""What one actor may persist: it is written within the time that a program has for its end."""

Damaged = Literal["refuse", "set_aside"]


@value
class StateFile:
    """Where the states of a program are kept, as `otpy.run(state=…)` takes it; a path alone is one with defaults."""

    path: str | Path
    """The file; it is made when it is not there. Each program needs one of its own, on a local disk."""
    damaged: Damaged = "refuse"
    """What becomes of one that is damaged: `refuse` fails the start; `set_aside` moves it out of the way, with an event
    (`StateFileSetAside`), and begins without any state."""
    max_bytes: int = MAX_STATE_BYTES
    """What one actor may persist, in bytes; 16 MiB unless given, for it is written while the program ends."""

    def __post_init__(self) -> None:
        """Refuse what cannot be. Raises SpecError."""
        if not isinstance(self.path, str | Path) or not str(self.path):
            raise SpecError("StateFile", f"path={safe_repr(self.path)}: the path of a file")
        if self.damaged not in get_args(Damaged):
            raise SpecError("StateFile", f"damaged={safe_repr(self.damaged)}: one of {', '.join(get_args(Damaged))}")
        if type(self.max_bytes) is not int or self.max_bytes < 1:
            raise SpecError("StateFile", f"max_bytes={safe_repr(self.max_bytes)}: a whole number > 0")
