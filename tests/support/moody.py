"""The workers of a tree in trouble: they start and end as chance will have it, and do what they are told.

One text for two classes: `Moody` waits by blocking, in the pool, and `AsyncMoody` by awaiting, on the event loop.
"""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Self

import otpy
from otpy.errors import OtpyError
from support.ledger import hook, ledger_of
from support.ways import AWAITING, BLOCKING, done

if TYPE_CHECKING:
    from support.ledger import Ledger

__all__ = ["DEEDS", "MISHAPS", "AsyncMoody", "Moody", "living"]

MISHAPS = (OtpyError, TimeoutError, TypeError)
"""What anybody may get who asks somebody in such a tree."""


class Moody(otpy.GenServer):
    """`tell(("do", deed, number))`, `call(Moody.ask, deed, number)`, `cast(Moody.take, number)`: all numbered."""

    ways = BLOCKING

    @property
    def ledger(self) -> Ledger:
        return ledger_of(self.system)

    def draw(self) -> float:
        return self.system.random.random()

    # What otpy calls.

    @hook
    def init(self) -> Any:
        return done(self.begin())

    @hook
    def handle_continue(self, term: object) -> Any:
        return done(self.ways.nap(0.1))

    @hook
    def handle_timeout(self) -> Any:
        return done(self.pay_or_not())

    @hook
    def handle_info(self, message: Any) -> Any:
        return done(self.hear(message))

    @hook
    def handle_call(self, request: Any, caller: otpy.Caller) -> Any:
        return done(self.echo(request))

    @otpy.call
    @hook
    def ask(self, deed: str, number: int) -> Any:
        return done(self.answer(deed, number))

    @otpy.cast
    @hook
    def take(self, number: int) -> Any:
        return done(self.accept(number))

    @hook
    def terminate(self, reason: otpy.Reason) -> Any:
        return done(self.wind_up())

    # What that means, on either kind of thread.

    async def begin(self) -> Any:
        self.trap_exit = self.draw() < 0.4
        self.monitors: list[otpy.Monitor] = []
        self.set_timers: list[tuple[int, otpy.Timer]] = []
        self.owed: list[tuple[otpy.Caller, int]] = []
        self.ledger.things[self.ref] = []
        dice = self.draw()
        if dice < 0.05:
            raise ValueError("init")
        if dice < 0.2:
            await self.ways.nap(self.draw())
        for deed in ("use", "monitor", "link", "set_timer"):
            if self.draw() < 0.1:
                await self.do(deed)
        if 0.8 < dice < 0.83:
            self.send_interval(0.3, "tick")
        decision = {17: otpy.Ignore(), 18: otpy.Stop(otpy.Exit("no")), 19: otpy.Continue()}.get(int(dice * 20))
        if isinstance(decision, otpy.Ignore):
            self.ledger.ignored.add(self.ref.path)
        was_told = self.ref.more is not None and self.ref.more.pending is not None  # before it began to trap exits
        if not isinstance(decision, otpy.Ignore | otpy.Stop):
            self.ledger.begun.add(self.ref)
            if self.trap_exit and not was_told:
                self.ledger.grown.add(self.ref)
        return decision

    async def pay_or_not(self) -> None:
        """It deferred a reply."""
        if self.draw() < 0.5:
            await self.do_pay()

    async def hear(self, message: Any) -> Any:
        match message:
            case (_, str(deed), int(number)):
                self.ledger.take(self.ref, number)
                return await self.do(deed)
            case otpy.Down():
                self.ledger.down(self.ref, message)
            case otpy.ExitSignal():
                self.ledger.signal(self.ref, message)
        return None

    async def echo(self, request: Any) -> Any:
        self.ledger.take(self.ref, request)
        return request

    async def answer(self, deed: str, number: int) -> Any:
        self.ledger.take(self.ref, number)
        if deed == "defer":
            assert self.caller is not None
            self.owed.append((self.caller, number))
        result = await self.do(deed)
        if isinstance(result, otpy.Stop) and self.draw() < 0.5:
            return otpy.Stop(result.reason, number)
        return number if result is None else result

    async def accept(self, number: int) -> None:
        self.ledger.take(self.ref, number)
        if self.draw() < 0.1:
            await self.do_nap()

    async def wind_up(self) -> None:
        dice = self.draw()
        if dice < 0.1:
            raise ValueError("terminate")
        if dice < 0.3:
            await self.ways.nap(self.draw() * 3)
        elif dice < 0.33:
            await self.ways.nap(200.0)
        elif dice < 0.4:
            await self.do_call()
        elif dice < 0.45:
            await self.do_pay()
        elif dice < 0.5:
            await self.do_monitor()

    # Deeds.

    async def do(self, deed: str) -> Any:
        return await getattr(self, f"do_{deed}")()

    def other(self) -> otpy.Ref[Moody]:
        return self.system.random.choice(
            [ref for ref in living(self.system) if issubclass(ref.actor_class, Moody)] or [self.ref]
        )

    def anybody(self) -> otpy.Ref[Any]:
        return self.system.random.choice(living(self.system) or [self.ref])

    async def do_crash(self) -> None:
        raise RuntimeError("crash")

    async def do_stop(self) -> object:
        return otpy.Stop(self.system.random.choice([otpy.Normal(), otpy.Shutdown(), otpy.Exit("enough")]))

    async def do_exit(self) -> None:
        otpy.exit(otpy.Exit("bye"))

    async def do_leave(self) -> None:
        raise SystemExit(3)

    async def do_push_itself(self) -> None:
        """Be told to die by itself: whatever it waits for next is cut short."""
        is_doomed = not self.trap_exit
        self.ref.exit(self.ledger.push(self.ref))
        await self.ways.nap(1.0)
        self.ledger.expect(not is_doomed, f"{self.ref} goes on after its own exit signal")

    async def do_nap(self) -> None:
        await self.ways.nap(self.draw() * 2)

    async def do_link(self) -> None:
        other = self.other()
        self.ledger.link(self.ref, other)
        self.link(other)

    async def do_unlink(self) -> None:
        other = self.other()
        self.ledger.unlink(self.ref, other)
        self.unlink(other)

    async def do_monitor(self) -> None:
        target = f"name{self.system.random.randrange(3)}" if self.draw() < 0.2 else self.anybody()
        self.monitors.append(monitor := self.monitor(target))
        if target is not self.ref and monitor.target_ref is not self.ref:
            self.ledger.watch(self.ref, monitor)

    async def do_demonitor(self) -> None:
        if self.monitors:
            monitor, flush = self.monitors.pop(), self.draw() < 0.5
            if self.demonitor(monitor, flush=flush) or flush:
                watch = self.ledger.watches.get(monitor)
                if watch is not None and not watch.downs:
                    watch.ended = True

    async def do_kill(self) -> None:
        self.other().kill()

    async def do_send_exit(self) -> None:
        other = self.other()
        other.exit(self.ledger.push(other))

    async def do_call(self) -> None:
        chance = self.system.random
        with suppress(*MISHAPS):
            within, deed = self.other().within(chance.choice([0.2, 1.0, 3.0])), chance.choice(INQUIRIES)
            await self.ledger.call(within._ref, lambda number: self.ways.call(within, Moody.ask, deed, number))

    async def do_send(self) -> None:
        other = self.other()
        with suppress(*MISHAPS):
            self.ledger.send(other, lambda number: other.tell(("do", "nap", number)))
            self.ledger.send(other, lambda number: other.cast(Moody.take, number), is_cast=True)

    async def do_defer(self) -> object:
        return otpy.NoReply(timeout=0.5)

    async def do_pay(self) -> None:
        """Answer all it has owed, some of whom do not wait any more."""
        while self.owed:
            caller, number = self.owed.pop()
            caller.reply(number)

    async def do_spawn(self) -> None:
        with suppress(*MISHAPS):
            timeout = self.system.random.choice([None, 0.5])
            kind = self.system.random.choice([Moody, AsyncMoody])
            child = await self.ways.start(self, otpy.child(kind).opts(start_timeout=timeout))
            self.ledger.spawned(self.ref, child)

    async def do_set_timer(self) -> None:
        self.ledger.set_timer(self, self.draw(), self.system.random.choice(["crash", "nap", "stop"]))

    async def do_cancel_timer(self) -> None:
        number, timer = self.ledger.set_timer(self, self.draw() / 2, "nap")
        await self.ways.nap(self.draw() / 2)
        if self.cancel_timer(timer):
            self.ledger.cancelled(number)

    async def do_future(self) -> None:
        with suppress(Exception):  # pykka's Timeout among them
            other = self.other()
            await self.ways.get(self.ledger.ask_later(other), 0.5)

    async def do_use(self) -> None:
        self.use(Thing(self))

    async def do_register(self) -> None:
        with suppress(*MISHAPS):
            self.register(f"name{self.system.random.randrange(3)}")

    async def do_call_by_name(self) -> None:
        with suppress(*MISHAPS):
            name = self.system.ref(otpy.name(Moody, f"name{self.system.random.randrange(3)}"))
            holder = name.whereis()
            if holder is not None:
                await self.ledger.call(holder, lambda number: self.ways.call(name, Moody.ask, "use", number))


