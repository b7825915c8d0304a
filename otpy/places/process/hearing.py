"""What a process child says, taken in message by message; in the thread of `Ports`."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Any

from otpy.core.reason import Reason
from otpy.errors import MailboxFullError
from otpy.places.process.bounded import BoundedFarBox
from otpy.places.process.codec import GarbageError, error_of
from otpy.places.process.incoming import nobody, receive
from otpy.places.process.limits import MemoryWatch
from otpy.places.process.say import Born, Say
from otpy.places.process.states import hear_state
from otpy.places.process.ties import hear_tie

if TYPE_CHECKING:
    from otpy.places.process.child import Child

__all__ = ["hear"]

_CALLS = (Say.CALL, Say.CALL_WORDS, Say.ASK)


def hear(child: Child, frame: list[Any]) -> None:
    """Take in one message. Raises GarbageError for what no child of otpy's sends."""
    if child.ref is None:
        raise GarbageError("it spoke before it was asked")
    if child.ref.reason is not None:  # it was killed: whatever it has sent since then is heard by nobody
        return
    match frame:
        case [Say.REPLY, number, value]:
            child.line.answer(number, value)
            child.lead.answered()
            _notice_idle(child)
        case [Say.FAIL, number, name, text, facts]:
            child.line.refuse(number, error_of(name, text, facts))
            _notice_idle(child)
        case [int(say), int(to), *_] if say <= Say.CALL_WORDS:
            _pass_on(child, to, frame)
        case [Say.STATE, *words]:
            hear_state(child, words)
        case _ if hear_tie(child, frame):
            pass
        case _:
            _hear_of_itself(child, frame)


def _hear_of_itself(child: Child, frame: list[Any]) -> None:
    match frame:
        case [Say.PONG] if child.pulse is not None:
            child.pulse.answered()
        case [Say.BORN, Born.STARTED, None] if child.pulse is None:
            child.pulse = child.ports.heartbeats.begin(child, child.options.silence)
            if child.options.max_memory_bytes is not None:
                MemoryWatch(child, child.options.max_memory_bytes)
            child.note_birth()
            child.ports.add_spare(child.origin)
        case [Say.BORN, int(kind), None | Reason() as reason] if child.pulse is None and kind != Born.STARTED:
            child.failed_birth = (kind, reason)
            child.expect_end()
        case [Say.ENDED, Reason() as reason]:
            child.end_reason = reason
            child.expect_end()
        case _:
            _hear_of_inside(child, frame)


def _hear_of_inside(child: Child, frame: list[Any]) -> None:
    match frame:
        case [Say.GONE, int(number), Reason() as reason]:
            child.refs.gone(number, reason)
        case [Say.DEPTH, int(received), int(depth)] if isinstance(child.ref.mailbox, BoundedFarBox):
            child.ref.mailbox.has_taken(received, depth)
        case _:
            raise GarbageError(f"it sent a message of kind {frame[0]} that has no meaning")


def _pass_on(child: Child, to: int, frame: list[Any]) -> None:
    target = child.refs.own.get(to)
    if target is None:
        nobody(child.line, frame)
        return
    if frame[0] in _CALLS:
        child.ports.circles.note_call(child)
    with suppress(MailboxFullError):
        if not receive(child.line, target, frame, child.sender):
            raise GarbageError(f"it sent a message of kind {frame[0]} that has no meaning")


def _notice_idle(child: Child) -> None:
    if not child.line.waiting:
        child.ref.system.pool.notice_idle()
