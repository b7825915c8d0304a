"""What a control socket allows: each right includes those before it."""

from __future__ import annotations

from typing import Literal, get_args

from otpy.core.suggest import did_you_mean
from otpy.errors import SpecError

__all__ = ["Right", "Rights", "allows", "check_rights"]

Right = Literal["read", "operate", "full"]
"""What a verb needs. `read` looks, `operate` also stops and starts actors, `full` also reaches into their state."""

Rights = Literal["off", "read", "operate", "full"]
"""What a program gives; with `off` it has no socket at all."""

_ORDER: tuple[str, ...] = get_args(Rights)


def allows(given: Rights, needed: Right) -> bool:
    """Whether a program that gives `given` answers a verb that needs `needed`."""
    return given != "off" and _ORDER.index(needed) <= _ORDER.index(given)


def check_rights(word: str) -> None:
    """Refuse a word that is no right.

    Raises:
        SpecError: it is none of `off`, `read`, `operate`, `full`.
    """
    if word not in _ORDER:
        raise SpecError("control", f"{word!r} is no right: {did_you_mean(str(word), _ORDER)}")
