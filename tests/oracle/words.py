"""Reasons as words, the same on both sides: `boom` is `exit(boom)` and `Exit("boom")`, `error:boom` a crash."""

from __future__ import annotations

from otpy.core.reason import Crashed, Exit, FailedChild, Kill, Killed, NoProc, Normal, Reason, RestartLimit, Shutdown

__all__ = ["reason_of", "word_of"]

REASONS: dict[str, Reason] = {
    "normal": Normal(),
    "shutdown": Shutdown(),
    "shutdown_x": Shutdown("x"),
    "kill": Kill(),
    "boom": Exit("boom"),
}


def reason_of(word: str) -> Reason:
    """The reason a script means."""
    return REASONS[word]


def word_of(reason: Reason) -> str:  # noqa: PLR0911 - one a case
    """A reason as reports have it.

    otpy says more than OTP in two places, and that more is left out: which limit a supervisor that gave up has reached,
    and what a crash's text and traceback are.
    """
    match reason:
        case Shutdown(detail=None) | Shutdown(detail=RestartLimit()):
            return "shutdown"
        case Shutdown(detail=FailedChild(child=child, reason=why)):
            return f"shutdown:failed({child},{word_of(why)})"
        case Shutdown(detail=detail):
            return f"shutdown:{detail}"
        case Exit(term=term):
            return str(term)
        case Crashed(type=name):
            return f"error:{name.lower()}"
        case Normal() | Killed() | Kill() | NoProc():
            return type(reason).__name__.lower()
    return str(reason)
