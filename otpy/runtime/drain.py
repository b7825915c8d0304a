"""`Drain`: one actor's part in a drain, and how its hook is called in its own turn."""

from __future__ import annotations

from types import CoroutineType
from typing import TYPE_CHECKING, Any

from otpy.core.decision import NoReply
from otpy.core.text import exception_line, safe_repr, visible
from otpy.errors import ActorExit, StateError
from otpy.runtime.death import BOX
from otpy.runtime.mailbox import poke

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from otpy.runtime.ref import Ref

__all__ = ["Drain", "ask_hook"]

MAX_NAMES = 20
"""Names of what is in flight that are kept; the count says how many there are."""


class Drain:
    """What `handle_drain` and `handle_flush` are given: why, until when, and whom to tell. Any thread may use it."""

    __slots__ = (
        "_deadline",
        "_tell",
        "count",
        "hook",
        "is_done",
        "names",
        "problem",
        "reason",
        "ref",
        "result",
        "was_called",
    )

    def __init__(
        self, ref: Ref[Any], hook: str, reason: str, deadline: Callable[[], float], tell: Callable[[Drain], object]
    ) -> None:
        """Made by whoever drains; `tell` is called once when it was called, and once when it is done."""
        self.ref = ref
        self.hook = hook
        self.reason = reason
        """Who told the program to stop, in words: `SIGTERM`, `otpy stop`, `the block was left`."""
        self.was_called = False
        """Whether the hook has returned, or ended otherwise."""
        self.is_done = False
        """Whether there is nothing more to wait for."""
        self.problem: str | None = None
        """What the hook has raised, as one line."""
        self.result: Any = None
        """What `persist` has returned, packed."""
        self.count = 0
        """How many things it has said are in flight."""
        self.names: tuple[str, ...] = ()
        """What they are called, the first of them."""
        self._deadline = deadline
        self._tell = tell

    def remaining(self) -> float:
        """Seconds by the system's clock until it is not waited for any more; 0 when that is over."""
        return max(0.0, self._deadline() - self.ref.system.clock.now())

    def working(self, count: int, names: Iterable[str] = ()) -> None:
        """Say how many things are in flight, and what they are called: shown to who looks, and when they are late.

        Raises:
            ValueError: it is no number of things.
        """
        if not isinstance(count, int) or isinstance(count, bool) or count < 0:
            text = f"a number of things is a whole number, 0 or more, got {safe_repr(count)}"
            raise ValueError(text)
        named = (names,) if isinstance(names, str) else tuple(names)
        self.names = tuple(visible(str(name), 200) for name in named[:MAX_NAMES])
        self.count = count

    def done(self) -> None:
        """Say that there is nothing more to wait for, or that it was given back; a second time is harmless."""
        if not self.is_done:
            self.is_done = True
            self.count, self.names = 0, ()
            self._tell(self)

    def __repr__(self) -> str:
        return f"<Drain of {self.ref.path}: {self.reason}>"

    def call(self, own: Ref[Any]) -> object:
        """Call the hook; in the actor's turn, which awaits what this returns."""
        if own.current is None or own.current == "system":  # no set: a message may hold what has no hash
            own.current = self.hook
        try:
            function = getattr(own.actor, self.hook)
            result = function() if self.hook == "persist" else function(self)
        except ActorExit:
            raise
        except Exception as error:
            self._fail(exception_line(error, box=BOX))
            return None
        if result.__class__ is CoroutineType:
            return self._finish(result)
        self._take(result)
        return None

    async def _finish(self, work: Any) -> None:  # Any: a coroutine
        try:
            result = await work
        except Exception as error:
            self._fail(exception_line(error, box=BOX))
        else:
            self._take(result)

    def _take(self, result: object) -> None:
        self.was_called = True
        if self.hook == "persist":
            self._take_state(result)
        elif isinstance(result, NoReply):
            self._tell(self)
        elif result is None:
            self.done()
        else:
            self._fail(f"{self.hook} returned {safe_repr(result)}: None, or NoReply() before drain.done()")

    def _take_state(self, result: object) -> None:
        store = self.ref.system.states
        try:
            self.result = None if store is None else store.snapshot(self.ref, result)
        except StateError as error:
            self._fail(str(error))
        else:
            self.done()

    def _fail(self, problem: str) -> None:
        self.was_called = True
        self.problem = problem
        self.done()


def ask_hook(drain: Drain) -> None:
    """Have an actor's hook called in its next turn, before any message, also when its mailbox is full."""
    poke(drain.ref, drain.call)
