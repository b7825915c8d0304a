"""Actors that run in another process, as they are seen in this one: a mailbox that sends what is put into it.

What users send is encoded and written by the sender's own thread, in the order in which it is put; no turn is needed.
"""

from __future__ import annotations

import threading
from collections import deque
from functools import cache
from typing import TYPE_CHECKING, Any

from otpy.core.decision import NoReply
from otpy.core.text import safe_repr
from otpy.errors import UncarriableError
from otpy.places.process.say import Say
from otpy.runtime.caller import Caller
from otpy.runtime.death import deliver_exit
from otpy.runtime.delivery import deliver_info, deliver_request, deliver_stop
from otpy.runtime.mailbox import deliver_tick, ready
from otpy.runtime.message import describe, with_keywords

if TYPE_CHECKING:
    from collections.abc import Callable

    from otpy.core.spec import Options
    from otpy.places.process.line import Line
    from otpy.runtime.actor import Actor
    from otpy.runtime.message import Message
    from otpy.runtime.ref import Ref

__all__ = ["FarBox", "stand_in"]

CAST = Say.CAST


@cache
def requests_of(cls: type[Actor]) -> tuple[dict[Any, tuple[Any]], dict[Any, tuple[Any]], dict[Any, tuple[int, int]]]:
    """The calls and casts of a class as its stand-in has them, and by function what they are called on the pipe.

    Both ends have the same class, so a request is known by its place among those of its kind.
    """
    known: dict[Any, tuple[int, int]] = {}
    tables: list[dict[Any, tuple[Any]]] = []
    for say, served in ((Say.CALL, cls.otpy_calls), (Say.CAST, cls.otpy_casts)):
        table: dict[Any, tuple[Any]] = {}
        for place, (request, (own,)) in enumerate(served.items()):
            function = _stand_in_for(own.__name__)
            table[request] = (function,)
            known[function] = (say, place)
        tables.append(table)
    return tables[0], tables[1], known


@cache
def stand_in(base: type[Actor], inside: type[Actor]) -> Any:  # Any: a class that has what both have
    """The class that stands in this process for one that runs in another: it knows the same requests."""
    calls, casts, _ = requests_of(inside)
    own: dict[str, Any] = {"__module__": __name__, "__doc__": base.__doc__, "inside": inside}
    made: Any = type(inside.__name__, (base,), own)
    made.otpy_calls, made.otpy_casts = calls, casts  # a stop always is a message to it
    return made


def _stand_in_for(name: str) -> Callable[..., object]:
    def pass_on(port: Any, *args: object, **kwargs: object) -> object:
        """Never in a turn, but for what was held while the actor was suspended."""
        current = port.ref.current
        if isinstance(current, Caller):
            port.ref.mailbox.post(current)
            return NoReply()
        port.ref.mailbox.post((with_keywords, pass_on, args, kwargs) if kwargs else (pass_on, *args))
        return None

    pass_on.__name__ = pass_on.__qualname__ = name
    return pass_on


