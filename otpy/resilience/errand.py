"""Functions of the user's, called by actors of their own, so that one that hangs holds up nobody but itself."""

from __future__ import annotations

from dataclasses import dataclass
from types import CoroutineType
from typing import TYPE_CHECKING, Any

from otpy.actors.gen_server import GenServer
from otpy.core.late import asyncio
from otpy.core.spec import ChildSpec, child
from otpy.core.value import value
from otpy.errors import CallTimeoutError, OtpyError
from otpy.resilience.guard import is_async
from otpy.runtime.request import call, cast

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from otpy.runtime.ref import Ref
    from otpy.runtime.timers import Timer

__all__ = ["Due", "Errands", "Outcome", "Staff", "hands_of"]

Function = Any
"""The user's, with arguments of many kinds, plain or a coroutine function."""

Staff = dict[str, "Ref[Any]"]
"""Who calls which function now, by its name."""


@value
class Outcome:
    """What became of a call."""

    found: Any = None  # Any: what the user's function returns
    error: Exception | None = None


@value
class Due:
    """The time of an errand is over; a message of its actor to itself."""

    ticket: int


@dataclass(slots=True, eq=False)
class Errand:
    """A call that somebody waits for."""

    name: str
    hand: Ref[Any]
    timer: Timer
    then: Callable[[Outcome], object] | None
    """None once it is too late: then its hand alone is waited for."""


class PlainHand(GenServer):
    """Calls a plain function."""

    otpy_is_errand = True

    def init(self, name: str, function: Function, staff: Staff) -> None:
        """Be the one that calls it."""
        self._function = function
        self.calling = False
        staff[name] = self.ref

    @call
    def ask(self, ticket: int, args: tuple[Any, ...]) -> Outcome:  # noqa: ARG002 - as that of coroutines
        """Call it, and say what it did."""
        return self._called(args)

    @cast
    def run(self, ticket: int, args: tuple[Any, ...], land: Callable[[int, Outcome], object]) -> None:
        """Call it, and have told what it did."""
        land(ticket, self._called(args))

    @cast
    def drop(self, ticket: int) -> None:
        """Its time is over; a thread cannot be stopped."""

    def _called(self, args: tuple[Any, ...]) -> Outcome:
        self.calling = True
        try:
            found = self._function(*args)
        except Exception as error:  # noqa: BLE001 - the user's code
            return Outcome(error=error)
        finally:
            self.calling = False
        if found.__class__ is CoroutineType:
            found.close()
            return Outcome(error=TypeError("it returned a coroutine: declare it `async`"))
        return Outcome(found)


class AsyncHand(GenServer):
    """Awaits a coroutine function, and cancels it when its time is over."""

    max_concurrency = 2
    otpy_is_errand = True

    def init(self, name: str, function: Function, staff: Staff) -> None:
        """Be the one that awaits it."""
        self._function = function
        self._tasks: dict[int, asyncio.Task[Any] | None] = {}
        self.calling = False
        staff[name] = self.ref

    @call
    async def ask(self, ticket: int, args: tuple[Any, ...]) -> Outcome:
        """Await it, and say what it did."""
        return await self._called(ticket, args)

    @cast
    async def run(self, ticket: int, args: tuple[Any, ...], land: Callable[[int, Outcome], object]) -> None:
        """Await it, and have told what it did."""
        land(ticket, await self._called(ticket, args))

    @cast
    async def drop(self, ticket: int) -> None:
        """Its time is over."""
        task = self._tasks.pop(ticket, None)
        if task is not None:
            task.cancel()

    async def _called(self, ticket: int, args: tuple[Any, ...]) -> Outcome:
        self.calling = True
        self._tasks[ticket] = asyncio.current_task()
        try:
            return Outcome(await self._function(*args))
        except asyncio.CancelledError:
            if ticket in self._tasks:  # the actor is killed, or told to stop
                raise
            return Outcome(error=TimeoutError("it was cancelled, for its time was over"))
        except Exception as error:  # noqa: BLE001 - the user's code
            return Outcome(error=error)
        finally:
            self._tasks.pop(ticket, None)
            self.calling = False


