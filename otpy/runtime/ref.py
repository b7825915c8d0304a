"""Refs: the handle others hold of an actor, which is also its control block."""

from __future__ import annotations

from contextvars import Context
from typing import TYPE_CHECKING, Any, Generic, ParamSpec, TypeVar

from otpy.core.reason import Kill, NoProc, Normal, Reason, check_reason
from otpy.errors import CallExitError, CallTimeoutError, NoProcError, UnknownRequestError
from otpy.runtime import death
from otpy.runtime.awaited import acall
from otpy.runtime.awaiting import refuse_circle
from otpy.runtime.caller import CALL_TIMEOUT, call, request_future, time_limit
from otpy.runtime.delivery import deliver_info, deliver_request, deliver_stop
from otpy.runtime.extras import Extras, limit_above
from otpy.runtime.links import OutsideMonitor, add_link, drop_link, watch
from otpy.runtime.mailbox import bury, open_mailbox, poke, send
from otpy.runtime.message import with_keywords
from otpy.runtime.pykka import Future, PykkaRef
from otpy.runtime.pykka_view import Inbox, Stopped
from otpy.runtime.request import Call, Cast, request_name
from otpy.runtime.seat import here
from otpy.runtime.station import station
from otpy.runtime.suspension import heed
from otpy.runtime.turn import settle
from otpy.runtime.within import Within

if TYPE_CHECKING:
    from collections import deque
    from collections.abc import Callable, Coroutine

    from otpy.runtime.edge import Edge
    from otpy.runtime.home import Home
    from otpy.runtime.message import Message
    from otpy.runtime.system import System

__all__ = ["Ref"]

A = TypeVar("A")
P = ParamSpec("P")
R = TypeVar("R")


