"""Actors whose procedures wait without keeping a thread: a flow is a generator that yields what it waits for.

While a flow waits, requests and exits queue behind it, as in OTP, where the process itself would be blocked. Only its
own answers (a child's start, an end) reach it, and only a kill interrupts it.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Generator
from functools import wraps
from types import GeneratorType
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec, TypeVar
from typing import cast as typed

from otpy.core.decision import Decision, NoReply, Stop
from otpy.errors import OtpyError
from otpy.runtime.actor import Actor
from otpy.runtime.request import Call, call
from otpy.runtime.seat import here

if TYPE_CHECKING:
    from otpy.runtime.caller import Caller
    from otpy.runtime.ref import Ref

__all__ = ["Flow", "Flowing", "Wait", "deliver_answer", "operation", "query"]

S = TypeVar("S", bound="Flowing")
P = ParamSpec("P")
R = TypeVar("R")

Job = tuple[Callable[..., Any], tuple[Any, ...], dict[str, Any], "Caller | None"]


class Wait:
    """What a flow waits for; answers to another wait are late and dropped.

    It also stands in `ref.waiting`, and so tells the detection of circles whom the actor waits for, although none of
    its threads does.
    """

    __slots__ = ("first", "left")

    deferred = False
    claim = (True,)
    word = "its start or end"

    def __init__(self, first: Ref[Any] | None = None) -> None:
        """Name the one on whom it depends, or `add` several."""
        self.first = first
        self.left: dict[Ref[Any], None] = _NOBODY

    def add(self, ref: Ref[Any]) -> None:
        """Wait for one more to end; the flow takes it out of `left` when it has."""
        if self.left is _NOBODY:
            self.left = {}  # no set: they are told and looked at in this order, the same in each run
        self.left[ref] = None
        self.first = ref

    @property
    def target(self) -> Ref[Any] | None:
        """Whom it waits for; of several the one that asks, for its call would close a circle."""
        asking = here().ref
        return asking if asking in self.left else self.first

    def interrupt(self, reason: object) -> None:
        """No thread waits here."""


_NOBODY: dict[Any, None] = {}
Flow = Generator[Wait, Any, R]


class Flowing(Actor):
    """An actor that runs one flow at a time and queues the rest."""

    trap_exit = True

    _flow: Generator[Wait, Any, Any] | None
    _wait: Wait | None
    _job: Job | None
    _backlog: deque[Job]

    @classmethod
    def make(cls, ref: Any) -> Any:  # Any: as Actor.make
        """A new object with nothing to do."""
        actor = super().make(ref)
        actor._flow = None  # noqa: SLF001 - its own class
        actor._wait = None  # noqa: SLF001
        actor._job = None  # noqa: SLF001
        actor._backlog = deque()  # noqa: SLF001
        return actor

    def submit(self, function: Callable[..., Any], *args: Any, **kwargs: Any) -> object:
        """Run a flow now, or after those before it; returns what the handler is to return."""
        job = (function, args, kwargs, self.caller)
        if self._flow is not None:
            self._backlog.append(job)
            return NoReply()
        outcome = self._begin(job)
        if outcome is _WAITING:
            return NoReply()
        return outcome if isinstance(outcome, Decision) or job[3] is not None else None

    def _begin(self, job: Job) -> object:
        function, args, kwargs, caller = job
        self._job = job
        try:
            outcome = function(self, *args, **kwargs)
        except OtpyError as error:
            return self._refuse(caller, error)
        except Exception as error:  # wrong arguments, or one whose own code fails: nothing has been done yet
            if caller is None:
                raise
            caller.refuse(error.with_traceback(None))
            return NoReply()
        if outcome.__class__ is not GeneratorType:
            return outcome
        self._flow = outcome
        try:
            return self._resume(None)
        except OtpyError as error:
            return self._refuse(caller, error)

    def _refuse(self, caller: Caller | None, error: OtpyError) -> Decision:
        if caller is None:
            raise error
        caller.refuse(error.with_traceback(None))  # the way through here says nothing, and would keep it all alive
        return NoReply()

    def _resume(self, value: object) -> object:
        """Go on with the flow; returns its outcome, or that it waits again."""
        assert self._flow is not None  # noqa: S101 - only called while there is one
        self.ref.waiting = None
        try:
            self._wait = self._flow.send(value)
        except StopIteration as done:
            self._end_flow()
            return done.value
        except BaseException:
            self._end_flow()
            raise
        return _WAITING

    def _end_flow(self) -> None:
        self._flow = self._wait = None
        self.ref.waiting = None

    def answer(self, wait: Wait, value: object) -> object:
        """Hand an answer to the flow that waits for it, and run what queued behind it when it is done."""
        if wait is not self._wait:
            return None
        job = self._job
        assert job is not None  # noqa: S101 - a flow belongs to a job
        try:
            outcome = self._resume(value)
        except OtpyError as error:
            outcome = self._refuse(job[3], error)
        else:
            if outcome is _WAITING or isinstance(outcome, Stop):
                return None if outcome is _WAITING else outcome
            if job[3] is not None and not isinstance(outcome, Decision):
                job[3].reply(outcome)
        self.after_flow()
        return self._run_backlog()

    def after_flow(self) -> None:
        """Look after what a flow that had to wait has done; for supervisors."""

    def _run_backlog(self) -> object:
        while self._backlog and self._flow is None:
            job = self._backlog.popleft()
            outcome = self._begin(job)
            if isinstance(outcome, Stop):
                return outcome
            if job[3] is not None and outcome is not _WAITING and not isinstance(outcome, Decision):
                job[3].reply(outcome)
        return None


_WAITING = object()


def deliver_answer(actor: Flowing, wait: Wait, value: object) -> object:
    """Hand over what a flow waits for; sent by whatever it started."""
    return actor.answer(wait, value)


def operation(function: Callable[Concatenate[S, P], Flow[R]]) -> Call[S, P, R]:
    """Make a method a call that runs as a flow: it may wait without blocking a thread, others queue behind it."""
    return typed("Call[S, P, R]", _queued(function))


def query(function: Callable[Concatenate[S, P], R]) -> Call[S, P, R]:
    """Make a method a call that waits for nothing, and yet queues behind a flow that does."""
    return typed("Call[S, P, R]", _queued(function))


def _queued(function: Callable[..., Any]) -> Any:  # Any: `operation` and `query` know the type
    @wraps(function)
    def run(self: Flowing, *args: Any, **kwargs: Any) -> object:
        return self.submit(function, *args, **kwargs)

    return call(run)
