"""The base of all actors: what their code may ask of the runtime, and the hooks the runtime calls."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, ClassVar, Self, TypeVar

from otpy.core.decision import Stop
from otpy.core.reason import NoProc, Normal, Reason
from otpy.core.text import safe_repr
from otpy.errors import ActorExit, SpecError
from otpy.events.messages import UnknownMessage
from otpy.runtime.caller import Caller
from otpy.runtime.death import exit_signal
from otpy.runtime.delivery import deliver_info
from otpy.runtime.departing import Departing, hooks_of
from otpy.runtime.extras import AsyncResource
from otpy.runtime.links import Down, ExitSignal, Monitor, watch
from otpy.runtime.mailbox import Interval, tick
from otpy.runtime.named import NamedRef
from otpy.runtime.own_words import refuse_own_words
from otpy.runtime.portrait import show_of
from otpy.runtime.pykka import Future, PykkaActor, is_stop, is_wrapped, unwrap
from otpy.runtime.request import async_callback, vocabulary
from otpy.runtime.restoring import Restoring

if TYPE_CHECKING:
    from collections.abc import Callable
    from contextlib import AbstractAsyncContextManager, AbstractContextManager

    from otpy.core.spec import ChildSpec
    from otpy.runtime.records import Children
    from otpy.runtime.ref import Ref
    from otpy.runtime.system import System
    from otpy.runtime.timers import Timer

__all__ = ["Actor"]

T = TypeVar("T")

_EMPTY = ("otpy.actors.gen_server", "otpy.actors.keeper", "otpy.actors.function")
"""Where a `terminate` stands that does nothing unless somebody overrides it."""


class Actor(Departing, Restoring, PykkaActor):
    """An actor for pykka's users: `__init__`, `on_start`, `on_receive`, `on_stop` as they know them, by otpy's rules.

    All code of one actor runs in turns, one at a time, in its own `contextvars` context; pool actors change threads
    between turns. Most new code is better off with `GenServer`.
    """

    trap_exit: bool = False
    """Whether exit signals arrive as messages, and `terminate` runs when the supervisor says stop. OTP: trap_exit."""

    place: ClassVar[str] = "pool"
    """Where it runs unless its spec says otherwise: `pool`, `loop`, `thread` for libraries bound to one, or `process`.

    A class with a callback that is a coroutine function runs on the loop without saying so.
    """

    max_concurrency: ClassVar[int] = 1
    """How many messages a class with coroutine functions handles at once, each in a task; they begin in order."""

    is_otpy_actor: ClassVar[bool] = True
    is_supervisor: ClassVar[bool] = False
    stops_by_signal: ClassVar[bool] = False  # whether `ref.stop` has to be an exit signal, as it handles no messages
    otpy_calls: ClassVar[dict[object, tuple[Callable[..., Any]]]] = {}
    otpy_casts: ClassVar[dict[object, tuple[Callable[..., Any]]]] = {}
    otpy_async: ClassVar[str | None] = None  # a callback of it that is a coroutine function
    otpy_may_loop: ClassVar[bool] = True  # whether its own code never blocks
    otpy_winds_up: ClassVar[bool] = False  # whether `otpy_wind_up` tells it that its `shutdown` time is nearly over
    otpy_redacts: ClassVar[bool] = False
    otpy_is_answered_for: ClassVar[bool] = False  # whether another actor gives back what it has not done
    otpy_is_errand: ClassVar[bool] = False  # whether a drain need not wait for what it does: others see to it
    otpy_persists: ClassVar[bool] = False  # whether it has a `persist`: then it may be given back what that returned
    otpy_terminates: ClassVar[bool] = True  # whether its `terminate` does anything that somebody could see
    _own_init: ClassVar[bool] = False

    def __init_subclass__(cls, **kwargs: Any) -> None:
        """Note once for each class what every start and message would have to look up."""
        super().__init_subclass__(**kwargs)
        refuse_own_words(cls)
        cls.otpy_calls, cls.otpy_casts = vocabulary(cls)
        cls.otpy_terminates = getattr(cls.terminate, "__module__", "") not in _EMPTY
        cls.otpy_async = async_callback(cls)
        if cls.otpy_async is not None and cls.place == "pool" and "place" not in vars(cls):
            cls.place = "loop"
        cls.otpy_redacts = cls.redact is not Actor.redact
        cls.otpy_hooks = hooks_of(cls)
        cls.otpy_persists = "persist" in cls.otpy_hooks
        cls._own_init = cls.__init__ is not Actor.__init__

    if TYPE_CHECKING:
        # The checker then refuses `otpy.child(Class, …)` with arguments that its `init` does not take.
        def __init__(self) -> None: ...

    else:

        def __init__(self, *args: object, **kwargs: object) -> None:
            """Do nothing: what pykka makes here is made on first use."""

    @classmethod
    def make(cls, ref: Ref[Any]) -> Self:
        """A new object for one incarnation; called in its first turn."""
        actor = cls.__new__(cls)
        actor._actor_ref = ref  # noqa: SLF001 - its own class
        return actor

    @classmethod
    def start(cls, *args: Any, **kwargs: Any) -> Any:  # noqa: ARG003 - what pykka's takes
        """Not how otpy's actors start: they belong to a system."""
        message = f"start it with system.start({cls.__name__}, …) or as otpy.child({cls.__name__}, …) of a supervisor"
        raise TypeError(message)

    # What the actor's own code may ask for.

    @property
    def ref(self) -> Ref[Self]:
        """The actor's own ref."""
        return self._actor_ref  # type: ignore[return-value]  # pykka types it as its own

    @property
    def system(self) -> System:
        """The system it belongs to."""
        return self.ref.system

    @property
    def caller(self) -> Caller | None:
        """Who waits for the reply to the call being handled; None during other messages."""
        ref = self.ref
        if ref.more is not None and ref.more.crew is not None:
            return ref.more.crew.caller()
        current = ref.current
        return current if isinstance(current, Caller) else None

    def send_after(self, seconds: float, message: object) -> Timer:
        """Have `handle_info(message)` run once, so many seconds from now, on the system's clock.

        The timer dies with this incarnation. OTP: erlang:send_after/3.
        """
        ref = self._living()
        return ref.system.timers.after(seconds, tick, ref, (deliver_info, message), owner=ref.extras().timers)

    def send_interval(self, period: float, message: object) -> Timer:
        """Have `handle_info(message)` run every `period` seconds; late ones are left out, not made up for.

        While one waits in the mailbox, because the actor is busy, no other is put beside it.

        OTP: timer:send_interval/2, whose messages pile up.
        """
        if not 0 < period < math.inf:
            text = f"an interval is longer than 0 seconds, got {period!r}"
            raise ValueError(text)
        ref = self._living()
        return ref.system.timers.every(period, Interval(ref, message).tick, owner=ref.extras().timers)

    def cancel_timer(self, timer: Timer) -> bool:
        """Cancel a timer; False when it has fired: then its message may be in the mailbox."""
        return timer.cancel()

    def use(self, resource: AbstractContextManager[T]) -> T:
        """Enter a context manager that is closed, the last first, when this incarnation ends, however it ends."""
        more = self._living().extras()
        value = resource.__enter__()
        if more.resources is None:
            more.resources = []
        more.resources.append(resource)
        return value

    async def ause(self, resource: AbstractAsyncContextManager[T]) -> T:
        """As `use`, for an async context manager; what both have entered is closed in one reverse order.

        Closing it is part of the actor's end: `terminate` and all closing share the child's `shutdown` time, and the
        kill that follows cancels what is still being closed. While it is being entered nothing is counted yet; one
        whose entering is cancelled cleans up by itself, as in `async with`.
        """
        ref = self._living()
        value = await resource.__aenter__()
        if ref.reason is not None:  # killed meanwhile
            await resource.__aexit__(None, None, None)
            raise ActorExit(ref.reason)
        more = ref.extras()
        if more.resources is None:
            more.resources = []
        more.resources.append(AsyncResource(resource))
        return value

    def link(self, other: Ref[Any]) -> None:
        """Link to another actor: each hears of the other's death. OTP: link/1.

        A dead one sends its `NoProc` at once: as a message with `trap_exit`, else it ends this actor.
        """
        ref = self._living()
        if isinstance(other, NamedRef):
            text = f"link is with one incarnation, and {other!r} means whoever holds the name: link to its whereis()"
            raise TypeError(text)
        if other.system is not ref.system:
            text = f"{ref.path} and {other.path} belong to two systems: monitor it instead"
            raise ValueError(text)
        if not other.join(ref):
            exit_signal(ref, other, NoProc())

    def unlink(self, other: Ref[Any]) -> None:
        """Remove a link, if there is one; an exit message that has arrived stays. OTP: unlink/1."""
        other.part(self.ref)

    def monitor(self, target: Ref[Any] | NamedRef[Any] | str) -> Monitor:
        """Watch an actor, or whoever holds a name now: its end arrives as a `Down` message. OTP: monitor/2."""
        named = target.name if isinstance(target, NamedRef) else target
        found = self.system.whereis(named) if isinstance(named, str) else named
        monitor = Monitor(named, found, self._living())
        watch(monitor)
        return monitor

    def demonitor(self, monitor: Monitor, *, flush: bool = False) -> bool:
        """Watch no longer; False when it has fired: then its `Down` may be in the mailbox. OTP: demonitor/1,2.

        With `flush` a `Down` that is in the mailbox is dropped too.
        """
        monitor.muted = monitor.muted or flush
        return monitor.cancel()

    def spawn_link(self, start: Callable[..., Any] | ChildSpec, *args: Any, **kwargs: Any) -> Ref[Any]:
        """Start an actor linked to this one, without a moment in which it is not. OTP: start_link.

        Returns after its `init`; raises what its `init` raised, as a StartError.
        """
        return self.system.start_linked(self.ref, start, args, kwargs)

    async def aspawn_link(self, start: Callable[..., Any] | ChildSpec, *args: Any, **kwargs: Any) -> Ref[Any]:
        """As `spawn_link`, for a handler that is a coroutine function."""
        return await self.system.astart_linked(self.ref, start, args, kwargs)

    def register(self, name: str) -> None:
        """Take a name that is free; for an actor whose spec gave it none. OTP: register/2.

        Raises:
            NameTakenError: the name, or a name, is taken.
            SpecError: it is no text, or empty.
        """
        if not isinstance(name, str) or not name:
            raise SpecError(self.ref.path, f"name={safe_repr(name)}: a text; a name by otpy.name has one as .text")
        self.system.register(self.ref, name)

    def stop(self) -> None:
        """End after the messages that have already arrived; does not wait."""
        self.ref.stop(block=False)

    def _living(self) -> Ref[Any]:
        """The own ref, for code that is not fenced off; one that was killed but still runs is thrown out here."""
        ref: Ref[Any] = self._actor_ref  # type: ignore[assignment]  # pykka types it as its own
        if ref.reason is not None:
            raise ActorExit(ref.reason)
        return ref

    # What the runtime calls, in the actor's turns.

    def boot(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> object:
        """Run `init`; a supervisor does more."""
        return self.init(*args, **kwargs)

    def init(self, *args: Any, **kwargs: Any) -> object:
        """Start as pykka's actors do: `__init__` with the arguments, then `on_start`."""
        if self._own_init:
            type(self).__init__(self, *args, **kwargs)
        elif args or kwargs:
            text = f"{type(self).__name__} takes no arguments"
            raise TypeError(text)
        self.on_start()
        return None

    def terminate(self, reason: Reason) -> object:  # noqa: ARG002 - pykka's hooks take none
        """End as pykka's actors do: `on_stop`, or `on_failure` after a crash."""
        self.on_stop()
        return None

    def on_info(self, message: Any) -> object:
        """Handle what came by `tell`."""
        if is_wrapped(message):
            unwrap(self, message)
        elif is_stop(message):
            return Stop(Normal())
        else:
            self.on_receive(message)
        return None

    def on_request(self, message: Any, caller: Caller | None) -> object:  # noqa: ARG002 - GenServer passes it on
        """Handle what came by `ask`."""
        if is_wrapped(message):
            return unwrap(self, message)
        if is_stop(message):
            return Stop(Normal(), None)
        return self.on_receive(message)

    def on_receive(self, message: Any) -> Any:
        """Override to handle messages, as in pykka."""
        self.unknown(message)

    def on_exit_signal(self, signal: ExitSignal) -> object:
        """Handle an exit signal; the parent's ends the actor. OTP: the parent is who start_link'ed it."""
        if signal.sender is self.ref.parent:
            return Stop(signal.reason)
        return self.on_info(signal)

    def on_down(self, down: Down) -> object:
        """Handle the end of a watched actor."""
        return self.on_info(down)

    def on_stop_request(self, reason: Reason) -> object:
        """Handle `ref.stop()`."""
        return Stop(reason)

    def handle_timeout(self) -> object:
        """Handle a timeout that a decision asked for."""
        self.unknown("timeout")
        return None

    def otpy_children(self) -> Children | None:
        """Whom it supervises, for the inspector, in any thread; None for an actor that supervises nobody."""
        return None

    def otpy_wind_up(self) -> None:
        """Its `shutdown` time is nearly over; called on any thread, of those whose class says that it is told."""

    def redact(self, name: str, value: Any) -> object:  # noqa: ARG002 - for those who override it
        """Override to hide secrets in what otpy shows of this actor: its state, and its last message in a crash report.

        Called in the actor's own turn for each value before it is shown: with the name of the attribute, parameter,
        key or field, with `message` for what came by `tell`; items of a list or tuple have the name of their container.
        Returns the value to be shown in its place; one that raises hides it. What is named like a secret (`password`,
        `token`, `api_key`, …) is hidden before this is asked. The text of an exception is shown as it is.

        OTP: format_status/1.
        """
        return value

    def unknown(self, message: object) -> None:
        """Report a message that nobody handles; it harms nobody."""
        text = safe_repr(message, name="message", show=show_of(self.ref))
        self.system.events.emit(UnknownMessage(path=self.ref.path, message=text))

    @property
    def actor_urn(self) -> str:  # type: ignore[override]  # pykka stores one in each actor
        """For pykka's users."""
        return self.ref.actor_urn

    @property
    def actor_inbox(self) -> Any:  # type: ignore[override]  # as above
        """For pykka's users."""
        return self.ref.actor_inbox

    @property
    def actor_stopped(self) -> Any:  # type: ignore[override]  # as above
        """For pykka's users."""
        return self.ref.actor_stopped

    @staticmethod
    def _create_actor_inbox() -> Any:
        raise NotImplementedError

    @staticmethod
    def _create_future() -> Any:
        return Future()

    def _start_actor_loop(self) -> None:
        raise NotImplementedError
