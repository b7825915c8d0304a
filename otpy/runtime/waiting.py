"""Who waits for an actor: the callers whose calls fail when it ends."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from otpy.runtime.ref import Ref

__all__ = ["caller_line", "first_messages", "may_be_waited_for", "waiting_callers"]

MAX_LOOKED_AT = 100
"""Waiting messages in which a death looks for callers."""

_NO_CALLER = (tuple, str, type(None))


def may_be_waited_for(ref: Ref[Any], current: object) -> bool:
    """Whether there can be callers at all; mostly there are none, and then nobody need look for them."""
    return bool(ref.mailbox) or current.__class__ not in _NO_CALLER or (ref.more is not None and ref.more.has_deferred)


def waiting_callers(ref: Ref[Any], current: object) -> Iterator[Any]:
    """The callers whose calls fail by a death: that of the current message, deferred ones, and those in the queue."""
    deferred = ref.more.tables()[2] if ref.more is not None else ()
    found: Iterable[Any] = [current, *deferred, *first_messages(ref, MAX_LOOKED_AT)]
    # Who looks into a process child stands in the same line, and has no seat: no call of anybody fails by that.
    return (one for one in found if hasattr(one, "claim") and one.claim and hasattr(one, "seat"))


def first_messages(ref: Ref[Any], limit: int) -> Iterator[Any]:
    """The first messages that wait, at most so many; costs no more than that, whatever waits."""
    box = ref.mailbox or ()
    for index in range(min(len(box), limit)):
        try:
            yield box[index]  # not iterated: another thread may append meanwhile
        except IndexError:
            return


def caller_line(caller: Any) -> str:  # Any: a `Caller`
    """Who it is, and what it asks for."""
    ref = caller.seat.ref
    who = ref.path if ref is not None else caller.seat.thread_name or _thread_name(caller.seat.ident)
    return f"{who} in call {caller.request}"


def _thread_name(ident: int) -> str:
    return next((thread.name for thread in threading.enumerate() if thread.ident == ident), f"thread {ident}")
