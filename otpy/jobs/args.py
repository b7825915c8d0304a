"""The arguments and results of jobs as bytes: msgpack with a version, for a job may outlive its program."""

from __future__ import annotations

from datetime import datetime
from typing import Any

import msgpack

from otpy.core.text import exception_line, type_name
from otpy.jobs.errors import ArgumentsError

__all__ = ["MAX_BYTES", "decode", "encode", "pack", "unpack"]

VERSION = 1
"""The first item of each; a later otpy may write them otherwise, and will still read these."""

MAX_BYTES = 1 << 20
"""What one job may carry; what is larger belongs into a file or another table, and its name into the job."""

TUPLE, SET, FROZENSET = 1, 2, 3
KINDS: dict[int, type] = {TUPLE: tuple, SET: set, FROZENSET: frozenset}
CODES = {kind: code for code, kind in KINDS.items()}


def encode(args: tuple[object, ...], kwargs: dict[str, object]) -> bytes:
    """The arguments of a call. Raises ArgumentsError."""
    return pack([VERSION, list(args), kwargs])


def decode(data: bytes) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """The arguments of a call, as they were. Raises ArgumentsError when this otpy cannot read them."""
    version, args, kwargs = unpack(data)
    if version != VERSION:
        raise ArgumentsError(f"they were written by a newer otpy (version {version})")
    return tuple(args), kwargs


def pack(value: object) -> bytes:
    """One value of plain data: what JSON has, bytes, tuples, sets and times with a zone. Raises ArgumentsError."""
    try:
        data: bytes = msgpack.packb(value, default=_odd, strict_types=True, datetime=True)
    except (TypeError, ValueError, OverflowError, RecursionError) as error:
        if isinstance(error, ArgumentsError):
            raise
        raise ArgumentsError(exception_line(error)) from None
    if len(data) > MAX_BYTES:
        raise ArgumentsError(f"{len(data)} bytes, more than {MAX_BYTES}: keep it elsewhere, and its name in the job")
    return data


def unpack(data: bytes) -> Any:  # Any: the caller knows what it packed
    """The value. Raises ArgumentsError when it is none."""
    try:
        return msgpack.unpackb(data, ext_hook=_known, strict_map_key=False, timestamp=3)
    except (ValueError, TypeError, LookupError, OverflowError, RecursionError, msgpack.UnpackException) as error:
        raise ArgumentsError(f"they cannot be read ({exception_line(error)})") from None


def _odd(value: Any) -> object:  # Any: what msgpack does not know
    code = CODES.get(type(value))
    if code is not None:
        return msgpack.ExtType(code, pack(list(value)))
    if isinstance(value, datetime):
        raise ArgumentsError(f"{value!r} has no zone: what it means differs from machine to machine")
    raise ArgumentsError(f"{type_name(type(value))} is no plain data: pass what it is made from, or its name")


def _known(code: int, data: bytes) -> object:
    return KINDS[code](unpack(data))
