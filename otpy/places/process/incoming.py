"""What comes over the pipe for actors of this side, in either process: messages, and who waits there for a reply."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

from otpy.core.reason import NoProc, Reason
from otpy.errors import NoProcError, UncarriableError
from otpy.places.process.codec import error_parts
from otpy.places.process.say import Say
from otpy.runtime.caller import Caller
from otpy.runtime.death import exit_signal, kill
from otpy.runtime.delivery import deliver_info, deliver_request
from otpy.runtime.mailbox import put
from otpy.runtime.message import with_keywords
from otpy.runtime.seat import Seat
from otpy.runtime.station import NO_LOCK

if TYPE_CHECKING:
    from collections.abc import Callable

    from otpy.places.process.line import Line
    from otpy.runtime.actor import Actor
    from otpy.runtime.ref import Ref

__all__ = ["FarCaller", "nobody", "own_requests", "receive"]

_NOBODY = Seat()
"""Where those sit who wait in another process."""


class FarCaller(Caller):
    """Who waits for a reply in another process."""

    __slots__ = ("_line", "_number")

    def __init__(self, line: Line, number: int, target: Ref[Any], message: tuple[Any, ...]) -> None:
        """Made by the thread that reads the pipe."""
        self.claim = [True]
        self.seat = _NOBODY
        self.lock = NO_LOCK
        self.value: Any = None
        self.target = target
        self.message = message
        self.error = None
        self.deferred = False
        self._line = line
        self._number = number
        line.asked[number] = self

    def fail(self, reason: Reason) -> None:
        """The actor has ended; if that ends the process, its port tells them all."""
        if self._line.is_parent:
            super().fail(reason)
        else:
            self._line.asked.pop(self._number, None)

    def wake(self) -> None:
        """Send the reply, or the error in its place."""
        self._line.asked.pop(self._number, None)
        error = self.error
        if error is None:
            try:
                self._line.say(Say.REPLY, self._number, self.value)
            except UncarriableError as problem:
                error = UncarriableError(f"the reply of {self.target.path} to {self.request}: {problem.problem}")
            else:
                return
        self._line.say(Say.FAIL, self._number, *error_parts(error))


@cache
def own_requests(cls: type[Actor]) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
    """The functions behind the calls and casts of a class, in the order both ends know."""
    return tuple([own for (own,) in cls.otpy_calls.values()]), tuple([own for (own,) in cls.otpy_casts.values()])


def receive(line: Line, ref: Ref[Any], frame: list[Any], sender_of: Callable[[Any], Ref[Any]]) -> bool:
    """Hand a message from the other side to an actor of this one; False when it is no message to an actor.

    Raises:
        LookupError: the actor has no such request, or the sender is a stranger.
        TypeError: a part of it is of the wrong kind.
    """
    calls, casts = own_requests(ref.actor_class)
    match frame:
        case [Say.CAST, _, place, *args]:
            put(ref, (casts[place], *args))
        case [Say.CALL, _, place, int(number), *args]:
            put(ref, FarCaller(line, number, ref, (calls[place], *args)))
        case [Say.CAST_WORDS, _, place, list(args), dict(words)]:
            put(ref, (with_keywords, casts[place], args, _checked(words)))
        case [Say.CALL_WORDS, _, place, int(number), list(args), dict(words)]:
            put(ref, FarCaller(line, number, ref, (with_keywords, calls[place], args, _checked(words))))
        case [Say.INFO, _, message]:
            put(ref, (deliver_info, message))
        case [Say.ASK, _, int(number), message]:
            put(ref, FarCaller(line, number, ref, (deliver_request, message)))
        case [Say.STOP, _, Reason() as reason]:
            ref.tell_to_stop(reason)
        case [Say.EXIT, _, sender, Reason() as reason, bool(_)]:
            exit_signal(ref, sender_of(sender), reason)  # never its own, which does not leave its process
        case [Say.KILL, _]:
            kill(ref)
        case _:
            return False
    return True


def nobody(line: Line, frame: list[Any]) -> None:
    """A message to an actor that has ended, which the sender did not know yet."""
    number = {Say.CALL: 3, Say.CALL_WORDS: 3, Say.ASK: 2}.get(frame[0])
    if number is not None:
        line.say(Say.FAIL, frame[number], *error_parts(NoProcError("an actor", "a request", NoProc())))


def _checked(words: dict[Any, Any]) -> dict[str, Any]:
    if not all(type(word) is str for word in words):
        raise TypeError(words)
    return words
