"""`Sender`: a function of the user's that delivers batches, with its breaker and the time it may take."""

from __future__ import annotations

import math
from dataclasses import field
from typing import TYPE_CHECKING, Any

from otpy.core.number import is_number
from otpy.core.text import safe_repr
from otpy.core.value import value
from otpy.errors import SpecError
from otpy.resilience.breaker import Breaker
from otpy.resilience.guard import is_async

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from otpy.resilience.outbox.batch import Batch, Receipt

    Sends = Callable[[Batch], Receipt | int | Awaitable[Receipt | int | None] | None]

__all__ = ["Sender", "Way", "ways_of"]


@value
class Sender:
    """A way to the receiver: `Sender(post, timeout=10.0)`; in `senders` the function alone stands for one."""

    function: Sends
    """Gets a `Batch` and returns when the receiver has taken it: None for all of it, the highest number up to which it
    is taken, or a `Receipt`. Anything it raises says that nothing was taken. A coroutine function runs on the event
    loop, any other one on a thread of the pool."""
    name: str = field(default="", kw_only=True)
    """For people, and for its breaker; the function's name unless one is given."""
    timeout: float = field(default=30.0, kw_only=True)
    """Seconds after which a call that has not come back counts as failed. A coroutine is cancelled then. A thread
    cannot be: until it comes back nothing else is sent this way."""
    breaker: Breaker | None = field(default=None, kw_only=True)
    """One that is shared with others, and is in the tree already. By default it has one of its own, which opens after 5
    failures in a row, for 5 seconds and up to a minute."""

    def __post_init__(self) -> None:
        """Refuse what cannot be. Raises SpecError."""
        if not callable(self.function):
            raise SpecError("Sender", f"{safe_repr(self.function)}: a function that takes a Batch")
        if not isinstance(self.name, str) or "/" in self.name:
            raise SpecError("Sender", f"name={safe_repr(self.name)}: a text without '/'")
        if not (is_number(self.timeout) and 0 < self.timeout < math.inf):
            raise SpecError("Sender", f"timeout={safe_repr(self.timeout)}: seconds > 0")
        if self.breaker is not None and not isinstance(self.breaker, Breaker):
            raise SpecError("Sender", f"breaker={safe_repr(self.breaker)}: a Breaker, or None")


@value(kw_only=True)
class Way:
    """A sender as an outbox uses it."""

    name: str
    function: Any  # Any: what the user's function is
    is_async: bool
    timeout: float
    breaker: Breaker
    is_own: bool
    """Whether its breaker belongs to this outbox, which so keeps it."""


def ways_of(outbox: str, senders: object) -> tuple[Way, ...]:
    """Those of an outbox, the first one first. Raises SpecError."""
    if not isinstance(senders, list | tuple) or not senders:
        raise SpecError(
            outbox, f"senders={safe_repr(senders)}: a list of functions or Senders, the first one preferred"
        )
    ways = tuple(_way(one if isinstance(one, Sender) else Sender(one)) for one in senders)
    names = [way.name for way in ways]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise SpecError(outbox, f"two of its senders are called {twice!r}: give one another name")
    return ways


def _way(sender: Sender) -> Way:
    function = sender.function
    name = sender.name or str(getattr(function, "__name__", type(function).__name__))
    name = name.strip("<>") or "sender"
    own = sender.breaker or Breaker(name, cooldown=5.0, longest=60.0, probe_timeout=sender.timeout + 5.0)
    return Way(
        name=name,
        function=function,
        is_async=is_async(function),
        timeout=sender.timeout,
        breaker=own,
        is_own=sender.breaker is None,
    )
