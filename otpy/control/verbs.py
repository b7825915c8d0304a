"""What can be asked of a program over its control socket; other floors add theirs with `register`."""

from __future__ import annotations

import math
import os
import sys
import time
from dataclasses import replace
from typing import TYPE_CHECKING

from otpy.control.errors import NO_VERB, BadRequestError
from otpy.control.snapshot import Detail, Exits, Inspected, Snapshot, Summary, to_plain
from otpy.control.wire import otpy_version
from otpy.core.suggest import did_you_mean
from otpy.core.text import visible, visible_lines
from otpy.core.value import value
from otpy.runtime.history import MAX_KEPT

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from otpy.control.rights import Right

    Params = Mapping[str, object]
    Run = Callable[[Inspected, Params], object]

__all__ = ["ASKER", "VERBS", "Verb", "VerbTable", "integer_of", "path_of", "register", "seconds_of", "text_of"]

ASKER = "asker"
"""The parameter by which the server itself says who asks, as the kernel tells it, whatever the client has put there."""
DEFAULT_LIMIT = 200
"""Children told of each supervisor, unless the client says otherwise."""
MAX_RECORDS = 20_000
"""Actors in one reply: half of what fits into `Limits.max_reply_bytes`; the rest are counted."""
MAX_ZOMBIES = 100
"""Zombies in one reply; ten end the program unless it is told otherwise."""
DEFAULT_EXITS = 20
"""Exits told of, unless the client says otherwise."""
DEFAULT_MESSAGES = 20
"""Waiting messages told of, unless the client says otherwise."""
MAX_MESSAGES = 1_000
"""Waiting messages in one reply."""
STATE_TIME = 2.5
"""Seconds an actor may be in a message before its state is not waited for. observer_cli: 2500 ms."""
SUSPEND_TIME = 5.0
"""Seconds the same before it is said to be busy. OTP: 5000 ms, sys:suspend/1."""
MAX_WITHIN = 60.0
"""Seconds anybody waits for an actor here."""
MAX_STACK = 20_000
"""Characters of a stack, from its inner end."""


@value(kw_only=True)
class Verb:
    """One thing a program can be asked."""

    name: str
    """What a request calls it."""
    right: Right
    """What the program must give."""
    run: Run
    """Gets the system and the request's parameters; returns plain data."""
    inline: bool = False
    """Whether it is answered on the server's own thread: only for what waits for nothing and takes no lock for long."""
    looks_inside: bool = False
    """Whether it has to wait a moment where a system has process children, and then runs on a thread of its own."""

    def waits(self, system: Inspected) -> bool:
        """Whether it may have to wait for anything in this system."""
        return not self.inline or (self.looks_inside and system.asks_processes())


class VerbTable:
    """The verbs of a server, by name."""

    def __init__(self) -> None:
        self._verbs: dict[str, Verb] = {}

    def __iter__(self) -> Iterator[Verb]:
        return iter(sorted(self._verbs.values(), key=lambda verb: verb.name))

    def add(self, verb: Verb) -> None:
        """Add one verb.

        Raises:
            ValueError: the name is taken.
        """
        if verb.name in self._verbs:
            raise ValueError(f"the verb {verb.name!r} is there already")
        self._verbs[verb.name] = verb

    def get(self, name: object) -> Verb:
        """The verb of this name.

        Raises:
            BadRequestError: there is none; the message names the nearest.
        """
        if not isinstance(name, str) or name not in self._verbs:
            raise BadRequestError(f"{NO_VERB} {visible(str(name), 40)!r}: {did_you_mean(str(name)[:40], self._verbs)}")
        return self._verbs[name]


VERBS = VerbTable()
"""The verbs of every server that is not given a table of its own."""


def register(
    name: str, *, right: Right, inline: bool = False, looks_inside: bool = False, table: VerbTable = VERBS
) -> Callable[[Run], Run]:
    """Add the decorated function as a verb; see `Verb` for what it gets and may do.

    Unless `inline`, it runs on a thread of its own and may wait as long as it likes.
    """

    def add(run: Run) -> Run:
        table.add(Verb(name=name, right=right, run=run, inline=inline, looks_inside=looks_inside))
        return run

    return add


def path_of(params: Params) -> str:
    """The parameter `path`.

    Raises:
        BadRequestError: it is missing or no text.
    """
    path = params.get("path")
    if not isinstance(path, str) or not path:
        raise BadRequestError("the parameter 'path' is missing: it names an actor, as shop/feed/17")
    return path


def integer_of(params: Params, name: str, default: int) -> int:
    """A parameter that is a number of things.

    Raises:
        BadRequestError: it is no whole number, or negative.
    """
    value = params.get(name, default)
    if not isinstance(value, int) or isinstance(value, bool) or value < 0:
        raise BadRequestError(f"the parameter {name!r} must be a whole number, 0 or more")
    return min(value, sys.maxsize)  # more than there can be of anything, and what takes a size refuses more


