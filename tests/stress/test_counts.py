"""Everything at once, counted exactly: what was sent was handled or is a dead letter, once, and in order."""

from __future__ import annotations

import random
import threading
from collections import Counter
from itertools import count
from typing import Any

import pytest

import otpy
from otpy.errors import CallError, CallTimeoutError
from otpy.events import DeadLetter
from support.tokens import tokens

pytestmark = pytest.mark.usefixtures("switching")

HANDLED: Counter[str] = Counter()
DOUBLE: list[str] = []
DISORDER: list[str] = []


class Target(otpy.GenServer):
    """Notes what reaches it: from whom, and whether in order, and that its turns never overlap."""

    def init(self) -> None:
        self.seen: dict[str, int] = {}
        self.busy = threading.Lock()
        self.handled: Counter[str] = Counter()
        KEPT.append(self.handled)

    def note(self, sender: str, number: int) -> None:
        if not self.busy.acquire(blocking=False):
            DOUBLE.append(sender)
            return
        if number <= self.seen.get(sender, -1):
            DISORDER.append(f"{sender}: {number} after {self.seen[sender]}")
        self.seen[sender] = number
        self.handled[sender] += 1
        self.busy.release()

    @otpy.cast
    def take(self, sender: str, number: int) -> None:
        self.note(sender, number)

    @otpy.call
    def ask(self, sender: str, number: int) -> int:
        self.note(sender, number)
        return number

    def handle_info(self, message: Any) -> None:
        self.note(*message)

    @otpy.call
    def forward(self, refs: list[otpy.Ref[Target]], sender: str, number: int) -> int:
        """A call that leads through others, as pool actors call each other."""
        self.note(sender, number)
        if not refs:
            return number
        return refs[0].call(Target.forward, refs[1:], f"{sender}>", number)


KEPT: list[Counter[str]] = []


class Tree(otpy.Supervisor):
    max_restarts = 1_000_000

    def init(self, size: int) -> None:
        self.size = size

    def children(self) -> list[otpy.ChildSpec]:
        return [otpy.child(Target).opts(id=f"t{n}", name=f"t{n}", shutdown=otpy.BRUTAL_KILL) for n in range(self.size)]


class Sender(threading.Thread):
    """Sends in all ways to random targets, by name."""

    def __init__(self, system: otpy.System, ident: int, targets: int, steps: int) -> None:
        super().__init__(name=f"sender-{ident}")
        self.system, self.ident_, self.targets, self.steps = system, ident, targets, steps
        self.chance = random.Random(ident)
        self.sent: Counter[str] = Counter()
        self.unsent: Counter[str] = Counter()
        self.stuck: list[str] = []
        self.numbers = count()

    def run(self) -> None:
        for _ in range(self.steps):
            self.step()

    def step(self) -> None:
        ref = self.system.whereis(f"t{self.chance.randrange(self.targets)}")
        if ref is None:
            return
        number, name = next(self.numbers), f"s{self.ident_}"
        match self.chance.randrange(10):
            case 0 | 1:
                self.call(ref, name, number)
            case 2:
                ref.tell((name, number))
                self.sent[name] += 1
            case _:
                ref.cast(Target.take, name, number)
                self.sent[name] += 1

    def call(self, ref: otpy.Ref[Target], name: str, number: int) -> None:
        """A call was handled, or raises; then it may have been handled or not."""
        try:
            answer = ref.within(20.0).call(Target.ask, name, number)
        except CallTimeoutError:
            self.stuck.append(str(ref))
        except CallError:
            self.unsent[name] += 1
        else:
            assert answer == number
            self.sent[name] += 1


