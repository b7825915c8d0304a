"""The errors otpy raises to callers; exit reasons are values and live in `otpy.core.reason`.

OtpyError
├── SpecError (ValueError)            a child spec or a supervisor's flags cannot be used
│   └── UnknownOptionError            a misspelt option
├── StartError                        an actor did not start
│   ├── TreeSpecError (SpecError)     a tree's declaration cannot be used
│   ├── StartTimeoutError (TimeoutError)
│   ├── NameTakenError                the name or id has a living holder
│   └── IgnoredError                  its init said `Ignore`
├── CallError                         a call got no reply
│   ├── CallTimeoutError (TimeoutError)
│   │   └── ActorBusyError            it is in a message for longer than somebody waits to look into it
│   ├── CallExitError                 the server ended; carries its exit reason
│   │   └── NoProcError               there was no such actor
│   ├── DeadlockError                 a call to oneself, or a circle of calls
│   └── MailboxFullError              the server's bounded mailbox refused it
├── UnknownRequestError (TypeError)   the actor has no such call or cast
├── UncarriableError (TypeError)      a message cannot be sent to, or out of, another process
├── ChildNotFoundError (LookupError)  the supervisor has no such child
├── ChildStateError                   the child is running, restarting or present, and may not be
├── MaxChildrenError                  a dynamic supervisor is full
├── NoSuchActorError (LookupError)    no actor has this path
├── UnforeseeableError (LookupError)  a declared tree has no such part, or does not tell without being started
├── TreeFailedError                   the root of a running program gave up or crashed
├── DrainingError                     nothing new is begun while the program drains
├── BlockingError                     a blocking call where an event loop runs: await its other form
├── StateError                        an actor's state cannot be kept, or was not
│   └── StateFileError                the file of states cannot be used
├── ThreadLimitError                  no further thread may be, or could be, started
└── SystemStoppedError                the system takes no new actors

ActorExit (BaseException)             ends the actor whose code it leaves; no error, and no `except Exception` stops it
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from otpy.core.reason import NoProc, check_reason
from otpy.core.text import safe_repr, shorten, visible_lines

if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Self

    from otpy.core.reason import BadSpec, Reason, RestartLimit

__all__ = [
    "ActorBusyError",
    "ActorExit",
    "BlockingError",
    "CallError",
    "CallExitError",
    "CallTimeoutError",
    "ChildNotFoundError",
    "ChildStateError",
    "DeadlockError",
    "DrainingError",
    "IgnoredError",
    "MailboxFullError",
    "MaxChildrenError",
    "NameTakenError",
    "NoProcError",
    "NoSuchActorError",
    "OtpyError",
    "SpecError",
    "StartError",
    "StartTimeoutError",
    "StateError",
    "StateFileError",
    "SystemStoppedError",
    "ThreadLimitError",
    "TreeFailedError",
    "TreeSpecError",
    "UncarriableError",
    "UnforeseeableError",
    "UnknownOptionError",
    "UnknownRequestError",
]


class OtpyError(Exception):
    """Everything otpy raises to a caller."""

    def __init__(self, text: str = "") -> None:
        """Say it in text that is safe to print: no escape sequence of a foreign name gets through."""
        super().__init__(visible_lines(text))


class ActorExit(BaseException):
    """Ends the actor in whose code it is raised, with a reason. OTP: exit/1.

    `otpy.exit(reason)` raises it. otpy raises it in the code of an actor that was killed but still runs, and in
    `otpy.sleep` and `otpy.checkpoint` of one that was told to stop.
    """

    def __init__(self, reason: Reason) -> None:
        """Carry the exit reason."""
        check_reason("exit", reason)
        super().__init__(str(reason))
        self.reason = reason


class SpecError(OtpyError, ValueError):
    """A child spec or a supervisor's flags cannot be used; found before anything starts."""

    def __init__(self, path: str, problem: str) -> None:
        """Name the child and the mend."""
        super().__init__(f"{path}: {problem}")
        self.path = path
        self.problem = problem


class UnknownOptionError(SpecError):
    """An option that does not exist."""

    def __init__(self, path: str, option: str, hint: str) -> None:
        """Name the option and the likely right one."""
        super().__init__(path, f"no option {option!r}: {hint}")
        self.option = option
        self.hint = hint


