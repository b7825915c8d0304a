"""The arguments and results of jobs as bytes: msgpack with a version, for a job may outlive its program."""

from __future__ import annotations

from typing import Any

from otpy.core.plain import NotPlainError, pack_plain, unpack_plain
from otpy.jobs.errors import ArgumentsError

__all__ = ["MAX_BYTES", "decode", "encode", "pack", "unpack"]

VERSION = 1
"""The first item of each; a later otpy may write them otherwise, and will still read these."""

MAX_BYTES = 1 << 20
"""What one job may carry; what is larger belongs into a file or another table, and its name into the job."""


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
        data = pack_plain(value)
    except NotPlainError as error:
        raise ArgumentsError(str(error)) from None
    if len(data) > MAX_BYTES:
        raise ArgumentsError(f"{len(data)} bytes, more than {MAX_BYTES}: keep it elsewhere, and its name in the job")
    return data


def unpack(data: bytes) -> Any:  # Any: the caller knows what it packed
    """The value. Raises ArgumentsError when it is none."""
    try:
        return unpack_plain(data)
    except NotPlainError as error:
        raise ArgumentsError(f"they cannot be read ({error})") from None