def test_nothing_is_lost_or_doubled_while_targets_are_killed_and_restarted(rounds: int) -> None:
    """What is sent is handled or a dead letter, for casts and messages; calls that raised may have been handled."""
    KEPT.clear()
    DOUBLE.clear()
    DISORDER.clear()
    letters: list[DeadLetter] = []
    system = otpy.System("stress")
    system.events.attach(letters.append, DeadLetter)
    root = system.start(Tree, 10)
    senders = [Sender(system, ident, 10, 1_000 * rounds) for ident in range(4)]
    done = threading.Event()
    chance = random.Random(0)
    kills = 0

    def kill() -> None:
        nonlocal kills
        while not done.is_set():
            ref = system.whereis(f"t{chance.randrange(10)}")
            if ref is not None:
                kills += ref.kill()
            done.wait(0.001)

    killer = threading.Thread(target=kill)
    for thread in (*senders, killer):
        thread.start()
    for sender in senders:
        sender.join(300)
    done.set()
    killer.join(10)
    system.wait_idle()
    assert [sender.stuck for sender in senders] == [[]] * 4
    sent = sum((sender.sent for sender in senders), Counter())
    unsure = sum(sender.unsent.total() for sender in senders)
    handled = sum(KEPT, Counter())
    assert DOUBLE == []
    assert DISORDER == []
    assert handled.total() <= sent.total() + unsure
    assert sent.total() <= handled.total() + len(letters) <= sent.total() + unsure
    assert kills > 0
    assert system.zombies() == []
    root.kill()
    system.wait_idle()
    assert tokens(system) == system.pool.limit
    assert system.stop() == []
    assert system.alive == 0


def test_calls_through_chains_of_actors_all_return(rounds: int) -> None:  # noqa: C901 - one story
    """Random chains, circles among them, with kills: each caller gets a value or an error, and soon."""
    KEPT.clear()
    system = otpy.System("stress")
    root = system.start(Tree, 8)
    done = threading.Event()
    stuck: list[str] = []

    def drive(ident: int) -> None:
        chance = random.Random(ident)
        for number in range(150 * rounds):
            chain = [system.whereis(f"t{chance.randrange(8)}") for _ in range(chance.randrange(1, 5))]
            refs = [ref for ref in chain if ref is not None]
            if not refs:
                continue
            try:
                refs[0].within(20.0).call(Target.forward, refs[1:], f"d{ident}", number)
            except CallTimeoutError as error:
                stuck.append(str(error))
            except CallError:
                pass

    def kill() -> None:
        chance = random.Random(99)
        while not done.is_set():
            ref = system.whereis(f"t{chance.randrange(8)}")
            if ref is not None:
                ref.kill()
            done.wait(0.003)

    threads = [threading.Thread(target=drive, args=(ident,)) for ident in range(4)]
    killer = threading.Thread(target=kill)
    for thread in (*threads, killer):
        thread.start()
    for thread in threads:
        thread.join(300)
    done.set()
    killer.join(10)
    assert stuck == []
    system.wait_idle()
    assert tokens(system) == system.pool.limit
    assert system.zombies() == []
    root.kill()
    system.stop()
    assert system.alive == 0


def test_blocking_computing_and_waiting_actors_conserve_the_tokens(rounds: int) -> None:  # noqa: C901 - one story
    """The watchdog detaches, doubles and halves while all kinds of turns run."""
    system = otpy.System("stress")

    class Mixed(otpy.GenServer):
        @otpy.cast
        def block(self, done: threading.Semaphore) -> None:
            threading.Event().wait(0.012)
            done.release()

        @otpy.cast
        def compute(self, done: threading.Semaphore) -> None:
            for _ in range(200_000):
                pass
            done.release()

        @otpy.cast
        def wait(self, other: otpy.Ref[otpy.GenServer], done: threading.Semaphore) -> None:
            other.within(None).ask("x")
            done.release()

        def handle_call(self, request: Any, caller: otpy.Caller) -> Any:
            return request

    peer = system.start(Mixed)
    refs = [system.start(Mixed) for _ in range(30)]
    done = threading.Semaphore(0)
    for _ in range(3 * rounds):
        for number, ref in enumerate(refs):
            if number % 3 == 0:
                ref.cast(Mixed.block, done)
            elif number % 10 == 1:
                ref.cast(Mixed.compute, done)
            else:
                ref.cast(Mixed.wait, peer, done)
        for _ in refs:
            assert done.acquire(timeout=60)
    system.wait_idle()
    assert tokens(system) == system.pool.limit
    assert system.stop() == []
