"""Inside of a process child: a small system with one actor, the pipe to its parent, and the way out."""

from __future__ import annotations

import atexit
import gc
import importlib
import logging
import os
import signal
import socket
import sys
import threading
from contextlib import suppress
from functools import partial
from typing import Any, ClassVar, NoReturn

import otpy.actors.adopted
import otpy.actors.dynamic_supervisor
import otpy.actors.function
import otpy.actors.supervisor  # noqa: F401 - what children's modules import is here before the fork
from otpy.core.decision import Stop
from otpy.core.masking import HIDDEN, veil
from otpy.core.reason import Crashed, Normal, Reason, Shutdown
from otpy.core.spec import ChildSpec, Options
from otpy.core.text import exception_line
from otpy.errors import IgnoredError, StartError, UncarriableError
from otpy.places.process.answers import answer
from otpy.places.process.bonds import TOLD, Bonds, InnerSystem, brief_seat, is_told_outside
from otpy.places.process.bounded import InnerBox
from otpy.places.process.circles import drop_call
from otpy.places.process.codec import Decoder, Encoder, error_of, error_parts
from otpy.places.process.copies import mind_copies
from otpy.places.process.incoming import FarCaller, nobody, own_requests, receive
from otpy.places.process.limits import confine, relax
from otpy.places.process.line import Line
from otpy.places.process.loop_main import LoopMain
from otpy.places.process.main_home import MainHome
from otpy.places.process.origin import Surroundings, enter
from otpy.places.process.refs import FarRef, Refs
from otpy.places.process.say import Born, Say
from otpy.places.process.states import FarStates
from otpy.runtime.actor import Actor
from otpy.runtime.birth import begin
from otpy.runtime.links import Monitor, watch
from otpy.runtime.mailbox import put
from otpy.runtime.portrait import name_ref
from otpy.runtime.ref import Ref
from otpy.runtime.seat import Slot
from otpy.runtime.spawn import new_ref

__all__ = ["main"]

CALL, CAST = Say.CALL, Say.CAST
READ = 1 << 16
"""Bytes read at once; for more, the C library would map memory anew each time."""
LEAVE = 1.0
"""Seconds in which what the actor has left behind is stopped."""
READY = [kind.__init__ for kind in (ChildSpec, Normal, Shutdown, Stop)]
"""Of values that every child makes: compiled when they are first asked for, so here, and not after each fork."""


class Names(dict[str, Any]):
    """The names of this process, then those of its parent."""

    def __init__(self, inside: Inside) -> None:
        super().__init__()
        self._inside = inside

    def get(self, name: Any, default: Any = None) -> Any:
        """Who holds the name now."""
        found = super().get(name, default)
        if found is not None or self._inside.is_hearing() or self._inside.is_locked():
            return found
        return self._inside.ask(name)


