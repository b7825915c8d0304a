"""What stands still while somebody waits for it: a pure function from one look to the next."""

from __future__ import annotations

from typing import TYPE_CHECKING

from otpy.core.value import value

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

__all__ = ["Sign", "Standstill", "standstills"]


@value
class Sign:
    """One thing of a program that must go on, as it was at one look."""

    what: str
    """Its name."""
    mark: object
    """Differs from the last look's when it has gone on since."""
    waiting: int
    """How many wait for it; it may stand still as long as nobody does."""


@value
class Standstill:
    """One thing for which somebody waits, and since when it has not gone on."""

    mark: object
    """As in the sign."""
    waiting: int
    """As in the sign."""
    seconds: float
    """How long it has stood, as far as anybody has looked: 0.0 when it has just gone on."""


def standstills(before: Mapping[str, Standstill], signs: Iterable[Sign], seconds: float) -> dict[str, Standstill]:
    """What somebody waits for now, and how long it has not gone on.

    Args:
        before: what the last look found.
        signs: what this one sees.
        seconds: how much time counts as having passed between them.
    """
    found: dict[str, Standstill] = {}
    for sign in signs:
        if sign.waiting:
            old = before.get(sign.what)
            stood = old.seconds + seconds if old is not None and old.mark == sign.mark else 0.0
            found[sign.what] = Standstill(sign.mark, sign.waiting, stood)
    return found
