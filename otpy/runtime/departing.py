"""What an actor may do before its program stops: the hooks of a drain, which nobody has to have."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

if TYPE_CHECKING:
    from otpy.runtime.drain import Drain

__all__ = ["HOOKS", "Departing", "hooks_of"]

HOOKS = ("handle_drain", "persist", "handle_flush")
"""The hooks, in the order in which they are called; `persist` belongs to states over restarts, too."""


class Departing:
    """The half of an actor that is asked before it is stopped. Any of these may be a coroutine function."""

    otpy_hooks: ClassVar[frozenset[str]] = frozenset()  # those that somebody overrides

    def handle_drain(self, drain: Drain) -> object:  # noqa: ARG002 - for those who override it
        """Override to take in nothing more from outside the program: close the listener, pause the consumer.

        Runs in the actor's own turn, between two messages and before the next one, when the program, or the part of it
        with this actor, begins to drain; again for an incarnation that is started meanwhile. What other actors send is
        served on as before. Returns None when there is nothing to wait for; `NoReply()` when something still runs:
        then `drain.done()` says, from any thread, that it has finished. Who is late may still give back what it has in
        its `terminate`, and says so there; else it is left undone. What it raises is reported, and ends nobody.
        """
        return None

    def handle_flush(self, drain: Drain) -> object:  # noqa: ARG002 - as above
        """Override to get rid of what waits to be sent or written; as `handle_drain`, after what there is was saved."""
        return None


def hooks_of(cls: type[Departing]) -> frozenset[str]:
    """Which of the hooks a class has."""
    found = {name for name in HOOKS if getattr(cls, name, None) is not getattr(Departing, name, None)}
    return frozenset(name for name in found if callable(getattr(cls, name)))
