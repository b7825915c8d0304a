"""When to look at whom: agents in buckets of a second, so that a beat moves none, and one timer is enough."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from otpy.fleet.books import NOWHERE

if TYPE_CHECKING:
    from collections.abc import Iterator

    from otpy.fleet.books import Agent

__all__ = ["Wheel"]

LEAST = 1_000
"""Entries that are let be, whatever they are."""


class Wheel:
    """Agents by the second in which they are to be looked at.

    A beat moves nobody. Whose second has come is looked at; if it was heard since, it is put where its time will be
    over then. So each is moved about once in the time that it may be silent.
    """

    def __init__(self) -> None:
        """Nobody yet."""
        self._buckets: dict[int, list[Agent]] = {}
        self._next = 0
        """The first that was not looked at yet."""
        self._entries = 0
        self._most = LEAST
        """Entries beyond which those are dropped that are not meant any more."""

    def put(self, agent: Agent, due: float) -> None:
        """Have it looked at when that time has come, and not before; what was to be is no more."""
        agent.bucket = bucket = max(math.ceil(due), self._next)
        found = self._buckets.get(bucket)
        if found is None:
            self._buckets[bucket] = [agent]
        else:
            found.append(agent)
        self._entries += 1
        if self._entries > self._most:
            self._tidy()

    def due(self, now: float) -> Iterator[Agent]:
        """Those whose time has come; each is nowhere from then on."""
        last = math.floor(now)
        span, self._next = range(self._next, last + 1), last + 1
        keys = span if len(span) < len(self._buckets) else sorted(key for key in self._buckets if key <= last)
        for key in keys:
            bucket = self._buckets.pop(key, ())
            self._entries -= len(bucket)
            for agent in bucket:
                if agent.bucket == key:
                    agent.bucket = NOWHERE
                    yield agent

    def _tidy(self) -> None:
        """Drop what is left of agents that were put elsewhere: who comes and goes leaves some, often for long."""
        for key, bucket in list(self._buckets.items()):
            kept = list(dict.fromkeys(agent for agent in bucket if agent.bucket == key))
            self._entries -= len(bucket) - len(kept)
            if kept:
                self._buckets[key] = kept
            else:
                del self._buckets[key]
        self._most = max(LEAST, 2 * self._entries)
