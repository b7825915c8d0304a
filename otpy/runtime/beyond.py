"""The seam for looking into actors that run elsewhere: what the inspector asks of whoever stands here for them."""

from __future__ import annotations

import time
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Protocol

from otpy.errors import OtpyError

if TYPE_CHECKING:
    from collections.abc import Callable

    from otpy.core.record import ActorRecord, DrainRecord, MailboxRecord, StateRecord
    from otpy.runtime.ref import Ref
    from otpy.runtime.system import System

__all__ = ["LOOK_TIME", "Beyond", "Seen", "look_at", "look_beyond", "stands_for"]

LOOK_TIME = 0.5
"""Real seconds in which those elsewhere must have answered whoever looks at a tree."""


class Seen(Protocol):
    """What was seen of one actor elsewhere and of all below it, or why nothing was."""

    own: ActorRecord | None
    """Its own record, as it is known in there; None when there was no answer."""
    below: list[ActorRecord]
    """Those below it, depth first."""

    def merge(self, outer: ActorRecord) -> ActorRecord:
        """Its record: what is known on this side, with what is known in there."""


class Beyond(Protocol):
    """Stands here for an actor elsewhere. All paths are those of the whole program; each wait has its time."""

    def begin(self, path: str, limit: int, within: float) -> Callable[[float], Seen]:
        """Ask for the records at and below a path; the function waits so many seconds for the answer.

        It raises NoSuchActorError when nobody is there.
        """

    def stack(self, path: str) -> str | None:
        """As `Inspection.stack`."""

    def state(self, path: str, timeout: float) -> StateRecord:
        """As `Inspection.state`."""

    def mailbox(self, path: str, limit: int) -> MailboxRecord:
        """As `Inspection.mailbox`."""

    def doing(self, path: str) -> str:
        """As `Inspection.doing`."""

    def drain(self, what: str, args: list[object], tell: Callable[[DrainRecord | None], object]) -> None:
        """Have what is there take part in a drain; `tell` hears how far it is, or None when there is no answer.

        `ask` has a hook called, with the reason and the seconds for it; `look` only looks; `save` has states written.
        It is called in any thread, and must be quick.
        """

    def end_now(self) -> None:
        """Kill its process with all of its group, and wait for nothing; for the handler of a signal."""

    def carry_out(self, verb: str, path: str, timeout: float | None, *args: object) -> None:
        """Have one of the operating verbs of `Inspection` carried out there; None waits until it is done."""


def stands_for(system: System, path: str, *, below: bool = False) -> Beyond | None:
    """Who stands here for what is at a path, or only for what is below itself."""
    for ref, beyond in system.beyonds.copy().items():
        if ref.reason is None and (path.startswith(f"{ref.path}/") or (path == ref.path and not below)):
            return beyond
    return None


def look_beyond(system: System, path: str | None, limit: int, within: float) -> dict[Ref[Any], Seen]:
    """What is seen of all that run elsewhere at or below a path; all are asked before the first is waited for."""
    asked = [
        (ref, beyond.begin(ref.path, limit, within))
        for ref, beyond in system.beyonds.copy().items()
        if ref.reason is None and (path is None or f"{ref.path}/".startswith(f"{path}/"))
    ]
    by = time.monotonic() + within
    found = {}
    for ref, wait in asked:
        with suppress(OtpyError):  # it is about to be born, or has just ended
            found[ref] = wait(max(0.0, by - time.monotonic()))
    return found


def look_at(system: System, ref: Ref[Any] | None, within: float) -> dict[Ref[Any], Seen]:
    """The same for one actor alone; empty when it runs here."""
    found = {}
    if ref is not None and ref in system.beyonds:
        with suppress(OtpyError):
            found[ref] = system.beyonds[ref].begin(ref.path, 0, within)(within)
    return found
