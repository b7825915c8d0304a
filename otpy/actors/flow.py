"""Actors whose procedures wait without keeping a thread: a flow is a generator that yields what it waits for.

While a flow waits, requests and exits queue behind it, as in OTP, where the process itself would be blocked. Only its
own answers (a child's start, an end, a deadline) reach it, and only a kill interrupts it.
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

if TYPE_CHECKING:
    from otpy.runtime.caller import Caller
    from otpy.runtime.ref import Ref

__all__ = ["Edge", "Flow", "Flowing", "Wait", "deliver_answer", "operation"]

S = TypeVar("S", bound="Flowing")
P = ParamSpec("P")
R = TypeVar("R")

Job = tuple[Callable[..., Any], tuple[Any, ...], dict[str, Any], "Caller | None"]


class Wait:
    """What a flow waits for; answers to another wait are late and dropped."""

    __slots__ = ("targets",)

    def __init__(self, *targets: Ref[Any]) -> None:
        """Name the actors on whom it depends, for the detection of circles."""
        self.targets = set(targets)


Flow = Generator[Wait, Any, R]


class Edge:
    """Says to the detection of circles that an actor waits for another although none of its threads does."""

    __slots__ = ("claim", "deferred", "target")

    def __init__(self, target: Ref[Any]) -> None:
        """It waits for this one."""
        self.target = target
        self.deferred = False
        self.claim = (True,)

    def interrupt(self, reason: object) -> None:
        """No thread waits here."""


class Flowing(Actor):
    """An actor that runs one flow at a time and queues the rest."""

    trap_exit = True

    @classmethod
    def make(cls, ref: Any) -> Any:  # Any: as Actor.make
        """A new object with nothing to do."""
        actor = super().make(ref)
        actor._flow = None  # noqa: SLF001 - its own class
        actor._wait = None  # noqa: SLF001
        actor._job = None  # noqa: SLF001
        actor._backlog = deque()  # noqa: SLF001
        return actor

    _flow: Generator[Wait, Any, Any] | None
    _wait: Wait | None
    _job: Job | None
    _backlog: deque[Job]

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
            if outcome.__class__ is GeneratorType:
                self._flow = outcome
                return self._resume(None)
        except OtpyError as error:
            if caller is None:
                raise
            caller.refuse(error)
            return NoReply()
        return outcome

    def _resume(self, value: object) -> object:
        """Go on with the flow; returns its outcome, or that it waits again."""
        assert self._flow is not None  # noqa: S101 - only called while there is one
        try:
            self._wait = self._flow.send(value)
        except StopIteration as done:
            self._end_flow()
            return done.value
        except BaseException:
            self._end_flow()
            raise
        if self._wait.targets:
            self.ref.waiting = Edge(next(iter(self._wait.targets)))
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
            if job[3] is None:
                raise
            job[3].refuse(error)
            outcome = None
        else:
            if outcome is _WAITING:
                return None
            if isinstance(outcome, Stop):
                return outcome
            if job[3] is not None and not isinstance(outcome, Decision):
                job[3].reply(outcome)
        return self.after_flow(outcome) or self._run_backlog()

    def after_flow(self, outcome: object) -> Decision | None:  # noqa: ARG002 - for supervisors
        """Look at the outcome of a flow that had to wait; a decision ends the actor."""
        return None

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


def operation(function: Callable[Concatenate[S, P], Flow[R] | R]) -> Call[S, P, R]:
    """Make a method a call that runs as a flow: it may wait without blocking a thread, others queue behind it."""

    @wraps(function)
    def run(self: S, *args: P.args, **kwargs: P.kwargs) -> object:
        return self.submit(function, *args, **kwargs)

    return typed("Call[S, P, R]", call(run))
