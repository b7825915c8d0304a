"""The actors of a scenario on otpy: as `erlang/oracle_actor.erl`, clause by clause."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import otpy
from otpy.core.reason import Exit
from otpy.errors import StartError
from otpy.runtime.links import Down, ExitSignal
from support.ways import AWAITING, BLOCKING, done

from .words import reason_of, word_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from support.ways import Ways

    from .book import Book
    from .model import Definition

__all__ = [
    "AsyncWorker",
    "Gates",
    "OracleDynamicSupervisor",
    "OracleSupervisor",
    "Parent",
    "Stranger",
    "ThreadWorker",
    "Worker",
    "spec_of",
]


def spec_of(book: Book, definition: Definition) -> otpy.ChildSpec:
    """The spec of a child as its definition says."""
    options: Any = {key: definition[key] for key in ("id", "restart", "significant")}
    match definition["kind"]:
        case "worker":
            options["shutdown"] = seconds(definition["shutdown"], book.slowness)
            return otpy.child(book.worker, *book.args, definition).opts(**options)
        case "dynamic":
            return otpy.child(OracleDynamicSupervisor, book, definition).opts(shutdown=otpy.INFINITY, **options)
    return otpy.child(OracleSupervisor, book, definition).opts(shutdown=otpy.INFINITY, **options)


def seconds(shutdown: Any, least: float = 0.0) -> Any:
    """OTP's milliseconds and words as otpy has them."""
    if isinstance(shutdown, int):
        return max(least, shutdown / 1000)
    return otpy.INFINITY if shutdown == "infinity" else otpy.BRUTAL_KILL


class OracleSupervisor(otpy.Supervisor):
    """A supervisor with the strategy, limit and children of its definition."""

    def init(self, book: Book, definition: Definition) -> None:
        book.enter(self.ref, definition["id"])
        self.book, self.definition = book, definition
        self.strategy = definition["strategy"]
        self.auto_shutdown = definition["auto_shutdown"]
        self.max_restarts, self.max_seconds = definition["intensity"], 1_000_000.0

    def children(self) -> list[otpy.ChildSpec]:
        return [spec_of(self.book, child) for child in self.definition["children"]]


class OracleDynamicSupervisor(otpy.DynamicSupervisor):
    """What OTP calls simple_one_for_one."""

    def init(self, book: Book, definition: Definition) -> None:  # type: ignore[override]  # as a user's may
        book.enter(self.ref, definition["id"])
        template = otpy.child(book.worker, *book.args).opts(
            restart=definition["child_restart"], shutdown=seconds(definition["child_shutdown"])
        )
        super().init(template, max_restarts=definition["intensity"], max_seconds=1_000_000.0)


class Worker(otpy.GenServer):
    """Does as planned and leaves its notes; waits by blocking."""

    ways: Ways = BLOCKING

    def init(self, book: Any, definition: Definition) -> Any:
        return done(self.begin(book, definition))

    def handle_continue(self, term: object) -> Any:
        return done(self.go_on(term))

    @otpy.call
    def request(self, message: Any) -> Any:
        return done(self.answer(message))

    @otpy.cast
    def hear(self, message: Any) -> Any:
        return done(self.act(message))

    def handle_info(self, message: object) -> Any:
        return done(self.take_note(message))

    def terminate(self, reason: otpy.Reason) -> Any:
        return done(self.wind_up(reason))

    # What that means, by whatever way it waits.

    async def begin(self, book: Book, definition: Definition) -> object:
        self.trap_exit = definition["traps"]
        self.book, self.definition, self.id = book, definition, definition["id"]
        self.linked: list[otpy.Ref[Any]] = []
        self.watched: list[tuple[str, otpy.Monitor]] = []
        number, self.label = book.enter(self.ref, self.id)
        planned = plan_of(definition["plan"], number)
        if planned == "g":
            await self.wait_at_gate("starting")
        self.mark(f"{'+' if planned == 'g' else planned}{self.id}")
        match planned:
            case "!":
                return otpy.Stop(Exit("boom"))
            case "s":
                return otpy.Stop(otpy.Shutdown())
            case "?":
                raise Boom("boom")
            case "~":
                return otpy.Ignore()
            case "c":
                return otpy.Continue("go")
            case "x":
                return otpy.Continue("crash")
        return None

    async def wait_at_gate(self, where: str) -> None:
        await self.ways.call(self.book.gates.within(None), Gates.wait, self.id, where, self.ref)

    def mark(self, text: str) -> None:
        self.book.note("order" if self.definition["ordered"] else self.label, text)

    def log(self, text: str) -> None:
        self.book.note(self.label, text)

    async def go_on(self, term: object) -> None:
        if term == "crash":
            raise Boom("boom")
        self.log("continue")

    async def answer(self, message: Any) -> object:
        match message:
            case "ask":
                return self.label
            case "crash":
                raise Boom("boom")
            case "defer":
                return otpy.NoReply()
            case ["stop", reason]:
                return otpy.Stop(reason_of(reason))
            case ["stop_reply", reason]:
                return otpy.Stop(reason_of(reason), "bye")
        raise AssertionError(message)

    async def act(self, message: Any) -> object:
        match message:
            case ["stop", reason]:
                return otpy.Stop(reason_of(reason))
            case "crash":
                raise Boom("boom")
            case ["exit", reason]:
                otpy.exit(reason_of(reason))
            case ["job", number]:
                self.log(f"job {number}")
            case "hold":
                self.log("held")
                await self.wait_at_gate("held")
                self.log("let go")
            case ["deed", "leave"]:
                await self.do_leave()
            case ["deed", "let_go"]:
                await self.do_let_go()
            case ["deed", [_, str(other), *_]] if not self.book.knows(other):
                self.log(f"nobody {other}")
            case ["deed", [verb, *arguments]]:
                await getattr(self, f"do_{verb}")(*arguments)
        return None

    async def do_link(self, other: str) -> None:
        ref = self.book.latest(other)
        if ref.is_alive() or self.trap_exit:
            self.linked.append(ref)
            self.link(ref)
            self.log(f"linked {other}")
        else:
            self.log(f"nobody {other}")

    async def do_unlink(self, other: str) -> None:
        self.unlink(self.book.latest(other))
        self.log(f"unlinked {other}")

    async def do_trap(self, traps: bool) -> None:  # noqa: FBT001 - as the scenario has it
        self.trap_exit = traps
        self.log(f"traps {str(traps).lower()}")

    async def do_monitor(self, other: str) -> None:
        self.log(f"monitors {other}")
        self.watched.insert(0, (other, self.monitor(self.book.latest(other))))

    async def do_demonitor(self, other: str) -> None:
        found = next((pair for pair in self.watched if pair[0] == other), None)
        if found is not None:
            self.watched.remove(found)
            self.log(f"demonitored {str(self.demonitor(found[1])).lower()}")

    async def do_send_exit(self, other: str, reason: str) -> None:
        self.log(f"sends exit to {other}")
        self.book.latest(other).exit(reason_of(reason))

    async def do_spawn_link(self, definition: Definition) -> None:
        spec = otpy.child(self.book.worker, *self.book.args, definition).opts(id=definition["id"])
        ref = await self.ways.start(self, spec)
        self.log(f"started {self.book.label(ref)}")
        self.linked.append(ref)

    async def do_leave(self) -> None:
        assert self.ref.parent is not None
        self.unlink(self.ref.parent)
        self.log("left")

    async def do_let_go(self) -> None:
        for ref in self.linked:
            self.unlink(ref)
        for _, monitor in self.watched:
            self.demonitor(monitor)
        self.linked, self.watched = [], []

    async def take_note(self, message: object) -> None:
        match message:
            case ExitSignal():
                self.log(f"exit {self.book.label(message.sender)} {word_of(message.reason)}")
            case Down():
                self.log(f"down {self.book.label(message.target)} {word_of(message.reason)}")

    async def wind_up(self, reason: otpy.Reason) -> None:
        self.mark(f"-{self.id}({word_of(reason)})")
        match self.definition["stop"]:
            case "boom":
                otpy.exit(Exit("boom"))
            case "error":
                raise Oops("oops")
            case "hang":
                await self.ways.call(self.book.gates.within(None), Gates.hang, self.ref)


