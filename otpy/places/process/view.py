"""The parent's view into a process child: asks it what is in there, and never waits longer than it was told."""

from __future__ import annotations

import os
import signal
import threading
from contextlib import suppress
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

from otpy.core.record import ActorRecord, DrainRecord, MailboxRecord, ProcessRecord, StateRecord
from otpy.errors import ActorBusyError, BlockingError, ChildStateError, OtpyError
from otpy.places.process.limits import limit_texts, usage
from otpy.places.process.plain import read
from otpy.places.process.say import Say
from otpy.runtime.beyond import LOOK_TIME
from otpy.runtime.mailbox import bury
from otpy.runtime.seat import here

if TYPE_CHECKING:
    from collections.abc import Callable

    from otpy.core.reason import Reason
    from otpy.places.process.child import Child
    from otpy.places.process.line import Line
    from otpy.runtime.ref import Ref

__all__ = ["View"]

T = TypeVar("T")

SILENT = "silent"
"""The status of an actor whose process does not answer."""


class View:
    """Looks into one process child, on the thread of whoever asks."""

    def __init__(self, child: Child) -> None:
        """Look into this one, which is bound to its port."""
        self._child = child
        self._ref: Ref[Any] = child.ref

    def begin(self, path: str, limit: int, within: float) -> Callable[[float], Sight]:
        """As `Beyond.begin`."""
        return partial(self._sight, self._ask("records", path, limit, within), path)

    def stack(self, path: str) -> str | None:
        """As `Beyond.stack`."""
        answer = self._ask("stack", path).wait(LOOK_TIME)
        if answer is LATE:
            return f"{self._silence(LOOK_TIME)}\n"
        if answer is not None and type(answer) is not str:
            raise self._nonsense()
        return answer

    def state(self, path: str, timeout: float) -> StateRecord:
        """As `Beyond.state`: told by the actor in its own turn, in there, where `redact` runs."""
        answer = self._ask("state", path).wait(timeout)
        if answer is not LATE:
            return self._read(StateRecord, answer)
        doing = self._ask("busy", path).wait(LOOK_TIME)
        if doing is LATE:
            return StateRecord(path=path, status=SILENT, problem=self._silence(timeout))
        return self._read(StateRecord, doing)

    def mailbox(self, path: str, limit: int) -> MailboxRecord:
        """As `Beyond.mailbox`; what waits on this side is counted, too."""
        held = len(self._ref.mailbox or ()) if path == self._ref.path else 0
        answer = self._ask("mailbox", path, limit).wait(LOOK_TIME)
        if answer is LATE:
            return MailboxRecord(path=path, status=SILENT, length=held, doing=self._silence(LOOK_TIME))
        seen = self._read(MailboxRecord, answer)
        return replace(seen, length=seen.length + held)

    def doing(self, path: str) -> str:
        """As `Beyond.doing`."""
        answer = self._ask("busy", path).wait(LOOK_TIME)
        return self._silence(LOOK_TIME) if answer is LATE else str(self._read(StateRecord, answer).problem)

    def leads(self, number: int) -> tuple[int, bool, list[str]] | None:
        """To which call out of the process the answer to one into it leads; see `circles.leads_to`."""
        match self._ask("leads", number).wait(LOOK_TIME):
            case [int(out), bool(is_queued), [*paths]] if all(type(path) is str for path in paths):
                return out, is_queued, [str(path) for path in paths]
        return None

    def drain(self, what: str, args: list[object], tell: Callable[[DrainRecord | None], object]) -> None:
        """As `Beyond.drain`."""

        def hear(answer: object) -> None:
            try:
                tell(None if answer is None else read(DrainRecord, answer))
            except ValueError:  # as `_nonsense`, but nobody waits for it here
                tell(None)

        self._put(_Told(self._ref, self._ref.path, hear), f"drain_{what}", args)

    def end_now(self) -> None:
        """As `Beyond.end_now`."""
        pid = self._child.pid
        if pid is not None:
            with suppress(OSError):  # it has ended
                os.killpg(pid, signal.SIGKILL)

    def carry_out(self, verb: str, path: str, timeout: float | None, *args: object) -> None:
        """As `Beyond.carry_out`."""
        answer = self._ask(verb, path, *args).wait(None if timeout is None else timeout + LOOK_TIME)
        if answer is LATE:
            raise ActorBusyError(path, verb, timeout or 0.0, self.doing(path))

    def facts(self, problem: str | None = None) -> ProcessRecord:
        """What the kernel knows of the process, whether it answers or not."""
        memory, cpu = usage(self._child.pid)
        limits = limit_texts(getattr(self._ref.mailbox, "options", None))
        return ProcessRecord(pid=self._child.pid or 0, memory_bytes=memory, cpu=cpu, limits=limits, problem=problem)

    def _sight(self, look: Look, path: str, seconds: float) -> Sight:
        answer = look.wait(seconds)
        if answer is LATE:
            return Sight([], self.facts(self._silence(LOOK_TIME)))
        if not isinstance(answer, list):
            raise self._nonsense()
        records = [self._read(ActorRecord, one) for one in answer]
        if not records or not all(f"{record.path}/".startswith(f"{path}/") for record in records):
            raise self._nonsense()
        return Sight(records, self.facts())

    def _read(self, kind: type[T], plain: object) -> T:
        try:
            return read(kind, plain)
        except ValueError:
            raise self._nonsense() from None

    def _nonsense(self) -> OtpyError:
        return ChildStateError(self._ref.path, "not to be looked into", "its process answers with nonsense")

    def _silence(self, seconds: float) -> str:
        pid = self._child.pid
        if here_is_loop():
            return f"in process {pid}, which is not asked from the thread of an event loop"
        return f"in process {pid}, which has not answered within {seconds:g} s"

    def _ask(self, what: str, *args: object) -> Look:
        return self._put(Look(self._ref, str(args[0])), what, list(args))

    def _put(self, look: Look, what: str, args: list[object]) -> Look:
        line = self._child.line
        number = look.number = line.expect(look)
        look.line = line
        line.say(Say.LOOK, number, what, args)
        if self._ref.reason is not None:  # listed, then looked; a death sets its reason, then tells those listed
            bury(self._ref)
        return look


