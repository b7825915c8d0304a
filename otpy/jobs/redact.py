"""Taking secrets out of texts, before they are written or shown."""

from __future__ import annotations

from typing import TYPE_CHECKING

from otpy.core.masking import Verbatim
from otpy.core.text import type_name

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["redacted", "sealed"]


def redacted(text: str, redact: Callable[[str], str] | None) -> str:
    """The text as it may be seen. One that the user's function fails on is not: it may be the one with the secret."""
    if redact is None or not text:
        return text
    try:
        return str(redact(text))
    except Exception as error:  # noqa: BLE001 - the user's function; what was to be written is written without it
        return f"(not kept: redact raised {type_name(type(error))})"


def sealed(name: str, value: object) -> object:  # noqa: ARG001 - as an actor's `redact`
    """What may be shown in a report of what a job carries or returns: how long it is; its names are in it, too."""
    return Verbatim(f"<{len(value)} bytes>") if isinstance(value, bytes) else value