class Inside:
    """What the child knows of its parent's process."""

    is_here: ClassVar = False
    """Whether this process is a child."""

    def __init__(self, sock: socket.socket) -> None:
        self.line = Line(sock, Encoder(self._known, pickles=False))
        self.refs = Refs(self.line, may_import=True)
        self.decoder = Decoder(self.refs.ref_of, pickles=True)
        self.reader = threading.get_ident()
        self.system: Any = None  # Any: a System, from the start message on, and the same for the next
        self.root: Any = None
        self.parent: FarRef | None = None
        self.home: Any = None
        self._problem: BaseException | None = None
        """What the program's main module has raised when it was run here."""

    def is_hearing(self) -> bool:
        """Whether this very thread is in the middle of a message from the pipe, and so can wait for no other."""
        return self.reader == threading.get_ident()

    def is_locked(self) -> bool:
        """Whether this very thread holds what a thread that hears a message may need."""
        return bool(self.system.lock._is_owned())  # noqa: SLF001 - as threading.Condition asks it

    def ask(self, name: str) -> Ref[Any] | None:
        """Who holds a name on the other side."""
        slot = Slot(brief_seat())
        self.line.say(Say.WHEREIS, self.line.expect(slot), name)
        return slot.value if slot.wait(5.0) else None

    def read_until_started(self) -> None:
        """Hear the first messages, in the main thread: what to run."""
        while self.root is None:
            self.read()

    def read(self) -> None:
        """Hear what has come; waits when nothing has."""
        self.reader = threading.get_ident()
        data = self.line.socket.recv(READ)
        if not data:
            os.killpg(0, signal.SIGKILL)  # the parent has gone, and whatever this child has started goes, too
        root = self.root
        calls, casts = ((), ()) if root is None else own_requests(root.actor_class)
        for frame, failure in self.decoder.feed(data):
            say = frame[0] if failure is None and root is not None and not frame[1] else 0
            if say == CAST:  # to the child's own actor: as `receive`, for the many
                put(root, (casts[frame[2]], *frame[3:]))
            elif say == CALL:
                put(root, FarCaller(self.line, frame[3], root, (calls[frame[2]], *frame[4:])))
            elif failure is not None:
                self._drop(frame, failure)
            else:
                self._hear(frame)
        self.reader = 0

    def _drop(self, frame: list[Any], failure: Exception) -> None:
        """A message in which something cannot be loaded here."""
        if self.root is not None and isinstance(self.root.mailbox, InnerBox):
            self.root.mailbox.drop()
        if frame[0] in (Say.CALL, Say.CALL_WORDS):
            self.line.say(Say.FAIL, frame[3], *_not_loaded(failure))
        elif frame[0] == Say.ASK:
            self.line.say(Say.FAIL, frame[2], *_not_loaded(failure))
        elif frame[0] == Say.START:
            self._fail_start(self._problem or failure)
        else:
            logging.getLogger("otpy").error("a message was dropped, for it cannot be loaded here: %r", failure)

    def _hear(self, frame: list[Any]) -> None:  # noqa: C901 - one a kind of message
        match frame:
            case [Say.REPLY, number, value]:
                self.line.answer(number, value)
            case [Say.FAIL, number, name, text, facts]:
                self.line.refuse(number, error_of(name, text, facts))
            case [Say.PING, _]:
                self.line.say(Say.PONG)
            case [Say.GONE, number, Reason() as reason]:
                self.refs.gone(number, reason)
            case [Say.DROP, number]:
                drop_call(self.line, number)
            case [Say.LOOK, number, what, args]:
                answer(self.line, self.system, number, what, args)
            case [Say.PRELOAD, module, surroundings]:
                with suppress(Exception, SystemExit):  # whoever needs it will hear of it
                    enter(Surroundings(*surroundings))
                    importlib.import_module(module)
            case [Say.PREPARE, path, parent, surroundings]:
                self._enter(Surroundings(*surroundings))
                self._make_system(path, parent)
            case [Say.START, cls, args, kwargs, terms]:
                self._start(cls, tuple(args), kwargs, terms)
            case _ if self.root is not None and self.system.bonds.hear(frame):
                pass
            case [int(), int(to), *_] if self.root is not None and self._pass_on(to, frame):
                pass
            case _:  # by a mistake of otpy's own: who waits for what it says would never know
                logging.getLogger("otpy").critical("a message of kind %r has no meaning here", frame[0])

    def _pass_on(self, to: int, frame: list[Any]) -> bool:
        target = self.refs.own.get(to) if to else self.root
        if target is None:
            nobody(self.line, frame)
            return True
        return receive(self.line, target, frame, self._sender)

    def _enter(self, surroundings: Surroundings) -> None:
        try:
            enter(surroundings)
        except (Exception, SystemExit) as failure:  # of the main module
            self._problem = failure

    def _make_system(self, path: str, parent: str | None) -> None:
        system = self.system = InnerSystem(path.rpartition("/")[2])
        system.name = path
        system.bonds = Bonds(self.line, system)
        system.events.attach(partial(system.bonds.tell, path), *TOLD)
        system.names = Names(self)
        self.refs.system = system
        self.parent = None if parent is None else FarRef(system, Actor, parent, 0, None)
        logging.getLogger("otpy").addFilter(partial(is_told_outside, path))

    def _start(self, cls: Any, args: tuple[Any, ...], kwargs: dict[str, Any], terms: dict[str, Any]) -> None:
        if self._problem is not None:
            self._fail_start(self._problem)
        try:
            confine(terms["limits"])
        except (OSError, ValueError) as failure:
            self._fail_start(failure)
        system = self.system
        ident = system.name.rpartition("/")[2]
        is_async = cls.otpy_async is not None
        spec = ChildSpec(ident, cls, args, kwargs, None, Options(place="loop" if is_async else "pool"))
        root = system.root = new_ref(system, cls, spec, ident, self.parent)
        if self.parent is None:
            system.tops[ident] = root
        if terms["redact"] is not None:
            redact = _hide_all if terms["redact"] is True else terms["redact"]
            system.show = veil(redact, name_ref)
        if terms["state"] is not None:
            system.states = FarStates(self.line, terms["state"])
        if terms["max_queue"] is not None:
            root.mailbox = InnerBox(root, terms["max_queue"], terms["overflow"], self)
        if is_async:
            self.home = LoopMain(root, self)
        else:
            self.home = root.home = MainHome(system, root, self)
        watch(_RootEnd(root, self))
        self.root = self.refs.root = root  # before it may say anything of itself
        begin(root, args, kwargs, self._born)

    def _fail_start(self, failure: BaseException) -> NoReturn:
        self.line.say(Say.BORN, Born.FAILED, Crashed.of(failure))
        os._exit(0)

    def _born(self, outcome: object) -> None:
        root = self.root or self.system.root
        match outcome:
            case None:
                self.line.say(Say.BORN, Born.STARTED, None)
            case IgnoredError():
                self.line.say(Say.BORN, Born.IGNORED, None)
            case StartError() as error:
                kind = Born.DECLINED if isinstance(root.reason, Normal) else Born.FAILED
                self.line.say(Say.BORN, kind, error.reason)

    def _sender(self, known: Any) -> Ref[Any]:
        if known is None and self.parent is not None:
            return self.parent
        return known if isinstance(known, Ref) else self.root

    def _known(self, value: object) -> object:
        return self.refs.known(value)


