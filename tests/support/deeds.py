"""Deeds of the actors in `players`, for every place: see `steps`."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Generator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import otpy
from support.players import AsyncPlayer, Keeper, Log, Plan, Player
from support.steps import Step, begin

if TYPE_CHECKING:
    from collections.abc import Iterator

RELEASE = threading.Event()
"""What code waits for that cannot be reached by otpy: see `be_stuck`."""

Waits = Generator[Step, Any, Any]

CLASSES = {"loop": AsyncPlayer}
"""Who runs in a place, where it is no plain `Player`."""


def within(actor: Any, deed: str, args: tuple[Any, ...]) -> Waits:
    """Another deed as a part of one."""
    made = begin(actor, deed, args)
    return (yield from made) if hasattr(made, "send") else made


# Talking.


def nothing(self: Any) -> None:
    """Do nothing."""


def echo(self: Any, value: Any) -> Any:
    return value


def path(self: Any) -> str:
    return str(self.ref.path)


def remember(self: Any, what: Any) -> None:
    self.note(what)


def ask(self: Any, other: Any, deed: str, *args: Any) -> Waits:
    """Have another one do a deed, and return what it returns."""
    return (yield Step(lambda: other.call(Player.do, deed, *args), lambda: other.acall(Player.do, deed, *args)))


def ask_within(self: Any, seconds: float | None, other: Any, deed: str, *args: Any) -> Waits:
    timed = other.within(seconds)
    return (yield Step(lambda: timed.call(Player.do, deed, *args), lambda: timed.acall(Player.do, deed, *args)))


def ask_raw(self: Any, other: Any, request: Any) -> Waits:
    return (yield Step(lambda: other.ask(request), lambda: other.aask(request)))


def cast(self: Any, other: Any, deed: str, *args: Any) -> None:
    other.cast(Player.run, deed, *args)


def tell(self: Any, other: Any, *messages: Any) -> None:
    for message in messages:
        other.tell(message)


def attempt(self: Any, deed: str, *args: Any) -> Waits:
    """Do a deed; an error of otpy is returned as data, with its reason if it has one."""
    try:
        return (yield from within(self, deed, args))
    except otpy.OtpyError as error:
        return ("error", type(error).__name__, getattr(error, "reason", None))


def both(self: Any, first: tuple[Any, ...], then: tuple[Any, ...]) -> Waits:
    """Do two deeds, each with its arguments; what the second returns is the result."""
    yield from within(self, first[0], tuple(first[1:]))
    return (yield from within(self, then[0], tuple(then[1:])))


def sleep(self: Any, seconds: float) -> Waits:
    yield Step(lambda: otpy.sleep(seconds), lambda: otpy.asleep(seconds))


def hold(self: Any, gate: Any) -> Waits:
    """Wait at a gate. One that is cut off there, which is noted, does not go on."""
    who = self.ref.path
    try:
        yield Step(
            lambda: gate.within(None).call(Keeper.enter, who), lambda: gate.within(None).acall(Keeper.enter, who)
        )
    except BaseException:
        self.seen.append("cut off")
        raise


def be_stuck(self: Any, gate: Any) -> Waits:
    """Wait for what otpy knows nothing of: a thread cannot be got out of it, a task is cancelled, a process dies."""
    gate.cast(Keeper.arrive, self.ref.path)
    yield Step(RELEASE.wait, _wait_forever)


async def _wait_forever() -> None:
    await asyncio.Event().wait()


# Ending.


def fail(self: Any, text: str) -> None:
    raise ValueError(text)


def leave(self: Any, reason: otpy.Reason) -> None:
    otpy.exit(reason)


def quit_program(self: Any, text: str) -> None:
    raise SystemExit(text)


def stop(self: Any, reason: otpy.Reason, *reply: Any) -> otpy.Stop:
    return otpy.Stop(reason, *reply)


def ignore(self: Any) -> otpy.Ignore:
    return otpy.Ignore()


def refuse(self: Any, reason: otpy.Reason) -> otpy.Fail:
    return otpy.Fail(reason)


def exit_self(self: Any, reason: otpy.Reason) -> None:
    self.ref.exit(reason)


def kill_self(self: Any) -> None:
    self.ref.kill()


def stop_self(self: Any) -> None:
    self.stop()


def end_with(self: Any, deed: str, *args: Any) -> None:
    """Have a deed done at the end of `terminate`."""
    self.last = (deed, args)


# Deciding.


def reply(self: Any, value: Any, *then: Any) -> otpy.Reply:
    """Reply, and go on with another deed."""
    return otpy.Reply(value, then=otpy.Continue(tuple(then)) if then else None)


def go_on(self: Any, *then: Any) -> otpy.Continue:
    return otpy.Continue(tuple(then))


def reply_idle(self: Any, value: Any, seconds: float) -> otpy.Reply:
    return otpy.Reply(value, timeout=seconds)


def idle(self: Any, seconds: float) -> otpy.NoReply:
    return otpy.NoReply(timeout=seconds)


def put_off(self: Any) -> otpy.NoReply:
    """Keep the caller, for `answer`."""
    self.kept.setdefault("callers", []).append(self.caller)
    return otpy.NoReply()


def answer(self: Any, value: Any) -> list[bool]:
    """Answer all who were put off, each of them twice; which of the answers counted."""
    callers = self.kept.pop("callers", [])
    return [caller.reply(value) for caller in callers for _ in range(2)]


def answer_itself(self: Any, first: Any, second: Any) -> Any:
    """Answer by hand, and then by what is returned."""
    self.caller.reply(first)
    return second


# Others.


def link(self: Any, *others: Any) -> None:
    for other in others:
        self.link(other)


def unlink(self: Any, *others: Any) -> None:
    for other in others:
        self.unlink(other)


def watch(self: Any, target: Any, times: int = 1) -> None:
    for _ in range(times):
        self.kept["monitor"] = self.monitor(target)


def watch_itself(self: Any) -> None:
    self.monitor(self.ref)


def unwatch(self: Any, flush: bool = False) -> bool:  # noqa: FBT001, FBT002 - deeds have no keywords
    return bool(self.demonitor(self.kept["monitor"], flush=flush))


def end(self: Any, other: Any, reason: otpy.Reason) -> None:
    other.exit(reason)


def kill(self: Any, other: Any) -> bool:
    return bool(other.kill())


def stop_other(self: Any, other: Any) -> Waits:
    return (yield Step(other.stop, other.astop))


def wait_for_end(self: Any, other: Any) -> Waits:
    monitor = other.monitor()
    down = yield Step(lambda: monitor.wait(None), lambda: monitor.await_down(None))
    return down.reason


def trap(self: Any, *, on: bool = True) -> None:
    self.trap_exit = on


def trap_no_more(self: Any) -> None:
    self.trap_exit = False


def is_alive(self: Any, other: Any) -> bool:
    return bool(other.is_alive())


def take_name(self: Any, name: str) -> None:
    self.register(name)


def ask_name(self: Any, name: str, deed: str, *args: Any) -> Waits:
    return (yield from ask(self, self.system.ref(name), deed, *args))


def ask_waiting(self: Any, name: str, seconds: float | None, deed: str, *args: Any) -> Waits:
    timed = self.system.ref(name).within(5.0, wait_for_name=seconds)
    return (yield Step(lambda: timed.call(Player.do, deed, *args), lambda: timed.acall(Player.do, deed, *args)))


def find(self: Any, name: str) -> Any:
    return self.system.whereis(name)


def spawn(self: Any, word: str, place: Any, *args: Any, traps: bool = False) -> Waits:
    """Start a linked one in a place, which is kept by this word."""
    spec = otpy.child(CLASSES.get(place, Player), *args, log=self.log, traps=traps).opts(id=word, place=place)
    self.kept[word] = yield Step(lambda: self.spawn_link(spec), lambda: self.aspawn_link(spec))


def spawn_trapping(self: Any, word: str, place: Any, *args: Any) -> Waits:
    yield from spawn(self, word, place, *args, traps=True)


def to_kept(self: Any, word: str, deed: str, *args: Any) -> Waits:
    """Do a deed with the one that is kept by this word as its first argument."""
    return (yield from within(self, deed, (self.kept[word], *args)))


# Time, and what is used.


def after(self: Any, seconds: float, message: Any) -> None:
    self.kept["timer"] = self.send_after(seconds, message)


def every(self: Any, seconds: float, message: Any) -> None:
    self.kept["timer"] = self.send_interval(seconds, message)


def cancel(self: Any) -> bool:
    return bool(self.cancel_timer(self.kept["timer"]))


def use(self: Any, *names: str) -> list[str]:
    return [self.use(_resource(self.log, name)) for name in names]


@contextmanager
def _resource(log: Any, name: str) -> Iterator[str]:
    log.cast(Log.note, f"+{name}")
    yield name
    log.cast(Log.note, f"-{name}")


# What a test hears of by a log.


def mix(self: Any, other: Any, count: int) -> Waits:
    """Send numbers in three ways."""
    for number in range(0, count, 3):
        other.tell(number)
        other.cast(Player.run, f"{__name__}:remember", number + 1)
        yield from ask(self, other, f"{__name__}:remember", number + 2)


def ask_and_note(self: Any, log: Any, other: Any, deed: str, *args: Any) -> Waits:
    answer = yield from ask(self, other, deed, *args)
    log.cast(Log.note, ("answer", answer))


def attempt_and_note(self: Any, log: Any, deed: str, *args: Any) -> Waits:
    outcome = yield from attempt(self, deed, *args)
    log.cast(Log.note, outcome)


def put_off_and_note(self: Any, log: Any) -> otpy.NoReply:
    log.cast(Log.note, "put off")
    return put_off(self)


def continue_twice(self: Any, gate: Any, first: Any, second: Any) -> Waits:
    yield from hold(self, gate)
    self.note(first)
    return go_on(self, f"{__name__}:remember", second)


def spawn_and_note(self: Any, *args: Any) -> Waits:
    yield from spawn(self, *args)
    self.note("started")


def link_again(self: Any, other: Any) -> None:
    self.link(other)
    self.unlink(other)
    self.link(other)


def unlink_parent(self: Any) -> None:
    self.unlink(self.ref.parent)


def unwatch_late(self: Any, gate: Any, other: Any, flush: bool) -> Waits:  # noqa: FBT001 - deeds have no keywords
    """Watch no longer when the other one has ended, which the message of the gate comes after."""
    yield from hold(self, gate)
    yield from wait_for_end(self, other)
    self.note(unwatch(self, flush))


def wait_and_note(self: Any, log: Any, other: Any) -> Waits:
    log.cast(Log.note, "waits")
    reason = yield from wait_for_end(self, other)
    log.cast(Log.note, reason)


def keep_secrets(self: Any, shown: str, password: str) -> None:
    self.shown, self.password = shown, password


def register_two(self: Any, first: str, second: str) -> Waits:
    """Take a name, and try to take another one."""
    self.register(first)
    return (yield from attempt(self, f"{__name__}:take_name", second))


def begin_as(self: Any, ident: str) -> None:
    """Tell the log of a start, and of the end by the same word."""
    self.log.cast(Log.note, f"+{ident}")
    self.last = (f"{__name__}:end_as", (ident,))


def end_as(self: Any, ident: str) -> None:
    self.log.cast(Log.note, f"-{ident}")


def begin_by_plan(self: Any, plan: Any, ident: str) -> Waits:
    """Start as a plan says: well, with a failure, or not at all."""
    word = yield Step(lambda: plan.call(Plan.next_start), lambda: plan.acall(Plan.next_start))
    self.log.cast(Log.note, f"{word}{ident}")
    self.last = (f"{__name__}:end_as", (ident,))
    return {"+": None, "!": otpy.Stop(otpy.Exit("boom")), "~": otpy.Ignore()}[word]


def note_holder(self: Any, name: str) -> None:
    self.note(self.system.whereis(name).path)


def note_to(self: Any, log: Any, what: Any) -> None:
    log.cast(Log.note, what)


def wait_for_name(self: Any, log: Any, name: str) -> Waits:
    """Ask whoever will hold a name for its path, and note it."""
    answer = yield from ask_waiting(self, name, None, f"{__name__}:path")
    log.cast(Log.note, answer)


def ask_itself(self: Any) -> Waits:
    return (yield from attempt(self, f"{__name__}:ask", self.ref, f"{__name__}:nothing"))


def use_quietly(self: Any, *names: str) -> None:
    use(self, *names)


@contextmanager
def _checked_out(server: Any) -> Iterator[None]:
    yield
    server.cast(Player.run, f"{__name__}:remember", "returned")


def use_server(self: Any, server: Any) -> None:
    self.use(_checked_out(server))


def tell_itself(self: Any, message: Any) -> None:
    self.ref.tell(message)