class Ref(PykkaRef[Any], Generic[A]):
    """One incarnation of an actor; safe to hand to any thread.

    What guards what: who popped the item of `tok` owns `actor`, `current`, `context`, and the right to go idle; a dead
    actor's `tok` stays empty. The system's lock guards `reason` (set once), `links`, `monitors`, `name` and the first
    making of `mailbox` and `more`. `alert` may be set by anybody and is cleared only by the owner.
    """

    __slots__ = (
        "actor",
        "actor_class",
        "alert",
        "casts",
        "context",
        "current",
        "home",
        "id",
        "links",
        "mailbox",
        "monitors",
        "more",
        "name",
        "number",
        "parent",
        "reason",
        "started_at",
        "system",
        "tok",
        "waiting",
    )

    def __init__(self, system: System, actor_class: Any, ident: str | int, parent: Ref[Any] | None) -> None:
        """Made by `otpy.runtime.spawn`; `tok` is taken until `init` is done, so early mail waits."""
        self.system = system
        self.actor_class: Any = actor_class  # Any: the class behind A, with what Actor adds to it
        self.casts: dict[object, tuple[Callable[..., Any]]] = self.actor_class.otpy_casts
        self.id = ident
        self.parent = parent
        self.tok: list[bool] = []
        self.number = 0
        self.started_at = 0.0
        self.mailbox: deque[Message] | None = None
        self.alert = False
        self.current: Message | str | None = None
        self.actor: Any = None
        self.reason: Reason | None = None
        self.name: str | None = None
        self.links: Ref[Any] | set[Ref[Any]] | None = None
        self.monitors: dict[Any, None] | None = None
        self.more: Extras | None = None
        self.context: Context | None = None
        self.waiting: Edge | None = None
        self.home: Home = system.pool

    def call(self, request: Call[A, P, R], /, *args: P.args, **kwargs: P.kwargs) -> R:
        """Send a request and wait for its reply, at most 5.0 s; `within(seconds)` sets another time.

        A pool actor that waits costs a thread while it waits.

        Raises:
            CallTimeoutError: no reply in time; a late one is dropped.
            CallExitError: the server ended; at once, whether before or while it handled the request.
            DeadlockError: the server waits, directly or through others, for the caller.

        OTP: gen_server:call/2. Differs: the caller gets an exception, no exit.
        """
        head = self.actor_class.otpy_calls.get(request)
        if head is None or kwargs:
            head = self.message_for(request, args, kwargs)
            args = ()  # type: ignore[assignment]  # they are in the message
        return call(self, head + args, CALL_TIMEOUT)  # type: ignore[no-any-return]

    def cast(self, request: Cast[A, P, R], /, *args: P.args, **kwargs: P.kwargs) -> None:
        """Send a request without a reply; never blocks and never fails, also when the actor is dead.

        OTP: gen_server:cast/2.
        """
        head = self.casts.get(request)
        if head is None:
            raise self._unknown(request, "cast")
        if self.system.undead:
            here().fence()
        # From here on as `put`, written out: this is the hot path of every message.
        box = self.mailbox
        if box is None:
            box = open_mailbox(self)
        box.append((with_keywords, head[0], args, kwargs) if kwargs else head + args)
        tok = self.tok
        if tok:
            try:
                tok.pop()
                home = self.home
                home.queue.append(self)
                if home.free:
                    home.engage()
            except IndexError:
                return
            except BaseException:
                self.system.pool.hurt.append(self)
                raise
        elif self.reason is not None:
            bury(self)

    def within(self, seconds: float | None) -> Within[A]:
        """The same actor with another time for calls; None waits for ever."""
        return Within(self, seconds)

    def tell(self, message: Any) -> None:
        """Send any message, handled by `handle_info`; a dead actor makes it a dead letter. OTP: `!`."""
        send(self, (deliver_info, message))

    def ask(self, message: Any, *, block: bool = True, timeout: float | None = CALL_TIMEOUT) -> Any:
        """Send any request, handled by `handle_call`, and wait for its reply.

        With `block=False` a pykka future is returned at once. OTP: gen_server:call/3 and send_request/2.
        """
        if block:
            return call(self, (deliver_request, message), time_limit(timeout))
        future: Future[Any] = Future()
        request_future(self, (deliver_request, message), future)
        return future

    def acall(self, request: Call[A, P, R], /, *args: P.args, **kwargs: P.kwargs) -> Coroutine[Any, Any, R]:
        """As `call`, awaited from a coroutine on any event loop, which goes on with its other tasks meanwhile.

        A handler that is cancelled while it waits here no longer gets the reply, which is dropped.
        """
        head = self.actor_class.otpy_calls.get(request)
        if head is None or kwargs:
            head = self.message_for(request, args, kwargs)
            args = ()  # type: ignore[assignment]  # as in `call`
        return acall(self, head + args, CALL_TIMEOUT)

    def aask(self, message: Any, *, timeout: float | None = CALL_TIMEOUT) -> Coroutine[Any, Any, Any]:
        """As `ask`, awaited."""
        return acall(self, (deliver_request, message), time_limit(timeout))

    async def astop(self, reason: Reason | None = None, *, timeout: float | None = None) -> bool:
        """As `stop`, awaited."""
        wanted = self._check_stop(reason)
        if self.reason is not None:
            return False
        monitor = self.monitor()
        try:
            refuse_circle(station().seat.node, self, "stop")
            self.tell_to_stop(wanted)
            ended = (await monitor.await_down(timeout)).reason
        except TimeoutError:
            raise CallTimeoutError(self.path, "stop", timeout or 0.0) from None
        finally:
            monitor.cancel()
        self._check_end(wanted, ended)
        return True

    def stop(  # pykka's has no reason
        self, reason: Reason | None = None, *, block: bool = True, timeout: float | None = None
    ) -> Any:
        """Have the actor end after the messages it already has; `terminate` runs.

        Returns:
            True when it ended with that reason (`Normal()` unless given), False when it was dead before.

        Raises:
            CallExitError: it ended with another reason.
            CallTimeoutError: it has not ended within `timeout` real seconds (None: no limit); it still will.
            DeadlockError: an actor would wait for its own end, or for that of one that waits for it.

        OTP: gen_server:stop/3.
        """
        wanted = self._check_stop(reason)
        if self.reason is not None:
            return False
        if not block:
            self.tell_to_stop(wanted)
            return True
        seat = here()
        seat.may_block()
        refuse_circle(seat.ref, self, "stop")
        monitor = self.monitor()
        self.tell_to_stop(wanted)
        try:
            ended = monitor.wait(timeout).reason
        except TimeoutError:
            raise CallTimeoutError(self.path, "stop", timeout or 0.0) from None
        finally:
            monitor.cancel()
        self._check_end(wanted, ended)
        return True

    def _check_stop(self, reason: Reason | None) -> Reason:
        wanted = Normal() if reason is None else reason
        check_reason("stop", wanted)
        return wanted

    def _check_end(self, wanted: Reason, ended: Reason) -> None:
        if ended != wanted:
            error = NoProcError if isinstance(ended, NoProc) else CallExitError
            raise error(self.path, "stop", ended, limit_above(self))

    def tell_to_stop(self, reason: Reason) -> None:
        """Say that it is to end, and wait for nothing."""
        if self.actor_class.stops_by_signal:
            here().fence()
            death.exit_signal(self, self, reason, is_own=True)
        else:
            send(self, (deliver_stop, reason))
            if self.is_suspended():
                poke(self, heed)

    def exit(self, reason: Reason) -> None:
        """Send an exit signal, as from the calling actor; `Kill()` cannot be trapped. OTP: exit/2."""
        check_reason("exit", reason)
        seat = here()
        seat.fence()
        if isinstance(reason, Kill):
            self.kill()
        else:
            death.exit_signal(self, seat.ref or self, reason, is_own=seat.ref is self)

    def kill(self) -> bool:
        """End the actor at once, whatever it does; False when it was dead.

        A thread still in its code goes on as a zombie, fenced off from all others. An actor that kills itself leaves
        its code at once. OTP: exit(Pid, kill).
        """
        seat = here()
        seat.fence()
        died = death.kill(self)
        seat.fence()
        return died

    def monitor(self) -> OutsideMonitor:
        """Watch the actor from outside of actors: `ref.monitor().wait()` returns its `Down`."""
        here().fence()
        monitor = OutsideMonitor(self, self)
        watch(monitor)
        return monitor

    def join(self, one: Ref[Any]) -> bool:
        """Link another actor to this one; False when one of the two is dead."""
        return add_link(one, self)

    def part(self, one: Ref[Any]) -> None:
        """Unlink the two, if they are linked."""
        drop_link(one, self)

    def is_alive(self) -> bool:
        """Whether it has not ended; a killed one has, whatever its thread does."""
        return self.reason is None and not self.system.forked

    def is_starting(self) -> bool:
        """Whether its `init` is not done."""
        return self.more is not None and bool(self.more.starter)

    def is_suspended(self) -> bool:
        """Whether it handles no messages until resumed."""
        return self.more is not None and self.more.suspended

    def traps_exit(self) -> bool:
        """Whether exit signals reach it as messages."""
        try:
            return self.actor is not None and bool(self.actor.trap_exit)
        except BaseException:
            return False

    def has_work(self) -> bool:
        """Whether its next turn would find something to do."""
        more = self.more
        if more is None or self.reason is not None:  # a dead one's last turn drops what it held
            return True
        return bool(more.lane) or more.birth is not None or (bool(self.mailbox) and not more.is_held())

    def extras(self) -> Extras:
        """The rare part of the control block, made on first need."""
        if self.more is None:
            more = Extras()
            with self.system.lock:
                self.more = self.more or more
        return self.more

    def new_context(self) -> Context:
        """The incarnation's own context, empty at its first turn."""
        self.context = Context()
        return self.context

    def settle(self, decision: object, caller: Any) -> object:
        """Do what a handler decided; called in the actor's turn, by those that `turn` is built on.

        Returns:
            None when it is done; else a coroutine for the actor's turn to await.
        """
        return (self.home.settle or settle)(self, decision, caller)

    def message_for(self, request: object, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any, ...]:
        """The message for a call; raises UnknownRequestError in the sender when the actor has no such call."""
        head: tuple[Any, ...] | None = self.actor_class.otpy_calls.get(request)
        if head is None:
            raise self._unknown(request, "call")
        return (with_keywords, head[0], args, kwargs) if kwargs else head + args

    def _unknown(self, request: object, word: str) -> UnknownRequestError:
        served = self.actor_class.otpy_calls if word == "call" else self.casts
        known = ", ".join(sorted(map(request_name, served))) or "none"
        return UnknownRequestError(self.path, request_name(request), f"not a @{word} of this actor; it has {known}")

    @property
    def path(self) -> str:
        """Ids joined by `/` from the system's name down."""
        if self.parent is None:
            return self.system.path_of_top(self)
        return f"{self.parent.path}/{self.id}"

    @property
    def kind(self) -> str:
        """What it runs, as text."""
        own: str | None = None
        if hasattr(self.actor_class, "otpy_kind"):  # asked of otpy's own classes alone: a user's runs his code
            own = getattr(self.actor, "otpy_kind", None)
        return own or self.actor_class.__name__

    @property
    def trouble(self) -> str | None:
        """What keeps it from doing what it is for, though it lives; None when nothing does, and for users' classes."""
        if hasattr(self.actor_class, "otpy_trouble"):  # as in `kind`
            return getattr(self.actor, "otpy_trouble", None)
        return None

    @property
    def copes(self) -> bool:
        """Whether it gets along by itself with its trouble, where it has one: nobody has to mend it here."""
        if hasattr(self.actor_class, "otpy_copes"):  # as in `kind`
            return bool(getattr(self.actor, "otpy_copes", False))
        return False

    @property
    def actor_urn(self) -> str:  # type: ignore[override]  # pykka makes a UUID for each actor; the number is enough
        """For pykka's users: unique in its system."""
        return f"urn:otpy:{self.system.name}:{self.number}"

    @property
    def actor_stopped(self) -> Stopped:  # type: ignore[override]  # made only when asked for
        """For pykka's users: an event-like view of `is_alive`."""
        return Stopped(self)

    @property
    def actor_inbox(self) -> Inbox:  # type: ignore[override]  # as above
        """For pykka's users: something to `put` envelopes into."""
        return Inbox(self)

    @property
    def _actor_weakref(self) -> Callable[[], Any]:  # type: ignore[override]  # pykka's proxy looks at the actor through it
        return lambda: getattr(self.actor, "adopted", self.actor)

    def __repr__(self) -> str:
        return f"<Ref {self.path} #{self.number}>"

    __str__ = __repr__
