"""Plays the steps of a scenario on otpy: as `erlang/oracle_player.erl`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import otpy
from otpy.errors import (
    CallExitError,
    ChildNotFoundError,
    ChildStateError,
    NameTakenError,
    NoProcError,
    NoSuchActorError,
    SpecError,
    StartError,
)
from otpy.runtime.caller import request_future
from otpy.runtime.death import kill

from .actors import Gates, Parent, Stranger, Waiting, Worker, spec_of
from .book import Book
from .words import reason_of, word_of

if TYPE_CHECKING:
    from .model import Definition, Report, Step

__all__ = ["PatientPlayer", "Player", "Reply"]

SUP, DYN = otpy.Supervisor, otpy.DynamicSupervisor


class Reply:
    """Where the answer to one request goes."""

    def __init__(self, result: Any) -> None:
        self.result = result
        self.answer: Any = None
        self.is_there = False

    def set(self, value: Any) -> None:
        """The reply has come."""
        self.answer, self.is_there = self.result(value), True

    def set_exception(self, info: tuple[type[BaseException], BaseException, Any]) -> None:
        """An error has come."""
        self.answer, self.is_there = self.failure(info[1]), True

    def failure(self, error: BaseException) -> Any:  # noqa: PLR0911 - one a case
        """An error as OTP's reply, or as the end of the server."""
        match error:
            case NoProcError():
                return ["failed", "noproc"]
            case CallExitError():
                return ["failed", word_of(error.reason)]
            case NameTakenError():
                return ["error", "already_started", self.result(error.holder)[1]]
            case StartError():
                return ["error", "start", word_of(error.reason)]
            case ChildNotFoundError():
                return ["error", "not_found"]
            case ChildStateError():
                return ["error", error.state.replace(" ", "_")]
            case SpecError():
                return ["error", "bad_spec"]
        return ["unexpected", repr(error)]


