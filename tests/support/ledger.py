"""The books of one explored run: who was sent, told, given and owed what, and what must be true of that in the end."""

from __future__ import annotations

import asyncio
import re
from collections import Counter
from contextlib import contextmanager
from dataclasses import dataclass
from functools import wraps
from inspect import iscoroutinefunction
from itertools import count
from typing import TYPE_CHECKING, Any

import otpy
from otpy.core.reason import Crashed, Killed, NoProc, Normal
from otpy.events import ActorCrashed, ChildStarted, DeadLetter, Event
from otpy.runtime.links import linked
from otpy.runtime.seat import here

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterator

    from otpy.testing.system import SeededSystem

    Ref = otpy.Ref[Any]

__all__ = ["Ledger", "hook", "ledger_of"]

NUMBERED = re.compile(r"info \('\w+', '\w+', (\d+)\)")
"""A message of such a tree, as a dead letter describes it."""


def ledger_of(system: Any) -> Ledger:
    """The books of a system, begun on first use; they go when it does."""
    ledger: Ledger | None = system.__dict__.get("ledger")
    if ledger is None:
        ledger = system.ledger = Ledger(system)
    return ledger


def hook(function: Callable[..., Any]) -> Callable[..., Any]:
    """A method that otpy calls in an actor's turn: never while another one of the same actor runs."""

    @wraps(function)
    def run(self: Any, *args: Any) -> Any:
        with ledger_of(self.system).turn_of(self, function.__name__):
            return function(self, *args)

    @wraps(function)
    async def run_on_loop(self: Any, *args: Any) -> Any:
        with ledger_of(self.system).turn_of(self, function.__name__):
            return await function(self, *args)

    return run_on_loop if iscoroutinefunction(function) else run


@dataclass
class Letter:
    """One message, numbered."""

    target: Ref
    sender: object
    """Who sent it, whose messages keep their order; None for a timer."""
    due: float = 0.0
    """When a timer may hand it over, and no earlier."""
    is_cast: bool = False
    """A dead letter of a cast tells no number: they are counted."""
    fate: str = "sent"
    """`sent`, `handled`, `buried` (a dead letter), `withdrawn` (its timer was cancelled), `unsure` (a failed call)."""


@dataclass
class Watch:
    """One monitor."""

    monitor: otpy.Monitor
    watcher: Ref
    ended: bool = False
    """Whether it was taken away before it fired, or its `Down` flushed."""
    downs: int = 0


