"""`GenServer`: an actor with state, calls, casts and messages. OTP: gen_server."""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING, Any

from otpy.core.decision import Stop
from otpy.core.reason import Normal, Reason
from otpy.runtime.actor import Actor
from otpy.runtime.pykka import is_stop, is_wrapped, unwrap

if TYPE_CHECKING:
    from collections.abc import Coroutine

    from otpy.runtime.caller import Caller

__all__ = ["GenServer"]


class GenServer(Actor):
    """An actor with callbacks as in OTP; every one runs in the actor's own turn, one at a time.

    Any of them may be a coroutine function: then the actor runs on the system's event loop. While one awaits something
    the next message waits, and other actors go on.

    An exception that leaves any of them ends the actor, also during a call, whose caller then gets a CallExitError.
    OTP: https://www.erlang.org/doc/apps/stdlib/gen_server.html.
    """

    def __init_subclass__(cls, **kwargs: Any) -> None:
        """Refuse an `__init__` that wants arguments: they go to `init`, which runs inside the actor."""
        super().__init_subclass__(**kwargs)
        wanted = [p for p in list(inspect.signature(cls.__init__).parameters.values())[1:] if _must_be_given(p)]
        if cls._own_init and wanted:
            text = f"{cls.__name__}.__init__ wants {wanted[0].name!r}: take arguments in init, which runs at each start"
            raise TypeError(text)

    def boot(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> object:
        """Run a subclass's own `__init__`, without arguments, then `init`."""
        if self._own_init:
            type(self).__init__(self)
        return self.init(*args, **kwargs)

    def init(self, *args: Any, **kwargs: Any) -> object:
        """Start: runs inside the new actor; the starter waits until it returns.

        Returns None, or `Ignore()`, `Stop(reason)`, `Fail(reason)`, `Continue(term)`, `NoReply(timeout=…)`.
        OTP: init/1.
        """
        if args or kwargs:
            text = f"{type(self).__name__}.init takes no arguments"
            raise TypeError(text)
        return None

    def terminate(self, reason: Reason) -> object:  # noqa: ARG002 - for those who override it
        """End: runs after a `Stop`, a crash or a stop request; after a supervisor's shutdown only with `trap_exit`.

        Never after a kill. Resources taken with `use` are closed in any case. OTP: terminate/2.
        """
        return None

    def handle_call(self, request: Any, caller: Caller) -> object:
        """Answer a raw request, sent by `ask`; returns the reply or a decision. OTP: handle_call/3."""
        text = f"{type(self).__name__} got a raw request and has no handle_call"
        raise NotImplementedError(text)

    def handle_info(self, message: Any) -> object:
        """Handle a message sent by `tell`, a timer, a monitor or a trapped exit signal.

        Unless overridden it is reported and dropped. OTP: handle_info/2.
        """
        self.unknown(message)
        return None

    def handle_continue(self, term: Any) -> object:
        """Go on after a `Continue(term)`, before any other message. OTP: handle_continue/2."""
        text = f"{type(self).__name__} decided to Continue and has no handle_continue"
        raise NotImplementedError(text)

    def on_info(self, message: Any) -> object:
        """Pass a message on to `handle_info`."""
        if is_wrapped(message):
            result = unwrap(self, message)
            return _ignore(result) if inspect.iscoroutine(result) else None
        if is_stop(message):
            return Stop(Normal())
        return self.handle_info(message)

    def on_request(self, message: Any, caller: Caller | None) -> object:
        """Pass a raw request on to `handle_call`."""
        if is_wrapped(message):
            return unwrap(self, message)
        if is_stop(message):
            return Stop(Normal(), None)
        assert caller is not None  # noqa: S101 - requests have a caller
        return self.handle_call(message, caller)


async def _ignore(work: Coroutine[Any, Any, object]) -> None:
    """What a deferred call through a proxy returns is no decision."""
    await work


def _must_be_given(parameter: inspect.Parameter) -> bool:
    kinds = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
    return parameter.default is inspect.Parameter.empty and parameter.kind not in kinds
