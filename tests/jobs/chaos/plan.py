"""What happens in a round: drawn from a seed, so that its number is all one needs to see it again."""

from __future__ import annotations

import random
from dataclasses import dataclass
from typing import Literal

__all__ = ["APART", "BEFORE_CRON", "HOWS", "LEASE", "Fault", "Life", "Plan", "Where", "plan"]

LEASE = 0.6
"""Seconds: short, for a round has several of them."""
BEFORE_CRON = 1.0
"""Seconds from the beginning of a round to the time of its schedules."""

HOWS = ("ok", "ok", "ok", "raise", "snooze", "exit", "hang", "loop", "unfit", "once", "coroutine", "poison", "leave")
"""What a job does. `leave` ends the whole program at once, `poison` its agent, each time."""
APART = (
    "ok",
    "ok",
    "raise",
    "snooze",
    "exit",
    "hang",
    "for ever",
    "unfit",
    "once",
    "leave",
    "SIGSEGV",
    "SIGSTOP",
    "fork",
)
"""What one in a process of its own does, beside that: nothing of it may end the program."""


@dataclass(frozen=True, slots=True)
class Fault:
    """What a program does to itself, and when: so it is the same each time, whatever else the machine does."""

    point: Literal["said", "begin", "commit", "committed"]
    """After a line of history; in a transaction at its begin, before its commit, or before anybody hears of that."""
    number: int
    """The how-manieth."""
    signal: Literal["KILL", "STOP"]


@dataclass(frozen=True, slots=True)
class Life:
    """One program, from its start to its end."""

    name: str
    seed: int
    jobs: int
    """How many it enqueues."""
    kills: int
    """How many agents it kills."""
    fault: Fault | None


@dataclass(frozen=True, slots=True)
class Where:
    """How the engines of a round are set up."""

    profile: Literal["full", "fast"]
    place: Literal["pool", "thread"]
    """That of the agents that do plain functions."""
    apart: int
    """How many agents have a process of their own: to start those takes as long as a round without them."""
    one_of: int = 2
    """Where there are such agents, one of so many jobs is for them."""
    long: float = 0.0
    """The part of jobs that take a second: who is stopped or cut off has some at hand."""
    without: tuple[str, ...] = ()
    """What no job does here, of `HOWS` and `APART`."""


@dataclass(frozen=True, slots=True)
class Plan:
    """One round: the lives of one or two programs, each begun when the one before has ended."""

    seed: int
    lives: tuple[tuple[Life, ...], ...]
    where: Where


def plan(seed: int) -> Plan:
    """The round of this number."""
    chance = random.Random(seed)
    lives = tuple(_lives(chance, name) for name in "ab"[: chance.choice((1, 2, 2))])
    profile, place = chance.choice(("full", "fast")), chance.choice(("pool", "pool", "thread"))
    where = Where(profile, place, apart=2 * (chance.random() < 0.25))  # type: ignore[arg-type]  # of the words above
    return Plan(seed, lives, where)


def _lives(chance: random.Random, name: str) -> tuple[Life, ...]:
    number = chance.choice((1, 2, 2, 3))
    return tuple(
        Life(
            name=f"{name}{index}",
            seed=chance.randrange(2**32),
            jobs=chance.randint(4, 14),
            kills=chance.choice((0, 0, 1, 2)),
            fault=_fault(chance),
        )
        for index in range(number)
    )


def _fault(chance: random.Random) -> Fault | None:
    signal = chance.choice(("KILL", "KILL", "KILL", "STOP", "STOP", None))
    if signal is None:
        return None
    point = chance.choice(("said", "said", "begin", "commit", "committed"))
    return Fault(point, chance.randint(1, 60), signal)  # type: ignore[arg-type]  # of the words above
