"""Plain data as bytes, for what outlives its program: what JSON has, bytes, tuples, sets and times with a zone."""

from __future__ import annotations

from datetime import datetime
from typing import Any

import msgpack

from otpy.core.text import exception_line, type_name

__all__ = ["NotPlainError", "pack_plain", "unpack_plain"]

TUPLE, SET, FROZENSET = 1, 2, 3
KINDS: dict[int, type] = {TUPLE: tuple, SET: set, FROZENSET: frozenset}
CODES = {kind: code for code, kind in KINDS.items()}


class NotPlainError(ValueError):
    """It is no plain data, or no bytes of such; whoever keeps it for somebody says so in the words of its own users."""


def pack_plain(value: object) -> bytes:
    """One value. Raises NotPlainError."""
    try:
        data: bytes = msgpack.packb(value, default=_odd, strict_types=True, datetime=True)
    except NotPlainError:
        raise
    except (TypeError, ValueError, OverflowError, RecursionError) as error:
        raise NotPlainError(exception_line(error)) from None
    return data


def unpack_plain(data: bytes) -> Any:  # Any: the caller knows what it packed
    """The value. Raises NotPlainError."""
    try:
        return msgpack.unpackb(data, ext_hook=_known, strict_map_key=False, timestamp=3)
    except (ValueError, TypeError, LookupError, OverflowError, RecursionError, msgpack.UnpackException) as error:
        raise NotPlainError(exception_line(error)) from None


def _odd(value: Any) -> object:  # Any: what msgpack does not know
    code = CODES.get(type(value))
    if code is not None:
        return msgpack.ExtType(code, pack_plain(list(value)))
    if isinstance(value, datetime):
        raise NotPlainError(f"{value!r} has no zone: what it means differs from machine to machine")
    raise NotPlainError(f"{type_name(type(value))} is no plain data: pass what it is made from, or its name")


def _known(code: int, data: bytes) -> object:
    return KINDS[code](unpack_plain(data))
