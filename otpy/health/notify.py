"""What a service manager wants to be told, and where: the protocol of systemd's `sd_notify`, in a few lines of our own.

https://www.freedesktop.org/software/systemd/man/latest/sd_notify.html
"""

from __future__ import annotations

import socket
from contextlib import suppress
from typing import TYPE_CHECKING

from otpy.core.text import visible
from otpy.core.value import value

if TYPE_CHECKING:
    from collections.abc import Mapping, MutableMapping

__all__ = ["VARIABLES", "Manager", "Post", "in_microseconds", "manager_in", "taken_from"]

VARIABLES = ("NOTIFY_SOCKET", "WATCHDOG_USEC", "WATCHDOG_PID")
"""By which systemd says where it listens; they are this process's alone."""
MILLION = 1_000_000
DIGITS = 20
"""Of a time in the environment: as many as 64 bits have."""
STATUS_LIMIT = 300
"""Characters of a status line."""


@value
class Manager:
    """A service manager that listens."""

    address: str
    """Its socket: a path, or `@` and a name without a file."""
    watchdog: float | None
    """Seconds in which it must hear that the program lives; None when it does not care."""


def manager_in(environment: Mapping[str, str], pid: int) -> Manager | None:
    """Who listens to the process `pid`, as its environment says; None when nobody does, or in no way known here."""
    address = environment.get("NOTIFY_SOCKET", "")
    if address[:1] not in {"/", "@"}:
        return None
    meant = environment.get("WATCHDOG_PID", "")
    period = environment.get("WATCHDOG_USEC", "")
    is_meant = (not meant or meant == str(pid)) and period.isascii() and period.isdecimal() and len(period) <= DIGITS
    return Manager(address, int(period) / MILLION if is_meant and int(period) else None)


def taken_from(environment: MutableMapping[str, str]) -> dict[str, str]:
    """Take these variables out of an environment, so that no child of the process speaks in its name."""
    return {name: environment.pop(name) for name in VARIABLES if name in environment}


class Post:
    """Says things to a manager; never blocks and never fails."""

    def __init__(self, address: str) -> None:
        """Open a socket, if there can be one."""
        self._address = "\0" + address[1:] if address.startswith("@") else address
        self._socket: socket.socket | None = None
        with suppress(OSError):
            self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | getattr(socket, "SOCK_CLOEXEC", 0))
            self._socket.settimeout(0.0)

    def say(self, **words: object) -> bool:
        """Say these words, as `READY=1`; whether they were taken."""
        if self._socket is None:
            return False
        text = "\n".join(f"{name}={visible(str(word), STATUS_LIMIT)}" for name, word in words.items())
        try:
            self._socket.sendto(text.encode(errors="replace"), self._address)
        except (OSError, ValueError):  # full, gone, or an address that is none
            return False
        return True

    def close(self) -> None:
        """Say no more."""
        if self._socket is not None:
            self._socket.close()


def in_microseconds(seconds: float) -> int:
    """As the protocol has times."""
    return max(1, round(seconds * MILLION))
