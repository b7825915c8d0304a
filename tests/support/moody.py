"""The worker of a tree in trouble: starts and ends as chance will have it, and does what it is told."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Any, Self

import otpy
from otpy.errors import OtpyError
from support.ledger import hook, ledger_of

if TYPE_CHECKING:
    from support.ledger import Ledger

__all__ = ["DEEDS", "MISHAPS", "Moody", "living"]

MISHAPS = (OtpyError, TimeoutError, TypeError)
"""What anybody may get who asks somebody in such a tree."""


class Moody(otpy.GenServer):
    """`tell(("do", deed, number))`, `call(Moody.ask, deed, number)`, `cast(Moody.take, number)`: all numbered."""

    @property
    def ledger(self) -> Ledger:
        return ledger_of(self.system)

    def draw(self) -> float:
        return self.system.random.random()

    # What otpy calls.

    @hook
    def init(self) -> Any:
        self.trap_exit = self.draw() < 0.4
        self.monitors: list[otpy.Monitor] = []
        self.set_timers: list[tuple[int, otpy.Timer]] = []
        self.owed: list[tuple[otpy.Caller, int]] = []
        self.ledger.things[self.ref] = []
        dice = self.draw()
        if dice < 0.05:
            raise ValueError("init")
        if dice < 0.2:
            otpy.sleep(self.draw())
        for deed in ("use", "monitor", "link", "set_timer"):
            if self.draw() < 0.1:
                self.do(deed)
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

    @hook
    def handle_continue(self, term: object) -> None:
        otpy.sleep(0.1)

    @hook
    def handle_timeout(self) -> None:
        """It deferred a reply."""
        if self.draw() < 0.5:
            self.do_pay()

    @hook
    def handle_info(self, message: Any) -> Any:
        match message:
            case (_, str(deed), int(number)):
                self.ledger.take(self.ref, number)
                return self.do(deed)
            case otpy.Down():
                self.ledger.down(self.ref, message)
            case otpy.ExitSignal():
                self.ledger.signal(self.ref, message)
        return None

    @hook
    def handle_call(self, request: Any, caller: otpy.Caller) -> Any:
        self.ledger.take(self.ref, request)
        return request

    @otpy.call
    @hook
    def ask(self, deed: str, number: int) -> Any:
        self.ledger.take(self.ref, number)
        if deed == "defer":
            assert self.caller is not None
            self.owed.append((self.caller, number))
        result = self.do(deed)
        if isinstance(result, otpy.Stop) and self.draw() < 0.5:
            return otpy.Stop(result.reason, number)
        return number if result is None else result

    @otpy.cast
    @hook
    def take(self, number: int) -> None:
        self.ledger.take(self.ref, number)
        if self.draw() < 0.1:
            self.do_nap()

    @hook
    def terminate(self, reason: otpy.Reason) -> None:
        dice = self.draw()
        if dice < 0.1:
            raise ValueError("terminate")
        if dice < 0.3:
            otpy.sleep(self.draw() * 3)
        elif dice < 0.33:
            otpy.sleep(200.0)
        elif dice < 0.4:
            self.do_call()
        elif dice < 0.45:
            self.do_pay()
        elif dice < 0.5:
            self.do_monitor()

    # Deeds.

    def do(self, deed: str) -> Any:
        return getattr(self, f"do_{deed}")()

    def other(self) -> otpy.Ref[Moody]:
        return self.system.random.choice([ref for ref in living(self.system) if ref.actor_class is Moody] or [self.ref])

    def anybody(self) -> otpy.Ref[Any]:
        return self.system.random.choice(living(self.system) or [self.ref])

    def do_crash(self) -> None:
        raise RuntimeError("crash")

    def do_stop(self) -> object:
        return otpy.Stop(self.system.random.choice([otpy.Normal(), otpy.Shutdown(), otpy.Exit("enough")]))

    def do_exit(self) -> None:
        otpy.exit(otpy.Exit("bye"))

    def do_leave(self) -> None:
        raise SystemExit(3)

    def do_nap(self) -> None:
        otpy.sleep(self.draw() * 2)

    def do_link(self) -> None:
        other = self.other()
        self.ledger.link(self.ref, other)
        self.link(other)

    def do_unlink(self) -> None:
        other = self.other()
        self.ledger.unlink(self.ref, other)
        self.unlink(other)

    def do_monitor(self) -> None:
        target = f"name{self.system.random.randrange(3)}" if self.draw() < 0.2 else self.anybody()
        self.monitors.append(monitor := self.monitor(target))
        if target is not self.ref and monitor.target_ref is not self.ref:
            self.ledger.watch(self.ref, monitor)

    def do_demonitor(self) -> None:
        if self.monitors:
            monitor, flush = self.monitors.pop(), self.draw() < 0.5
            if self.demonitor(monitor, flush=flush) or flush:
                watch = self.ledger.watches.get(monitor)
                if watch is not None and not watch.downs:
                    watch.ended = True

    def do_kill(self) -> None:
        self.other().kill()

    def do_send_exit(self) -> None:
        other = self.other()
        other.exit(self.ledger.push(other))

    def do_call(self) -> None:
        chance = self.system.random
        with suppress(*MISHAPS):
            within, deed = self.other().within(chance.choice([0.2, 1.0, 3.0])), chance.choice(INQUIRIES)
            self.ledger.call(within._ref, lambda number: within.call(Moody.ask, deed, number))

    def do_send(self) -> None:
        other = self.other()
        with suppress(*MISHAPS):
            self.ledger.send(other, lambda number: other.tell(("do", "nap", number)))
            self.ledger.send(other, lambda number: other.cast(Moody.take, number), is_cast=True)

    def do_defer(self) -> object:
        return otpy.NoReply(timeout=0.5)

    def do_pay(self) -> None:
        """Answer all it has owed, some of whom do not wait any more."""
        while self.owed:
            caller, number = self.owed.pop()
            caller.reply(number)

    def do_spawn(self) -> None:
        with suppress(*MISHAPS):
            timeout = self.system.random.choice([None, 0.5])
            self.ledger.spawned(self.ref, self.spawn_link(otpy.child(Moody).opts(start_timeout=timeout)))

    def do_set_timer(self) -> None:
        self.ledger.set_timer(self, self.draw(), self.system.random.choice(["crash", "nap", "stop"]))

    def do_cancel_timer(self) -> None:
        number, timer = self.ledger.set_timer(self, self.draw() / 2, "nap")
        otpy.sleep(self.draw() / 2)
        if self.cancel_timer(timer):
            self.ledger.cancelled(number)

    def do_future(self) -> None:
        with suppress(Exception):  # pykka's Timeout among them
            other = self.other()
            self.ledger.ask_later(other).get(timeout=0.5)

    def do_use(self) -> None:
        self.use(Thing(self))

    def do_register(self) -> None:
        with suppress(*MISHAPS):
            self.register(f"name{self.system.random.randrange(3)}")

    def do_call_by_name(self) -> None:
        with suppress(*MISHAPS):
            name = self.system.ref(otpy.name(Moody, f"name{self.system.random.randrange(3)}"))
            holder = name.whereis()
            if holder is not None:
                self.ledger.call(holder, lambda number: name.call(Moody.ask, "use", number))


DEEDS = [name.removeprefix("do_") for name in dir(Moody) if name.startswith("do_")]
INQUIRIES = ["nap", "crash", "defer", "call", "pay", "stop"]


class Thing:
    """A resource that takes its time, and may fail to close."""

    def __init__(self, owner: Moody) -> None:
        self.owner = owner
        self.open = owner.ledger.things[owner.ref]

    def __enter__(self) -> Self:
        if self.owner.draw() < 0.1:
            otpy.sleep(0.2)
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
        if dice < 0.2:
            otpy.sleep(0.2)


def living(system: Any) -> list[otpy.Ref[Any]]:
    """All that live in a seeded system."""
    found: list[otpy.Ref[Any]] = system.living()
    return found
