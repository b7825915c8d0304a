"""One process child, as its parent sees it: the pipe, the pidfd, and what it has said of its end."""

from __future__ import annotations

import logging
import os
import signal
import socket
import threading
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from otpy.core.reason import Exited, Killed, NoConnection, Reason, Signalled
from otpy.core.spec import DEFAULT
from otpy.places.process.codec import Decoder, Encoder, GarbageError
from otpy.places.process.hearing import hear
from otpy.places.process.lead import Lead
from otpy.places.process.limits import cpu_blame
from otpy.places.process.line import Line
from otpy.places.process.refs import Refs
from otpy.places.process.say import Born
from otpy.places.process.ties import forget_names
from otpy.runtime.mailbox import poke
from otpy.runtime.ref import Ref

if TYPE_CHECKING:
    from collections.abc import Callable

    from otpy.core.spec import Options
    from otpy.places.process.origin import Origin
    from otpy.places.process.output import Pipe
    from otpy.places.process.ports import Ports
    from otpy.places.process.pulse import Pulse
    from otpy.places.process.view import View

__all__ = ["Child"]

log = logging.getLogger("otpy")

GRACE = 1.0
"""Seconds in which a process must have ended that has said its last word, or has closed its pipe."""
HALF = 5.0
"""Seconds in which the rest of a message must follow its beginning."""
GROUP = 4
"""To `pidfd_send_signal`: to the whole group of the process, also when that has ended. PIDFD_SIGNAL_PROCESS_GROUP."""
READ = 1 << 16
"""Bytes read at once from one child; for more, the C library would map memory anew each time."""


