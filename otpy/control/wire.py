"""Frames of the control socket: four bytes of length, then one msgpack value; bytes in, values out, no socket here."""

from __future__ import annotations

import struct
from functools import cache
from typing import Any

import msgpack

from otpy.control.errors import WireError

__all__ = ["PROTOCOL", "FrameReader", "decode", "encode", "otpy_version"]

PROTOCOL = 1
"""Raised when an older client or server would misunderstand; new verbs and new fields do not raise it."""

HEADER = struct.Struct(">I")
# Names made from file names may hold lone surrogates; both ends pass them on unharmed.
UNICODE = "surrogatepass"
DEEP = frozenset({dict, list})
"""What msgpack makes of what holds other values."""


@cache
def otpy_version() -> str:
    """The installed version, for people to read in a version conflict."""
    from importlib.metadata import PackageNotFoundError, version  # noqa: PLC0415 - a tenth of the time to import otpy

    try:
        return version("otpy")
    except PackageNotFoundError:
        return "not installed"


def encode(value: object, *, max_bytes: int) -> bytes:
    """One frame with `value` in it.

    Raises:
        WireError: the value is not plain data, or its frame would be longer than `max_bytes`.
    """
    try:
        payload: bytes = msgpack.packb(value, unicode_errors=UNICODE)
    except (TypeError, ValueError, OverflowError, RecursionError) as error:
        raise WireError(f"not plain data: {error}") from error
    if len(payload) > max_bytes:
        raise WireError(f"a frame of {len(payload)} bytes is over the limit of {max_bytes}")
    return HEADER.pack(len(payload)) + payload


def decode(payload: bytes, *, max_depth: int) -> object:
    """The value in one frame.

    Raises:
        WireError: it is not msgpack, or lists and maps lie deeper in each other than `max_depth`.
    """
    try:
        value: object = msgpack.unpackb(payload, unicode_errors=UNICODE)
    except (msgpack.UnpackException, TypeError, ValueError, OverflowError, RecursionError) as error:
        raise WireError(f"not msgpack: {type(error).__name__}") from error
    _check_depth(value, max_depth)
    return value


class FrameReader:
    """Puts the frames of one connection together from whatever pieces arrive."""

    __slots__ = ("_buffer", "_max_bytes")

    def __init__(self, max_bytes: int) -> None:
        """Accept frames of at most `max_bytes`."""
        self._buffer = bytearray()
        self._max_bytes = max_bytes

    @property
    def has_bytes(self) -> bool:
        """Whether the beginning of a frame, or more, is here."""
        return bool(self._buffer)

    def feed(self, data: bytes) -> None:
        """Take the next bytes of the stream."""
        self._buffer += data

    def next_frame(self) -> bytes | None:
        """The next whole frame, or None while bytes are missing.

        Raises:
            WireError: the frame says it is longer than it may be; found from its first four bytes.
        """
        if len(self._buffer) < HEADER.size:
            return None
        (length,) = HEADER.unpack_from(self._buffer)
        if length > self._max_bytes:
            raise WireError(f"a frame of {length} bytes is over the limit of {self._max_bytes}")
        if len(self._buffer) < HEADER.size + length:
            return None
        frame = bytes(self._buffer[HEADER.size : HEADER.size + length])
        del self._buffer[: HEADER.size + length]
        return frame


def _check_depth(value: object, max_depth: int) -> None:
    layer: list[Any] = [value] if value.__class__ in DEEP else []
    for _ in range(max_depth):
        if not layer:
            return
        layer = [
            inner
            for item in layer
            for inner in (item.values() if item.__class__ is dict else item)
            if inner.__class__ in DEEP
        ]
    if layer:
        raise WireError(f"lists and maps lie deeper in each other than {max_depth}")