def text_of(params: Params, name: str) -> str | None:
    """A parameter that is a text, or is not there.

    Raises:
        BadRequestError: it is something else.
    """
    value = params.get(name)
    if value is not None and not isinstance(value, str):
        raise BadRequestError(f"the parameter {name!r} must be a text")
    return value


def seconds_of(params: Params, name: str, default: float | None) -> float | None:
    """A parameter that is a time in seconds, an hour at most for what somebody waits for.

    Raises:
        BadRequestError: it is no number above 0.
    """
    value = params.get(name, default)
    if value is None:
        return None
    if not isinstance(value, int | float) or isinstance(value, bool) or not 0 < value < math.inf:
        raise BadRequestError(f"the parameter {name!r} must be a number of seconds above 0")
    return float(value)


@register("summary", right="read", inline=True)
def summary(system: Inspected, _params: Params) -> object:
    """The program as one line."""
    return to_plain(_summary(system))


@register("tree", right="read", inline=True, looks_inside=True)
def tree(system: Inspected, params: Params) -> object:
    """The live tree, or the part below `path`; at most `limit` children of each supervisor."""
    path = params.get("path")
    records = tuple(
        system.records(None if path is None else path_of(params), limit=integer_of(params, "limit", DEFAULT_LIMIT))
    )
    kept = records[:MAX_RECORDS]
    zombies = tuple(system.zombies())[:MAX_ZOMBIES]
    left_out = len(records) - len(kept)
    return to_plain(Snapshot(system=_summary(system), records=kept, zombies=zombies, left_out=left_out))


@register("info", right="read", inline=True, looks_inside=True)
def info(system: Inspected, params: Params) -> object:
    """One actor, and its Python stack when it runs."""
    record = system.record(path_of(params))
    stack = system.stack(record.path)
    return to_plain(Detail(record=record, stack=None if stack is None else visible_lines(stack, MAX_STACK)))


@register("why", right="read", inline=True)
def why(system: Inspected, params: Params) -> object:
    """The latest exits that concern `path`, at most `limit`."""
    path = path_of(params)
    limit = min(integer_of(params, "limit", DEFAULT_EXITS), MAX_KEPT)
    return to_plain(Exits(path=path, exits=tuple(system.exits(path, limit=limit))))


@register("mailbox", right="read", inline=True, looks_inside=True)
def mailbox(system: Inspected, params: Params) -> object:
    """How many messages wait for `path`, and the kinds of the first `limit`."""
    limit = min(integer_of(params, "limit", DEFAULT_MESSAGES), MAX_MESSAGES)
    return to_plain(system.mailbox(path_of(params), limit=limit))


@register("state", right="full")
def state(system: Inspected, params: Params) -> object:
    """What `path` holds, or what it is busy with for longer than `within`."""
    found = system.state(path_of(params), timeout=_within(params, STATE_TIME))
    stack = None if found.stack is None else visible_lines(found.stack, MAX_STACK)
    return to_plain(replace(found, stack=stack))


@register("suspend", right="operate")
def suspend(system: Inspected, params: Params) -> None:
    """Have `path` handle no messages, for `seconds` if given; waits at most `within` for the one it is in."""
    seconds = seconds_of(params, "seconds", None)
    system.suspend(path_of(params), timeout=_within(params, SUSPEND_TIME), seconds=seconds)


@register("resume", right="operate")
def resume(system: Inspected, params: Params) -> None:
    """Have `path` go on with its messages."""
    system.resume(path_of(params), timeout=_within(params, SUSPEND_TIME))


@register("stop", right="operate")
def stop(system: Inspected, params: Params) -> None:
    """Stop one child and keep its specification."""
    system.terminate_child(_below_root(system, params))


@register("restart", right="operate")
def restart(system: Inspected, params: Params) -> None:
    """Stop one child, if it runs, and start it again."""
    system.restart_child(_below_root(system, params))


@register("kill", right="operate")
def kill(system: Inspected, params: Params) -> None:
    """Kill one actor; its supervisor acts as for any death."""
    system.kill(_below_root(system, params))


@register("stop_system", right="operate")
def stop_system(system: Inspected, params: Params) -> None:
    """Ask the whole program to stop; answered at once."""
    system.request_stop(f"otpy stop by {text_of(params, ASKER) or 'somebody'}")


def _summary(system: Inspected) -> Summary:
    draining, left = system.ending() or (None, None)
    return Summary(
        name=system.name,
        pid=os.getpid(),
        version=otpy_version(),
        python=sys.version.partition(" ")[0],
        command=visible(" ".join(sys.argv)),
        started_at=system.started_at,
        uptime=max(0.0, time.time() - system.started_at),
        counts=dict(system.counts()),
        draining=None if draining is None else visible(draining),
        left=left,
    )


def _within(params: Params, default: float) -> float:
    return min(seconds_of(params, "within", None) or default, MAX_WITHIN)


def _below_root(system: Inspected, params: Params) -> str:
    path = path_of(params)
    if path == system.name:
        raise BadRequestError(f"{visible(path)!r} is the whole program: name an actor in it, as {visible(path)}/cache")
    return path
