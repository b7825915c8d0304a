"""Where actors of a loop sit: the loop's thread, which must never wait, and the tasks that stand for it."""

from __future__ import annotations

from contextvars import ContextVar
from types import CoroutineType
from typing import TYPE_CHECKING, Any

from otpy.places.blocking import refuse_to_block
from otpy.runtime.seat import Seat

if TYPE_CHECKING:
    import asyncio
    from types import FrameType

    from otpy.places.loop import LoopHome
    from otpy.runtime.crew import Node
    from otpy.runtime.ref import Ref

__all__ = ["OWNER", "LoopSeat", "TaskSeat", "suspended_frames"]

OWNER: ContextVar[Ref[Any] | None] = ContextVar("otpy_owner", default=None)
"""Set in the context of each actor on a loop, which the tasks that its code starts inherit: whose they are."""


class LoopSeat(Seat):
    """The seat of a loop's thread, which must never wait.

    Every way to wait takes the seat's lock before it sends anything; here that raises.
    """

    __slots__ = ("worker",)

    def __init__(self, thread_name: str) -> None:
        """Have no thread yet."""
        self.worker: TaskSeat | None = None  # a slot, where others have a constant
        super().__init__()
        self.ident = 0
        self.thread_name = thread_name

    @property
    def ref(self) -> Ref[Any] | None:
        """Whose code runs: a handler's, or that of a task which a handler has started."""
        worker = self.worker
        return worker.ref if worker is not None else OWNER.get()

    @ref.setter
    def ref(self, value: object) -> None: ...

    @property
    def lock(self) -> Any:  # others store it
        """There is nothing to wait at."""
        self.may_block()

    @lock.setter
    def lock(self, value: object) -> None: ...

    @property
    def node(self) -> Ref[Any] | Node | None:
        """As above; of an actor with several handlers which of them."""
        worker = self.worker
        return self.ref if worker is None else worker.node or worker.ref

    def may_block(self) -> None:
        """It may not."""
        refuse_to_block(None if self.ref is None else self.ref.path)

    def sleep(self, seconds: float) -> None:  # noqa: ARG002 - it never does
        """Not here."""
        self.may_block()

    def asker(self) -> Seat:
        """A seat that says whose task asks."""
        owner = OWNER.get()
        return self if owner is None else TaskSeat(owner, self)


class TaskSeat(Seat):
    """Stands for a task of an actor's: whose it is."""

    __slots__ = ()

    may_lend = False  # whether its handler, which runs now, may lend its step to others
    node: Any = None  # of the handlers that one actor has in flight: which of them
    task: asyncio.Task[None]
    home: LoopHome
    waiting: Any
    """What of otpy's its handler waits for, as a future; False when it waits for nothing, or for others' things."""

    def __init__(self, ref: Ref[Any] | None, seat: Seat) -> None:
        self.ident = seat.ident
        self.thread_name = seat.thread_name
        self.pool = self.late = None
        self.ref = ref
        self.turns = 0
        self.since = 0.0
        self.seen_in = self.held = None
        self.waiting = False

    @property
    def rests(self) -> bool:
        """Whether it waits, and goes on waiting: not who was just cancelled by a handler's own `task.cancel()`.

        Asked from any thread: what is waited for is set on the loop's thread alone, and a future that is done stays so.
        """
        waiting = self.waiting
        return waiting is not False and not waiting.done()

    def note(self, now: float) -> None:
        """Nothing to note for the watchdog: a worker says itself when a message begins."""


def suspended_frames(coro: Any) -> list[FrameType]:
    """The frames from a coroutine or generator down to what it awaits."""
    found = []
    while coro is not None:
        kind = "cr" if isinstance(coro, CoroutineType) else "ag" if hasattr(coro, "ag_frame") else "gi"
        frame = getattr(coro, f"{kind}_frame", None)
        if frame is None:
            break
        found.append(frame)
        coro = getattr(coro, "gi_yieldfrom" if kind == "gi" else f"{kind}_await")
    return found
