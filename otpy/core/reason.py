"""Exit reasons: the frozen values that travel in `Down` and exit signals.

A reason holds text only, never a live traceback, which would keep the dead incarnation's state alive.
"""

from __future__ import annotations

import signal
from dataclasses import field
from functools import wraps
from itertools import groupby
from typing import TYPE_CHECKING, Any

from otpy.core.frames import Frame, frames_of
from otpy.core.masking import hide
from otpy.core.seconds import in_seconds
from otpy.core.text import safe_repr, safe_str, type_name, visible
from otpy.core.value import value

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = [
    "TEXT_ONLY",
    "BadReturn",
    "BadSpec",
    "Crashed",
    "Exit",
    "Exited",
    "FailedChild",
    "Kill",
    "Killed",
    "NoConnection",
    "NoProc",
    "Normal",
    "Reason",
    "Restart",
    "RestartLimit",
    "Shutdown",
    "Signalled",
    "TimedOut",
    "check_reason",
    "is_alike",
    "is_clean",
    "told_restarts",
]

MAX_RUNS = 5
"""Restarts told in one sentence, those of one child for one reason counted as one."""
MAX_CAUSES = 5
"""Exceptions kept of a chain of causes, the last one included."""


@value
class Reason:
    """Why an actor ended; the base of all reasons."""

    def __init_subclass__(cls) -> None:
        """Keep reports, and deaths, safe from a `__str__` that fails or tells a book; otpy's own do neither."""
        told = vars(cls).get("__str__")
        if told is not None and cls.__module__ != __name__:
            cls.__str__ = _guarded(told)  # type: ignore[method-assign]

    def __str__(self) -> str:
        return type(self).__name__.lower()


@value
class Normal(Reason):
    """It had nothing left to do. OTP: `normal`."""


@value
class Shutdown(Reason):
    """It was asked to stop, as by its supervisor. OTP: `shutdown` and `{shutdown, Term}`."""

    detail: object = None
    """What the one who asked wanted to add."""

    def __str__(self) -> str:
        if self.detail is None:
            return "shutdown"
        own = isinstance(self.detail, RestartLimit | FailedChild)
        return f"shutdown: {self.detail if own else safe_str(self.detail)}"


@value
class Kill(Reason):
    """The signal nobody can trap; an actor it ends has the reason `Killed`. OTP: `kill`."""


@value
class Killed(Reason):
    """It was ended by the signal `Kill`; an ordinary reason when it arrives over a link. OTP: `killed`."""


@value
class NoProc(Reason):
    """There was no such actor when somebody linked to it, watched it or called it. OTP: `noproc`."""


@value
class Exit(Reason):
    """Any other reason somebody chose. OTP: `exit(Term)`."""

    term: object
    """The chosen term."""

    def __str__(self) -> str:
        return f"exit: {safe_repr(self.term)}"


@value
class Restart:
    """One restart within the window, told when the limit is reached."""

    child: str
    """The id of the child that was started again."""
    reason: str
    """Why it had ended, in short."""
    ago: float
    """Seconds from then until the limit was reached."""

    def __str__(self) -> str:
        return f"{self.child} ({self.reason}, {in_seconds(self.ago)} before)"


@value
class RestartLimit:
    """The detail of a `Shutdown`: a supervisor gave up. OTP: reached_max_restart_intensity."""

    path: str
    """The supervisor's."""
    child: str
    """The id of the child whose restart was one too many."""
    max_restarts: int
    """How many restarts it bears."""
    max_seconds: float
    """Within which time."""
    reason: Reason
    """Why the child ended."""
    restarts: tuple[Restart, ...] = field(default=(), compare=False)
    """The restarts before it within that time, oldest first; the last 10. Makes no difference to `==`."""

    def __str__(self) -> str:
        limit = f"{self.max_restarts} restarts in {self.max_seconds:g} s"
        last = f"child {self.child} ({self.reason}){told_restarts(self.restarts, self.max_restarts)}"
        return f"{self.path} reached the restart limit of {limit} with {last}"


@value
class FailedChild:
    """The detail of a `Shutdown`: a supervisor did not start. OTP: {failed_to_start_child, Id, Reason}."""

    child: str
    """The id of the child that did not start."""
    reason: Reason
    """Why."""

    def __str__(self) -> str:
        return f"child {self.child} did not start: {self.reason}"


@value
class BadSpec(Reason):
    """A tree's declaration cannot be used; nothing of it was started. OTP: `{start_spec, Error}`."""

    path: str
    """The child's, or the supervisor's."""
    problem: str
    """What was found, and the mend."""

    def __str__(self) -> str:
        return f"{self.path}: {self.problem}"


@value
class BadReturn(Reason):
    """A callback returned what it may not. OTP: `{bad_return_value, Value}`."""

    value: str
    """What it returned, as text."""

    def __str__(self) -> str:
        return f"bad return value: {self.value}"


@value
class TimedOut(Reason):
    """Its `init` took longer than its `start_timeout`. OTP: `timeout`, of a start."""

    def __str__(self) -> str:
        return "timed out"


@value
class Exited(Reason):
    """Its process ended by itself, as by `os._exit(3)`. OTP: the `exit_status` of a port."""

    code: int
    """The exit code."""

    def __str__(self) -> str:
        return f"its process ended with exit code {self.code}"


