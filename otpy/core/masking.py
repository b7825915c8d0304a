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
_ADDRESS = re.compile(r"(://[^\s/@:]*:)[^\s/@]+(?:@[^\s/@\"',;]+)*(?=@)")  # a password may have an @ of its own
_CUT = re.compile(r"(://[^\s/@:]*:)[^\s/@]+$")
"""A password whose end was cut off."""


def hide(name: str, value: object) -> object:
    """What may be shown of a value with this name: itself, or a placeholder.

    Hidden is what has a name like `password`, `api_key`, `token`, `Authorization` or `cookie`, in any spelling, unless
    it is None, True or False, or a number that counts tokens. In any text `://user:password@` loses the password.
    """
    if name and _is_secret(name[:LONGEST_NAME]) and not _tells_nothing(name, value):
        return HIDDEN
    if issubclass(type(value), str) and type(value) is not Verbatim:
        return _without_password(str.__str__(value), value)  # its own methods do not run
    if issubclass(type(value), bytes | bytearray):
        head = bytes(memoryview(value)[: LONGEST_ADDRESS + 1]).decode("latin-1")  # type: ignore[arg-type]  # as told
        shown = _without_password(head, value)
        return shown.encode("latin-1") if type(shown) is str else value
    return value


def _without_password(text: str, value: object) -> object:
    """The text without the passwords of addresses; the value itself when it has no address."""
    head = text[:LONGEST_ADDRESS]
    if "://" not in head:
        return value
    head = _ADDRESS.sub(r"\1<hidden>", head)
    return _CUT.sub(r"\1<hidden>", head) if len(text) > LONGEST_ADDRESS else head


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