def _hide_all(name: str, value: object) -> object:  # noqa: ARG001 - as `redact`
    """In the place of a `redact` that could not be carried here."""
    return HIDDEN


def _not_loaded(failure: Exception) -> tuple[str, str, dict[str, object]]:
    return error_parts(UncarriableError(f"it cannot be loaded in the child: {exception_line(failure)}"))


class _RootEnd(Monitor):
    """Tells the parent of the end of the actor."""

    __slots__ = ("_inside",)

    def __init__(self, root: Ref[Any], inside: Inside) -> None:
        super().__init__(root, root, None)
        self._inside = inside

    def fire(self, reason: Reason) -> None:
        relax()
        self._inside.line.say(Say.ENDED, reason)


def _stream(stream: Any, fd: int) -> Any:  # Any: as typeshed has those of `sys`
    """Standard output or error, which is a pipe now; the program itself may have been started without one."""
    if stream is None:
        return open(fd, "w", buffering=1, errors="backslashreplace", closefd=False)
    stream.reconfigure(line_buffering=True)
    return stream


def main(line: int) -> int:
    """Be a child, from the fork to the end; returns the exit code."""
    sock = socket.socket(fileno=line)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    sys.stdout, sys.stderr = _stream(sys.stdout, 1), _stream(sys.stderr, 2)
    gc.enable()
    Inside.is_here = True
    inside = Inside(sock)
    mind_copies(inside)
    inside.read_until_started()
    code = 0
    try:
        inside.home.serve()
        inside.system.stop(timeout=LEAVE)
    except SystemExit as way_out:  # of the handler of a signal, that came while the actor was at rest
        code = _code_of(way_out)
    with suppress(BaseException):
        atexit._run_exitfuncs()  # noqa: SLF001 - as multiprocessing does, for a forked process leaves by `os._exit`
    with suppress(BaseException):
        sys.stdout.flush()
        sys.stderr.flush()
    return code


def _code_of(way_out: SystemExit) -> int:
    """As the interpreter takes it."""
    if way_out.code is None or isinstance(way_out.code, int):
        return (way_out.code or 0) & 0xFF
    sys.stderr.write(f"{way_out.code}\n")
    return 1
