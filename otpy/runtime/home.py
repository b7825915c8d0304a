"""The seam for places: who gives an actor its turns."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine

    from otpy.core.spec import ChildSpec, Options
    from otpy.runtime.actor import Actor
    from otpy.runtime.ref import Ref
    from otpy.runtime.seat import Seat
    from otpy.runtime.system import System

__all__ = ["BOXES", "PLACES", "STAND_INS", "Home", "OwnHome", "RunQueue"]


class RunQueue(Protocol):
    """The order in which actors get their turns: first in, first out, or drawn from a seed."""

    def append(self, item: Any, /) -> None:
        """Add an actor, or a slot whose thread may go on."""

    def popleft(self) -> Any:
        """Take the next one; raises IndexError when there is none."""

    def __len__(self) -> int: ...


class Home(Protocol):
    """Gives turns to actors: the pool to many, a thread of its own to one.

    Whoever popped an actor's `tok` appends it to `queue`, then looks at `free`, and calls `engage` when that is not
    empty.
    """

    @property
    def queue(self) -> RunQueue:
        """Actors with something to do."""

    @property
    def free(self) -> list[Any]:  # Any: what stands in it is the home's own business
        """Not empty while somebody could begin a turn."""

    def engage(self) -> bool:
        """Have somebody begin a turn; from any thread. False when no thread could be had for it."""

    @property
    def settle(self) -> Callable[[Ref[Any], object, Any], Coroutine[Any, Any, None]] | None:
        """How its actors' decisions are followed, where that may take an `await`; None: as `turn.settle` does."""

    @property
    def obey(self) -> Callable[[Ref[Any]], Coroutine[Any, Any, None]] | None:
        """How an exit signal ends its actors, where that may take an `await`; None: as `death.obey` does."""

    def close(self) -> None:
        """Let its threads end."""


class OwnHome(Home, Protocol):
    """A home beside the pool: of one actor with a thread of its own, or of all on one loop; listed in `threads`."""

    @property
    def place(self) -> str:
        """The name of its place."""

    def seats(self) -> list[Seat]:
        """Where its actors run, or wait in the middle of their code."""

    def turns(self) -> int:
        """How often anything has begun to run, or gone on, in it."""

    def is_idle(self) -> bool:
        """Whether its actors rest, or wait inside otpy."""

    def in_line(self) -> int:
        """How many could go on if it gave them a turn; of one actor's own thread none but that actor's code decides."""

    def release(self) -> None:
        """One of its actors has left for good."""


def _pool(system: System, _: Ref[Any], __: str | None) -> Home:
    return system.pool


PLACES: dict[str, Callable[[System, Ref[Any], str | None], Home]] = {"pool": _pool}
"""How to make the home for one actor, by its place, with the loop it wants; places register themselves."""

STAND_INS: dict[str, Callable[[System, type[Actor], ChildSpec], type[Actor]]] = {}
"""Places that run an actor elsewhere put a class of their own into its place; by the name of the place."""

BOXES: dict[str, Callable[[Ref[Any], Options], Any]] = {}
"""Their mailboxes, which must be there before anybody can find the actor by its name; None: as in the pool."""