class StartError(OtpyError):
    """An actor did not start; nothing of it is left."""

    def __init__(self, path: str, reason: Reason, text: str | None = None) -> None:
        """Name the actor and why it did not start."""
        super().__init__(text or f"{path} did not start: {reason}")
        self.path = path
        self.reason = reason

    def and_then(self, became: str) -> Self:
        """The same error, that also says what became of the actor."""
        self.args = (f"{self}; {became}",)
        return self


class TreeSpecError(StartError, SpecError):
    """A tree did not start, for its declaration cannot be used; found before any of it was started."""

    def __init__(self, path: str, reason: BadSpec) -> None:
        """Name the tree, and the child and the mend that the reason tells."""
        OtpyError.__init__(self, f"{path} did not start: {reason}")
        self.path = reason.path
        self.problem = reason.problem
        self.reason = reason


class StartTimeoutError(StartError, TimeoutError):
    """Its `init` took longer than its `start_timeout`; it was killed."""


class NameTakenError(StartError):
    """The name, or the id under its supervisor, has a living holder. OTP: `{already_started, Pid}`."""

    def __init__(self, path: str, reason: Reason, taken: str, holder: object, *, wanted: str | None = None) -> None:
        """Name the word and the one who has it; `wanted` is what an actor that runs tried to register."""
        if wanted is None:
            text = f"{path} did not start: {taken!r} is taken by {holder}"
        elif wanted == taken:
            text = f"{path} cannot register {wanted!r}: it is taken by {holder}"
        else:
            text = f"{path} cannot register {wanted!r}: it has the name {taken!r}, and an actor has one name"
        super().__init__(path, reason, text)
        self.holder = holder


class IgnoredError(StartError):
    """Its `init` returned `Ignore()`. OTP: `ignore`."""


class CallError(OtpyError):
    """A call that got no reply."""

    def __init__(self, target: str, request: str, problem: str) -> None:
        """Name the server, the request and the problem."""
        super().__init__(f"call of {request} to {target}: {problem}")
        self.target = target
        self.request = request


class CallTimeoutError(CallError, TimeoutError):
    """No reply within the time; the server may still handle the request, its reply is dropped."""

    def __init__(self, target: str, request: str, timeout: float) -> None:
        """Name the time that was not enough, in seconds."""
        super().__init__(target, request, f"no reply within {timeout:g} s; give it more with .within(seconds)")
        self.timeout = timeout


class ActorBusyError(CallTimeoutError):
    """An actor is in a message for longer than somebody waits to look into it; what was asked for is still done."""

    def __init__(self, target: str, request: str, timeout: float, doing: str) -> None:
        """Say what it does; `timeout` in seconds."""
        text = f"not done within {timeout:g} s: it is {doing}; it is done after that message"
        CallError.__init__(self, target, request, text)
        self.timeout = timeout
        self.doing = doing


class CallExitError(CallError):
    """The server ended before it replied. OTP: the caller exits with the server's reason."""

    def __init__(self, target: str, request: str, reason: Reason, limit: RestartLimit | None = None) -> None:
        """Carry the server's exit reason, and why a supervisor above it gave up."""
        super().__init__(target, request, f"it ended before the reply ({reason}){_above(limit)}")
        self.reason = reason
        self.limit = limit


class NoProcError(CallExitError):
    """There was no such actor when the call was made. OTP: `noproc`."""

    def __init__(self, target: str, request: str, reason: Reason, limit: RestartLimit | None = None) -> None:
        """Carry the exit reason of one that had ended before; a plain `NoProc` when nobody was there."""
        problem = "nobody is there" if isinstance(reason, NoProc) else f"it had ended before the call ({reason})"
        CallError.__init__(self, target, request, problem + _above(limit))
        self.reason = reason
        self.limit = limit


def _above(limit: RestartLimit | None) -> str:
    return "" if limit is None else f"; its supervisor {limit}"


class DeadlockError(CallError):
    """A call to oneself or a circle of calls that could never end; raised at once. OTP: `calling_self`."""

    def __init__(self, target: str, request: str, chain: Iterable[str]) -> None:
        """Name everybody who waits, in order."""
        self.chain = tuple(chain)
        super().__init__(target, request, f"would wait for ever: {' → '.join(self.chain)}")


