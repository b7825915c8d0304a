"""Actors for tests in every place: they do the deeds they are handed, and keep a log; and the two that wait on them.

They are imported by process children, so they stand in a module that imports no more than they need.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import otpy
from support.steps import aplay, play

if TYPE_CHECKING:
    from otpy.testing.arrivals import Arrivals

__all__ = ["AsyncPlayer", "Keeper", "Log", "Plan", "Player", "plain"]


class Log(otpy.GenServer):
    """Lives in the test's process and hands on what others note, in the order in which it comes."""

    def init(self, entries: Arrivals[Any]) -> None:
        self.entries = entries

    @otpy.cast
    def note(self, what: Any) -> None:
        self.entries.add(what)

    @otpy.call
    def flush(self) -> list[Any]:
        return self.entries.so_far()


class Keeper(otpy.GenServer):
    """A gate that can be reached from every place: who calls `enter` is answered when it is open."""

    def init(self, arrivals: Arrivals[Any]) -> None:
        self.arrivals = arrivals
        self.is_open = False
        self.held: list[otpy.Caller] = []

    @otpy.call
    def enter(self, who: str) -> Any:
        assert self.caller is not None
        if not self.is_open:
            self.held.append(self.caller)
        self.arrivals.add(who)
        return None if self.is_open else otpy.NoReply()

    @otpy.cast
    def arrive(self, who: str) -> None:
        """Say that one is here, and wait elsewhere."""
        self.arrivals.add(who)

    @otpy.call
    def open(self) -> None:
        self.is_open = True
        while self.held:
            self.held.pop().reply(None)


class Plan(otpy.GenServer):
    """Says how the next starts go: `+` well, `!` with a failure, `~` ignored; after its end they go well."""

    def init(self, starts: str) -> None:
        self.starts = list(starts)

    @otpy.call
    def next_start(self) -> str:
        return self.starts.pop(0) if self.starts else "+"


class Player(otpy.GenServer):
    """`do` and `run` do deeds; what it hears goes into its own log, and into another one if it was given one."""

    def init(self, deed: str = "", *args: Any, log: Any = None, traps: bool = False) -> Any:
        self._prepare(log, traps=traps)
        return play(self, deed, args) if deed else None

    def _prepare(self, log: Any, *, traps: bool) -> None:
        self.seen: list[Any] = []
        self.readers: list[tuple[int, otpy.Caller | None]] = []
        self.kept: dict[str, Any] = {}
        self.last: tuple[str, tuple[Any, ...]] | None = None
        self.log = log
        self.trap_exit = traps

    def note(self, what: Any) -> None:
        """Remember something, and tell the log of it."""
        self.seen.append(what)
        if self.log is not None:
            self.log.cast(Log.note, what)
        for count, reader in self.readers:
            if len(self.seen) == count and reader is not None:
                reader.reply(list(self.seen))

    @otpy.call
    def do(self, deed: str, *args: Any) -> Any:
        return play(self, deed, args)

    @otpy.cast
    def run(self, deed: str, *args: Any) -> Any:
        return play(self, deed, args)

    @otpy.call
    def reset(self) -> bool:
        """Be as new for the next test; False when something of the last one is left."""
        more = self.ref.extras()
        is_new = not (self.kept or self.ref.links or self.ref.name or more.timers or more.watches or more.resources)
        self._prepare(None, traps=False)
        return is_new

    @otpy.call
    def read(self, count: int = 0) -> Any:
        """What it has heard; answered after all that was sent before, and not before it is so much."""
        if len(self.seen) < count:
            self.readers.append((count, self.caller))
            return otpy.NoReply()
        return list(self.seen)

    def handle_call(self, request: Any, caller: otpy.Caller) -> Any:
        return play(self, request[1], request[2:]) if _is_deed(request) else ("asked", request)

    def handle_info(self, message: Any) -> Any:
        if _is_deed(message):
            return play(self, message[1], message[2:])
        self.note(plain(message))
        return None

    def handle_continue(self, term: Any) -> Any:
        return play(self, term[0], term[1:])

    def handle_timeout(self) -> Any:
        self.note("timeout")

    def terminate(self, reason: otpy.Reason) -> None:
        self.note(("terminate", reason))
        if self.last is not None:
            play(self, *self.last)


class AsyncPlayer(Player):
    """The same, where handlers are coroutine functions."""

    async def init(self, deed: str = "", *args: Any, log: Any = None, traps: bool = False) -> Any:
        self._prepare(log, traps=traps)
        return await aplay(self, deed, args) if deed else None

    @otpy.call
    async def do(self, deed: str, *args: Any) -> Any:
        return await aplay(self, deed, args)

    @otpy.cast
    async def run(self, deed: str, *args: Any) -> Any:
        return await aplay(self, deed, args)

    async def handle_call(self, request: Any, caller: otpy.Caller) -> Any:
        return await aplay(self, request[1], request[2:]) if _is_deed(request) else ("asked", request)

    async def handle_info(self, message: Any) -> Any:
        await asyncio.sleep(0)
        if _is_deed(message):
            return await aplay(self, message[1], message[2:])
        self.note(plain(message))
        return None

    async def handle_continue(self, term: Any) -> Any:
        return await aplay(self, term[0], term[1:])

    async def handle_timeout(self) -> Any:
        await asyncio.sleep(0)
        self.note("timeout")

    async def terminate(self, reason: otpy.Reason) -> None:
        await asyncio.sleep(0)
        self.note(("terminate", reason))
        if self.last is not None:
            await aplay(self, *self.last)


def _is_deed(message: Any) -> bool:
    return isinstance(message, tuple) and len(message) > 1 and message[0] == "do"


def plain(message: Any) -> Any:
    """A message as it is noted: as data that can be carried."""
    match message:
        case otpy.Down():
            return ("down", getattr(message.target, "path", message.target), message.reason)
        case otpy.ExitSignal():
            return ("exit", message.sender.path, message.reason)
        case _:
            return message