class ThreadWorker(Worker):
    """The same on a thread of its own."""

    place = "thread"


class AsyncWorker(Worker):
    """The same on the event loop; waits by awaiting."""

    ways = AWAITING

    async def init(self, book: Book, definition: Definition) -> Any:
        return await self.begin(book, definition)

    async def handle_continue(self, term: object) -> Any:
        return await self.go_on(term)

    @otpy.call
    async def request(self, message: Any) -> Any:
        return await self.answer(message)

    @otpy.cast
    async def hear(self, message: Any) -> Any:
        return await self.act(message)

    async def handle_info(self, message: object) -> Any:
        return await self.take_note(message)

    async def terminate(self, reason: otpy.Reason) -> Any:
        return await self.wind_up(reason)


Waiting = tuple[str, str, otpy.Ref[Any], otpy.Caller]
"""Who waits at its gate, in its init or in a handler."""


class Gates(otpy.GenServer):
    """Where workers wait until the script lets them go."""

    def init(self, waiting: list[Waiting], on_hang: Callable[[otpy.Ref[Any]], object]) -> None:
        self.waiting = waiting
        self.on_hang = on_hang

    @otpy.call
    def wait(self, ident: str, where: str, ref: otpy.Ref[Any]) -> object:
        assert self.caller is not None
        self.waiting.append((ident, where, ref, self.caller))
        return otpy.NoReply()

    @otpy.call
    def hang(self, ref: otpy.Ref[Any]) -> object:
        self.on_hang(ref)
        return otpy.NoReply()

    @otpy.call
    def open(self, ident: str) -> None:
        for one, _, _, caller in self.waiting:
            if one == ident:
                caller.reply(None)
        self.waiting[:] = [one for one in self.waiting if one[0] != ident]


class Parent(otpy.GenServer):
    """Starts the tree, and may take it along when it ends."""

    trap_exit = True

    @otpy.call
    def start_tree(self, spec: otpy.ChildSpec) -> str | StartError:
        try:
            self.spawn_link(spec)
        except StartError as error:
            return error
        return "ok"

    @otpy.call
    def ping(self) -> None:
        """All that came before has been dealt with."""

    @otpy.cast
    def send_signal(self, ref: otpy.Ref[Any], reason: str) -> None:
        ref.exit(reason_of(reason))

    @otpy.cast
    def end(self, reason: str) -> object:
        return otpy.Stop(reason_of(reason))

    def handle_info(self, message: object) -> None:
        """Its tree's exit."""


class Stranger(otpy.GenServer):
    """Nobody's parent or child: from it come the signals of strangers."""

    @otpy.call
    def send_signal(self, ref: otpy.Ref[Any], reason: str) -> None:
        ref.exit(reason_of(reason))

    @otpy.cast
    def do(self, deed: Callable[[], object]) -> None:
        deed()


class Boom(Exception):
    """What a handler crashes with."""


class Oops(Exception):
    """What a `terminate` crashes with."""


def plan_of(plan: str, number: int) -> str:
    """What the start of this number does."""
    if plan.endswith("*") and number >= len(plan) - 1:
        return plan[-2]
    return plan[number - 1] if number <= len(plan) else "+"
