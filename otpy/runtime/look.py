"""Looking into an actor: its state, told in its own turn and within a time, and the kinds of its waiting messages."""

from __future__ import annotations

from types import CoroutineType
from typing import TYPE_CHECKING, Any

from otpy.core.record import MailboxRecord, StateRecord
from otpy.core.text import exception_line, visible
from otpy.errors import ActorExit
from otpy.runtime.links import Monitor, watch
from otpy.runtime.mailbox import poke
from otpy.runtime.message import message_word
from otpy.runtime.portrait import portrait
from otpy.runtime.seat import Slot, here
from otpy.runtime.stacks import doing, stacks_of
from otpy.runtime.waiting import first_messages

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from otpy.runtime.ref import Ref

__all__ = ["GONE", "LATE", "ask_in_turn", "lines_of", "mailbox_of", "state_of"]

LATE = object()
"""The actor was in a message all the time."""
GONE = object()
"""The actor ended first."""


def ask_in_turn(ref: Ref[Any], question: Callable[[Ref[Any]], object], timeout: float) -> object:
    """What an actor answers in its own turn, before its next message; `LATE` after so many real seconds, or `GONE`."""
    slot = Slot(here())
    monitor = _End(ref, slot)

    def answer(own: Ref[Any]) -> object:
        told = question(own)
        if told.__class__ is CoroutineType:
            return _answer_later(slot, told)
        slot.resolve(told)
        return None

    try:
        watch(monitor)
        poke(ref, answer)
        return slot.value if slot.wait(timeout) else LATE
    finally:
        monitor.cancel()
        slot.abandon()


async def _answer_later(slot: Slot, told: Any) -> None:
    slot.resolve(await told)


class _End(Monitor):
    """Ends the wait for the answer of an actor that has ended."""

    __slots__ = ("slot",)

    def __init__(self, ref: Ref[Any], slot: Slot) -> None:
        super().__init__(ref, ref, None)
        self.slot = slot

    def fire(self, reason: object) -> None:  # noqa: ARG002 - the same for all
        self.slot.resolve(GONE)


def state_of(ref: Ref[Any], status: str, timeout: float) -> StateRecord:
    """An actor's public attributes, or what keeps it from telling them."""
    told = lines_of(ref) if here().ref is ref else ask_in_turn(ref, lines_of, timeout)
    if isinstance(told, tuple):
        return StateRecord(path=ref.path, status=status, state=told)
    if told is GONE:
        return StateRecord(path=ref.path, status="stopped", problem=f"it has just ended: {visible(str(ref.reason))}")
    stack = stacks_of(ref.system, ref)
    return StateRecord(path=ref.path, status=status, problem=visible(doing(ref.system, ref), 1_000), stack=stack)


def lines_of(ref: Ref[Any]) -> tuple[str, ...]:
    """The lines of a portrait; what a user's `redact` raises must not end the actor, for it was only looked at."""
    try:
        return tuple([f"{name} = {text}" for name, text in portrait(ref)])
    except ActorExit:
        raise
    except BaseException as error:
        return (f"<showing it raised {exception_line(error)}>",)


def mailbox_of(ref: Ref[Any], status: str, limit: int) -> MailboxRecord:
    """The first messages by kind; costs as much as it shows, however many wait."""
    return MailboxRecord(
        path=ref.path,
        status=status,
        length=len(ref.mailbox or ()),
        messages=tuple(_words(ref, limit)),
        doing=visible(doing(ref.system, ref), 1_000),
    )


def _words(ref: Ref[Any], limit: int) -> Iterator[str]:
    for message in first_messages(ref, limit):
        caller = getattr(message, "ref", None)
        yield visible(message_word(message) + (f" from {caller.path}" if caller is not None else ""))
