"""What is known of the configurations of one agent, as a value: which is current, was good, has failed. Pure."""

from __future__ import annotations

from dataclasses import field, replace
from typing import Any

import msgpack

from otpy.core.text import exception_line
from otpy.core.value import value
from otpy.resilience.configuration.age import Stamp
from otpy.resilience.configuration.document import DamagedError

__all__ = ["TRIES", "Record", "packed_record", "unpacked_record"]

TRIES = 2
"""Starts that a configuration may crash; then it is skipped."""
KEPT = 2
MOST_BANNED = 1_000
"""Failed versions that are remembered; each is above the lowest that is kept, so only a hub that is ill has so many."""


@value(kw_only=True)
class Record:
    """Replaced as a whole at each change, on the disk as here."""

    sequence: int = 0
    """Grows with each change that is written."""
    current: int | None = None
    """What the agent goes by."""
    good: tuple[int, ...] = ()
    """Those that were good for long enough, the latest last; two at most."""
    digests: dict[int, bytes] = field(default_factory=dict)
    """What each that is kept must look like."""
    tries: dict[int, int] = field(default_factory=dict)
    """The boot counter: how often each was begun with and has not been survived yet."""
    banned: tuple[int, ...] = ()
    """Versions that have failed, and are never applied again."""
    stamp: Stamp | None = None
    """When the hub last said that the current one is current."""

    def fallback(self, version: int | None) -> int | None:
        """What to go back to when one fails: the last good one, or, while none is, the last that was in use."""
        good = [one for one in self.good if one != version and one in self.digests]
        others = good or sorted(one for one in self.digests if one != version)
        return others[-1] if others else None

    def kept(self) -> set[int]:
        """Those whose documents are kept: the current one, and the one to fall back to."""
        return {one for one in (self.current, self.fallback(self.current)) if one is not None}

    def candidates(self) -> list[int]:
        """What to begin with, the best first."""
        first = [] if self.current is None else [self.current]
        rest = sorted(set(self.digests) - set(first), key=lambda one: (one in self.good, one), reverse=True)
        return [version for version in first + rest if version in self.digests]

    def is_tried(self, version: int) -> bool:
        """Whether it has crashed as many starts as one may."""
        return self.tries.get(version, 0) >= TRIES

    def begun(self, version: int, instead: int | None = None) -> Record:
        """It is about to be tried: a crash from now on is its doing, and not that of another one that was."""
        tries = self.tries | {version: self.tries.get(version, 0) + 1}
        if instead in tries and instead != version:
            tries[instead] -= 1
        return replace(self, tries={one: times for one, times in tries.items() if times > 0})

    def survived(self, version: int) -> Record:
        """It has not crashed the agent."""
        return replace(self, tries={one: times for one, times in self.tries.items() if one != version})

    def taken(self, version: int, digest: bytes, stamp: Stamp) -> Record:
        """It is the current one from now on; what need not be kept any longer is forgotten."""
        return _pruned(replace(self, current=version, digests=self.digests | {version: digest}, stamp=stamp))

    def using(self, version: int | None) -> Record:
        """One that is kept is the current one."""
        return replace(self, current=version)

    def proved(self, version: int) -> Record:
        """It is good."""
        good = (*(one for one in self.good if one != version), version)[-KEPT:]
        return _pruned(replace(self.survived(version), good=good))

    def failed(self, version: int) -> Record:
        """It is never applied again; the one before it, if there is one, is the current one."""
        good = tuple(one for one in self.good if one != version)
        current = self.fallback(version) if self.current == version else self.current
        banned = tuple(sorted({*self.banned, version}))
        rest = self.survived(version).lost(version)
        return _pruned(replace(rest, current=current, good=good, banned=banned))

    def lost(self, version: int) -> Record:
        """Its document is no longer there."""
        digests = {one: digest for one, digest in self.digests.items() if one != version}
        return replace(self, digests=digests, good=tuple(one for one in self.good if one != version))


def _pruned(record: Record) -> Record:
    """Without what is not kept."""
    kept = record.kept()
    lowest = min(kept, default=-1)
    return replace(
        record,
        good=tuple(one for one in record.good if one in kept),
        digests={one: digest for one, digest in record.digests.items() if one in kept},
        banned=tuple(one for one in record.banned if one > lowest)[-MOST_BANNED:],
        tries={one: times for one, times in record.tries.items() if one > lowest or one in kept},
    )


def packed_record(record: Record) -> bytes:
    """As bytes."""
    stamp = record.stamp
    marks = None if stamp is None else (stamp.age, stamp.wall, stamp.boot, stamp.uptime)
    fields = (record.sequence, record.current, record.good, record.digests, record.tries, record.banned, marks)
    data: bytes = msgpack.packb(fields)
    return data


def unpacked_record(data: bytes) -> Record:
    """The record that was packed. Raises DamagedError."""
    try:
        fields: Any = msgpack.unpackb(data, strict_map_key=False)
        sequence, current, good, digests, tries, banned, marks = fields
        return Record(
            sequence=sequence,
            current=current,
            good=tuple(good),
            digests=dict(digests),
            tries=dict(tries),
            banned=tuple(banned),
            stamp=None if marks is None else Stamp(*marks),
        )
    except (ValueError, TypeError, RecursionError, msgpack.UnpackException) as error:
        raise DamagedError(exception_line(error)) from None