def hands_of(functions: Mapping[str, Function], staff: Staff) -> list[ChildSpec]:
    """The specs of the actors that call functions; those that are None need none."""
    return [
        child(_hand(function), name, function, staff).opts(id=name)
        for name, function in functions.items()
        if function is not None
    ]


def _hand(function: Function) -> Any:  # Any: both have the same requests
    return AsyncHand if is_async(function) else PlainHand


class Errands:
    """What an actor has its hands do; used in its turns alone. It hands on to it each `Due` and each `Down` of a hand.

    While a function that is too late has not come back, it is not called again.
    """

    def __init__(
        self, actor: GenServer, staff: Staff, functions: Mapping[str, Function], land: Callable[[int, Outcome], object]
    ) -> None:
        """Of an actor. `land` is called in any thread: it is to have `landed` called in a turn."""
        self._actor, self._staff, self._functions, self._land = actor, staff, functions, land
        self._errands: dict[int, Errand] = {}
        self._watched: set[Ref[Any]] = set()
        self._tickets = 0

    def has(self, name: str) -> bool:
        """Whether there is such a function."""
        return self._functions.get(name) is not None

    def is_out(self, name: str) -> bool:
        """Whether it is being called."""
        return any(errand.name == name for errand in self._errands.values())

    def wait(self, name: str, timeout: float, args: tuple[Any, ...]) -> Outcome:
        """Have a function called, and wait for what becomes of it; for an actor that is starting."""
        hand, kind = self._staff[name], _hand(self._functions[name])
        self._tickets += 1
        try:
            outcome: Outcome = hand.within(timeout).call(kind.ask, self._tickets, args)
        except CallTimeoutError:
            hand.cast(kind.drop, self._tickets)
            return Outcome(error=_late(name, timeout))
        except OtpyError as error:
            return Outcome(error=error)
        return outcome

    def start(self, name: str, timeout: float, args: tuple[Any, ...], then: Callable[[Outcome], object]) -> None:
        """Have a function called; `then` gets what becomes of it, in a turn of the actor's: once, at last in time."""
        hand = self._staff[name]
        if self.is_out(name):
            then(Outcome(error=TimeoutError(f"the last call of {name} has not come back")))
            return
        if hand not in self._watched:
            self._watched.add(hand)
            self._actor.monitor(hand)
        self._tickets += 1
        timer = self._actor.send_after(timeout, Due(self._tickets))
        self._errands[self._tickets] = Errand(name, hand, timer, then)
        hand.cast(_hand(self._functions[name]).run, self._tickets, args, self._land)

    def landed(self, ticket: int, outcome: Outcome) -> None:
        """A call has come back."""
        errand = self._errands.pop(ticket, None)
        if errand is not None and errand.then is not None:
            errand.timer.cancel()
            errand.then(outcome)

    def expired(self, due: Due) -> None:
        """The time of one is over: it has failed, and whatever it does now is of no interest."""
        errand = self._errands.get(due.ticket)
        if errand is None or errand.then is None:
            return
        then, errand.then = errand.then, None
        errand.hand.cast(_hand(self._functions[errand.name]).drop, due.ticket)
        then(Outcome(error=_late(errand.name, None)))

    def lost(self, hand: object) -> None:
        """A hand has ended, and what it was doing has failed."""
        self._watched = {one for one in self._watched if one is not hand}
        for ticket, errand in list(self._errands.items()):
            if errand.hand is hand:
                self.landed(ticket, Outcome(error=RuntimeError(f"the actor that calls {errand.name} ended")))


def _late(name: str, timeout: float | None) -> TimeoutError:
    return TimeoutError(f"{name} did not come back in time" + ("" if timeout is None else f" ({timeout:g} s)"))