class Ledger:
    """Kept in the turns of a seeded run, one at a time, so nothing here needs a lock."""

    def __init__(self, system: SeededSystem) -> None:
        self.system = system
        self.faults: list[str] = []
        self.letters: dict[int, Letter] = {}
        self.watches: dict[otpy.Monitor, Watch] = {}
        self.signals: Counter[tuple[Ref, Ref, str]] = Counter()
        self.expected: Counter[tuple[Ref, Ref, str]] = Counter()
        self.allowed: set[tuple[Ref, Ref]] = set()
        self.things: dict[Ref, list[object]] = {}
        self.touched: set[Ref] = set()
        """Supervisors of whom somebody has asked something by hand."""
        self.ignored: set[str] = set()
        """The paths of children whose last `init` said `Ignore`."""
        self.begun: set[Ref] = set()
        """Whose `init` has gone well."""
        self.grown: set[Ref] = set()
        """Who traps exits and has been started, and so must run `terminate` unless it is killed."""
        self.terminated: set[Ref] = set()
        self.futures: list[Any] = []
        self.asked: dict[int, Ref] = {}
        """Calls that are waited for, and of whom."""
        self.starts: dict[str, list[float]] = {}
        self.tasks: dict[object, None] = {}
        """What goes on beside handlers, which somebody must keep."""
        self.lock = asyncio.Lock()
        self.keeper: Ref | None = None
        self.orders: dict[Ref, float] = {}
        """Who was seen to be told to die while its handler waits, and when."""
        self._numbers = count(1)
        self._inside: dict[Ref, str] = {}
        self._last: dict[tuple[object, Ref], int] = {}
        self._pairs: dict[Ref, set[Ref]] = {}
        self._deaths = 0
        self._dead_casts: Counter[str] = Counter()
        system.events.attach(self._note_event)

    # Turns.

    @contextmanager
    def turn_of(self, actor: Any, name: str) -> Iterator[None]:
        """One hook of an actor runs."""
        ref, seat = actor.ref, here()
        if ref in self._inside or seat.ref is not ref:  # asked first: these sentences took a tenth of a run
            self.faults.append(f"{ref} runs {name} while in {self._inside.get(ref)}, on the seat of {seat.ref}")
        if name == "terminate":
            self.expect(ref not in self.terminated, f"{ref} terminates twice")
            self.terminated.add(ref)
        elif ref.home is not self.system.pool:
            task = asyncio.current_task()
            if task is None or task.cancelling():
                self.faults.append(f"{ref} runs {name} in a task that was told to cancel another's")
        self._inside[ref] = name
        try:
            yield
        finally:
            self._inside.pop(ref, None)

    def expect(self, is_so: object, fault: str) -> None:
        """Note a fault: raised here it would be but one more crash of an actor."""
        if not is_so:
            self.faults.append(fault)

    # Messages.

    def send(self, target: Ref, put: Callable[[int], Any], *, is_cast: bool = False) -> Any:
        """Number a message and put it; one that was refused was never sent."""
        number = next(self._numbers)
        self.letters[number] = Letter(target, here().ref or "outside", is_cast=is_cast)
        try:
            return put(number)
        except BaseException:
            del self.letters[number]
            raise

    async def call(self, target: Ref, ask: Callable[[int], Awaitable[Any]]) -> Any:
        """Number a request and wait; the reply is its number. One that fails may have been handled, or not."""
        number = next(self._numbers)
        letter = self.letters[number] = Letter(target, here().ref or "outside")
        self.asked[number] = target
        try:
            answer = await ask(number)
        except BaseException:
            letter.fate = "unsure" if letter.fate == "sent" else letter.fate
            raise
        finally:
            del self.asked[number]
        self.expect(answer == number, f"call {number} to {target} got the reply {answer!r}")
        self.expect(letter.fate == "handled", f"call {number} to {target} was answered, but is {letter.fate}")

    def ask_later(self, target: Ref) -> Any:
        """Number a request whose reply goes into a future, which must be filled in the end."""
        number = next(self._numbers)
        self.letters[number] = Letter(target, here().ref or "outside", fate="unsure")
        try:
            self.futures.append(target.ask(number, block=False))
        except BaseException:
            del self.letters[number]
            raise
        return self.futures[-1]

    def set_timer(self, actor: Any, seconds: float, deed: str) -> tuple[int, otpy.Timer]:
        """Number the message of a timer."""
        number = next(self._numbers)
        self.letters[number] = Letter(actor.ref, None, self.system.clock.now() + seconds, fate="set")
        timer: otpy.Timer = actor.send_after(seconds, ("timed", deed, number))
        return number, timer

    def take(self, ref: Ref, number: int) -> None:
        """A message is handled."""
        letter = self.letters[number]
        if letter.target is not ref or letter.fate not in {"sent", "set", "unsure"}:
            self.faults.append(f"message {number} to {letter.target} came to {ref}, and was {letter.fate} before")
        if self.system.clock.now() < letter.due:
            self.faults.append(f"timer {number} of {ref} came too early")
        letter.fate = "handled"
        if letter.sender is not None:
            last = self._last.get((letter.sender, ref), 0)
            if last >= number:
                self.faults.append(f"{ref} got {number} of {letter.sender} after {last}")
            self._last[letter.sender, ref] = number

    def cancelled(self, number: int) -> None:
        """A timer was cancelled before it fired."""
        self.letters[number].fate = "withdrawn"

    # Ends.

    def watch(self, watcher: Ref, monitor: otpy.Monitor) -> None:
        """An actor watches another."""
        self.watches.setdefault(monitor, Watch(monitor, watcher))

    def down(self, watcher: Ref, down: otpy.Down) -> None:
        """It hears of an end."""
        watch, target = self.watches.setdefault(down.monitor, Watch(down.monitor, watcher)), down.monitor.target_ref
        watch.downs += 1
        self.expect(watch.watcher is watcher, f"{watcher} got the Down of {watch.watcher}")
        self.expect(target is None or target.reason is not None, f"{watcher} got a Down of {target}, which lives")
        free = target is None or target not in self.system.names.values()
        self.expect(free, f"{watcher} got a Down of {target}, which still has a name")
        self.expect(
            target is None or down.reason in (target.reason, NoProc()), f"{watcher} got {down.reason} of {target}"
        )

    def link(self, one: Ref, other: Ref) -> None:
        """Two actors are about to be linked, or one hears at once that the other is dead."""
        self.note_deaths()
        if other.reason is not None:
            self.expected[one, other, str(NoProc())] += 1
        elif one is not other:
            self._pairs.setdefault(one, set()).add(other)
            self._pairs.setdefault(other, set()).add(one)

    def unlink(self, one: Ref, other: Ref) -> None:
        """Two actors are linked no more."""
        self.note_deaths()
        self._pairs.get(one, set()).discard(other)
        self._pairs.get(other, set()).discard(one)

    def spawned(self, parent: Ref, child: Ref) -> None:
        """An actor has started another; who ends before that is known may have been heard of."""
        self.allowed.add((parent, child))
        if child in linked(parent.links):
            self.link(parent, child)

    def push(self, target: Ref) -> otpy.Exit:
        """The reason of an exit signal that is about to be sent to an actor."""
        reason = otpy.Exit(f"pushed {next(self._numbers)}")
        sender = here().ref or target
        if target.reason is None and target.parent is not sender:
            self.expected[target, sender, str(reason)] += 1
        self.allowed.add((target, sender))
        return reason

    def signal(self, ref: Ref, signal: otpy.ExitSignal) -> None:
        """An exit signal arrives as a message."""
        self.expect(ref.actor.trap_exit, f"{ref} got an exit signal as a message and traps none")
        self.signals[ref, signal.sender, str(signal.reason)] += 1

    def note_deaths(self) -> None:
        """Work out who must hear of those that have died since the last time."""
        for ref in self.system.dead[self._deaths :]:
            for peer in self._pairs.pop(ref, ()):
                self._pairs[peer].discard(ref)
                is_told_by_start = ref.parent is peer and ref not in self.begun  # even if it linked itself once more
                if peer.reason is None and not is_told_by_start:
                    self.expected[peer, ref, str(ref.reason)] += 1
        self._deaths = len(self.system.dead)

    # What must be true.

    def check_settled(self) -> None:
        """Everything has come that was to come: who lives has heard of each end exactly once, and got each message."""
        self.note_deaths()
        for number, letter in self.letters.items():
            if _rests(letter.target) and not letter.is_cast:
                is_due = letter.fate == "sent" or (letter.fate == "set" and letter.due < self.system.clock.now())
                self.expect(not is_due, f"message {number} to {letter.target} is lost")
        for watch in self.watches.values():
            target = watch.monitor.target_ref
            if _rests(watch.watcher) and (target is None or target.reason is not None) and not watch.ended:
                self.expect(watch.downs == 1, f"{watch.watcher} got {watch.downs} Downs of {target}")
        for (ref, sender, reason), times in self.expected.items():
            if _rests(ref):
                self._check_signals(ref, sender, reason, times)
        for number, target in self.asked.items():
            self.expect(target.reason is None, f"call {number} to {target} is waited for, and it is dead")
        self._raise()

    def _check_signals(self, ref: Ref, sender: Ref, reason: str, times: int) -> None:
        seen = self.signals[ref, sender, reason]
        if ref.actor.trap_exit:
            self.expect(seen == times, f"{ref} got {seen} exit signals of {sender}, not {times}: {reason}")
        else:
            self.expect(reason == str(Normal()), f"{ref} lives on after the exit signal of {sender}: {reason}")

    def check_ended(self) -> None:
        """Nobody lives any more: all is accounted for."""
        for number, letter in self.letters.items():
            if letter.fate == "sent" and letter.is_cast:
                self._dead_casts[letter.target.path] -= 1
            else:
                self.expect(letter.fate != "sent", f"message {number} to {letter.target} is lost without a dead letter")
        for path, left in self._dead_casts.items():
            self.expect(left == 0, f"casts to {path}: {left} more dead letters than lost messages")
        for watch in self.watches.values():
            self.expect(watch.downs <= (not watch.ended), f"{watch.watcher} got {watch.downs} Downs: {watch}")
        for (ref, sender, reason), times in self.signals.items():
            known = self.expected[ref, sender, reason] + ((ref, sender) in self.allowed)
            self.expect(times <= known, f"{ref} got {times} exit signals of {sender}, not {known}: {reason}")
        for ref, things in self.things.items():
            self.expect(not things, f"{ref} left {len(things)} resources open")
        for ref in self.system.dead:
            must = ref in self.grown and not isinstance(ref.reason, Killed)
            self.expect(not must or ref in self.terminated, f"{ref} traps exits, but did not terminate: {ref.reason}")
            is_forced = ref in self.begun - self.terminated and isinstance(ref.reason, Normal)
            self.expect(not is_forced, f"{ref} ended by an exit signal with the reason normal")
            is_lost = isinstance(ref.reason, Crashed) and ref.reason.type == "CancelledError"
            self.expect(not is_lost, f"{ref} was cancelled by an order, and its reason is another: {ref.reason}")
        for future in self.futures:
            self.expect(future._is_set(), "a future was never filled")
        self.expect(not self.asked, f"calls are still waited for: {self.asked}")
        self._raise()

    def _raise(self) -> None:
        if self.faults:
            raise AssertionError("; ".join(self.faults[:5]))

    def _note_event(self, event: Event) -> None:
        if isinstance(event, DeadLetter):
            self._bury(event)
        elif isinstance(event, ChildStarted):
            self._count_start(event)
        elif isinstance(event, ActorCrashed):
            self.expect("AssertionError" not in str(event.reason), str(event.reason))

    def _bury(self, event: DeadLetter) -> None:
        found = NUMBERED.fullmatch(event.message)
        if found is not None:
            letter = self.letters[int(found[1])]
            self.expect(letter.fate in {"sent", "set"}, f"dead letter {found[1]} was {letter.fate} before")
            letter.fate = "buried"
        elif event.message == "cast take":
            self._dead_casts[event.path] += 1

    def _count_start(self, event: ChildStarted) -> None:
        """A child is started: within a window never more often than its first time and the restarts that are borne.

        What somebody has asked for by hand is no restart. A restart is counted when it begins, after the start before.
        """
        ref = here().ref
        self.ignored.discard(event.path)
        if ref is None or event.restarts == 0 or ref in self.touched:
            self.starts.pop(event.path, None)
        if ref is None or ref in self.touched:
            return
        now, keeper = self.system.clock.now(), ref.actor
        times = [at for at in self.starts.get(event.path, ()) if at >= now - keeper.max_seconds]
        self.starts[event.path] = [*times, now]
        limits = [entry.spec.options.limit for _, entry in keeper.otpy_children().items()]
        # These count apart, and when one of them is given up those that it has kept waiting are started once more.
        most = keeper.max_restarts + sum(own.max_restarts + 1 for own in limits if own is not None)
        self.expect(len(times) <= most, f"{event.path} was started {len(times) + 1} times: {most} are borne")


def _rests(ref: Ref) -> bool:
    """Whether it lives and has nothing to do."""
    return ref.reason is None and not ref.mailbox and ref.current is None and not ref.is_suspended()
