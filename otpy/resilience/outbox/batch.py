"""`Batch`: what a sender gets and a receiver takes, with its rows; `Receipt`: what of it has been taken."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import msgpack

from otpy.core.text import exception_line
from otpy.core.value import value
from otpy.resilience.errors import BatchError, PayloadError

__all__ = ["MAX_PAYLOAD", "Batch", "Receipt", "Row", "packed"]

VERSION = 1
"""The first item of a packed batch; a later otpy may write them otherwise, and will still read these."""
MAX_PAYLOAD = 1 << 20
"""Bytes that one payload may have; what is larger belongs into a file, and its name into the outbox."""


@value
class Row:
    """One row of an outbox."""

    sequence: int
    """Its number; within a topic a later row has a higher one. Some are missing, where rows were dropped."""
    key: str
    """Whose it is, as the name of a sensor; empty unless one was given."""
    created: float
    """When it was put: seconds since 1970, by the clock of the agent's machine, which may be wrong."""
    packed: bytes
    """The payload as it is kept, in msgpack."""

    @property
    def payload(self) -> Any:  # Any: the user knows what was put
        """What was put; a tuple is a list by now. Raises PayloadError when it is no longer readable."""
        try:
            return msgpack.unpackb(self.packed, strict_map_key=False)
        except (ValueError, TypeError, RecursionError, msgpack.UnpackException) as error:
            raise PayloadError(f"row {self.sequence}: it cannot be read ({exception_line(error)})") from None


@value
class Batch:
    """Rows that are sent together: of one topic and one incarnation, in their order."""

    agent: str
    """Who sends them."""
    incarnation: str
    """Which opening of the outbox's file had put them. A number means something together with this alone: a file that
    was lost, or brought back from a copy, goes on under another one."""
    topic: str
    """Whose rows they are."""
    rows: tuple[Row, ...]
    """At least one."""

    @property
    def last(self) -> int:
        """The highest number in it."""
        return self.rows[-1].sequence

    def pack(self) -> bytes:
        """As bytes for a network; `Batch.unpack` is the way back."""
        rows = [(row.sequence, row.key, row.created, row.packed) for row in self.rows]
        data: bytes = msgpack.packb((VERSION, self.agent, self.incarnation, self.topic, rows))
        return data

    @staticmethod
    def unpack(data: bytes) -> Batch:
        """A batch from what `pack` gave; anybody may have sent it, so each part is looked at.

        Raises:
            BatchError: it is none.
        """
        try:
            version, agent, incarnation, topic, rows = msgpack.unpackb(data, strict_map_key=False)
            found = tuple(Row(*row) for row in rows)
        except (ValueError, TypeError, RecursionError, msgpack.UnpackException) as error:
            raise BatchError(f"it is no batch of an outbox ({exception_line(error)})") from None
        if version != VERSION:
            raise BatchError(f"it was packed by a newer otpy (version {version!r})")
        if not found or not all(map(_is_sound, found)) or not _is_rising([row.sequence for row in found]):
            raise BatchError("its rows are not those of an outbox")
        if not all(isinstance(word, str) and word for word in (agent, incarnation, topic)):
            raise BatchError("it does not say whose it is")
        return Batch(agent, incarnation, topic, found)


@value
class Receipt:
    """What a sender returns when the receiver has not taken all of a batch; None says that it has."""

    through: int | None = None
    """The highest number up to which all rows are taken; None: all of them. What is after it is sent again."""
    refused: tuple[int, ...] = ()
    """Rows that the receiver will never take: they are dropped, counted and told, so that others get past them."""


def packed(payload: object) -> bytes:
    """A payload as it is kept: what JSON has, and bytes. Raises PayloadError."""
    try:
        data: bytes = msgpack.packb(payload)
    except (TypeError, ValueError, OverflowError, RecursionError) as error:
        raise PayloadError(f"a payload is plain data: {exception_line(error)}") from None
    if len(data) > MAX_PAYLOAD:
        raise PayloadError(f"a payload of {len(data)} bytes, more than {MAX_PAYLOAD}: put the name of a file instead")
    return data


def _is_sound(row: Row) -> bool:
    return (
        type(row.sequence) is int
        and row.sequence > 0
        and isinstance(row.key, str)
        and isinstance(row.created, int | float)
        and isinstance(row.packed, bytes)
    )


def _is_rising(numbers: list[int]) -> bool:
    return all(one < other for one, other in pairwise(numbers))
