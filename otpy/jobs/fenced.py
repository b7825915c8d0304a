"""What is written under an epoch of a name, and refused when that is over."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

from otpy.jobs.errors import StaleEpochError
from otpy.jobs.model.lead import SHARED, Fence

if TYPE_CHECKING:
    from collections.abc import Callable

    from otpy.jobs.store.protocol import Transaction

__all__ = ["stored", "under"]

T = TypeVar("T")


def stored(fence: Fence) -> Fence:
    """The same as the store calls it."""
    return Fence(name=SHARED + fence.name, epoch=fence.epoch)


def under(tx: Transaction, fence: Fence, step: Callable[[Transaction], T]) -> T:
    """Do it, unless this epoch is over: until the transaction has ended nobody else can be elected.

    Raises:
        StaleEpochError: it is, and nothing was done.
    """
    if not tx.is_current(stored(fence)):
        raise StaleEpochError(fence.name, fence.epoch)
    return step(tx)