class FarBox(deque["Message"]):
    """The mailbox of an actor that runs elsewhere; holds what comes before the pipe is there."""

    def __init__(self, ref: Ref[Any], inside: type[Actor], number: int, options: Options | None = None) -> None:
        """Belong to one actor, whose class and number on the pipe these are; `options` are those of a child."""
        super().__init__()
        self.options = options
        self._ref = ref
        self._requests = requests_of(inside)[2]
        self._casts = {function: place for function, (say, place) in self._requests.items() if say == Say.CAST}
        self._number = number
        self._line: Line | None = None
        # Until the pipe is there: what comes waits, and all of it goes before whatever comes later. RLock: a `__del__`
        # may send.
        self._lock = threading.RLock()

    def open(self, line: Line) -> None:
        """Send what has come so far, and from now on all that comes."""
        with self._lock:
            while deque.__len__(self):
                self._send(line, self.popleft())
            self._line = line

    def append(self, message: Message) -> bool | None:  # type: ignore[override]  # a deque's says nothing
        """Send a message.

        True when its answer has come already, False when it certainly will, or the death of the actor in its place; of
        all others who puts a message has to see to that, as with any mailbox.

        Raises:
            UncarriableError: to its sender; nothing was sent.
        """
        line = self._line
        if line is not None and self._ref.reason is None:
            if message.__class__ is tuple and (place := self._casts.get(message[0])) is not None:
                try:  # written out, for the many
                    line.send([CAST, self._number, place, *message[1:]], True)  # noqa: FBT003
                except UncarriableError as error:
                    raise self._refusal(message, error) from None
                return None
            return self._send(line, message)
        with self._lock:
            if self._line is None or self._ref.reason is not None:
                super().append(message)
                self._wake()
                return None
        return self.append(message)

    def _wake(self) -> None:
        """What waits here needs a turn; as in the runtime's `put`: appended, then looked at the token."""
        try:
            self._ref.tok.pop()
            ready(self._ref)
        except IndexError:
            return
        except BaseException:
            self._ref.system.pool.hurt.append(self._ref)
            raise

    @property
    def line(self) -> Line | None:
        """The pipe, once it is there."""
        return self._line

    def post(self, message: Message) -> None:
        """Send a message, whatever holds others back."""
        if self._line is not None:
            self._send(self._line, message)

    def say_kill(self) -> None:
        """Have the actor killed where it is."""
        if self._line is not None:
            self._line.say(Say.KILL, self._number)

    def copy(self) -> deque[Message]:  # type: ignore[override]  # no second mailbox, but what waits in this one
        """What waits here, in order."""
        return deque(self)

    def __len__(self) -> int:
        """How many wait here; of a dead one also those who wait for its answers, for they are to be told."""
        if self._ref.reason is not None and self._line is not None:
            self.extend(self._line.take_waiting(self._ref))
        return super().__len__()

    def _send(self, line: Line, message: Message) -> bool | None:
        if isinstance(message, tuple):
            self._say(line, message, 0)
            return None
        number = line.expect(message)
        try:
            self._say(line, message.message, number)
        except BaseException:
            line.waiting.pop(number, None)
            raise
        return None if line.lead is None else line.lead(message, number)

    def _say(self, line: Line, message: tuple[Any, ...], number: int) -> None:
        try:
            line.send(self._frame(message, number), may_wait=not number)
        except UncarriableError as error:
            raise self._refusal(message, error) from None

    def _refusal(self, message: tuple[Any, ...], error: UncarriableError) -> UncarriableError:
        return UncarriableError(f"{describe(message, self._ref.system.show)} to {self._ref.path}: {error.problem}")

    def _frame(self, message: tuple[Any, ...], number: int) -> list[Any]:
        function = message[0]
        words: dict[str, Any] = {}
        if function is with_keywords:
            _, function, args, words = message
        else:
            args = message[1:]
        known = self._requests.get(function)
        to = self._number
        if known is not None:
            say, place = known
            if words:
                say = Say.CALL_WORDS if say == Say.CALL else Say.CAST_WORDS
                args = (list(args), words)
            return [say, to, place, number, *args] if number else [say, to, place, *args]
        if function is deliver_info:
            return [Say.INFO, to, args[0]]
        if function is deliver_tick:
            args[1].is_waiting = False
            return [Say.INFO, to, args[0]]
        if function is deliver_request:
            return [Say.ASK, to, number, args[0]]
        if function is deliver_stop:
            return [Say.STOP, to, args[0]]
        if function is deliver_exit:
            signal = args[0]
            sender = None if signal.sender is self._ref.parent else signal.sender
            # The signals of the dead are those of links; they sent no others.
            return [Say.EXIT, to, sender, signal.reason, signal.sender.reason is not None]
        raise UncarriableError(f"{safe_repr(function)} has no meaning in another process")