class AsyncMoody(Moody):
    """The same on the event loop, and what can be done only there."""

    ways = AWAITING

    @hook
    async def init(self) -> Any:
        return await self.begin()

    @hook
    async def handle_continue(self, term: object) -> Any:
        return await self.ways.nap(0.1)

    @hook
    async def handle_timeout(self) -> Any:
        return await self.pay_or_not()

    @hook
    async def handle_info(self, message: Any) -> Any:
        return await self.hear(message)

    @hook
    async def handle_call(self, request: Any, caller: otpy.Caller) -> Any:
        return await self.echo(request)

    @otpy.call
    @hook
    async def ask(self, deed: str, number: int) -> Any:
        return await self.answer(deed, number)

    @otpy.cast
    @hook
    async def take(self, number: int) -> Any:
        return await self.accept(number)

    @hook
    async def terminate(self, reason: otpy.Reason) -> Any:
        return await self.wind_up()

    async def do_hurry(self) -> None:
        """Ask for no longer than it likes to wait."""
        with suppress(TimeoutError):
            async with asyncio.timeout(self.draw()):
                await self.do_call()
                await self.ways.nap(self.draw())

    async def do_ask_many(self) -> None:
        """Ask several at once; now and then one of the tasks fails, which cancels the others."""
        async with asyncio.TaskGroup() as group:
            for _ in range(3):
                group.create_task(self.do_call())
            if self.draw() < 0.2:
                group.create_task(self.do_crash())

    async def do_linger(self) -> None:
        """Take its time when it is cancelled."""
        try:
            await self.ways.nap(self.draw())
        finally:
            await asyncio.sleep(self.draw() / 2)

    async def do_stay(self) -> None:
        """Care nothing about being cancelled."""
        with suppress(asyncio.CancelledError):
            await self.ways.nap(self.draw())
        await self.ways.nap(self.draw() / 2)

    async def do_beside(self) -> None:
        """Have a task of its own go on beside the handlers."""
        task = asyncio.get_running_loop().create_task(self.work())
        self.ledger.tasks[task] = None
        task.add_done_callback(self.ledger.tasks.pop)

    async def work(self) -> None:
        with suppress(*MISHAPS):
            for _ in range(3):
                await asyncio.sleep(self.draw() / 2)
                await self.do_send()
                await self.do_call()

    async def do_shield(self) -> None:
        """Wait for what goes on when it is cancelled itself."""
        await asyncio.shield(self.ways.nap(self.draw()))

    async def do_share(self) -> None:
        """Keep a lock for a while which others on the loop want."""
        async with self.ledger.lock:
            self.ledger.expect(self.ledger.keeper is None, f"{self.ref} got the lock that {self.ledger.keeper} has")
            self.ledger.keeper = self.ref
            try:
                await self.ways.nap(self.draw() / 4)
            finally:
                self.ledger.keeper = None


