"""Being the one actor that keeps a handle, as a breaker or an outbox, which others use from any thread."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Generic, TypeVar

from otpy.core.reason import Exit
from otpy.errors import NameTakenError

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import TracebackType

    from otpy.runtime.ref import Ref

__all__ = ["Keeping", "refuse_second"]

R = TypeVar("R", bound="Ref[Any]")
T = TypeVar("T")


class Keeping(Generic[R, T]):
    """That an actor keeps a handle, as a resource: given up with the incarnation, however it ends."""

    def __init__(self, keeper: R, keep: Callable[[R], T], release: Callable[[R], object]) -> None:
        """Of the actor, and the two methods of the handle by which it is kept, and no longer.

        `release` may come late: it has to see whether another incarnation keeps the handle by then.
        """
        self._keeper, self._keep, self._release = keeper, keep, release

    def __enter__(self) -> T:
        return self._keep(self._keeper)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._release(self._keeper)


def refuse_second(holder: Ref[Any] | None, keeper: Ref[Any], what: str) -> None:
    """Let nobody keep what another living actor does; called with the lock that guards who keeps it.

    Raises:
        NameTakenError: `holder` lives, and is another one; `what` is the handle, as `breaker payments`.
    """
    if holder is not None and holder is not keeper and holder.is_alive():
        raise NameTakenError(keeper.path, Exit("already_started"), what, holder.path)