class Player:
    """One system, and what its actors did."""

    def __init__(self, system: otpy.System, worker: type[Worker]) -> None:
        self.system = system
        self.at_gates: list[Waiting] = []
        self.gates = system.start(Gates, self.at_gates, self.note_hanging)
        self.stranger = system.start(Stranger)
        self.parent = system.start(Parent)
        self.helpers: list[otpy.Ref[Any]] = [self.gates, self.stranger, self.parent]
        self.book = Book(self.gates, worker)
        self.replies: dict[int, Reply] = {}
        self.requests = 0

    def step(self, step: Step) -> Report:
        """Do it, come to rest, and tell."""
        verb, *arguments = step
        done = getattr(self, f"do_{verb}")(*arguments)
        self.settle()
        return [done, *self.book.take(), self.arrived()]

    def settle(self) -> None:
        """Nobody can run any more; and, unless somebody waits at a gate, no supervisor is in the middle of anything."""
        while True:
            self.system.wait_idle()
            if self.waiting() or not any(self.system.timers.pending()):
                return
            before = self.book.events
            for ref in self.book.supervisors():
                if not ref.is_suspended():
                    self.ask(ref, ref.actor_class.count_children)
            self.system.wait_idle()
            if self.book.events == before:
                return

    def note_hanging(self, ref: otpy.Ref[Any]) -> None:
        """Somebody hangs in `terminate`."""

    def waiting(self) -> list[tuple[str, str]]:
        """Who waits at a gate, and whether in its init or in a handler."""
        return sorted({one[:2] for one in self.at_gates if one[2].is_alive()})

    def ask(self, ref: otpy.Ref[Any], request: Any) -> Any:
        """Ask a supervisor; None when it is gone."""
        try:
            return ref.within(None).call(request)
        except CallExitError:
            return None

    def arrived(self) -> list[Any]:
        """The replies that have come."""
        there = [(number, reply) for number, reply in sorted(self.replies.items()) if reply.is_there]
        for number, _ in there:
            del self.replies[number]
        return [[number, reply.answer] for number, reply in there]

    def clean_up(self) -> None:
        """End all, those above first."""
        self.parent.kill()
        while living := [ref for ref in self.book.labels if ref.is_alive()]:
            for ref in [*self.book.supervisors(), *living]:
                kill(ref)
            self.system.wait_idle()
        for helper in self.helpers:
            helper.kill()
        self.system.wait_idle()

    # Steps.

    def do_start(self, tree: Definition) -> list[Any]:
        reply = self.replies[0] = Reply(lambda value: value if value == "ok" else reply.failure(value))
        message = self.parent.message_for(Parent.start_tree, (spec_of(self.book, tree),), {})
        request_future(self.parent, message, reply)  # type: ignore[arg-type]  # it has what a future needs
        return ["asked", 0]

    def do_parent_exit(self, reason: str) -> str:
        if reason == "kill":
            self.parent.kill()
        else:
            self.parent.cast(Parent.end, reason)
        return "ok"

    def do_parent_signal(self, reason: str) -> str:
        self.parent.cast(Parent.send_signal, self.book.latest("top"), reason)
        return "ok"

    def do_stop(self, ident: str, reason: str) -> Any:
        ref = self.latest(ident)
        if ref is None or not ref.is_alive():
            return ["failed", "noproc"]
        try:
            ref.stop(reason_of(reason))
        except CallExitError as error:
            return ["failed", word_of(error.reason)]
        return "ok"

    def do_signal(self, ident: str, reason: str) -> str:
        ref = self.latest(ident)
        if ref is not None:
            self.stranger.call(Stranger.send_signal, ref, reason)
        return "ok"

    def do_junk(self, ident: str) -> str:
        ref = self.latest(ident)
        if ref is not None:
            ref.tell("junk")
        return "ok"

    def do_suspend(self, ident: str) -> str:
        return self.sys_do(self.system.suspend, ident)

    def do_resume(self, ident: str) -> str:
        return self.sys_do(self.system.resume, ident)

    def sys_do(self, verb: Any, ident: str) -> str:
        ref = self.latest(ident)
        if ref is None or not ref.is_alive():
            return "nobody"
        try:
            verb(ref.path)
        except NoSuchActorError:
            return "nobody"
        return "ok"

    def do_open(self, ident: str) -> str:
        self.gates.call(Gates.open, ident)
        return "ok"

    def do_open_all(self) -> str:
        while waiting := self.waiting():
            self.do_open(waiting[0][0])
            self.settle()
        return "ok"

    def do_cast(self, ident: str, message: Any) -> str:
        if self.is_starting(ident):
            return "starting"
        ref = self.latest(ident)
        if ref is not None:
            ref.cast(Worker.hear, message)
        return "ok"

    def do_call(self, ident: str, message: Any) -> Any:
        if self.is_starting(ident):
            return "starting"
        return self.request(ident, lambda value: value, "request", message)

    def do_which_children(self, ident: str) -> list[Any]:
        return self.request(ident, self.children, "which_children")

    def do_which_dynamic(self, ident: str) -> list[Any]:
        return self.request(ident, self.crowd, "which_children")

    def do_count_children(self, ident: str) -> list[Any]:
        return self.request(ident, counts_of, "count_children")

    def do_count_dynamic(self, ident: str) -> list[Any]:
        return self.request(ident, active_of, "count_children")

    def do_get_childspec(self, ident: str, child: str) -> list[Any]:
        return self.request(ident, options_of, "get_childspec", child)

    def do_start_child(self, ident: str, child: Definition) -> list[Any]:
        return self.request(ident, self.started, "start_child", spec_of(self.book, child))

    def do_start_dynamic(self, ident: str, child: Definition) -> list[Any]:
        return self.request(ident, self.started, "start_with", {**child, "ordered": False})

    def do_terminate_child(self, ident: str, child: str) -> list[Any]:
        return self.request(ident, lambda _: "ok", "terminate_child", child)

    def do_terminate_dynamic(self, ident: str, child: str) -> Any:
        ref = self.latest(child)
        if ref is None or not ref.is_alive():
            return "nobody"
        return self.request(ident, lambda _: "ok", "terminate_child", ref)

    def do_restart_child(self, ident: str, child: str) -> list[Any]:
        return self.request(ident, self.started, "restart_child", child)

    def do_delete_child(self, ident: str, child: str) -> list[Any]:
        return self.request(ident, lambda _: "ok", "delete_child", child)

    def do_tree(self) -> Any:
        ref = self.latest("top")
        return ["top", "gone"] if ref is None else self.tree(ref, "top")

    # What they need.

    def latest(self, ident: str) -> otpy.Ref[Any] | None:
        """The latest incarnation, dead or alive; None for an actor that has never been there."""
        return self.book.latest(ident) if ident in self.book.refs else None

    def is_starting(self, ident: str) -> bool:
        """When the gate of its init opens, its siblings start while it would already handle the message."""
        return (ident, "starting") in self.waiting()

    def request(self, ident: str, result: Any, word: str, *arguments: Any) -> list[Any]:
        """Ask without waiting for the reply."""
        self.requests += 1
        reply = self.replies[self.requests] = Reply(result)
        ref = self.latest(ident)
        if ref is None:
            reply.set_exception((NoProcError, NoProcError(ident, word, otpy.NoProc()), None))
        else:
            owner = ref.actor_class if ref.actor_class.is_supervisor else Worker
            message = ref.message_for(getattr(owner, word), arguments, {})
            request_future(ref, message, reply)  # type: ignore[arg-type]  # it has what a future needs
        return ["asked", self.requests]

    def started(self, ref: Any) -> list[str]:
        return ["ok", "undefined" if ref is None else self.book.label(ref)]

    def child(self, info: Any) -> str:
        if info.state == "restarting":
            return "restarting"
        return "undefined" if info.ref is None else self.book.label(info.ref)

    def children(self, infos: Any) -> list[Any]:
        return [[info.id, self.child(info), info.type] for info in infos]

    def crowd(self, infos: Any) -> list[str]:
        return sorted(map(self.child, infos))

    def tree(self, ref: otpy.Ref[Any], ident: str) -> list[Any]:
        counts, infos = self.ask(ref, ref.actor_class.count_children), self.ask(ref, ref.actor_class.which_children)
        if infos is None:
            return [ident, "gone"]
        if ref.actor_class is not SUP and issubclass(ref.actor_class, DYN):
            return [ident, self.crowd(infos), active_of(counts)]
        return [ident, [self.twig(info) for info in infos], counts_of(counts)]

    def twig(self, info: Any) -> list[Any]:
        below = info.type == "supervisor" and info.ref is not None
        return [info.id, self.child(info), self.tree(info.ref, info.id) if below else info.type]


class PatientPlayer(Player):
    """On real threads and a virtual clock: nobody is killed for being late, but who hangs."""

    def settle(self) -> None:
        self.system.wait_idle()
        while not self.waiting() and self.system.clock.step():  # type: ignore[attr-defined]  # it is a VirtualClock
            self.system.wait_idle()

    def do_stop(self, ident: str, reason: str) -> Any:
        """By a stranger: what hangs below is killed in time that this thread moves, so it may not wait itself."""
        answers: list[Any] = []
        self.stranger.cast(Stranger.do, lambda: answers.append(super(PatientPlayer, self).do_stop(ident, reason)))
        self.settle()
        return answers.pop()


def counts_of(counts: Any) -> list[int]:
    return [counts.specs, counts.active, counts.supervisors, counts.workers]


def active_of(counts: Any) -> list[int]:
    return [counts.active, counts.workers]


def options_of(spec: Any) -> list[str]:
    options = spec.options
    known = {otpy.INFINITY: "infinity", otpy.BRUTAL_KILL: "brutal_kill"}
    shutdown = known.get(options.shutdown) or round(options.shutdown * 1000)
    kind = "supervisor" if spec.start.is_supervisor else "worker"
    return [options.restart, shutdown, str(options.significant).lower(), kind]