class Sight:
    """What was seen: the records of an actor and those below it, or none, and its process."""

    def __init__(self, records: list[ActorRecord], process: ProcessRecord) -> None:
        """`records` are empty when there was no answer."""
        self.own = records[0] if records else None
        self.below = records[1:]
        self._process = process

    def merge(self, outer: ActorRecord) -> ActorRecord:
        """As `Seen.merge`: what its supervisor knows stands outside, what it does stands inside."""
        inner = self.own
        if inner is None:
            status = outer.status if outer.status in {"starting", "stopping"} else SILENT
            return replace(outer, status=status, waiting=None, process=self._process)
        kept = {name: getattr(outer, name) for name in _OUTSIDE}
        status = outer.status if outer.status in {"starting", "stopped"} else inner.status
        return replace(inner, **kept, status=status, queue=inner.queue + outer.queue, process=self._process)


_OUTSIDE = (
    *("path", "id", "place", "number", "name", "uptime", "restarts", "links", "monitors", "last_exit", "trouble"),
    *("copes", "saved"),
)

LATE = object()
"""There was no answer in time."""


class Look:
    """One question to a process child; stands among those who wait for its answers."""

    deferred = True

    def __init__(self, target: Ref[Any], path: str) -> None:
        """Asked of the child behind this port, about the actor at a path."""
        self.claim = [True]
        self.target = target
        self._path = path
        self._is_gone = False
        self.message = ("look",)
        self.number = -1
        self.line: Line | None = None
        self._done = threading.Event()
        self._value: object = LATE
        self._error: BaseException | None = None

    def wait(self, seconds: float | None) -> object:
        """The answer, or `LATE`; blocks the thread that asks, for no longer than so many real seconds.

        Raises:
            NoSuchActorError: the child has ended before it answered.
            OtpyError: what was answered in its place.
        """
        if here_is_loop():
            seconds = 0.0
        self._done.wait(seconds)
        self.claim.clear()
        if self.line is not None:  # who looked and went away is no message that the child leaves behind
            self.line.waiting.pop(self.number, None)
        if self._is_gone:
            raise self.target.system.missing(self._path)
        if self._error is not None:
            raise self._error
        return self._value

    def resolve(self, value: object) -> None:
        """The answer is here."""
        self._value = value
        self._done.set()

    def break_off(self, error: BaseException) -> None:
        """An error is here in its place."""
        self._error = error
        self._done.set()

    def fail(self, _: Reason) -> None:
        """The child has ended."""
        self._is_gone = True
        self._done.set()


class _Told(Look):
    """One whose answer is told on, and nobody waits for."""

    def __init__(self, target: Ref[Any], path: str, tell: Callable[[object], object]) -> None:
        super().__init__(target, path)
        self._tell = tell

    def resolve(self, value: object) -> None:
        self._tell(value)

    def break_off(self, error: BaseException) -> None:  # noqa: ARG002 - it is asked again, or is late
        self._tell(None)

    def fail(self, _: Reason) -> None:
        self._tell(None)


def here_is_loop() -> bool:
    """Whether the running thread is that of an event loop, which must not wait."""
    try:
        here().may_block()
    except BlockingError:
        return True
    return False
