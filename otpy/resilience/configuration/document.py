"""`Document`: a configuration as it was fetched, and how it and what is known of it look on the disk."""

from __future__ import annotations

import hashlib
from typing import Any

import msgpack

from otpy.core.text import exception_line, safe_repr
from otpy.core.value import value
from otpy.resilience.errors import ConfigurationError

__all__ = ["MAX_SIZE", "DamagedError", "Document", "NewerError", "digest_of", "opened", "sealed", "unpacked"]

MAGIC = b"otpy configuration "
FORMAT = 1
MAX_SIZE = 16 << 20
"""Bytes that a configuration may have: it is kept twice, and read at each start."""


class DamagedError(Exception):
    """A file is empty, cut short, altered, or something else."""


class NewerError(Exception):
    """A file was written by a newer otpy."""


@value
class Document:
    """A configuration as the hub has it: what `fetch` returns. `data` is plain data: what JSON has, and bytes."""

    version: int
    """Its number, at least 0; a later configuration has a higher one."""
    data: Any  # Any: the user knows what it is; `check` looks at it
    """What it says."""
    signature: bytes | None = None
    """What proves whose it is, for `signed` to look at."""

    def packed(self) -> bytes:
        """As bytes. Raises ConfigurationError for what cannot be kept."""
        if type(self.version) is not int or not 0 <= self.version < 1 << 63:
            raise ConfigurationError(f"version {safe_repr(self.version)}: a whole number from 0 on, below 2**63")
        if not (self.signature is None or isinstance(self.signature, bytes)):
            raise ConfigurationError(f"signature {safe_repr(self.signature)}: bytes, or None")
        try:
            data: bytes = msgpack.packb((self.version, self.data, self.signature))
        except (TypeError, ValueError, OverflowError, RecursionError) as error:
            raise ConfigurationError(f"its data is no plain data: {exception_line(error)}") from None
        if len(data) > MAX_SIZE:
            raise ConfigurationError(f"it has {len(data)} bytes, more than {MAX_SIZE}")
        return data


def unpacked(data: bytes) -> Document:
    """The document that was packed. Raises DamagedError."""
    try:
        version, found, signature = msgpack.unpackb(data, strict_map_key=False)
    except (ValueError, TypeError, RecursionError, msgpack.UnpackException) as error:
        raise DamagedError(exception_line(error)) from None
    return Document(version, found, signature)


def digest_of(data: bytes) -> bytes:
    """What tells one document from any other."""
    return hashlib.sha256(data).digest()


def sealed(data: bytes) -> bytes:
    """As it is written: who reads it later can tell whether it is all there."""
    return MAGIC + b"%d\n" % FORMAT + digest_of(data) + data


def opened(found: bytes) -> bytes:
    """What was sealed.

    Raises:
        DamagedError: it is something else, or not whole.
        NewerError: this otpy cannot read it.
    """
    head, line, rest = found.partition(b"\n")
    number = head.removeprefix(MAGIC)
    if not line or not head.startswith(MAGIC) or not number.isdigit():
        raise DamagedError("it is empty, cut short or something else")
    if int(number) > FORMAT:
        raise NewerError(f"it has format {int(number)}, and this otpy knows {FORMAT}: run a newer one")
    digest, data = rest[:32], rest[32:]
    if digest_of(data) != digest:
        raise DamagedError("it is cut short or altered")
    return data
