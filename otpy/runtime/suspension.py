"""Suspending and resuming an actor: it handles none of its messages, but still obeys whoever may end it. OTP: sys."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from otpy.runtime.links import ExitSignal
from otpy.runtime.mailbox import poke
from otpy.runtime.message import own_word

if TYPE_CHECKING:
    from otpy.runtime.message import Message
    from otpy.runtime.ref import Ref
    from otpy.runtime.timers import Timer

__all__ = ["heed", "is_order", "set_suspended"]


def set_suspended(ref: Ref[Any], *, is_suspended: bool, seconds: float | None) -> None:
    """Suspend or resume an actor; called in its own turn, between two messages.

    After `seconds`, if given, it is resumed again, unless somebody has said something else meanwhile.
    """
    more = ref.extras()
    if more.resumer is not None:
        more.resumer.cancel()
        more.resumer = None
    if is_suspended and not more.suspended:
        more.suspended_at = ref.system.clock.now()
    more.suspended = is_suspended
    if is_suspended and seconds is not None:
        more.resumer = _Resumer(ref).start(seconds)
    if is_suspended:
        poke(ref, heed)  # suspended, then looked; who gives an order puts it, then looks whether it is suspended


class _Resumer:
    """Resumes an actor when its time is over, unless somebody has said something else since."""

    def __init__(self, ref: Ref[Any]) -> None:
        self._ref = ref

    def start(self, seconds: float) -> Timer:
        self._timer = self._ref.system.timers.after(
            seconds, poke, self._ref, self._resume, owner=self._ref.extras().timers
        )
        return self._timer

    def _resume(self, ref: Ref[Any]) -> None:
        more = ref.extras()
        if more.resumer is self._timer:
            more.suspended, more.resumer = False, None


def heed(ref: Ref[Any]) -> object:
    """In a suspended actor's turn: obey its parent's exit signal, or a wish to stop it, wherever in its mailbox it is.

    It is suspended no longer then, for a supervisor needs its messages to stop its children.
    OTP: sys:suspend_loop receives the parent's exit and system messages alone, and `gen_server:stop` is one of those.
    """
    more = ref.extras()
    order = _take_order(ref) if more.suspended and ref.reason is None else None
    if order is None:
        return None
    more.suspended = False
    outer, ref.current = ref.current, order
    result = order[0](ref.actor, *order[1:])
    if result is not None and (later := ref.settle(result, None)) is not None:
        return later
    if ref.reason is None:
        ref.current = outer
    return None


def _take_order(ref: Ref[Any]) -> tuple[Any, ...] | None:
    box = ref.mailbox
    for message in box.copy() if box else ():
        if isinstance(message, tuple) and is_order(ref, message):
            return message if _remove(ref, message) else None
    return None


def _remove(ref: Ref[Any], message: Message) -> bool:
    """Take a message out of the middle; False when a kill has emptied the mailbox."""
    while ref.mailbox:
        try:
            ref.mailbox.remove(message)
        except IndexError:  # somebody put a message meanwhile
            continue
        except ValueError:
            return False
        return True
    return False


def is_order(ref: Ref[Any], message: Message) -> bool:
    """Whether a message is a wish that the actor ends, or its parent's exit signal."""
    word = own_word(message)
    if word == "exit":
        signal = message[1]  # type: ignore[index]  # callers are no orders
        return isinstance(signal, ExitSignal) and signal.sender is ref.parent
    return word == "stop"