def deeds_of(kind: type[Moody]) -> list[str]:
    """What workers of a kind can be told to do."""
    return [name.removeprefix("do_") for name in dir(kind) if name.startswith("do_")]


DEEDS = {kind: deeds_of(kind) for kind in (Moody, AsyncMoody)}
INQUIRIES = ["nap", "crash", "defer", "call", "pay", "stop"]


class Thing:
    """A resource that takes its time, and may fail to close."""

    def __init__(self, owner: Moody) -> None:
        self.owner = owner
        self.open = owner.ledger.things[owner.ref]

    def __enter__(self) -> Self:
        self.dawdle(self.owner.draw())
        self.open.append(self)
        return self

    def __exit__(self, *_: object) -> None:
        ledger, owner = self.owner.ledger, self.owner.ref
        ledger.expect(
            self.open and self.open[-1] is self, f"{owner} closed a resource twice, or not the last one first"
        )
        if self in self.open:
            self.open.remove(self)
        dice = self.owner.draw()
        if dice < 0.1:
            raise ValueError("close")
        self.dawdle(dice - 0.1)

    def dawdle(self, dice: float) -> None:
        """Nobody can on the event loop."""
        if dice < 0.1 and self.owner.ways is BLOCKING:
            otpy.sleep(0.2)


def living(system: Any) -> list[otpy.Ref[Any]]:
    """All that live in a seeded system."""
    found: list[otpy.Ref[Any]] = system.living()
    return found
