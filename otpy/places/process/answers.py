"""Inside of a process child: answers whoever looks in from the parent's process.

The thread that reads the pipe answers, whatever the child's actors do; what has to wait for one of them, or for a
process child further down, does so elsewhere.
"""

from __future__ import annotations

import threading
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from otpy.core.record import StateRecord
from otpy.core.text import exception_line, visible
from otpy.errors import ChildStateError, OtpyError
from otpy.places.process.circles import leads_to
from otpy.places.process.codec import error_parts
from otpy.places.process.plain import to_list
from otpy.places.process.say import Say
from otpy.runtime.drain_share import share_of
from otpy.runtime.links import Monitor, watch
from otpy.runtime.look import lines_of
from otpy.runtime.mailbox import poke
from otpy.runtime.suspension import set_suspended

if TYPE_CHECKING:
    from collections.abc import Callable

    from otpy.core.reason import Reason
    from otpy.places.process.line import Line
    from otpy.runtime.ref import Ref
    from otpy.runtime.system import System

__all__ = ["answer"]

SHARE = 0.7
"""Of the time that is given for all, what those further down get."""


def answer(line: Line, system: System | None, number: int, what: str, args: list[Any]) -> None:
    """Answer one question, now or later."""
    if system is None or system.root is None:
        error = ChildStateError("it", "not there yet", "ask again")
        line.say(Say.FAIL, number, *error_parts(error))
    elif what == "leads":
        _reply(line, number, lambda: leads_to(line, *args))
    elif what == "state" and not system.beyonds:
        _tell_state(line, system, number, args[0])
    elif what == "resume" and not system.beyonds:
        _resume(line, system, number, args[0])
    elif what in _DRAINS:
        share_of(system)  # on this thread, the only one that makes it
        if what == "drain_save":
            threading.Thread(
                target=_later, args=(line, system, number, what, args), name="otpy-save", daemon=True
            ).start()
        else:
            _reply(line, number, lambda: _DRAINS[what](system, *args))
    elif what in _LOOKS and not system.beyonds:
        _reply(line, number, lambda: _LOOKS[what](system, *args))
    else:
        threading.Thread(
            target=_later, args=(line, system, number, what, args), name=f"otpy-{what}", daemon=True
        ).start()


def _later(line: Line, system: System, number: int, what: str, args: list[Any]) -> None:
    """What has to wait."""
    if what == "state":
        _reply(line, number, lambda: to_list(system.state(args[0], timeout=60.0)))
    elif what in _LOOKS:
        _reply(line, number, lambda: _LOOKS[what](system, *args))
    elif what in _DRAINS:
        _reply(line, number, lambda: _DRAINS[what](system, *args))
    elif what in _VERBS:
        _reply(line, number, lambda: _VERBS[what](system, *args))


def _reply(line: Line, number: int, work: Callable[[], object]) -> None:
    try:
        value = work()
    except OtpyError as error:
        line.say(Say.FAIL, number, *error_parts(error))
    except Exception as error:
        line.say(Say.FAIL, number, *error_parts(OtpyError(f"failed inside the process: {exception_line(error)}")))
    else:
        line.say(Say.REPLY, number, value)


def _records(system: System, path: str, limit: int, within: float) -> object:
    return [to_list(record) for record in system.records(path, limit, within=within * SHARE)]


def _busy(system: System, path: str) -> object:
    """What an actor does, and where, in the form of the state that it does not tell."""
    record = system.record(path)
    problem = visible(system.doing(path), 1_000)
    return to_list(StateRecord(path=path, status=record.status, problem=problem, stack=system.stack(path)))


_LOOKS: dict[str, Callable[..., object]] = {
    "records": _records,
    "stack": lambda system, path: system.stack(path),
    "mailbox": lambda system, path, limit: to_list(system.mailbox(path, limit)),
    "busy": _busy,
}
_DRAINS: dict[str, Callable[..., object]] = {
    "drain_ask": lambda system, *args: to_list(share_of(system).ask(*args)),
    "drain_look": lambda system: to_list(share_of(system).look()),
    "drain_save": lambda system: to_list(share_of(system).save()),
}
_VERBS: dict[str, Callable[..., object]] = {
    "kill": lambda system, path: system.kill(path),
    "terminate_child": lambda system, path: system.terminate_child(path),
    "restart_child": lambda system, path: system.restart_child(path),
    "suspend": lambda system, path, timeout, seconds: system.suspend(path, timeout=timeout, seconds=seconds),
    "resume": lambda system, path, timeout: system.resume(path, timeout=timeout),
}


def _tell_state(line: Line, system: System, number: int, path: str) -> None:
    """Have an actor tell its state in its own turn; nobody waits for it here."""
    ref = system.find(path)
    if ref is None:
        _reply(line, number, lambda: to_list(system.state(path)))
        return
    status = system.record(path).status  # before it is at it
    _in_turn(
        ref,
        lambda own: line.say(Say.REPLY, number, to_list(StateRecord(path=path, status=status, state=lines_of(own)))),
        lambda reason: line.say(Say.REPLY, number, to_list(_gone(ref, reason))),
    )


def _resume(line: Line, system: System, number: int, path: str) -> None:
    """Have an actor go on, and say so before it does: its next message may be the end of this process."""
    ref = system.find(path)
    if ref is None:
        _reply(line, number, lambda: system.resume(path))
        return

    def resume(own: Ref[Any]) -> None:
        set_suspended(own, is_suspended=False, seconds=None)
        line.say(Say.REPLY, number, None)

    _in_turn(ref, resume, lambda _: line.say(Say.FAIL, number, *error_parts(system.missing(path))))


def _in_turn(ref: Ref[Any], act: Callable[[Ref[Any]], None], give_up: Callable[[Reason], None]) -> None:
    """Have something done in an actor's turn, or else when it has ended."""
    once = [True]

    def first(then: Callable[[Any], None], what: object) -> None:
        with suppress(IndexError):
            once.pop()
            then(what)

    end = _End(ref, lambda reason: first(give_up, reason))

    def turn(own: Ref[Any]) -> None:
        end.cancel()
        first(act, own)

    watch(end)
    poke(ref, turn)


def _gone(ref: Ref[Any], reason: Reason) -> StateRecord:
    return StateRecord(path=ref.path, status="stopped", problem=f"it has just ended: {visible(str(reason))}")


class _End(Monitor):
    """Answers when an actor ends in place of telling."""

    __slots__ = ("_then",)

    def __init__(self, ref: Ref[Any], then: Callable[[Reason], None]) -> None:
        super().__init__(ref, ref, None)
        self._then = then

    def fire(self, reason: Reason) -> None:
        self._then(reason)
