"""What is hidden wherever otpy shows a value: what is named like a secret, and passwords inside of addresses.

Nothing here, and nobody who shows, keeps the hidden value: it is replaced before any text is made of it.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    Show = Callable[[str, object], object]

__all__ = ["HIDDEN", "Verbatim", "hide", "veil"]


class Verbatim(str):
    """Text that stands in the place of a value, and is shown without quotes."""

    __slots__ = ()

    __repr__ = str.__str__


HIDDEN = Verbatim("<hidden>")

LONGEST_NAME = 100
"""Characters of a name that are looked at; one that is longer is data."""
LONGEST_ADDRESS = 2_000
"""Characters of a text in which a password of an address is looked for; the rest is not shown."""

_SECRET = re.compile(
    r"pass(?:word|wd|phrase|code)|pwd|secret(?!ar)|token(?!i[sz])|authorization|credential|cookie"
    r"|(?:api|private|access|signing|encryption)[ _-]?key",
    re.IGNORECASE,
)
_ADDRESS = re.compile(r"(://[^\s/@:]*:)[^\s/@]+(?=@)")


def hide(name: str, value: object) -> object:
    """What may be shown of a value with this name: itself, or a placeholder.

    Hidden is what has a name like `password`, `api_key`, `token`, `Authorization` or `cookie`, in any spelling, unless
    it is None, True or False, or a number that counts tokens. In any text `://user:password@` loses the password.
    """
    if name and _is_secret(name[:LONGEST_NAME]) and not _tells_nothing(name, value):
        return HIDDEN
    if issubclass(type(value), str) and type(value) is not Verbatim:
        head = str.__str__(value)[:LONGEST_ADDRESS]  # its own methods do not run
        return _ADDRESS.sub(r"\1<hidden>", head) if "://" in head else value
    return value


def veil(*redacts: Show) -> Show:
    """One function of all that may hide something: otpy's own first, then these.

    One that raises hides the value: it meant to look at it, and nobody knows what it would have said.
    """
    if not redacts:
        return hide

    def show(name: str, value: object) -> object:
        value = hide(name, value)
        for redact in redacts:
            if type(value) is Verbatim:
                return value
            try:
                value = redact(name, value)
            except BaseException as error:  # noqa: BLE001 - anybody's code; what it raised may hold the secret
                return Verbatim(f"<redact raised {type.__dict__['__name__'].__get__(type(error))}>")
        return value

    return show


@lru_cache(maxsize=1_000)
def _is_secret(name: str) -> bool:
    return _SECRET.search(name) is not None


def _tells_nothing(name: str, value: object) -> bool:
    return value is None or value is True or value is False or (type(value) in {int, float} and "token" in name.lower())
