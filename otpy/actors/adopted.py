"""Existing `pykka.ThreadingActor` classes as children, unchanged: their own loop never runs, otpy's does."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any, ClassVar

from otpy.core.decision import Stop
from otpy.core.reason import Normal, Reason
from otpy.runtime.actor import Actor
from otpy.runtime.pykka import ThreadingActor, is_stop
from otpy.runtime.spawn import ADAPTERS

if TYPE_CHECKING:
    from collections.abc import Callable

    from otpy.runtime.caller import Caller
    from otpy.runtime.links import ExitSignal

__all__ = ["AdoptedActor"]


class AdoptedActor(Actor):
    """Runs one pykka actor on a thread of its own, as pykka would.

    Differs from pykka: it never enters pykka's registry; `__init__` and `on_start` run in its own thread and their
    failure is the start's; an exception while it answers `ask` reaches the asker and then ends the actor, whose
    supervisor starts it again; a SystemExit ends this actor and no other. Told to stop by its supervisor, it ends as by
    pykka's own `stop`: after the messages it already has, with `on_stop`.
    """

    place: ClassVar[str] = "thread"
    otpy_may_loop: ClassVar[bool] = False
    trap_exit = True

    def boot(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> object:
        """Make the pykka actor with otpy's inbox and ref in the place of its own, then start it."""
        cls, *rest = args
        ref = self.ref
        guarded = type(cls.__name__, (cls,), {"_create_actor_inbox": staticmethod(lambda: ref.actor_inbox)})
        guarded.__module__, guarded.__qualname__ = cls.__module__, cls.__qualname__
        self.adopted: Any = guarded(*rest, **kwargs)  # pykka's proxies look at it, too
        self.adopted._actor_ref = ref  # noqa: SLF001 - so that it hands out otpy's ref
        self._failed = False
        self.adopted.on_start()
        return None

    @property
    def otpy_kind(self) -> str:
        """The pykka class's name, for the tree."""
        return type(self.adopted).__name__

    def on_info(self, message: Any) -> object:
        """Handle what came by `tell`."""
        if is_stop(message):
            return Stop(Normal())
        self._handle(message)
        return None

    def on_request(self, message: Any, caller: Caller | None) -> object:
        """Handle what came by `ask`."""
        if is_stop(message):
            return Stop(Normal(), None)
        try:
            return self._handle(message)
        except Exception as error:
            if caller is not None:
                caller.refuse(error)
            raise

    def on_exit_signal(self, signal: ExitSignal) -> object:
        """End, as an actor that does not trap exits, but not in the middle; pykka's actors know no exit signals."""
        is_ignored = isinstance(signal.reason, Normal) and signal.sender is not self.ref.parent
        return None if is_ignored else Stop(signal.reason)

    def terminate(self, reason: Reason) -> None:  # noqa: ARG002 - pykka's hooks take none
        """End as pykka actors do."""
        self.adopted.actor_stopped.set()
        if not self._failed:
            self.adopted.on_stop()

    def _handle(self, message: object) -> Any:
        try:
            return self.adopted._handle_receive(message)  # noqa: SLF001 - pykka's own dispatch, proxies included
        except BaseException:
            self._failed = True
            self.adopted.on_failure(*sys.exc_info())
            raise


def _adapt(start: Callable[..., Any]) -> type[Actor] | None:
    return AdoptedActor if isinstance(start, type) and issubclass(start, ThreadingActor) else None


ADAPTERS.append(_adapt)
