"""`Breaker`: the handle of a circuit breaker, through which calls go: as a decorator, a block, a permit."""

from __future__ import annotations

from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar, Unpack

from otpy.core.spec import ChildSpec
from otpy.core.text import safe_repr
from otpy.errors import SpecError
from otpy.resilience.cause import cause_of
from otpy.resilience.errors import BreakerOpenError
from otpy.resilience.guard import guarded
from otpy.resilience.matching import Errors, matcher
from otpy.resilience.permit import Permit
from otpy.resilience.rules import rules_of
from otpy.resilience.server import BreakerServer
from otpy.resilience.snapshot import EXCLUDED, FAILED, OK, SLOW, Probe
from otpy.resilience.switch import Switch, Ticket

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import TracebackType
    from typing import Literal, NoReturn, Self

    from otpy.resilience.rules import RuleWords
    from otpy.runtime.ref import Ref

__all__ = ["Breaker"]

P = ParamSpec("P")
R = TypeVar("R")
Entry = tuple["Breaker", Ticket, float, Any]

_ENTRIES: ContextVar[Entry | None] = ContextVar("otpy_breaker_entries", default=None)
"""The `with` blocks that this thread or task is in, the innermost first: whose, with what, since when, and the rest."""

BRIEF = 1.0
"""Seconds to stop: its actor has nothing to wind up."""


class Breaker(Switch):
    """A circuit breaker: `@payments`, `with payments:`, `async with payments:`, from any thread and task.

    Make one for each service, where its functions are, and put `payments.child()` into the tree: that actor counts and
    decides. Until it runs, and when it has ended for good, all calls go through and none is counted.

    Args:
        name: for people: in errors, events and the tree.
        counts: which errors of a call say that the service is ill: a class, some, or a function that is asked.
        excludes: those of them that do not, as for an order that is refused with good reason.
        **rules: as the fields of `Rules`, which has the defaults.

    Raises:
        SpecError: the rules cannot be used; the message says why.
    """

    def __init__(
        self,
        name: str,
        *,
        counts: Errors = Exception,
        excludes: Errors = (),
        **rules: Unpack[RuleWords],
    ) -> None:
        """Make it; nothing runs yet."""
        if not isinstance(name, str) or not name or "/" in name:
            raise SpecError("Breaker", f"name={safe_repr(name)}: a text without '/'")
        super().__init__(name)
        self.rules = rules_of(name, rules)
        self._counts = matcher(name, "counts", counts)
        self._excludes = matcher(name, "excludes", excludes)
        self.is_timed = self.rules.slow is not None

    # What users call.

    def child(self) -> ChildSpec:
        """The spec of the actor that keeps it, for the tree of the program that uses it."""
        return ChildSpec(self.name, BreakerServer, (self,)).opts(shutdown=BRIEF)

    def __call__(self, function: Callable[P, R]) -> Callable[P, R]:
        """Have each call of a function, or of a coroutine function, go through the breaker.

        Raises:
            TypeError: it is a generator function: what it does happens later, so use `with` inside of it.
        """
        return guarded(self, function)

    def __enter__(self) -> Self:
        """Begin a call. Raises BreakerOpenError."""
        ticket = self.enter()
        begun = self._now() if self.is_timed else 0.0
        _ENTRIES.set((self, ticket, begun, _ENTRIES.get()))
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        entry, rest = _take_out(self, _ENTRIES.get())
        if entry is None:
            return  # left in another context than it was entered in, as a generator may; a probe's time will be over
        _ENTRIES.set(rest)
        self.leave(entry[1], entry[2], error)

    async def __aenter__(self) -> Self:
        return self.__enter__()

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.__exit__(kind, error, traceback)

    def allow(self, *, holder: Ref[Any] | None = None) -> Permit:
        """Begin a call whose outcome is told later, maybe elsewhere: by the methods of the `Permit`.

        Args:
            holder: the actor that makes it, if it is another one than asks; its end is a probe's failure.

        Raises:
            BreakerOpenError: not now.
        """
        ticket = self.enter()
        if holder is not None and isinstance(ticket, Probe):
            ticket.holder = holder
            self._tell()
        return Permit(self, ticket, self._now() if self.is_timed else 0.0)

    def retry_after(self) -> float | None:
        """Seconds until it is worth asking; 0.0 when it is now, None when it is forced open."""
        snapshot = self._snapshot
        if snapshot.state == "forced_open":
            return None
        return max(0.0, snapshot.until - self._now()) if snapshot.state == "open" else 0.0

    def force(self, state: Literal["open", "closed"]) -> None:
        """Hold it open, or closed, until `reset`, also over a restart of its actor; done when this returns.

        Raises:
            NoProcError: no actor keeps it.
        """
        self._kept("force").call(BreakerServer.force, state)

    async def aforce(self, state: Literal["open", "closed"]) -> None:
        """As `force`, awaited."""
        await self._kept("force").acall(BreakerServer.force, state)

    def reset(self) -> None:
        """Close it and forget all counts, also when it was forced; done when this returns. Raises NoProcError."""
        self._kept("reset").call(BreakerServer.reset)

    async def areset(self) -> None:
        """As `reset`, awaited."""
        await self._kept("reset").acall(BreakerServer.reset)

    def __reduce__(self) -> NoReturn:
        text = f"breaker {self.name!r} stays in its process: make it in the module that uses it"
        raise TypeError(text)

    def __repr__(self) -> str:
        return f"<Breaker {self.name} {self.state}>"

    # What calls go through.

    def leave(self, ticket: Ticket, begun: float, error: BaseException | None) -> None:
        """Tell what became of a call."""
        if not ticket.counts:
            return
        if error is None:
            is_slow = self.is_timed and self._now() - begun >= (self.rules.slow or 0.0)
            self.report(ticket, SLOW if is_slow else OK)
        elif self.is_failure(error):
            self.report(ticket, FAILED, cause_of(error))
        else:
            self.report(ticket, EXCLUDED)

    def is_failure(self, error: BaseException) -> bool:
        """Whether an error of a call speaks against the service.

        What is no `Exception` never does: a cancellation, Ctrl-C, an actor that was told to stop. Nor does another
        breaker's refusal: nothing was asked of the service.
        """
        if not isinstance(error, Exception) or isinstance(error, BreakerOpenError):
            return False
        return self._counts(error) and not self._excludes(error)


def _take_out(breaker: Breaker, entries: Entry | None) -> tuple[Entry | None, Entry | None]:
    """The innermost entry of a breaker, and all others."""
    if entries is None or entries[0] is breaker:
        return entries, None if entries is None else entries[3]
    found, rest = _take_out(breaker, entries[3])
    return found, (*entries[:3], rest)
