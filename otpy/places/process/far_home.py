"""The home of an actor whose code runs in another process: here it has turns for its birth and its death alone."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from otpy.runtime.ref import Ref
    from otpy.runtime.system import System

__all__ = ["FarHome", "HiddenToken", "NoHome"]


class HiddenToken(list[bool]):
    """The `tok` of an actor that runs elsewhere: who sends a message finds none, for that needs no turn here.

    Who pops it, to have something done in a turn, still gets it.
    """

    __bool__ = staticmethod(bool)  # False, without a call of Python


class FarHome:
    """The home of an actor whose code runs elsewhere: messages need no turn here, births and deaths do."""

    place = "process"
    settle = None
    obey = None

    def __init__(self, system: System) -> None:
        """Pass on what needs a turn to the system's pool."""
        self.queue = self
        self.free: list[Any] = []
        self._pool = system.pool

    def append(self, ref: Ref[Any]) -> None:
        """Take an actor that has something to do here; `tok` is ours, as the runtime's `ready` has it."""
        self._pool.queue.append(ref)
        if self._pool.free:
            self._pool.engage()

    def popleft(self) -> Any:
        """Nobody takes turns from here."""
        raise IndexError

    def __len__(self) -> int:
        return 0

    def engage(self) -> bool:
        """Nothing to do: `append` has seen to it."""
        return True

    def close(self) -> None:
        """Nothing to close."""

    def release(self) -> None:
        """The same for one of its actors."""


class NoHome(FarHome):
    """The home of a ref of the other side, which has no turn here, not even for its death."""

    def append(self, ref: Ref[Any]) -> None:
        """Put its token back: what comes for a dead one is buried by who sends it, and for a living one it is sent.

        The parent of a child is the one who hears nothing here, for the port tells it of everything.
        """
        if ref.reason is None and ref.mailbox is not None:
            ref.mailbox.clear()
        ref.tok.append(True)