class MailboxFullError(CallError):
    """A bounded mailbox had no room for it."""

    def __init__(self, target: str, request: str, limit: int) -> None:
        """Name the mailbox's limit."""
        super().__init__(target, request, f"its mailbox holds {limit} messages and is full")
        self.limit = limit


class UnknownRequestError(OtpyError, TypeError):
    """The actor's class has no such `@call` or `@cast` method."""

    def __init__(self, target: str, request: str, problem: str) -> None:
        """Name the request and what was expected."""
        super().__init__(f"{target}: {request}: {problem}")


class UncarriableError(OtpyError, TypeError):
    """A message cannot be carried to another process, or out of it; raised where it is sent, and nothing was sent."""

    def __init__(self, problem: str) -> None:
        """Say what stands in the way."""
        super().__init__(f"it cannot be carried between processes: {problem}")
        self.problem = problem


class ChildNotFoundError(OtpyError, LookupError):
    """A supervisor has no such child. OTP: `not_found`."""

    def __init__(self, path: str, child_id: object, hint: str) -> None:
        """Name the child that was asked for and those that exist."""
        super().__init__(f"{path} has no child {safe_repr(child_id)}: {hint}")
        self.child_id = child_id


class ChildStateError(OtpyError):
    """A child is in a state in which this cannot be done. OTP: `running`, `restarting`, `already_present`."""

    def __init__(self, path: str, state: str, mend: str) -> None:
        """Name the state and the way out."""
        super().__init__(f"{path} is {state}: {mend}")
        self.path = path
        self.state = state


class MaxChildrenError(OtpyError):
    """A dynamic supervisor has as many children as it may. OTP: `max_children`."""

    def __init__(self, path: str, limit: int) -> None:
        """Name the limit."""
        super().__init__(f"{path} has {limit} children and may not have more (max_children)")
        self.limit = limit


class NoSuchActorError(OtpyError, LookupError):
    """No actor has this path or name."""

    def __init__(self, path: str, hint: str = "") -> None:
        """Name the path and, where known, what is there instead."""
        super().__init__(f"no actor {shorten(path)!r}" + (f": {hint}" if hint else ""))
        self.path = path


class UnforeseeableError(OtpyError, LookupError):
    """A declared tree has no such part, or it cannot be known without starting the tree."""


class TreeFailedError(OtpyError):
    """The root of a running program gave up or crashed; raised when its `with otpy.run(…)` block is left."""

    def __init__(self, name: str, failure: str) -> None:
        """Name the program and what ended it."""
        super().__init__(f"{name} failed: {failure}")
        self.failure = failure


class DrainingError(OtpyError):
    """Something new was to begin, and the program, or the part of it with this actor, drains."""

    def __init__(self, where: str, reason: str) -> None:
        """Keep who has asked, and why it drains."""
        super().__init__(f"{where} begins nothing more, for the program drains: {reason}")
        self.where = where
        """Who has asked: a path, or the name of a thread."""
        self.reason = reason
        """Who told it to stop, in words."""


class BlockingError(OtpyError):
    """A blocking call was made on the thread of the system's event loop; nothing was sent.

    It would have held up every actor there. The awaitable form is the one to use.
    """

    def __init__(self, path: str | None, verb: str, form: str | None) -> None:
        """Name the actor whose code it was, if it was one's, what was called, and what to await instead."""
        who = "the thread of an event loop" if path is None else f"{path}, which runs on an event loop,"
        mend = f"await {form}" if form else "it has no form to be awaited; asyncio.to_thread calls it elsewhere"
        super().__init__(f"{who} must not block in {verb}: {mend}")
        self.path = path
        self.verb = verb
        self.form = form


class StateError(OtpyError):
    """What an actor persists cannot be kept: it is no plain data, too large, or of an incarnation that has ended."""


class StateFileError(StateError):
    """The file of states cannot be used, or keeps nothing now: its disk fails, it is damaged, or another program's."""

    def __init__(self, path: str, problem: str, failure: str = "other") -> None:
        """Say which, and what sort of failure it is: `busy`, `full`, `broken` or `other`."""
        super().__init__(f"{path}: {problem}")
        self.path = path
        self.problem = problem
        self.failure = failure


class ThreadLimitError(OtpyError):
    """No further thread may be, or could be, started."""


class SystemStoppedError(OtpyError):
    """The system is stopping or stopped and takes no new actors."""
