"""The control socket of a running system: how `otpy tree` and its kin look in from another terminal."""

from __future__ import annotations

import threading
import time
from typing import TYPE_CHECKING

import otpy.control.doctor  # noqa: F401 - it registers its verb
from otpy.control.claim import NameClaim, claim_name
from otpy.control.desk import Desk
from otpy.control.forks import after_fork, forget
from otpy.control.limits import Limits
from otpy.control.loop import ControlLoop
from otpy.control.rights import check_rights
from otpy.control.verbs import VERBS

if TYPE_CHECKING:
    from pathlib import Path

    from otpy.control.rights import Rights
    from otpy.control.snapshot import Inspected
    from otpy.control.verbs import VerbTable

__all__ = ["ControlServer"]

GRACE = 0.5
"""Seconds in which the server's own thread gets out of its last round."""


class ControlServer:
    """Answers for one system over a Unix socket, on daemon threads of its own named `otpy-control…`.

    Reading is answered from published records and sends nothing to user actors, so a program whose workers are all
    stuck still answers. Commands that may wait run on further threads, up to `Limits.max_commands`.
    """

    def __init__(
        self,
        system: Inspected,
        *,
        rights: Rights = "operate",
        directory: Path | None = None,
        claim: NameClaim | None = None,
        limits: Limits | None = None,
        verbs: VerbTable = VERBS,
    ) -> None:
        """Prepare; nothing happens before `start`.

        Args:
            system: what is looked at.
            rights: what those who connect may do; with `off` there is no socket and `start` does nothing.
            directory: where the socket goes; see `otpy.control.directory.default_directory`.
            claim: the system's name, if `claim_name` took it before the system was made, as it should: then paths
                begin with the name on the socket. Without it `start` claims `system.name`; if that is taken, the
                socket has a number more than the paths, and requests may use either. The server releases it.
            limits: what one client may ask.
            verbs: what can be asked at all.

        Raises:
            SpecError: there is no such right.
        """
        check_rights(rights)
        self._system = system
        self._rights: Rights = rights
        self._directory = directory
        self._claim = claim
        self._limits = limits or Limits()
        self._verbs = verbs
        self._loop: ControlLoop | None = None
        self._thread: threading.Thread | None = None
        self._hook = -1

    @property
    def name(self) -> str | None:
        """The name people type; None while there is no socket."""
        return self._claim.name if self._claim and self._loop else None

    @property
    def path(self) -> Path | None:
        """Where the socket is; None while there is none."""
        return self._claim.path if self._claim and self._loop else None

    def start(self) -> None:
        """Open the socket and serve.

        Raises:
            ControlError: the directory or the name cannot be used; nothing is left behind.
        """
        if self._rights == "off" or self._loop is not None:
            return
        claim = self._claim = self._claim or claim_name(self._system.name, self._directory)
        try:
            desk = Desk(self._system, claim.name, self._rights, self._verbs, self._limits)
            loop = ControlLoop(claim.listen(), desk, self._limits)
            thread = threading.Thread(target=loop.run, name=f"otpy-control-{claim.name}", daemon=True)
            self._hook = after_fork(loop.let_go)
            self._loop, self._thread = loop, thread
            thread.start()
        except BaseException:
            self._release()
            raise

    def close(self, timeout: float = 5.0) -> list[str]:
        """Remove the socket and the lock, let running commands end, and join the threads; again is fine.

        Waits at most `timeout` seconds; returns the names of threads whose command goes on, as a stop that waits
        for an actor without end. In a forked child only the child's copies are closed.
        """
        loop, thread = self._loop, self._thread
        if loop is None or thread is None:
            self._release()
            return []
        by = time.monotonic() + timeout
        loop.close_by(by)
        # The loop first: once it has ended, no further command starts.
        _join(thread, by + GRACE)
        commands = loop.running()
        for command in commands:
            _join(command, by)
        self._release()
        return [one.name for one in [thread, *commands] if one.is_alive()]

    def _release(self) -> None:
        forget(self._hook)
        if self._loop is not None:
            self._loop.let_go()
        if self._claim is not None:
            self._claim.release()
        self._loop = self._thread = self._claim = None


def _join(thread: threading.Thread, by: float) -> None:
    if thread is not threading.current_thread():
        thread.join(max(0.0, by - time.monotonic()))
