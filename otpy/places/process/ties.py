"""What a process child asks of the tree of its parent: links, names; and its reports, which the port makes its own."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from otpy.core.reason import NoProc
from otpy.errors import NameTakenError
from otpy.events.messages import DeadLetter, MailboxGrew, UnknownMessage
from otpy.places.process.say import Say
from otpy.runtime.death import exit_signal
from otpy.runtime.links import add_link, drop_link
from otpy.runtime.mailbox import poke

if TYPE_CHECKING:
    from otpy.places.process.child import Child
    from otpy.runtime.ref import Ref

__all__ = ["forget_names", "hear_tie"]

MAX_TEXT = 2_000
"""Characters of a text that a child may have reported; its own runtime cuts them before."""
MAX_STATE = 100
"""Attributes in a crash report."""


def hear_tie(child: Child, frame: list[Any]) -> bool:
    """Do what it asks; False when this is something else.

    Raises:
        TypeError: it has no meaning.
    """
    ref: Ref[Any] = child.ref
    match frame:
        case [Say.LINK, int(to)]:
            other = _peer(child, to)
            if not add_link(ref, other):
                exit_signal(ref, other, NoProc())
        case [Say.UNLINK, int(to)]:
            drop_link(ref, _peer(child, to))
            child.line.say(Say.UNLINKED, to)
        case [Say.WHEREIS, int(number), str(name)]:
            child.line.say(Say.REPLY, number, ref.system.names.get(name))
        case [Say.REGISTER, int(number), str(name)]:
            child.line.say(Say.REPLY, number, _register(ref, name))
        case [Say.AWAIT, str(name), bool(is_awaited)]:
            _await_name(child, name, is_awaited=is_awaited)
        case [Say.EVENT, str(kind), dict(facts)]:
            _report(child, kind, facts)
        case _:
            return False
    return True


def _peer(child: Child, number: int) -> Ref[Any]:
    """Of whom it speaks; 0 is its parent."""
    parent: Ref[Any] | None = child.ref.parent
    return child.refs.own_ref(number) if number or parent is None else parent


def _await_name(child: Child, name: str, *, is_awaited: bool) -> None:
    """Tell the child when somebody takes a name; or no longer."""
    system = child.ref.system
    wait = child.awaited.pop(name, None)
    if wait is not None:
        system.forget_wait(name, wait)
    if not is_awaited:
        return
    made: Any = _NameWait(child, name)  # Any: it stands where slots do
    wait = child.awaited[name] = made
    if system.await_name(name, lambda: made, is_last=False)[1] is None:
        wait.resolve(None)
    if child.ref.reason is not None:  # put, then looked; a death sets its reason, then forgets
        forget_names(child)


def forget_names(child: Child) -> None:
    """It has ended, and waits for nothing."""
    for name, wait in child.awaited.copy().items():
        child.awaited.pop(name, None)
        child.ref.system.forget_wait(name, wait)


class _NameWait:
    """A child that waits for a name."""

    def __init__(self, child: Child, name: str) -> None:
        self._child = child
        self._name = name

    def resolve(self, _: object) -> None:
        """Somebody has taken it; called with the system's lock held, under which nothing can be sent."""
        poke(self._child.ref, lambda _: self._child.line.say(Say.NAMED, self._name))


def _register(ref: Ref[Any], name: str) -> object:
    """None, or the name that is taken and who has it."""
    try:
        ref.system.register(ref, name)
    except NameTakenError as error:
        return [name if error.holder is not ref else ref.name, error.holder]
    return None


def _report(child: Child, kind: str, facts: dict[Any, Any]) -> None:
    system, path = child.ref.system, child.ref.path
    match kind, facts:
        case "DeadLetter", {"message": str(message), "why": str(why)}:
            system.events.emit(DeadLetter(path=path, message=message[:MAX_TEXT], why=why[:MAX_TEXT]))
        case "UnknownMessage", {"message": str(message)}:
            system.events.emit(UnknownMessage(path=path, message=message[:MAX_TEXT]))
        case "MailboxGrew", {"length": int(length)}:
            system.events.emit(MailboxGrew(path=path, length=length))
        case "ActorCrashed", {"message": message, "queue": int(queue), "state": list(state)}:
            text = None if message is None else _text(message)
            shown = tuple([(_text(name), _text(value)) for name, value in state[:MAX_STATE]])
            child.report = {"message": text, "queue": queue, "state": shown}
        case _:
            raise TypeError(kind)


def _text(value: object) -> str:
    if type(value) is not str:
        raise TypeError(value)
    return value[:MAX_TEXT]
