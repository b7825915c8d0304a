"""What actors submit to the writer without waiting for it, and how they hear of its end."""

from __future__ import annotations

from typing import TYPE_CHECKING

from otpy.jobs.errors import StoreError

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["Told", "store_failed"]


class Told:
    """Stands for a caller that does not wait, and is told by a function."""

    def __init__(self, then: Callable[[Exception | None], object]) -> None:
        """Tell it what went wrong, or None."""
        self._then = then

    def reply(self, _: object) -> None:
        """It is kept."""
        self._then(None)

    def refuse(self, error: Exception) -> None:
        """Nothing of it is."""
        self._then(error)


def store_failed(error: Exception | None) -> bool:
    """Whether nothing of a step is kept, for the store has failed; who had submitted it asks, and waits that out.

    Raises a mistake of ours: the next step would fail as well, and nobody see why nothing is done.
    """
    if error is not None and not isinstance(error, StoreError):
        raise error
    return error is not None