@value
class Signalled(Reason):
    """Its process was ended by a signal."""

    number: int
    """Which, as `signal.SIGSEGV`."""
    by: str = field(default="", compare=False)
    """Who has sent it, or why, where that is known. Makes no difference to `==`."""

    def __str__(self) -> str:
        if self.number == signal.SIGKILL:
            return f"its process was killed by SIGKILL: by {self.by or _WHO_KILLS}"
        return f"its process was killed by {_signal_in_words(self.number)}" + (f": {self.by}" if self.by else "")


@value
class NoConnection(Reason):
    """The connection to its process was lost. OTP: `noconnection`."""

    text: str = ""
    """What happened."""

    def __str__(self) -> str:
        return f"no connection: {self.text}" if self.text else "no connection"


@value
class Crashed(Reason):
    """An exception escaped from its code. OTP: `{Error, Stacktrace}`."""

    type: str
    """The exception's class name."""
    text: str
    """What it said."""
    frames: tuple[Frame, ...] = ()
    """Where it came from, innermost last, at most 20."""
    cause: Crashed | None = None
    """The exception that led to this one."""

    @property
    def traceback(self) -> str:
        """The traceback as Python prints it; source lines are read now, so they may be newer than the crash."""
        before = f"{self.cause.traceback}\n\nwhich led to:\n\n" if self.cause else ""
        lines = "\n".join(str(frame) for frame in self.frames)
        return f"{before}Traceback (most recent call last):\n{lines}\n{self}"

    def __str__(self) -> str:
        return f"{self.type}: {self.text}" if self.text else self.type

    @staticmethod
    def of(
        error: BaseException, box: Callable[[Callable[[], str]], str] | None = None, depth: int = MAX_CAUSES
    ) -> Crashed:
        """The reason for an exception that escaped; `box` runs an exception's own `__str__` where it harms nobody."""
        before = _CAUSE(error)
        if before is None and not _IS_SUPPRESSED(error):
            before = _CONTEXT(error)
        cause = Crashed.of(before, box, depth - 1) if before is not None and before is not error and depth > 1 else None
        text = str(hide("", safe_str(error, box=box)))  # drivers put whole addresses into their errors
        return Crashed(_CLASS_NAME(type(error)), text, frames_of(_TRACEBACK(error)), cause)


def check_reason(where: str, reason: object) -> None:
    """Refuse an exit reason that is none: an actor whose reason is None would never have ended. Raises TypeError."""
    if not isinstance(reason, Reason):
        told = safe_repr(reason)
        raise TypeError(f"{where}: expected a reason such as otpy.Exit({told}), got {told}")


def is_alike(one: object, other: object) -> bool:
    """Whether two reasons are the same as far as can be said without asking anybody's `__eq__`."""
    if one is other or type(one) is not type(other):
        return one is other
    if isinstance(one, Exit | Shutdown):
        mine, its = (getattr(each, "term" if isinstance(each, Exit) else "detail") for each in (one, other))
        return mine is its or (type(mine) is type(its) and type(mine) in PLAIN and bool(mine == its))
    return type(one) in TEXT_ONLY and one == other


def _guarded(told: Callable[[Any], str]) -> Callable[[Any], str]:
    @wraps(told)
    def tell(reason: Reason) -> str:
        try:
            return visible(told(reason), 500)
        except Exception:  # noqa: BLE001 - whoever reports it must not fail for it
            return f"<{type_name(type(reason))} that cannot be described>"

    return tell


def told_restarts(restarts: tuple[Restart, ...], count: int) -> str:
    """The restarts before the one too many, as the end of a sentence; `count` is how many there were."""
    if not restarts:
        return ""
    runs = [list(run) for _, run in groupby(restarts, key=lambda restart: (restart.child, restart.reason))]
    told = [str(run[0]) if len(run) == 1 else f"{len(run)} × {run[0]}" for run in runs]
    missing = count - sum(map(len, runs[-MAX_RUNS:]))
    earlier = [f"{missing} more"] if missing > 0 else []
    return f", after restarts of {', '.join([*earlier, *told[-MAX_RUNS:]])}"


def _signal_in_words(number: int) -> str:
    """A signal as `SIGSEGV (segmentation fault)`."""
    try:
        name = signal.Signals(number).name
    except ValueError:
        return f"signal {number}"
    told = signal.strsignal(number) or ""
    told = told if told[1:2].isupper() else told[:1].lower() + told[1:]
    return f"{name} ({told})" if told else name


_WHO_KILLS = "the kernel's out-of-memory killer, or somebody outside"

TEXT_ONLY = frozenset(
    (Normal, Kill, Killed, NoProc, BadSpec, BadReturn, TimedOut, Crashed, Exited, Signalled, NoConnection)
)
"""Reasons that hold nothing of the user's but text and numbers."""
PLAIN = frozenset((str, int, float, bool, bytes, type(None)))
"""Terms that are compared without running anybody's code."""


def is_clean(reason: Reason) -> bool:
    """Whether an exit with this reason is no failure: no crash report, no restart of a transient child."""
    return isinstance(reason, Normal | Shutdown)


# Read past what a class of exceptions may have put in their place: a report runs nobody's code.
_CLASS_NAME = type.__dict__["__name__"].__get__
_CAUSE = BaseException.__dict__["__cause__"].__get__
_CONTEXT = BaseException.__dict__["__context__"].__get__
_IS_SUPPRESSED = BaseException.__dict__["__suppress_context__"].__get__
_TRACEBACK = BaseException.__dict__["__traceback__"].__get__
