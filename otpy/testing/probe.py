"""A probe: an actor that records what reaches it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from otpy.actors.gen_server import GenServer
from otpy.core.spec import child
from otpy.runtime.request import call
from otpy.testing.arrivals import PATIENCE, Arrivals

if TYPE_CHECKING:
    from otpy.runtime.caller import Caller
    from otpy.runtime.links import Monitor
    from otpy.runtime.named import NamedRef
    from otpy.runtime.ref import Ref
    from otpy.runtime.system import System

__all__ = ["Probe"]


class ProbeActor(GenServer):
    """The actor behind a `Probe`."""

    def init(self, log: Arrivals[object], *, trap_exit: bool, reply: object) -> None:
        """Take the list to record into."""
        self._log = log
        self._reply = reply
        self.trap_exit = trap_exit

    def handle_info(self, message: object) -> None:
        """Record a message, a `Down` or an `ExitSignal`."""
        self._log.add(message)

    def handle_call(self, request: Any, caller: Caller) -> object:  # noqa: ARG002 - everybody gets the same reply
        """Record a raw request."""
        self._log.add(request)
        return self._reply

    @call
    def begin_monitor(self, target: Ref[Any] | NamedRef[Any] | str) -> Monitor:
        """Watch another actor, as this one."""
        return self.monitor(target)

    @call
    def begin_link(self, other: Ref[Any]) -> None:
        """Link to another actor, as this one."""
        self.link(other)


class Probe:
    """An actor that records: messages sent by `tell`, requests by `ask`, `Down` and, with `trap_exit`, `ExitSignal`.

    Args:
        system: where it is started; it ends with that system, or with `probe.ref.stop()`.
        trap_exit: whether exit signals are recorded; otherwise they end it.
        reply: what `ask` gets.
        id: the last part of its path.
    """

    def __init__(self, system: System, *, trap_exit: bool = False, reply: object = None, id: str = "probe") -> None:
        """Start it, unlinked."""
        self._log: Arrivals[object] = Arrivals()
        spec = child(ProbeActor, self._log, trap_exit=trap_exit, reply=reply).opts(id=id)
        self.ref: Ref[ProbeActor] = system.start(spec)
        """The actor: others send to it, link to it, are given it as an address."""

    @property
    def messages(self) -> list[object]:
        """All that has come so far, in order; after `system.wait_idle()` nothing is on its way."""
        return self._log.so_far()

    def expect(self, count: int, *, timeout: float | None = PATIENCE) -> list[object]:
        """Wait until so many messages have come since the beginning, and return that many, the first ones.

        Args:
            count: how many.
            timeout: real seconds; a safety net.

        Raises:
            TimeoutError: they have not come; the message shows what has.
        """
        return self._log.wait(count, timeout)

    def monitor(self, target: Ref[Any] | NamedRef[Any] | str) -> Monitor:
        """Have the probe watch an actor, or whoever holds a name; its end is recorded as a `Down`."""
        return self.ref.call(ProbeActor.begin_monitor, target)

    def link(self, other: Ref[Any]) -> None:
        """Link the probe to an actor, whose exit is an `ExitSignal` with `trap_exit`, and else ends the probe."""
        self.ref.call(ProbeActor.begin_link, other)
