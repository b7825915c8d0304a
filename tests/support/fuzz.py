"""Seeded rubbish for the control socket: what clients send who mean harm, know no better, or were cut short."""

from __future__ import annotations

import random
import struct
from typing import TYPE_CHECKING

import msgpack

from otpy.control.errors import WireError
from otpy.control.wire import PROTOCOL, FrameReader, decode
from support.control import frame, request

if TYPE_CHECKING:
    from collections.abc import Iterable

    from otpy.control.limits import Limits

__all__ = ["PATHS", "ROGUES", "Rubbish", "answers_due"]

PATHS = (
    *(
        "",
        "/",
        "//",
        "shop/",
        "shop//",
        "/shop",
        "shop/../shop",
        "../../etc/passwd",
        "shop/./none",
        "none",
        "SHOP/NONE",
    ),
    *("shop/\x1b[2J\x1b]0;owned\x07", "shop/\r\n\x00none", "shop/\u202egnp", "shop/" + "é" * 300, "shop/\ud800\udfff"),
    *("shop/none" + "/x" * 5_000, "n" * 60_000, "shop/" + "\U0001f600" * 9_000, "[red]shop[/red]", "shop/%s%n{0}"),
)
"""None of them is an actor's, not even with a bit flipped."""

ROGUES: tuple[object, ...] = (
    *(None, True, False, 0, -1, 1, 2**31, 2**63, 2**64 - 1, -(2**63), 0.5, float("nan"), float("inf"), -0.0),
    *("", "x", "\x00", "\ud83d", "y" * 40_000, b"", b"\xff\xfe", b"z" * 40_000, [], {}, [[]], {"": {}}, [None] * 5_000),
    *(msgpack.ExtType(0, b""), msgpack.ExtType(127, b"\x00" * 300), msgpack.Timestamp(2**63 - 1, 999_999_999)),
    *(msgpack.Timestamp(-(2**63), 0), [[[[[[[[[]]]]]]]]], {"path": {"path": {"path": "shop"}}}),
)
"""Values where others belong: each type that msgpack knows, at its edges."""

HOSTILE = (
    b"\xc1",
    b"",
    b"\xa5ab",
    b"\xdd\xff\xff\xff\xff",
    b"\xdf\xff\xff\xff\xff",
    b"\xc6\xff\xff\xff\xff",
    b"\xc9\xff\xff\xff\xff\x01",
    b"\xd6\xff\x00",
    b"\xd8\xff" + b"\xff" * 16,
    b"\xc7\x0c\xff" + b"\xff" * 12,
    b"\xa2\xff\xfe",
    b"\xa3\xed\xa0\x80",
    b"\x81\x80\x01",
    b"\x81\x01\x02",
    b"\x91" * 900,
    b"\x81\xa1a" * 2_000 + b"\xc0",
    b"\x92" * 17 + b"\xc0" * 18,
    b"\x9f" * 15 + b"\xc0",
)
"""Payloads that mislead a reader of msgpack: lengths that lie, types nobody uses, depth, no UTF-8, odd keys."""


class Rubbish:
    """Draws what one bad client sends; the same seed sends the same."""

    def __init__(self, seed: int, verbs: Iterable[str]) -> None:
        self.chance = random.Random(seed)
        self._verbs = sorted(verbs)
        self._past: list[bytes] = [frame({})]
        self._kinds = (
            *(self._flipped, self._cut, self._misframed, self._payload, self._noise, self._twice_named, self._request),
            *(self._mistyped, self._stranger, self._replayed, self._burst, self._spliced),
        )

    def frames(self, count: int) -> list[bytes]:
        """The next frames, or what should have been some."""
        return [self.frame() for _ in range(count)]

    def frame(self) -> bytes:
        """The next one."""
        made = self.chance.choice(self._kinds)()
        self._past = [*self._past[-30:], made] if len(made) < 2_000 else self._past
        return made

    def _request(self) -> bytes:
        """A good one, to somebody who is not there."""
        return request(self.chance.choice(self._verbs), self.chance.randrange(99), path=self.chance.choice(PATHS))

    def _mistyped(self) -> bytes:
        """A verb that exists, with parameters of other types than it takes."""
        names = self.chance.sample(["path", "limit", "timeout", "state", "stack", "x", ""], self.chance.randrange(1, 4))
        return self._framed(verb=self.chance.choice(self._verbs), params={name: self._rogue() for name in names})

    def _stranger(self) -> bytes:
        """A request with one part of another type."""
        return self._framed(**{self.chance.choice(["protocol", "id", "verb", "params", "more"]): self._rogue()})

    def _flipped(self) -> bytes:
        made = bytearray(self._request()[:400])
        for _ in range(self.chance.randrange(1, 4)):
            made[self.chance.randrange(len(made))] ^= 1 << self.chance.randrange(8)
        return bytes(made)

    def _cut(self) -> bytes:
        made = self._request()
        return made[: self.chance.randrange(len(made))]

    def _misframed(self) -> bytes:
        """The length says something else."""
        payload = self._request()[4:]
        lies = [0, 1, len(payload) - 1, len(payload) + 1, 2**16, 2**16 + 1, 2**31, 2**32 - 1]
        return struct.pack(">I", self.chance.choice(lies)) + payload

    def _payload(self) -> bytes:
        payload = self.chance.choice(HOSTILE)
        return struct.pack(">I", len(payload)) + payload

    def _noise(self) -> bytes:
        payload = self.chance.randbytes(self.chance.randrange(300))
        return self.chance.choice([b"", struct.pack(">I", len(payload))]) + payload

    def _twice_named(self) -> bytes:
        """A map in which every key is there twice."""
        pairs = [("verb", self.chance.choice(self._verbs)), ("id", 1), ("protocol", PROTOCOL), ("params", {})] * 2
        self.chance.shuffle(pairs)
        pairs[self.chance.randrange(8)] = (self.chance.choice(["verb", "id", "params"]), self._rogue())
        payload = bytes([0x80 | len(pairs)]) + b"".join(frame(part)[4:] for pair in pairs for part in pair)
        return struct.pack(">I", len(payload)) + payload

    def _replayed(self) -> bytes:
        return self.chance.choice(self._past)

    def _burst(self) -> bytes:
        """Earlier ones once more, in another order, at once."""
        return b"".join(self.chance.sample(self._past, min(len(self._past), 4)))

    def _spliced(self) -> bytes:
        """The head of one and the tail of another."""
        one, other = self.chance.choice(self._past), self.chance.choice(self._past)
        return one[: self.chance.randrange(len(one) + 1)] + other[self.chance.randrange(len(other) + 1) :]

    def _rogue(self) -> object:
        return self.chance.choice(ROGUES)

    def _framed(self, **parts: object) -> bytes:
        plain = {"protocol": PROTOCOL, "id": 1, "verb": self.chance.choice(self._verbs), "params": {}}
        return frame(plain | parts)


def answers_due(data: bytes, limits: Limits) -> int:
    """How many replies a client gets that sends this and then no more: one a frame, up to the first that is none."""
    reader = FrameReader(limits.max_request_bytes)
    reader.feed(data)
    due = 0
    while (found := _next(reader)) is not None:
        due += 1
        if not _is_map(found, limits.max_depth):
            break
    return due


def _next(reader: FrameReader) -> bytes | None:
    try:
        return reader.next_frame()
    except WireError:
        return b""  # answered, as any other that is no request


def _is_map(payload: bytes, max_depth: int) -> bool:
    try:
        return isinstance(decode(payload, max_depth=max_depth), dict)
    except WireError:
        return False