class Child:
    """One process: its pipe, its pidfd, and what it has said of its end.

    It also stands in the `waiting` of its port, where the runtime interrupts it when the port dies, whatever the cause.
    """

    deferred = True
    target = None
    claim = (True,)

    def __init__(self, number: int, ports: Ports, origin: Origin) -> None:
        """Made by `Ports`; `origin` is where its code, or that of its kin, is found."""
        self.ref: Any = None  # Any: a Ref once it is bound to its port; a spare one has none
        self.number = number
        self.origin = origin
        self.pid: int | None = None
        self.pidfd: int | None = None
        self.far, own = socket.socketpair()
        self.path = "a spare process"
        self.line = Line(own, Encoder(self._known, pickles=True), on_full=self._watch_writes, on_rest=self._flush_soon)
        self.line.owner = self
        self.view: View | None = None
        self.refs = Refs(self.line, may_import=False)
        self.decoder = Decoder(self.refs.ref_of, pickles=False)
        self.ports = ports
        self.output: Pipe | None = None
        self.end_reason: Reason | None = None
        """How it has ended, or is ended, as far as anybody has said."""
        self.report: dict[str, object] | None = None
        """What it has told of its crash."""
        self.awaited: dict[str, Any] = {}
        """The names for which it waits."""
        self.failed_birth: tuple[int, Reason | None] | None = None
        """How its start has failed; its starter is told when the process has ended."""
        self.is_over = False
        self.lead = Lead(self)
        self.line.lead = self.lead.follow
        self.reading = threading.Lock()
        """Held while bytes are taken off the pipe; guards the two that follow."""
        self.taken = 0
        """Bytes so far."""
        self.is_hearing = False
        """Whether something is taken that is not handled yet."""
        # Guards `pidfd` from being closed while a signal is sent by it, what is to happen at a birth still to come, and
        # the number of those that have told of the birth.
        self._lock = threading.Lock()
        self._is_doomed = False
        self._winds_up = False
        self._told_birth = 0
        self.options: Options = DEFAULT
        """How much silence, memory and time it may have, once it is bound."""
        self.pulse: Pulse | None = None

    def bind(
        self,
        ref: Ref[Any],
        on_born: Callable[[Ref[Any], int, Reason | None], None],
        on_end: Callable[[Ref[Any], Reason], None],
        options: Options,
    ) -> None:
        """Belong to a port; in its turn. `options` say how much silence and memory it may have."""
        self.options = options
        self.path = ref.path
        if self.output is not None:
            self.output.path = ref.path
        self._on_born = on_born
        self._on_end = on_end
        self.ref = self.refs.root = ref
        self.refs.system = ref.system

    @property
    def word(self) -> str:
        """What the inspector says of it."""
        pulse = self.pulse
        complaint = None if pulse is None else pulse.complaint()
        return f"process {self.pid or '(starting)'}{f', {complaint}' if complaint else ''}"

    @property
    def trouble(self) -> str | None:
        """What the inspector shows in the tree: that it is silent, and why."""
        pulse = self.pulse
        return None if pulse is None else pulse.complaint()

    def is_under_way(self) -> bool:
        """Whether it is asked something, or its process is not there yet, or its end has begun."""
        if self.pid is None or self.end_reason is not None or self.failed_birth is not None or self.line.is_asked():
            return True
        return self.ref is not None and self.ref.reason is not None

    def wind_up(self) -> None:
        """Its time is nearly over: have its whole group told to end, by SIGTERM."""
        with self._lock:
            self._winds_up = True
        self.ports.helm.ask(b"T", self.number)

    def interrupt(self, _: object = None) -> None:
        """End the process at once: its port is dead, or it has not kept to the rules."""
        with self._lock:
            self._is_doomed = True
            is_known = self._send(signal.SIGKILL)
        forget_names(self)
        if self._winds_up or not is_known:  # it may have ended, and what it has started not
            self.ports.helm.ask(b"K", self.number)

    def _send(self, number: int, flags: int = 0) -> bool:
        """Send a signal; False when it is not born yet, or no descriptor was free for its pidfd."""
        if self.pidfd is None:
            return False
        with suppress(ProcessLookupError):
            signal.pidfd_send_signal(self.pidfd, number, None, flags)
        return True

    def is_born(self, pid: int, pidfd: int | None) -> None:
        """The helper has started it."""
        with self._lock:
            self.pid, self.pidfd = pid, pidfd
        if self._is_doomed:
            self.interrupt()
        self.note_birth()

    def note_birth(self) -> None:
        """One of two tells of it, the helper or the child itself, and neither is always the first."""
        with self._lock:
            self._told_birth += 1
            is_known = self._told_birth == 2  # noqa: PLR2004 - both
        if is_known:
            poke(self.ref, lambda own: self._on_born(own, Born.STARTED, None))

    def lose_helper(self) -> None:
        """The helper was killed, and nobody is left who would end the group."""
        self.end_reason = self.end_reason or NoConnection(
            "the helper that starts processes was killed, and its children with it"
        )
        self.ports.listener.unwatch(self.line.socket.fileno())
        self.interrupt()
        with self._lock, suppress(OSError):  # EINVAL before Linux 6.9: then what the process has started lives on
            self._send(signal.SIGKILL, GROUP)

    def let_go(self) -> None:
        """In a copy of the program, made by `os.fork`, whose process it is not."""
        self._lock = self.reading = threading.Lock()
        self.line.let_go()
        if self.pidfd is not None:
            os.close(self.pidfd)
        self.pidfd = None

    def discard(self) -> None:
        """It could not be started."""
        self.ports.listener.unwatch(self.line.socket.fileno())
        self.line.socket.close()
        self.far.close()

    def read(self) -> None:
        """Hear what it says; in the thread of `Ports`."""
        with self.reading:
            try:
                data = self.line.socket.recv(READ, socket.MSG_DONTWAIT)
            except BlockingIOError:
                return
            except OSError:
                data = b""
            self.taken += len(data)
            self.is_hearing = True
        try:
            self._take_in(data)
        finally:
            self.is_hearing = False

    def _take_in(self, data: bytes) -> None:
        if not data:
            self._hang_up()
            return
        try:
            for frame, _ in self.decoder.feed(data):
                hear(self, frame)
        except GarbageError as error:
            self.end_as(NoConnection(f"it was killed, for {error}"))
        except (LookupError, TypeError, ValueError) as error:
            self.end_as(NoConnection(f"it was killed, for it sent what has no meaning ({type(error).__name__})"))
        except Exception as error:  # by a mistake of otpy's own; all other children hang on this thread
            log.critical("what %s has sent could not be taken in", self.path, exc_info=error)
            self.end_as(NoConnection(f"it was killed, for what it sent could not be taken in ({type(error).__name__})"))
        if self.decoder.is_amid:
            taken = self.taken
            self.ports.listener.later(HALF, lambda: self._miss_rest(taken))

    def _miss_rest(self, taken: int) -> None:
        if not self.is_over and self.taken == taken:
            self.end_as(NoConnection("it was killed, for it sent half a message and no more"))

    def _hang_up(self) -> None:
        self.ports.listener.unwatch(self.line.socket.fileno())
        self.ports.listener.later(GRACE, self._is_late)

    def _is_late(self) -> None:
        if not self.is_over:
            self.end_as(self.end_reason or NoConnection("it closed its pipe and lived on, and was killed"))

    def end_as(self, reason: Reason) -> None:
        """End the process for this reason."""
        self.end_reason = self.end_reason or reason
        self.ports.listener.unwatch(self.line.socket.fileno())
        self.interrupt()

    def expect_end(self) -> None:
        """It has said its last word."""
        self.ports.listener.later(GRACE, self._is_late)

    def sender(self, known: object) -> Ref[Any]:
        """Who has sent what it passes on: an actor that is known here, or its own."""
        return known if isinstance(known, Ref) else self.ref

    def _known(self, value: object) -> object:
        return self.refs.known(value)

    def _watch_writes(self) -> None:
        self.ports.listener.watch_writes(self.line)

    def _flush_soon(self) -> None:
        self.ports.listener.flush_soon(self.line)

    def has_ended(self, status: int) -> None:
        """Nothing of its process group is left; in the thread of `Ports`."""
        self.read_rest()
        self.is_over = True
        if self.pulse is not None:
            self.ports.heartbeats.end(self.pulse)
        with self._lock:
            if self.pidfd is not None:
                os.close(self.pidfd)
            self.pidfd = None
        self.ports.listener.unwatch(self.line.socket.fileno())  # its number may soon be that of another
        self.line.socket.close()
        if self.ref is None:
            return
        self.ref.system.beyonds.pop(self.ref, None)
        reason = self.ref.reason or self.end_reason or self._reason_of(os.waitstatus_to_exitcode(status))
        self.refs.lose_all(reason)
        if self.ref.reason is not None:
            return
        if self.failed_birth is not None:
            kind, why = self.failed_birth
            poke(self.ref, lambda own: self._on_born(own, kind, why))
            return
        poke(self.ref, lambda own: self._on_end(own, reason))

    def _reason_of(self, code: int) -> Reason:
        """Why it has ended without a word; at SIGTERM, that it was late, however it took that."""
        if self._winds_up and (code >= 0 or -code in (signal.SIGTERM, signal.SIGKILL)):
            return Killed()
        if code >= 0:
            return Exited(code)
        blame = self.ports.blame() if -code == signal.SIGKILL else cpu_blame(code, self.options)
        return Signalled(-code, blame)

    def read_rest(self) -> None:
        """Hear its last words."""
        before = None
        while self.end_reason is None and before != self.taken and self.line.socket.fileno() >= 0:
            before = self.taken
            self.read()
